import numpy as np
import polars as pl
import pytest

import crowdrank as cr
from crowdrank.data import Anchors, named_nodes, read_gold, read_ranking
from crowdrank.prepared.comparisons import nodes_of


def values(scored):
    return {(row["query"], row["item"]): row["value"] for row in scored.frame.to_dicts()}


@pytest.mark.parametrize("column", ["grade", "gold", "label", "Grade"])
def test_grades(tmp_path, column):
    path = tmp_path / "gold.csv"
    path.write_text(f"item,{column}\na,3\nb,0.5\n")
    assert values(read_gold(path)) == {(None, "a"): 3.0, (None, "b"): 0.5}


def test_true_ranks_are_turned_round():
    frame = pl.DataFrame({"query": ["p", "p", "q"], "item": ["a", "b", "a"], "true_rank": [1, 3, 2]})
    assert values(read_gold(frame)) == {("p", "a"): 2.0, ("p", "b"): 0.0, ("q", "a"): 0.0}


def test_qrels(tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("101 0 d1 2\n101 0 d2 0\n")
    assert values(read_gold(path)) == {("101", "d1"): 2.0, ("101", "d2"): 0.0}


def test_a_ranking_by_score_or_by_rank():
    by_score = pl.DataFrame({"item": ["a", "b"], "rank": [2, 1], "score": [0.5, 1.5]})
    assert values(read_ranking(by_score)) == {(None, "a"): 0.5, (None, "b"): 1.5}
    assert values(read_ranking(by_score.drop("score"))) == {(None, "a"): -2.0, (None, "b"): -1.0}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("item\na\n", "is not a gold file"),
        ("item,grade\na,high\n", "row 1, column 'grade': a number is needed"),
        ("item,grade\na,1\na,2\n", "row 2, column 'item': the item appears twice"),
        ("item,grade\n", "no rows"),
    ],
)
def test_mistakes_are_named(tmp_path, text, words):
    path = tmp_path / "gold.csv"
    path.write_text(text)
    with pytest.raises(cr.InputError, match=words):
        read_gold(path)


class TestAnchors:
    def votes(self, queries=False):
        frame = pl.DataFrame({"worker": list("xyx"), "winner": list("aab"), "loser": list("bcc")})
        return cr.read(frame.with_columns(query=pl.lit("q")) if queries else frame)

    def test_gold_pairs_as_nodes(self):
        votes = self.votes()
        gold = Anchors.read(pl.DataFrame({"left": ["c", "b"], "right": ["a", "zzz"], "label": ["a", "b"]}))
        found, unused = gold.gold(nodes_of(votes.batches(), votes.index), votes.index)
        assert found.tolist() == [[0, 2]]
        assert unused == 1

    def test_gold_pairs_of_a_query(self):
        votes = self.votes(queries=True)
        frame = pl.DataFrame({"query": ["q", "other"], "winner": ["b", "a"], "loser": ["a", "b"]})
        found, unused = Anchors.read(frame).gold(nodes_of(votes.batches(), votes.index), votes.index)
        assert found.tolist() == [[1, 0]]
        assert unused == 1

    def test_a_gold_pair_without_a_query_holds_in_every_query(self):
        frame = pl.DataFrame({"query": list("ppq"), "winner": list("abb"), "loser": list("bca")})
        votes = cr.read(frame)  # nodes: p/a p/b p/c q/a q/b
        gold = Anchors.read(pl.DataFrame({"winner": ["a", "c"], "loser": ["b", "b"]}))
        found, unused = gold.gold(nodes_of(votes.batches(), votes.index), votes.index)
        assert sorted(found.tolist()) == [[0, 1], [2, 1], [3, 4]]
        assert unused == 0

    def test_a_worker_twice_is_named(self):
        with pytest.raises(cr.InputError, match="row 2, column 'worker': the worker appears twice"):
            Anchors.read(pl.DataFrame({"worker": ["y", "y"], "eta": [0.9, 0.1]}))

    def test_errors_name_the_file(self, tmp_path):
        path = tmp_path / "anchors.csv"
        path.write_text("left,right,label\na,b,c\n")
        with pytest.raises(cr.InputError, match=r"anchors\.csv, row 1, column 'label'"):
            Anchors.read(path)

    def test_known_workers(self):
        known = Anchors.read(pl.DataFrame({"worker": ["y", "nobody"], "quality": [0.75, 1.0]}))
        codes, quality = known.known(self.votes().index)
        assert codes.tolist() == [1]
        assert quality.tolist() == [0.75]

    def test_a_quality_out_of_range_is_named(self):
        with pytest.raises(cr.InputError, match="row 1, column 'quality'"):
            Anchors.read(pl.DataFrame({"worker": ["y"], "quality": [1.5]}))

    def test_other_tables_are_refused(self):
        with pytest.raises(cr.InputError, match="holds ratings"):
            Anchors.read(pl.DataFrame({"item": ["a"], "worker": ["w"], "label": [1.0]}))

    @pytest.mark.parametrize("column", ["label", "gold", "grade"])
    def test_known_labels(self, column):
        """By query where they have one, else in every query; what nobody judged is left out."""
        labels = cr.read(pl.DataFrame({"query": list("ppq"), "item": list("aba"), "label": [1, 2, 3]}))
        nodes = named_nodes(len(labels.index.items), labels.query, labels.item)
        with_query = pl.DataFrame({"query": ["q", "p", "r"], "item": ["a", "b", "a"], column: [3, 1, 2]})
        found = Anchors.read(with_query).truths(nodes, labels.index)
        assert dict(zip(*map(np.ndarray.tolist, found), strict=True)) == {2: 3.0, 1: 1.0}
        everywhere = pl.DataFrame({"item": ["a", "nobody"], column: [3, 1]})
        found = Anchors.read(everywhere).truths(nodes, labels.index)
        assert dict(zip(*map(np.ndarray.tolist, found), strict=True)) == {0: 3.0, 2: 3.0}

    def test_true_lists(self, tmp_path):
        path = tmp_path / "lists.csv"
        path.write_text("query,item,rank\np,b,1\np,a,2\np,c,2\nq,a,1\nq,c,\n")
        known = Anchors.read(path)
        lists = known.lists
        assert (known.pairs, known.workers, known.labels) == (None, None, None)
        assert (lists.lists, lists.missing, lists.worker) == (2, "unknown", None)
        named = lists.index.items.gather(lists.complete().item).to_list()
        assert list(zip(lists.complete().list, named, lists.complete().rank, strict=True)) == [
            (0, "b", 1),
            (0, "a", 2),
            (0, "c", 2),
            (1, "a", 1),
        ]

    def test_labels_stay_labels(self):
        known = Anchors.read(pl.DataFrame({"item": ["a", "b"], "rank": [1, 2], "label": [3, 1]}))
        assert known.lists is None
        assert known.labels is not None

    @pytest.mark.parametrize("column", ["worker", "judge"])
    def test_lists_by_workers_are_refused(self, column):
        with pytest.raises(cr.InputError, match=r"holds rankings; .*\nHint: True lists .* have no worker column"):
            Anchors.read(pl.DataFrame({"item": ["a", "b"], "rank": [1, 2], column: ["w", "w"]}))

    @pytest.mark.parametrize("model", [cr.CrowdBT, cr.Mallows, cr.Borda, cr.PlackettLuce])
    def test_models_that_cannot_use_lists_say_so(self, model):
        lists = pl.DataFrame({"item": ["a", "b"], "rank": [1, 2]})
        judged = pl.DataFrame({"worker": list("xxyy"), "item": list("abab"), "rank": [1, 2, 1, 2]})
        notes = model().fit(judged, anchors=lists).fit_.warnings
        assert [note.message for note in notes if note.code == "anchors"] == [
            f"{model.name} does not use true lists; they are ignored."
        ]

    def test_none_at_all(self):
        votes = self.votes()
        assert Anchors().gold(nodes_of(votes.batches(), votes.index), votes.index)[0].shape == (0, 2)
        assert np.array(Anchors().known(votes.index)[0]).size == 0


class TestColumnsOfGold:
    frame = pl.DataFrame({"doc": ["a", "b"], "rel": [1, 2], "query": ["q", "q"]})

    @pytest.mark.parametrize(
        "columns", ["item=doc,grade=rel,query=", {"item": "doc", "grade": "rel", "query": ""}]
    )
    def test_are_named(self, columns):
        assert values(read_gold(self.frame, columns=columns)) == {(None, "a"): 1.0, (None, "b"): 2.0}

    def test_that_are_not_there(self):
        with pytest.raises(cr.InputError, match="no column 'dok'"):
            read_gold(self.frame, columns="item=dok")

    def test_of_no_role(self):
        with pytest.raises(cr.UsageError, match="no role 'score'"):
            read_gold(self.frame, columns="score=rel")


def test_gold_under_other_names_says_how_to_read_it(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text("topic,doc,stars\nq,a,3\nq,b,1\n")
    with pytest.raises(
        cr.InputError, match="is not a gold file; its columns are 'topic', 'doc', 'stars'"
    ) as caught:
        read_gold(path)
    columns = "item=doc,grade=stars,query=topic"
    assert str(caught.value).endswith(f'Name other columns: gold_columns="{columns}"')
    assert values(read_gold(path, columns=columns)) == {("q", "a"): 3.0, ("q", "b"): 1.0}
