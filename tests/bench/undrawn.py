"""A page that takes figures and does not save them: for tests of what the numbers say."""

from __future__ import annotations

from pathlib import Path

from bench import figures
from bench.report import Page


class Undrawn(Page):
    """Findings, claims and tables as they are; of figures the names."""

    def __init__(self, experiment: str, cores: int = 16) -> None:
        super().__init__(experiment, {"name": "a machine", "cores": cores}, "full", Path(), experiment)

    def figure(self, figure, name, caption):
        figures.pyplot().close(figure)
        self.figures.append(name)

    def verdicts(self, words: str) -> list[str]:
        """Of the claims that say this."""
        return [claim["verdict"] for claim in self.claims if words in claim["paper"]]
