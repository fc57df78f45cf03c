"""Files whose columns have other names: the error says what they are, and how to read them."""

import shlex

import polars as pl
import pytest

import crowdrank as cr

PAIRS = {
    "query,doc1,doc2,winner\nq1,d1,d2,d1\nq1,d2,d3,d3\nq1,d1,d3,d1\n": (
        "left=doc1,right=doc2,winner=winner,query=query"
    ),
    "img1,img2,label\ni1,i2,1\ni2,i3,2\ni1,i3,1\n": "left=img1,right=img2,winner=label",
    "user,model_x,model_y,answer\nu,m1,m2,a\nv,m2,m3,b\nu,m1,m3,draw\n": (
        "left=model_x,right=model_y,winner=answer,worker=user"
    ),
    "prompt,x,y,preferred\np1,7,8,7\np1,8,9,9\np2,1,2,2\n": "left=x,right=y,winner=preferred,query=prompt",
    "prompt,x,y,preferred\np1,7,8,7\np2,7,8,8\np2,8,9,8\n": "left=x,right=y,winner=preferred",
    "chosen,rejected,rater\na,b,u\nb,c,v\nc,a,u\n": "winner=chosen,loser=rejected,worker=rater",
    "id,First text,Second text,Which one?\n1,a,b,b\n2,b,c,b\n3,a,c,a\n": (
        "left=First text,right=Second text,label=Which one?"
    ),
    "x,y,worse\na,b,a\nb,c,c\na,c,a\n": "left=x,right=y,loser=worse",
    "x,y,more_harmful\na,b,a\nb,c,c\na,c,a\n": "left=x,right=y,loser=more_harmful",
    "x,y,lessHarmful\nk,l,k\nl,m,m\nk,m,k\n": "left=x,right=y,winner=lessHarmful",
    "x,y,rejected\nm1,m2,x\nm2,m3,y\nm1,m3,x\n": "left=x,right=y,loser=rejected",
    "item,other,label\n1,2,2\n2,3,2\n3,1,3\n": "left=item,right=other,winner=label",
    "item1,item2,label\ntea,milk,tea\nmilk,cola,same\ncola,tea,tea\n": "left=item1,right=item2,winner=label",
}
"""Pairs under other names, and the columns that read them."""

OTHERS = [
    "doc,rater,score\n1,2,3\n2,3,1\n3,1,2\n",  # numbers that happen to be the same
    "text,helpful,clear\na,4,5\nb,5,4\nc,3,4\n",
    "worker,left,right\nw,a,b\nw,b,c\n",  # nobody won
    "id,name\n1,a\n",
]


@pytest.fixture
def written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def write(content, name="some votes.csv"):
        (tmp_path / name).write_text(content)
        return name

    return write


@pytest.mark.parametrize("content", PAIRS)
def test_pairs_under_other_names_are_named_with_the_columns_that_read_them(written, content):
    file = written(content)
    with pytest.raises(cr.InputError, match="each row is a pair") as caught:
        cr.read(file)
    assert f'columns="{PAIRS[content]}"' in str(caught.value)
    table = cr.read(file, columns=PAIRS[content])
    assert table.kind == "pairs"
    assert table.rows >= 2


@pytest.mark.parametrize("content", PAIRS)
def test_the_command_that_is_shown_can_be_copied(written, crowdrank, content):
    ran = crowdrank("rank", written(content), "--model=bt", "--columns", "weight=")
    assert ran.code == 2
    again = shlex.split(ran.err[ran.err.index("Read it with ") :].splitlines()[0].removeprefix("Read it with "))
    assert again[:2] == ["crowdrank", "rank"]
    assert crowdrank(*again[1:], "--allow-dropped").code == 0


def test_values_that_are_not_certain_are_asked_for(written, crowdrank):
    file = written("img1,img2,label\ni1,i2,1\ni2,i3,0\ni1,i3,1\n")
    ran = crowdrank("rank", file)
    columns = ["--columns", "left=img1,right=img2,winner=label"]
    ways = {"'1' means left and '0' means right: ": "1=left,0=right", "'0' means left: ": "1=right,0=left"}
    for said, outcomes in ways.items():
        shown = shlex.split(ran.err.partition(said)[2].splitlines()[0])
        assert shown == ["crowdrank", "rank", file, *columns, "--outcomes", outcomes]
        assert crowdrank(*shown[1:], "--model", "bt").code == 0


@pytest.mark.parametrize(
    ("values", "outcomes"),
    [
        (("1", "0", "0.5"), "1=left,0=right,0.5=tie"),
        (("1", "-1", "-1"), "1=left,-1=right"),
        (("1", "-1", "0"), "1=left,-1=right,0=tie"),
    ],
)
@pytest.mark.parametrize("header", ["flag,a,b,score", "flag,white,black,points"])
def test_a_score_of_two_items_says_which_one_won(written, crowdrank, header, values, outcomes):
    win, loss, other = values
    rows = f"0,x,y,{win}\n1,y,z,{win}\n1,z,x,{loss}\n0,y,x,{other}\n0,z,y,{loss}\n0,x,z,{win}\n"
    _, left, right, score = header.split(",")
    ran = crowdrank("rank", written(f"{header}\n{rows}"), "--model", "bt")
    assert f"'{left}' and '{right}' share their values, and '{score}' seems to say which one won" in ran.err
    turned = outcomes.replace("left", "*").replace("right", "left")
    for said, best in ((outcomes, "xyz"), (turned.replace("*", "right"), "zyx")):
        shown = next(line for line in ran.err.splitlines() if line.endswith(said))
        again = shlex.split(shown[shown.index("crowdrank rank") :])
        assert f"left={left},right={right},winner={score}" in again
        assert pl.read_csv(crowdrank(*again[1:]).out.encode())["item"].to_list() == list(best)


LOSERS = {
    "left,right,loser\na,b,a\nb,c,c\na,c,tie\n": None,
    "left,right,loser\na,b,left\nb,c,right\na,c,tie\n": None,
    "x,y,worst\na,b,a\nb,c,c\na,c,tie\n": "left=x,right=y,loser=worst",
    "x,y,lost\na,b,x\nb,c,y\na,c,tie\n": "left=x,right=y,loser=lost",
}


@pytest.mark.parametrize("content", LOSERS)
def test_the_other_item_won_if_the_loser_is_named(written, content):
    assert cr.read(written(content), columns=LOSERS[content]).outcome.tolist() == [1, 0, 2]


def test_numbers_in_a_column_of_losers_are_not_guessed(written):
    file = written("left,right,loser\na,b,1\nb,c,2\n")
    with pytest.raises(cr.InputError, match=r"the item in 'left' won"):
        cr.read(file)
    assert cr.read(file, outcomes="1=right,2=left").outcome.tolist() == [1, 0]


def test_a_name_that_says_nothing_is_to_be_checked(written):
    with pytest.raises(cr.InputError, match="'foo' seems to say which one won; check it"):
        cr.read(written("x,y,foo\na,b,a\nb,c,c\na,c,a\n"))
    with pytest.raises(cr.InputError, match="'best_text' says which one won"):
        cr.read(written("x,y,best_text\na,b,a\nb,c,c\na,c,a\n"))


def test_two_columns_that_may_be_the_outcome(written, crowdrank):
    file = written("x,y,shown_first,pick\nk,l,k,l\nl,m,m,l\nk,m,k,m\n")
    ran = crowdrank("rank", file, "--model", "bt")
    assert "'pick' or 'shown_first' may say which one won" in ran.err
    assert "Read it with" not in ran.err
    for name in ("pick", "shown_first"):
        shown = ran.err.partition(f"If '{name}' says which one won: ")[2].splitlines()[0]
        assert f"winner={name}" in shown
        assert crowdrank(*shlex.split(shown)[1:]).code == 0


def test_best_and_worst_agree(written):
    with pytest.raises(cr.InputError, match="'best' says which one won"):
        cr.read(written("x,y,best,worst\nk,l,k,l\nl,m,m,l\nk,m,k,m\n"))


@pytest.mark.parametrize("content", OTHERS)
def test_other_files_are_not_called_pairs(written, content):
    with pytest.raises(cr.InputError) as caught:
        cr.read(written(content))
    assert "each row is a pair" not in str(caught.value)


def test_ratings_that_are_pairs_are_an_error_unless_both_columns_are_named(written):
    file = written("img1,img2,label\n1,2,1\n2,3,2\n1,3,1\n")
    with pytest.raises(cr.InputError, match="each row is a pair"):
        cr.read(file, columns="item=img1")
    assert cr.read(file, columns="item=img1,label=label").kind == "ratings"


class TestUnusableRows:
    """More than a tenth of the rows unusable: the file is not what it seems to be."""

    def test_the_other_way_to_read_it_is_named(self, written):
        file = written("query,doc1,doc2,winner\nq1,d1,d2,d1\nq1,d2,d3,d3\nq1,d1,d3,d1\n")
        with pytest.raises(cr.InputError, match="2 of 3 rows cannot be used, which is more than 10%") as caught:
            cr.read(file, columns="loser=doc1")
        assert 'columns="left=doc1,right=doc2,winner=winner,query=query"' in str(caught.value)
        assert "allow_dropped=True" in str(caught.value)
        assert cr.read(file, columns="loser=doc1", allow_dropped=True).rows == 1

    @pytest.mark.parametrize(("unusable", "code"), [(1, 0), (2, 2)])
    def test_a_tenth_is_allowed(self, written, crowdrank, unusable, code):
        rows = ["a,b,left"] * (10 - unusable) + ["a,b,", "a,a,left"][:unusable]
        file = written("\n".join(["left,right,winner", *rows]) + "\n")
        assert crowdrank("rank", file, "--model", "bt").code == code
        assert crowdrank("rank", file, "--model", "bt", "--allow-dropped").code == 0

    def test_frames_too(self):
        frame = pl.DataFrame({"winner": ["a", "a"], "loser": ["b", "a"]})
        with pytest.raises(cr.InputError, match="1 of 2 rows cannot be used"):
            cr.BradleyTerry().fit(frame)
        assert cr.BradleyTerry().fit(cr.read(frame, allow_dropped=True)).ranking_ is not None


SURVEYS = {
    "voter,Q1,Q2,Q3\nu,3,4,4\nv,5,1,5\nw,2,1,2\n": "worker=voter,label=Q*",
    "Q1,Q2,Q3,Q4\n3,4,4,3\n5,1,5,5\n": "label=Q*",
    "rater,P1,P2,P3\nu,1,3,2\nv,2,1,3\n": "worker=rater,rank=P*",
    "respondent,P1,P2,P3\nu,1,3,2\nv,2,1,3\n": "worker=respondent,rank=P*",
    "worker,rank1,rank2,rank3\nu,1,3,2\nv,2,1,3\n": "worker=worker,rank=rank*",
    ",".join(f"Q{n}" for n in range(60)) + "\n" + ",".join("123321" * 10) + "\n": "label=Q*",
}
"""Wide tables of numbers, and the columns that read them."""


@pytest.mark.parametrize("content", SURVEYS)
def test_surveys_are_wide_tables(written, content):
    file = written(content)
    with pytest.raises(cr.InputError, match="seems to be a wide table of") as caught:
        cr.read(file)
    assert f'each row a worker: read(..., columns="{SURVEYS[content]}")' in str(caught.value)
    table = cr.read(file, columns=SURVEYS[content])
    assert table.kind == ("rankings" if "rank=" in SURVEYS[content] else "ratings")


@pytest.mark.parametrize(
    "content",
    ["name,clear,helpful,overall\nu,3,4,4\nv,5,1,5\nw,2,1,2\n", "item,w1,w2,w3\na,3,4,4\nb,5,1,5\nc,2,1,2\n"],
)
def test_wide_tables_that_must_be_rewritten(written, content):
    with pytest.raises(cr.InputError, match="wide table of ratings") as caught:
        cr.read(written(content))
    assert "rite one row per rating, with the columns" in str(caught.value)


@pytest.mark.parametrize("name", ["item", "Item"])
def test_a_wide_table_with_a_column_called_item(written, name):
    file = written(f"{name},Q1,Q2,label\nann,5,4,1\nbob,3,2,2\ncid,4,4,1\n")
    with pytest.raises(cr.InputError, match=f"but there is a column '{name}' besides") as caught:
        cr.read(file, columns="label=Q*")
    assert f'read(..., columns="label=Q*,worker={name}")' in str(caught.value)
    table = cr.read(file, columns=f"label=Q*,worker={name}")
    assert table.index.workers.to_list() == ["ann", "bob", "cid"]
    assert table.index.items.to_list() == ["Q1", "Q2"]
    assert sorted(table.label) == [2, 3, 4, 4, 4, 5]


def test_ballots_hold_ids(written):
    file = written("voter,rank1,rank2,rank3\nu,tea,milk,cola\nv,milk,cola,tea\nw,tea,cola,milk\n")
    with pytest.raises(cr.InputError, match="each row seems to be a ranking") as caught:
        cr.read(file)
    assert "rank=rank*" not in str(caught.value)
    assert "with the columns worker ('voter' here), item and rank (1 = best)" in str(caught.value)
    with pytest.raises(cr.InputError, match="with the columns list, item and rank"):
        cr.read(written("rank1,rank2,rank3\ntea,milk,cola\nmilk,cola,tea\ntea,cola,milk\n"))
    with pytest.raises(cr.InputError, match="If the cells are ids of items"):
        cr.read(file, columns="rank=rank*")


@pytest.mark.parametrize("items", [("a", "b", "c"), ("Alien", "Brazil", "Cube")])
def test_ballots_whose_columns_have_no_number(written, items):
    a, b, c = items
    with pytest.raises(cr.InputError, match="each row seems to be a ranking: the cells of '1st', '2nd', '3rd'"):
        cr.read(written(f"voter,1st,2nd,3rd\nx,{a},{b},{c}\ny,{b},{a},{c}\nz,{a},{c},{b}\n"))


def test_ranks_without_a_worker_need_one(written):
    with pytest.raises(cr.InputError, match="add a column with a worker for each row") as caught:
        cr.read(written("P1,P2,P3\n1,3,2\n2,1,3\n"))
    assert 'columns="worker=NAME,rank=P*"' in str(caught.value)


GRADED = {
    "text,annotator,class\nt1,u,spam\nt2,v,ham\n": ("a rating", "item=text,label=class"),
    "system,topic,doc,position\ns,1,d,2\nt,1,d,1\n": (
        "a place in a list",
        "item=doc,rank=position,worker=system,query=topic",
    ),
    "Product ID,stars\np,5\nq,3\n": ("a rating", "item=Product ID,label=stars"),
    "item,rater,answer\na,u,1\nb,v,0\n": ("a rating", "label=answer"),
    "worker,film,place\nu,a,1\nv,b,1\n": ("a place in a list", "item=film,rank=place"),
    "worker,item,points\nu,a,6\nv,b,5\n": ("a rating", "label=points"),
    "worker,item,votes\nu,a,6\nv,b,5\n": ("a rating", "label=votes"),
}
"""Ratings and lists with other names, what each row seems to be, and the columns that read them."""


@pytest.mark.parametrize("content", GRADED)
def test_ratings_and_lists_with_other_names_say_how_to_read_them(written, content):
    kind, columns = GRADED[content]
    file = written(content)
    with pytest.raises(cr.InputError, match=f"each row seems to be {kind}") as caught:
        cr.read(file)
    assert f'Read it with read(..., columns="{columns}")' in str(caught.value)
    assert ("(larger is better)" if kind == "a rating" else "(1 is best)") in str(caught.value)
    assert cr.read(file, columns=columns).rows == 2


def test_a_column_that_may_be_a_rank_or_a_label_is_said_to_be_one_or_the_other_by_what_is_best(written):
    with pytest.raises(cr.InputError) as caught:
        cr.read(written("worker,item,x\nu,a,1\nu,b,2\n"))
    assert '"rank=NAME" (rankings, 1 is best) or columns="label=NAME" (ratings, larger is better)' in str(
        caught.value
    )


def test_names_that_the_user_gave_stay(written):
    with pytest.raises(cr.InputError) as caught:
        cr.read(written("who,doc,class,stars\nu,d,x,1\nv,e,y,2\n"), columns="label=stars")
    assert 'columns="label=stars,item=doc,worker=who"' in str(caught.value)


def test_pairs_whose_outcomes_are_other_words_say_what_to_complete(written):
    rows = ["x,y,one", "y,x,two", "x,z,neither", "z,y,one"]
    with pytest.raises(cr.InputError, match="'answer one' and 'answer two' share their values") as caught:
        cr.read(written("\n".join(["answer one,answer two,preferred", *rows, ""])))
    assert "The values are 'neither', 'one', 'two'" in str(caught.value)
    assert 'outcomes="neither=MEANING,one=MEANING,two=MEANING"' in str(caught.value)


QUERIES_WITH_THE_SAME_ITEMS = "query,doc1,doc2,winner\n" + "".join(
    f"q{place % 2},{a},{b},{min(a, b)}\n" for place, (a, b) in enumerate(["ab", "ba", "bc", "cb", "ac", "ca"])
)


def test_queries_that_judge_the_same_items_have_a_command_for_one_ranking_and_one_for_many(written, crowdrank):
    ran = crowdrank("rank", written(QUERIES_WITH_THE_SAME_ITEMS), "--model", "bt")
    found = {}
    for said in ("For one ranking, read it with ", "For a ranking for each 'query': "):
        again = shlex.split(ran.err.partition(said)[2].splitlines()[0])
        found[said] = crowdrank(*again[1:])
        assert "--columns query=" not in found[said].err
    one, many = (pl.read_csv(own.out.encode()) for own in found.values())
    assert one["item"].to_list() == ["a", "b", "c"]
    assert many["query"].unique().sort().to_list() == ["q0", "q1"]


def test_a_query_that_may_split_one_ranking_is_noted_when_it_is_read(written, crowdrank):
    coded = QUERIES_WITH_THE_SAME_ITEMS.replace(",winner", ",choice")
    coded = "".join(
        line
        if place == 0
        else ",".join([*(own := line.split(","))[:3], str(int(own[3].strip() == own[1]))]) + "\n"
        for place, line in enumerate(coded.splitlines(keepends=True))
    )
    ran = crowdrank("rank", written(coded), "--model", "bt")
    again = shlex.split(ran.err.partition("'0' means right: ")[2].splitlines()[0])
    assert "For one ranking over all of them: --columns query=" in crowdrank(*again[1:]).err


SHARED = "beats,beaten,day\n" + "".join(
    f"{a},{b},{n}\n" for n, (a, b) in enumerate(["ab", "bc", "ac", "bc", "cb"])
)


def test_columns_that_share_their_values_are_pairs_whatever_they_are_called(written, crowdrank):
    ran = crowdrank("rank", written(SHARED), "--model", "bt")
    assert "each row seems to be a pair: 'beats' and 'beaten' share their values, and no column says" in ran.err
    for said, order in (("If 'beats' has the winners: ", "abc"), ("If 'beaten' has them: ", "cba")):
        again = shlex.split(ran.err.partition(said)[2].splitlines()[0])
        assert pl.read_csv(crowdrank(*again[1:]).out.encode())["item"].to_list() == list(order)


def test_an_outcome_of_columns_that_share_their_values(written, crowdrank):
    results = "white,black,result\n" + "a,b,1-0\nb,c,1-0\nc,a,0-1\nb,a,1/2-1/2\n"
    ran = crowdrank("rank", written(results), "--model", "bt")
    again = shlex.split(ran.err.partition("'1/2-1/2' means tie: ")[2].splitlines()[0])
    assert pl.read_csv(crowdrank(*again[1:]).out.encode())["item"].to_list() == ["a", "b", "c"]


def test_columns_of_two_kinds_have_a_command_for_each(written, crowdrank):
    rows = "".join(
        f"w{worker},{item},{label},{4 - label}\n"
        for worker in "xy"
        for item, label in zip("abc", (1, 2, 3), strict=True)
    )
    ran = crowdrank("rank", written(f"worker,item,label,rank\n{rows}"), "--model", "win-rate")
    for kind in ("rankings", "ratings"):
        again = shlex.split(ran.err.partition(f"To read them as {kind}: ")[2].splitlines()[0])
        assert pl.read_csv(crowdrank(*again[1:]).out.encode())["item"].to_list() == ["c", "b", "a"]
