"""Writing results: files are staged, then moved into place, so no half-written file remains."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from crowdrank.cli.messages import finish, keep, os_reason, warn
from crowdrank.cli.signals import deferred_signals
from crowdrank.errors import CrowdrankError, UsageError, count_noun

if TYPE_CHECKING:
    import polars as pl

    from crowdrank.compare import Comparison
    from crowdrank.measures import Evaluation
    from crowdrank.report import QuestionsReport
    from crowdrank.results import Result
    from crowdrank.select.study import Study

FORMATS = ("csv", "parquet", "json")
FILE_ENDINGS = frozenset({".csv", ".html", ".json", ".md", ".parquet"})
"""Endings that a user gives to a file, and not to a folder."""
KINDS = {"pairs": ("rows", "pair"), "ratings": ("rows", "rating"), "rankings": ("lists", "list")}
"""What is counted of each kind of judgments, and what it is called."""


class Staged:
    """Something to write in a hidden folder, the ``stage``, which is removed at the end, whatever happened."""

    stage: Path | None = None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with deferred_signals():
                self._clean_up()
        except KeyboardInterrupt:  # it came before the block, or at its end
            self._clean_up()
            raise

    def _clean_up(self) -> None:
        if self.stage is not None:
            shutil.rmtree(self.stage, ignore_errors=True)


class Folder(Staged):
    """A folder to write into, checked before the work begins.

    Files are written into a hidden folder inside it and moved into place when all are done. After a
    failure the folder and its parents are as they were before. ``inputs``: files that are read; none of them is
    written over.
    """

    def __init__(self, path: Path, inputs: Iterable[str | None] = ()) -> None:
        if path.exists() and not path.is_dir():
            raise UsageError(f"--out {path}: cannot be written to (it is a file).")
        if not path.exists() and path.suffix.lower() in FILE_ENDINGS:
            raise UsageError(
                f"--out {path}: looks like a file, but several files are written, into a folder.",
                hint=f"Name a folder: --out {path.with_suffix('')}",
            )
        self.path, self._inputs = path, list(inputs)
        self._made = [folder for folder in (path, *path.parents) if not folder.exists()]

    def __enter__(self) -> Self:
        try:
            with deferred_signals():
                self.path.mkdir(parents=True, exist_ok=True)
                self.stage = Path(tempfile.mkdtemp(prefix=".crowdrank-", dir=self.path))
        except OSError as error:
            self._remove_made()
            raise UsageError(f"--out {self.path}: cannot be written to ({error.strerror}).") from error
        except KeyboardInterrupt:
            self._clean_up()
            raise
        return self

    def _clean_up(self) -> None:
        super()._clean_up()
        self._remove_made()

    def _remove_made(self) -> None:
        for folder in self._made:  # innermost first
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()

    def write(self, files: Mapping[str, Callable[[Path], Any]], stale: Collection[str] = ()) -> None:
        """Write each file with its function, then move all files into place and remove the stale ones."""
        assert self.stage is not None
        gone = [name for name in set(stale) - set(files) if (self.path / name).is_file()]
        for path in (self.path / name for name in (*files, *gone)):
            refuse_input(path, "--out", self._inputs, "Name another folder.")
            if path.is_dir():
                raise UsageError(f"--out {path}: cannot be written to (it is a folder).")
        with naming_full_disks(f"--out {self.path}"):
            for name, write in files.items():
                write(self.stage / name)
        with deferred_signals():
            for name in files:
                os.replace(self.stage / name, self.path / name)
            for name in gone:
                (self.path / name).unlink(missing_ok=True)
            keep(f"all files are in {self.path}")


class File(Staged):
    """A file to write, checked before the work begins. It is written in a hidden folder beside its place.

    A link, a pipe or a device is written to, not replaced. ``inputs``: files that are read; none of them can be
    the file to write.
    """

    path: Path
    option: str

    def __init__(self, path: Path, option: str = "--out", inputs: Iterable[str | Path | None] = ()) -> None:
        if path.is_dir():
            raise UsageError(f"{option} {path}: cannot be written to (it is a folder).")
        if path.is_symlink() and not path.resolve().parent.is_dir():
            raise UsageError(f"{option} {path}: cannot be written to (the link leads to no folder).")
        refuse_input(path, option, inputs, "Name another file.")
        self.path, self.option = path, option
        self._is_file = not path.is_symlink() and (path.is_file() or not path.exists())

    def __enter__(self) -> Self:
        try:
            folder = self.path.parent if self._is_file else None
            with deferred_signals():
                self.stage = Path(tempfile.mkdtemp(prefix=".crowdrank-", dir=folder))
        except OSError as error:
            problem = f"{self.option} {self.path}: cannot be written to ({error.strerror})."
            raise UsageError(problem) from error
        except KeyboardInterrupt:
            self._clean_up()
            raise
        return self

    def write(self, write: Callable[[Path], Any]) -> None:
        """Write the file with this function, then move it into place."""
        assert self.stage is not None
        staged = self.stage / self.path.name
        with naming_full_disks(f"{self.option} {self.path}"):
            write(staged)
            if not self._is_file:
                with staged.open("rb") as source, self.path.open("wb") as target:
                    shutil.copyfileobj(source, target)
                return
        with deferred_signals():
            os.replace(staged, self.path)
            keep(f"all of {self.path} is written")


def refuse_input(path: Path, option: str, inputs: Iterable[str | Path | None], hint: str) -> None:
    """Raise an error if the file to write is one of those that are read."""
    for own in inputs:
        if own is not None and path.is_file() and Path(own).is_file() and path.samefile(own):
            raise UsageError(f"{option} {path}: this file is read, so it is kept.", hint=hint)


@contextmanager
def naming_full_disks(place: str) -> Iterator[None]:
    """What cannot be written here, as on a full disk, is an error that names this place."""
    from polars.exceptions import ComputeError

    try:
        yield
    except (OSError, ComputeError) as error:
        reason = os_reason(error)
        if reason is None or isinstance(error, BrokenPipeError):
            raise
        raise CrowdrankError(f"{place}: cannot be written to ({reason}).") from error


class ReportFile(File):
    """A report on questions, in the form that the ending of its name says: a page, Markdown or JSON."""

    def __init__(self, path: Path, inputs: Iterable[str | Path | None] = ()) -> None:
        from crowdrank.report.files import forms_of

        forms_of(path)
        super().__init__(path, "--report", inputs)

    def write_report(self, report: QuestionsReport) -> None:
        """Write the report."""
        from crowdrank.report.files import questions_text

        self.write(text_writer(questions_text(report, self.path)))


def write_frame(frame: pl.DataFrame, path: Path, form: str) -> None:
    """Write a frame as CSV, Parquet or JSON rows."""
    if form == "csv":
        frame.write_csv(path)
    elif form == "parquet":
        frame.write_parquet(path)
    else:
        frame.write_json(path)


def frame_writer(frame: pl.DataFrame, form: str = "csv") -> Callable[[Path], None]:
    """A function that writes this frame to a path."""
    return lambda path: write_frame(frame, path, form)


def bytes_writer(content: bytes) -> Callable[[Path], None]:
    """A function that writes these bytes to a path."""

    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


def text_writer(text: str) -> Callable[[Path], None]:
    """A function that writes this text to a path."""

    def write(path: Path) -> None:
        path.write_text(text, encoding="utf-8")

    return write


def check_format(form: str, known: Sequence[str] = FORMATS) -> str:
    """Return the format; an unknown one is an error that lists the formats."""
    if form not in known:
        raise UsageError(f"--format must be one of {', '.join(known)}. Got {form!r}.")
    return form


def present(
    found: Comparison | Study, what: str, name: str, folder: Folder | None, pages: Callable[[], tuple[str, str]],
    show: Callable[[], None] | None,
) -> None:  # fmt: skip
    """Figures in a folder, as JSON under this name and as pages (HTML, Markdown), and on stdout.

    ``what`` was done says the last line. ``show`` prints the figures; None: they are printed as JSON.
    """
    warn(found.notes)
    text = json.dumps(found.as_dict(), indent=2, allow_nan=False)
    if folder is not None:
        html, markdown = pages()
        texts = {name: text + "\n", "report.html": html, "report.md": markdown}
        folder.write({file: text_writer(content) for file, content in texts.items()})
    if show is None:
        print(text)
    else:
        show()
    if folder is None:
        finish_stdout(what, "the figures are")
    else:
        finish_folder(what, folder, list(texts))


def finish_folder(what: str, folder: Folder, files: Sequence[str]) -> None:
    """Say what was done, and which files are in the folder."""
    sys.stdout.flush()
    finish(f"{what}: {', '.join(files)} are in {folder.path}", folder=str(folder.path), files=list(files))


def finish_stdout(what: str, where: str) -> None:
    """Say what was done and, if stdout is no terminal, that ``where`` on stdout: on a terminal one sees it."""
    sys.stdout.flush()
    finish(what if sys.stdout.isatty() else f"{what}; {where} on stdout")


def describe_fit(result: Result) -> str:
    """What was ranked, by what, and with which model; how many of the workers cannot be relied on."""
    given = result.fit.judgments
    counted, noun = KINDS[given["kind"]]
    judgments = count_noun(given[counted], noun)
    workers = f" of {count_noun(given['workers'], 'worker')}{_unreliable(result)}" if given["workers"] else ""
    return f"Ranked {count_noun(given['items'], 'item')} by {judgments}{workers} with {result.fit.model}"


def _unreliable(result: Result) -> str:
    """How many workers are malicious, and how many are spammers, in parentheses; nothing if there are none."""
    verdict = [] if result.workers is None else result.workers.verdict.to_list()
    malicious, spammers = verdict.count("malicious"), verdict.count("spammer")
    found = [f"{malicious:,} malicious"] if malicious else []
    found += [count_noun(spammers, "spammer")] if spammers else []
    return f" ({', '.join(found)})" if found else ""


def write_result(folder: Folder, result: Result, measured: Evaluation | None, form: str) -> None:
    """Write all files of a result: its tables, the report, and last fit.json, which holds the time taken."""
    from crowdrank.report import build, to_html, to_json, to_markdown
    from crowdrank.results import to_plain

    began = time.perf_counter()

    def save_fit(path: Path) -> None:
        content = result.with_seconds(write=time.perf_counter() - began).fit.as_dict()
        content |= {"tables": list(result.tables)}
        if measured is not None:
            content |= {"gold": to_plain(measured.values), "gold_coverage": measured.coverage.as_dict()}
        path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")

    files: dict[str, Callable[[Path], Any]] = {
        f"{name}.{form}": frame_writer(table.polars(), form) for name, table in result.tables.items()
    }
    report = build(result) if measured is None else build(result, measured.values, measured.coverage)
    forms = {"report.html": to_html, "report.md": to_markdown, "report.json": to_json}
    files |= {name: text_writer(form(report)) for name, form in forms.items()}
    files["fit.json"] = save_fit
    names = {*tables_in(folder.path), *result.tables}
    folder.write(files, stale=[f"{name}.{other}" for name in names for other in FORMATS])
    finish_folder(describe_fit(result), folder, list(files))


def tables_in(path: Path, *, ranker: bool = False) -> list[str]:
    """The tables of an older result in the folder, which must not be mistaken for new ones.

    Only those of the same kind: ranking into the folder of a ranker removes nothing of it, and vice versa.
    """
    if (path / "model.json").exists() != ranker:
        return []
    try:
        old = json.loads((path / "fit.json").read_text(encoding="utf-8"))["tables"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [name for name in old if isinstance(name, str) and name.isidentifier()] if isinstance(old, list) else []
