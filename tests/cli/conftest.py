"""What tests of several commands share."""

import pytest

from crowdrank.simulate.presets import simulate


@pytest.fixture(scope="session")
def judged_crowd():
    """Three annotators rank 12 queries; 4 further queries have features and gold."""
    return simulate("ltrma-h7", lists=12, test=4, documents=6)


@pytest.fixture
def judged(judged_crowd, tmp_path):
    for name in ("features", "judgments", "gold"):
        getattr(judged_crowd, name).write_csv(tmp_path / f"{name}.csv")
    return judged_crowd


@pytest.fixture
def run(crowdrank, tmp_path):
    """The exit code and the lines on stderr but for the last; after a mistake nothing is printed or written."""

    def run(*words):
        ran = crowdrank(*words)
        if ran.code:
            assert ran.out == ""
            assert not (tmp_path / "ranker").exists()
            return ran.code, ran.err.removeprefix("crowdrank: ").splitlines()
        *said, last = ran.err.splitlines()
        assert last.startswith("Trained ")
        assert last.endswith(" are in ranker")
        return ran.code, said

    return run
