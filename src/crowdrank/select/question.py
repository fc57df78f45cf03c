"""A question: two items, and who is asked."""

from __future__ import annotations

from typing import NamedTuple

from crowdrank.kernels.pair_keys import pair_key


class Question(NamedTuple):
    """Two items, the judge who is asked (None: anyone), the gain, and why this pair was chosen.

    ``why``: ``"gain"``, ``"even"``, ``"random"``, ``"cold"`` (the item was hardly asked about), ``"gold"``, or
    ``"shared"`` (all allowed pairs are out with others). ``number`` counts the questions that were handed out.

    >>> import crowdrank as cr
    >>> campaign = cr.Campaign.start(None, judges=["ann"], items=["a", "b"])
    >>> question = campaign.ask("ann")
    >>> question.judge, question.why, question.number
    (0, 'cold', 1)
    """

    left: int
    right: int
    judge: int | None
    gain: float
    why: str
    number: int = 0

    @property
    def key(self) -> int:
        """The key of the pair, whichever side its items are on."""
        return int(pair_key(self.left, self.right))
