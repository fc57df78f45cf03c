"""The registered rankers: what each one learns from, where it comes from, and what to expect of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from crowdrank.errors import UsageError, name_hint

if TYPE_CHECKING:
    from crowdrank.rankers.base import Ranker

INVARIANCES = {
    "names": "the ids of documents, queries and workers",
    "rows": "the order of the rows and of the queries",
    "weights": "whether a query, a list or a pair is given twice or once with weight 2",
    "shards": "how the documents are split into shards",
    "threads": "the number of threads",
    "engines": "where the sums are computed",
}
"""Changes of the input that leave the scores the same, unless an entry lists them in ``varies``."""


@dataclass(frozen=True)
class RankerEntry:
    """A registered ranker. ``varies``: for each scorer, which of the ``INVARIANCES`` do not hold to 1e-9."""

    name: str
    path: str  # module:Class
    summary: str
    paper: str
    learns_from: str  # "labels" or "judgments"
    cost: str  # what the time of training grows with
    varies: Mapping[str, frozenset[str]]
    preset: Mapping[str, Any] = field(default_factory=dict)  # parameters that distinguish it from its class

    def load(self) -> type[Ranker]:
        """Import the ranker's class."""
        module, _, name = self.path.partition(":")
        found: type[Ranker] = getattr(import_module(module), name)
        return found


_PASSES = "a pass over the documents for each step (linear, net) or tree"
_EM = "up to 200 steps, each draws true orders of all lists and improves the scorer"
_SUPERVISED = "crowdrank.rankers.supervised"
_LTRMA = "crowdrank.rankers.ltrma.ltrma"
_VARIES = {"linear": frozenset[str](), "trees": frozenset({"weights"}), "net": frozenset({"weights", "shards"})}
_CROWD_VARIES = {"linear": frozenset[str](), "trees": frozenset[str](), "net": frozenset({"shards"})}

_ENTRIES = (
    RankerEntry(
        "listmle",
        f"{_SUPERVISED}:ListMLE",
        "the order of each list is made likely under Plackett-Luce",
        "Xia et al. 2008",
        "labels",
        _PASSES,
        _VARIES,
    ),
    RankerEntry(
        "lambdamart",
        f"{_SUPERVISED}:LambdaMART",
        "pairs weighted by what exchanging them changes in nDCG, DCG or ERR",
        "Burges 2010",
        "labels",
        _PASSES,
        {**_VARIES, "linear": frozenset({"weights", "shards"})},
    ),
    RankerEntry(
        "regression",
        f"{_SUPERVISED}:Regression",
        "the score approaches the label by least squares",
        "Cossock & Zhang 2006",
        "labels",
        _PASSES,
        _VARIES,
    ),
    RankerEntry(
        "ltrma-mle",
        f"{_LTRMA}:LTRMA",
        "from annotators' lists, ratings or pairs: true orders, expertise and ranker are learned together",
        "Wu et al. 2016",
        "judgments",
        _EM,
        _CROWD_VARIES,
    ),
    RankerEntry(
        "ltrma-d",
        f"{_LTRMA}:LTRMA",
        "from annotators' lists, ratings or pairs: first the true orders and the expertise, then the ranker",
        "Wu et al. 2016",
        "judgments",
        _EM,
        _CROWD_VARIES,
        {"method": "d"},
    ),
    RankerEntry(
        "lregma",
        "crowdrank.rankers.lregma:LRegMA",
        "from annotators' lists, ratings or pairs: regression on the places, weighted by precision",
        "Raykar et al. 2010",
        "judgments",
        "up to 200 turns, each a regression and a pass over the lists",
        {**_CROWD_VARIES, "net": frozenset({"names", "weights", "shards"})},
    ),
    RankerEntry(
        "remap",
        "crowdrank.rankers.remap.remap:Remap",
        "from a crowd's labels and few experts' labels: how much each label is worth, then a ranker",
        "Ustinovskiy et al. 2016",
        "labels and a target",
        "a climb of up to 60 steps for each penalty and start, and every baseline; baselines=none is quicker",
        {"trees": frozenset[str]()},
    ),
)


def ranker_entries() -> Mapping[str, RankerEntry]:
    """Return every registered ranker, by name."""
    return MappingProxyType({entry.name: entry for entry in _ENTRIES})


def find_ranker(name: str) -> RankerEntry:
    """Return the entry with this name. An unknown name is an error that lists the names."""
    known = ranker_entries()
    if name not in known:
        raise UsageError(f"There is no ranker {name!r}.", hint=name_hint(name, known, "The rankers are"))
    return known[name]


def make_ranker(name: str, scorer: str | None = None, settings: Mapping[str, Any] | None = None) -> Ranker:
    """Return an untrained ranker; ``settings`` are parameters of the ranker or of its scorer."""
    entry = find_ranker(name)
    made = entry.load()(**entry.preset)
    made.name = name
    if scorer is not None:
        made.set_params(scorer=scorer)
    return made.set_params(**(settings or {}))
