# %% [markdown]
# # Search labels by a crowd
#
# You paid a crowd to label search results: is this document relevant to this query, yes or no? Each document
# has a few labels, and some workers do not look. You want one label for each document, how far to trust it,
# which workers to stop paying, and which documents to label again.
#
# The same on the command line: [the tutorial](../guides/search-labels.md).

# %%
import random

import polars as pl

import crowdrank as cr
from crowdrank.simulate import simulate

# %% [markdown]
# ## The labels
#
# The labels are simulated, so that we can compare with the truth. 60 queries have 10 documents each, and each
# document has five labels: 1 is relevant, 0 is not. Three workers in ten are spammers.

# %%
crowd = simulate("search", seed=1, queries=60, documents=10, workers=30, labels=5)
crowd.judgments.write_csv("labels.csv")
crowd.judgments.head(4)

# %% [markdown]
# ## First try
#
# `dawid-skene` learns for each worker how often they say yes to a relevant and to an irrelevant document.
# `fit_` says how the fit went, and what to know about it.

# %%
first = cr.DawidSkene().fit("labels.csv")
print(first.fit_)

# %% [markdown]
# The note matters. If several workers make the same mistake, they agree, and no model can see from their labels
# that they are wrong. So the probabilities may be too high until some labels are known.
#
# ## Known labels
#
# An expert labels 60 documents chosen at random. Random is important: the documents must be like the others.
# Here the simulated truth plays the expert.

# %%
truth = crowd.gold.select("query", "item", label=(pl.col("grade") > 1).cast(int))
random.seed(1)
known = truth[sorted(random.sample(range(len(truth)), 60))]
model = cr.DawidSkene().fit("labels.csv", anchors=known)
model.reliability_

# %% [markdown]
# How often was the most probable label right on the known documents, each time without looking at its own known
# label? *Right* should be near *calibrated* in each row. Its interval, *low* to *high*, is wide if a row has
# few documents.
#
# ## Workers to stop paying

# %%
model.workers_.plot()

# %% [markdown]
# A quality of .5 is a worker whose label says nothing about the document. The verdict follows from the
# interval, not from the estimate, so nobody is called a spammer on a handful of labels.

# %%
workers = model.workers_.frame()
spammers = workers.filter(verdict="spammer").sort("quality")
spammers.select("worker", "judgments", pl.col("quality", "low", "high").round(2))

# %% [markdown]
# You need not remove their labels: the model has already learned how little they mean.
#
# Before you block somebody, know that verdicts can be wrong. The simulation knows what the workers really are:
# `random` ones toss a coin, and `yes` and `no` always give that answer.

# %%
kinds = workers.join(crowd.workers.select("worker", "kind"), on="worker")
kinds.group_by("verdict", "kind").len().sort("verdict", "kind")

# %% [markdown]
# The honest worker among the spammers is so strict that only the very best documents get a yes. The one called
# malicious tossed a coin and was unlucky.
#
# ## The decision
#
# The labels of one query, the least certain first:

# %%
model.labels_.plot("query-01")

# %% [markdown]
# Take the labels that are sure enough for you, and send the others back for more.

# %%
labels = model.labels_.frame()
sure = labels.filter(pl.col("probability") >= 0.8)
again = labels.filter(pl.col("probability") < 0.8)
sure.select("query", "item", "label").write_csv("final.csv")
again.select("query", "item").write_csv("again.csv")
print(f"{len(sure)} labels to use, {len(again)} documents to label again")

# %% [markdown]
# Was that right? In a simulation we can look. Known documents are left out, because their labels are right by
# definition.

# %%
for name, part in [("to use", sure), ("to label again", again)]:
    checked = part.join(known, on=["query", "item"], how="anti").join(truth, on=["query", "item"], suffix="_true")
    right, said = (checked["label"] == checked["label_true"]).mean(), checked["probability"].mean()
    print(f"{name}: {right:.2f} are right, the probabilities say {said:.2f}")

# %% [markdown]
# Was the model worth it? Plain majority voting on the same labels, and the share of labels that is right:

# %%
gold = truth.rename({"label": "grade"})
found = cr.compare_models("labels.csv", ["majority-vote", "dawid-skene"], folds=0, gold=gold)
found.polars().select("model", pl.col("labels").round(3))

# %% [markdown]
# A little more is right than by majority. The larger gain is above: knowing which labels to trust.
#
# The report has all of this on one page to pass on:

# %%
print("The report is in", model.report("report.html"))
