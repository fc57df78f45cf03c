"""The posterior that survives a fit: against the whole inverse matrix, by draws, and through a file."""

import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.models import entries
from crowdrank.results import Posterior, center
from crowdrank.solve import Arrow, Rescaled, Scaled
from crowdrank.solve.arrow import Border
from crowdrank.solve.draws import Draws
from helpers import random_lists, random_votes

NORMAL = {
    "bt": (random_votes(queries=2), {}),
    "bt without regularization": (random_votes(seed=3, votes=900), {"regularization": 0, "ties": "half"}),
    "thurstone": (random_votes(), {}),
    "majority-bt": (random_votes(), {}),
    "crowd-bt": (random_votes(), {}),
    "variance-bt": (random_votes(queries=2), {}),
    "judge-bt": (random_votes(), {}),
    "mpm": (random_votes(), {}),
    "mpm of many workers": (random_votes(workers=20), {}),
    "em-elo": (random_votes(queries=2), {}),
    "elo": (random_votes(), {}),
    "trueskill": (random_votes(), {}),
    "tpp": (random_votes(queries=2), {"domains": 1}),
    "plackett-luce": (random_lists(), {"slope": "by-worker"}),
    "trm": (random_lists(queries=2, ties=0), {}),
}


@pytest.fixture(scope="module", params=NORMAL)
def fitted(request):
    frame, settings = NORMAL[request.param]
    return entries()[request.param.split()[0]].make(settings).fit(frame)


def arrow(seed=0, sizes=(4, 3), workers=5, width=2, common=True):
    """A positive definite information matrix in the shape of an arrow, and the same as one dense matrix."""
    rng = np.random.default_rng(seed)
    part = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    n, size = len(part), workers * width + int(common)
    rows = rng.normal(size=(200, n + size))
    whole = rows.T @ rows / 20
    inside = np.zeros((n + size, n + size), bool)
    inside[:n, :n] = part[:, None] == part[None, :]
    block = np.arange(workers * width) // width
    inside[n : n + workers * width, n : n + workers * width] = block[:, None] == block[None, :]
    inside[:n, n:] = inside[n:, :n] = True
    inside[-1, :] = inside[:, -1] = inside[-1, :] | common
    whole = np.where(inside, whole, 0.0) + 40 * np.eye(n + size)
    own = slice(n, n + workers * width)
    blocks = np.stack(
        [whole[own, own][b * width : b * width + width, b * width : b * width + width] for b in range(workers)]
    )
    border = None
    if common:
        edge = whole[-1]
        carried = np.zeros((workers, width, 1))
        carried[:, 0, 0] = 1.0
        border = Border(edge[:n, None], edge[own].reshape(workers, width, 1), whole[-1:, -1:], carried)
    return Arrow(whole[:n, :n], whole[:n, own], blocks, part, border=border), whole


def parts_of(matrix):
    return [np.flatnonzero(matrix.part == number) for number in range(matrix.part.max() + 1)]


@pytest.mark.parametrize("common", [False, True])
@pytest.mark.parametrize("sizes", [(7,), (4, 3), (2, 2, 2, 2, 2, 2)])
def test_draws_have_the_covariance_of_the_whole_inverse(sizes, common):
    matrix, whole = arrow(sizes=sizes, common=common)
    inverse = np.linalg.inv(whole)
    n, k = sum(sizes), 10
    scores, workers = matrix.covariance().sample(parts_of(matrix), 200_000, np.random.default_rng(1))
    values = np.eye(n + k, len(whole))
    if common:  # a worker's own value is the deviation and what is common
        values[n : n + k : 2, -1] = 1.0
    want = values @ inverse @ values.T
    drawn = np.concatenate([scores, workers.reshape(len(workers), -1)], axis=1)
    found = drawn.T @ drawn / len(drawn)
    scale = np.sqrt(np.outer(want.diagonal(), want.diagonal()))
    np.testing.assert_allclose(found / scale, want / scale, atol=0.015)


def test_draws_of_a_rescaled_and_a_scaled_covariance():
    matrix, whole = arrow(sizes=(7,), common=False)
    inner, rng = matrix.covariance(), np.random.default_rng(2)
    scores, weights = rng.normal(size=7), rng.normal(size=(5, 2))
    jacobian = np.hstack([1.5 * np.eye(7), np.outer(scores, weights.ravel())])
    want = jacobian @ np.linalg.inv(whole) @ jacobian.T
    units = np.array([1.0, 1 / 1.5])
    rescaled = Rescaled(inner, scores, 1.5, weights, units)
    np.testing.assert_allclose(rescaled.block(np.arange(7)), want, atol=1e-12)
    drawn, workers = rescaled.sample(parts_of(matrix), 200_000, np.random.default_rng(3))
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), want, atol=0.02 * np.abs(want).max())
    np.testing.assert_allclose(rescaled.worker_variance(), inner.worker_variance() * units**2)
    np.testing.assert_allclose((workers**2).mean(axis=0), rescaled.worker_variance(), rtol=0.02)
    one = np.zeros((5, 2))
    one[3, 1] = 1.0
    across, own = rescaled.with_combination(one)
    np.testing.assert_allclose(across, (jacobian @ np.linalg.inv(whole))[:, 7 + 7] / 1.5, atol=1e-12)
    assert own == pytest.approx(np.linalg.inv(whole)[14, 14] / 1.5**2)
    np.testing.assert_allclose(Scaled(inner, 3.0).block(np.arange(7)), 9 * inner.block(np.arange(7)))


def test_draws_above_the_exact_limit_are_mixed_anew():
    rng = np.random.default_rng(4)
    own = Draws(rng.normal(size=(6, 128)), rng.normal(size=(3, 1, 128)))
    scores, workers = own.sample([np.arange(6)], 200_000, rng)
    np.testing.assert_allclose(scores.T @ scores / len(scores), own.block(np.arange(6)), atol=0.02)
    np.testing.assert_allclose((workers**2).mean(axis=0), own.worker_variance(), atol=0.02)


class TestOfAFit:
    def test_it_says_what_the_ranking_says(self, fitted):
        posterior, ranking = fitted.posterior_, fitted.ranking_
        np.testing.assert_allclose(posterior.score, ranking.score)
        assert posterior.item.to_list() == ranking.item.to_list()
        np.testing.assert_allclose(posterior.stderr, ranking.stderr)
        assert posterior.kind.startswith("normal")

    def test_the_difference_of_two_items(self, fitted):
        posterior = fitted.posterior_
        query = posterior.query[0]
        nodes = posterior.parts[posterior.part[0]]
        one, other = (posterior.item[int(node)] for node in nodes[:2])
        found = posterior.difference(one, other, query)
        block = center(posterior.normal.covariance.block(nodes))
        assert found.mean == pytest.approx(posterior.score[nodes[0]] - posterior.score[nodes[1]])
        assert found.stderr**2 == pytest.approx(block[0, 0] + block[1, 1] - 2 * block[0, 1])
        drawn = posterior.sample(40_000, seed=1).scores
        ahead = (drawn[:, nodes[0]] > drawn[:, nodes[1]]).mean()
        assert found.probability == pytest.approx(ahead, abs=0.01)
        with pytest.raises(cr.UsageError, match="no item 'nobody'"):
            posterior.difference("nobody", other, query)

    def test_samples(self, fitted):
        posterior = fitted.posterior_
        drawn = posterior.sample(20_000, seed=2)
        np.testing.assert_allclose(drawn.scores.mean(axis=0), posterior.score, atol=0.04 * posterior.stderr.max())
        np.testing.assert_allclose(drawn.scores.std(axis=0), posterior.stderr, rtol=0.05)
        assert drawn.workers.shape[1:] == posterior.worker_mean.shape
        np.testing.assert_allclose(drawn.workers.std(axis=0), posterior.worker_stderr, rtol=0.06, atol=1e-12)
        for nodes in posterior.parts:
            center_of = drawn.scores[:, nodes].mean(axis=1)
            np.testing.assert_allclose(center_of, posterior.score[nodes].mean(), atol=1e-9)
        again = posterior.sample(3, seed=5)
        np.testing.assert_array_equal(again.scores, posterior.sample(3, seed=5).scores)

    def test_scores_and_workers_vary_together(self, fitted):
        posterior = fitted.posterior_
        if not posterior.parameters:
            return
        drawn = posterior.sample(60_000, seed=3)
        place = int(np.argmax(posterior.worker_stderr[0]))
        own = drawn.workers[:, 0, place] - drawn.workers[:, 0, place].mean()
        found = (drawn.scores - drawn.scores.mean(axis=0)).T @ own / len(own)
        want = posterior.with_worker(posterior.worker[0], posterior.parameters[place])
        scale = posterior.stderr * max(posterior.worker_stderr[0, place], 1e-12)
        np.testing.assert_allclose(found / scale, want / scale, atol=0.03)

    def test_it_is_saved_and_loaded(self, fitted, tmp_path):
        posterior = fitted.posterior_
        posterior.save(tmp_path / "posterior.npz")
        again = Posterior.load(tmp_path / "posterior.npz")
        assert again.frame().equals(posterior.frame(), null_equal=True) or np.allclose(
            again.stderr, posterior.stderr
        )
        np.testing.assert_allclose(again.stderr, posterior.stderr, rtol=1e-12)
        np.testing.assert_allclose(again.worker_stderr, posterior.worker_stderr, rtol=1e-9, atol=1e-12)
        assert again.parameters == posterior.parameters
        assert again.kind == posterior.kind
        assert [file.name for file in tmp_path.iterdir()] == ["posterior.npz"]
        np.testing.assert_allclose(again.sample(2).scores, posterior.sample(2).scores, rtol=1e-9)


class TestHeldParameters:
    def test_what_all_workers_share_still_varies(self):
        posterior = cr.CrowdBT(ties="rao-kupper").fit(random_votes(ties=0.3)).posterior_
        place = posterior.parameters.index("threshold")
        own = posterior.worker_stderr[:, place]
        common = np.sqrt(posterior.normal.covariance.common_covariance().diagonal())
        np.testing.assert_allclose(own, common[-1])
        drawn = posterior.sample(20_000).workers[:, :, place]
        np.testing.assert_allclose(drawn.std(axis=0), own, rtol=0.05)
        np.testing.assert_allclose(drawn, np.broadcast_to(drawn[:, :1], drawn.shape))  # one value for all

    def test_a_quality_at_its_bound_is_no_constant(self):
        frame = random_votes(seed=5, ties=0)
        sure = frame.filter(pl.col("worker") != "w0")
        right = cr.BradleyTerry().fit(sure).ranking_.polars().select("item", "score")
        best = frame.join(right, left_on="left", right_on="item").join(right, left_on="right", right_on="item")
        label = pl.when(pl.col("score") > pl.col("score_right")).then("left").otherwise("right")
        frame = best.with_columns(label=pl.when(worker="w0").then(label).otherwise("label")).drop(
            "score", "score_right"
        )
        model = cr.CrowdBT(prior=None, regularization=0.5).fit(frame)
        assert model.posterior_.worker_mean[0, 0] == 1.0
        assert model.posterior_.worker_stderr[0, 0] > 0.01
        assert model.posterior_.sample(1000).workers[:, 0, 0].std() > 0.01

    def test_a_known_worker_is_a_constant(self):
        anchors = pl.DataFrame({"worker": ["w1"], "quality": [0.8]})
        posterior = cr.CrowdBT().fit(random_votes(), anchors=anchors).posterior_
        assert posterior.worker_stderr[1, 0] == 0.0
        assert (posterior.sample(100).workers[:, 1, 0] == 0.8).all()

    def test_parameters_of_the_crowd_are_no_workers_own(self):
        posterior = cr.BradleyTerry(position="shared").fit(random_votes()).posterior_
        assert posterior.parameters == ()
        assert posterior.sample(10).workers.shape == (10, 0, 0)

    def test_lists_from_the_bottom(self):
        """The other direction of the same lists: scores and slopes vary together the same way."""
        frame = random_lists(ties=0)
        turned = frame.with_columns(rank=-pl.col("rank") + 100)
        one, two = (
            cr.PlackettLuce(slope="by-worker", direction=direction).fit(given).posterior_
            for direction, given in (("top", frame), ("bottom", turned))
        )
        np.testing.assert_allclose(one.score, -two.score, atol=1e-6)
        np.testing.assert_allclose(
            one.with_worker("w0", "log-slope"), -two.with_worker("w0", "log-slope"), atol=1e-6
        )


def test_what_is_not_there_is_named():
    posterior = cr.CrowdBT().fit(random_votes(queries=2)).posterior_
    with pytest.raises(cr.UsageError, match=r"(?s)no item 'i1'.*Name its query"):
        posterior.difference("i1", "i2")
    with pytest.raises(cr.UsageError, match=r"(?s)no parameter 'slope' of a worker 'w1'.*eta"):
        posterior.with_worker("w1", "slope")
    with pytest.raises(cr.UsageError, match="no folder"):
        posterior.save("nowhere/posterior.npz")


def test_items_that_nothing_links_have_an_unbounded_difference():
    frame = pl.DataFrame({"winner": ["a", "b", "c"], "loser": ["b", "a", "d"]})
    found = cr.BradleyTerry().fit(frame).posterior_.difference("a", "c")
    assert found.stderr == np.inf
    assert found.probability == 0.5


class TestFiles:
    def test_something_else_is_a_clear_error(self, tmp_path):
        path = tmp_path / "posterior.npz"
        with pytest.raises(cr.InputError, match="no such file"):
            Posterior.load(path)
        path.write_bytes(b"not a zip file")
        with pytest.raises(cr.InputError, match="not a saved posterior"):
            Posterior.load(path)
        np.savez(path, header=np.frombuffer(b'{"format": 1, "kind": "something"}', np.uint8))
        with pytest.raises(cr.InputError, match="not a saved posterior of format 1"):
            Posterior.load(path)

    def test_a_file_that_was_cut_is_a_clear_error(self, tmp_path, votes):
        path = tmp_path / "posterior.npz"
        cr.BradleyTerry().fit(votes).posterior_.save(path)
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(cr.InputError, match="not a saved posterior"):
            Posterior.load(path)

    def test_no_class_of_another_package_is_made(self, tmp_path, votes):
        path = tmp_path / "posterior.npz"
        header = b'{"format": 1, "kind": "posterior", "tree": {"class": "os:system", "fields": {}}}'
        np.savez(path, header=np.frombuffer(header, np.uint8))
        with pytest.raises(cr.InputError, match="does not have"):
            Posterior.load(path)


def test_models_of_labels_hand_on_the_probabilities():
    from helpers import random_labels

    model = cr.DawidSkene().fit(random_labels())
    assert model.posterior_ is model.labels_


def test_a_table_is_one_line_in_a_model(votes, tmp_path):
    """A model with a table of its own: an attribute, a file, and a part of each report."""
    from crowdrank.cli.output import Folder, write_result
    from crowdrank.models.counting.win_rate import WinRate
    from crowdrank.report import build, to_html, to_markdown
    from crowdrank.results import Frame

    class WithTable(WinRate):
        def _fit(self, votes, run):
            outcome = super()._fit(votes, run)
            outcome.tables["notable_things"] = Frame(pl.DataFrame({"thing": ["x & y"], "size": [0.123456]}))
            return outcome

    model = WithTable().fit(votes)
    assert model.notable_things_.frame()["thing"].to_list() == ["x & y"]
    report = build(model.result_)
    assert "x &amp; y" in to_html(report)
    assert "## Notable things" in to_markdown(report)
    with Folder(tmp_path / "out") as folder:
        write_result(folder, model.result_, None, "csv")
    assert (tmp_path / "out" / "notable_things.csv").read_text().startswith("thing,size")
    with Folder(tmp_path / "out") as folder:
        write_result(folder, WinRate().fit(votes).result_, None, "csv")
    assert not (tmp_path / "out" / "notable_things.csv").exists()


def test_before_a_fit_there_is_a_clear_error():
    for name in ("ranking_", "posterior_", "labels_"):
        with pytest.raises(cr.NotFittedError, match=f"bt is not fitted yet, so it has no {name}"):
            getattr(cr.BradleyTerry(), name)
        assert not hasattr(cr.BradleyTerry(), name)
    with pytest.raises(cr.NotFittedError, match=r"Hint: Call fit\(judgments\) first"):
        cr.BradleyTerry().ranking_  # noqa: B018
    with pytest.raises(cr.NotFittedError, match=r"listmle is not fitted yet.\nHint: Call fit\(features\) first"):
        cr.ListMLE().importance_  # noqa: B018


def test_an_unknown_table_is_an_attribute_error(votes):
    with pytest.raises(AttributeError, match="its tables are ranking_, workers_"):
        cr.BradleyTerry().fit(votes).nonsense_  # noqa: B018
