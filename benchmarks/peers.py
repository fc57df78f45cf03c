"""Speed and quality against named peers, each a ratio in one run."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl

import crowdrank as cr
from benchmarks.timing import best
from crowdrank.measures import kendall_tau, roc_auc
from crowdrank.simulate import bt_crowd


def bradley_terry(votes: int = 1_000_000, items: int = 129) -> None:
    """Bradley-Terry from string columns: ours with intervals, evalica's and choix's without."""
    import choix
    import evalica

    perfect = {"alpha": 1e9, "beta": 1.0, "spammers": 0.0}
    table = bt_crowd(seed=0, items=items, workers=50, votes=votes, spread=1.0, **perfect).judgments.to_pandas()
    winner = np.where(table["label"] == table["left"], "left", "right")
    outcomes = [evalica.Winner.X if side == "left" else evalica.Winner.Y for side in winner]
    left, right = table["left"].tolist(), table["right"].tolist()
    ours = pl.DataFrame({"left": table["left"], "right": table["right"], "label": table["label"]})

    seconds, model = best(lambda: cr.BradleyTerry(regularization=0).fit(ours))
    theirs, _ = best(lambda: evalica.bradley_terry(left, right, outcomes), repeats=1)
    print(f"bt, {votes} votes of {items} items, string columns: ours with intervals {seconds:.3f} s, "
          f"evalica without {theirs:.3f} s, ratio {theirs / seconds:.1f}")  # fmt: skip
    scores = model.ranking_.polars().sort("item")["score"].to_numpy()
    names = {name: place for place, name in enumerate(sorted(set(left) | set(right)))}
    first = np.array([names[name] for name in left])
    second = np.array([names[name] for name in right])
    ahead = winner == "left"
    pairs = np.stack([np.where(ahead, first, second), np.where(ahead, second, first)], axis=1)
    took, found = best(lambda: choix.ilsr_pairwise(items, pairs.tolist(), tol=1e-12), repeats=1)
    found = found - found.mean()
    print(f"   choix from integer codes {took:.3f} s, ratio {took / seconds:.1f}; "
          f"largest difference of the scores {np.abs(found - scores).max():.1e}")  # fmt: skip


def crowd_bt(votes: int = 100_000, items: int = 100, workers: int = 200) -> None:
    """Worker-aware ranking with 30 % spammers: ours, and crowd-kit's NoisyBradleyTerry."""
    from crowdkit.aggregation import NoisyBradleyTerry

    crowd = bt_crowd(seed=0, items=items, workers=workers, votes=votes, spammers=0.3)
    truth = crowd.gold.sort("item")["grade"].to_numpy()
    spammer = crowd.workers["quality"].to_numpy() == 0.5

    seconds, model = best(lambda: cr.CrowdBT().fit(crowd.judgments))
    scores = model.ranking_.polars().sort("item")["score"].to_numpy()
    eta = model.workers_.polars().sort("worker")["eta"].to_numpy()
    ours = kendall_tau(scores, truth), roc_auc(-np.abs(eta - 0.5), spammer)

    def noisy():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = NoisyBradleyTerry(n_iter=100)
            return theirs, theirs.fit_predict(crowd.judgments.to_pandas())

    took, (peer, found) = best(noisy, repeats=1)
    skills = peer.skills_.sort_index().to_numpy()
    theirs = kendall_tau(found.sort_index().to_numpy(), truth), roc_auc(-np.abs(skills - 0.5), spammer)
    print(f"crowd-bt, {votes} votes, {items} items, {workers} workers, 30 % spammers: ours {seconds:.3f} s, "
          f"crowd-kit NoisyBradleyTerry {took:.1f} s, ratio {took / seconds:.0f}")  # fmt: skip
    print(f"   tau: ours {ours[0]:.4f}, theirs {theirs[0]:.4f}; "
          f"spammer AUC: ours {ours[1]:.4f}, theirs {theirs[1]:.4f}")  # fmt: skip


def main() -> None:
    """All of them."""
    bradley_terry()
    crowd_bt()


if __name__ == "__main__":
    main()
