"""A model of the four PGAS variants: ranks as generators, run under any interleaving of their shared accesses.

Reference: Thorsen and Merkey 2010, Algorithms 3 to 6 (sync-poll, async-poll, sync-notify, async-notify), which as printed
lose matches or hang. What follows is what the engines in ``src/troth/mpi`` must do; the model below runs the same steps.

Shared words
------------
- ``word[v]``, written by ``owner(v)`` alone: (mate, matched) **in one word**, so that nobody reads the mate of one moment
  with the flag of another. It only moves forward: free with better to worse mates, then matched, and never again.
- a queue for each rank: ``slot[0 .. capacity-1]``, all -1 at first; ``count``, the slots reserved; ``done``. The reader
  keeps ``front`` for itself.
- A write is seen by others at some time up to the writer's next *flush*, and two writes to different places in any order.
  Each "flush" below is needed: the tests take them away one by one and see a failure. Reads and atomic operations return
  a value, hence are complete. Gets of many words are one after the other in any order, never a snapshot.

What a rank knows
-----------------
A rank has its own words, and for every ghost v ``known[v]``, the word as last read (free, no mate, at first). Old news is
safe: *matched* is for ever; and once ``mate_v = u`` was read, it stays true until u itself is matched elsewhere, since v
leaves u for no other reason.

    gone(v, u):   known[v] is matched and its mate is not u          (a) v matched with u stays u's candidate
    h(u):         u's heaviest neighbour v with not gone(v, u), or null; by what is known, without reading
    finished(u):  u is matched, or h(u) = null (all its neighbours are matched elsewhere, for ever)

All variants begin with: word[u] <- (heaviest neighbour, free) for u in myV; flush; barrier. All end with a flush; those
without a barrier in the loop need one after it, before the windows go, for others still read the words of ranks that
have left. A vertex without neighbours is finished at once. Ranks may own nothing.

sync-poll
---------
Needs (c) only: mates are not written while they are compared, nor flags while candidates are dropped.

    repeat
        read word[mate_u] of all u in myV with remote mates                              (in bulk)
        for u in myV:
            v <- mate_u
            if v = null: remove u from myV
            else if mate_v = u: word[u] <- (v, matched); remove u from myV               (a local v likewise)
        flush; barrier
        read the words of all remote candidates that may be needed                       (in bulk)
        for u in myV: mate_u <- h(u), word[u] <- (mate_u, free) where that changed
        flush; total <- sum over all ranks of |myV|                                      (c) not a shared S
    until total = 0

async-poll
----------
No barrier, no collective. Needs (a) and the one word. What a poll missed, the next one sees: no re-read is needed.

    while myV is not empty:
        read word[mate_u] of all u in myV with remote mates                              (in bulk)
        for u in myV:
            if gone(mate_u, u): mate_u <- h(u); word[u] <- (mate_u, free)
            v <- mate_u
            if v = null: remove u from myV
            else if mate_v = u: word[u] <- (v, matched); remove u from myV               (a local v likewise)
        flush                                                        (else no other rank need ever see the writes)

settle: the inner loop of both notifying variants
-------------------------------------------------
u sleeps when its remote mate v is free and has another mate. Two things may end that: v is matched elsewhere, or v
chooses u. In both cases v's owner writes word[v], *then* reads word[u]; and u's owner wrote word[u], *then* read word[v].
At least one of the two reads sees the other's write: u's (u does not sleep) or v's (which posts a notice about u). So
the order write, flush, read is the whole argument, for one vertex or for a batch of any size.

    settle(work):
        while work is not empty:
            take a batch of u out of work, without the finished ones
            for u in batch:
                v <- h(u); word[u] <- (v, free) where that changed
                if v = null: u is finished
                else if v is local: if mate_v = u: u and v are newly matched
                else: u asks
            flush
            read word[mate_u] of all u that ask                                          (in bulk)  (b)
            for u that asks, v <- mate_u:
                if gone(v, u): put u back into work                                      (b)
                else if mate_v = u: u is newly matched; if v is not yet matched: notify owner(v) about v
                else: u sleeps
            update(newly matched)

    update(newly matched):
        word[u] <- (mate_u, matched) for all of them; flush
        read the words of all their remote neighbours x that are not known to be matched (in bulk)
        for u, for its neighbours x other than mate_u, free and with mate_x = u:
            if x is local: put x into work
            else: notify owner(x) about x

A notice is the number of a vertex to look at again: it may come late, twice or for nothing. "Look again" must read the
mate's word afresh although the choice has not changed: the step that asks does. u posts about one neighbour x once at
most (u is matched once: with x, or elsewhere), so a queue of two notices per crossing edge never overflows; smaller ones
must work as well. Notices may be gathered in batches; they are posted before the rank waits, or leaves, at the latest.

sync-notify
-----------
    work <- myV
    repeat
        settle(work)
        for each owner with notices prepared:
            first <- fetch-and-add(count[owner], number of notices)
            write those that fit into slot[first ..] below capacity; the others stay prepared for the next round
        flush; barrier
        work <- the slots [0, min(count, capacity)); write -1 there; count <- 0; flush
        total <- sum over all ranks of |work| + notices still prepared                   (c) also the second barrier
    until total = 0

async-notify
------------
    work <- myV
    repeat
        settle(work), where notices are posted by post()
        drain()
    until all vertices of this rank are finished; then done <- true; flush

    drain():                                         (the owner's end of its queue; also called while it waits in post)
        reserved <- count
        while front < min(reserved, capacity) and slot[front] != -1:
            put the vertex in slot[front] into work, slot[front] <- -1, front <- front + 1
        if front = reserved > 0:                                     (d) all that was reserved has been read
            flush                                                    (else a late -1 wipes out a new notice)
            if compare-and-swap(count, reserved, 0) succeeds: front <- 0

    post(owner, notices):
        loop
            first <- fetch-and-add(count[owner], number of notices)
            write those that fit into slot[first ..] below capacity; flush               (never wait with these unwritten)
            if all fitted: return
            fetch-and-add(count[owner], -(number that did not fit)); keep those
            while count[owner] >= capacity:          (read it: asking again by fetch-and-add would keep it above front)
                if done[owner]: return               (all its vertices are finished: nobody needs the notice)
                drain()                              (else two ranks with full queues wait for each other)

While some rank has asked for too much, count > capacity >= front, so no reset can come between an add and its take-back.
The reset cannot lose a slot that is reserved but unwritten: the reader stops there, hence front < count.
"""
