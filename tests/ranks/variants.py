"""The four PGAS variants, as generators that yield every shared access and receive its value: see ``model.py``."""

from __future__ import annotations

from collections.abc import Callable

from model import ADD, BARRIER, FLUSH, READ, SUM, SWAP, WRITE, Rank, Steps


class Variants(Rank):
    """A rank that can run any variant: each is a method of that name."""

    # ---- the polling variants ----

    def match(self, u: int) -> Steps:
        """Match u if its mate wants it, or finish it if it has none."""
        v = self.mate(u)
        if v is None:
            self.finished.add(u)
        elif self.mate(v) == u:
            for x, y in ((u, v), (v, u)):
                if self.is_mine(x) and x not in self.finished:
                    yield from self.write(x, y, True)
                    self.finished.add(x)

    def active(self) -> list[int]:
        return [u for u in self.mine if u not in self.finished]

    def mates(self) -> set[int]:
        return {self.mate(u) for u in self.active()} - {None}

    def sync_poll(self) -> Steps:
        self.looks = ("mate",)
        yield from self.begin()
        total = 1
        while total:
            if not self.keeps("count"):
                yield (WRITE, "S", 0)
                yield (FLUSH,)
            self.looks = ("mate",)
            yield from self.read(self.mates())
            for u in self.active():
                yield from self.match(u)
            yield from self.flush("flush round")
            yield (BARRIER,)
            self.looks = ("matched",)
            yield from self.read(self.mates())
            for u in self.active():
                yield from self.choose(u)
            yield from self.flush("flush round")
            if self.keeps("count"):
                total = yield (SUM, len(self.active()))
            else:
                yield (ADD, "S", len(self.active()))
                yield (BARRIER,)
                total = yield (READ, "S")

    def async_poll(self) -> Steps:
        yield from self.begin()
        while self.active():
            yield from self.read(self.mates())
            for u in self.active():
                yield from self.choose(u)
                yield from self.match(u)
            yield from self.flush("flush poll")

    # ---- the notifying variants ----

    def wake(self, u: int) -> None:
        if u not in self.work:
            self.work.append(u)

    def notify(self, v: int) -> None:
        self.notices.setdefault(self.case.owner[v], []).append(v)

    def settle(self, post: Callable[[int], Steps] | None = None) -> Steps:
        while self.work:
            batch = [self.work.pop(self.random.randrange(len(self.work))) for _ in self.work[: self.case.batch]]
            asking, wed = [], []
            for u in batch:
                if u in self.finished:
                    continue
                yield from self.choose(u)
                v = self.mate(u)
                if v is None:
                    self.finished.add(u)
                elif not self.is_mine(v):
                    asking.append(u)
                elif self.mate(v) == u:
                    wed += [u, v]
                    self.finished |= {u, v}
                    self.known[u], self.known[v] = (v, True), (u, True)
            yield from self.flush("flush choice")
            yield from self.read({self.mate(u) for u in asking})
            for u in asking:
                v = self.mate(u)
                if self.gone(v, u) and self.keeps("reread"):
                    self.wake(u)
                elif self.mate(v) == u:
                    wed.append(u)
                    self.finished.add(u)
                    if not self.known[v][1]:
                        self.notify(v)
            yield from self.update(wed)
            for owner in [owner for owner, notices in self.notices.items() if len(notices) >= self.case.gather]:
                if post:
                    yield from post(owner)

    def update(self, wed: list[int]) -> Steps:
        for u in wed:
            yield from self.write(u, self.mate(u), True)
        yield from self.flush("flush match")
        yield from self.read({x for u in wed for x in self.case.liked[u] if not self.known[x][1]})
        for u in wed:
            for x in self.case.liked[u]:
                if self.known[x] == (u, False) and x != self.mate(u):
                    if self.is_mine(x):
                        self.wake(x)
                    else:
                        self.notify(x)

    def fill(self, owner: int) -> Steps:
        """Write what fits of the notices to one owner, keep the others; returns how many those are."""
        notices, capacity = self.notices.pop(owner), self.case.capacity
        first = yield (ADD, ("count", owner), len(notices))
        fit = max(0, min(capacity - first, len(notices)))
        for place, v in enumerate(notices[:fit], first):
            yield (WRITE, ("slot", owner, place), v)
        if notices[fit:]:
            self.notices[owner] = notices[fit:]
        return len(notices) - fit

    def sync_notify(self) -> Steps:
        me = self.me
        yield from self.begin()
        self.work = self.shuffled(self.mine)
        total = 1
        while total:
            if not self.keeps("count"):
                yield (WRITE, "S", 0)
                yield (FLUSH,)
            yield from self.settle()
            for owner in list(self.notices):
                yield from self.fill(owner)
            yield from self.flush("flush round")
            yield (BARRIER,)
            count = yield (READ, ("count", me))
            for place in range(min(count, self.case.capacity)):
                v = yield (READ, ("slot", me, place))
                if v != -1:
                    self.wake(v)
            yield (WRITE, ("count", me), 0)
            yield from self.flush("flush round")
            left = len(self.work) + sum(map(len, self.notices.values()))
            if self.keeps("count"):
                total = yield (SUM, left)
            else:
                yield (BARRIER,)
                yield (ADD, "S", left)
                total = yield (READ, "S")

    def async_notify(self) -> Steps:
        yield from self.begin()
        self.work = self.shuffled(self.mine)
        while True:
            yield from self.settle(self.post)
            for owner in list(self.notices):
                yield from self.post(owner)
            if not self.active():
                break
            yield from self.drain()
        yield (WRITE, ("done", self.me), True)
        yield from self.flush("flush done")

    def drain(self) -> Steps:
        me = self.me
        reserved = yield (READ, ("count", me))
        while self.front < min(reserved, self.case.capacity):
            v = yield (READ, ("slot", me, self.front))
            if v == -1:
                break
            self.wake(v)
            yield (WRITE, ("slot", me, self.front), -1)
            self.front += 1
        if reserved and (self.front == reserved or not self.keeps("reset")):
            yield from self.flush("flush reset")
            before = yield (SWAP, ("count", me), reserved, 0)
            if before == reserved:
                self.front = 0

    def post(self, owner: int) -> Steps:
        while owner in self.notices:
            over = yield from self.fill(owner)
            yield from self.flush("flush slots")
            if not over:
                return
            if self.keeps("take back"):
                yield (ADD, ("count", owner), -over)
            while (yield (READ, ("count", owner))) >= self.case.capacity:
                if self.keeps("skip") and (yield (READ, ("done", owner))):
                    del self.notices[owner]
                    return
                if self.keeps("drain"):
                    yield from self.drain()
