"""Where to write words in a figure so that none lies on another, on a disc, or, where there is a choice, on a line.

All is counted in pixels. A word is a rectangle; the places that it may take are tried in the order of preference, and
the one that covers least is taken. What was placed is in the way of those that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

COVERED = 1000.0  # the price of a pixel of another word or of a disc; that of a point of a line is about 1
LATER = 1e-3  # the price of a place that is less preferred
NEAR, STEPS = 2.0, 7  # pixels between a word and its disc, and steps of half a word's height that it may go away
TURNS = 16  # directions from a disc
EVERY = 3.0  # pixels between two points of a line


class Paper:
    """What is drawn: rectangles (x0, y0, x1, y1), and points of lines, each with the price of covering it."""

    def __init__(
        self, frame: np.ndarray, discs: np.ndarray, radius: float, lines: Sequence[np.ndarray], prices: Sequence[float]
    ) -> None:
        self.frame = frame
        self.taken = np.hstack([discs - radius, discs + radius])
        dots = [_dots(line) for line in lines]
        self.dots = np.vstack([np.empty((0, 2)), *dots])
        self.prices = np.repeat(np.asarray(prices, float), [len(found) for found in dots])

    def write(self, middles: np.ndarray, size: np.ndarray) -> int:
        """Put a word of that size where it covers least; returns which of the ``middles`` it took."""
        boxes = np.hstack([middles - size / 2, middles + size / 2])
        low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
        near = ((self.taken[:, :2] < high) & (self.taken[:, 2:] > low)).all(axis=1)
        here = ((self.dots < high) & (self.dots > low)).all(axis=1)
        each, taken, dots = boxes[:, None], self.taken[near], self.dots[here]
        sides = np.minimum(each[..., 2:], taken[:, 2:]) - np.maximum(each[..., :2], taken[:, :2])
        outside = np.maximum(self.frame[:2] - boxes[:, :2], 0) + np.maximum(boxes[:, 2:] - self.frame[2:], 0)
        covered = sides.clip(0).prod(axis=2).sum(axis=1) + outside.sum(axis=1)
        hit = ((dots > each[..., :2]) & (dots < each[..., 2:])).all(axis=2)
        price = COVERED * covered + hit @ self.prices[here] + LATER * np.arange(len(boxes))
        best = int(price.argmin())
        self.taken = np.vstack([self.taken, boxes[best]])
        return best


def _dots(line: np.ndarray) -> np.ndarray:
    """Points every few pixels of a line of straight pieces."""
    parts = []
    for start, end in pairwise(line):
        shares = np.linspace(0, 1, 2 + int(np.linalg.norm(end - start) / EVERY))[:, None]
        parts.append(start + shares * (end - start))
    return np.vstack(parts)


def around(disc: np.ndarray, radius: float, size: np.ndarray) -> np.ndarray:
    """Middles of a word beside a disc, the nearest first and above before below."""
    turn = np.pi / 2 + 2 * np.pi / TURNS * np.array([(k + 1) // 2 * (-1) ** k for k in range(TURNS)])
    towards = np.column_stack([np.cos(turn), np.sin(turn)])
    # The word touches, from outside, a square about the disc that grows with every step.
    reach = [size / 2 + radius + NEAR + k * size[1] / 2 for k in range(STEPS)]
    return disc + np.vstack([towards * (far / np.abs(towards).clip(1e-9)).min(axis=1, keepdims=True) for far in reach])


def along(line: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Middles of a word on a line of straight pieces, from its middle outwards, and then on either side of it."""
    shares = np.array([0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74])
    at = np.linspace(0, 1, len(line))
    on = np.column_stack([np.interp(shares, at, line[:, k]) for k in (0, 1)])
    across = (line[-1] - line[0])[::-1] * [-1, 1]
    across = across / max(float(np.linalg.norm(across)), 1e-9)
    aside = across * (np.abs(across) @ size / 2 + 2 * NEAR)
    return np.vstack([on, on + aside, on - aside, on + 2 * aside, on - 2 * aside])


def measure(ax: Any, words: list[str], size: float) -> np.ndarray:
    """Width and height in pixels of each word in letters of that size."""
    probe = ax.text(0, 0, "", fontsize=size, parse_math=False)
    found = np.empty((len(words), 2))
    for k, word in enumerate(words):
        probe.set_text(word)
        box = probe.get_window_extent()
        found[k] = box.width, box.height
    probe.remove()
    return found
