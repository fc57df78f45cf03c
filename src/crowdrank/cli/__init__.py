"""The command line: one file for each verb, thin over the library.

Nothing heavy is imported before a command runs.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType
from typing import NoReturn

import click
import typer

from crowdrank.cli import demo, evaluate, models, rank, reproduce, simulate
from crowdrank.errors import CrowdrankError

app = typer.Typer(
    name="crowdrank",
    help="Trustworthy rankings from the noisy judgments of a crowd.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (rank, models, evaluate, simulate, reproduce, demo):
    app.command(module.NAME)(module.command)


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    if version:
        from crowdrank import __version__

        print(f"crowdrank {__version__}")
        raise typer.Exit


def main() -> NoReturn:
    """Run a command. Exit 0 done, 1 the work failed, 2 bad usage or bad input, 130 interrupted."""
    signal.signal(signal.SIGTERM, _terminated)
    sys.exit(_run())


def _run() -> int:
    try:
        result = app(standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except CrowdrankError as error:
        print(f"crowdrank: {error}", file=sys.stderr)
        return error.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        print("crowdrank: interrupted; nothing was written.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader of a pipe has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        print(f"crowdrank: {error}", file=sys.stderr)
        return 1
    except MemoryError:
        print("crowdrank: not enough memory.", file=sys.stderr)
        return 1


def _terminated(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
