// Contraction of clusters on a GPU; joining.py has the plan, cpu/joining.py says what is computed.
//
// Coarse vertex c has members[starts[c] .. starts[c + 1]), ascending; the entries of their rows go, one row behind the
// other, to room[c] .. room[c + 1], as coarse neighbours and weights. There each row is put in order, in one of several
// ways as for pairs (coarsen.cu), and equal neighbours become one; its entries move to their place once all lengths are
// known.
//
// T is the type of the weights as numbers: float, double, or the unsigned integer of their width; N that of the sums.
//
// Kernels take their counts first, then what they read, then what they write, scratch and `control` last. Those that
// merge rows take which rows these are (and how they are marked), and then all alike: room; the neighbours, which are
// replaced by those that are left; the weights; new_weights, which has room for all entries; lengths, of which the row
// of c gets lengths[c + 1]; control.

#include "grid.cuh"
#include "merging.cuh"
#include "exact.cuh"

constexpr u32 MOST = HOST_MOST_JOINED;  // members of a cluster

template <class T> struct Sums { typedef u64 Type; };
template <> struct Sums<float> { typedef float Type; };
template <> struct Sums<double> { typedef double Type; };

// ---- numbers ----

// A cluster: its members, in the order in which they came.
struct Cluster {
    alignas(16) i32 members[MOST];
    u32 size;

    // As listed with a label, before a meeting. Its slots are one sector of memory, and are read in two pieces.
    __device__ __forceinline__ Cluster(const u32* sizes, const i32* slots, i32 label) : size(__ldcg(sizes + label)) {
        const uint4* at = (const uint4*)(slots + (i64)MOST * label);
        ((uint4*)members)[0] = __ldcg(at);
        if (size > 4) ((uint4*)members)[1] = __ldcg(at + 1);
    }
    __device__ __forceinline__ bool starts_with(i32 v) const {
        bool good = true;
#pragma unroll
        for (u32 k = 0; k < MOST; k++) good &= k >= size || members[k] >= v;
        return good;
    }
    __device__ __forceinline__ u64 entries(const i64* __restrict__ indptr) const {
        u64 total = 0;
#pragma unroll
        for (u32 k = 0; k < MOST; k++)
            if (k < size) total += (u64)(indptr[members[k] + 1] - indptr[members[k]]);
        return total;
    }
    // How many members go before member k.
    __device__ __forceinline__ u32 place(u32 k) const {
        u32 before = 0;
#pragma unroll
        for (u32 i = 0; i < MOST; i++) before += i < size && members[i] < members[k];
        return before;
    }
};
static_assert(MOST == 8, "a cluster has two pieces of four members");

// Numbers the clusters, vertices of equal labels, in the order of their first members. coarse[v] is that of v, and the
// row of v goes to at[v]. Rows that are not short are listed. `sizes` is 0; slots has MOST places a vertex, `sums` two
// words a block. All blocks run at one time: they gather members, count, and then know where to write.
__global__ void __launch_bounds__(THREADS)
    number_clusters(i64 n, const i32* __restrict__ label, const i64* __restrict__ indptr, i32* __restrict__ coarse,
                    i64* __restrict__ at, i32* __restrict__ starts, i32* __restrict__ members, i64* __restrict__ room,
                    i32* mediums, i32* longs, i32* marked, i64* marked_at, u32* sizes, i32* slots, u64* sums,
                    u64* control) {
    __shared__ u64 partial[WARPS];
    const Lists lists = {mediums, longs, marked, marked_at};
    const Share share(n);
    for (i64 v = share.begin + threadIdx.x; v < share.end; v += THREADS) {
        const i32 root = label[v];
        slots[(i64)MOST * root + atomicAdd(sizes + root, 1u)] = (i32)v;
    }
    meet((u32*)(control + NUMBERED), gridDim.x);
    u64 counted = 0, entries = 0;  // clusters and, in the lower half, their members; and the entries of their rows
    for (i64 v = share.begin + threadIdx.x; v < share.end; v += THREADS) {
        const Cluster cluster(sizes, slots, label[v]);
        const bool is_first = cluster.starts_with((i32)v);
        coarse[v] = is_first ? -1 : 0;  // for now
        if (!is_first) continue;
        counted += pack(1, cluster.size);
        entries += cluster.entries(indptr);
    }
    sum_block(counted, sums, partial);
    sum_block(entries, sums + gridDim.x, partial);
    meet((u32*)(control + NUMBERED), 2 * gridDim.x);
    u64 all, total, more;
    counted = sum_blocks_before(sums, partial, all);
    entries = sum_blocks_before(sums + gridDim.x, partial, total);
    const u32 count = high(all);
    if (thread_id() == 0) {
        control[COUNT] = count;
        starts[count] = (i32)n;
        room[count] = (i64)total;
    }

    for (i64 base = share.begin; base < share.end; base += THREADS) {
        const i64 v = base + threadIdx.x;
        const bool is_first = v < share.end && peek(coarse + v) < 0;
        u64 own = 0, size = 0;
        if (is_first) {
            const Cluster cluster(sizes, slots, label[v]);
            own = cluster.entries(indptr);
            size = cluster.size;
        }
        const u64 place = counted + sum_before<WARPS>(is_first ? pack(1, (u32)size) : 0, partial, more);
        counted += more;
        u64 to = entries + sum_before<WARPS>(own, partial, more);
        entries += more;
        const u32 c = high(place);
        lists.add(is_first, c, (i64)own, count, control);
        if (!is_first) continue;
        const Cluster cluster(sizes, slots, label[v]);
        i32* here = members + low(place);
#pragma unroll
        for (u32 k = 0; k < MOST; k++)
            if (k < cluster.size) here[cluster.place(k)] = cluster.members[k];
        starts[c] = (i32)low(place);
        room[c] = (i64)to;
        for (u32 k = 0; k < cluster.size; k++) {
            const i32 u = here[k];
            coarse[u] = (i32)c;
            at[u] = (i64)to;
            to += (u64)(indptr[u + 1] - indptr[u]);
        }
    }
}

// Coarse neighbours and weights of all entries, row by row to where there is room. A warp takes a tile of entries.
template <class T>
__global__ void gather_rows(i64 n, i64 total, const i64* __restrict__ indptr, const i32* __restrict__ indices,
                            const T* __restrict__ weights, const i32* __restrict__ coarse, const i64* __restrict__ at,
                            i32* __restrict__ new_indices, typename Sums<T>::Type* __restrict__ new_weights) {
    i64 start = thread_id() / WARP * TILE, stop = min(start + TILE, total);
    if (start >= stop) return;
    i64 head = row_of(indptr, 0, n - 1, start), tail = row_of(indptr, head, n - 1, stop - 1);
    for (i64 i = start + lane_id(); i < stop; i += WARP) {
        i64 v = row_of(indptr, head, tail, i), to = at[v] + (i - indptr[v]);
        new_indices[to] = coarse[indices[i]];
        new_weights[to] = weights[i];
    }
}

// ---- short rows ----

// A group of lanes compares all entries of a row; the first of equal ones adds them up and writes.
template <class N>
__global__ void __launch_bounds__(THREADS)
    merge_short(i64 count, const i64* __restrict__ room, i32* indices, const N* __restrict__ weights,
                N* __restrict__ new_weights, i64* __restrict__ lengths, u64* control) {
    alignas(16) __shared__ u32 all_keys[THREADS / GROUP][KEYS_APART];
    __shared__ N all_values[THREADS / GROUP][SHORT];
    const i64 c = thread_id() / GROUP;
    const u32 lane = threadIdx.x % GROUP;
    u32* keys = all_keys[threadIdx.x / GROUP];
    N* values = all_values[threadIdx.x / GROUP];
    const i64 begin = c < count ? room[c] : 0, size = c < count ? room[c + 1] - begin : 0;
    const bool mine = c < count && size <= SHORT;
    const u32 entries = mine ? (u32)size : 0;
#pragma unroll
    for (int s = 0; s < EACH; s++) {
        const u32 place = s * GROUP + lane, key = place < entries ? (u32)indices[begin + place] : NO_KEY;
        keys[place] = key == c ? NO_KEY : key;
        if (place < entries) values[place] = weights[begin + place];
    }
    __syncwarp();
    const Compared all(keys, entries, warp_max(entries));
    bool spilled = false;
#pragma unroll
    for (int s = 0; s < EACH; s++) {
        const u32 place = s * GROUP + lane;
        if (!(all.leaders >> place & 1)) continue;
        const i64 to = begin + __popc(all.below[s] & all.leaders);
        indices[to] = (i32)keys[place];
        new_weights[to] = sum_of_some(all.equal[s], values, spilled);
    }
    if (mine && lane == 0) lengths[c + 1] = __popc(all.leaders);
    if (spilled) control[SPILLED] = 1;
}

// ---- rows that are sorted ----

// A team sorts (neighbour, place in the row) of a listed row; the first of equal neighbours finds the others behind it.
template <class N, class K, int TEAM, int ROOM>
__global__ void __launch_bounds__(THREADS)
    merge_sorted(const i32* __restrict__ list, i64 listed, const i64* __restrict__ room, i32* indices,
                 const N* __restrict__ weights, N* __restrict__ new_weights, i64* __restrict__ lengths, u64* control) {
    typedef Sorted<K, ROOM> S;
    static_assert(ROOM >= TEAM && ROOM >= 2 * WARP, "as many as are sorted at least");
    constexpr int TEAMS = THREADS / TEAM;
    __shared__ K all_keys[TEAMS][ROOM];
    __shared__ u32 partial[WARPS];
    const u32 rank = threadIdx.x % TEAM;
    K* keys = all_keys[threadIdx.x / TEAM];
    bool spilled = false;
    for (i64 r = (i64)blockIdx.x * TEAMS + threadIdx.x / TEAM; r < listed; r += (i64)gridDim.x * TEAMS) {
        const i64 c = list[r], begin = room[c];
        const u32 entries = (u32)(room[c + 1] - begin);
        u32 size = TEAM > WARP ? TEAM : 2 * WARP;  // all of the team go on together
        while (size < entries) size *= 2;
        for (u32 i = rank; i < size; i += TEAM) {
            const u32 key = i < entries ? (u32)indices[begin + i] : NO_KEY;
            keys[i] = S::of(key == c ? NO_KEY : key, i);
        }
        sort<TEAM>(keys, size);
        u32 done = 0;
        for (u32 i = rank; i < size; i += TEAM) {
            const u32 d = S::key(keys[i]);
            const bool head = d != S::NONE && (i == 0 || S::key(keys[i - 1]) != d);
            u32 before, heads;
            if (TEAM == WARP) {
                const u32 mask = __ballot_sync(FULL, head);
                before = place_in(mask);
                heads = __popc(mask);
            } else {
                before = sum_before<WARPS>((u32)head, partial, heads);
            }
            if (head) {
                u32 end = i + 1;
                while (end < size && S::key(keys[end]) == d) end++;
                const auto equal = [=](u32 j, N& x) {
                    x = weights[begin + S::place(keys[j])];
                    return true;
                };
                const i64 to = begin + done + before;
                indices[to] = (i32)d;
                new_weights[to] = sum_of<N>(i, end, equal, spilled);
            }
            done += heads;
        }
        if (rank == 0) lengths[c + 1] = done;
        wait<TEAM>();
    }
    if (spilled) control[SPILLED] = 1;
}

// ---- rows that are marked ----
//
// A block marks a row's neighbours as bits, counts those before each word, and so knows the place of every neighbour.

// Entries of equal places are listed together, and a thread adds up those of one place. place(i) is that of entry i, or
// NO_KEY; `ends` has a word for each place and `order` one for each entry. All threads of the block call it.
template <class N, int TEAM, class Place>
__device__ void add_by_lists(u32 entries, u32 done, Place place, const N* __restrict__ weights,
                             N* __restrict__ new_weights, u32* ends, u32* order, u32* partial, bool& spilled) {
    for (u32 p = threadIdx.x; p < done; p += TEAM) ends[p] = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < entries; i += TEAM) {
        const u32 p = place(i);
        if (p != NO_KEY) atomicAdd(ends + p, 1u);
    }
    __syncthreads();
    u32 earlier = 0, sum;
    for (u32 base = 0; base < done; base += TEAM) {
        const u32 p = base + threadIdx.x, here = p < done ? peek(ends + p) : 0;
        const u32 start = earlier + sum_before<TEAM / WARP>(here, partial, sum);
        if (p < done) ends[p] = start;
        earlier += sum;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < entries; i += TEAM) {
        const u32 p = place(i);
        if (p != NO_KEY) order[atomicAdd(ends + p, 1u)] = i;
    }
    __syncthreads();
    for (u32 p = threadIdx.x; p < done; p += TEAM) {
        const auto listed = [=](u32 k, N& x) {
            x = weights[peek(order + k)];
            return true;
        };
        new_weights[p] = sum_of<N>(p ? peek(ends + p - 1) : 0, peek(ends + p), listed, spilled);
    }
    __syncthreads();
}

// A block takes a row, bits and sums being in shared memory, where there is room for so many words of sums; as many
// places as have room are added up at a time. Where the terms' exponents are too far apart for that, they are added by
// lists; rows for whose lists there is no room are listed as `far`.
template <class N, int TEAM>
__global__ void __launch_bounds__(TEAM, NEAR_RESIDENT / TEAM)
    merge_near(const i32* __restrict__ list, u32 words, u32 sums_room, i32* far, const i64* __restrict__ room,
               i32* indices, const N* __restrict__ weights, N* __restrict__ new_weights, i64* __restrict__ lengths,
               u64* control) {
    extern __shared__ uint4 shared[];
    __shared__ u32 partial[TEAM / WARP], extremes[2];
    if (threadIdx.x < 2) extremes[threadIdx.x] = 0;
    u32* sums;
    const Marks<TEAM> marks((u32*)shared, words, sums);
    const i64 c = list[blockIdx.x], begin = room[c];
    const u32 entries = (u32)(room[c + 1] - begin);
    i32* row = indices + begin;
    weights += begin;
    new_weights += begin;
    const auto neighbour = [=](u32 i) { return (u32)row[i]; };
    const auto weight = [=](u32 i) { return weights[i]; };
    Exponents<N> exponents;
    visit_row<TEAM>(neighbour, weight, entries, [&](u32 d, N x) {
        if (d == c) return;
        marks.set(d);
        exponents.note(x);
    });
    exponents.join(extremes);
    const u32 done = marks.count(partial);
    const bool narrow = exponents.fit(entries);
    if (!narrow && done + entries > sums_room) {
        if (threadIdx.x == 0) far[atomicAdd(control + FAR, 1ull)] = (i32)blockIdx.x;
        return;
    }

    bool spilled = false;
    const u32 most = sums_room / LIMBS<N>;
    for (u32 from = 0; narrow && from < done; from += most) {
        const u32 size = min(most, done - from);
        for (u32 i = threadIdx.x; i < LIMBS<N> * size; i += TEAM) sums[i] = 0;
        __syncthreads();
        visit_row<TEAM>(neighbour, weight, entries, [&](u32 d, N x) {
            const u32 p = marks.place(d) - from;
            if (d != c && p < size) add_to_limbs(sums + p, size, exponents.least, x);
        });
        __syncthreads();
        for (u32 p = threadIdx.x; p < size; p += TEAM)
            new_weights[from + p] = total_of_limbs<N>(sums + p, size, exponents.least, spilled);
        __syncthreads();
    }
    if (!narrow) {
        const auto place = [=](u32 i) { return (u32)row[i] == c ? NO_KEY : marks.place((u32)row[i]); };
        add_by_lists<N, TEAM>(entries, done, place, weights, new_weights, sums, sums + done, partial, spilled);
    }
    marks.list(row);
    if (threadIdx.x == 0) lengths[c + 1] = done;
    if (spilled) control[SPILLED] = 1;
}

// The rows that are far, of `listed` that are marked; all of them where nothing is near. A block has a bitmap of its own in
// memory, 0 before and after; `words` is the size of one, and of what is counted for it; `ends` and `order` have a word
// for each entry of the rows. Neighbours are replaced by their places.
template <class N>
__global__ void __launch_bounds__(MARK_THREADS)
    merge_marked(const i32* __restrict__ list, const i64* __restrict__ list_at, i64 listed, i64 words, u32* bitmaps,
                 u32* counted, u32* all_ends, u32* all_order, const i32* far, const i64* __restrict__ room,
                 i32* indices, const N* __restrict__ weights, N* __restrict__ new_weights, i64* __restrict__ lengths,
                 u64* control) {
    constexpr int TEAM = MARK_THREADS;
    __shared__ u32 partial[TEAM / WARP];
    u32 *bits = bitmaps + blockIdx.x * words, *before = counted + blockIdx.x * words, sum;
    bool spilled = false;
    if (far) listed = (i64)control[FAR];
    for (i64 f = blockIdx.x; f < listed; f += gridDim.x) {
        const i64 r = far ? far[f] : f, c = list[r], begin = room[c];
        const u32 entries = (u32)(room[c + 1] - begin);
        i32* row = indices + begin;
        const auto neighbour = [=](u32 i) { return (u32)row[i]; };
        for (u32 base = threadIdx.x; base < entries; base += AHEAD * TEAM) {
            u32 d[AHEAD];
            read_ahead<TEAM>(neighbour, base, entries, d);
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++)
                if (base + k * TEAM < entries && d[k] != c) atomicOr(bits + d[k] / WARP, 1u << d[k] % WARP);
        }
        __syncthreads();
        u32 done = 0;
        for (i64 base = 0; base < words; base += TEAM) {
            const i64 w = base + threadIdx.x;
            const u32 word = w < words ? peek(bits + w) : 0;
            const u32 place = done + sum_before<TEAM / WARP>((u32)__popc(word), partial, sum);
            if (w < words) before[w] = place;
            done += sum;
        }
        __syncthreads();
        for (u32 base = threadIdx.x; base < entries; base += AHEAD * TEAM) {
            u32 d[AHEAD], word[AHEAD], first[AHEAD];
            read_ahead<TEAM>(neighbour, base, entries, d);
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                word[k] = __ldcg(bits + d[k] / WARP);
                first[k] = __ldcg(before + d[k] / WARP);
            }
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                if (base + k * TEAM >= entries) break;
                const u32 p = first[k] + __popc(word[k] & ((1u << d[k] % WARP) - 1));
                row[base + k * TEAM] = (i32)(d[k] == c ? NO_KEY : p);
            }
        }
        add_by_lists<N, TEAM>(entries, done, neighbour, weights + begin, new_weights + begin, all_ends + list_at[r],
                              all_order + list_at[r], partial, spilled);
        for (i64 w = threadIdx.x; w < words; w += TEAM) {
            u32 place = before[w];
            for (u32 word = peek(bits + w); word; word &= word - 1)
                row[place++] = (i32)(w * WARP + __ffs(word) - 1);
            bits[w] = 0;
        }
        if (threadIdx.x == 0) lengths[c + 1] = done;
        __syncthreads();
    }
    if (spilled) control[SPILLED] = 1;
}

// ---- to their places ----

// Lengths of rows become their starts: indptr. And the vertex weights of members add up, in order. `sums` has a word a
// block; all blocks run at one time.
template <class V>
__global__ void __launch_bounds__(THREADS)
    place_rows(i64 count, i64 columns, const i32* __restrict__ starts, const i32* __restrict__ members,
               const V* __restrict__ weights, V* __restrict__ new_weights, i64* lengths, u64* sums, u64* control) {
    start_rows(count, lengths, sums, control);
    for (i64 c = thread_id(); c < count; c += thread_count()) {
        for (i64 j = 0; j < columns; j++) {
            V total = weights[members[starts[c]] * columns + j];
            for (i32 k = starts[c] + 1; k < starts[c + 1]; k++) total += weights[members[k] * columns + j];
            new_weights[c * columns + j] = total;
        }
    }
}

template <class W>
__global__ void move_rows(i64 count, i64 total, const i64* __restrict__ room, const i64* __restrict__ indptr,
                          const i32* __restrict__ indices, const W* __restrict__ weights,
                          i32* __restrict__ new_indices, W* __restrict__ new_weights) {
    move_tile(count, total, [=](i64 c) { return room[c]; }, indptr, indices, weights, new_indices, new_weights);
}
