"""``{help} troth match``: what ``troth match --help`` says, as text that wraps instead of two columns in a box.

The command writes its help into a formatter of Click's; here the formatter makes nodes of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import cleandoc
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from troth.cli.app import app


class Help(SphinxDirective):
    """``{help} PROGRAM [COMMAND]``."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        program, *words = self.arguments[0].split()
        command: Any = get_command(app)
        context = command.context_class(command, info_name=program, **command.context_settings)
        for word in words:
            command = command.get_command(context, word)
            if command is None:
                raise self.error(f"{program} has no command {word}")
            context = command.context_class(command, info_name=word, parent=context, **command.context_settings)

        class Page(context.formatter_class):
            """Click's formatter, with a page for its paper."""

            def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
                shown.append(block(f"{prog} {args}"))

            def write_heading(self, heading: str) -> None:
                shown.append(nodes.rubric("", heading))

            def write_text(self, text: str) -> None:
                for part in cleandoc(text).split("\n\n"):
                    whole = part.startswith("\b")  # lines stay lines
                    shown.append(block(part.lstrip("\b\n")) if whole else nodes.paragraph("", " ".join(part.split())))

            def write_dl(self, rows: Sequence[tuple[str, str]], *_: Any, **__: Any) -> None:
                terms = nodes.definition_list(classes=["command-help"])
                for name, meaning in rows:
                    depth = (len(name) - len(name.lstrip())) // 2
                    item = nodes.definition_list_item(classes=["inner"] if depth else [])
                    item += nodes.term("", "", nodes.literal("", name.strip()))
                    item += nodes.definition("", nodes.paragraph("", meaning))
                    terms += item
                shown.append(terms)

        shown: list[nodes.Node] = []
        command.format_help(context, Page(width=1000))  # wide, so that nothing is cut short
        return shown


def block(text: str) -> nodes.Node:
    return nodes.literal_block(text, text, language="text")


def setup(app: Sphinx) -> dict:
    app.add_directive("help", Help)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
