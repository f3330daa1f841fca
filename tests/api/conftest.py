"""What several files of this folder share."""

from __future__ import annotations

import pytest

from troth.cpu import coarsen as kernels


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks so small that tiny graphs have many, and teams for them."""
    monkeypatch.setattr(kernels, "SMALL", 0)
    monkeypatch.setattr(kernels, "BLOCK", 3)
    monkeypatch.setattr(kernels, "ROWS", 2)
