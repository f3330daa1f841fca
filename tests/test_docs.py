"""The documents tell the truth: their code runs, their commands work, the files they name are there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import troth
from troth.cli import main

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/cluster.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"[\w./-]+(?:\.(?:py|md|toml|cff)|/)")


def text(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str, language: str) -> list[str]:
    return [code for name, code in BLOCK.findall(text(document)) if name == language]


@pytest.mark.parametrize("document", [name for name in DOCUMENTS if blocks(name, "python")])
def test_python_blocks_run(document, tmp_path, monkeypatch):
    """In one namespace, one after another, as a reader would."""
    if document == "docs/cluster.md":
        pytest.importorskip("mpi4py")  # its commands run in tests/mpi
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for number, code in enumerate(blocks(document, "python")):
        exec(compile(code, f"{document}, python block {number}", "exec"), names)


def test_readme_has_python_and_commands():
    assert blocks("README.md", "python")
    assert blocks("README.md", "console")


def test_commands_of_the_readme_run(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    for line in "".join(blocks("README.md", "console")).splitlines():
        prompt, program, *arguments = shlex.split(line)
        assert (prompt, program) == ("$", "troth")
        assert main(arguments) == 0, capfd.readouterr().err


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_files_exist(document):
    words = re.findall(r"`([^`\s]+)`", BLOCK.sub("", text(document)))
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text(document))
    named = [word for word in words if FILE.fullmatch(word) and "NAME" not in word and not word.startswith(".")] + links
    places = (ROOT, (ROOT / document).parent, ROOT / "src/troth")
    missing = [name for name in named if not any((place / name).exists() for place in places)]
    assert not missing


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_targets_exist(document):
    targets = re.findall(r"^([\w-]+):", text("Makefile"), re.MULTILINE)
    named = re.findall(r"(?:`|^)make ([\w-]+)", text(document), re.MULTILINE)
    assert set(named) <= set(targets)


def test_one_version_everywhere():
    assert re.search(r"^version: (.+)$", text("CITATION.cff"), re.MULTILINE)[1] == troth.__version__
    assert re.search(r"^## ([\d.]+)", text("CHANGELOG.md"), re.MULTILINE)[1] == troth.__version__


def test_engines_of_the_readme_are_those_of_the_table():
    from troth.engines import ALGORITHMS

    rows = [line.split("|")[1] for line in text("README.md").splitlines() if line.startswith("| `")]
    assert set(re.findall(r"`([a-z-]+)`", "".join(rows))) >= set(ALGORITHMS)
