// Looks at rows by a lane, a team or a warp, offers, and the lists of those who wait: for suitor.cu, behind keys.cuh.

// ---- choosing ----

// Quads that a lane has on their way: sixteen entries, but eight of 64-bit weights, which take twice the registers.
template <class W>
constexpr int QUADS = sizeof(W) < 8 ? 4 : 2;

// A lane reads a short row of its own: its best key, with ASK of those in the window whose vertex would take the offer.
// Up to eight questions are asked at a time.
template <class W, bool LOSSY, bool ASK>
__device__ __forceinline__ Key<W, LOSSY> best_of_row(const Rows<W>& rows, const Order& order, i64 first, i32 count,
                                                      const Window<Key<W, LOSSY>>& window, const u64* state) {
    typedef Key<W, LOSSY> K;
    K best = {};
    for (i32 at = -(i32)(first & 3); at < count; at += 4 * QUADS<W>) {
        Quad<W, LOSSY> quad[QUADS<W>];
#pragma unroll
        for (int q = 0; q < QUADS<W>; ++q) quad[q].template read<!ASK>(rows, first, at + 4 * q, count);
#pragma unroll
        for (int q = 0; q < QUADS<W> && !ASK; ++q) {
            if (at + 4 * q < count) best = quad[q].best(order, at + 4 * q, count, best);
        }
#pragma unroll
        for (int q = 0; q < QUADS<W> && ASK; q += 2) {
            if (at + 4 * q >= count) break;
            K keys[8];
            u64 held[8];
            // Three loops, so that all questions are out before the first answer is needed.
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                keys[i] = quad[q + i / 4].key(order, i % 4, at + 4 * q + i / 4 * 4, count, best);
                if (!window.has(order, keys[i])) keys[i] = {};
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                held[i] = keys[i] > best ? glance(state + quad[q + i / 4].v[i % 4]) : LOST;
            }
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                u32 v = (u32)quad[q + i / 4].v[i % 4];
                bool takes = held[i] != LOST && would_take(rows, order, v, keys[i], window.rank, held[i]);
                if (takes && keys[i] > best) best = keys[i];
            }
        }
    }
    __syncwarp();
    return best;
}

// G lanes read a row together, and all get the best key, with ASK of those in the window whose vertex would take the
// offer. Two quads of a lane are on their way at a time; a lane asks the best of its eight, and the next if that
// refuses.
template <class W, int G, bool LOSSY, bool ASK>
__device__ __forceinline__ Key<W, LOSSY> best_of_group(const Rows<W>& rows, const Order& order, i64 first, i32 count,
                                                        const Window<Key<W, LOSSY>>& window, const u64* state) {
    typedef Key<W, LOSSY> K;
    K best = {};
    i32 before = (i32)(first & 3), most = (i32)warp_max((u32)(count ? count + before : 0));
    for (i32 at = 4 * (i32)(lane_id() % G) - before; most > 0; at += 8 * G, most -= 8 * G) {
        Quad<W, LOSSY> quad[2];
        quad[0].template read<!ASK>(rows, first, at, count);
        quad[1].template read<!ASK>(rows, first, at + 4 * G, count);
        if (!ASK) {
            best = quad[1].best(order, at + 4 * G, count, quad[0].best(order, at, count, best));
            if (most > 8 * G) continue;
        }
        // Mostly the best one takes the offer; else it is the ceiling of the next look.
        K ceiling = window.ceiling;
        for (bool fresh = window.fresh; ASK; fresh = false) {
            K found = best;
#pragma unroll
            for (int i = 0; i < 8; ++i) {
                K key = quad[i / 4].key(order, i % 4, at + i / 4 * 4 * G, count, found);
                if (key > found && (fresh || ceiling > key)) found = key;
            }
            if (found == best || !found.reaches(order, window.held)) break;
            u32 v = vertex(order, low(found.packed(order)));
            if (would_take(rows, order, v, found, window.rank, glance(state + v))) {
                best = found;
                break;
            }
            ceiling = found;
        }
        __syncwarp();
        if (G == WARP) best = best.greatest_of_warp();
#pragma unroll
        for (int step = G / 2; G < WARP && step > 0; step /= 2) {
            K other = best.shuffle_xor(step);
            if (other > best) best = other;
        }
    }
    return best;
}

// Team g of the warp reads the row of the g-th lane whose row is of middle length, until all are read; `mine` of those
// lanes gets the best key.
template <class W, bool LOSSY>
__device__ __forceinline__ void best_of_middles(const Rows<W>& rows, const Order& order, i64 first, i32 count,
                                                const Window<Key<W, LOSSY>>& window, const u64* state,
                                                Key<W, LOSSY>& mine) {
    typedef Key<W, LOSSY> K;
    constexpr int GROUPS = WARP / TEAM;
    u32 lane = lane_id(), left = __ballot_sync(FULL, count > SHORT);
    while (left) {
        u32 rest = left, own = left;
        for (int g = 0; g < GROUPS; ++g) rest &= rest - 1;
        for (u32 g = 0; g < lane / TEAM; ++g) own &= own - 1;
        int from = own ? __ffs(own) - 1 : 0;
        i64 its_first = __shfl_sync(FULL, first, from);
        i32 its_count = __shfl_sync(FULL, count, from);
        Window<K> its = window.shuffle(from);
        K best = best_of_group<W, TEAM, LOSSY, true>(rows, order, its_first, own ? its_count : 0, its, state);
        best = best.shuffle(place_in(left) % GROUPS * TEAM);
        if ((left & ~rest) >> lane & 1) mine = best;
        left = rest;
    }
}

// ---- offers ----

// v gets an offer. Returns the offer that was displaced (0: v held none), or LOST.
template <class W, bool LOSSY>
__device__ __forceinline__ u64 make_offer(const Rows<W>& rows, const Order& order, u32 v, u64 offer, u64* state) {
    if (!LOSSY) {
        u64 old = atomicMax(state + v, offer);
        return old > offer ? LOST : old;
    }
    u64 held = peek(state + v);
    while (wins(rows.indptr, rows.indices, rows.weights, order, v, offer, held)) {
        u64 seen = atomicCAS(state + v, held, offer);
        if (seen == held) return held;
        held = seen;
    }
    return LOST;
}

// u makes an offer to the neighbour of a key, if any. Returns the offer that was displaced, 0 for none, or LOST.
template <class W, class K>
__device__ __forceinline__ u64 propose(const Rows<W>& rows, const Order& order, u32 u, const K& key, u64* state) {
    u64 word = key.packed(order);
    if (!word) return 0;
    u64 offer = pack(high(word), priority(order, u));
    return make_offer<W, sizeof(K) != sizeof(u64)>(rows, order, vertex(order, low(word)), offer, state);
}

// Who has to look again after that.
template <class K>
__device__ __forceinline__ Item loser(const Order& order, u32 u, const K& key, u64 old) {
    if (!old) return {0, NOBODY, 0};
    return old == LOST ? key.refused(u) : K::displaced(order, old, low(key.packed(order)));
}

// ---- waiting ----

// Append the items of the lanes that have one to a list.
__device__ __forceinline__ void append(const Item& item, bool has, Item* list, u64* counter) {
    u32 mask = __ballot_sync(FULL, has);
    if (!mask) return;
    u64 at = 0;
    if (lane_id() == 0) at = atomicAdd(counter, (u64)__popc(mask));
    at = __shfl_sync(FULL, at, 0);
    if (has) list[at + place_in(mask)] = item;
}

// Append the items of the lanes that have one to the warp's stage.
__device__ __forceinline__ void put(const Item& item, Item* stage, u32& staged) {
    bool has = item.u != NOBODY;
    u32 mask = __ballot_sync(FULL, has);
    if (has) stage[staged + place_in(mask)] = item;
    staged += __popc(mask);
    __syncwarp();
}

// Take the last items of the stage, one a lane.
__device__ __forceinline__ Item take_staged(Item* stage, u32& staged) {
    u32 taken = min(staged, (u32)WARP);
    staged -= taken;
    Item item = {0, NOBODY, 0};
    if (lane_id() < taken) item = stage[staged + lane_id()];
    __syncwarp();
    return item;
}

// Move all items of the stage to a list.
__device__ __forceinline__ void flush(Item* stage, u32& staged, Item* list, u64* counter) {
    if (!staged) return;
    u64 at = 0;
    if (lane_id() == 0) at = atomicAdd(counter, (u64)staged);
    at = __shfl_sync(FULL, at, 0);
    for (u32 i = lane_id(); i < staged; i += WARP) list[at + i] = stage[i];
    staged = 0;
    __syncwarp();
}

// Rows that are too long for a team, of the lanes with length > LONG, go to the list of long rows, in pieces.
template <class K>
__device__ __forceinline__ void append_long(const Item& item, i64 length, const Wide<K>& wide, u64* counter) {
    u32 lane = lane_id(), mask = __ballot_sync(FULL, length > LONG);
    if (!mask) return;
    u32 parts = length > LONG ? (u32)((length + PIECE - 1) / PIECE) : 0, upto = sum_up_to_lane(parts);
    u64 word = 0;
    if (lane == WARP - 1) word = atomicAdd(counter, (u64)__popc(mask) << COUNT_SHIFT | upto);
    word = __shfl_sync(FULL, word, WARP - 1);
    u32 slot = (u32)(word >> COUNT_SHIFT) + place_in(mask);
    u32 first = (u32)(word & COUNT_MASK) + upto - parts;
    if (parts) wide.longs[slot] = {item.key, item.u, first};
    for (; mask; mask &= mask - 1) {
        int from = __ffs(mask) - 1;
        u32 count = __shfl_sync(FULL, parts, from), start = __shfl_sync(FULL, first, from);
        u32 owner = __shfl_sync(FULL, slot, from);
        for (u32 i = lane; i < count; i += WARP) wide.owners[start + i] = owner;
    }
}

// A vertex whose row is not short goes to the lists of number `turn`, by way of the warp's stage.
template <class K>
__device__ __forceinline__ void put_wide(Item item, i64 length, const Wide<K>& all, int turn, Item* stage, u32& staged,
                                         Control* control) {
    if (!__any_sync(FULL, length > SHORT)) return;
    Wide<K> wide = all.of(turn);
    append_long(item, length, wide, &control->longs[turn]);
    if (length <= SHORT || length > LONG) item.u = NOBODY;
    put(item, stage, staged);
    if (staged >= FULL_STAGE) flush(stage, staged, wide.middles, &control->middles[turn]);
}

// The warp reads piece p of a long row. Who reads the last one makes the row's offer. Returns who has to look again, to
// the first lane.
template <bool ASK, class W, class K>
__device__ __forceinline__ Item read_piece(const Rows<W>& rows, const Order& order, i64 p, const Wide<K>& wide,
                                           u64* state) {
    Item nobody = {0, NOBODY, 0};
    u32 slot = wide.owners[p];
    Item item = wide.longs[slot];
    u32 u = item.u & ~FRESH;
    i64 begin = rows.indptr[u], end = rows.indptr[u + 1], first = begin + (p - item.more) * PIECE;
    u32 parts = (u32)((end - begin + PIECE - 1) / PIECE), start = item.more, others = parts - 1;
    item.more = ~0u;
    Window<K> window = {K::ceiling(item), peek(state + u), priority(order, u), (item.u & FRESH) != 0};
    constexpr bool LOSSY = sizeof(K) != sizeof(u64);
    i32 count = (i32)min(PIECE, end - first);
    K best = best_of_group<W, WARP, LOSSY, ASK>(rows, order, first, count, window, state);
    if (lane_id() == 0) {
        wide.best[p] = best;
        __threadfence();
        others = atomicAdd(wide.done + slot, 1u);
        __threadfence();
    }
    if (__shfl_sync(FULL, others, 0) != parts - 1) return nobody;
    __syncwarp();
    for (u32 i = start + lane_id(); i < start + parts; i += WARP) {
        K piece = K::fetch(wide.best + i);
        if (piece > best) best = piece;
    }
    best = best.greatest_of_warp();
    if (lane_id() != 0) return nobody;
    wide.done[slot] = 0;
    return loser(order, u, best, propose(rows, order, u, best, state));
}
