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
all figures. "differs" means that the two cannot be compared, "not tested" that these results do not decide it: the row
says what is missing. The graphs are generated, those of the catalogue, and real ones, from files, on the two EPYC cores
and in `runtimes`, `variants`, `balance` and `blue-red` on the H200; most are not the papers' own. All is of size full.
Equal weights are tied by a scramble of the vertex numbers, where the papers take the numbers themselves; `balance` and
`handshake` take the numbers, `ties` has all three rules. Under "NVIDIA H200, 16 cores" stands also what was measured on
the CPU of that machine.

{fill(RULE, 120)}
"""


def page(claims: list[dict[str, str]]) -> str:
    """The page as Markdown: a table an experiment, the machines of a claim below one another."""
    parts = [HEAD]
    for name, found in groupby(claims, key=lambda claim: claim["experiment"]):
        module = experiments.load(name)
        parts.append(f"\n## {module.TITLE}\n\n`{name}`: {module.SOURCE}.\n\n")
        if judged := getattr(module, "JUDGED", ""):
            parts.append(f"{fill(judged, 120)}\n\n")
        parts.append("| the paper | machine | here | |\n|---|---|---|---|\n")
        by_paper: dict[str, list[dict[str, str]]] = {}
        for claim in found:
            by_paper.setdefault(claim["paper"], []).append(claim)
        for paper, some in by_paper.items():
            for at, claim in enumerate(shown(some)):
                cells = "" if at else paper, short(claim["machine"]), claim["measured"], claim["verdict"]
                parts.append(f"| {' | '.join(cells)} |\n")
    return "".join(parts)


def shown(some: list[dict[str, str]]) -> list[dict[str, str]]:
    """Of one claim: what was tested, and what was not where there is a GPU, or, if all else is missing, on the last."""
    return [each for each in some if each["verdict"] != "not tested" or has_gpu(each["machine"])] or some[-1:]


def has_gpu(machine: str) -> bool:
    """Whether a machine's name has a GPU behind processor and cores."""
    return machine.count(", ") > 1


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
