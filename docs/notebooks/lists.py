# %% [markdown]
# # Lists of systems or reviewers
#
# You have ranked lists: ten results from each of several search systems, or the order in which each reviewer
# puts the proposals that they read. You want one order for all, and to know whose lists deserve to count.
#
# The same on the command line: [the tutorial](../guides/lists.md).

# %%
import polars as pl

import crowdrank as cr
from crowdrank.simulate import simulate

# %% [markdown]
# ## Systems: one run out of many
#
# Eight systems (`worker-1` to `worker-8`) give their top 10 of 40 documents for each of 30 queries. They are
# simulated: the first system is good, the seventh returns documents at random, and the eighth is slightly worse
# than random.

# %%
runs = simulate("ltrma-long", seed=1, lists=30, test=1, documents=40)
runs.judgments.write_csv("runs.csv")
runs.judgments.head(3)

# %% [markdown]
# A document that a system does not return is one that it puts below its top 10. crowdrank must know this,
# because in other files a missing item only means that nobody looked at it.

# %%
lists = cr.read("runs.csv", missing="below")
fused = cr.CrowdLists().fit(lists)
fused.ranking_.plot("query-01", most=12)

# %% [markdown]
# `crowd-lists` weights the systems by how well they agree with the others. Whose lists count?

# %%
systems = fused.workers_.frame().sort("weight", descending=True)
systems.select("worker", pl.col("agreement", "weight", "quality").round(2), "verdict")

# %% [markdown]
# *Quality* is how often a system agrees with the fused order on a pair of documents. What only a bad system
# returns ends at the bottom of the fused order, so the last two agree in less than half of the pairs. That is
# why they are called malicious, although the seventh only returns documents at random.
#
# Does the weighting pay? The simulation knows the true grades. With your own runs, grades for some of the
# queries are enough.

# %%
models = ["rrf", "borda", "median-rank", "plackett-luce", "crowd-lists"]
measures = "nDCG(gain=linear)@10 tau"
found = cr.compare_models(lists, models, folds=0, gold=runs.gold, measures=measures)
found.polars().select("model", pl.col(measures.split()).round(3))

# %% [markdown]
# Here it does, because the simulated systems differ a lot. On [real runs](../models/crowd-lists.md) there was
# almost no difference.
#
# The decision: ship the fused run, and drop the systems whose weight is next to nothing. Programs that read
# TREC runs take this one:

# %%
table = fused.ranking_.frame().with_columns(pl.col("score").round(4))
run = table.select(pl.format("{} Q0 {} {} {} fused", "query", "item", "rank", "score"))
run.write_csv("fused.run", include_header=False)
print(*run.to_series().head(2), sep="\n")

# %% [markdown]
# ## Reviewers: partial rankings
#
# Each reviewer read some of the proposals and put them in order, best first. Nobody read all. Equal ranks are
# ties: fay put cedar and dune on the same place.

# %%
orders = {
    "ann": {"aqua": 1, "bolt": 2, "cedar": 3},
    "bob": {"aqua": 1, "cedar": 2, "dune": 3},
    "cid": {"bolt": 1, "dune": 2, "ember": 3},
    "dee": {"cedar": 1, "aqua": 2, "ember": 3},
    "eve": {"aqua": 1, "bolt": 2, "ember": 3},
    "fay": {"bolt": 1, "cedar": 2, "dune": 2},
    "gus": {"cedar": 1, "dune": 2, "ember": 3},
}
rows = [(worker, item, rank) for worker, ranks in orders.items() for item, rank in ranks.items()]
reviews = pl.DataFrame(rows, schema=["worker", "item", "rank"], orient="row")
model = cr.PlackettLuce().fit(reviews)
model.ranking_

# %% [markdown]
# `plackett-luce` takes the lists as they are, without breaking them into pairs. A proposal that a reviewer does
# not rank was not read, so nothing is said about it. aqua is first, but look at *ranks*, the range of its true
# rank: seven lists of three proposals do not settle the top. How sure is the order of each two?

# %%
model.posterior_.plot()

# %% [markdown]
# The decision: what is certain is the bottom. Fund aqua if one proposal is to be funded today, and let two more
# reviewers order the first three if there is time.
#
# What would the next reviewer say of aqua and bolt? The chances that aqua is above, that they tie, and that
# bolt is above:

# %%
model.predict_proba("aqua", "bolt").round(2)

# %% [markdown]
# The report also says how many lists contain each proposal, and which reviewers disagree:

# %%
print("The report is in", model.report("report.html"))
