"""crowdrank completion: the script that lets a shell complete commands, options and names."""

from __future__ import annotations

import os
from typing import Annotated

from crowdrank.cli.declare import Argument
from crowdrank.errors import UsageError, name_hint

SCRIPTS = {
    "bash": """\
_crowdrank() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\\t'*}")
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" _CROWDRANK_COMPLETE=bash crowdrank 2>/dev/null)
    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then
        compopt -o nospace 2>/dev/null
    fi
}
complete -o default -F _crowdrank crowdrank
""",
    "zsh": """\
#compdef crowdrank
_crowdrank() {
    local line
    local -a found
    local typed="${(pj:\\n:)words[1,$CURRENT]}"
    for line in "${(@f)$(COMP_WORDS=$typed _CROWDRANK_COMPLETE=zsh crowdrank 2>/dev/null)}"; do
        [[ -n $line ]] && found+=("$line")
    done
    if (( ${#found} == 0 )); then
        _files
    else
        local -a values texts
        for line in $found; do
            values+=("${line%%$'\\t'*}")
            texts+=("${line/$'\\t'/  }")
        done
        if [[ ${values[1]} == *= ]]; then
            compadd -S '' -l -d texts -a values
        else
            compadd -l -d texts -a values
        fi
    fi
}
if [[ ${funcstack[1]} == _crowdrank ]]; then
    _crowdrank "$@"
else
    compdef _crowdrank crowdrank
fi
""",
    "fish": """\
function _crowdrank
    set -l words (commandline -opc) (commandline -ct)
    COMP_WORDS=(string join \\n -- $words | string collect) _CROWDRANK_COMPLETE=fish crowdrank 2>/dev/null
end
complete -c crowdrank -a '(_crowdrank)'
""",
}
"""What each shell runs: it asks the program for lines of a word, a tab and a few words on it."""


def command(
    shell: Annotated[str, Argument(help="bash, zsh or fish.", names="bash|zsh|fish")],
) -> None:
    """Print the script that lets a shell complete commands, options and names.

    bash: crowdrank completion bash > ~/.local/share/bash-completion/completions/crowdrank

    zsh: crowdrank completion zsh > _crowdrank in a folder of $fpath

    fish: crowdrank completion fish > ~/.config/fish/completions/crowdrank.fish
    """
    if shell not in SCRIPTS:
        raise UsageError(
            f"There is no completion for {shell!r}.", hint=name_hint(shell, SCRIPTS, "The shells are")
        )
    print(SCRIPTS[shell], end="")


def print_completions(shell: str) -> int:
    """Print what may follow the words in ``COMP_WORDS`` (one per line) or ``COMP_LINE``; return the exit code."""
    from click.shell_completion import ShellComplete, split_arg_string

    from crowdrank.cli.app import app

    if "COMP_LINE" in os.environ:
        line = os.environ["COMP_LINE"]
        words = split_arg_string(line) + ([""] if line[-1:].isspace() else [])
    else:
        words = os.environ.get("COMP_WORDS", "").split("\n")
    *before, last = words[1:] or [""]
    for item in ShellComplete(app, {}, "crowdrank", "").get_completions(before, last):
        if item.type == "plain":
            word = _as_typed(item.value, last, shell)
            print(f"{word}\t{item.help}" if item.help else word)
    return 0


def _as_typed(value: str, last: str, shell: str) -> str:
    """A completion of the last word, as this shell expects it.

    For `--model=NAME` the value is the name alone. For bash, what stands before an = or a : is another word.
    """
    whole = value if not last.startswith("-") or "=" not in last else f"{last.partition('=')[0]}={value}"
    cut = max(last.rfind("="), last.rfind(":")) + 1 if shell == "bash" else 0
    return whole[cut:]
