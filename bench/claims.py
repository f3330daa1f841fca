"""What the papers say beside what was measured, as a page: docs/claims.md, from the results that are kept here.

    python -m bench.claims

Run it again whenever the results, or the experiments' words, have changed; a test compares the two.
"""

from __future__ import annotations

from itertools import groupby
from textwrap import fill

from bench import experiments, report
from bench.machine import CLONE
from bench.store import KEPT, Store
from bench.verdicts import RULE
from troth.io.atomic import atomic_path

PAGE = CLONE / "docs" / "claims.md"
HEAD = f"""# The papers' claims, and ours

Every claim of the papers that an experiment can test, what was measured, and whether it held. This page is written by
`python -m bench.claims` from the results in `bench/results/`; `make report` makes the report of the same results, with
all figures. "differs" means that the two cannot be compared, "not tested" that no machine here could run it. The graphs
are those of the catalogue, not the papers' own. All is of size full.

{fill(RULE, 120)}
"""


def page(claims: list[dict[str, str]]) -> str:
    """The page as Markdown: a table an experiment, the machines of a claim below one another."""
    parts = [HEAD]
    for name, found in groupby(claims, key=lambda claim: claim["experiment"]):
        module = experiments.load(name)
        parts.append(f"\n## {module.TITLE}\n\n`{name}`: {module.SOURCE}.\n\n")
        parts.append("| the paper | machine | here | |\n|---|---|---|---|\n")
        by_paper: dict[str, list[dict[str, str]]] = {}
        for claim in found:
            by_paper.setdefault(claim["paper"], []).append(claim)
        for paper, some in by_paper.items():
            tested = [claim for claim in some if claim["verdict"] != "not tested"] or some[:1]
            for at, claim in enumerate(tested):
                cells = "" if at else paper, short(claim["machine"]), claim["measured"], claim["verdict"]
                parts.append(f"| {' | '.join(cells)} |\n")
    return "".join(parts)


def short(machine: str) -> str:
    """What tells a machine from the others: the GPU where there is one.

    >>> short("AMD EPYC, 2 cores"), short("Intel(R) Xeon(R) Processor, 16 cores, NVIDIA H200")
    ('AMD EPYC, 2 cores', 'NVIDIA H200, 16 cores')
    """
    processor, cores, *gpu = machine.split(", ")
    return f"{gpu[0] if gpu else processor}, {cores}"


def kept() -> str:
    """The page of the results that are kept."""
    return page(report.claims(Store(KEPT)))


if __name__ == "__main__":
    with atomic_path(PAGE) as beside:
        beside.write_text(kept(), encoding="utf-8")
