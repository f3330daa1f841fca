// Suitor, troth's own kernels: see cuda/suitor.py for the plan and cpu/suitor.py for the algorithm.
//
// state[v]: the best offer that v holds, prefix << 32 | priority of the suitor, 0 for none. Words only grow.
// A vertex whose offer fails or is displaced waits as an Item with the key of the neighbour that it lost: neighbours of
// that key or a greater one have refused it for good, since offers only get better. Nor need it look below the offer
// that it holds itself, its mate will be no worse. So it looks at a window of keys, and needs nobody's offer for that.

constexpr int WARPS = 8;              // of a block
constexpr int BLOCK = WARPS * WARP;
constexpr int STAGE = 2 * WARP;       // items that a warp keeps in shared memory
constexpr i64 LONG = 512;             // entries; a longer row is cut into pieces, for a warp each
constexpr i64 PIECE = 1024;           // entries
constexpr u64 LOST = ~0ull;           // the neighbour holds a better offer
constexpr u32 NOBODY = ~0u;
constexpr u32 FRESH = 1u << 31;       // of Item.u: no neighbour has been tried yet, `key` means nothing
constexpr int COUNT_SHIFT = 40;       // a word counts long rows above this bit and their pieces below it

struct alignas(16) Item {
    u64 key;
    u32 u;
    u32 first;  // of a long row: its first piece
};

// The two best keys, 0 for none. `tied` (only where prefixes are coarse): neither may be the best by exact weight.
struct alignas(8) Choice {
    u64 best, second;
    u32 tied;
};

// Counters of one round: what waits, and long rows with their pieces. Three rounds take turns: one is read, one is
// filled, one is cleared.
struct Control {
    u64 waiting[3];
    u64 longs[3];
    u32 arrived;  // at the grid's barrier, ever
    u32 rounds;
};

template <class W>
struct Rows {
    const i64* __restrict__ indptr;
    const i32* __restrict__ indices;
    const W* __restrict__ bits;
    i64 total;  // entries
};

// ---- reading a row ----

__device__ __forceinline__ void read4(const u32* p, u32 (&w)[4]) {
    uint4 x = __ldcs((const uint4*)p);
    w[0] = x.x, w[1] = x.y, w[2] = x.z, w[3] = x.w;
}
__device__ __forceinline__ void read4(const u64* p, u64 (&w)[4]) {
    ulonglong2 x = __ldcs((const ulonglong2*)p), y = __ldcs((const ulonglong2*)p + 1);
    w[0] = x.x, w[1] = x.y, w[2] = y.x, w[3] = y.y;
}
__device__ __forceinline__ void read4(const u16* p, u16 (&w)[4]) {
    ushort4 x = __ldcs((const ushort4*)p);
    w[0] = x.x, w[1] = x.y, w[2] = x.z, w[3] = x.w;
}
__device__ __forceinline__ void read4(const u8* p, u8 (&w)[4]) {
    uchar4 x = __ldcs((const uchar4*)p);
    w[0] = x.x, w[1] = x.y, w[2] = x.z, w[3] = x.w;
}

__device__ __forceinline__ void insert(Choice& c, u64 key) {
    u64 less = min(c.best, key);
    c.best = max(c.best, key);
    c.second = max(c.second, less);
}

// What a row is read for: the keys below `ceiling` (all where `fresh`) and not below `floor`.
struct Window {
    u64 floor, ceiling;
    u32 rank;  // the reader's priority
    bool fresh;
};

// `lanes` lanes read the entries begin..end-1, four at a time, and each keeps its best two. FIRST: nobody has been
// tried, all keys count. ASK: only neighbours who would take the offer count; asked are those who would be kept.
template <class W, bool COARSE, bool FIRST, bool ASK>
__device__ __forceinline__ void scan(const Rows<W>& rows, const Order& order, i64 begin, i64 end, u32 lane, u32 lanes,
                                     const Window& window, const u64* state, Choice& c) {
    for (i64 q = (begin & ~3ll) + 4 * lane; q < end; q += 4 * lanes) {
        i32 v[4];
        W w[4];
        if (q + 4 <= rows.total) {
            int4 x = __ldcs((const int4*)(rows.indices + q));
            v[0] = x.x, v[1] = x.y, v[2] = x.z, v[3] = x.w;
            read4(rows.bits + q, w);
        } else {
            for (int k = 0; k < 4; ++k) {
                bool there = q + k < rows.total;
                v[k] = there ? rows.indices[q + k] : 0;
                w[k] = there ? rows.bits[q + k] : (W)0;
            }
        }
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            u64 key = q + k >= begin && q + k < end ? key_of(order, w[k], (u32)v[k]) : 0;
            if (!FIRST) {
                if (COARSE) {
                    // Of those who share the ceiling's prefix, some may have refused and others not been tried.
                    if (!window.fresh && key && high(key) == high(window.ceiling) && key != window.ceiling) c.tied = 1;
                    if (!window.fresh && high(key) >= high(window.ceiling)) key = 0;
                    if (high(key) < high(window.floor)) key = 0;
                } else if ((!window.fresh && key >= window.ceiling) || key < window.floor) {
                    key = 0;
                }
            }
            if (ASK && key > c.second) {
                u64 held = peek(state + v[k]), offer = pack(high(key), window.rank);
                if (COARSE ? high(offer) < high(held) : offer < held) key = 0;
            }
            insert(c, key);
        }
    }
}

// Give all lanes of a group of G the best two of the group.
template <int G, bool COARSE>
__device__ __forceinline__ void reduce(Choice& c) {
#pragma unroll
    for (int step = G / 2; step > 0; step /= 2) {
        u64 best = __shfl_xor_sync(FULL, c.best, step), second = __shfl_xor_sync(FULL, c.second, step);
        u64 less = min(c.best, best);
        c.best = max(c.best, best);
        c.second = max(less, max(c.second, second));
        if (COARSE) c.tied |= __shfl_xor_sync(FULL, c.tied, step);
    }
}

// The same for a whole warp, by 32-bit maxima. Keys of one row differ, so one lane alone has the best.
template <bool COARSE>
__device__ __forceinline__ void reduce_warp(Choice& c) {
    u64 best = warp_max(FULL, c.best);
    c.second = warp_max(FULL, c.best == best ? c.second : c.best);
    c.best = best;
    if (COARSE) c.tied = __any_sync(FULL, c.tied);
}

// Each lane brings the row begin..end-1 and gets its best two. A group of G lanes reads the short rows of its own lanes
// one after the other; the warp reads the others.
template <class W, int G, bool COARSE, bool FIRST>
__device__ __forceinline__ Choice choose(const Rows<W>& rows, const Order& order, i64 begin, i64 end,
                                         const Window& window, const u64* state) {
    constexpr i32 SHORT = 16 * G;  // entries: four reads of a lane
    u32 lane = lane_id(), sub = lane % G;
    i32 length = (i32)(end - begin);
    Choice mine = {0, 0, 0};
#pragma unroll
    for (int j = 0; j < G; ++j) {
        int from = lane - sub + j;
        i64 first = __shfl_sync(FULL, begin, from);
        i32 count = __shfl_sync(FULL, length, from);
        Window its = window;
        if (!FIRST && G > 1) {
            its.floor = __shfl_sync(FULL, window.floor, from);
            its.ceiling = __shfl_sync(FULL, window.ceiling, from);
            its.fresh = __shfl_sync(FULL, (int)window.fresh, from);
        }
        Choice c = {0, 0, 0};
        if (count <= SHORT) scan<W, COARSE, FIRST, false>(rows, order, first, first + count, sub, G, its, state, c);
        reduce<G, COARSE>(c);
        if ((int)sub == j) mine = c;
    }
    for (u32 left = __ballot_sync(FULL, length > SHORT); left; left &= left - 1) {
        int from = __ffs(left) - 1;
        i64 first = __shfl_sync(FULL, begin, from);
        i32 count = __shfl_sync(FULL, length, from);
        Window its = window;
        if (!FIRST) {
            its.floor = __shfl_sync(FULL, window.floor, from);
            its.ceiling = __shfl_sync(FULL, window.ceiling, from);
            its.rank = __shfl_sync(FULL, window.rank, from);
            its.fresh = __shfl_sync(FULL, (int)window.fresh, from);
        }
        Choice c = {0, 0, 0};
        scan<W, COARSE, FIRST, !FIRST>(rows, order, first, first + count, lane, WARP, its, state, c);
        reduce_warp<COARSE>(c);
        if ((int)lane == from) mine = c;
    }
    return mine;
}

// Where prefixes are coarse and decide nothing: the warp finds u's best neighbour that would take its offer, by exact
// weights and asking all. The result's second is not 0, so that u looks again should the offer come too late.
template <class W>
__device__ Choice choose_exactly(const Rows<W>& rows, const Order& order, u32 u, const u64* state) {
    u32 rank = priority(order, u);
    W most = 0;
    u32 best = 0;
    bool any = false;
    for (i64 e = rows.indptr[u] + lane_id(); e < rows.indptr[u + 1]; e += WARP) {
        W w = rows.bits[e];
        u32 v = (u32)rows.indices[e], other = priority(order, v);
        if (any && (w < most || (w == most && other <= best))) continue;
        u64 offer = pack(prefix(order, w), rank);
        if (!wins(rows.indptr, rows.indices, rows.bits, order, v, offer, peek(state + v))) continue;
        most = w, best = other, any = true;
    }
    if (!__any_sync(FULL, any)) return {0, 0, 0};
    u32 top = warp_max(FULL, any ? high((u64)most) : 0u);
    any = any && high((u64)most) == top;
    u32 bottom = warp_max(FULL, any ? low((u64)most) : 0u);
    any = any && low((u64)most) == bottom;
    u32 other = warp_max(FULL, any ? best : 0u);
    return {pack(prefix(order, (W)pack(top, bottom)), other), 1, 1};
}

// ---- offers ----

// v gets an offer. Returns the offer that was displaced (0: v held none), or LOST. ASK: look first, it costs less.
template <class W, bool COARSE, bool ASK>
__device__ __forceinline__ u64 make_offer(const Rows<W>& rows, const Order& order, u32 v, u64 offer, u64* state) {
    if (!COARSE) {
        if (ASK && peek(state + v) > offer) return LOST;
        u64 old = atomicMax(state + v, offer);
        return old > offer ? LOST : old;
    }
    u64 held = peek(state + v);
    while (wins(rows.indptr, rows.indices, rows.bits, order, v, offer, held)) {
        u64 seen = atomicCAS(state + v, held, offer);
        if (seen == held) return held;
        held = seen;
    }
    return LOST;
}

// u makes an offer to its first and, if that fails, to its second choice. Returns who has to look again.
template <class W, bool COARSE, bool FIRST>
__device__ __forceinline__ Item propose(const Rows<W>& rows, const Order& order, u32 u, const Choice& c, u64* state) {
    Item nobody = {0, NOBODY, 0};
    if (!c.best) return nobody;
    u32 rank = priority(order, u);
    u64 key = c.best;
    u32 v = vertex(order, low(key));
    u64 old = make_offer<W, COARSE, !FIRST>(rows, order, v, pack(high(key), rank), state);
    if (old == LOST) {
        if (!c.second && !c.tied) return nobody;  // there was nobody else in the window
        if (COARSE) return {key, u, 0};           // the second choice may be wrong
        key = c.second;
        v = vertex(order, low(key));
        old = make_offer<W, COARSE, true>(rows, order, v, pack(high(key), rank), state);
        if (old == LOST) return {key, u, 0};
    }
    if (!old) return nobody;
    return {pack(high(old), low(key)), vertex(order, low(old)), 0};
}

// ---- waiting ----

// Append the items of the lanes that have one to the warp's stage.
__device__ __forceinline__ void put(const Item& item, Item* stage, u32& staged) {
    bool has = item.u != NOBODY;
    u32 mask = __ballot_sync(FULL, has);
    if (has) stage[staged + __popc(mask & ((1u << lane_id()) - 1))] = item;
    staged += __popc(mask);
    __syncwarp();
}

// Move the last `count` items of the stage to the queue.
__device__ __forceinline__ void flush(u32 count, Item* stage, u32& staged, Item* queue, u64* waiting) {
    u64 at = 0;
    if (lane_id() == 0) at = atomicAdd(waiting, (u64)count);
    at = __shfl_sync(FULL, at, 0);
    staged -= count;
    for (u32 i = lane_id(); i < count; i += WARP) queue[at + i] = stage[staged + i];
    __syncwarp();
}

// Rows that are too long for one warp, of the lanes with length > LONG, go to the list of long rows, in pieces.
__device__ __forceinline__ void put_long(const Item& item, i64 length, Item* longs, u32* owners, u64* counter) {
    for (u32 left = __ballot_sync(FULL, length > LONG); left; left &= left - 1) {
        int from = __ffs(left) - 1;
        u64 pieces = (u64)((__shfl_sync(FULL, length, from) + PIECE - 1) / PIECE), word = 0;
        if ((int)lane_id() == from) {
            word = atomicAdd(counter, 1ull << COUNT_SHIFT | pieces);
            longs[word >> COUNT_SHIFT] = {item.key, item.u, (u32)(word & ((1ull << COUNT_SHIFT) - 1))};
        }
        word = __shfl_sync(FULL, word, from);
        u32 first = (u32)(word & ((1ull << COUNT_SHIFT) - 1)), slot = (u32)(word >> COUNT_SHIFT);
        for (u32 i = lane_id(); i < pieces; i += WARP) owners[first + i] = slot;
    }
}

// All blocks of the grid wait for each other; they run at one time.
__device__ void meet(u32* arrived, u32 target) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1u);
        while ((i32)(peek(arrived) - target) < 0) __nanosleep(40);
        __threadfence();
    }
    __syncthreads();
}

// ---- kernels ----

// Every vertex makes an offer to its heaviest neighbour, found without a look at any offer, or to its second heaviest.
// queue, longs and owners get who has to look again, in round 0.
template <class W, int G, bool COARSE>
__global__ void __launch_bounds__(BLOCK) propose_all(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, u64* state, Item* queue, Item* longs, u32* owners, Control* control) {
    __shared__ Item stages[WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item* stage = stages[threadIdx.x / WARP];
    u32 staged = 0;
    i64 warp = thread_id() / WARP, warps = thread_count() / WARP;
    Window all = {0, 0, 0, true};
    for (i64 group = warp * WARP; group < n; group += warps * WARP) {
        i64 u = group + lane_id();
        i64 begin = u < n ? indptr[u] : 0, end = u < n ? indptr[u + 1] : 0;
        put_long({0, (u32)u | FRESH, 0}, end - begin, longs, owners, &control->longs[0]);
        if (end - begin > LONG) end = begin;
        Choice c = choose<W, G, COARSE, true>(rows, order, begin, end, all, state);
        Item again;
        if (COARSE && c.second && high(c.best) == high(c.second)) again = {0, (u32)u | FRESH, 0};
        else again = propose<W, COARSE, true>(rows, order, (u32)u, c, state);
        put(again, stage, staged);
        if (staged >= WARP) flush(WARP, stage, staged, queue, &control->waiting[0]);
    }
    if (staged) flush(staged, stage, staged, queue, &control->waiting[0]);
}

// Rounds until nobody waits. queue, longs and owners have two sides, of `n`, `most_longs` and `most_pieces` places;
// pieces: the best two of each piece of a long row. All blocks run at one time.
template <class W, int G, bool COARSE>
__global__ void __launch_bounds__(BLOCK) settle(
        const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits, i64 n, i64 total,
        Order order, i64 most_longs, i64 most_pieces, u64* state, Item* queue, Item* longs, u32* owners, Choice* pieces,
        Control* control) {
    __shared__ Item stages[WARPS][STAGE];
    Rows<W> rows = {indptr, indices, bits, total};
    Item* stage = stages[threadIdx.x / WARP];
    u32 staged = 0, lane = lane_id(), met = 0, round = 0;
    i64 warp = thread_id() / WARP, warps = thread_count() / WARP;
    for (;; ++round) {
        i64 count = (i64)peek(&control->waiting[round % 3]);
        u64 word = peek(&control->longs[round % 3]);
        i64 rows_cut = (i64)(word >> COUNT_SHIFT), cut = (i64)(word & ((1ull << COUNT_SHIFT) - 1));
        if (!count && !rows_cut) break;
        if (thread_id() == 0) control->waiting[(round + 2) % 3] = control->longs[(round + 2) % 3] = 0;
        u64 *waiting = &control->waiting[(round + 1) % 3], *long_word = &control->longs[(round + 1) % 3];
        i64 here = round % 2, there = (round + 1) % 2;
        Item *next = queue + there * n, *next_longs = longs + there * most_longs, *ours = longs + here * most_longs;
        u32 *next_owners = owners + there * most_pieces, *owner = owners + here * most_pieces;

        for (i64 p = warp; p < cut; p += warps) {
            Item item = ours[owner[p]];
            u32 u = item.u & ~FRESH;
            i64 begin = indptr[u] + (p - item.first) * PIECE, end = min(begin + PIECE, indptr[u + 1]);
            Window window = {peek(state + u), item.key, priority(order, u), (item.u & FRESH) != 0};
            Choice c = {0, 0, 0};
            scan<W, COARSE, false, true>(rows, order, begin, end, lane, WARP, window, state, c);
            reduce_warp<COARSE>(c);
            if (lane == 0) pieces[p] = c;
        }

        // A warp takes 32 items from the queue, or those that it has staged itself. Once there is a lane for each item,
        // a full warp is worth less than not waiting for the others: what is staged is done here, to the end.
        bool few = count <= warps * WARP;
        for (i64 at = warp * WARP;;) {
            Item item = {0, NOBODY, 0};
            if (staged >= WARP || (staged && few && at >= count)) {
                u32 taken = min(staged, (u32)WARP);
                staged -= taken;
                if (lane < taken) item = stage[staged + lane];
                __syncwarp();
            } else if (at < count) {
                if (at + lane < count) item = queue[here * n + at + lane];
                at += warps * WARP;
            } else {
                break;
            }
            bool has = item.u != NOBODY;
            u32 u = item.u & ~FRESH;
            i64 begin = has ? indptr[u] : 0, end = has ? indptr[u + 1] : 0;
            put_long(item, end - begin, next_longs, next_owners, long_word);
            if (end - begin > LONG) end = begin, has = false;
            u64 held = has ? peek(state + u) : 0;
            Window window = {held, item.key, priority(order, u), (item.u & FRESH) != 0};
            Choice c = choose<W, G, COARSE, false>(rows, order, begin, end, window, state);
            if (COARSE) {
                bool vague = has && (c.tied || (c.second && high(c.best) == high(c.second)));
                for (u32 left = __ballot_sync(FULL, vague); left; left &= left - 1) {
                    int from = __ffs(left) - 1;
                    Choice exact = choose_exactly(rows, order, __shfl_sync(FULL, u, from), state);
                    if ((int)lane == from) c = exact;
                }
            }
            put(propose<W, COARSE, false>(rows, order, u, c, state), stage, staged);
        }
        if (staged) flush(staged, stage, staged, next, waiting);

        if (cut) {
            meet(&control->arrived, ++met * gridDim.x);
            for (i64 i = warp; i < rows_cut; i += warps) {
                Item item = ours[i];
                u32 u = item.u & ~FRESH;
                i64 count = (indptr[u + 1] - indptr[u] + PIECE - 1) / PIECE;
                Choice c = {0, 0, 0};
                for (i64 p = item.first + lane; p < item.first + count; p += WARP) {
                    Choice piece = pieces[p];
                    insert(c, piece.best);
                    insert(c, piece.second);
                    c.tied |= piece.tied;
                }
                reduce_warp<COARSE>(c);
                if (COARSE && (c.tied || (c.second && high(c.best) == high(c.second)))) {
                    c = choose_exactly(rows, order, u, state);
                }
                Item again = {0, NOBODY, 0};
                if (lane == 0) again = propose<W, COARSE, false>(rows, order, u, c, state);
                put(again, stage, staged);
                if (staged >= WARP) flush(WARP, stage, staged, next, waiting);
            }
            if (staged) flush(staged, stage, staged, next, waiting);
        }
        meet(&control->arrived, ++met * gridDim.x);
    }
    if (thread_id() == 0) control->rounds = round;
}

// mate[v] = the suitor of v, -1 for none: suitors are mutual now.
__global__ void mates(const u64* __restrict__ state, i64 n, Order order, i32* mate) {
    for (i64 v = thread_id(); v < n; v += thread_count()) {
        u64 held = state[v];
        mate[v] = held ? (i32)vertex(order, low(held)) : -1;
    }
}
