"""crowdrank demo: rank the judgments of a simulated crowd."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from crowdrank.cli.declare import Option
from crowdrank.cli.output import Folder, frame_writer, write_result


def command(
    out: Annotated[Path, Option(help="Folder for the demo's files.")] = Path("crowdrank-demo"),
    seed: Annotated[int, Option(help="Seed of the simulated crowd.")] = 0,
) -> None:
    """Simulate a crowd of good workers, spammers and liars, rank with and without worker quality, and report."""
    from crowdrank.cli.terminal import print_ranking, table
    from crowdrank.data import Scored, read, read_ranking
    from crowdrank.measures import evaluate
    from crowdrank.models.registry import make
    from crowdrank.simulate import simulate

    with Folder(out) as folder:
        crowd = simulate("bt-crowd", seed=seed, items=20, workers=60, votes=4000, spammers=0.35, malicious=0.2)
        print("60 simulated workers cast 4000 votes on 20 items; 35 % of them answer at random, 20 % lie.\n")
        gold = Scored(crowd.gold.select(query=None, item="item", value="grade"))
        votes = read(crowd.judgments)
        rows = []
        for name in ("win-rate", "bt", "crowd-bt"):
            model = make(name, {"seed": seed}).fit(votes)
            found = evaluate(read_ranking(model.ranking_.polars()), gold, "acc tau")
            rows.append((name, f"{found['acc']:.3f}", f"{found['tau']:.3f}", f"{model.fit_.seconds['fit']:.2f}"))
        print_ranking(model.ranking_.polars())
        assert model.workers_ is not None
        found_verdicts = model.workers_.verdict.value_counts().sort("verdict").rows()
        print("Workers: " + ", ".join(f"{count} {verdict}" for verdict, count in found_verdicts) + "\n")
        table("Against the truth", ("model", "pairs in the right order", "tau", "seconds"), rows, left=("model",))
        truth = {"judgments": crowd.judgments, "gold": crowd.gold, "true_workers": crowd.workers}
        folder.write({f"{name}.csv": frame_writer(frame) for name, frame in truth.items()})
        write_result(folder, model.result_.with_seconds(read=0.0), None, "csv")
    print(f"\nOpen {out / 'report.html'} in a browser. To do the same yourself:")
    print(f"  crowdrank rank {out / 'judgments.csv'} --model crowd-bt --out my-result")
