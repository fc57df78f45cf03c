"""The models, by name. A model is imported only when it is used."""

from crowdrank.models.registry import Entry, entries, find

__all__ = ["Entry", "entries", "find"]
