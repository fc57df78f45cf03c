"""Files that are no usual tables: read if that is safe, otherwise said what they are and what to do."""

import gzip
import io
import subprocess

import polars as pl
import pytest

import crowdrank as cr

PAIRS = "worker,left,right,label\nx,a,b,a\ny,b,c,c\nx,c,a,tie\n"
ARROW, BYTES, HEX = io.BytesIO(), io.BytesIO(), io.BytesIO()
pl.DataFrame({"winner": ["a"], "loser": ["b"]}).write_ipc(ARROW)
pl.DataFrame({"winner": [b"\xff\x00"], "loser": [b"b"]}).write_parquet(BYTES)
pl.DataFrame({"winner": [b"a"], "loser": [b"b"]}).write_parquet(HEX)

READ = {
    "old Mac": PAIRS.replace("\n", "\r").encode(),
    "old Mac, zipped": gzip.compress(PAIRS.replace("\n", "\r").encode()),
    "bars": PAIRS.replace(",", "|").encode(),
    "UTF-16": PAIRS.encode("utf-16"),
    "UTF-16 of Excel": b"\xff\xfe" + PAIRS.replace(",", "\t").replace("\n", "\r\n").encode("utf-16-le"),
}
REFUSED = {
    "is an HTML page": b"\n<!DOCTYPE html>\n<html><table></table></html>",
    "is an XML document": b'<?xml version="1.0"?><rows></rows>',
    "is a PDF document": b"%PDF-1.4\n1 0 obj",
    "is an old Excel workbook": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(20),
    "is an Excel workbook": b"PK\x03\x04" + bytes(20) + b"xl/workbook.xml",
    "is a zip archive": b"PK\x03\x04" + bytes(20) + b"votes.csv",
    "is compressed by bzip2": b"BZh91AY&SY",
    "is an Arrow": ARROW.getvalue(),
    "as UTF-16 text and binary files have": PAIRS.encode("utf-16-le"),
    "is a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
    "is a YAML document": b"- winner: a\n  loser: b\n",
    "is nested too deep": b"[" * 5000 + b"]" * 5000,
    "is one JSON object over several lines": b'{\n "data": [\n  {"winner": "a", "loser": "b"}\n ]\n}\n',
    "Write one row per line": b'{"winner": ["a", "b"], "loser": ["b", "c"]}\n',
    "column 'winner': holds bytes that are not text": BYTES.getvalue(),
}
PLAIN = {
    "is separated by spaces": PAIRS.replace(",", "  "),
    "is a table drawn with bars": "| worker | left | right | label |\n|---|:-:|---|--:|\n| x | a | b | a |\n",
    "spaces around the cells": PAIRS.replace(",", " | "),
    "is separated by '~'": PAIRS.replace(",", "~"),
    "is separated by ':'": PAIRS.replace(",", ":"),
    "begins with a comment": f"# exported today\n{PAIRS}",
    "each line is in quotes": "".join(f'"{line}"\n' for line in PAIRS.splitlines()),
}
"""What is refused with a command that mends it."""


@pytest.mark.parametrize("form", READ)
def test_is_read(tmp_path, form):
    path = tmp_path / "votes.csv"
    path.write_bytes(READ[form])
    table = cr.read(path)
    assert (table.rows, table.index.items.to_list()) == (3, ["a", "b", "c"])


def test_a_first_line_that_is_longer_than_what_is_looked_at_ends_the_reading_with_an_error(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_bytes(b"a,b\r" + b"x" * 70_000 + b"\n")
    with pytest.raises(cr.InputError):
        cr.read(path)


def test_bytes_that_are_text_are_ids(tmp_path):
    path = tmp_path / "votes.parquet"
    path.write_bytes(HEX.getvalue())
    assert cr.read(path).index.items.to_list() == ["a", "b"]


@pytest.mark.parametrize("problem", REFUSED)
def test_is_refused(tmp_path, problem):
    path = tmp_path / "votes"
    path.write_bytes(REFUSED[problem])
    with pytest.raises(cr.InputError, match=problem) as caught:
        cr.read(path)
    assert str(path) in str(caught.value)
    assert "Hint: " in str(caught.value)


@pytest.mark.parametrize("problem", PLAIN)
def test_the_command_in_the_hint_mends_the_file(tmp_path, monkeypatch, problem):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my votes.txt").write_text(PLAIN[problem])
    with pytest.raises(cr.InputError, match=problem) as caught:
        cr.read("my votes.txt")
    command = str(caught.value).partition("Hint: ")[2].partition(": ")[2]
    subprocess.run(["bash", "-c", command], check=True)
    assert set(cr.read("table.csv").index.items) <= {"a", "b", "c"}
