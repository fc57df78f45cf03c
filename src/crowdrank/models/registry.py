"""The registered models: what each one takes, where it comes from, and what to expect of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from crowdrank.errors import UsageError, name_hint

if TYPE_CHECKING:
    from crowdrank.models.base import Model


INVARIANCES = {
    "names": "the ids of items, workers and queries",
    "rows": "the order of the rows",
    "sides": "which item is on the left and which is on the right",
    "weights": "whether a row is given twice or once with weight 2",
    "shards": "how the votes are split into shards",
    "threads": "the number of threads",
}
"""Changes of the input that leave a model's answer the same, unless its entry lists them in ``varies``."""

SEQUENTIAL = frozenset({"rows", "weights"})
"""What the answers of models that process the votes one by one vary with."""


@dataclass(frozen=True)
class Entry:
    """A registered model. ``varies`` lists which of the ``INVARIANCES`` do not hold for it. All others hold
    to 1e-9, and the contract suite tests them."""

    name: str
    path: str  # module:Class
    summary: str
    paper: str
    kinds: tuple[str, ...] = ("pairs", "rankings", "ratings")
    workers: str = "optional"  # or "needed"
    varies: frozenset[str] = frozenset()
    centered: bool = True  # scores sum to zero within each connected part of a query
    package: str | None = None  # an optional package that it needs
    preset: Mapping[str, Any] = field(default_factory=dict)  # parameters that distinguish it from its class
    chooses: bool = False  # it chooses another model and returns that model's result

    @property
    def installed(self) -> bool:
        """Whether the package that it needs is installed."""
        return self.package is None or find_spec(self.package) is not None

    @property
    def cost(self) -> str:
        """What the time of a fit grows with."""
        return COSTS[self.name]

    @property
    def sequential(self) -> bool:
        """Whether it processes the votes one by one, so that their order matters."""
        return "rows" in self.varies

    def load(self) -> type[Model]:
        """Import the model's class."""
        module, _, name = self.path.partition(":")
        found: type[Model] = getattr(import_module(module), name)
        return found

    def make(self, parameters: Mapping[str, Any] = MappingProxyType({})) -> Model:
        """Return the unfitted model with these parameters."""
        made = self.load()(**self.preset).set_params(**parameters)
        made.name = self.name
        return made


_PASS = "one pass over the judgments"
_PAIRS_PASS = "one pass over the pairs; long lists are sampled"
_CLIMB = "a few Newton steps, each a pass over the distinct pairs; the intervals factor a matrix of the items"
_WORKERS = "tens of Newton steps, each a pass; the intervals factor a matrix of the items or of the workers"
_EM = "tens or hundreds of passes (EM)"
_VOTES = "one short step for each vote, in their order; it uses one thread"
_ROUNDS = "tens of rounds, each over the items that every worker judged"
_GRID = "tens of rounds, each over all votes and a grid of expertises"
COSTS = {
    **dict.fromkeys(("win-rate", "borda", "condorcet"), _PAIRS_PASS),
    **dict.fromkeys(("median-rank", "rrf", "root-rank", "majority-vote", "average"), _PASS),
    **dict.fromkeys(("bt", "thurstone", "majority-bt"), _CLIMB),
    **dict.fromkeys(("variance-bt", "crowd-bt", "crowd-thurstone", "judge-bt"), _WORKERS),
    **dict.fromkeys(("dawid-skene", "glad", "ordinal", "em-elo"), _EM),
    **dict.fromkeys(("elo", "trueskill", "online-crowd-bt"), _VOTES),
    **dict.fromkeys(("tpp-unidom", "tpp-uniexp", "tpp-unidiff"), _GRID),
    "greedy-order": "one pass over the pairs; then the items of a query are taken one by one",
    "svp": "tens or hundreds of steps, each over the judged pairs",
    "crowd-lists": "every two workers are compared: time with the square of the workers",
    "mpm": "tens of steps, each over the net wins of every worker and item",
    "st-agg": "one pass over the pairs; then the expected discount of each item from the pairs that it is in",
    "crowdagg-ndcg": _ROUNDS,
    "crowdagg-rbp": _ROUNDS,
    "tpp": f"{_GRID}, and several fits if the number of domains is estimated",
    "plackett-luce": "a few Newton steps, each a pass over the lists; the intervals factor a matrix of the items",
    "crowd-luce": "tens of Newton steps, each a pass over the lists",
    "mallows": "a few rounds, each over the pairs of every list and with a search for the best order",
    "trm": "rounds over all lists until the scores settle; far slower than plackett-luce",
    "auto": "a fit of every candidate to each fold, on a sample if there are many votes; then one fit to all",
}
"""What the time of a fit grows with."""

LISTS = ("rankings", "ratings")
"""The kinds of judgments that models of ranked lists take."""

_COUNTING = "crowdrank.models.counting"
_PAIRS = "crowdrank.models.pairs"
_LABELS = "crowdrank.models.labels"
_LISTS = "crowdrank.models.lists"
_THURSTONIAN = "crowdrank.models.thurstonian"

_ENTRIES = (
    Entry("win-rate", f"{_COUNTING}.win_rate:WinRate", "share of comparisons won", "-", centered=False),
    Entry(
        "borda", f"{_COUNTING}.borda:Borda", "mean share won against each opponent", "Borda 1781", centered=False
    ),
    Entry(
        "condorcet",
        f"{_COUNTING}.condorcet:Condorcet",
        "pairs won minus pairs lost by majority",
        "Montague & Aslam 2002",
    ),
    Entry(
        "greedy-order",
        f"{_COUNTING}.greedy_order:GreedyOrder",
        "repeatedly takes the item with the largest net share of votes",
        "Cohen et al. 1999",
    ),
    Entry(
        "svp",
        f"{_COUNTING}.svp:SVP",
        "score differences as a rank-2 matrix, completed from the judged pairs",
        "Gleich & Lim 2011",
    ),
    Entry(
        "median-rank",
        f"{_COUNTING}.median_rank:MedianRank",
        "the median of an item's places",
        "Fagin et al. 2003",
        kinds=LISTS,
        centered=False,
    ),
    Entry(
        "rrf",
        f"{_COUNTING}.fusion:ReciprocalRank",
        "reciprocal rank fusion: mean of 1 / (k + place)",
        "Cormack et al. 2009",
        kinds=LISTS,
        centered=False,
    ),
    Entry(
        "root-rank",
        f"{_COUNTING}.fusion:RootRank",
        "mean square root of an item's places",
        "-",
        kinds=LISTS,
        centered=False,
    ),
    Entry(
        "crowd-lists",
        f"{_LISTS}.crowd_lists:CrowdLists",
        "worker quality from agreement with dissimilar workers",
        "-",
        kinds=LISTS,
        workers="needed",
        centered=False,
    ),
    Entry("elo", f"{_PAIRS}.elo:Elo", "ratings that move with each vote", "Elo 1978", varies=SEQUENTIAL),
    Entry("bt", f"{_PAIRS}.bradley_terry:BradleyTerry", "Bradley-Terry", "Bradley & Terry 1952"),
    Entry("thurstone", f"{_PAIRS}.thurstone:Thurstone", "Thurstone case V", "Thurstone 1927"),
    Entry(
        "majority-bt",
        f"{_PAIRS}.majority_bt:MajorityBT",
        "Bradley-Terry on the majority verdict for each pair",
        "Chen et al. 2013",
    ),
    Entry(
        "variance-bt",
        f"{_PAIRS}.variance_bt:VarianceBT",
        "Bradley-Terry with a scale for each worker",
        "Volkovs & Zemel 2012",
        workers="needed",
    ),
    Entry(
        "crowd-bt",
        f"{_PAIRS}.crowd_bt:CrowdBT",
        "Bradley-Terry with a quality for each worker",
        "Chen et al. 2013",
        workers="needed",
    ),
    Entry(
        "crowd-thurstone",
        f"{_PAIRS}.crowd_thurstone:CrowdThurstone",
        "Thurstone with a quality for each worker",
        "Chen et al. 2013",
        workers="needed",
    ),
    Entry(
        "judge-bt",
        f"{_PAIRS}.judge_bt:JudgeBT",
        "Bradley-Terry with sharpness, lapses, side bias and ties for each judge",
        "Chen et al. 2013; Volkovs & Zemel 2012; Rao & Kupper 1967",
        workers="needed",
    ),
    Entry(
        "mpm",
        f"{_PAIRS}.mpm:MPM",
        "votes as draws from all pairs, with an adherence for each worker",
        "Volkovs & Zemel 2012",
        workers="needed",
    ),
    Entry(
        "em-elo",
        f"{_PAIRS}.em_elo:EMElo",
        "Elo ratings from pair directions found by EM",
        "Bashir et al. 2013",
        workers="needed",
    ),
    Entry(
        "st-agg",
        f"{_LISTS}.st_agg:StAgg",
        "ranks as random variables, sorted by their expected discount",
        "Niu et al. 2013",
    ),
    Entry(
        "crowdagg-ndcg",
        f"{_LISTS}.crowd_agg:CrowdAggNDCG",
        "the ranking that gives the workers' lists the largest nDCG",
        "Niu et al. 2015",
        workers="needed",
        centered=False,
    ),
    Entry(
        "crowdagg-rbp",
        f"{_LISTS}.crowd_agg:CrowdAggRBP",
        "the ranking that gives the workers' lists the largest RBP",
        "Niu et al. 2015",
        workers="needed",
        centered=False,
    ),
    Entry(
        "tpp",
        f"{_THURSTONIAN}.tpp:TPP",
        "hard queries, worker expertise by domain, workers who lie",
        "Wang et al. 2016",
        workers="needed",
    ),
    Entry(
        "tpp-unidom",
        f"{_THURSTONIAN}.tpp:TPP",
        "tpp with one domain",
        "Wang et al. 2016",
        workers="needed",
        preset={"domains": 1},
    ),
    Entry(
        "tpp-uniexp",
        f"{_THURSTONIAN}.tpp:TPP",
        "tpp with one expertise for all workers in a domain",
        "Wang et al. 2016",
        workers="needed",
        preset={"expertise": "shared"},
    ),
    Entry(
        "tpp-unidiff",
        f"{_THURSTONIAN}.tpp:TPP",
        "tpp with one difficulty for all queries",
        "Wang et al. 2016",
        workers="needed",
        preset={"difficulty": "shared"},
    ),
    Entry(
        "trueskill",
        f"{_PAIRS}.trueskill:TrueSkill",
        "normal skills, updated by each vote",
        "Herbrich et al. 2007",
        varies=SEQUENTIAL,
        package="trueskillthroughtime",
    ),
    Entry(
        "online-crowd-bt",
        f"{_PAIRS}.online_crowd_bt:OnlineCrowdBT",
        "Crowd-BT that learns vote by vote",
        "Chen et al. 2013",
        workers="needed",
        varies=SEQUENTIAL,
    ),
    Entry(
        "majority-vote",
        f"{_LABELS}.majority:MajorityVote",
        "the share of the votes for each label",
        "-",
        kinds=("ratings",),
        centered=False,
    ),
    Entry("average", f"{_LABELS}.average:Average", "the mean label", "-", kinds=("ratings",), centered=False),
    Entry(
        "dawid-skene",
        f"{_LABELS}.dawid_skene:DawidSkene",
        "labels with a confusion matrix for each worker",
        "Dawid & Skene 1979",
        kinds=("ratings",),
        workers="needed",
        centered=False,
    ),
    Entry(
        "glad",
        f"{_LABELS}.glad:GLAD",
        "labels with worker abilities and item difficulties",
        "Whitehill et al. 2009",
        kinds=("ratings",),
        workers="needed",
        centered=False,
    ),
    Entry(
        "ordinal",
        f"{_LABELS}.ordinal:OrdinalLabels",
        "ordered labels with a bias, a slope and a precision for each worker",
        "Rubin & Thayer 1982",
        kinds=("ratings",),
        workers="needed",
        centered=False,
    ),
    Entry(
        "plackett-luce",
        f"{_LISTS}.plackett_luce:PlackettLuce",
        "lists filled from the top, in proportion to the items' worth",
        "Plackett 1975",
        kinds=LISTS,
    ),
    Entry(
        "crowd-luce",
        f"{_LISTS}.crowd_luce:CrowdLuce",
        "lists or choices from a set, with a quality for each worker",
        "Chen et al. 2013; Plackett 1975",
        kinds=LISTS,
        workers="needed",
    ),
    Entry(
        "mallows",
        f"{_LISTS}.mallows:Mallows",
        "one consensus order, with a dispersion for each worker",
        "Mallows 1957; Lebanon & Lafferty 2002",
        kinds=LISTS,
    ),
    Entry(
        "trm",
        f"{_THURSTONIAN}.trm:TRM",
        "lists as the order of perceived scores, with a difficulty for each query",
        "Thurstone 1927; Wang et al. 2016",
        kinds=LISTS,
    ),
    Entry(
        "auto",
        "crowdrank.compare.auto:Auto",
        "the model that predicts held-out votes best",
        "-",
        varies=frozenset({"names"}),
        chooses=True,
    ),
)


def entries() -> Mapping[str, Entry]:
    """Return every registered model, by name."""
    return MappingProxyType({entry.name: entry for entry in _ENTRIES})


def find(name: str) -> Entry:
    """Return the entry with this name. An unknown name is an error that lists the names."""
    known = entries()
    if name not in known:
        raise UsageError(f"There is no model {name!r}.", hint=name_hint(name, known, "The models are"))
    return known[name]


def make(name: str, parameters: Mapping[str, Any]) -> Model:
    """Return an unfitted model with these parameters."""
    return find(name).make(parameters)


def make_all(names: Iterable[str], settings: Mapping[str, Any]) -> dict[str, Model]:
    """Return the models, each with the settings that apply to it. A setting that no model has is an error."""
    made = {name: make(name, {}) for name in names}
    apply_settings(made.values(), settings)
    return made


def apply_settings(models: Iterable[Model], settings: Mapping[str, Any]) -> None:
    """Set the parameters of each model that are among the settings. A setting that no model has is an error."""
    known = [(model, model.settable()) for model in models]
    every = sorted(set().union(*(own for _, own in known)))
    for setting in settings:
        if setting not in every:
            problem = f"Unknown parameter {setting!r} for {', '.join(model.name for model, _ in known)}."
            raise UsageError(problem, hint=name_hint(setting, every, "The parameters are"))
    for model, names in known:
        model.set_params(**{key: value for key, value in settings.items() if key in names})
