"""What docs/ecosystem.md and the examples of the neighbours say, run as a reader would run it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "ecosystem.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
NEEDS = {
    "NetworkX": "networkx",
    "PyTorch Geometric": "torch_geometric",
    "PyAMG": "pyamg",
    "METIS": "pymetis",
    "Tables": "polars",
}


@pytest.mark.parametrize("section", SECTIONS)
def test_blocks_of_a_section_run(section):
    if section in NEEDS:
        pytest.importorskip(NEEDS[section], reason=f"{NEEDS[section]} is not installed")
    blocks = re.findall(r"^```python\n(.*?)^```", SECTIONS[section], re.MULTILINE | re.DOTALL)
    names: dict = {}
    for number, code in enumerate(blocks):
        exec(compile(code, f"docs/ecosystem.md, {section}, block {number}", "exec"), names)
    assert blocks


def test_every_neighbour_has_a_section():
    assert set(SECTIONS) == {"NetworkX", "PyTorch Geometric", "PyAMG", "SciPy", "METIS", "Tables"}
    for example in re.findall(r"examples/\w+\.py", PAGE):
        assert (ROOT / example).exists()


def run(example: str, *arguments: str) -> list[list[str]]:
    """The printed lines of an example, in words; examples/pool_gnn.py runs in test_pyg.py."""
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    strict = "-W", "error", "-W", "ignore:FigureCanvasAgg"  # which shows nothing, and says so
    command = [sys.executable, *strict, str(ROOT / "examples" / example), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | {"MPLBACKEND": "agg"})
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_amg_poisson():
    pytest.importorskip("pyamg", reason="pyamg is not installed")
    rows = run("amg_poisson.py", "60")[1:]
    iterations = [int(row[-2]) for row in rows]
    assert [row[2] for row in rows] == ["PyAMG", "troth"] * 2
    assert iterations[1] <= 1.1 * iterations[0]
    assert iterations[3] <= 1.1 * iterations[2]
    assert all(float(row[-1]) < 1e-7 for row in rows)


def test_heavy_diagonal():
    *rows, _, _, matched, completed = run("heavy_diagonal.py")
    exchanged, residual = zip(*((int(row[-3]), float(row[-1])) for row in rows[2:]), strict=True)
    assert exchanged[1] < exchanged[0] / 10
    assert exchanged[3] == 0
    assert max(residual[:2]) < 1e-12
    assert residual[3] < 1e-12 < residual[2]
    share, proven = (float(matched[i]) for i in (3, 8))
    assert 0.99 < proven <= share <= 1
    found, best = (float(completed[i].strip("2^;")) for i in (-5, -1))
    assert 0.95 * best < found <= best


def test_coappearances():
    pytest.importorskip("networkx", reason="networkx is not installed")
    *rows, last = run("coappearances.py")
    ours, optimum = int(last[0]), int(last[-1].rstrip("."))
    assert sum(int(row[-1]) for row in rows) == ours
    assert optimum / 2 <= ours <= optimum


def test_pair_rows():
    pytest.importorskip("pandas", reason="pandas is not installed")
    lines = run("pair_rows.py")
    age = next(words for words in lines if words[:2] == ["age", "(years)"])
    before, after = (abs(float(word)) for word in age[2:])
    assert after < 0.1 < 1 < before
    difference = next(words for words in lines if words[:1] == ["difference"])
    plain, paired = (float(word) for word in difference if re.fullmatch(r"[+-]\d+\.\d", word))
    assert plain > 0
    assert abs(paired + 8) < 1  # mmHg
    few, some, many = (float(words[-7]) for words in lines if words[:1] and words[0].startswith("k="))
    assert few < some < many
