"""The rows of the matrix of mistakes: for every parameter of every command, a call in which it can be wrong.

In a call, FILE stands for what is wrong. The files are those that ``make_world`` writes.
"""

import gzip
import json

import polars as pl

import crowdrank as cr
from crowdrank.simulate.presets import simulate
from helpers import random_votes
from rankers.made import labeled_frame

ASK = "--judge 'echo left' --budget 2 --out answers.csv --select random"
CROWD = "crowd_features.csv --judgments crowd_judgments.csv --set iterations=2 --out new"
REMAP = (
    "crowd_features.csv --judgments crowd_labels.csv --out new --set rounds=2 --set mu=0.3 --set trees=0 --set "
    "learner=ridge --set baselines=none"
)
REPLAY = "--gold gold.csv --budget 20 --seeds 1 --select random --out new"

FILES = {
    "rank": {
        "judgments": ("votes.csv", "FILE --model bt --out new"),
        "anchors": ("anchors.csv", "votes.csv --model crowd-bt --anchors FILE --out new"),
        "gold": ("gold.csv", "votes.csv --model bt --gold FILE --out new"),
    },
    "compare": {
        "judgments": ("votes.csv", "FILE --models win-rate --out new"),
        "gold": ("gold.csv", "votes.csv --models win-rate --gold FILE --out new"),
    },
    "evaluate": {"ranking": ("ranking.csv", "FILE gold.csv"), "gold": ("gold.csv", "ranking.csv FILE")},
    "train": {
        "features": ("features.csv", "FILE --out new"),
        "gold": ("labels.csv", "bare.csv --gold FILE --out new"),
        "validation": ("features.csv", "features.csv --validation FILE --out new"),
        "judgments": ("crowd_judgments.csv", "crowd_features.csv --judgments FILE --out new"),
        "anchors": ("crowd_gold.csv", f"{CROWD} --anchors FILE"),
        "side_info": ("side.csv", f"{CROWD} --side-info FILE"),
        "target": ("crowd_target.csv", f"{REMAP} --target FILE"),
        "honeypots": ("honeypots.csv", f"{REMAP} --target crowd_target.csv --honeypots FILE"),
        "label_features": ("seconds.csv", f"{REMAP} --target crowd_target.csv --label-features FILE"),
    },
    "score": {
        "features": ("bare.csv", "ranker FILE --out scores.csv"),
        "judgments": ("crowd_judgments.csv", "crowd_ranker crowd_features.csv --judgments FILE --out scores.csv"),
    },
    "next": {
        "judgments": ("votes.csv", "FILE --out questions.csv"),
        "judges": ("judges.csv", "votes.csv --judges FILE --select random --out questions.csv"),
        "items": ("items.csv", "votes.csv --items FILE --select random --out questions.csv"),
        "exclude": ("exclude.csv", "votes.csv --exclude FILE --select random --out questions.csv"),
        "anchors": ("anchors.csv", "votes.csv --anchors FILE --select random --out questions.csv"),
    },
    "ask": {
        "judgments": ("votes.csv", f"FILE {ASK}"),
        "items": ("items.csv", f"--items FILE {ASK}"),
        "exclude": ("exclude.csv", f"votes.csv --exclude FILE {ASK}"),
        "anchors": ("anchors.csv", f"votes.csv --anchors FILE {ASK}"),
    },
    "replay": {
        "judgments": ("votes.csv", f"FILE {REPLAY}"),
        "gold": ("gold.csv", f"votes.csv --gold FILE {REPLAY.removeprefix('--gold gold.csv ')}"),
    },
    "simulate": {"settings": ("letor.txt", "ltrma-letor --set file=FILE --out new")},
}
"""The files that a command reads: a sound one, and the call that reads FILE in its place."""

FOLDERS = {
    "score": {"ranker": ("ranker", "FILE bare.csv --out scores.csv")},
    "export": {"ranker": ("ranker", "FILE --onnx ranker.onnx")},
    "report": {"before": ("result", "FILE other --out new"), "after": ("result", "other FILE --out new")},
    "train": {"processing": ("processed", f"{REMAP} --processing FILE")},
}
"""The folders that a command reads."""

OUT_FOLDERS = {
    "rank": {"out": "votes.csv --model bt --out FILE"},
    "compare": {"out": "votes.csv --models win-rate --out FILE"},
    "train": {"out": "features.csv --out FILE"},
    "replay": {"out": "--simulate coin --budget 5 --seeds 1 --select random --set items=4 --out FILE"},
    "report": {"out": "result other --out FILE"},
    "simulate": {"out": "bt-crowd --set votes=20 --out FILE"},
    "demo": {"out": "--out FILE"},
    "reproduce": {"work": "ltrma-h7 --seeds 1 --work FILE"},
}
OUT_FILES = {
    "score": {"out": "ranker bare.csv --out FILE"},
    "export": {"onnx": "ranker --onnx FILE"},
    "next": {
        "out": "votes.csv --select random --count 3 --out FILE",
        "report": "votes.csv --select random --count 3 --report FILE",
    },
    "ask": {
        "out": "--items items.csv --judge 'echo left' --budget 2 --select random --out FILE",
        "report": f"--items items.csv {ASK} --report FILE",
    },
}
"""Where a command writes."""


def make_world(folder):
    """All files of the rows above, sound."""
    random_votes(5, items=6, workers=4, votes=80).write_csv(folder / "votes.csv")
    texts = {
        "gold.csv": "item,grade\n" + "".join(f"i{code},{code}\n" for code in range(6)),
        "ranking.csv": "item,score\n" + "".join(f"i{code},{code}.5\n" for code in range(6)),
        "items.csv": "item,text\n" + "".join(f"i{code},text {code}\n" for code in range(6)),
        "judges.csv": "worker,team\nw0,a\nw1,b\n",
        "exclude.csv": "left,right\ni0,i1\n",
        "anchors.csv": "left,right,winner\ni0,i5,right\n",
        "letor.txt": "".join(
            f"{row % 3} qid:{row // 4} 1:{row} 2:{row / 2} #docid = d{row}\n" for row in range(16)
        ),
        "side.csv": "worker,kind,value\nworker-1,known,1\n",
        "others.csv": "item,grade\na,1\nb,2\n",
        "two.csv": "item,rank\na,1\nb,2\n",
        "unsure.csv": "left,right,winner\ni0,i5,soon\n",
        "some_queries.csv": "query,item,label\nq000,d000,1\n,d001,2\n",
        "gap.csv": "left,right\ni0,\n",
        "notes.txt": "my notes\nwithout an end",
        "soon.csv": "query,item,f0,f1,f2,f3\nq,a,soon,1,1,1\n",
        "headers.csv": "query,item,f0,f1,f2,f3\nq,a,1,1,1,1\nquery,item,f0,f1,f2,f3\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "full").symlink_to("/dev/full")
    _make_rankers(folder)
    ranked = cr.BradleyTerry().fit(folder / "votes.csv").result_
    (folder / "processed").mkdir()
    (folder / "processed" / "processing.json").write_text("{}")  # it is only read if it is damaged
    for name in ("result", "other"):
        (folder / name).mkdir()
        for table in ("ranking", "workers"):
            ranked.tables[table].polars().write_csv(folder / name / f"{table}.csv")
        fit = {**ranked.fit.as_dict(), "tables": ["ranking", "workers"]}
        (folder / name / "fit.json").write_text(json.dumps(fit))


def _make_rankers(folder):
    """Features, what is known about their documents, and two saved rankers."""
    frame = labeled_frame(queries=6)
    frame.write_csv(folder / "features.csv")
    frame.drop("label").write_csv(folder / "bare.csv")
    frame.select("query", "item", "label").write_csv(folder / "labels.csv")
    cr.ListMLE().fit(frame).save(folder / "ranker")
    crowd = simulate("ltrma-h7", lists=6, test=2, documents=4)
    for name in ("features", "judgments", "gold"):
        getattr(crowd, name).write_csv(folder / f"crowd_{name}.csv")
    labels = crowd.judgments.select("query", "worker", "item", label=pl.col("rank") % 2)
    labels.write_csv(folder / "crowd_labels.csv")
    labels.select("query", "worker", "item", seconds=pl.int_range(pl.len())).write_csv(folder / "seconds.csv")
    target = crowd.features.with_columns(query="t-" + pl.col("query"), label=pl.int_range(pl.len()) % 3)
    target.write_csv(folder / "crowd_target.csv")
    labels.unique(["query", "item"], maintain_order=True).head(4).drop("worker").write_csv(
        folder / "honeypots.csv"
    )
    cr.LTRMA(iterations=2).fit(crowd.features, crowd.judgments).save(folder / "crowd_ranker")
    hole = pl.when(pl.int_range(pl.len()) > 0)
    frame.with_columns(hole.then("f3").alias("f3"), query="v-" + pl.col("query")).write_csv(folder / "gaps.csv")
    gaps = crowd.features.with_columns(hole.then("f10").alias("f10"), query="v-" + pl.col("query"))
    gaps.write_csv(folder / "crowd_gaps.csv")
    gaps.select("query", "item", grade=pl.int_range(pl.len()) % 3).write_csv(folder / "gaps_gold.csv")


def first_line(content):
    return content.split(b"\n")[0] + b"\n"


def with_cell(value, place=-1):
    """Replace a cell of the second row, or of the first if there is no other."""

    def change(content):
        lines = content.split(b"\n")
        row = 2 if len(lines) > 3 else 1
        cells = lines[row].split(b",")
        cells[place] = value
        lines[row] = b",".join(cells)
        return b"\n".join(lines)

    return change


DAMAGE = {
    "empty": lambda content: b"",
    "blank lines": lambda content: b"\n  \n\n",
    "a header alone": first_line,
    "other columns": lambda content: b"alpha,beta\n1,x\n2,y\n",
    "not UTF-8": lambda content: content.replace(b"\n", b"\n\xe9", 2),
    "UTF-16": lambda content: content.decode().encode("utf-16-le"),
    "a quote left open": lambda content: content + b'"a,b\n',
    "a cell too many": lambda content: content + b"," * 60 + b"\n",
    "two columns of one name": lambda content: b"".join(
        line + b"," + line.split(b",")[0] + b"\n" for line in content.splitlines()
    ),
    "cut gzip": lambda content: gzip.compress(content)[:-9],
    "gzip of nothing": lambda content: gzip.compress(b""),
    "cut Parquet": lambda content: b"PAR1" + content[:40],
    "cut JSON": lambda content: b'[{"item": "a", "score": 1}, {"item": ',
    "one JSON object": lambda content: b'{\n  "model": "bt",\n  "tables": []\n}\n',
    "JSON of lists": lambda content: b'{"a": {"b": [1, 2]}}',
    "a zip archive": lambda content: b"PK\x03\x04" + bytes(60),
    "a page": lambda content: b"<!doctype html><html><body>404</body></html>",
    "bytes": lambda content: bytes(range(256)),
    "one long line": lambda content: b"x" * 100_000,
}
"""What can be wrong with any file."""

LETOR = ("a header alone", "a cell too many", "two columns of one name")
"""What is no mistake in a file without columns."""
NUMBERS = {
    ("rank", "gold"), ("compare", "gold"), ("evaluate", "ranking"), ("evaluate", "gold"), ("train", "features"),
    ("train", "gold"), ("train", "validation"), ("train", "judgments"), ("train", "anchors"),
    ("train", "side_info"), ("train", "target"), ("train", "honeypots"), ("train", "label_features"),
    ("score", "features"), ("score", "judgments"), ("replay", "gold"),
}  # fmt: skip
"""The files whose last column has numbers."""
GAPS = {
    ("train", "judgments"): ("NaN", ""), ("score", "judgments"): ("NaN", ""), ("train", "label_features"): ("",),
    ("train", "target"): ("NaN", ""),
}  # fmt: skip
"""What stands there for a document that was not ranked or graded, or for a label without a value."""
