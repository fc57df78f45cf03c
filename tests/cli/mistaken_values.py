"""For every parameter that is no file: a wrong value, and a part of the error. A third text is the call that does
what the hint says, and must work."""

VOTES = "votes.csv --model bt"
GOLD = "--gold gold.csv"
NEXT = "votes.csv --select random --count 3"
ASK = "--items items.csv --judge 'echo left' --budget 2 --out new.csv --select random"
SIMULATED = "--simulate coin --budget 5 --seeds 1 --select random --set items=4"
RECORDED = "votes.csv --gold gold.csv --budget 5 --seeds 1 --select random"
CROWD = "crowd_features.csv --judgments crowd_judgments.csv --set iterations=2 --out new"
NO_COLUMN = "there is no column 'nope', which was given for"
WHOLE = "must be a whole number"

VALUES = {
    "rank": {
        "model": [("votes.csv --model BT", "Did you mean 'bt'?", VOTES), ("votes.csv --model ''", "--model is empty")],
        "settings": [
            (f"{VOTES} --set regularization", "--set takes name=value"),
            (f"{VOTES} --set regularization=-1", "must be a number of at least 0. Got -1."),
            (f"{VOTES} --set regularisation=1", "Did you mean 'regularization'?"),
            (f"{VOTES} --set missing=below", "Use --missing below"),
        ],
        "columns": [
            (f"{VOTES} --columns worker=nope", NO_COLUMN),
            (f"{VOTES} --columns wroker=x", "Did you mean 'worker'?"),
            (f"{VOTES} --columns ''", "--columns is empty"),
            (
                "result/ranking.csv", "If all rows belong together, do without queries: --columns query=",
                "result/ranking.csv --columns query=",
            ),
        ],
        "outcomes": [(f"{VOTES} --outcomes i1=win", "cannot mean 'win'"), (f"{VOTES} --outcomes i1", "value=meaning")],
        "gold_columns": [
            (f"{VOTES} {GOLD} --gold-columns item=nope", NO_COLUMN),
            (f"{VOTES} --gold-columns item=item", "--gold-columns needs gold.\nHint: Give it: --gold FILE",
             f"{VOTES} --gold-columns item=item {GOLD}"),
        ],
        "gold": [
            (f"{VOTES} --gold crowd_gold.csv", "The gold has queries, but the judgments have none."),
            (f"{VOTES} --gold others.csv", "others.csv: the gold has no item in common with what was judged: "
             "'a', 'b' are graded, and 'i0', 'i1', 'i2', ... are judged."),
        ],
        "measures": [
            (f"{VOTES} --measures tau", "Give it: --gold FILE", f"{VOTES} --measures tau {GOLD}"),
            (f"{VOTES} --measures nDCG@0 {GOLD}", "a cutoff must be at least 1"),
        ],
        "engine": [(f"{VOTES} --engine lokal", "Did you mean 'local'?")],
        "missing": [(f"{VOTES} --missing blow", "'below' or 'unknown'"), (f"{VOTES} --missing below", "only to rankings")],
        "pairs": [(f"{VOTES} --pairs some", "Got 'some'")],
        "memory": [(f"{VOTES} --memory lots", "For example --memory 8GB", f"{VOTES} --memory 8GB")],
        "spool": [(f"{VOTES} --spool nowhere", "There is no folder 'nowhere'")],
        "seed": [
            (f"{VOTES} --seed x", f"--seed {WHOLE}. Got 'x'."),
            (f"{VOTES} --seed -1", "of at least 0"),
            (f"{VOTES} --seed 99999999999999999999", f"{WHOLE} below 9007199254740992"),
        ],
        "form": [(f"{VOTES} --format xlsx", "must be one of csv, parquet, json")],
        "anchors": [(
            f"{VOTES} --anchors unsure.csv",
            "unsure.csv, row 1, column 'winner': the outcome must be one of left, right, tie, 'i0', 'i5'. Got 'soon'.\n"
            "Hint: Change the file of anchors.",
        )],
        "judgments": [
            (f"- {VOTES} -", "Only one of the files can be standard input"),
            ("- --gold -", "Only one of the files can be standard input"),
            ("--model bt", "Missing argument 'JUDGMENTS...'.\nHint: `crowdrank rank -h` shows how it is used."),
            ("'' --model bt", "JUDGMENTS is empty.\nHint: Give it a value. In a script, a variable may not be set.\n"),
            (f"{VOTES} --model", "requires an argument.\nHint: `crowdrank rank -h` shows how it is used."),
        ],
    },
    "models": {"name": [("btt", "Did you mean 'bt'?"), ("''", "NAME is empty")]},
    "compare": {
        "models": [("votes.csv --models btt", "Did you mean 'bt'?"), ("votes.csv --models glad", "Not for pairs: glad")],
        "folds": [
            ("votes.csv --folds 1", "must be at least 2"),
            ("votes.csv --folds 0", "Give --gold FILE", f"votes.csv --models win-rate --folds 0 {GOLD}"),
            ("two.csv --models win-rate", "To compare by gold alone: --folds 0 --gold FILE",
             "two.csv --models win-rate --folds 0 --gold others.csv"),
        ],
        "settings": [("votes.csv --models win-rate --set prior=1", "Unknown parameter 'prior' for win-rate")],
        "columns": [("votes.csv --columns worker=nope", NO_COLUMN)],
        "outcomes": [("votes.csv --outcomes i1=win", "cannot mean 'win'")],
        "gold_columns": [("votes.csv --models win-rate --gold-columns item=item", "--gold-columns needs gold")],
        "measures": [("votes.csv --models win-rate --measures tua --gold gold.csv", "Did you mean 'tau'?")],
        "ties": [("votes.csv --models win-rate --ties maybe", "'keep' or 'drop'")],
        "sample": [("votes.csv --models win-rate --sample -5", "of at least 0")],
        "engine": [("votes.csv --engine lokal", "Did you mean 'local'?")],
        "missing": [("votes.csv --missing blow", "'below' or 'unknown'")],
        "pairs": [("votes.csv --pairs some", "Got 'some'")],
        "memory": [("votes.csv --memory lots", "For example --memory 8GB")],
        "spool": [("votes.csv --spool nowhere", "There is no folder 'nowhere'")],
        "seed": [("votes.csv --models win-rate --seed -1", "of at least 0")],
    },
    "evaluate": {
        "measures": [("ranking.csv gold.csv --measures ndgc", "Did you mean 'nDCG'?")],
        "gold_columns": [("ranking.csv gold.csv --gold-columns itm=item", "Did you mean 'item'?")],
        "ranking": [
            ("votes.csv gold.csv", "is not a ranking; its columns are 'worker', 'left', 'right', 'label'."),
            ("- -", "Only one of the files can be standard input"),
        ],
        "gold": [("ranking.csv others.csv", "others.csv: the gold has no item in common with what was ranked")],
    },
    "train": {
        "model": [("features.csv --out new --model listmel", "Did you mean 'listmle'?", "features.csv --out new")],
        "scorer": [("features.csv --out new --scorer tree", "Did you mean 'trees'?")],
        "settings": [("features.csv --out new --set pnalty=1", "Did you mean 'penalty'?")],
        "measure": [("features.csv --out new --measure 'nDCG@10 AP'", "One measure is needed")],
        "folds": [
            ("features.csv --out new --folds x", "a number of parts, or the word files"),
            ("features.csv --out new --folds -2", "at least 2 parts. Got -2."),
        ],
        "validation": [
            ("features.csv --out new --validation 1.5", "between 0 and 1"),
            ("features.csv --out new --validation gaps.csv", "gaps.csv: the feature 'f3' has missing values (1 in all).\n"
             "Hint: Fill them, --set impute=mean", "features.csv --out new --validation gaps.csv --set impute=mean"),
            (f"{CROWD} --validation crowd_gaps.csv --gold gaps_gold.csv", "crowd_gaps.csv: the feature 'f10' has missing",
             f"{CROWD} --validation crowd_gaps.csv --gold gaps_gold.csv --set impute=mean"),
        ],
        "missing": [("features.csv --out new --missing maybe", "error or drop, and below or unknown")],
        "columns": [("features.csv --out new --columns item=nope", NO_COLUMN)],
        "judgment_columns": [("features.csv --out new --judgment-columns worker=x", "needs judgments")],
        "outcomes": [("features.csv --out new --outcomes 1=left", "needs judgments")],
        "gold_columns": [("features.csv --out new --gold-columns item=doc", "--gold-columns needs gold")],
        "engine": [("features.csv --out new --engine lokal", "Did you mean 'local'?")],
        "memory": [("features.csv --out new --memory lots", "For example --memory 8GB")],
        "spool": [("features.csv --out new --spool nowhere", "There is no folder 'nowhere'")],
        "seed": [("features.csv --out new --seed -1", "of at least 0")],
        "form": [("features.csv --out new --format txt", "must be one of csv, parquet, json")],
        "features": [("- --gold - --out new", "Only one of the files can be standard input")],
        "anchors": [(f"{CROWD} --anchors some_queries.csv", "some_queries.csv, row 2, column 'query': the value is missing")],
        "gold": [("bare.csv --gold some_queries.csv --out new", "some_queries.csv, row 2, column 'query': the query is "
                  "missing, and other rows have one.\nHint: Write the query of every row, or of none.")],
    },
    "score": {
        "columns": [("ranker bare.csv --columns item=nope", NO_COLUMN)],
        "judgment_columns": [("ranker bare.csv --judgment-columns worker=x", "needs judgments")],
        "outcomes": [("ranker bare.csv --outcomes 1=left", "needs judgments")],
        "missing": [("ranker bare.csv --missing below", "needs judgments")],
        "memory": [("ranker bare.csv --memory lots", "For example --memory 8GB")],
        "spool": [("ranker bare.csv --spool nowhere", "There is no folder 'nowhere'")],
        "form": [("ranker bare.csv --format json", "must be one of csv, trec")],
        "ranker": [("- bare.csv", "RANKER must be the name of a file or folder. Got '-'.")],
        "features": [
            ("ranker - --judgments -", "Only one of the files can be standard input"),
            ("ranker soon.csv", "soon.csv, row 1, column 'f0': a feature is a finite number that float32 can hold, or "
             "empty. Got 'soon'.\nHint: The ranker was trained with this feature, so it needs its value."),
            ("ranker headers.csv", "headers.csv, row 2, column 'f0': the header is repeated here. Got 'f0'."),
        ],
        "out": [
            ("ranker bare.csv --out -", "Hint: Leave it out to write to stdout.", "ranker bare.csv"),
            ("ranker bare.csv --out bare.csv", "this file is read, so it is kept", "ranker bare.csv --out scores.csv"),
            ("ranker bare.csv --out ranker/model.json", "this file is read, so it is kept"),
            ("ranker bare.csv --out ranker/weights.npz", "this file is read, so it is kept"),
        ],
    },
    "export": {"onnx": [
        ("ranker --onnx ranker/model.json", "this file is read, so it is kept", "ranker --onnx ranker/model.onnx"),
        ("ranker --onnx -", "must be the name of a file or folder. Got '-'.\n"),
    ]},
    "next": {
        "count": [(f"{NEXT} --count 1.5", f"--count {WHOLE}"), (f"{NEXT} --count 0", "of at least 1")],
        "select": [("votes.csv --select gian", "Did you mean 'gain'?"), ("votes.csv --select ''", "--select is empty")],
        "model": [("votes.csv --model win-rate", "has no posterior", "votes.csv --model bt --select random")],
        "settings": [("votes.csv --set gama=1", "Did you mean 'gamma'?")],
        "each": [(f"{NEXT} --each 2", "--judges FILE", f"{NEXT} --each 2 --judges judges.csv")],
        "show": [(f"{NEXT} --show text", "--items FILE", f"{NEXT} --show text --items items.csv"),
                 (f"{NEXT} --show txt --items items.csv", "Their attributes are: text.")],
        "columns": [(f"{NEXT} --columns left=nope", NO_COLUMN),
                    ("--items items.csv --columns left=a --select random", "Leave out --columns",
                     "--items items.csv --select random")],
        "outcomes": [("--items items.csv --outcomes 1=left", "Leave out --outcomes")],
        "seed": [(f"{NEXT} --seed -1", "of at least 0")],
        "items": [("--count 3", "Give a file of items: --items FILE", "--select random --items items.csv")],
        "exclude": [(f"{NEXT} --exclude gap.csv", "gap.csv, row 1, column 'right': the value is missing")],
        "out": [
            (f"{NEXT} --out votes.csv", "this file is read, so it is kept"),
            (f"{NEXT} --out new.html --report ./new.html", "--out is the same file"),
        ],
        "report": [(f"{NEXT} --report new.pdf", "ends with .html, .md, .json", f"{NEXT} --report new.md")],
    },
    "ask": {
        "judge": [(ASK.replace("echo left", " "), "--judge needs a command"), (ASK.replace("echo left", ""), "is empty")],
        "budget": [(f"{ASK} --budget 0", "at least 1")],
        "name": [(f"{ASK} --name a --name b", "a different name to each judge"), (f"{ASK} --name ''", "--name is empty")],
        "select": [(f"{ASK} --select gian", "Did you mean 'gain'?")],
        "settings": [(f"{ASK} --set gama=1", "Did you mean 'gamma'?")],
        "timeout": [(f"{ASK} --timeout {value}", "--timeout must be") for value in ("0", "nan", "inf", "1e300", "x")],
        "columns": [(f"{ASK} --columns left=a", "Leave out --columns", ASK)],
        "outcomes": [(f"{ASK} --outcomes 1=left", "Leave out --outcomes")],
        "seed": [(f"{ASK} --seed -1", "of at least 0")],
        "items": [(ASK.replace("--items items.csv", ""), "--items FILE", ASK)],
        "out": [
            (f"{ASK} --out gold.csv", "this is not a file of answers", ASK),
            (f"{ASK} --out notes.txt", "notes.txt: this is not a file of answers, so none can be appended."),
            (f"{ASK} --out full", "--out full: answers can only be appended to a file."),
        ],
        "report": [(f"{ASK} --report new.csv", "--out is the same file")],
    },
    "replay": {
        "simulate": [
            ("--simulate btt", "Did you mean 'bt'?"),
            ("--budget 5", "Give judgments and --gold FILE, or a crowd: --simulate bt",
             "--budget 5 --seeds 1 --simulate bt --select random"),
            ("votes.csv --simulate bt", "not both"),
        ],
        "budget": [(f"{SIMULATED} --budget 0", "of at least 1")],
        "select": [("--simulate bt --select random,rndom", "Did you mean 'random'?")],
        "seeds": [(f"{SIMULATED} --seeds 0", "of at least 1")],
        "seed": [(f"{SIMULATED} --seed -1", "of at least 0")],
        "look": [(f"{SIMULATED} --look 0", "of at least 1")],
        "rank": [(f"{SIMULATED} --rank mean", "must be one of means, refit")],
        "refit": [(f"{SIMULATED} --refit 0", "of at least 1")],
        "who": [(f"{SIMULATED} --who anyone", "must be one of arrives, best"), (f"{RECORDED} --who best", "simulated")],
        "flight": [(f"{SIMULATED} --flight 0", "of at least 1")],
        "settings": [(f"{SIMULATED} --set itms=4", "Did you mean 'items'?"), (f"{RECORDED} --set items=5", "simulated")],
        "columns": [(f"{SIMULATED} --columns left=a", "Leave out --columns", SIMULATED)],
        "outcomes": [(f"{SIMULATED} --outcomes 1=left", "Leave out --outcomes")],
        "gold_columns": [(f"{SIMULATED} --gold-columns item=a", "Leave out --gold-columns")],
        "gold": [("votes.csv", "--gold FILE", RECORDED), (f"{SIMULATED} --gold gold.csv", "Leave out --gold", SIMULATED)],
    },
    "report": {"out": [("result other --out result", "this folder is compared, so it is kept")]},
    "simulate": {
        "preset": [("btcrowd --out new", "Did you mean 'bt-crowd'?")],
        "seed": [("bt-crowd --out new --seed -1", "at least 0")],
        "settings": [
            ("bt-crowd --out new --set vots=3", "Did you mean 'votes'?"),
            ("ltrma-letor --out . --set file=features.csv", "--out features.csv: this file is read, so it is kept",
             "ltrma-letor --out new --set file=features.csv"),
            ("ltrma-letor --out new --set file=votes.csv", "A table needs the columns query, item and label"),
        ],
    },
    "reproduce": {
        "target": [("tpp-tabel2", "Did you mean 'tpp-table2'?")],
        "seeds": [("crowd-bt-table1 --seeds 0", f"--seeds {WHOLE} of at least 1. Got '0'.")],
        "data": [("crowd-bt-table3 --data nowhere", "--data DIR, or set CROWDRANK_DATA")],
    },
    "demo": {"seed": [("--out new --seed -1", "at least 0")]},
    "completion": {"shell": [("fisch", "Did you mean 'fish'?")]},
}  # fmt: skip
