# %% [markdown]
# # Rank LLMs from votes of people and of LLM judges
#
# You have votes of the kind "answer A is better than answer B", some from people and many more from LLM judges,
# which are cheap. Which LLM is best, how certain is that, and can the LLM judges be believed?
#
# The same on the command line: [the tutorial](../guides/llm-arena.md).

# %%
import math
import random

import polars as pl

import crowdrank as cr
from crowdrank.simulate import simulate

# %% [markdown]
# ## The votes
#
# The votes are simulated, so that we can compare with the truth in the end. 20 people vote on eight LLMs,
# `item-1` to `item-8`. A row is a vote: who voted, which answer was on the left and which on the right, and the
# winner, or `tie`.

# %%
crowd = simulate("judge-crowd", seed=8, items=8, workers=20, votes=500, spread=0.7)
crowd.judgments.write_csv("people.csv")
crowd.judgments.head(4)

# %% [markdown]
# Two LLM judges vote on the same LLMs. In practice a program asks an LLM; here a few lines stand in for it. The
# first judge sees small differences but leans to the answer on the left. The second one mostly takes the left
# answer, whatever it says.

# %%
random.seed(1)
score = dict(crowd.gold.rows())  # item, grade
votes = []
for judge, sharpness, lean in [("llm-judge-1", 1.5, 0.7), ("llm-judge-2", 0.2, 2.0)]:
    for _ in range(400):
        left, right = random.sample(sorted(score), 2)
        ahead = sharpness * (score[left] - score[right]) + lean
        left_wins = random.random() < 1 / (1 + math.exp(-ahead))
        votes.append((judge, left, right, left if left_wins else right))
llm = pl.DataFrame(votes, schema=["worker", "left", "right", "label"], orient="row")
llm.write_csv("llm.csv")

# %% [markdown]
# ## The ranking by people
#
# With your own votes, start here. `judge-bt` suits votes whose judges differ in how sharp they are, which side
# they favor and how readily they call a tie.

# %%
people = cr.JudgeBT().fit("people.csv")
people.ranking_

# %% [markdown]
# *ranks* says more than *rank*: with 90 % confidence the true rank lies in this range. If two ranges overlap,
# 500 votes do not settle the order.
#
# ## People and LLM judges together
#
# Several files are read as one.

# %%
both = cr.JudgeBT().fit(["people.csv", "llm.csv"])
both.ranking_.plot()

# %% [markdown]
# A bar is the 90 % interval of a score. More votes make narrower intervals:

# %%
for words, model in [("people", people), ("people and LLM judges", both)]:
    width = model.ranking_.frame().select(pl.col("high") - pl.col("low")).to_series().mean()
    print(f"{words}: {width:.2f} wide on average")

# %% [markdown]
# But are these votes worth anything?
#
# ## Can the LLM judges be believed?

# %%
both.workers_

# %% [markdown]
# *Quality* is the probability of agreeing with the ranking on an average pair; .5 is a coin. `llm-judge-2` is a
# spammer. All judges at a glance, each with its interval:

# %%
both.workers_.plot()

# %% [markdown]
# Both LLM judges also lean to the left. *Position* is this bias in units of scores; 0 is fair.

# %%
judges = both.workers_.frame().filter(pl.col("worker").str.starts_with("llm"))
judges.select("worker", pl.col("position", "position_low", "position_high").round(2))

# %% [markdown]
# The model has taken this bias out of the ranking.
#
# Verdicts are one thing. A stricter question is whether the votes of the LLM judges help to predict what people
# say. We hold out 100 votes of people. `score` is the mean log probability of these votes: larger is better,
# and 0 would be perfect.

# %%
asked, held_out = crowd.judgments[:400], crowd.judgments[400:]
added = {
    "people only": [],
    "with llm-judge-1": [llm.filter(worker="llm-judge-1")],
    "with llm-judge-2": [llm.filter(worker="llm-judge-2")],
}
for words, more in added.items():
    seen = pl.concat([asked, *more])
    judged, plain = (model.fit(seen).score(held_out) for model in (cr.JudgeBT(), cr.BradleyTerry()))
    print(f"{words:<16}  judge-bt {judged:.3f}   bt {plain:.3f}")

# %% [markdown]
# With `judge-bt`, the first LLM judge helps and the second one changes nothing. Plain Bradley-Terry (`bt`)
# believes both as much as people, and gets worse. (100 held-out votes are few. With your own votes, hold out
# more.)
#
# Is `judge-bt` the right model? Each model predicts votes that it has not seen:

# %%
found = cr.compare_models(["people.csv", "llm.csv"], ["bt", "crowd-bt", "judge-bt"])
found.polars().select("model", pl.col("log_loss", "low", "high", "accuracy").round(3))

# %% [markdown]
# It has the smallest log loss, and the intervals (*low* to *high*) do not overlap.
#
# ## The decision
#
# How probable is it that the row is better than the column?

# %%
both.posterior_.plot()

# %% [markdown]
# `item-4` is almost certainly first. The order of `item-8` and `item-6` is open. What would an average judge
# say who sees the first two? The chances that left wins, of a tie, and that right wins:

# %%
both.predict_proba("item-4", "item-8").round(2)

# %% [markdown]
# Did the LLM judges change the ranking by people?

# %%
ranks = [model.ranking_.frame().select("item", "rank", "rank_low", "rank_high") for model in (people, both)]
ranks[0].join(ranks[1], on="item", suffix="_both").sort("rank")

# %% [markdown]
# Only `item-6` and `item-8` changed places, and their ranges overlap. In a simulation we can look at the truth:

# %%
print(*crowd.gold.sort("grade", descending=True)["item"], sep=", ")

# %% [markdown]
# That is the order that we found, apart from these two.
#
# So: take `item-4`, keep judging with the first LLM judge, and stop paying for the second one. The report has
# all of this on one page to pass on:

# %%
print("The report is in", both.report("report.html"))
