"""The program itself: entry points, help, speed of start, pipes, Ctrl-C, the bar."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import troth
from troth.cli import _options, _report
from troth.engines import ALGORITHMS, TABLE
from troth.gate.entry import SYMMETRIZE, WEIGHTS

COMMANDS = ("match", "strongest", "verify", "info", "generate", "convert")
ON_LINUX = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
SRC = Path(troth.__file__).parents[1]
HEAVY = ("numpy", "scipy", "numba", "rich", "matplotlib")


def test_generate_match_verify(program):
    for arguments in (
        ["generate", "delaunay", "n=300", "seed=1", "-o", "g.graph.gz"],
        ["match", "g.graph.gz", "--certify", "-o", "mates.txt"],
        ["verify", "g.graph.gz", "mates.txt", "--algorithm", "suitor"],
    ):
        process = program(*arguments)
        out, err = process.communicate()
        assert (process.returncode, err) == (0, "")
        assert out.startswith("graph ")
    assert out.endswith("fine\n")


def test_refusal_of_the_program(program):
    process = program("match", "absent.mtx")
    assert process.communicate() == ("", "troth: absent.mtx: there is no such file\n")
    assert process.returncode == 2


@pytest.mark.parametrize("words", [[], ["sizes", "--size", "tiny", "-o", "x"], ["--help"]])
def test_bench_is_elsewhere(run, words):
    code, out, err = run("bench", *words)
    assert (code, out) == (2, "")
    assert err == "troth: experiments and benchmarks run from a clone of the repository: python -m bench\n"
    assert "bench" not in run("--help").out


def test_console_script_is_main():
    from importlib.metadata import PackageNotFoundError, entry_points, version

    try:
        version("troth")
    except PackageNotFoundError:
        pytest.skip("troth is not installed, it runs from its source")
    (script,) = entry_points(group="console_scripts", name="troth")
    assert script.load() is troth.cli.main


def test_a_closed_pipe_is_quiet(program):
    process = program("strongest", "path:n=300000")
    assert process.stdout.readline() == "1\n"
    process.stdout.close()
    assert process.stderr.read().count("\n") == 1  # the seconds
    assert process.wait() == 141


REFUSED, FINE = ("match", "absent.mtx"), ("info", "path:n=4")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a shell closes the streams")
@pytest.mark.parametrize(
    ("words", "streams", "code"),
    [
        (FINE, ">&-", 0),
        (("--help",), ">&-", 0),
        (FINE, ">&- 2>&- <&-", 0),
        (REFUSED, ">&-", 2),
        (REFUSED, "2>&-", 2),
        (REFUSED, ">&- 2>&-", 2),
        pytest.param(REFUSED, "2>/dev/full", 2, marks=ON_LINUX),
        pytest.param(FINE, ">/dev/full 2>/dev/full", 2, marks=ON_LINUX),
    ],
)
def test_closed_streams(words, streams, code, tmp_path):
    """Nothing is said that has no place, no file takes the place of a stream, and the exit code is the same."""
    command = ["sh", "-c", f'"$@" {streams}', "sh", sys.executable, "-m", "troth", *words]
    paths = os.environ | {"PYTHONPATH": str(SRC)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=paths)
    said = "troth: absent.mtx: there is no such file\n" if words == REFUSED and "2>" not in streams else ""
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


def test_an_error_that_nobody_reads(program):
    process = program(*REFUSED)
    process.stderr.close()
    assert process.wait() == 2


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
@pytest.mark.parametrize("module", ["typer", "numpy", "numba"])
def test_interrupt_in_the_midst_of_an_import(module):
    code = f"""
import signal, sys
from troth.cli import main
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            signal.raise_signal(signal.SIGINT)
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Finder())
print(main(["info", "path:n=4"]))
"""
    paths = os.environ | {"PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=paths)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "troth: interrupted\n")


@pytest.fixture
def listening():
    """Ctrl-C is heard, also where a shell started the tests in the background, deaf to it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupt(run, monkeypatch, listening):
    def read_graph(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(_options, "read_graph", read_graph)
    code, out, err = run("info", "path:n=4")
    assert (code, out) == (130, "")
    assert err.strip() == "troth: interrupted"


def test_help_and_version(run):
    alone, asked = run(), run("--help")
    assert alone == asked
    assert (alone.code, alone.err) == (0, "")
    assert all(f"  {command} " in alone.out for command in COMMANDS)
    assert run("--version").out == f"troth {troth.__version__}\n"


def test_completion(tmp_path):
    """What a shell asks when the tab key is pressed; troth installs that for bash, zsh, fish and PowerShell."""

    def complete(*words: str) -> list[str]:
        asked = {"_TROTH_COMPLETE": "complete_bash", "COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
        paths = os.environ | {"PYTHONPATH": str(SRC)} | asked
        done = subprocess.run([sys.executable, "-m", "troth"], capture_output=True, text=True, env=paths)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    assert complete("troth", "ge") == ["generate"]
    assert complete("troth", "match", "--algo") == ["--algorithm"]
    assert complete("troth", "match", "-a", "local") == ["locally-dominant", "local-random", "local-weighted"]
    named = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}  # a shell may not be there to be found
    home = os.environ | {"PYTHONPATH": str(SRC), "HOME": str(tmp_path)} | named
    words = [sys.executable, "-m", "troth", "--install-completion", "bash"]
    done = subprocess.run(words, capture_output=True, text=True, env=home)
    assert (done.returncode, done.stderr) == (0, "")
    assert "_TROTH_COMPLETE" in (tmp_path / ".bash_completions" / "troth.sh").read_text()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(run, command):
    code, out, _ = run(command, "--help")
    assert code == 0
    assert f"  troth {command} " in out
    assert "--json" in out


def test_help_of_match_lists_algorithms_and_their_options(run):
    out = run("match", "--help").out
    assert all(f"  {name} " in out for name in ALGORITHMS)
    assert all(f"-O {name}=" in out for engine in TABLE for name in engine.options)


def test_help_of_match_says_who_has_an_option(run):
    """Everywhere, or on one device only."""
    words = " ".join(run("match", "--help").out.split())
    assert "stop after so many rounds (blue-red)" in words
    assert "stop after so many rounds of bids; none: when nobody bids (auction)" in words
    assert "GPU threads of each kernel (handshake on cuda)" in words
    assert "handshake rounds of mutual strongest neighbours on cuda the six kernels of the course project" in words


def test_words_are_those_of_the_library():
    assert tuple(_options.WeightRule) == WEIGHTS
    assert tuple(_options.Merge) == SYMMETRIZE
    assert tuple(_options.Algorithm) == ALGORITHMS


@pytest.mark.parametrize(
    ("code", "allowed"),
    [
        ("import troth", ()),
        ("import troth.cli; troth.cli.main(['--help'])", ()),
        ("import troth; troth.Graph", ("numpy",)),
    ],
)
def test_start_is_light(code, allowed):
    check = f"import sys\n{code}\nprint([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == str([*allowed])


def test_no_bar_without_a_terminal(run, monkeypatch):
    monkeypatch.setattr(_report, "PATIENCE", 0.0)
    assert run("info", "path:n=100").err == ""


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="this system has no pseudo-terminals")
def test_bar_on_a_terminal(monkeypatch):
    monkeypatch.setattr(_report, "PATIENCE", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    reader, writer = os.openpty()
    with open(writer, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with _report.waiting("reading") as report:
            report("matching", 1, 4)
            seen = b""
            while b"matching" not in seen:  # read blocks until the bar is drawn
                seen += os.read(reader, 1000)
    os.close(reader)
