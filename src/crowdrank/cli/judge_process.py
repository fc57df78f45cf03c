"""A judge that is any command: a question goes to its standard input, the answer comes from its standard output.

A question is one line of JSON:

    {"question": 17, "query": null, "left": {"item": "a", "text": "..."}, "right": {"item": "b", "text": "..."}}

The answer is the last line that the command prints: left, right, tie or skip, the id of the better item, or a JSON
object with one of these as "answer". Unless it is kept running, the command is started for every question and sees
the end of its input after it.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import threading
from contextlib import suppress
from typing import Any

from crowdrank.errors import CrowdrankError, UsageError

ANSWERS = ("left", "right", "tie", "skip")
PATIENCE = 2.0
"""Seconds that a kept process has to end once its input is closed."""


class JudgeError(CrowdrankError):
    """A judge that did not answer, or not as agreed. Exit code 1: the work failed."""


class JudgeProcess:
    """A command that answers questions. ``keep``: one process answers all questions, line by line."""

    name: str
    command: str
    keep: bool
    timeout: float

    def __init__(self, name: str, command: str, *, keep: bool = False, timeout: float = 120.0) -> None:
        if not command.strip():
            raise UsageError("--judge needs a command.")
        if not 0 < timeout <= threading.TIMEOUT_MAX:
            raise UsageError(f"--timeout must be a finite number of seconds above 0. Got {timeout:g}.")
        self.name, self.command, self.keep, self.timeout = name, command, keep, timeout
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def ask(self, question: dict[str, Any]) -> str:
        """One of ``ANSWERS``. Raises JudgeError if the command fails, takes too long or says something else."""
        line = json.dumps(question, ensure_ascii=False)
        said = self._ask_running(line) if self.keep else self._ask_once(line)
        return self._understand(said, question)

    def close(self) -> None:
        """End the process, if one is running."""
        if self._process is None or self._reader is None:
            return
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            _kill(self._process)
        self._reader.join()
        self._process = None

    def _ask_once(self, line: str) -> str:
        with subprocess.Popen(
            self.command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, errors="replace",
            process_group=0,
        ) as process:  # fmt: skip
            try:
                output, _ = process.communicate(line + "\n", timeout=self.timeout)
            except subprocess.TimeoutExpired:
                _kill(process)
                raise self._error(f"gave no answer within {self.timeout:g} seconds.") from None
            except BaseException:
                _kill(process)
                raise
        if process.returncode:
            raise self._error(f"ended with exit code {process.returncode}.")
        lines = [own for own in output.splitlines() if own.strip()]
        if not lines:
            raise self._error("printed nothing.")
        return lines[-1]

    def _ask_running(self, line: str) -> str:
        process = self._process if self._process is not None and self._process.poll() is None else self._start()
        assert process.stdin is not None
        if not self._lines.empty() and (more := self._lines.get()) is not None:
            raise self._error(f"printed more than one line for a question: {more.strip()[:80]!r}.")
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            said = self._lines.get(timeout=self.timeout)
        except queue.Empty:
            _kill(process)
            raise self._error(f"gave no answer within {self.timeout:g} seconds.") from None
        except BrokenPipeError:
            said = None
        if said is None:
            raise self._error(f"ended with exit code {process.wait()} and gave no answer.")
        return said

    def _start(self) -> subprocess.Popen[str]:
        self.close()
        self._lines = queue.Queue()
        process = subprocess.Popen(
            self.command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
            errors="replace", process_group=0,
        )  # fmt: skip
        self._reader = threading.Thread(target=_read_lines, args=(process, self._lines), daemon=True)
        self._reader.start()
        self._process = process
        return process

    def _understand(self, said: str, question: dict[str, Any]) -> str:
        word = said.strip()
        if word.startswith("{"):
            with suppress(json.JSONDecodeError, AttributeError):
                word = str(json.loads(word).get("answer", word))
        if word.lower() in ANSWERS:
            return word.lower()
        for side in ("left", "right"):
            if word == question[side]["item"]:
                return side
        raise self._error(f"must answer left, right, tie or skip, or JSON with an answer. Got {word[:80]!r}.")

    def _error(self, problem: str) -> JudgeError:
        return JudgeError(
            f"The judge {self.name!r} {problem}",
            hint="What was answered before is kept; the same command goes on from there.",
        )


def _read_lines(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    with process.stdout as output:
        for line in output:
            if line.strip():
                lines.put(line)
    lines.put(None)


def _kill(process: subprocess.Popen[str]) -> None:
    """End the shell and what it has started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
