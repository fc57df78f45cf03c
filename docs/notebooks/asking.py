# %% [markdown]
# # Which comparisons to buy next
#
# You have a few votes on pairs of items and money for more. Which pairs should you ask about, and whom? This
# notebook asks for the votes that teach most, compares them with random ones, and says when to stop.
#
# The same on the command line: [the tutorial](../asking/tutorial.md).

# %%
import random

import polars as pl

import crowdrank as cr
from crowdrank.data import read_gold, read_ranking
from crowdrank.measures import evaluate
from crowdrank.simulate import simulate

# %% [markdown]
# ## A few votes
#
# The crowd is simulated, so that the truth is known: 150 votes of 12 workers on 30 items. The workers are right
# five times in six on average, but some are much worse than others.

# %%
crowd = simulate("beta-5-1", seed=1, items=30, workers=12, votes=150)
crowd.judgments.write_csv("votes.csv")
crowd.judgments.head(3)

# %% [markdown]
# The true scores have no part in the ranking. They only say how good it is: the share of pairs of items that
# are in the right order.


# %%
def right_pairs(model):
    """The share of pairs of items that a model has in the right order."""
    return evaluate(read_ranking(model.ranking_.polars()), read_gold(crowd.gold), "acc")["acc"]


before = cr.CrowdBT().fit("votes.csv")
print(f"{right_pairs(before):.2f} of the pairs are in the right order")
before.ranking_

# %% [markdown]
# So few votes settle no rank: each may be anything from 1 to 30.
#
# ## Ask for the best 150

# %%
judges = crowd.workers.select("worker")
questions = cr.next_questions("votes.csv", 150, judges=judges)
questions

# %% [markdown]
# The best question comes first. *gain* is what an answer is expected to teach. On a platform, each row becomes
# a task for the worker that it names: `questions.tasks().write_csv("tasks.csv")`. Here a function answers as
# the simulated crowd would.

# %%
score, quality = dict(crowd.gold.rows()), dict(crowd.workers.select("worker", "quality").rows())


def answer(questions):
    """Votes of the simulated workers."""
    random.seed(7)
    votes = []
    for left, right, worker in questions.polars().select("left", "right", "worker").rows():
        better, worse = sorted((left, right), key=score.get, reverse=True)
        votes.append((worker, left, right, better if random.random() < quality[worker] else worse))
    return pl.DataFrame(votes, schema=["worker", "left", "right", "label"], orient="row")


answer(questions).write_csv("answers.csv")
after = cr.CrowdBT().fit(["votes.csv", "answers.csv"])
print(f"{right_pairs(after):.2f} of the pairs are in the right order")
after.ranking_.plot()

# %% [markdown]
# Far more pairs are in the right order. Without the truth, look at how much narrower the ranges of the ranks
# are:

# %%
for name, model in [("before", before), ("after", after)]:
    width = model.ranking_.frame().select(pl.col("rank_high") - pl.col("rank_low") + 1).to_series().mean()
    print(f"{name}: a rank may be one of {width:.1f} on average, of 30")

# %% [markdown]
# Call `next_questions` again with both files for the next round. This is the whole loop.
#
# ## What random votes would have given

# %%
answer(cr.next_questions("votes.csv", 150, judges=judges, select="random")).write_csv("random.csv")
by_chance = cr.CrowdBT().fit(["votes.csv", "random.csv"])
print(f"{right_pairs(by_chance):.2f} of the pairs are in the right order")

# %% [markdown]
# Random questions also help, but less. One such comparison may be luck. A replay repeats it over several
# crowds, from the first vote on:

# %%
settings = {"items": 30, "workers": 12}
study = cr.replay(simulate="beta-5-1", budget=200, seeds=3, selects=["gain", "random"], settings=settings)
study

# %% [markdown]
# *gain* is the default way of asking. It does not win in every crowd: if judges get worse as they tire, random
# questions end higher ([figures](../asking/figures.md)).
#
# ## The decision: when to stop
#
# The ranges are still wide, although the order is nearly right: 300 votes cannot show how right it is. So
# decide before you start what must be certain: the best item, the first ten, or the whole order. Stop when the
# ranges of these ranks are narrow enough, or when the money is gone. How sure is the first place by now?

# %%
first, second = after.ranking_.frame()["item"][:2]
ahead = after.posterior_.difference(first, second)
print(f"{first} is better than {second} with probability {ahead.probability:.2f}")

# %% [markdown]
# That is a coin toss. If the best item is what you need, go on, and ask only about the first places, with the
# setting `top`:

# %%
cr.next_questions(["votes.csv", "answers.csv"], 5, judges=judges, settings={"top": 3})
