"""Every benchmark, one after the other."""

from benchmarks import coverage, growth, peers, reading, startup

for module in (startup, reading, peers, growth, coverage):
    print(f"\n== {module.__doc__.strip().splitlines()[0]}", flush=True)
    module.main()
