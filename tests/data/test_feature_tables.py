"""Tables of features with lines that hold nothing."""

import numpy as np
import pytest

import crowdrank as cr


@pytest.mark.parametrize("line", ["", " ", "\t", "  ,  ,"], ids=repr)
@pytest.mark.parametrize("place", [1, 2, 3])
def test_a_line_of_spaces_is_skipped(line, place, tmp_path):
    """With weights, which used to be counted without it: the rows no longer fit together."""
    lines = ["query,item,f1,weight", "q,a,1,1", "q,b,2,3"]
    (tmp_path / "x.csv").write_text("\n".join([*lines[:place], line, *lines[place:]]) + "\n")
    features = cr.read_features(tmp_path / "x.csv")
    assert features.index.items.to_list() == ["a", "b"]
    np.testing.assert_array_equal(features.values, [[1], [2]])
    np.testing.assert_array_equal(features.weight, [1, 3])
