"""The command line: one file per command, each a thin layer over the library.

Nothing slow is imported before a command runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from crowdrank.cli.signals import Interrupted, catch_signals, ignore_signals

COMMANDS = (
    "rank", "models", "compare", "evaluate", "train", "score", "export", "next", "ask", "replay", "report",
    "simulate", "reproduce", "demo", "completion",
)  # fmt: skip
"""The commands; each is the function ``command`` of the module with its name."""
SIGNALED = 128
"""Exit codes above this one say which signal ended the command."""
COMPLETE = "_CROWDRANK_COMPLETE"
"""The variable of the environment by which a shell asks for completions."""


def main() -> None:
    """Run the command line of this process."""
    try:
        catch_signals()
        code = _start()
        ignore_signals()
    except Interrupted as signal:  # before a command began, or while an error was printed
        ignore_signals()
        print(f"crowdrank: {signal.words}.", file=sys.stderr)
        code = signal.exit_code
    if code >= SIGNALED:  # libraries that were stopped in the middle may complain as the process ends
        sys.stderr.flush()
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    sys.exit(code)


def _start() -> int:
    if sys.stdout is None:  # closed by the caller
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if COMPLETE in os.environ:
        from crowdrank.cli.completion import print_completions

        return print_completions(os.environ[COMPLETE])
    return run(sys.argv[1:])


def run(words: Sequence[str]) -> int:
    """Run a command. Exit code 0: done; 1: the work failed; 2: bad usage or bad input; 130: interrupted."""
    from crowdrank.cli.messages import VOICE, Voice, describe_os_error, fail
    from crowdrank.cli.words import GIVEN, flag
    from crowdrank.errors import WORD, CrowdrankError

    VOICE.set(Voice(log_json="--log-json" in words))
    GIVEN.set(tuple(words))
    WORD.set(flag)
    try:
        from crowdrank.cli.app import start

        start(words)
        sys.stdout.flush()
    except CrowdrankError as error:
        return fail(error, error.exit_code)
    except Interrupted as signal:
        return fail(f"{signal.words}; {VOICE.get().kept or 'nothing was written'}.", signal.exit_code)
    except BrokenPipeError:  # the reader of the pipe has closed it
        for stream in (sys.stdout, sys.stderr):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    except (OSError, MemoryError) as error:
        if VOICE.get().verbose:
            import traceback

            traceback.print_exc()
        return fail(*describe_os_error(error)) if isinstance(error, OSError) else fail("not enough memory.", 1)
    return 0
