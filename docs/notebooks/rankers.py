# %% [markdown]
# # Train, check, ship, score
#
# You have documents with features, such as how well a title matches a query, and labels for some of the
# queries. You want a ranker that orders the documents of all other queries. This notebook trains one, checks
# it, ships it as a folder and scores new documents.
#
# The same on the command line: [the tutorial](../rankers/tutorial.md).

# %%
import polars as pl

import crowdrank as cr
from crowdrank.data import read_gold, read_ranking
from crowdrank.measures import evaluate
from crowdrank.simulate import simulate

# %% [markdown]
# ## Data
#
# `labeled.csv` has 100 queries with 15 documents each: the columns query, item and 46 features. `gold.csv` has
# the grades 0 to 4. `new.csv` is another sample of the same search engine. Its grades are used only at the end.

# %%
labeled, new = simulate("search", seed=1), simulate("search", seed=2)
labeled.features.write_csv("labeled.csv")
labeled.gold.write_csv("gold.csv")
new.features.write_csv("new.csv")
labeled.features.select("query", "item", pl.col("f00", "f01", "f02").round(3)).head(3)

# %% [markdown]
# ## Train
#
# A fifth of the queries is kept for validation: the ranker does not learn from them.

# %%
ranker = cr.ListMLE().fit("labeled.csv", gold="gold.csv", validation=0.2)
ranker

# %% [markdown]
# How good is it on the validation queries, and how good is the best single feature, which is what you could do
# without training?


# %%
def validated(ranker):
    """nDCG@10 on the validation queries, of the ranker and of the best single feature."""
    measured = ranker.fit_.details["measured"]
    return {name: round(measured[name]["nDCG@10"], 3) for name in ("ranker", "best_feature")}


validated(ranker)

# %% [markdown]
# The worst queries come first in this table:

# %%
ranker.queries_

# %% [markdown]
# ## Check
#
# Features may act in steps and combinations, which trees can learn. The same queries validate both, because the
# seed is the same.

# %%
trees = cr.ListMLE(scorer="trees").fit("labeled.csv", gold="gold.csv", validation=0.2)
validated(trees)

# %% [markdown]
# Here the linear ranker comes out ahead: 80 queries are few for trees, and 20 validation queries are noisy.
# With five folds every query is used for a test once.

# %%
folds = cr.cross_validate(cr.ListMLE(), "labeled.csv", gold="gold.csv")
for name, found in folds.summary().items():
    print(f"{name:<7}  {found['mean']:.3f} ± {found['stderr']:.3f}", end="   ")
    print(f"best single feature {found['best_feature']:.3f}")

# %% [markdown]
# How far is the ranker ahead of the best single feature, over all queries?

# %%
lead = folds.leads["best_feature"]
print(f"nDCG@10 is larger by {lead['mean']:.3f} (90 % interval {lead['low']:.3f} to {lead['high']:.3f})")

# %% [markdown]
# ## Ship
#
# The folder is all that a machine with crowdrank needs. It holds no code.

# %%
ranker.save("ranker")

# %% [markdown]
# ## Score

# %%
scores = cr.load("ranker").score("new.csv")
scores

# %% [markdown]
# The new queries were never seen, so this is the ranker's true quality, up to the noise of 100 queries:

# %%
measured = evaluate(read_ranking(scores.polars()), read_gold(new.gold), "nDCG@10 AP")
for name, value in measured.items():
    print(f"{name:<7}  {value:.3f}")

# %% [markdown]
# The decision: ship the linear ranker. It is as good on new queries as the folds promised, it trains in a
# second, and its weights can be read.
#
# A table that lacks a feature is refused, with the name of the feature:

# %%
try:
    cr.load("ranker").score(new.features.drop("f31"))
except cr.CrowdrankError as error:
    print(error)

# %% [markdown]
# The report of the training is one page to pass on:

# %%
print("The report is in", ranker.report("report.html"))
