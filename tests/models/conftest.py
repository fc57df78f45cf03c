"""Shared by the tests of models."""

import pytest

from helpers import random_labels
from labelled import labels_of


@pytest.fixture
def graded():
    """A few labels of six items by four workers."""
    return labels_of(random_labels(seed=3, items=6, workers=4, labels=40, classes=3))
