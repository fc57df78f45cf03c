"""crowdrank score and export with a ranker that has learned from a crowd, as a user runs them."""

import io

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.rankers.registry import make_ranker

STEPS = 8
GIVE = "Hint: Give them: --judgments FILE"


@pytest.fixture
def ranker(judged, tmp_path):
    fitted = make_ranker("ltrma-mle", None, {"iterations": STEPS}).fit(judged.features, judged.judgments)
    fitted.save(tmp_path / "ranker")
    return fitted


def test_with_judgments(crowdrank, judged, ranker):
    alone = pl.read_csv(io.StringIO(crowdrank("score", "ranker", "features.csv").out))
    ran = crowdrank("score", "ranker", "features.csv", "--judgments", "judgments.csv")
    assert ran.code == 0
    together = pl.read_csv(io.StringIO(ran.out))
    direct = ranker.score(judged.features, judged.judgments).score
    np.testing.assert_array_equal(together["score"], direct)
    judged = (alone["query"] <= "query-12").to_numpy()
    assert (together["score"] != alone["score"]).to_numpy()[judged].all()
    assert (together["score"] == alone["score"]).to_numpy()[~judged].all()
    assert ran.err == (
        "warning: 24 of 96 documents are in queries without judgments, and scored by features alone.\n"
    )


def test_unranked_documents_mean_what_they_meant_in_training(crowdrank, judged, tmp_path):
    top = judged.judgments.filter(pl.col("rank") <= 3)
    fitted = make_ranker("ltrma-mle", None, {"iterations": STEPS})
    fitted.fit(judged.features, top, unranked="below").save(tmp_path / "ranker")
    top.write_csv(tmp_path / "top.csv")
    words = ("score", "ranker", "features.csv", "--judgments", "top.csv")
    usual, below, unknown = (
        crowdrank(*words, *more).out for more in ((), ("--missing", "below"), ("--missing", "unknown"))
    )
    assert usual == below != unknown


def test_options_of_judgments(crowdrank, judged, ranker, tmp_path):
    usual = crowdrank("score", "ranker", "features.csv", "--judgments", "judgments.csv", "--missing", "below")
    judged.judgments.rename({"item": "doc"}).write_csv(tmp_path / "lists.csv")
    words = ("score", "ranker", "features.csv", "--judgments", "lists.csv", "--missing", "below")
    ran = crowdrank(*words)
    assert ran.code == 2
    assert ran.err.endswith(f"Hint: Read it with crowdrank {' '.join(words)} --judgment-columns item=doc\n")
    assert crowdrank(*words, "--judgment-columns", "item=doc").out == usual.out != ""


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--missing", "below"], f"--missing below needs judgments.\n{GIVE}"),
        (["--judgment-columns", "item=doc"], f"--judgment-columns needs judgments.\n{GIVE}"),
        (["-", "--judgments", "-"], "Only one of the files can be standard input.\nHint: Name the others."),
    ],
)
def test_mistakes(crowdrank, judged, ranker, words, problem):
    given = ["features.csv"] if words[0] != "-" else []
    ran = crowdrank("score", "ranker", *given, *words)
    assert (ran.code, ran.out, ran.err) == (2, "", f"crowdrank: {problem}\n")


def test_a_ranker_that_knows_no_workers(crowdrank, judged, tmp_path):
    cr.ListMLE().fit(judged.features, gold=judged.gold).save(tmp_path / "ranker")
    ran = crowdrank("score", "ranker", "features.csv", "--judgments", "judgments.csv")
    assert ran.code == 2
    assert "listmle scores documents by their features alone" in ran.err


def test_export(crowdrank, judged, ranker, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    assert crowdrank("export", "ranker", "--onnx", "ranker.onnx").code == 0
    session = runtime.InferenceSession(tmp_path / "ranker.onnx")
    one = judged.features.filter(pl.col("query") == "query-03")
    (found,) = session.run(None, {"features": one.drop("query", "item").to_numpy().astype(np.float32)})
    np.testing.assert_allclose(found, ranker.score(one).score, atol=1e-5)
