"""What several files of this folder share."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from troth.gate import device


@pytest.fixture
def stays(monkeypatch):
    """Fails where the input goes to the host: that is for refusals."""

    def fail(*_):
        pytest.fail("the host was asked")

    monkeypatch.setattr(device, "host", SimpleNamespace(from_matrix=fail, from_edges=fail))
