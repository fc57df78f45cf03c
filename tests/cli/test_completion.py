"""Completion in real shells."""

import os
import shutil
import subprocess
import sys

import pytest

CASES = {
    "crowdrank comp": {"compare", "completion"},
    "crowdrank rank --mo": {"--model"},
    "crowdrank rank votes.csv --model crowd-b": {"crowd-bt"},
    "crowdrank rank --model crowd-bt --set pri": {"prior="},
    "crowdrank rank --model bt --set pri": set(),
    "crowdrank compare --models bt,crowd-b": {"bt,crowd-bt"},
    "crowdrank train f.csv --model lambdamart --scorer trees --set lea": {"leaves=", "learning_rate="},
    "crowdrank simulate bt-c": {"bt-crowd"},
    "crowdrank simulate bt-crowd --set spa": {"spammers="},
    "crowdrank reproduce crowd-bt-table": {f"crowd-bt-table{number}" for number in range(1, 6)},
    "crowdrank evaluate a b --measures nD": {"nDCG"},
    "crowdrank models ltrma-": {"ltrma-mle", "ltrma-d"},
}
SCRIPTS = {
    "bash": 'eval "$(crowdrank completion bash)"\n'
    'try() { COMP_LINE="$1"; COMP_POINT=${#1}; _crowdrank 2>/dev/null; echo "${COMPREPLY[*]}"; }\n',
    "fish": "crowdrank completion fish | source\n"
    "function try; complete -C $argv[1] | string split -f1 \\t | string join ' '; end\n",
}


@pytest.fixture
def shell(tmp_path):
    """Run a script in a shell whose path has this version of the program."""
    program = tmp_path / "bin" / "crowdrank"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nfrom crowdrank.cli import main\nmain()\n")
    program.chmod(0o755)

    def run(name, script, *words):
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")
        path = f"{program.parent}:{os.environ['PATH']}"
        command = [name, *words, "-c", script]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "PATH": path}, check=True
        )
        return done.stdout.splitlines()

    return run


@pytest.mark.parametrize("name", SCRIPTS)
def test_names(shell, name):
    cases = {line: names for line, names in CASES.items() if names}  # where nothing fits, shells offer files
    tries = "\n".join(f"try '{line}'" for line in cases)
    found = shell(name, SCRIPTS[name] + tries, *(["--no-config"] if name == "fish" else []))
    assert [set(line.split()) for line in found] == list(cases.values())


def test_zsh_takes_the_script(shell):
    """The script defines what completes the program. Its words come from the program, as for the other shells."""
    script = 'autoload -U compinit; compinit -u -D; eval "$(crowdrank completion zsh)"; print ${_comps[crowdrank]}'
    assert shell("zsh", script, "-f") == ["_crowdrank"]


@pytest.mark.parametrize("line", CASES)
def test_words(crowdrank, line):
    for shell in ("zsh", "fish"):
        env = {"_CROWDRANK_COMPLETE": shell, "COMP_WORDS": "\n".join(line.split())}
        ran = crowdrank(env=env)
        assert {own.partition("\t")[0] for own in ran.out.splitlines()} == CASES[line]


def test_completion_loads_nothing_heavy():
    code = (
        "import sys\nfrom crowdrank.cli import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([name for name in ('numpy', 'polars', 'scipy', 'rich') if name in sys.modules])"
    )
    env = {**os.environ, "_CROWDRANK_COMPLETE": "zsh", "COMP_WORDS": "crowdrank\nrank\n--model\ncrowd-b"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "crowd-bt\n[]\n"
