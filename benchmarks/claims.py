"""The documents' claims beside what was measured, as a page: from the claims.json that ``troth bench`` leaves.

    python benchmarks/claims.py benchmarks/experiments docs/claims.md

Run it again whenever the results have grown.
"""

from __future__ import annotations

import json
import sys
from itertools import groupby
from pathlib import Path

from troth.bench import experiments

HEAD = """# The documents' claims, and ours

Every claim of the documents that an experiment of `troth bench` can test, what was measured, and whether it held. This
page is written by `python benchmarks/claims.py` from the results in `benchmarks/experiments/`; the report there,
`index.html`, has the figures. "differs" means that the two cannot be compared, "not tested" that the machine cannot run
it. The graphs are those of the catalogue, not the documents' own.
"""


def page(claims: list[dict]) -> str:
    """The page as Markdown."""
    parts = [HEAD]
    for name, found in groupby(claims, key=lambda claim: claim["experiment"]):
        module = experiments.load(name)
        parts.append(f"\n## {module.TITLE}\n\n`{name}`: {module.SOURCE}.\n")
        for machine, some in groupby(found, key=lambda claim: (claim["machine"], claim["size"])):
            parts.append(f"\n{machine[0]}, size {machine[1]}:\n\n| the document | here | |\n|---|---|---|\n")
            parts += [f"| {claim['document']} | {claim['measured']} | {claim['verdict']} |\n" for claim in some]
    return "".join(parts)


if __name__ == "__main__":
    folder, output = map(Path, sys.argv[1:])
    output.write_text(page(json.loads((folder / "claims.json").read_text())), encoding="utf-8")
