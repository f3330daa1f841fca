"""Tables in the documentation say what the files in bench/results say: a new result brings a new table."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from bench import claims, experiments
from bench.store import KEPT, Store

HOME = Path(__file__).parents[1]
EPYC = "AMD EPYC, 2 cores"
H200 = "Intel(R) Xeon(R) Processor, 16 cores, NVIDIA H200"

# Document, a word of the table's head, then for each column the machine, question and key behind it.
TABLES = {
    ("docs/gpu.md", "NoSync of Naim"): {
        "edges": (H200, "gpu-goals", "m"),
        "floor": (H200, "gpu-goals", "floor"),
        "`suitor`": (H200, "gpu-goals", "auto"),
        "NoSync of Naim et al.": (H200, "gpu-engines", "nosync"),
        "`locally-dominant`": (H200, "gpu-engines", "locally-dominant"),
        "`blue-red`": (H200, "gpu-engines", "blue-red weighted"),
    },
    ("bench/README.md", "GPU-LD"): {
        "edges": (H200, "gpu-goals", "m"),
        "floor": (H200, "gpu-goals", "floor"),
        "default": (H200, "gpu-goals", "auto"),
        "goal": (H200, "gpu-goals", "goal"),
        "float64": (H200, "gpu-types", "float64"),
        "NoSync": (H200, "gpu-engines", "nosync"),
        "GPU-LD": (H200, "gpu-engines", "locally-dominant"),
        "handshake": (H200, "gpu-engines", "handshake"),
        "greedy": (H200, "gpu-engines", "greedy"),
        "blue-red": (H200, "gpu-engines", "blue-red weighted"),
    },
    ("README.md", "NetworKit"): {
        "edges": (EPYC, "cpu-peers", "m"),
        "NetworKit": (EPYC, "cpu-peers", "networkit run"),
        "troth": (EPYC, "cpu-peers", "troth"),
        "times faster": (EPYC, "cpu-peers", "times faster"),
        "from SciPy, times faster": (EPYC, "cpu-peers", "times faster, whole"),
    },
    ("bench/README.md", "one contraction"): {
        "edges": (EPYC, "coarsen-goals", "m"),
        "levels": (EPYC, "coarsen-goals", "levels"),
        "edges of all levels": (EPYC, "coarsen-goals", "edges of all levels / m"),
        "two cores": (EPYC, "coarsen-goals", "ms"),
        "H200": (H200, "coarsen-goals", "ms"),
        "one contraction: SciPy / troth, two cores": (EPYC, "coarsen-peers", "times faster"),
    },
    ("bench/README.md", "levels by strongest"): {
        "levels by strongest": (EPYC, "coarsen-goals", "levels"),
        "two cores": (EPYC, "coarsen-goals", "ms"),
    },
}


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


@cache
def kept() -> Store:
    return Store(KEPT)


def results(machine: str, question: str, by: str) -> dict[str, dict]:
    names = [question, "gpu-size"] if question == "gpu-goals" else [question]
    found = []
    for name in names:
        tasks = [task for task in kept().tasks.values() if (task["experiment"], task["machine"]) == (name, machine)]
        found += experiments.load(name).rows(tasks)
    return {row["graph"]: row for row in found if row.get("by", by) == by}


@pytest.mark.parametrize(("where", "columns"), TABLES.items(), ids=lambda value: "-".join(value))
def test_table(where, columns):
    document, word = where
    lines = (HOME / document).read_text(encoding="utf-8").splitlines()
    top = next(i for i, line in enumerate(lines) if line.startswith("| graph") and word in line)
    head, seen, by = cells(lines[top]), 0, "strongest" if "strongest" in word else "matching"
    for line in lines[top + 2 :]:
        if not line.startswith("|"):
            break
        row = dict(zip(head, cells(line), strict=True))
        graph = row["graph"].replace(", equal weights", ", equal")
        for column, (name, question, key) in columns.items():
            text = re.match(r"[\d,.]*", row[column])[0].replace(",", "")
            if text:
                value = results(name, question, by)[graph][key] / (1e6 if key == "m" else 1)
                # One unit of the last digit that is printed; of 1,760 ms that is the last one but zeros.
                unit = 10.0 ** -len(text.partition(".")[2]) * (10 if text.endswith("0") and "." not in text else 1)
                assert abs(value - float(text)) <= 0.5001 * unit, (graph, column, value)
                seen += 1
    assert seen > len(columns)


def test_page_of_claims_is_that_of_the_results():
    assert (HOME / "docs" / "claims.md").read_text(encoding="utf-8") == claims.kept()
