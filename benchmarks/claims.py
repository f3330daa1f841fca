"""The documents' claims beside what was measured, as a page: from the claims.json that ``troth bench`` leaves.

    python benchmarks/claims.py benchmarks/experiments docs/claims.md

Run it again whenever the results have grown.
"""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path
from textwrap import fill

from troth.bench import experiments
from troth.bench.verdicts import RULE

HEAD = f"""# The documents' claims, and ours

Every claim of the documents that an experiment of `troth bench` can test, what was measured, and whether it held. This
page is written by `python benchmarks/claims.py` from the results in `benchmarks/experiments/`; the report there,
`index.html`, has the figures. "differs" means that the two cannot be compared, "not tested" that no machine here could
run it. The graphs are those of the catalogue, not the documents' own. All is of size full.

{fill(RULE, 120)}
"""


def page(claims: list[dict]) -> str:
    """The page as Markdown: a table an experiment, the machines of a claim below one another."""
    parts = [HEAD]
    for name, found in groupby(claims, key=lambda claim: claim["experiment"]):
        module = experiments.load(name)
        parts.append(f"\n## {module.TITLE}\n\n`{name}`: {module.SOURCE}.\n\n")
        parts.append("| the document | machine | here | |\n|---|---|---|---|\n")
        by_document: dict[str, list[dict]] = {}
        for claim in found:
            by_document.setdefault(claim["document"], []).append(claim)
        for document, some in by_document.items():
            tested = [claim for claim in some if claim["verdict"] != "not tested"] or some[:1]
            for at, claim in enumerate(tested):
                cells = "" if at else document, short(claim["machine"]), claim["measured"], claim["verdict"]
                parts.append(f"| {' | '.join(cells)} |\n")
    return "".join(parts)


def short(machine: str) -> str:
    """What tells a machine from the others: the GPU where there is one.

    >>> short("AMD EPYC, 2 cores"), short("Intel(R) Xeon(R) Processor, 16 cores, NVIDIA H200")
    ('AMD EPYC, 2 cores', 'NVIDIA H200, 16 cores')
    """
    processor, cores, *gpu = machine.split(", ")
    return f"{gpu[0] if gpu else processor}, {cores}"


if __name__ == "__main__":
    folder, output = map(Path, sys.argv[1:])
    output.write_text(page(json.loads((folder / "claims.json").read_text())), encoding="utf-8")
