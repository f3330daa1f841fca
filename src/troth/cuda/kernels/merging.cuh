// Rows of coarse vertices, for coarsen.cu and joining.cu: how many entries a row has decides who puts it in order, and
// what has been put in order somewhere moves to where it belongs.

constexpr int GROUP = HOST_GROUP;        // lanes that share a short row
constexpr i64 SHORT = HOST_SHORT;        // entries of a short row at most
constexpr int EACH = SHORT / GROUP;      // entries of a lane
constexpr i64 MEDIUM = HOST_MEDIUM;      // of a row that a warp sorts
constexpr i64 LONG = HOST_LONG;          // of a row that a block puts in order by itself; the longest are marked
constexpr int MARK_THREADS = HOST_MARK_THREADS;
constexpr i64 WORDS_EACH = HOST_WORDS_EACH;  // of a bitmap for each entry; where it has more, a warp rather sorts
constexpr int NEAR_RESIDENT = 2048;      // threads of a multiprocessor that have enough registers to mark rows
constexpr int AHEAD = 4;                 // entries of a marked row that a thread has in flight
constexpr int TILE = HOST_TILE;          // entries that a warp moves
constexpr u32 NO_KEY = ~0u;              // of a loop: after all others
static_assert(SHORT == GROUP * EACH, "the lanes of a group hold a short row");

// What is counted (`CONTROL` in the host file): rows of three kinds, the entries of the last, coarse vertices, their
// entries; whether a sum was too great for its type; blocks that came to the meetings of two kernels; marked rows for
// which shared memory is too small.
enum {
    MEDIUMS = HOST_MEDIUMS,
    LONGS = HOST_LONGS,
    MARKED = HOST_MARKED,
    MARKED_ENTRIES = HOST_MARKED_ENTRIES,
    COUNT = HOST_COUNT,
    TOTAL = HOST_TOTAL,
    SPILLED = HOST_SPILLED,
    NUMBERED = HOST_NUMBERED,
    PLACED = HOST_PLACED,
    FAR = HOST_FAR
};
constexpr u32 KINDS = 3;
static_assert(MEDIUMS == 0 && LONGS == 1 && MARKED == 2, "kinds are counted from 0 on");

// How a row of so many entries is put in order; -1 for a short one.
__device__ __forceinline__ int kind_of(i64 entries, i64 count) {
    if (entries <= SHORT) return -1;
    if (entries <= MEDIUM && count / WARP > WORDS_EACH * entries) return MEDIUMS;
    return entries > LONG ? MARKED : LONGS;
}

// The rows that are not short, by kind; for marked ones also how many entries of such were listed before.
struct Lists {
    i32 *mediums, *longs, *marked;
    i64* marked_at;

    // List the row of c, if it `is` one, by its kind. All threads of the block call it.
    __device__ __forceinline__ void add(bool is, u32 c, i64 entries, i64 count, u64* control) const {
        __shared__ u64 listed_before[KINDS];
        __shared__ u32 listed[KINDS];
        const int kind = is ? kind_of(entries, count) : -1;
        u32 at = 0;
        __syncthreads();  // an earlier call may still read
        if (threadIdx.x < KINDS) listed[threadIdx.x] = 0;
        __syncthreads();
        if (kind >= 0) at = atomicAdd(&listed[kind], 1u);
        __syncthreads();
        if (threadIdx.x < KINDS && listed[threadIdx.x])
            listed_before[threadIdx.x] = atomicAdd(control + threadIdx.x, (u64)listed[threadIdx.x]);
        __syncthreads();
        if (kind == MEDIUMS) mediums[listed_before[kind] + at] = (i32)c;
        if (kind == LONGS) longs[listed_before[kind] + at] = (i32)c;
        if (kind == MARKED) {
            marked[listed_before[kind] + at] = (i32)c;
            marked_at[listed_before[kind] + at] = (i64)atomicAdd(control + MARKED_ENTRIES, (u64)entries);
        }
    }
};

// ---- short rows ----

constexpr int KEYS_APART = SHORT + 4;  // words: the rows of a warp's groups are in other banks

// The entries of a row, which a group of lanes holds, each every GROUP-th: bits of those that are below one of its own,
// for its place, and of those that are equal.
struct Compared {
    u32 below[EACH], equal[EACH], leaders;  // the first of equal ones lead

    // `keys` is shared memory, at a multiple of 16; from `entries` on it is NO_KEY, to a multiple of four; `most` is the
    // greatest number of entries of the warp's rows, whose lanes go on together.
    __device__ __forceinline__ Compared(const u32* keys, u32 entries, u32 most) {
        const u32 lane = threadIdx.x % GROUP;
        leaders = 0;
#pragma unroll
        for (int s = 0; s < EACH; s++) {
            below[s] = equal[s] = 0;
            if (s * GROUP >= most) break;
            const u32 place = s * GROUP + lane, key = place < entries ? keys[place] : NO_KEY;
            for (u32 i = 0; i < entries; i += 4) {
                const uint4 other = *(const uint4*)(keys + i);
                const u32 less = (other.x < key) | (other.y < key) << 1 | (other.z < key) << 2 | (other.w < key) << 3;
                const u32 same =
                    (other.x == key) | (other.y == key) << 1 | (other.z == key) << 2 | (other.w == key) << 3;
                below[s] |= less << i;
                equal[s] |= same << i;
            }
            const bool leads = key != NO_KEY && !(equal[s] & ((1u << place) - 1));
            const u32 heads = __ballot_sync(FULL, leads);
            leaders |= (heads >> (lane_id() - lane) & ((1u << GROUP) - 1)) << (s * GROUP);
        }
    }
};

// ---- rows that are sorted ----

// What a team sorts: a neighbour and the place of its entry, in one word. Where there are few vertices, one of 32 bits
// does, and takes half the time.
template <class K, int ROOM>
struct Sorted {
    static constexpr int PLACES = sizeof(K) > sizeof(u32) ? 32 : 9;  // bits of a place
    static constexpr u32 NONE = PLACES == 32 ? NO_KEY : NO_KEY >> PLACES;
    static_assert(PLACES == 32 || ROOM <= 1 << PLACES, "places fit their bits");

    __device__ __forceinline__ static K of(u32 key, u32 place) { return (K)(key == NO_KEY ? NONE : key) << PLACES | place; }
    __device__ __forceinline__ static u32 key(K word) { return (u32)(word >> PLACES); }
    __device__ __forceinline__ static u32 place(K word) { return (u32)word & (u32)((1ull << PLACES) - 1); }
};

// ---- rows that are marked ----

// What a thread of a block that marks a row has to read of it, AHEAD entries at one time; 0 beyond all entries.
template <int TEAM, class Read, class X>
__device__ __forceinline__ void read_ahead(Read read, u32 base, u32 entries, X (&to)[AHEAD]) {
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++) to[k] = base + k * TEAM < entries ? read(base + k * TEAM) : (X)0;
}

// visit(key, value) for all entries of a row, by all threads of its block.
template <int TEAM, class Key, class Value, class Visit>
__device__ __forceinline__ void visit_row(Key key, Value value, u32 entries, Visit visit) {
    for (u32 base = threadIdx.x; base < entries; base += AHEAD * TEAM) {
        u32 keys[AHEAD];
        decltype(value(0)) values[AHEAD];
        read_ahead<TEAM>(key, base, entries, keys);
        read_ahead<TEAM>(value, base, entries, values);
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++)
            if (base + k * TEAM < entries) visit(keys[k], values[k]);
    }
}

// A row's neighbours in shared memory: a bit for each coarse vertex, and how many bits there are before each word.
template <int TEAM>
struct Marks {
    u32 *bits, *before, words;

    // In a block's part of shared memory, of which the rest begins at `rest`. All threads make one.
    __device__ Marks(u32* shared, u32 words, u32*& rest)
        : bits(shared), before(shared + words), words(words) {
        rest = shared + (2 * words + 3) / 4 * 4;
        for (u32 w = threadIdx.x; w < words; w += TEAM) bits[w] = 0;
        __syncthreads();
    }
    __device__ __forceinline__ void set(u32 d) const { atomicOr(bits + d / WARP, 1u << d % WARP); }

    // When all are set: how many there are. A thread counts an odd number of words, so that those of a warp are in other
    // banks.
    __device__ __forceinline__ u32 count(u32* partial) const {
        const u32 run = (words + TEAM - 1) / TEAM | 1, begin = threadIdx.x * run, end = min(words, begin + run);
        u32 number = 0, done;
        __syncthreads();
        for (u32 w = begin; w < end; w++) number += __popc(bits[w]);
        u32 place = sum_before<TEAM / WARP>(number, partial, done);
        for (u32 w = begin; w < end; w++) {
            before[w] = place;
            place += __popc(bits[w]);
        }
        __syncthreads();
        return done;
    }
    // The place of d among those that are set.
    __device__ __forceinline__ u32 place(u32 d) const {
        return before[d / WARP] + __popc(bits[d / WARP] & ((1u << d % WARP) - 1));
    }
    // Write all to their places.
    __device__ __forceinline__ void list(i32* to) const {
        for (u32 w = threadIdx.x; w < words; w += TEAM) {
            u32 at = before[w];
            for (u32 word = bits[w]; word; word &= word - 1) to[at++] = (i32)(w * WARP + __ffs(word) - 1);
        }
    }
};

// ---- to their places ----

// Lengths of rows, lengths[c + 1], become their starts, in the same place. `sums` has a word a block; all blocks run at
// one time, and all threads call it.
__device__ inline void start_rows(i64 count, i64* lengths, u64* sums, u64* control) {
    __shared__ u64 partial[WARPS];
    const Share share(count);
    u64 entries = 0, total, more;
    for (i64 c = share.begin + threadIdx.x; c < share.end; c += THREADS) entries += (u64)lengths[c + 1];
    sum_block(entries, sums, partial);
    meet((u32*)(control + PLACED), gridDim.x);
    entries = sum_blocks_before(sums, partial, total);
    if (thread_id() == 0) {
        lengths[0] = 0;
        control[TOTAL] = total;
    }
    for (i64 base = share.begin; base < share.end; base += THREADS) {
        const i64 c = base + threadIdx.x;
        const u64 length = c < share.end ? (u64)lengths[c + 1] : 0;
        const u64 before = entries + sum_before<WARPS>(length, partial, more);
        entries += more;
        if (c < share.end) lengths[c + 1] = (i64)(before + length);
    }
}

// Rows from where they were written, that of c from room_of(c) on, to where they belong; a warp moves a tile of
// entries, whatever their rows.
template <class W, class Room>
__device__ __forceinline__ void move_tile(i64 count, i64 total, Room room_of, const i64* __restrict__ indptr,
                                          const i32* __restrict__ indices, const W* __restrict__ weights,
                                          i32* __restrict__ new_indices, W* __restrict__ new_weights) {
    i64 start = thread_id() / WARP * TILE, stop = min(start + TILE, total);
    if (start >= stop) return;
    i64 head = row_of(indptr, 0, count - 1, start), tail = row_of(indptr, head, count - 1, stop - 1);
    for (i64 i = start + lane_id(); i < stop; i += WARP) {
        i64 c = row_of(indptr, head, tail, i), at = room_of(c) + (i - indptr[c]);
        new_indices[i] = indices[at];
        new_weights[i] = weights[at];
    }
}
