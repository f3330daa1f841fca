"""What is written tells the truth: its code runs, its commands work, the files it names are there.

Every fenced block of README, the other documents and docs/ is accounted for by its language: ``python`` runs in
one namespace a document, as a reader would, and prints what a comment at the ``print``, or ``text`` below, says; a
figure runs alone; the commands of ``console`` run one after another in one folder; every line of ``sh`` is of a kind
that no test can run, and ``UNRUN`` says why.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sysconfig
import tomllib
from itertools import pairwise
from os import environ, pathsep
from pathlib import Path
from textwrap import dedent
from typing import NamedTuple

import pytest

import troth
from bench.__main__ import main as bench
from troth.cli import main
from troth.engines import ALGORITHMS
from troth.families import FAMILIES, RULES
from troth.interop.networkx_info import get_info

ROOT = Path(__file__).resolve().parent.parent
TOP = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
SITE = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md") if "_build" not in path.parts)
DOCUMENTS = TOP + SITE

# Lines of `sh` blocks that no test runs: how they start, and why.
UNRUN = {
    "#": "a comment, or what Slurm reads",
    "pip install": "would change the environment; the extras that are named are compared with pyproject.toml",
    "make": "would run these tests inside of themselves; the targets are compared with the Makefile",
    "srun": "needs Slurm",
    "module load": "needs a cluster's own modules",
    "compute-sanitizer": "needs a GPU",
    "troth match rmat:scale=20 --device cuda": "needs a GPU",
    "troth match graph.csr --device cuda": "needs a GPU",
    "mpiexec -n 4 troth match graph.csr --device mpi+cuda": "needs a GPU; tests/mpi/test_cards.py runs it",
    "pytest -m gpu": "needs a GPU",
    "troth match input.mtx -a handshake --ties low --gpu-threads": "needs a GPU",
    "python -m bench": "takes minutes to hours; tests/bench/ runs every experiment on tiny graphs",
    "zcat": "pipes are a shell's; tests/io/test_standard_input.py reads what comes by one",
    "NETWORKX_TEST_BACKEND": "NetworkX's own tests; tests/interop/test_networkx_backend.py runs them",
}
MADE = {"figures/", "claims.json"}  # named in documents as what `python -m bench` makes
ELSEWHERE = {"docs/ecosystem.md"}  # its python blocks: section by section, by tests/interop/test_ecosystem.py
WITH_THE_JOBS = {"docs/cluster.md"}  # its commands: by tests/mpi/test_mpi.py, which also looks at the mates
EXPLAINED = {"docs/files.md", "docs/cluster.md"}  # comments there say what the print is for
PAGES = {"{toctree}", "{include}", "{play}", "{help}", "{program-output}", "{eval-rst}"}  # by Sphinx, in `make docs`

BLOCK = re.compile(r"^```(\{?[\w-]*\}?)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = re.compile(r"^\.\. plot::\n((?:   .*\n|\n)+)", re.MULTILINE)
PRINTED = re.compile(r"^ *print\(.*\)  # (.+)$", re.MULTILINE)
FILE = re.compile(r"[\w./-]+(?:\.(?:py|md|toml|cff|json)|/)")


class Block(NamedTuple):
    language: str
    code: str


def text(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str, *languages: str) -> list[Block]:
    """The blocks in some languages, by default all; the figures of a page are ``figure``."""
    found = []
    for language, code in BLOCK.findall(text(document)):
        figures = [dedent(body) for body in FIGURE.findall(code)]
        found += [Block("figure", re.sub(r"^:.*\n", "", body, flags=re.MULTILINE)) for body in figures]
        found.append(Block(language, code))
    return [block for block in found if not languages or block.language in languages]


def having(*languages: str) -> list[str]:
    return [name for name in DOCUMENTS if blocks(name, *languages)]


def test_every_block_is_of_a_known_kind():
    kinds = {block.language for name in DOCUMENTS for block in blocks(name)}
    assert kinds == {"", "python", "text", "figure", "console", "sh"} | PAGES
    assert all(not blocks(name, "") or name == "ARCHITECTURE.md" for name in DOCUMENTS)  # it has a diagram


@pytest.mark.parametrize("document", [name for name in having("python", "figure") if name not in ELSEWHERE])
def test_python_runs(document, tmp_path, monkeypatch, capsys):
    if any("draw" in block.code for block in blocks(document, "python", "figure")):
        pytest.importorskip("matplotlib", reason="matplotlib is not installed").use("agg")
    if document == "docs/cluster.md":
        pytest.importorskip("mpi4py", reason="mpi4py is not installed")
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "document"}
    for number, (block, below) in enumerate(pairwise([*blocks(document), Block("", "")])):
        if block.language not in ("python", "figure"):
            continue
        place = tmp_path / f"{Path(document).stem}-{number}.py"  # Numba caches kernels beside their file
        place.write_text(block.code, encoding="utf-8")
        exec(compile(block.code, str(place), "exec"), names if block.language == "python" else {"__name__": "figure"})
        shown = PRINTED.findall(block.code) + (below.code.splitlines() if below.language == "text" else [])
        printed = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        assert printed == shown or document in EXPLAINED
    if any(block.language == "figure" for block in blocks(document)):
        from matplotlib import pyplot

        assert pyplot.get_fignums()
        pyplot.close("all")


@pytest.mark.parametrize("document", [name for name in having("console") if name not in WITH_THE_JOBS])
def test_commands_run(document, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", pathsep.join([sysconfig.get_path("scripts"), environ["PATH"]]))
    lines = "".join(block.code for block in blocks(document, "console")).splitlines()
    if any("mpiexec" in line or "--ranks" in line for line in lines) and not shutil.which("mpiexec"):
        pytest.skip("mpiexec is not installed")
    for line in lines:
        prompt, program, *arguments = shlex.split(line)
        assert prompt == "$"
        if program == "troth" or [program, *arguments[:2]] == ["python", "-m", "bench"]:
            code = main(arguments) if program == "troth" else bench(arguments[2:])
            assert code == 0, f"{line}: {capfd.readouterr().err}"
        else:
            done = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{line}: {done.stderr}"


@pytest.mark.parametrize("document", having("sh"))
def test_what_does_not_run_is_listed(document):
    lines = [line for block in blocks(document, "sh") for line in block.code.splitlines() if line]
    assert [line for line in lines if not line.startswith(tuple(UNRUN))] == []


def test_the_list_has_nothing_that_is_not_there():
    lines = [line for name in DOCUMENTS for block in blocks(name, "sh") for line in block.code.splitlines()]
    assert [start for start in UNRUN if not any(line.startswith(start) for line in lines)] == []


def test_named_extras_exist():
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    named = ",".join(words for name in DOCUMENTS for words in re.findall(r"(?:troth|\"\.)\[([\w,]+)\]", text(name)))
    assert set(named.split(",")) <= set(extras)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_files_exist(document):
    words = re.findall(r"`([^`\s]+)`", BLOCK.sub("", text(document)))
    named = [word for word in words if FILE.fullmatch(word) and "NAME" not in word and not word.startswith(".")]
    named = set(named) - MADE
    missing = [name for name in named if not (ROOT / name).exists() and not (ROOT / "src/troth" / name).exists()]
    links = re.findall(r"\]\((?!https?:)([^)#]+)", BLOCK.sub("", text(document)))
    missing += [link for link in links if not (ROOT / document).parent.joinpath(link).exists()]
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_named_targets_exist(document):
    targets = re.findall(r"^([\w-]+):", text("Makefile"), re.MULTILINE)
    named = re.findall(r"(?:`|^)make ([\w-]+)", text(document), re.MULTILINE)
    assert set(named) <= set(targets)


def test_one_version_everywhere():
    assert re.search(r"^version: (.+)$", text("CITATION.cff"), re.MULTILINE)[1] == troth.__version__
    assert re.search(r"^## ([\d.]+)", text("CHANGELOG.md"), re.MULTILINE)[1] == troth.__version__


@pytest.mark.parametrize("document", ["README.md", "docs/algorithms/index.md"])
def test_every_algorithm_has_its_row(document):
    rows = [line.split("|")[1] for line in text(document).splitlines() if line.startswith(("| `", "| [`"))]
    assert set(re.findall(r"`([a-z-]+)`", "".join(rows))) >= set(ALGORITHMS)


def test_every_family_has_its_row():
    page = text("docs/families.md")
    for name, family in FAMILIES.items():
        words = ((p, p.name if p.default is None else f"{p.name}={p.default}") for p in family.params)
        assert f"| `{name}` | {family.help} | {', '.join(f'`{word}` ({p.help})' for p, word in words)} |\n" in page
        assert f'"{name}:' in page  # and its picture
    for name, rule in RULES.items():
        assert f"| `{name}` | {rule.help} | {rule.dtype} |\n" in page


def test_the_api_has_every_public_name():
    listed = set(re.findall(r"^   ([\w.]+)$", text("docs/api.md"), re.MULTILINE))
    public = set(troth.__all__) - {"__version__"} | {f"networkx.{name}" for name in get_info()["functions"]}
    assert public <= listed


def test_every_algorithm_plays_on_its_page():
    played = {name for page in SITE for name in re.findall(r"^```\{play\} ([\w-]+)$", text(page), re.MULTILINE)}
    assert played == set(ALGORITHMS) - {"local-random"}  # shown as local-weighted, which differs in one word


def test_every_page_of_the_site_is_in_a_table_of_contents():
    found = set()
    for page in SITE:
        folder = Path(page).parent
        for block in blocks(page, "{toctree}"):
            found |= {(folder / line).as_posix() + ".md" for line in block.code.splitlines() if line and line[0] != ":"}
    assert set(SITE) - found == {"docs/index.md"}


def test_every_example_has_a_title_for_the_gallery():
    for path in (ROOT / "examples").glob("*.py"):
        title, line = re.match(r'"""\n(.+)\n(=+)\n\n', path.read_text(encoding="utf-8")).groups()
        assert len(title) == len(line)
