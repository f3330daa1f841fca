"""The report: one HTML page that needs nothing else, and the figures beside it as PNG and SVG.

An experiment's ``present`` fills a ``Page`` for each machine and size; ``write`` sets all of them. Figures are inline
SVG whose colours are CSS variables, so that they follow the page into the dark; tables scroll within themselves; the
page is as wide as the window, from a phone's 360 pixels up, and needs no script and no network.
"""

from __future__ import annotations

import html
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import engines, experiments, figures, file_marks
from bench.catalogue import SIZES
from bench.store import Store
from bench.verdicts import RULE, VERDICTS
from troth.errors import TrothError
from troth.io.atomic import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "troth: the experiments"
SHORT = 12  # rows; a longer table starts folded
LONG = 40  # letters; a longer text is broken into lines


@dataclass
class Page:
    """What one experiment shows of one machine at one size; ``present(records, page)`` fills it.

    Without a folder figures are not drawn: findings, claims and tables are all that is wanted.
    """

    experiment: str
    machine: dict[str, Any]
    size: str
    folder: Path | None
    stem: str
    figures: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    claims: list[dict[str, str]] = field(default_factory=list)
    fault: str | None = None
    crowded: list[str] = field(default_factory=list)
    _shown: list[str] = field(default_factory=list)
    _tables: list[str] = field(default_factory=list)
    _texts: list[str] = field(default_factory=list)

    def figure(self, figure: Figure, name: str, caption: str) -> None:
        """Save a figure as PNG and SVG, close it, and show it with a caption that says what is drawn."""
        stem = self.stem if name == self.experiment else f"{self.stem}-{name}"
        plt = figures.pyplot()
        if self.folder is None:
            plt.close(figure)
            return
        figures.tidy(figure)
        self.crowded += [f"{stem}: {problem}" for problem in figures.crowded(figure)]
        figure.set_layout_engine("none")  # it is laid out: what follows need not do it again
        buffer = io.StringIO()
        with plt.rc_context({"svg.hashsalt": stem}):
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
            with atomic_path(self.folder / "figures" / f"{stem}.svg") as beside:
                beside.write_text(buffer.getvalue(), encoding="utf-8")
            with atomic_path(self.folder / "figures" / f"{stem}.png") as beside:
                figure.savefig(beside, format="png", dpi=160)
        plt.close(figure)
        self.figures.append(stem)
        self._shown.append(
            f'<figure id="figure-{stem}">{_inline(buffer.getvalue(), stem, caption)}'
            f"<figcaption>{html.escape(caption)}</figcaption></figure>"
        )

    def table(self, rows: Sequence[dict[str, Any]], caption: str, opened: bool | None = None) -> None:
        """A table with the keys of the first row as columns, after the findings; long ones start folded."""
        if not rows:
            return
        self._texts.append(f"{caption}\n\n{_text_table(rows)}")
        state = " open" if (len(rows) <= SHORT if opened is None else opened) else ""
        count = f"{len(rows)} row{'s' * (len(rows) != 1)}"
        self._tables.append(
            f"<details{state}><summary>{html.escape(caption)} ({count})</summary>{_table(rows)}</details>"
        )

    def finding(self, sentence: str) -> None:
        """A sentence that the numbers say."""
        self.findings.append(sentence)

    def claim(self, paper: str, ours: str, verdict: str, why: str = "") -> None:
        """What the paper says, what was measured here, a verdict of ``VERDICTS``, and why it is "not held"."""
        if verdict not in VERDICTS:
            raise TrothError(f"{verdict!r} is not a verdict: choose {', '.join(VERDICTS)}")
        if why and verdict == "not held":
            ours = f"{ours}; {why}"
        self.claims.append({"paper": paper, "measured": ours, "verdict": verdict})

    def note(self, text: str) -> None:
        """A remark on the figures, smaller than a finding."""
        self._shown.append(f'<p class="note">{html.escape(text)}</p>')

    def text(self) -> str:
        """Findings and tables, as Markdown."""
        head = f"# {self.experiment}: {self.machine['name']}; size {self.size}"
        return "\n\n".join([head, *self.findings, *self._texts]) + "\n"

    def html(self) -> str:
        """Figures, then what they show, then the paper, then the numbers."""
        parts = list(self._shown)
        if self.findings:
            parts += ["<h3>What it shows</h3>", *(f"<p>{html.escape(each)}</p>" for each in self.findings)]
        if self.claims:
            parts += ["<h3>How that differs from the paper</h3>", *map(_claim, self.claims)]
        return "\n".join(parts + self._tables)


def write(store: Store, folder: Path) -> list[Page]:
    """Draw all that is stored, and write ``index.html`` and ``claims.json`` into the folder."""
    if not store.tasks:
        raise TrothError(f"{folder}: no results there yet; run python -m bench --output {folder}")
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    pages = _pages(store, folder)
    _forget_old(folder, {name for page in pages for name in page.figures})
    with atomic_path(folder / "claims.json") as beside:
        beside.write_text(json.dumps(_claims(pages), indent=1) + "\n", encoding="utf-8")
    with atomic_path(folder / "index.html") as beside:
        beside.write_text(_document(pages, store), encoding="utf-8")
    return pages


def claims(store: Store) -> list[dict[str, str]]:
    """What the papers say beside what is stored, without drawing anything."""
    return _claims(_pages(store, None))


def _claims(pages: list[Page]) -> list[dict[str, str]]:
    return [
        {"experiment": page.experiment, "machine": page.machine["name"], "size": page.size, **claim}
        for page in pages
        for claim in page.claims
    ]


def _forget_old(folder: Path, drawn: set[str]) -> None:
    """Remove figures that the earlier report lists and this one does not have; no others, which may be the user's."""
    earlier = folder / "index.html"
    page = earlier.read_text(encoding="utf-8", errors="replace") if earlier.exists() else ""
    for stem in set(re.findall(r'<figure id="figure-([a-z0-9-]+)">', page)) - drawn:
        for suffix in (".png", ".svg"):
            (folder / "figures" / f"{stem}{suffix}").unlink(missing_ok=True)


def _pages(store: Store, folder: Path | None) -> list[Page]:
    """A page for each experiment, machine and size that has results."""
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for task in store.tasks.values():
        groups.setdefault((task["experiment"], task["machine"], SIZES.index(task["size"])), []).append(task)
    machines = _machines(store)
    names = experiments.names()
    plural = len({key[1:] for key in groups}) > 1
    pages = []
    wanted = [(name, *key[1:]) for name in names for key in sorted(groups) if key[0] == experiments.records_of(name)]
    for name, machine, size in wanted:
        records, others = _latest(groups[experiments.records_of(name), machine, size])
        stem = f"{name}-{slug(machine)}-{SIZES[size]}" if plural else name
        page = Page(name, machines[machine], SIZES[size], folder, stem)
        _present(name, records, page)
        if others:
            page.note(f"Not shown: {others} earlier measurements, or with another seed or other threads.")
        pages.append(page)
    return pages


def _latest(records: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """Those that were measured with the seed and threads of the latest run, and how many others there are.

    Of what was measured twice, be it with other repeats or of two files of one name, the later one counts.
    """
    records = sorted(records, key=lambda record: record["run"])  # which begins with the time
    shown = [record for record in records if all(record[name] == records[-1][name] for name in ("seed", "threads"))]
    latest = list({record["key"]: record for record in shown}.values())
    return latest, len(records) - len(latest)


def _present(name: str, records: list[dict[str, Any]], page: Page) -> None:
    """Fill a page; a fault in drawing one must not cost the others."""
    plt = figures.pyplot()
    good = [record for record in records if "error" not in record]
    try:
        with plt.rc_context(figures.STYLE):
            if good:
                experiments.load(name).present(good, page)
    except Exception as error:
        page.fault = f"{type(error).__name__}: {error}"
        page.note(f"This part could not be drawn ({page.fault}).")
        plt.close("all")
    bad = [record for record in records if "error" in record]
    rows = [{"graph": each["graph"], "engine": each["engine"], "reason": each["error"]} for each in bad]
    page.table(rows, "Could not be measured")
    commits = sorted({record.get("commit") or "unknown" for record in records})
    runs = sorted({len(record["seconds"]) for record in good} - {0})
    each = f", each of {' to '.join(map(str, dict.fromkeys([runs[0], runs[-1]])))} runs" if runs else ""
    page._tables.append(
        f'<p class="note">{len(records)} measurements{each}; seed {records[0]["seed"]}; commit '
        f"{html.escape(' or '.join(commits))}.</p>"
    )


def _machines(store: Store) -> dict[str, dict[str, Any]]:
    """The facts of every machine by its name, with all versions, and with what its runs left out and none measured."""
    found: dict[str, dict[str, Any]] = {}
    for run in store.runs.values():
        facts = found.setdefault(run["machine"]["name"], {"left_out": {}})
        versions = facts.get("versions", {}) | run["machine"].get("versions", {})
        facts |= {name: value for name, value in run["machine"].items() if value or name not in facts}
        facts["versions"] = versions
        facts["left_out"] |= run.get("left_out", {})
    for task in store.tasks.values():
        facts = found.setdefault(task["machine"], {"name": task["machine"], "left_out": {}})  # of a torn file
        facts["left_out"].pop(task["engine"], None)
    return found


# ---- the parts of the page ----


def _document(pages: list[Page], store: Store) -> str:
    css = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    machines = _machines(store)
    sections: dict[str, list[Page]] = {}
    for page in pages:
        sections.setdefault(page.experiment, []).append(page)
    parts = [f"<h1>{TITLE}</h1>", f'<p class="lead">{_lead(pages, machines)}</p>', f'<p class="note">{RULE}</p>']
    parts.append("<nav><ol>")
    for name, found in sections.items():
        verdicts = Counter(claim["verdict"] for page in found for claim in page.claims)
        chips = "".join(f' <span class="verdict">{verdicts[each]} {each}</span>' for each in VERDICTS if verdicts[each])
        parts.append(f'<li><a href="#{name}">{html.escape(experiments.load(name).TITLE)}</a>{chips}</li>')
    parts.append("</ol></nav>")
    parts += [_machine(facts) for facts in machines.values()]
    parts += [_section(name, found) for name, found in sections.items()]
    parts.append(
        "<footer>Figures are also in the folder figures, as PNG and SVG; the raw results, with every run, in the "
        ".jsonl file; the comparison with the papers in claims.json.</footer>"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{TITLE}</title>\n<style>\n{css}</style></head>\n<body><main>\n"
        + "\n".join(parts)
        + "\n</main></body></html>\n"
    )


def _lead(pages: list[Page], machines: dict[str, Any]) -> str:
    claims = Counter(claim["verdict"] for page in pages for claim in page.claims)
    tested = ", ".join(f"{claims[verdict]} {verdict}" for verdict in VERDICTS if claims[verdict])
    where = f"{len(machines)} machine{'s' * (len(machines) != 1)}"
    compared = f" Of {claims.total()} comparisons with the papers: {tested}." if claims else ""
    return f"Heavy matchings, measured on {where}: what was asked, how it was measured, what came out.{compared}"


def _section(name: str, pages: list[Page]) -> str:
    module = experiments.load(name)
    parts = [
        f'<section>\n<h2 id="{name}">{html.escape(module.TITLE)}</h2>',
        f'<p class="source">{name}: {html.escape(module.SOURCE)}</p>',
        f"<h3>What was asked</h3><p>{html.escape(module.QUESTION)}</p>",
        f"<h3>How it was measured</h3><p>{html.escape(module.METHOD)}</p>",
    ]
    for page in pages:
        parts += [f"<h4>{html.escape(page.machine['name'])}; size {page.size}</h4>", page.html()]
    return "\n".join([*parts, "</section>"])


def _claim(claim: dict[str, str]) -> str:
    return (
        f'<div class="claim {slug(claim["verdict"])}"><p>The paper: {html.escape(claim["paper"])}.</p>'
        f'<p>Here: {html.escape(claim["measured"])}. <span class="verdict">{claim["verdict"]}</span></p></div>'
    )


def _machine(facts: dict[str, Any]) -> str:
    gpu = facts.get("gpu")
    rows = {
        "machine": facts["name"],
        "memory": f"{facts['memory'] / 2**30:.0f} GiB" if facts.get("memory") else None,
        "GPU": f"{gpu['name']}, {gpu['memory'] / 2**30:.0f} GiB" if gpu else "none",
        "system": facts.get("system"),
        "versions": ", ".join(f"{name} {number}" for name, number in facts.get("versions", {}).items()),
        "left out": "; ".join(engines.grouped(facts["left_out"])),
    }
    cells = (f"<dt>{name}</dt><dd>{html.escape(value)}</dd>" for name, value in rows.items() if value)
    return f'<dl class="machine">{"".join(cells)}</dl>'


def _table(rows: Sequence[dict[str, Any]]) -> str:
    """Numbers to the right, long texts in lines."""
    numeric = {name: any(_is_number(row.get(name)) for row in rows) for name in rows[0]}

    def cell(tag: str, name: str, value: Any) -> str:
        kind = "number" if numeric[name] else "long" if tag == "td" and len(show(value)) > LONG else ""
        return f"<{tag}{f' class={kind}' if kind else ''}>{html.escape(show(value))}</{tag}>"

    head = "".join(cell("th", name, name) for name in rows[0])
    body = "\n".join(f"<tr>{''.join(cell('td', name, row.get(name)) for name in rows[0])}</tr>" for row in rows)
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table></div>'


def _text_table(rows: Sequence[dict[str, Any]]) -> str:
    """A table in Markdown.

    >>> print(_text_table([{"graph": "grid", "edges": 12345}]))
    | graph | edges |
    |---|---|
    | grid | 12,345 |
    """
    names = list(rows[0])
    lines = [[show(row.get(name)) for name in names] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" if line else f"|{'---|' * len(names)}" for line in [names, [], *lines])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def show(value: Any) -> str:
    """A value for a table.

    >>> show(1234567), show(0.00012345), show(None), show(12.3456), show(True)
    ('1,234,567', '0.000123', '', '12.3', 'yes')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _inline(svg: str, stem: str, caption: str) -> str:
    """SVG for a page: no prologue, no fixed size, colours by CSS variable, ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    head, rest = svg.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    others = {"grid": figures.GRID, "paper": figures.PAPER, "file": file_marks.COLOUR}
    for name, colour in (figures.COLOURS | others).items():
        rest = rest.replace(colour, f"var(--{name})")
    rest = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{stem}-", rest)
    return f'{head} role="img" aria-label="{html.escape(caption)}">{rest}'


def slug(text: str) -> str:
    """Letters, digits and dashes.

    >>> slug("AMD EPYC(tm), 2 cores")
    'amd-epyc-tm-2-cores'
    """
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
