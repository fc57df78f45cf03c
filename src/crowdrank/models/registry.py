"""Names of models: what each takes, where it comes from, and what may be expected of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from crowdrank.errors import UsageError

if TYPE_CHECKING:
    from crowdrank.models.base import Model


@dataclass(frozen=True)
class Entry:
    """A registered model. ``deterministic``: the same votes in any order, under any names, give the
    same answer to 1e-9; the contract suite holds it to that."""

    name: str
    path: str  # module:Class
    summary: str
    paper: str
    kinds: tuple[str, ...] = ("pairs", "rankings", "ratings")
    workers: str = "optional"  # or "needed"
    deterministic: bool = True

    def load(self) -> type[Model]:
        """Import the model's class."""
        module, _, name = self.path.partition(":")
        found: type[Model] = getattr(import_module(module), name)
        return found


_COUNTING = "crowdrank.models.counting"
_PAIRED = "crowdrank.models.paired"

_ENTRIES = (
    Entry("win-rate", f"{_COUNTING}.win_rate:WinRate", "share of comparisons won", "-"),
    Entry("borda", f"{_COUNTING}.borda:Borda", "mean share won against each opponent", "Borda 1781"),
    Entry("bt", f"{_PAIRED}.bradley_terry:BradleyTerry", "Bradley-Terry", "Bradley & Terry 1952"),
    Entry("thurstone", f"{_PAIRED}.thurstone:Thurstone", "Thurstone case V", "Thurstone 1927"),
    Entry(
        "crowd-bt",
        f"{_PAIRED}.crowd_bt:CrowdBT",
        "Bradley-Terry with a quality for each worker",
        "Chen et al. 2013",
        workers="needed",
    ),
    Entry(
        "crowd-thurstone",
        f"{_PAIRED}.crowd_thurstone:CrowdThurstone",
        "Thurstone with a quality for each worker",
        "Chen et al. 2013",
        workers="needed",
    ),
)


def entries() -> Mapping[str, Entry]:
    """Every registered model by its name."""
    return MappingProxyType({entry.name: entry for entry in _ENTRIES})


def find(name: str, among: Mapping[str, Entry] | None = None) -> Entry:
    """The entry of that name; an unknown name is an error that lists the names."""
    known = entries() if among is None else among
    if name not in known:
        raise UsageError(f"There is no model {name!r}.", hint=f"The models are {', '.join(known)}.")
    return known[name]


def make(name: str, parameters: Mapping[str, Any]) -> Model:
    """An unfitted model with these parameters."""
    return find(name).load()().set_params(**parameters)
