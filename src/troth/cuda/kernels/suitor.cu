// Suitor: first the paper's loop, as it is; then troth's own kernels, whose plan is in cuda/suitor.py. Why the result
// does not depend on who comes first is said in cpu/suitor.py.
//
// state[v]: the best offer that v holds, prefix << 32 | priority of the suitor, 0 for none. Words only grow. Where
// prefixes are lossy, equal ones are settled by the exact weights (common.cuh `wins`).

#include "keys.cuh"
#include "looks.cuh"

// ---- the paper's loop ----

// Md. Naim et al., Optimizing approximate weighted matching on Nvidia Kepler K40, HiPC 2015, Algorithm 3, after
// F. Manne and M. Halappanavar, IPDPS 2014: a thread a vertex, which goes on with whomever it displaces. Their lock is
// one compare-and-swap of a word here. In: the rows, their number n, the order; in and out: state, at first 0.
template <class W>
__global__ void plain_suitor(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                             const W* __restrict__ bits, i64 n, Order order, u64* state) {
    if (thread_id() >= n) return;
    u32 u = (u32)thread_id();
    for (;;) {
        // The partner is the suitor of u, or the best neighbour that u prefers to it and that would take u's offer.
        const u32 rank = priority(order, u);
        const u64 own = peek(state + u);
        u32 partner = own ? vertex(order, low(own)) : 0, best_rank = low(own);
        W heaviest = own ? weight_at(indptr, indices, bits, u, partner) : (W)0;
        for (i64 e = indptr[u]; e < indptr[u + 1]; ++e) {
            const u32 v = (u32)indices[e], v_rank = priority(order, v);
            const W weight = bits[e];
            if (weight < heaviest || (weight == heaviest && v_rank <= best_rank)) continue;
            const u64 offer = pack(prefix(order, weight), rank);
            if (!wins(indptr, indices, bits, order, v, offer, peek(state + v))) continue;
            partner = v;
            heaviest = weight;
            best_rank = v_rank;
        }
        if (!heaviest) return;  // nobody would take u's offer, ever: words only grow

        // Make the offer, unless a better one has come in between.
        const u64 offer = pack(prefix(order, heaviest), rank);
        u64 held = peek(state + partner);
        bool made = false;
        while (!made && wins(indptr, indices, bits, order, partner, offer, held)) {
            const u64 seen = atomicCAS(state + partner, held, offer);
            made = seen == held;
            held = seen;
        }
        if (!made) continue;           // u looks again
        if (!held) return;             // the partner was free
        u = vertex(order, low(held));  // whom u displaced looks for another
    }
}

// mate[v] = the suitor of v, -1 for none: suitors are mutual now.
__global__ void mates(const u64* __restrict__ state, i64 n, Order order, i32* mate) {
    for (i64 v = thread_id(); v < n; v += thread_count()) {
        u64 held = state[v];
        mate[v] = held ? (i32)vertex(order, low(held)) : -1;
    }
}

// ---- troth's kernels ----
//
// All take, in this order: the rows (indptr, indices, bits), how many vertices and entries there are (n, total), the
// order, and where vertices with other than short rows wait (wide); then what is read by that kernel alone; then state,
// and the lists and counts that it changes.

// Every vertex with a short row makes an offer to its heaviest neighbour, found without a look at any offer. Who has to
// look again after the offers of vertices 32 g..32 g + 31 is in slots[32 g..], losers[g] of them. The other vertices go
// to the lists of `turn`.
template <class W, bool LOSSY>
__global__ void __launch_bounds__(BLOCK, 3) propose_all(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, Wide<Key<W, LOSSY>> wide, i64 turn, u64* state, Item* slots, u32* losers, Control* control) {
    typedef Key<W, LOSSY> K;
    __shared__ Item stages[WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item* stage = stages[threadIdx.x / WARP];
    u32 staged = 0;
    i64 stride = thread_count(), u = thread_id(), made_by = -1;
    i64 begin = u < n ? indptr[u] : 0, end = u < n ? indptr[u + 1] : 0;
    Window<K> all = {{}, 0, 0, true};
    K key = {};
    u64 old = 0;
    u32 lane = lane_id();
    // An offer's answer is read one turn later, when it has long arrived: hence one turn more than there are groups.
    for (i64 group = u - lane; group < n + stride; group += stride) {
        i64 next = u + stride;
        i64 next_begin = next < n ? indptr[next] : 0, next_end = next < n ? indptr[next + 1] : 0;
        put_wide({0, (u32)u | FRESH, 0}, end - begin, wide, (int)turn, stage, staged, control);
        i32 count = end - begin > SHORT ? 0 : (i32)(end - begin);
        K best = best_of_row<W, LOSSY, false>(rows, order, begin, count, all, state);
        if (made_by >= 0) {
            Item item = loser(order, (u32)made_by, key, old);
            u32 mask = __ballot_sync(FULL, item.u != NOBODY);
            i64 base = made_by - lane;
            if (item.u != NOBODY) slots[base + place_in(mask)] = item;
            if (lane == 0 && base < n) losers[base / WARP] = __popc(mask);
        }
        old = propose(rows, order, (u32)u, best, state);
        key = best, made_by = u;
        u = next, begin = next_begin, end = next_end;
    }
    flush(stage, staged, wide.of((int)turn).middles, &control->middles[turn]);
}

// Every vertex with a short row makes an offer to its best neighbour that takes it, and so does whom it displaces: those
// wait in the warp's stage until they are 32, so that all lanes have work. In the end the warp takes fewer of them, for a
// few steps, and `queue`, list 2, gets who is left. The other vertices go to the lists of turn 0.
// For graphs of few edges: everybody in the window is asked, and few registers let many warps wait at a time.
template <class W, bool LOSSY>
__global__ void __launch_bounds__(BLOCK, 4) chase(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, Wide<Key<W, LOSSY>> wide, u64* state, Item* queue, Control* control) {
    typedef Key<W, LOSSY> K;
    __shared__ Item stages[WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item* stage = stages[threadIdx.x / WARP];
    u32 staged = 0, lane = lane_id(), steps = 0, read = 0;
    for (i64 group = thread_id() - lane;;) {
        Item item = {0, NOBODY, 0};
        if (staged >= WARP || (staged && group >= n && steps < STEPS)) {
            steps += staged < WARP;
            item = take_staged(stage, staged);
        } else if (group < n) {
            if (group + lane < n) item.u = (u32)(group + lane) | FRESH;
            group += thread_count();
        } else {
            break;
        }
        bool has = item.u != NOBODY;
        u32 u = item.u & ~FRESH;
        i64 begin = has ? indptr[u] : 0, end = has ? indptr[u + 1] : 0;
        if (__any_sync(FULL, end - begin > SHORT)) {
            append_long(item, end - begin, wide, &control->longs[0]);
            append(item, end - begin > SHORT && end - begin <= LONG, wide.middles, &control->middles[0]);
            if (end - begin > SHORT) end = begin;
        }
        Window<K> window = {K::ceiling(item), 0, priority(order, u), (item.u & FRESH) != 0};
        K best = {};
        if (!window.fresh) read += (u32)(end - begin);
        for (i64 e = begin; e < end; e += 4) {
            K keys[4];
            i32 v[4];
            u64 held[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                keys[k] = {};
                if (e + k < end) keys[k] = K::of(order, bits[e + k], (u32)(v[k] = indices[e + k]));
                if (!window.has(order, keys[k])) keys[k] = {};
            }
#pragma unroll
            for (int k = 0; k < 4; ++k) held[k] = keys[k] > best ? glance(state + v[k]) : LOST;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                bool takes = held[k] != LOST && would_take(rows, order, (u32)v[k], keys[k], window.rank, held[k]);
                if (takes && keys[k] > best) best = keys[k];
            }
        }
        __syncwarp();
        put(loser(order, u, best, propose(rows, order, u, best, state)), stage, staged);
    }
    add_up(&control->entries, read);
    flush(stage, staged, queue, &control->queue[2]);
}

// The vertices with other than short rows in the lists of a turn look for a neighbour that takes their offer, and
// `queue`, list `to`, gets who has to look again. Without ASK the heaviest neighbour gets the offer, unasked.
template <bool ASK, class W, class K>
__device__ __forceinline__ void look_at_wide(const Rows<W>& rows, const Order& order, const Wide<K>& all, int turn,
                                             int to, u64* state, Item* stage, Item* queue, Control* control) {
    constexpr bool LOSSY = sizeof(K) != sizeof(u64);
    constexpr i64 GROUPS = WARP / TEAM;
    Wide<K> wide = all.of(turn);
    u32 staged = 0, lane = lane_id(), read = 0;
    i64 warp = thread_id() / WARP, warps = thread_count() / WARP;
    i64 parts = (i64)(control->longs[turn] & COUNT_MASK), count = (i64)control->middles[turn];
    for (i64 p = warp; p < parts; p += warps) {
        put(read_piece<ASK>(rows, order, p, wide, state), stage, staged);
        read += PIECE / WARP;
        if (staged >= FULL_STAGE) flush(stage, staged, queue, &control->queue[to]);
    }
    for (i64 at = warp * GROUPS; at < count; at += warps * GROUPS) {
        i64 place = at + lane / TEAM;
        Item item = {0, NOBODY, 0};
        if (place < count) item = wide.middles[place];
        bool has = item.u != NOBODY;
        u32 u = item.u & ~FRESH;
        i64 begin = has ? rows.indptr[u] : 0, end = has ? rows.indptr[u + 1] : 0;
        Window<K> window = {K::ceiling(item), has ? peek(state + u) : 0, priority(order, u), (item.u & FRESH) != 0};
        K best = best_of_group<W, TEAM, LOSSY, ASK>(rows, order, begin, (i32)(end - begin), window, state);
        read += (u32)(end - begin) / TEAM;
        Item again = {0, NOBODY, 0};
        if (has && lane % TEAM == 0) again = loser(order, u, best, propose(rows, order, u, best, state));
        put(again, stage, staged);
        if (staged >= FULL_STAGE) flush(stage, staged, queue, &control->queue[to]);
    }
    if (ASK) add_up(&control->entries, read);
    flush(stage, staged, queue, &control->queue[to]);
}

// look_at_wide of one turn; the queue of that turn gets who has to look again.
template <class W, bool LOSSY, bool ASK>
__global__ void __launch_bounds__(BLOCK, 4) look_wide(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, Wide<Key<W, LOSSY>> wide, i64 turn, u64* state, Item* queue, Control* control) {
    __shared__ Item stages[WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item* stage = stages[threadIdx.x / WARP];
    look_at_wide<ASK>(rows, order, wide, (int)turn, (int)turn, state, stage, queue, control);
}

// Those in slots, as propose_all leaves them (`slotted` places), and in `queue`, list `turn`, look again; whoever that
// displaces goes to `next`, and vertices with other than short rows to the lists of `turn` + 1.
template <class W, bool LOSSY>
__global__ void __launch_bounds__(BLOCK, 2) look_again(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, Wide<Key<W, LOSSY>> wide, i64 turn, const Item* slots, const u32* __restrict__ losers,
        i64 slotted, const Item* queue, u64* state, Item* next, Control* control) {
    typedef Key<W, LOSSY> K;
    __shared__ Item stages[3 * WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item *stage = stages[threadIdx.x / WARP], *out = stages[WARPS + threadIdx.x / WARP];
    Item* aside = stages[2 * WARPS + threadIdx.x / WARP];
    u32 staged = 0, waiting = 0, put_aside = 0, lane = lane_id(), read = 0;
    i64 queued = (i64)control->queue[turn], stride = thread_count();
    u64* to = &control->queue[turn + 1];
    for (i64 at = thread_id() - lane;;) {
        if (staged < WARP && at < slotted + queued) {
            Item item = {0, NOBODY, 0};
            if (at < slotted) {
                if (lane < losers[at / WARP]) item = slots[at + lane];
            } else if (at - slotted + lane < queued) {
                item = queue[at - slotted + lane];
            }
            put(item, stage, staged);
            at += stride;
            continue;
        }
        if (!staged) break;
        Item item = take_staged(stage, staged);
        bool has = item.u != NOBODY;
        u32 u = item.u & ~FRESH;
        i64 begin = has ? indptr[u] : 0, end = has ? indptr[u + 1] : 0;
        Window<K> window = {K::ceiling(item), has ? peek(state + u) : 0, priority(order, u), (item.u & FRESH) != 0};
        put_wide(item, end - begin, wide, (int)turn + 1, aside, put_aside, control);
        i32 count = end - begin > SHORT ? 0 : (i32)(end - begin);
        K best = best_of_row<W, LOSSY, true>(rows, order, begin, count, window, state);
        read += (u32)count;
        put(loser(order, u, best, propose(rows, order, u, best, state)), out, waiting);
        if (waiting >= FULL_STAGE) flush(out, waiting, next, to);
    }
    add_up(&control->entries, read);
    flush(out, waiting, next, to);
    flush(aside, put_aside, wide.of((int)turn + 1).middles, &control->middles[turn + 1]);
}

// Rounds until nobody waits, from queue 2 and the wide lists of turns `turn`..2 on. `queue` has two sides, of `places`.
// A warp that has taken `most_steps`, of a microsecond or so, hands on what it has, and the round is the last; so it is
// where pieces of `most_entries` have been read and hardly fewer are waiting than at most, or LAST_BOUND times as many
// have been read. Then control->stopped says that somebody still waits.
// `mate` gets the mates; null: they are not wanted. All blocks run at one time.
template <class W, bool LOSSY>
__global__ void __launch_bounds__(BLOCK, 2) settle(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, Wide<Key<W, LOSSY>> wide, i64 turn, i64 places, i64 most_steps, i64 most_entries,
        u64* state, Item* queue, Control* control, i32* mate) {
    typedef Key<W, LOSSY> K;
    __shared__ Item stages[WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item* stage = stages[threadIdx.x / WARP];
    i64 steps = 0, pieces = 0, most_parts = 0;
    u32 read = 0;
    u32 staged = 0, lane = lane_id(), round = 0, met = 0;
    bool waits = false;
    i64 warp = thread_id() / WARP, warps = thread_count() / WARP;
    for (; turn < TURNS; ++turn) look_at_wide<true>(rows, order, wide, (int)turn, 2, state, stage, queue, control);
    meet(&control->arrived, ++met * gridDim.x);
    for (;; ++round) {
        u64 *theirs = &control->waiting[(round + 1) % 3], *their_longs = &control->waiting_longs[(round + 1) % 3];
        i64 count = (i64)peek(round ? &control->waiting[round % 3] : &control->queue[2]);
        i64 parts = (i64)(peek(&control->waiting_longs[round % 3]) & COUNT_MASK);
        waits = count || parts;
        const u32 last = peek(&control->stopped);
        most_parts = max(most_parts, parts);
        bool slow = pieces * PIECE >= (parts * FEWER > most_parts ? most_entries : LAST_BOUND * most_entries);
        if (!waits || (last && last <= round) || slow) break;
        pieces += parts;
        if (thread_id() == 0) control->waiting[(round + 2) % 3] = control->waiting_longs[(round + 2) % 3] = 0;
        Item *now = queue + round % 2 * places, *next = queue + (round + 1) % 2 * places;
        Wide<K> here = wide.of(round % 2), there = wide.of((round + 1) % 2);
        for (i64 p = warp; p < parts; p += warps) {
            put(read_piece<true>(rows, order, p, here, state), stage, staged);
            if (staged >= FULL_STAGE) flush(stage, staged, next, theirs);
            read += PIECE / WARP;
        }
        flush(stage, staged, next, theirs);

        // A warp takes its share of the queue, and then whoever it has displaced, to the end; where items are many,
        // only as long as there are 32 of them.
        bool few = count <= warps * WARP;
        i64 share = few ? (count + warps - 1) / warps : WARP, at = warp * share, stop = min(count, at + share);
        for (;;) {
            Item item = {0, NOBODY, 0};
            if (steps < most_steps && (staged >= WARP || (staged && few && at >= stop))) {
                item = take_staged(stage, staged);
            } else if (at < stop) {
                if (at + lane < stop) item = now[at + lane];
                at += few ? share : warps * WARP;
                if (!few) stop = min(count, at + WARP);
            } else {
                break;
            }
            if (steps >= most_steps) {
                put(item, stage, staged);
                if (staged >= FULL_STAGE) flush(stage, staged, next, theirs);
                continue;
            }
            bool has = item.u != NOBODY;
            u32 u = item.u & ~FRESH;
            i64 begin = has ? indptr[u] : 0, end = has ? indptr[u + 1] : 0;
            Window<K> window = {K::ceiling(item), has ? peek(state + u) : 0, priority(order, u), (item.u & FRESH) != 0};
            append_long(item, end - begin, there, their_longs);
            i32 length = end - begin > LONG ? 0 : (i32)(end - begin);
            K found = best_of_row<W, LOSSY, true>(rows, order, begin, length > SHORT ? 0 : length, window, state);
            best_of_middles<W, LOSSY>(rows, order, begin, length, window, state, found);
            put(loser(order, u, found, propose(rows, order, u, found, state)), stage, staged);
            steps += 1 + MIDDLE_STEPS * __popc(__ballot_sync(FULL, length > SHORT));
            read += (u32)length;
        }
        if (steps >= most_steps && lane == 0) control->stopped = round + 1;
        flush(stage, staged, next, theirs);
        meet(&control->arrived, ++met * gridDim.x);
    }
    if (thread_id() == 0) {
        control->rounds = round;
        control->stopped = waits;
    }
    add_up(&control->entries, read);
    for (i64 v = mate ? thread_id() : n; v < n; v += thread_count()) {
        u64 held = __ldcg(state + v);
        mate[v] = held ? (i32)vertex(order, low(held)) : -1;
    }
}
