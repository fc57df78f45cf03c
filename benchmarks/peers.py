"""Speed and held-out log loss against named peers, every ratio within one run.

Bradley-Terry: votes of one scale from string columns, and 50,000 more votes that nobody is fitted to; every
peer's scores have the same logistic probability there. Ours always has intervals. A peer's data is brought into
its own form before the clock starts. Worker-aware: a crowd with 30 % spammers, each model with its own probability
of a vote. Sizes: fits to what `read` returned, beside evalica's Bradley-Terry, which knows no workers, given
columns of strings. Its winners are prepared before the clock starts, and its indexing counts.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl

import crowdrank as cr
from benchmarks.timing import best
from crowdrank.measures import kendall_tau, roc_auc
from crowdrank.simulate import bt_crowd

HELD, ITEMS = 50_000, 129
Scores = dict[str, float]


@dataclass(frozen=True)
class Peer:
    """A peer's fit: ``run`` is timed, ``scores`` turns its result into scores on the scale of the logistic."""

    name: str
    run: Callable[[], Any]
    scores: Callable[[Any], Scores]
    repeats: int = 3
    intervals: str = "none"


def named(package: str, what: str = "") -> str:
    return f"{package} {version(package)}{what and ' ' + what}"


def votes_of(count: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Votes to fit and votes held out."""
    perfect = {"alpha": 1e9, "beta": 1.0, "spammers": 0.0}
    crowd = bt_crowd(seed=0, items=ITEMS, workers=50, votes=count + HELD, spread=1.0, **perfect)
    return crowd.judgments.head(count), crowd.judgments.tail(HELD)


def log_loss(scores: Scores, held: pl.DataFrame) -> float:
    """Mean of -ln P(label) with the logistic function of the difference of scores."""
    left, right = (held[side].replace_strict(scores).to_numpy() for side in ("left", "right"))
    won = (held["label"] == held["left"]).to_numpy()
    return float(np.logaddexp(0.0, np.where(won, right - left, left - right)).mean())


def logs(series: Any) -> Scores:
    return {name: float(np.log(value)) for name, value in series.items()}


def evalica_peer(votes: pl.DataFrame) -> tuple[Peer, Peer]:
    """The fit, and 100 of its bootstraps."""
    import evalica

    left, right = votes["left"].to_list(), votes["right"].to_list()
    won = (votes["label"] == votes["left"]).to_list()
    winners = [evalica.Winner.X if own else evalica.Winner.Y for own in won]

    def resampled():
        settings = {"n_resamples": 100, "bootstrap_method": "percentile", "random_state": 0}
        return evalica.bootstrap(evalica.bradley_terry, left, right, winners, **settings)

    fit = Peer(named("evalica"), lambda: evalica.bradley_terry(left, right, winners), lambda r: logs(r.scores))
    return fit, Peer(named("evalica"), resampled, lambda r: logs(r.result.scores), 2, "100 resamples")


def choix_peers(votes: pl.DataFrame) -> tuple[Peer, Peer]:
    """The fit from integer codes, and the Gaussian posterior by expectation propagation."""
    import choix

    names = sorted(set(votes["left"]) | set(votes["right"]))
    code = {name: place for place, name in enumerate(names)}
    left, right = (votes[side].replace_strict(code).to_numpy() for side in ("left", "right"))
    won = (votes["label"] == votes["left"]).to_numpy()
    pairs = np.stack([np.where(won, left, right), np.where(won, right, left)], axis=1).tolist()

    def scores(found):
        return dict(zip(names, np.asarray(found), strict=True))

    def posterior():
        return choix.ep_pairwise(len(names), pairs, 0.1, model="logit")

    fit = Peer(named("choix"), lambda: choix.ilsr_pairwise(len(names), pairs), scores)
    return fit, Peer(named("choix", "EP"), posterior, lambda r: scores(r[0]), 1, "posterior")


def crowdkit_peer(votes: pl.DataFrame) -> Peer:
    from crowdkit.aggregation import BradleyTerry

    frame = votes.to_pandas()
    return Peer(named("crowd-kit"), lambda: BradleyTerry(n_iter=100).fit_predict(frame), logs)


def arena_peers(votes: pl.DataFrame) -> tuple[Peer, Peer]:
    """The fit, and the same with sandwich intervals; from strings, as its own data set is made."""
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    won = votes["label"] == votes["left"]
    winner = pl.select(pl.when(won).then(pl.lit("model_a")).otherwise(pl.lit("model_b"))).to_series()
    frame = pl.DataFrame({"model_a": votes["left"], "model_b": votes["right"], "winner": winner}).to_pandas()

    def fitted():
        data = PairDataset.from_pandas(frame)
        model = BradleyTerry(n_competitors=data.n_competitors).fit(data)
        return data, np.asarray(model.params["ratings"]), model

    def with_intervals():
        data, ratings, model = fitted()
        found = model.compute_ratings_and_cis(data, significance_level=0.1)
        np.asarray(found["rating_lower"])
        return data, ratings, model

    def scores(result):
        return dict(zip(result[0].competitors, result[1], strict=True))

    name = named("arena-rank")
    return Peer(name, fitted, scores), Peer(name, with_intervals, scores, intervals="sandwich")


def peers_of(count: int, votes: pl.DataFrame, slow: bool) -> Iterator[Peer]:
    """Every peer that fits this many votes."""
    yield evalica_peer(votes)[0]
    fit, posterior = choix_peers(votes)
    yield fit
    yield crowdkit_peer(votes)
    yield from arena_peers(votes)
    if count <= 100_000 and slow:
        yield posterior


def row(task: str, votes: int, ours: tuple[float, float], peer: Peer, theirs: tuple[float, float]) -> None:
    """One row of the table: seconds and log loss of either."""
    print(
        f"| {task} | {votes:,} | {ours[0]:.3f} | {peer.name} | {peer.intervals} | {theirs[0]:.3f} "
        f"| {theirs[0] / ours[0]:.1f} | {ours[1]:.5f} | {theirs[1]:.5f} |",
        flush=True,
    )


def ours_of(votes: pl.DataFrame, held: pl.DataFrame, repeats: int = 3, **settings: Any) -> tuple[float, float]:
    frame = votes.select("left", "right", "label")
    seconds, model = best(lambda: cr.BradleyTerry(**settings).fit(frame), repeats)
    table = model.ranking_.polars()
    return seconds, log_loss(dict(zip(table["item"], table["score"], strict=True)), held)


def theirs_of(peer: Peer, held: pl.DataFrame) -> tuple[float, float]:
    seconds, result = best(peer.run, peer.repeats)
    return seconds, log_loss(peer.scores(result), held)


def bradley_terry(count: int, slow: bool) -> None:
    """Bradley-Terry against every peer."""
    votes, held = votes_of(count)
    ours = ours_of(votes, held, 5)
    for peer in peers_of(count, votes, slow):
        row("bt", count, ours, peer, theirs_of(peer, held))


def bootstrap(count: int = 100_000) -> None:
    """A thousand resamples of ours against a hundred of evalica's."""
    votes, held = votes_of(count)
    ours = ours_of(votes, held, intervals="bootstrap", resamples=1000)
    peer = evalica_peer(votes)[1]
    row("bt, 1,000 resamples", count, ours, peer, theirs_of(peer, held))


def crowd_bt(count: int = 100_000, items: int = 100, workers: int = 200) -> None:
    """Worker-aware ranking with 30 % spammers: ours, and crowd-kit's NoisyBradleyTerry."""
    from crowdkit.aggregation import NoisyBradleyTerry

    crowd = bt_crowd(seed=0, items=items, workers=workers, votes=count + HELD, spammers=0.3)
    votes, held = crowd.judgments.head(count), crowd.judgments.tail(HELD)
    won = (held["label"] == held["left"]).to_numpy()

    def noisy():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return NoisyBradleyTerry(n_iter=100).fit(frame)

    frame = votes.to_pandas()
    seconds, model = best(lambda: cr.CrowdBT().fit(votes))
    chance = model.predict_proba(held)
    loss = -np.log(np.where(won, chance[:, 0], chance[:, 2])).mean()
    took, theirs = best(noisy, repeats=1)
    row("crowd-bt", count, (seconds, loss), Peer(named("crowd-kit", "Noisy"), noisy, logs),
        (took, _noisy_loss(theirs, held, won)))  # fmt: skip
    truth = crowd.gold.sort("item")["grade"].to_numpy()
    spammer = crowd.workers.sort("worker")["quality"].to_numpy() == 0.5
    eta = model.workers_.polars().sort("worker")["eta"].to_numpy()
    skills = theirs.skills_.sort_index().to_numpy()
    found = [
        (kendall_tau(scores, truth), roc_auc(-np.abs(quality - 0.5), spammer))
        for scores, quality in (
            (model.ranking_.polars().sort("item")["score"].to_numpy(), eta),
            (theirs.scores_.sort_index().to_numpy(), skills),
        )
    ]
    print(f"\nIn the last row: tau {found[0][0]:.3f} against {found[1][0]:.3f}, "
          f"AUC of finding the spammers {found[0][1]:.3f} against {found[1][1]:.3f}.")  # fmt: skip


SIZES = ((129, 500), (2_000, 2_000), (20_000, 2_000))
"""Items and workers."""
SLOW = 5_000
"""With more items every fit is timed once."""


def timed_evalica(votes: pl.DataFrame, repeats: int) -> tuple[float, float]:
    """Seconds from columns of strings, as in its own examples, and from plain lists."""
    import evalica

    won = (votes["label"] == votes["left"]).to_list()
    winners = [evalica.Winner.X if own else evalica.Winner.Y for own in won]
    columns = votes["left"].to_pandas(), votes["right"].to_pandas()
    lists = votes["left"].to_list(), votes["right"].to_list()
    by_columns, by_lists = (
        best(lambda sides=sides: evalica.bradley_terry(*sides, winners), repeats)[0] for sides in (columns, lists)
    )
    return by_columns, by_lists


def sizes(counts: tuple[int, ...] = (100_000, 1_000_000)) -> None:
    """Ours by the number of items and votes; ratios above 1 say how many times as long as evalica it took."""
    head = ("items", "workers", "votes", "evalica, s", "from lists, s", "model", "ours, s", "ratio", "to lists")
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for items, workers in SIZES:
        repeats = 1 if items > SLOW else 3
        for count in counts:
            votes = bt_crowd(seed=0, items=items, workers=workers, votes=count, spread=1.0).judgments
            columns, lists = timed_evalica(votes, repeats)
            coded = cr.read(votes)
            for model in (cr.BradleyTerry, cr.CrowdBT, cr.JudgeBT):
                seconds, _ = best(lambda model=model, coded=coded: model().fit(coded), repeats)
                figures = f"{columns:.2f} | {lists:.2f} | {model.name} | {seconds:.2f}"
                ratios = f"{seconds / columns:.2f} | {seconds / lists:.2f}"
                print(f"| {items:,} | {workers:,} | {count:,} | {figures} | {ratios} |", flush=True)


def _noisy_loss(model: Any, held: pl.DataFrame, won: Any) -> float:
    """By its own model: with its skill a worker judges by the scores, else by a bias towards the left."""
    from scipy.special import expit, logit

    frame = held.to_pandas()
    scores = logit(model.scores_)
    d = frame["left"].map(scores).to_numpy() - frame["right"].map(scores).to_numpy()
    skill, bias = (frame["worker"].map(own).to_numpy() for own in (model.skills_, model.biases_))
    left = skill * expit(d) + (1 - skill) * bias
    return float(-np.log(np.where(won, left, 1 - left)).mean())


def main(slow: bool = False) -> None:
    """One table."""
    print("| model | votes | ours, s | peer | its intervals | peer, s | ratio | log loss, ours | peer's |")
    print("|---|---|---|---|---|---|---|---|---|")
    for count in (100_000, 1_000_000):
        bradley_terry(count, slow)
    bootstrap()
    crowd_bt()
    sizes()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--slow", action="store_true", help="choix's posterior too, which takes minutes")
    main(parser.parse_args().slow)
