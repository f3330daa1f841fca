"""Tables in the documentation say what the files in benchmarks/results say: a new result brings a new table."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]

# Document, a word of the table's head, then for each column the file, question and key behind it.
TABLES = {
    ("docs/gpu.md", "NoSync of Naim"): {
        "edges": ("gpu-h200", "goals", "m"),
        "floor": ("gpu-h200", "goals", "floor"),
        "`suitor`": ("gpu-h200", "goals", "auto"),
        "NoSync of Naim et al.": ("gpu-h200", "engines", "nosync"),
        "`locally-dominant`": ("gpu-h200", "engines", "locally-dominant"),
        "`blue-red`": ("gpu-h200", "engines", "blue-red weighted"),
    },
    ("benchmarks/README.md", "GPU-LD"): {
        "edges": ("gpu-h200", "goals", "m"),
        "floor": ("gpu-h200", "goals", "floor"),
        "default": ("gpu-h200", "goals", "auto"),
        "goal": ("gpu-h200", "goals", "goal"),
        "float64": ("gpu-h200", "types", "float64"),
        "NoSync": ("gpu-h200", "engines", "nosync"),
        "GPU-LD": ("gpu-h200", "engines", "locally-dominant"),
        "handshake": ("gpu-h200", "engines", "handshake"),
        "greedy": ("gpu-h200", "engines", "greedy"),
        "blue-red": ("gpu-h200", "engines", "blue-red weighted"),
    },
    ("README.md", "NetworKit"): {
        "edges": ("cpu-2-core-epyc", "peers", "m"),
        "NetworKit": ("cpu-2-core-epyc", "peers", "networkit run"),
        "troth": ("cpu-2-core-epyc", "peers", "troth"),
        "times faster": ("cpu-2-core-epyc", "peers", "times faster"),
        "from SciPy, times faster": ("cpu-2-core-epyc", "peers", "times faster, whole"),
    },
    ("benchmarks/README.md", "one contraction"): {
        "edges": ("coarsen-2-core-epyc", "goals", "m"),
        "levels": ("coarsen-2-core-epyc", "goals", "levels"),
        "edges of all levels": ("coarsen-2-core-epyc", "goals", "edges of all levels / m"),
        "two cores": ("coarsen-2-core-epyc", "goals", "ms"),
        "H200": ("coarsen-h200", "gpu", "ms"),
        "one contraction: SciPy / troth, two cores": ("coarsen-2-core-epyc", "peers", "times faster"),
    },
}
LARGE = {"rmat:scale=26,edgefactor=16": "R-MAT 26 x 16"}  # what `size` asks of; the other questions' graphs have names


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def results(name: str, question: str) -> dict[str, dict]:
    found = json.loads((HOME / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
    rows = [*found[question], *(found.get("size", []) if question == "goals" else [])]
    return {LARGE.get(row["graph"], row["graph"]): row for row in rows}


@pytest.mark.parametrize(("where", "columns"), TABLES.items(), ids=lambda value: "-".join(value))
def test_table(where, columns):
    document, word = where
    lines = (HOME / document).read_text(encoding="utf-8").splitlines()
    top = next(i for i, line in enumerate(lines) if line.startswith("| graph") and word in line)
    head, seen = cells(lines[top]), 0
    for line in lines[top + 2 :]:
        if not line.startswith("|"):
            break
        row = dict(zip(head, cells(line), strict=True))
        graph = row["graph"].replace(", equal weights", ", equal")
        for column, (name, question, key) in columns.items():
            text = re.match(r"[\d,.]*", row[column])[0].replace(",", "")
            if text:
                value = results(name, question)[graph][key] / (1e6 if key == "m" else 1)
                # One unit of the last digit that is printed; of 1,760 ms that is the last one but zeros.
                unit = 10.0 ** -len(text.partition(".")[2]) * (10 if text.endswith("0") and "." not in text else 1)
                assert abs(value - float(text)) <= 0.5001 * unit, (graph, column, value)
                seen += 1
    assert seen > len(columns)
