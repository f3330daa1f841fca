"""What the auction by messages asks of a rank's rows, on its CPU; ``part_auction.py`` has the same on a card."""

from __future__ import annotations

import numpy as np

from troth.cpu.prices import Bidding
from troth.kernels.team import CALLER, run_team
from troth.ranks.augment import find_arms
from troth.ranks.prices import Scans, look
from troth.ranks.rows import Part


class HostScans(Scans):
    """Looks at the rows of own vertices, by the threads of a rank."""

    def __init__(self, bidding: Bidding, part: Part, threads: int) -> None:
        self.bidding, self.part, self.team = bidding, part, CALLER if threads == 1 else threads

    def find_bids(self, words: np.ndarray, bidders: np.ndarray, items: np.ndarray, bids: np.ndarray) -> tuple[int, int]:
        found = run_team(look, len(bidders), self.team, self.bidding, self.part, words, bidders, items, bids)
        unmet, read = np.sum(found, axis=0).tolist()
        return unmet, read

    def change_words(self, vertices: np.ndarray, words: np.ndarray) -> None:
        """Nothing: the words are where they are read."""

    def find_arms(self, held: np.ndarray, looks: np.ndarray, profit: np.ndarray, entries: np.ndarray) -> None:
        run_team(find_arms, len(looks), self.team, self.part, self.bidding, held, looks, profit, entries)
