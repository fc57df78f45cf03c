"""The matrix of mistakes: every parameter of every command, times what can be wrong with it.

Whatever is wrong, the exit code is 2, the error names what is wrong in plain words, nothing is printed or written,
and what was there before is still there.
"""

import re
import shlex
import shutil

import pytest

from cli.mistake_rows import (
    DAMAGE,
    FILES,
    FOLDERS,
    GAPS,
    LETOR,
    NUMBERS,
    OUT_FILES,
    OUT_FOLDERS,
    make_world,
    with_cell,
)
from cli.mistaken_values import VALUES
from crowdrank.cli import COMMANDS
from crowdrank.cli.app import load_command

MACHINE = re.compile(r"Traceback|\[Errno|codec can't|\b[a-z]+\.[a-z.]*Error\b|PlRefPath|NoneType")
"""Words of Python and of its libraries."""


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    folder = tmp_path_factory.mktemp("world")
    make_world(folder)
    return folder


def state(folder):
    """All files below the folder with the time of their last change."""
    return {path: path.lstat().st_mtime_ns for path in folder.rglob("*") if not path.is_dir()}


@pytest.fixture
def refused(crowdrank, world):
    """Run a call that must be refused, and return the error."""

    def refused(*words, cwd=world, **more):
        before = state(cwd)
        ran = crowdrank(*words, cwd=cwd, **more)
        assert (ran.code, ran.out) == (2, ""), ran.err
        assert ran.err.startswith("crowdrank: ")
        assert len(ran.err) <= 1000
        assert not MACHINE.search(ran.err), ran.err
        assert state(cwd) == before
        return ran.err

    return refused


def words_of(command, call, file=None):
    return [command, *(word.replace("FILE", str(file)) for word in shlex.split(call))]


def rows(table):
    return [(command, name, *_tuple(row)) for command, own in table.items() for name, row in own.items()]


def _tuple(row):
    return row if isinstance(row, tuple) else (row,)


def test_every_parameter_of_every_command_has_a_row():
    lacking = []
    for command in COMMANDS:
        known = {
            name for table in (FILES, FOLDERS, OUT_FILES, OUT_FOLDERS, VALUES) for name in table.get(command, ())
        }
        own = {one.name for one in load_command(command).params if one.expose_value and not is_flag(one)}
        lacking += [f"{command} {name}" for name in sorted(own ^ known)]
    assert not lacking


def is_flag(parameter):
    return getattr(parameter, "is_flag", False)


class TestFiles:
    @pytest.mark.parametrize(("command", "name", "sound", "call"), rows(FILES))
    def test_damage(self, refused, world, tmp_path, command, name, sound, call):
        content = (world / sound).read_bytes()
        for kind, damaged in DAMAGE.items():
            if sound.endswith(".txt") and kind in LETOR:
                continue  # this is no mistake in a file without columns
            bad = tmp_path / f"{kind}.csv"
            bad.write_bytes(damaged(content))
            assert str(bad) in refused(*words_of(command, call, bad))

    @pytest.mark.parametrize(("command", "name", "sound", "call"), rows(FILES))
    def test_no_file(self, refused, tmp_path, command, name, sound, call):
        (tmp_path / "link.csv").symlink_to("nowhere.csv")
        for path in (tmp_path / "absent.csv", tmp_path, tmp_path / "link.csv", tmp_path / ("x" * 300)):
            assert str(path)[:100] in refused(*words_of(command, call, path))

    @pytest.mark.parametrize(("command", "name", "sound", "call"), rows(FILES))
    def test_standard_input_is_closed(self, refused, command, name, sound, call):
        assert "standard input: is closed." in refused(*words_of(command, call, "-"), stdin=False)

    @pytest.mark.parametrize(
        ("command", "name", "sound", "call"), [row for row in rows(FILES) if row[:2] in NUMBERS]
    )
    def test_no_number(self, refused, world, tmp_path, command, name, sound, call):
        for value in {"soon", "inf", "NaN", ""}.difference(GAPS.get((command, name), ())):
            bad = tmp_path / f"{value or 'nothing'}.csv"
            bad.write_bytes(with_cell(value.encode())((world / sound).read_bytes()))
            said = refused(*words_of(command, call, bad))
            assert str(bad) in said
            assert re.search(r"row [12], column '\w+': .*(Got |empty|missing)", said) or "missing values" in said


@pytest.mark.long
@pytest.mark.parametrize(("command", "name", "sound", "call"), rows(FILES))
def test_the_sound_file_is_taken(crowdrank, world, tmp_path, command, name, sound, call):
    """Without this, the cells above might be refused for another reason."""
    shutil.copytree(world, tmp_path / "copy", symlinks=True)
    ran = crowdrank(*words_of(command, call, sound), cwd=tmp_path / "copy")
    assert ran.code == 0, ran.err


class TestFolders:
    @pytest.mark.parametrize(("command", "name", "sound", "call"), rows(FOLDERS))
    def test_another_folder(self, refused, world, tmp_path, command, name, sound, call):
        (tmp_path / "empty").mkdir()
        (tmp_path / "link").symlink_to("nowhere")
        other = world / ("ranker" if sound == "result" else "result")
        paths = (tmp_path / "absent", tmp_path / "empty", tmp_path / "link", world / "votes.csv", other)
        for path in (*paths, tmp_path / ("x" * 300)):
            assert str(path)[:100] in refused(*words_of(command, call, path))

    @pytest.mark.parametrize(
        ("command", "call", "file"),
        [
            (command, call, file)
            for command, _, sound, call in rows(FOLDERS)
            for file in {
                "result": ("result/fit.json", "result/ranking.csv", "result/workers.csv"),
                "ranker": ("ranker/model.json", "ranker/weights.npz"),
                "processed": ("processed/processing.json",),
            }[sound]
        ],
    )
    def test_damage(self, refused, world, tmp_path, command, call, file):
        for kind in ("gone", "empty", "cut", "bytes", "JSON of lists", "a folder"):
            bad = tmp_path / kind
            shutil.copytree((world / file).parent, bad)
            damage(bad / file.partition("/")[2], kind)
            assert str(bad) in refused(*words_of(command, call, bad))

    def test_a_table_without_rows_or_with_words(self, refused, world, tmp_path):
        """A ranking that was cut off or edited would be compared as it is."""
        for file in ("ranking.csv", "workers.csv"):
            lines = (world / "result" / file).read_text().splitlines()
            for place, content in enumerate((lines[:1], [*lines[:3], lines[3][:4]], [lines[0], "many," * 20])):
                bad = tmp_path / f"{file}-{place}"
                shutil.copytree(world / "result", bad)
                (bad / file).write_text("\n".join(content) + "\n")
                said = refused("report", bad, "other")
                assert f"{bad / file}" in said
                assert said.endswith("Hint: Rank again, or copy the folder again.\n")


def damage(path, kind):
    content = path.read_bytes()
    path.unlink()
    if kind == "a folder":
        path.mkdir()
    elif kind != "gone":
        path.write_bytes(content[: len(content) // 2] if kind == "cut" else DAMAGE[kind](content))


class TestOutputs:
    """No output harms what was there: neither a name that cannot be written to, nor a disk that is full."""

    @pytest.mark.parametrize(("command", "name", "call"), rows(OUT_FOLDERS))
    def test_no_folder(self, refused, world, tmp_path, command, name, call):
        (tmp_path / "old.txt").write_text("old")
        (tmp_path / "link").symlink_to("no/where")
        inside = tmp_path / "old.txt" / "inside"
        for path in (tmp_path / "old.txt", inside, tmp_path / "link", tmp_path / ("x" * 300), "-", ""):
            said = refused(*words_of(command, call, path))
            assert str(path)[:100] in said or f"--{name} is empty" in said
        assert (tmp_path / "old.txt").read_text() == "old"

    @pytest.mark.parametrize(("command", "name", "call"), rows(OUT_FILES))
    def test_no_file(self, refused, world, tmp_path, command, name, call):
        ending = ".html" if name == "report" else ""
        (tmp_path / f"folder{ending}").mkdir()
        (tmp_path / f"link{ending}").symlink_to("no/where")
        for place in ("folder", "link", "absent/new", "link/new", "x" * 300):
            path = tmp_path / f"{place}{ending}"
            assert str(path)[:100] in refused(*words_of(command, call, path))
        for word in ("-", ""):
            assert f"--{name} " in refused(*words_of(command, call, word))

    @pytest.mark.parametrize(
        ("command", "name", "call"), [row for row in rows(OUT_FILES) if row[:2] != ("ask", "out")]
    )
    def test_a_full_disk(self, crowdrank, world, tmp_path, command, name, call):
        (tmp_path / "copy").mkdir()
        shutil.copytree(world, tmp_path / "copy", symlinks=True, dirs_exist_ok=True)
        full = tmp_path / ("full.html" if name == "report" else "full")
        full.symlink_to("/dev/full")
        ran = crowdrank(*words_of(command, call, full), cwd=tmp_path / "copy")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.endswith(f"crowdrank: --{name} {full}: cannot be written to (No space left on device).\n")

    def test_a_result_is_not_written_over_what_is_read(self, refused, tmp_path):
        (tmp_path / "ranking.csv").write_text("worker,item,rank\nv,a,1\nv,b,2\nw,a,1\nw,b,2\n")
        said = refused("-qq", "rank", "ranking.csv", "--model", "borda", "--out", ".", cwd=tmp_path)
        assert (
            said == "crowdrank: --out ranking.csv: this file is read, so it is kept.\nHint: Name another folder.\n"
        )

    def test_a_file_that_was_empty_stays(self, crowdrank, world, tmp_path):
        (tmp_path / "answers.csv").touch()
        words = words_of("ask", OUT_FILES["ask"]["out"].replace("echo left", "exit 3"), tmp_path / "answers.csv")
        assert crowdrank(*words, cwd=world).code == 1
        assert (tmp_path / "answers.csv").read_bytes() == b""


class TestValues:
    @pytest.mark.parametrize(
        ("command", "name", "call", "expected"),
        [
            (command, name, *row[:2])
            for command, own in VALUES.items()
            for name, cells in own.items()
            for row in cells
        ],
    )
    def test_wrong(self, refused, command, name, call, expected):
        assert expected in refused(*words_of(command, call))

    @pytest.mark.parametrize(
        ("command", "call"),
        [
            (command, row[2])
            for command, own in VALUES.items()
            for cells in own.values()
            for row in cells
            if len(row) > 2
        ],
    )
    def test_the_hint_is_right_when_followed(self, crowdrank, world, tmp_path, command, call):
        shutil.copytree(world, tmp_path / "copy", symlinks=True)
        ran = crowdrank(*words_of(command, call), cwd=tmp_path / "copy")
        assert ran.code == 0, ran.err

    @pytest.mark.parametrize("command", COMMANDS)
    def test_unknown_options_and_words_too_many(self, refused, command):
        said = refused(command, "--bogus")
        assert f"There is no option --bogus of crowdrank {command}." in said
        assert f"`crowdrank {command} -h` shows how it is used." in said
