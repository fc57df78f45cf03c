"""The models, by name. Nothing is imported before it is asked for."""

from crowdrank.models.registry import Entry, entries, find

__all__ = ["Entry", "entries", "find"]
