"""A judge that is any command: a question goes to its standard input, the answer comes from its standard output.

A question is one line of JSON:

    {"question": 17, "query": null, "left": {"item": "a", "text": "..."}, "right": {"item": "b", "text": "..."}}

The answer is the last line that the command prints: left, right, tie or skip, the id of the better item, or a JSON
object with one of these as "answer". Unless it is kept running, the command is started for every question and sees
the end of its input after it.
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from typing import Any

from crowdrank.errors import CrowdrankError, UsageError

ANSWERS = ("left", "right", "tie", "skip")


class JudgeError(CrowdrankError):
    """A judge that did not answer, or not as agreed. Exit code 1: the work failed."""


class JudgeProcess:
    """A command that answers questions. ``keep``: one process answers all questions, line by line."""

    def __init__(self, name: str, command: str, *, keep: bool = False, timeout: float = 120.0) -> None:
        if not command.strip():
            raise UsageError("--judge needs a command.")
        self.name, self.command, self.keep, self.timeout = name, command, keep, timeout
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str | None] = queue.Queue()

    def ask(self, question: dict[str, Any]) -> str:
        """One of ``ANSWERS``. Raises JudgeError if the command fails, takes too long or says something else."""
        line = json.dumps(question, ensure_ascii=False)
        said = self._ask_running(line) if self.keep else self._ask_once(line)
        return self._understand(said, question)

    def close(self) -> None:
        """End the process, if one is running."""
        if self._process is None:
            return
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _ask_once(self, line: str) -> str:
        try:
            done = subprocess.run(
                self.command, shell=True, input=line + "\n", stdout=subprocess.PIPE, text=True,
                timeout=self.timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise self._error(f"gave no answer within {self.timeout:g} seconds.") from None
        if done.returncode:
            raise self._error(f"ended with exit code {done.returncode}.")
        lines = [own for own in done.stdout.splitlines() if own.strip()]
        if not lines:
            raise self._error("printed nothing.")
        return lines[-1]

    def _ask_running(self, line: str) -> str:
        process = self._process if self._process is not None and self._process.poll() is None else self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            said = self._lines.get(timeout=self.timeout)
        except queue.Empty:
            process.kill()
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
            self.command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        threading.Thread(target=_read_lines, args=(process, self._lines), daemon=True).start()
        self._process = process
        return process

    def _understand(self, said: str, question: dict[str, Any]) -> str:
        word = said.strip()
        if word.startswith("{"):
            try:
                word = str(json.loads(word).get("answer", ""))
            except json.JSONDecodeError:
                word = said.strip()
        if word.lower() in ANSWERS:
            return word.lower()
        for side in ("left", "right"):
            if word == question[side]["item"]:
                return side
        raise self._error(f"must answer left, right, tie or skip. Got {word[:80]!r}.")

    def _error(self, problem: str) -> JudgeError:
        return JudgeError(
            f"The judge {self.name!r} {problem}",
            hint="What was answered before is kept; the same command goes on from there.",
        )


def _read_lines(process: subprocess.Popen[str], lines: queue.Queue[str | None]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip():
            lines.put(line)
    lines.put(None)
