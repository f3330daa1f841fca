"""The report: one HTML page that needs nothing else, and the figures beside it as PNG and SVG.

An experiment's ``present`` fills a ``Page``; ``write`` sets all of them. Figures are inline SVG whose colours are CSS
variables; tables scroll within themselves; the page is as wide as the window, from a phone's 360 pixels up.
"""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from troth.bench import experiments, figures
from troth.bench.catalogue import SIZES
from troth.bench.store import Store
from troth.errors import TrothError
from troth.io.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

VERDICTS = ("held", "exceeded", "not held", "differs", "not tested")


@dataclass
class Page:
    """What one experiment shows of one machine; ``present(records, page)`` fills it."""

    experiment: str
    machine: dict[str, Any]
    size: str
    folder: Path
    stem: str
    parts: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    claims: list[dict[str, str]] = field(default_factory=list)

    def figure(self, figure: Figure, name: str, caption: str) -> None:
        """Save a figure as PNG and SVG, close it, and show it with a caption that says what is drawn."""
        stem = f"{self.stem}-{name}"
        plt = figures.pyplot()
        with plt.rc_context(figures.STYLE | {"svg.hashsalt": stem}):
            buffer = io.StringIO()
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
            with atomic_path(self.folder / "figures" / f"{stem}.svg") as beside:
                beside.write_text(buffer.getvalue(), encoding="utf-8")
            with atomic_path(self.folder / "figures" / f"{stem}.png") as beside:
                figure.savefig(beside, format="png", dpi=160, facecolor="white")
        plt.close(figure)
        self.figures.append(stem)
        self.parts.append(
            f'<figure id="{stem}">{_inline(buffer.getvalue(), stem, caption)}'
            f"<figcaption>{html.escape(caption)}</figcaption></figure>"
        )

    def table(self, rows: Sequence[dict[str, Any]], caption: str, opened: bool = False) -> None:
        """A table with the keys of the first row as columns; it scrolls within itself, and long ones start folded."""
        if rows:
            state = " open" if opened or len(rows) <= 12 else ""
            self.parts.append(
                f"<details{state}><summary>{html.escape(caption)} ({len(rows)} rows)</summary>{_table(rows)}</details>"
            )

    def finding(self, sentence: str) -> None:
        """A sentence that the numbers say."""
        self.findings.append(sentence)

    def claim(self, document: str, ours: str, verdict: str) -> None:
        """What the document says, what was measured here, and a verdict of ``VERDICTS``."""
        if verdict not in VERDICTS:
            raise TrothError(f"{verdict!r} is not a verdict: choose {', '.join(VERDICTS)}")
        self.claims.append({"document": document, "measured": ours, "verdict": verdict})

    def note(self, text: str) -> None:
        """A remark, smaller than a finding."""
        self.parts.append(f'<p class="note">{html.escape(text)}</p>')


def _inline(svg: str, stem: str, caption: str) -> str:
    """SVG for a page: no prologue, no fixed size, colours by CSS variable, ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    for name, colour in (figures.COLOURS | {"grid": figures.GRID}).items():
        svg = svg.replace(colour, f"var(--{name})")
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{stem}-", svg)
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(caption)}"', 1)


def show(value: Any) -> str:
    """A value for a table.

    >>> show(1234567), show(0.00012345), show(None), show(12.3456)
    ('1,234,567', '0.000123', '', '12.3')
    """
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


def _table(rows: Sequence[dict[str, Any]]) -> str:
    head = "".join(f"<th>{html.escape(str(name))}</th>" for name in rows[0])
    body = []
    for row in rows:
        cells = []
        for name in rows[0]:
            value = row.get(name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            cells.append(f"<td{' class=number' if number else ''}>{html.escape(show(value))}</td>")
        body.append(f"<tr>{''.join(cells)}</tr>")
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'


def slug(text: str) -> str:
    """Letters, digits and dashes.

    >>> slug("AMD EPYC(tm), 2 cores")
    'amd-epyc-tm-2-cores'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def write(store: Store, folder: Path, names: list[str] | None = None) -> Path:
    """Draw all figures of what is stored, and write ``index.html`` and ``claims.json``; returns the page's path."""
    if not store.tasks:
        raise TrothError(f"{folder}: no results there yet; run troth bench --output {folder}")
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    machines = {run["machine"]["name"]: run["machine"] for run in store.runs.values()}
    groups = sorted({(task["machine"], task["size"]) for task in store.tasks.values()},
                    key=lambda group: (group[0], SIZES.index(group[1])))  # fmt: skip
    pages: dict[str, list[Page]] = {}
    for name in names or experiments.names():
        for number, (machine, size) in enumerate(groups):
            records = [
                task
                for task in store.tasks.values()
                if (task["experiment"], task["machine"], task["size"]) == (name, machine, size)
            ]
            if not records:
                continue
            stem = name if len(groups) == 1 else f"{name}-{number + 1}"
            page = Page(name, machines.get(machine, {"name": machine}), size, folder, stem)
            good = [record for record in records if "error" not in record]
            if good:
                experiments.load(name).present(good, page)
            bad = [{"graph": r["graph"], "engine": r["engine"], "reason": r["error"]} for r in records if "error" in r]
            page.table(bad, "Not measured")
            pages.setdefault(name, []).append(page)
    claims = [
        {"experiment": page.experiment, "machine": page.machine["name"], "size": page.size, **claim}
        for found in pages.values() for page in found for claim in page.claims
    ]  # fmt: skip
    with atomic_path(folder / "claims.json") as beside:
        beside.write_text(json.dumps(claims, indent=1) + "\n", encoding="utf-8")
    target = folder / "index.html"
    with atomic_path(target) as beside:
        beside.write_text(_document(pages, store, machines), encoding="utf-8")
    return target


CSS = """
:root { --paper: #fff; --ink: #1b1f24; --faint: #59636e; --line: #d5d9de; --grid: #d5d9de; --card: #f6f8fa;
  --blue: #0072b2; --vermillion: #d55e00; --green: #009e73; --purple: #cc79a7; --orange: #e69f00; --sky: #56b4e9; }
@media (prefers-color-scheme: dark) { :root { --paper: #15181c; --ink: #e4e8ec; --faint: #9aa4ae; --line: #363c43;
  --grid: #363c43; --card: #1d2126; --blue: #58aee6; --vermillion: #f08a45; --green: #35c79c; --purple: #dd9dc2;
  --orange: #f0b740; --sky: #8fd0f5; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1.2rem; max-width: 46rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { margin-top: 3rem; padding-top: 1.5rem;
  border-top: 1px solid var(--line); }
h2 small { display: block; font-size: .85rem; font-weight: normal; color: var(--faint); }
h3 { margin-top: 2rem; font-size: 1.05rem; }
a { color: var(--blue); }
figure { margin: 1.5rem 0; } figure svg { display: block; width: 100%; height: auto; }
figcaption, .note { color: var(--faint); font-size: .9rem; }
dl.machine { background: var(--card); padding: .8rem 1rem; border-radius: .4rem; display: grid;
  grid-template-columns: max-content 1fr; gap: .2rem 1rem; font-size: .9rem; } dl.machine dd { margin: 0; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .85rem; overflow-wrap: normal; }
th, td { text-align: left; padding: .25rem .7rem .25rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
summary { cursor: pointer; color: var(--faint); font-size: .9rem; margin: .6rem 0; }
.claim { border-left: 4px solid var(--line); padding: .1rem 0 .1rem .9rem; margin: 1rem 0; }
.claim b { text-transform: capitalize; }
.held, .exceeded { border-color: var(--green); } .not-held { border-color: var(--vermillion); }
.differs, .not-tested { border-color: var(--sky); }
"""


def _document(pages: dict[str, list[Page]], store: Store, machines: dict[str, dict]) -> str:
    parts = ["<h1>troth: the experiments</h1>", "<nav><ol>"]
    parts += [f'<li><a href="#{name}">{html.escape(experiments.load(name).TITLE)}</a></li>' for name in pages]
    parts.append("</ol></nav>")
    for facts in machines.values():
        parts.append(_machine(facts))
    for name, found in pages.items():
        module = experiments.load(name)
        parts.append(
            f'<section><h2 id="{name}">{html.escape(module.TITLE)}'
            f"<small>{name}: {html.escape(module.SOURCE)}</small></h2>"
        )
        parts.append(f"<h3>What was asked</h3><p>{html.escape(module.QUESTION)}</p>")
        parts.append(f"<h3>How it was measured</h3><p>{html.escape(module.METHOD)}</p>")
        for page in found:
            parts.append(f"<h3>{html.escape(page.machine['name'])}, size {page.size}</h3>")
            parts += page.parts
            if page.findings:
                parts.append(
                    "<h3>What it shows</h3>" + "".join(f"<p>{html.escape(each)}</p>" for each in page.findings)
                )
            if page.claims:
                parts.append("<h3>How that differs from the document</h3>")
                parts += [_claim(claim) for claim in page.claims]
        parts.append("</section>")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>troth: the experiments</title><style>{CSS}</style></head><body><main>"
        + "\n".join(parts)
        + "</main></body></html>\n"
    )


def _claim(claim: dict[str, str]) -> str:
    return (
        f'<div class="claim {slug(claim["verdict"])}"><p>The document: {html.escape(claim["document"])}.</p>'
        f"<p>Here: {html.escape(claim['measured'])}. <b>{claim['verdict']}</b>.</p></div>"
    )


def _machine(facts: dict[str, Any]) -> str:
    rows = {
        "machine": facts["name"],
        "memory": f"{facts['memory'] / 2**30:.0f} GiB" if "memory" in facts else None,
        "GPU": f"{facts['gpu']['name']}, {facts['gpu']['memory'] / 2**30:.0f} GiB" if facts.get("gpu") else "none",
        "system": facts.get("system"),
        "versions": ", ".join(f"{name} {number}" for name, number in facts.get("versions", {}).items()),
        "commit": facts.get("commit"),
    }
    cells = (f"<dt>{name}</dt><dd>{html.escape(str(value))}</dd>" for name, value in rows.items() if value)
    return f'<dl class="machine">{"".join(cells)}</dl>'
