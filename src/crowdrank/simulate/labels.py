"""A crowd that labels some queries of a search engine, and experts who grade others.

For rankers that learn from both, as in Ustinovskiy et al. 2016 (sections 3 and 6.1).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from crowdrank.data.arrays import Floats, Integers
from crowdrank.errors import UsageError, parameter
from crowdrank.simulate.crowd import Crowd
from crowdrank.simulate.documents import Documents, draw_documents, read_documents
from crowdrank.simulate.labelers import assign_labels, draw_labelers
from crowdrank.simulate.lists import parse_numbers

PARTS = {"source": 600, "target": 30, "validation": 30, "test": 600}
"""How many queries the parts of a simulated set have, if no setting says it."""
FEW = 30
"""The target and the validation part of a file have at most so many queries, if no setting says it."""
CUE_QUANTILE = 0.6
"""A document has the cue if the feature is above this quantile."""
JUDGES = 20
"""About so many workers judge each honeypot."""


def label_crowd(
    *,
    seed: int = 0,
    world: int = 0,
    file: str = "",
    source: int = 0,
    target: int = 0,
    validation: int = 0,
    test: int = 0,
    documents: int = 15,
    features: int = 46,
    workers: int = 120,
    labels: int = 3,
    rigors: str = "all",
    qualities: str = "0.75,0.85,0.95",
    spammers: float = 0.3,
    cued: float = 0.0,
    cue: str = "",
    slips: float = 0.1,
    honeypots: int = 25,
    honeypot_rigor: str = "middle",
) -> Crowd:
    """Source queries that a crowd labels, and target, validation and test queries that experts grade.

    The documents are those of ``file`` (one that ``read_features`` takes, or several separated by commas), whose
    labels are the grades 0 to g. Without a file they are simulated, with g = 4: see ``draw_documents`` for
    ``world``, ``documents`` and ``features``, which have no effect on a file.

    ``source``, ``target``, ``validation`` and ``test`` say how many queries are in each part. For a part of 0, the
    usual number of queries is simulated: 600, 30, 30, 600. The seed deals out the queries of a file, where the
    usual parts are 60 %, 10 % but at most 30, as many again, and the rest. If ``test`` takes less than the rest,
    the other queries are left out.

    ``labels`` random workers label each source document; with ``workers`` 0 a worker of its own does. A worker of
    rigor r says 1 if the grade is above r, and the opposite with probability 1 - q. r is drawn from ``rigors``
    ("all": 0 to g - 1; "middle": (g - 1) / 2, rounded down; or numbers separated by commas), and q from
    ``qualities``. A share ``cued`` of the workers instead says 1 if one feature, ``cue``, is above its .6 quantile
    in the source, and the opposite with probability ``slips``. By default the cue is the last feature without an
    effect on the relevance; of a file, the last feature. A share of the other workers are ``spammers``: a third
    each labels at random, always 1, or always 0.

    Each worker also labels ``honeypots`` documents, which get no other labels. Their true label is 1 if the grade
    is above ``honeypot_rigor``. They are drawn from the source, so many that about 20 workers label each: workers
    x honeypots / 20, but at least ``honeypots`` and at most a tenth of the source.
    """
    # The documents have random numbers of their own, so that other crowds can label the same documents.
    drawn, rng = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 3])
    wanted = {"source": source, "target": target, "validation": validation, "test": test}
    if file:
        made, parts = _deal(read_documents(file), wanted, drawn)
    else:
        counts = {part: wanted[part] or usual for part, usual in PARTS.items()}
        made = draw_documents(sum(counts.values()), documents, features, world, drawn)
        parts = _name_parts(made.queries, counts)
    asked, most = made.of_queries(parts.filter(part="source")["query"]), int(made.grade.max())
    pool = _draw_pool(len(asked.grade), workers, honeypots, rng)
    people = draw_labelers(
        workers or len(asked.grade), _parse_rigors("rigors", rigors, most), _parse_qualities(qualities), rng,
        spammers=spammers, cued=cued, slips=slips,
    )  # fmt: skip
    row, worker = _assign(len(asked.grade), pool, workers, labels, honeypots, rng)
    shown = _find_cue(asked, cue) if cued else None
    return Crowd(
        judgments=people.judge(asked, row, worker, rng, shown),
        gold=made.gold(),
        workers=people.frame(),
        queries=parts,
        features=made.features(),
        honeypots=_known_labels(asked, pool, _parse_rigors("honeypot_rigor", honeypot_rigor, most)),
    )


def _name_parts(queries: pl.Series, counts: Mapping[str, int]) -> pl.DataFrame:
    """The first queries with their part, so many of each."""
    part = np.repeat(list(counts), list(counts.values()))
    return pl.DataFrame({"query": queries.head(len(part)), "part": part})


def _deal(
    documents: Documents, wanted: Mapping[str, int], rng: np.random.Generator
) -> tuple[Documents, pl.DataFrame]:
    """Random queries for each part, as many as wanted, or the usual share if that is 0; and their documents."""
    queries = documents.queries
    few = min(FEW, len(queries) // 10)
    usual = {"source": 6 * len(queries) // 10, "target": few, "validation": few}
    counts = {part: wanted[part] or count for part, count in usual.items()}
    left = len(queries) - sum(counts.values())
    counts["test"] = wanted["test"] or left
    if min(counts.values()) < 1 or counts["test"] > left:
        raise UsageError(
            f"The {len(queries)} queries with labels are too few for "
            + ", ".join(f"{part}={max(count, 1)}" for part, count in counts.items())
            + "."
        )
    parts = _name_parts(queries[rng.permutation(len(queries))], counts)
    return documents.of_queries(parts["query"]), parts


def _draw_pool(rows: int, workers: int, honeypots: int, rng: np.random.Generator) -> Integers:
    """The rows that are honeypots, in order."""
    if not honeypots:
        return np.empty(0, np.int64)
    if not workers or honeypots > rows // 10:
        raise UsageError(
            "Honeypots need workers with more than one task, and at most a tenth of the source's documents. "
            f"Got honeypots={honeypots}, workers={workers}, and {rows} documents.",
            hint=("Leave them out with ", parameter("honeypots", "0")),
        )
    size = min(max(round(workers * honeypots / JUDGES), honeypots), rows // 10)
    return np.sort(rng.choice(rows, size, replace=False))


def _assign(
    rows: int, pool: Integers, workers: int, labels: int, honeypots: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """Row and worker of each label: first the ordinary ones, then those of the honeypots."""
    if not workers:
        if labels != 1:
            raise UsageError(
                f"With workers=0, each document has its own worker and one label. Got labels={labels}."
            )
        return np.arange(rows), np.arange(rows)
    ordinary = np.setdiff1d(np.arange(rows), pool)
    row, worker = assign_labels(len(ordinary), labels, workers, rng)
    if not honeypots:
        return ordinary[row], worker
    judge, place = assign_labels(workers, honeypots, len(pool), rng)
    return np.append(ordinary[row], pool[place]), np.append(worker, judge)


def _find_cue(documents: Documents, cue: str) -> NDArray[np.bool_]:
    """Which documents have the cue: the feature with this name is above its quantile among them."""
    if cue and cue not in documents.names:
        raise UsageError(f"There is no feature {cue!r} to follow as a cue.")
    if not cue and not len(documents.idle):
        raise UsageError(
            f"All {len(documents.names)} features have an effect on the relevance, so none is left as a cue.",
            hint=("Simulate more features, or name one: ", parameter("cue", documents.names[-1])),
        )
    values = documents.x[:, documents.names.index(cue) if cue else documents.idle[-1]]
    return np.asarray(values > np.nanquantile(values, CUE_QUANTILE))


def _known_labels(documents: Documents, pool: Integers, rigor: Integers) -> pl.DataFrame | None:
    """The honeypots with the label of a faultless worker of this rigor. None without honeypots."""
    if len(rigor) != 1:
        raise UsageError(f"honeypot_rigor must be a single number. Got {len(rigor)} numbers.")
    if not len(pool):
        return None
    return documents.keys[pool].with_columns(label=(documents.grade[pool] > rigor[0]).astype(np.int64))


def _parse_rigors(name: str, text: str, most: int) -> Integers:
    """The rigors that a setting allows, if ``most`` is the highest grade."""
    named = {"all": np.arange(most), "middle": np.array([(most - 1) // 2])}
    if text in named:
        return named[text]
    found = parse_numbers(name, text, "0,1")
    if not np.isin(found, np.arange(most)).all():
        raise UsageError(f"{name} must be all, middle, or whole numbers from 0 to {most - 1}. Got {text!r}.")
    return found.astype(np.int64)


def _parse_qualities(text: str) -> Floats:
    """Qualities separated by commas."""
    found = parse_numbers("qualities", text, "0.75,0.85,0.95")
    if found.min() < 0 or found.max() > 1:
        raise UsageError(f"qualities must be from 0 to 1. Got {text!r}.")
    return found
