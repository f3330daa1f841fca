"""What several files of this folder share."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import troth
from troth.gate import device
from troth.graph import Graph


@pytest.fixture
def stays(monkeypatch):
    """Fails where the input goes to the host: that is for refusals."""

    def fail(*_):
        pytest.fail("the host was asked")

    monkeypatch.setattr(device, "host", SimpleNamespace(from_matrix=fail, from_edges=fail))


@pytest.fixture(scope="module")
def mesh() -> Graph:
    return troth.generate("grid", rows=40, cols=50, weights="integers", high=9, seed=4)
