"""What a table seems to hold if its columns have other names than expected: used to say how to read it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import polars as pl

from crowdrank.data.io.cells import MISSING_WORDS
from crowdrank.data.io.columns import (
    LAYOUTS,
    OPTIONAL,
    Layout,
    MissingColumnError,
    RecognizedLayout,
    by_likely_name,
    doubled_columns,
    doubled_error,
    join_names,
    parse_mapping,
    recognize,
)
from crowdrank.data.io.files import Source
from crowdrank.data.io.graded_guesses import LABELS, QUERIES, WORKERS, GradedColumns, find_graded
from crowdrank.data.io.headers import refuse_other_headers
from crowdrank.data.io.outcomes import EXAMPLES, GUESSED, outcome_hint, word_meaning
from crowdrank.data.io.shared_columns import (
    MOST_OUTCOMES,
    SHARED,
    SharedColumns,
    find_shared,
    is_number,
    mostly_different,
    plain_columns,
    read_values,
)
from crowdrank.data.io.split_queries import FEW, LONE, RECURRING
from crowdrank.data.io.wide_tables import WideColumns, find_wide
from crowdrank.data.tables import LEFT, RIGHT, TIE
from crowdrank.errors import Hint, InputError, Note, Remedy, Retry

SAMPLE_ROWS = 10_000
MOST_RIVALS = 3
COUNTS = ("count", "counts", "n", "freq", "frequency", "votes", "num_votes", "n_votes", "times")
OUTCOMES = (
    "winner", "label", "choice", "chosen", "answer", "preference", "preferred", "vote", "result", "outcome",
    "verdict", "judgment", "response", "selected", "better", "best",
    "pick", "picked", "prefers",
)  # fmt: skip
_BETTER = ("winner", "win", "better", "preferred", "chosen", "best", "top", "selected", "won")
_WORSE = ("loser", "lose", "worse", "rejected", "dispreferred", "worst", "bottom", "lost", "other")
_LOSING = {
    *_WORSE, "loses", "losing", "lower", "less", "least", "not", "harmful", "toxic", "offensive", "unsafe",
    "biased", "bad",
} - {"other"}  # fmt: skip
"""Words that turn the meaning of a name round: the worse one lost, and so did the more harmful one."""
NAMED = 6
"""The least weight of a reading in which a column names an item of its row."""
_TWIN = re.compile(r"(left|right|first|second|one|two|[ab12xy])$|^(left|right|first|second)")


@dataclass(frozen=True)
class PairColumns:
    """Two columns of items and, unless the first one is the winner, the column of the outcome.

    ``values``: the distinct outcomes, if it is not certain what they mean. ``certain``: nothing else explains
    the rows. ``role``: that of the outcome; a label, if ids might be taken for words; the loser, if its name says
    so. ``others``: readings with another column of the outcome and other winners.
    """

    left: str
    right: str
    outcome: str | None
    values: tuple[str, ...] = ()
    certain: bool = False
    role: str = "winner"
    others: tuple[PairColumns, ...] = ()

    def roles(self) -> dict[str, str]:
        """The columns by role."""
        if self.outcome is None:
            return {"winner": self.left, "loser": self.right}
        return {"left": self.left, "right": self.right, self.role: self.outcome}

    def replaces(self, ratings: Mapping[str, str]) -> bool:
        """Whether what was recognized as ratings are these pairs, with one side as the item."""
        outcomes = [self.outcome, *(other.outcome for other in self.others)]
        item = ratings.get("item", ratings.get("items"))
        return item in (self.left, self.right) and ratings["label"] in outcomes


def find_pairs(sample: pl.DataFrame) -> PairColumns | None:
    """The columns that look like pairs in the first rows of a table, if there are any."""
    texts, values = read_values(sample)
    found = [
        (weight, place, pair)
        for place, (a, b) in enumerate(combinations(texts, 2))
        if len(values[a]) > 1 and len(values[b]) > 1 and mostly_different(texts[a], texts[b])
        for weight, pair in _readings(a, b, texts, values)
    ]
    if not found:
        return None
    ordered = sorted(found, key=lambda one: (-one[0], one[1]))
    least, best = min(ordered[0][0], NAMED), ordered[0][2]
    rivals = [
        pair
        for weight, _, pair in ordered[1:]
        if weight >= least and (pair.left, pair.right) == (best.left, best.right) and best.outcome and pair.outcome
        if not _winners(pair, texts).equals(_winners(best, texts), null_equal=True)
    ]
    return replace(best, certain=False, others=tuple(rivals)) if rivals else best


def _winners(pair: PairColumns, texts: Mapping[str, pl.Series]) -> pl.Series:
    """The side that the outcome of each row names as the winner; null for what is neither id nor word."""
    left, right, said = texts[pair.left], texts[pair.right], texts[pair.outcome or ""]
    words = {value: word_meaning(value, pair.left, pair.right) for value in set(said.drop_nulls())}
    code = said.replace_strict(list(words), list(words.values()), default=None, return_dtype=pl.Int8)
    first, second = (LEFT, RIGHT) if pair.role != "loser" else (RIGHT, LEFT)
    if pair.role == "loser":
        code = code.replace({LEFT: RIGHT, RIGHT: LEFT})
    return code.set((said == right).fill_null(False), second).set((said == left).fill_null(False), first)


def _readings(
    a: str, b: str, texts: Mapping[str, pl.Series], values: Mapping[str, set[str]]
) -> Iterator[tuple[float, PairColumns]]:
    """The ways to read two columns as pairs, each with its weight."""
    twins = _are_twins(a, b)
    for name in texts:
        if name not in (a, b) and _names_winner(texts[name], texts[a], texts[b], a, b):
            wordy = any(word_meaning(value, a, b) not in (None, TIE) for value in values[name])
            role = "loser" if says_loser(name) else "label" if wordy else "winner"
            yield NAMED + twins + (name.strip().lower() in OUTCOMES), PairColumns(a, b, name, (), True, role)
    common = len(values[a] & values[b])
    if common < max(1 if twins else 2, SHARED * min(len(values[a]), len(values[b]))):
        return
    if a.strip().lower() in _BETTER and b.strip().lower() in _WORSE:
        yield 5, PairColumns(a, b, None, certain=True)
    if b.strip().lower() in _BETTER and a.strip().lower() in _WORSE:
        yield 5, PairColumns(b, a, None, certain=True)
    if not twins and all(map(is_number, values[a] | values[b])):
        return  # numbers such as grades have values in common too
    for name in texts:
        likely, scored = (name.strip().lower() in known for known in (OUTCOMES, LABELS))
        if name in (a, b) or not values[name] or (not likely and values[name] & (values[a] | values[b])):
            continue  # ids are no words, unless the name says that the column is an outcome
        meanings = {word_meaning(value, a, b) for value in values[name]}
        if None not in meanings and meanings - {TIE}:
            yield (
                3 + twins + likely,
                PairColumns(a, b, name, certain=twins or likely, role="loser" if says_loser(name) else "winner"),
            )
        elif (_coded(values[name]) and (likely or scored or twins)) or (
            likely and twins and 1 < len(values[name]) <= MOST_OUTCOMES
        ):
            certain = {value for value in values[name] if word_meaning(value) != TIE} == set(GUESSED)
            shown = () if certain else tuple(sorted(values[name]))
            yield twins + (1 if likely else scored / 2), PairColumns(a, b, name, shown)


def _names_winner(said: pl.Series, a: pl.Series, b: pl.Series, left: str, right: str) -> bool:
    """Whether each outcome is the id of an item of its row, or a tie, and each side wins somewhere."""
    answered = said.is_not_null() & ~said.is_in(MISSING_WORDS)
    first, second = (said == a).fill_null(False), (said == b).fill_null(False)
    rest = said.filter(answered & ~first & ~second).unique()
    return bool(first.any() and second.any()) and all(word_meaning(value, left, right) == TIE for value in rest)


def _are_twins(a: str, b: str) -> bool:
    """Whether two names differ only in a mark such as 1 and 2, a and b, left and right."""
    a, b = a.strip().lower(), b.strip().lower()
    return a != b and bool(_TWIN.search(a) and _TWIN.search(b)) and _TWIN.sub("", a) == _TWIN.sub("", b)


def _words_of(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower())


def says_loser(name: str) -> bool:
    """Whether the name of a column says that its cells name the loser; "less harmful" turns it twice."""
    return sum(word in _LOSING for word in _words_of(name)) % 2 == 1


def _says_winner(name: str) -> bool:
    """Whether the name of a column says that its cells name the winner."""
    words = _words_of(name)
    return not says_loser(name) and any(word in _LOSING or word in OUTCOMES or word in _BETTER for word in words)


def _coded(values: set[str]) -> bool:
    plain = {value.lower() for value in values if word_meaning(value) != TIE}
    return any(plain == set(one) for one in EXAMPLES)


def pairs_mapping(found: PairColumns, sample: pl.DataFrame, given: Mapping[str, str]) -> str:
    """What to give as ``columns`` to read these pairs, with the worker and the query if there are any."""
    mapping = found.roles()
    taken = set(mapping.values())
    names = by_likely_name(sample.columns)
    for role in OPTIONAL:
        known = {"worker": WORKERS, "query": QUERIES}.get(role, OPTIONAL[role])
        own = next((names[name] for name in known if name in names and names[name] not in taken), None)
        if role in given:
            mapping[role] = given[role]
        elif own is not None and (role != "query" or _is_query(sample, found, own)):
            mapping[role] = own
    return join_names(f"{role}={name}" for role, name in mapping.items())


def _is_query(sample: pl.DataFrame, found: PairColumns, name: str) -> bool:
    """Whether a column is the query, by its name or its values.

    One that may split a ranking is not named: then a note says so when the file is read.
    """
    if name.strip().lower() in OPTIONAL["query"]:
        return not _splits(sample, found, name)
    return _parts(sample, found, name)


def _parts(sample: pl.DataFrame, found: PairColumns, query: str) -> bool:
    """Whether items belong to one query each, so that the queries have rankings of their own."""
    nodes = _judged_nodes(sample, found, query)
    return nodes["q"].n_unique() > 1 and nodes.height < 1.2 * nodes["i"].n_unique()


def _judged_nodes(sample: pl.DataFrame, found: PairColumns, query: str) -> pl.DataFrame:
    """Which items (i) are judged in which query (q)."""
    sides = [
        sample.select(pl.col(query).alias("q"), pl.col(side).cast(pl.String).alias("i"))
        for side in (found.left, found.right)
    ]
    return pl.concat(sides).unique()


def pairs_error(found: PairColumns, sample: pl.DataFrame, given: Mapping[str, str], source: str) -> InputError:
    """The error that says that a table holds pairs, and how to read it."""
    if found.others:
        return _rivals_error(found, sample, given, source)
    problem = f"each row is a pair: {found.left!r} and {found.right!r} "
    if found.outcome is None:
        problem = f"each row is a pair: {found.left!r} seems to be the winner, and {found.right!r} the loser."
    elif found.values:
        problem += f"share their values, and {found.outcome!r} seems to say which one won."
    elif found.role == "loser":
        problem += f"are the items, and {found.outcome!r} says which one lost."
    elif _says_winner(found.outcome):
        problem += f"are the items, and {found.outcome!r} says which one won."
    else:
        problem += f"are the items, and {found.outcome!r} seems to say which one won; check it."
    columns = pairs_mapping(found, sample, given)
    if found.values:
        hint = outcome_hint(found.values, found.left, found.right, columns=columns)
    else:
        hint = _reading_hint(found, sample, given, columns)
    return InputError(problem, source=source, hint=hint)


def _reading_hint(found: PairColumns, sample: pl.DataFrame, given: Mapping[str, str], columns: str) -> Hint:
    """The command that reads the pairs; one with and one without queries if these judge the same items."""
    names = {name.strip().lower(): name for name in reversed(sample.columns)}
    query = next((names[name] for name in OPTIONAL["query"] if name in names), None)
    if query is None or "query" in (*given, *parse_mapping(columns)) or query in found.roles().values():
        return ("Read it with ", Retry((Remedy("columns", columns),)))
    one, many = (Retry((Remedy("columns", f"{columns},{join_names([f'query={name}'])}"),)) for name in ("", query))
    return ("For one ranking, read it with ", one, f"\nFor a ranking for each {query!r}: ", many)


def _splits(sample: pl.DataFrame, found: PairColumns, query: str) -> bool:
    """Whether most queries judge the same items, or there is about one for each row."""
    nodes = _judged_nodes(sample, found, query)
    queries, items = nodes["q"].n_unique(), nodes["i"].n_unique()
    rare = queries >= LONE * sample.height and sample.height >= max(FEW, 2 * items)
    return queries > 1 and (rare or nodes.height >= RECURRING * queries * items)


def _rivals_error(found: PairColumns, sample: pl.DataFrame, given: Mapping[str, str], source: str) -> InputError:
    """The error for pairs with several columns that could be the outcome: a command for each."""
    readings = [found, *found.others][:MOST_RIVALS]
    hint: list[str | Retry] = []
    for one in readings:
        retry = Retry((Remedy("columns", pairs_mapping(one, sample, given)),))
        verb = "lost" if one.role == "loser" else "won"
        hint += ["\n" if hint else "", f"If {one.outcome!r} says which one {verb}: ", retry]
    names = " or ".join(repr(one.outcome) for one in readings)
    problem = (
        f"each row is a pair: {found.left!r} and {found.right!r} are the items, and {names} may say which one won."
    )
    return InputError(problem, source=source, hint=hint)


def recognize_source(
    source: Source, mapping: Mapping[str, str] | None, layouts: Sequence[Layout] = LAYOUTS
) -> RecognizedLayout:
    """The layout of a source. Pairs whose columns have other names are an error that says how to read them."""
    try:
        found = recognize(source.columns(), mapping, source.name, layouts)
    except MissingColumnError as error:
        if layouts is not LAYOUTS:
            raise
        raise _other_names_error(source, mapping or {}) or error from None
    if found.kind == "ratings" and not {"item", "label"} <= found.named and len(source.columns()) > 2:
        sample = source.head(SAMPLE_ROWS)
        pairs = find_pairs(sample)
        if pairs is not None and pairs.replaces(found.columns):
            raise pairs_error(pairs, sample, mapping or {}, source.name)
    return _note_counts(source, found, mapping or {})


def _other_names_error(source: Source, given: Mapping[str, str]) -> InputError | None:
    """The error that says what a table seems to hold although its columns have other names."""
    sample = source.head(SAMPLE_ROWS)
    refuse_other_headers(source, sample)
    doubled = doubled_columns(source.columns())
    pairs, wide = find_pairs(sample), find_wide(sample, plain_columns(sample))
    if pairs is not None and not (wide is not None and _is_survey(pairs, wide)):
        used = [name for name in doubled if name in pairs.roles().values()]
        return doubled_error(source.name, used[0]) if used else pairs_error(pairs, sample, given, source.name)
    if doubled:
        return doubled_error(source.name, doubled[0])
    if wide is not None:
        return wide.error(source.columns(), given, source.name)
    graded, shared = find_graded(source.columns(), given), None if given else find_shared(sample, OUTCOMES)
    if isinstance(shared, WideColumns) and graded is None:
        return shared.error(source.columns(), given, source.name)
    found = graded or shared
    return found.error(source.name) if isinstance(found, GradedColumns | SharedColumns) else None


def _is_survey(pairs: PairColumns, wide: WideColumns) -> bool:
    """Whether what looks like pairs are answers to questions: all columns share the numbers of a scale.

    Names such as ``doc1, doc2, winner`` say that they are pairs.
    """
    if not {pairs.left, pairs.right} & set(wide.names):
        return False
    if wide.stem:
        return True
    named = pairs.outcome is None or says_loser(pairs.outcome) or _says_winner(pairs.outcome)
    return not named and not _are_twins(pairs.left, pairs.right)


def _note_counts(source: Source, found: RecognizedLayout, given: Mapping[str, str]) -> RecognizedLayout:
    """The layout with a note if a column that is not used probably says how often each row occurred."""
    if "weight" in found.columns or "weight" in given:
        return found
    used = found.columns.values()
    for name in (name for name in source.columns() if name.strip().lower() in COUNTS and name not in used):
        sample = source.head(SAMPLE_ROWS)
        if name not in plain_columns(sample):
            continue
        values = sample[name].cast(pl.String).str.strip_chars().drop_nulls()
        if values.str.contains(r"^[1-9]\d*(\.0+)?$").all() and (values != "1").any():
            note = Note(
                "unused-counts",
                f"{source.name}: the column {name!r} is not used.",
                ("If it says how often the row occurred: ", Remedy("columns", f"weight={name}")),
            )
            return replace(found, notes=(*found.notes, note))
    return found


def other_reading(source: Source, found: RecognizedLayout, given: Mapping[str, str]) -> Hint:
    """How else the rows of a source might be read, if another way is certain."""
    sample = source.head(SAMPLE_ROWS)
    pairs = find_pairs(sample)
    if pairs is None or not pairs.certain or set(pairs.roles().values()) <= set(found.columns.values()):
        return ()
    return pairs_error(pairs, sample, given, source.name).hint or ()
