"""Every benchmark, one after the other."""

from benchmarks import (
    asking,
    choices,
    cluster,
    consensus,
    coverage,
    crowd_agg,
    features,
    growth,
    labels,
    ltrma,
    peers,
    ranker_growth,
    rankers,
    reading,
    robustness,
    row_growth,
    startup,
    threads,
    tpp,
    worker_weights,
)

for module in (
    startup,
    reading,
    features,
    peers,
    labels,
    consensus,
    worker_weights,
    growth,
    crowd_agg,
    tpp,
    rankers,
    ranker_growth,
    row_growth,
    ltrma,
    asking,
    cluster,
    coverage,
    choices,
    robustness,
    threads,
):
    print(f"\n== {module.__doc__.strip().splitlines()[0]}", flush=True)
    module.main()
