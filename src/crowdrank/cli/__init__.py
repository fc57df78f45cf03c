"""The command line: one file per command, each a thin layer over the library.

Nothing slow is imported before a command runs.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import wraps
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from crowdrank.cli import (
    ask,
    compare,
    demo,
    evaluate,
    export,
    models,
    next,
    rank,
    replay,
    report,
    reproduce,
    score,
    simulate,
    train,
)
from crowdrank.cli.words import GIVEN, flag
from crowdrank.errors import WORD, CrowdrankError

if TYPE_CHECKING:
    from typer import Typer

COMMANDS = (
    rank,
    models,
    compare,
    evaluate,
    train,
    score,
    export,
    next,
    ask,
    replay,
    report,
    simulate,
    reproduce,
    demo,
)


class _Commands(TyperGroup):
    """All commands. The words of the one that runs are kept, so that an error can show the command again."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        GIVEN.set(tuple(args))
        WORD.set(flag)
        return super().parse_args(ctx, args)


app: Typer = typer.Typer(
    name="crowdrank",
    cls=_Commands,
    help="Trustworthy rankings from the noisy judgments of a crowd.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def main() -> None:
    """Run a command. Exit code 0: done; 1: the work failed; 2: bad usage or bad input; 130: interrupted."""
    for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores signals, and so do we
            signal.signal(number, _exit_on_signal)
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    app()


def _exit_on_signal(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)


def _guard(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with every failure turned into a message on stderr and an exit code."""

    @wraps(command)
    def run(*words: Any, **options: Any) -> None:
        try:
            command(*words, **options)
            sys.stdout.flush()
        except CrowdrankError as error:
            _end(error.wording(flag), error.exit_code)
        except KeyboardInterrupt:
            _end("interrupted; nothing was written.", 130)
        except BrokenPipeError:  # the reader of the pipe has closed it
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        except OSError as error:
            _end(str(error), 1)
        except MemoryError:
            _end("not enough memory.", 1)

    return run


def _end(message: str, code: int) -> None:
    print(f"crowdrank: {message}", file=sys.stderr)
    raise SystemExit(code)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        from crowdrank import __version__

        print(f"crowdrank {__version__}")
        raise typer.Exit


for _module in COMMANDS:
    app.command(_module.NAME)(_guard(_module.command))
