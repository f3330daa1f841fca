"""Imports look down only: what import-linter cannot see (imports by string), and that there is no cycle of modules."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import troth
from troth.engines import TABLE

ROOT = Path(troth.__file__).parent
BY_STRING = {"troth", "troth.engines"}  # the lazy names, and the table of engines


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


TREES = {module_of(path): ast.parse(path.read_text(encoding="utf-8")) for path in ROOT.rglob("*.py")}


def imported(name: str) -> set[str]:
    """The modules of troth that a module imports anywhere, in functions and for type checkers too."""
    found = set()
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "troth":
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {part if part in TREES else str(node.module) for part in inner}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in TREES}
    if name == "troth.engines":
        found |= {engine.target.partition(":")[0] for engine in TABLE}
    return found - {name}


def test_there_is_no_cycle():
    try:
        TopologicalSorter({name: imported(name) for name in TREES}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_imports_by_string_stand_in_two_places():
    found = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
    }
    assert found == BY_STRING | {"troth.neighbours.packages"}  # which imports pandas, polars or pyarrow


def test_nothing_below_imports_the_package_itself():
    """``import troth`` and its lazy names are for those who stand on top."""
    users = {name for name in TREES if "troth" in imported(name)}
    assert {name.split(".")[1] for name in users} <= {"cli", "viz", "interop"}
