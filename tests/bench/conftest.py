"""One tiny run of all experiments, which the tests of the report look at."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from bench import experiments, report, runner
from bench.setting import Setting
from bench.store import Store


class Run(NamedTuple):
    """What ``python -m bench --size tiny`` leaves: its folder, what it did, and the pages of its report."""

    folder: Path
    outcome: runner.Outcome
    pages: list[report.Page]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    for item in items:
        if "tiny" in getattr(item, "fixturenames", ()):  # the run takes minutes
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def graphs(tmp_path_factory):
    """A folder for cached graphs."""
    return tmp_path_factory.mktemp("graphs")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory, graphs):
    folder = tmp_path_factory.mktemp("bench")
    with Store(folder) as store:
        outcome = runner.run(experiments.names(), Setting(size="tiny", repeats=2, cache=graphs), store)
        return Run(folder, outcome, report.write(store, folder))
