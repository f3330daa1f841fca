"""``{play}``: a page that plays an algorithm, made by ``troth.viz.steps`` when the site is built, in a frame.

The option ``:at:`` opens it where a caption has these words; that no caption has them is a warning, so pages cannot
speak of what is not to be seen.
"""

from __future__ import annotations

import json
import re
from html import escape
from pathlib import Path

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from troth.viz import steps

FOLDER = "steps"
FRAME = '<div class="steps"><iframe src="{0}" title="{1}, step by step" loading="lazy"></iframe></div>'


class Play(SphinxDirective):
    """``{play} ALGORITHM`` on the graph ``:graph:``; what follows is the caption."""

    required_arguments = 1
    has_content = True
    option_spec = {  # noqa: RUF012
        "graph": directives.unchanged_required,
        "at": directives.unchanged_required,
        "ties": directives.unchanged_required,
        "options": directives.unchanged_required,
        "ranks": directives.positive_int,
    }

    def run(self) -> list[nodes.Node]:
        algorithm, graph = self.arguments[0], self.options["graph"]
        given = dict(word.split("=") for word in self.options.get("options", "").split())
        words = {name: self.options[name] for name in ("ties", "ranks") if name in self.options}
        page = steps(graph, algorithm=algorithm, name=graph, **words, **given)
        folder = Path(self.env.app.outdir) / FOLDER
        folder.mkdir(exist_ok=True)
        (folder / f"{algorithm}.html").write_text(page, encoding="utf-8")
        link = "../" * self.env.docname.count("/") + f"{FOLDER}/{algorithm}.html"
        frame = f"{link}#{self._frame(page)}"
        command = " ".join(
            ["troth show", graph, "--algorithm", algorithm]
            + [f"--{name} {value}" for name, value in words.items()]
            + [f"-O {name}={value}" for name, value in given.items()]
            + ["-o steps.html"]
        )
        made = nodes.paragraph("", "Made by ", nodes.literal("", command), nodes.Text(". "))
        made += nodes.reference("", "A page of its own.", refuri=link)
        caption = nodes.container(classes=["steps-caption"])
        caption += [*self.parse_content_to_nodes(), made]
        return [nodes.raw("", FRAME.format(escape(frame), escape(algorithm)), format="html"), caption]

    def _frame(self, page: str) -> int:
        """The number, from 1, of the frame that ``:at:`` means."""
        if "at" not in self.options:
            return 1
        frames = json.loads(re.search(r'id="story">(.*?)</script>', page, re.DOTALL)[1])["frames"]
        found = (number for number, frame in enumerate(frames, 1) if self.options["at"] in frame["caption"])
        number = next(found, None)
        if number is None:
            raise self.error(f"no frame of {self.arguments[0]} says {self.options['at']!r}")
        return number


def setup(app: Sphinx) -> dict:
    app.add_directive("play", Play)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
