// Contraction on a GPU; coarsen.py has the plan, cpu/coarsen.py says what is computed and why it does not depend on the
// order of the work.
//
// The row of a coarse vertex is that of its first member followed by that of its second. code[v] is twice the coarse
// vertex of v, plus 1 for a second member; the last bit of what comes from a second row is flipped. So the weights of
// equal keys add up, in pairs at most, to a straight sum (even key) and a crossed one, and the two make the new weight.
// Rows are put in order in several ways, by their lengths; a row is written from Row::to on, where there is room for all
// of its entries, and moved to its place once all lengths are known.
//
// T is the type of the weights as numbers: float, double, or the unsigned integer of their width.
//
// Kernels take their counts first, then what they read, then what they write, scratch and `control` last. Those that
// merge rows take which rows these are (and how they are marked), and then all alike: the rows, code, and the fine
// graph's indices and weights; new_indices and new_weights, which have room for all entries; lengths, of which the row
// of c gets lengths[c + 1]; control.

#include "grid.cuh"
#include "merging.cuh"

// ---- sums ----

template <class T> struct Sum { typedef u64 Part; typedef u64 Total; };
template <> struct Sum<float> { typedef double Part; typedef float Total; };
template <> struct Sum<double> { typedef double Part; typedef double Total; };

template <class T>
__device__ __forceinline__ typename Sum<T>::Total joined(u64 straight, u64 crossed, bool& spilled) {
    spilled |= ((straight | crossed | (straight + crossed)) >> 63) != 0;
    return straight + crossed;
}
template <class T>
__device__ __forceinline__ typename Sum<T>::Total joined(double straight, double crossed, bool& spilled) {
    T total = rounded<T>(straight + crossed);
    double check = number(total);
    spilled |= !(check - check == 0);
    return total;
}

// ---- numbers ----

// The row of a coarse vertex: where the entries of its first member start, and those of its second; where there is room
// for all; how many the first one has, and both.
struct alignas(16) Row {
    i64 start, other, to;
    u32 here, entries;

    __device__ i64 place(u32 i) const { return i < here ? start + i : other + (i - here); }
    __device__ u32 key(u32 i, const u32* __restrict__ code, const i32* __restrict__ indices) const {
        return code[indices[place(i)]] ^ (u32)(i >= here);
    }
};
SAME_SIZE(Row, ROW);

// The row of v and its mate, if it has one; v is the first member. `to` is not known yet.
__device__ __forceinline__ Row row_of_pair(const i64* __restrict__ indptr, i64 v, i32 u) {
    Row row = {};
    row.start = indptr[v];
    row.here = row.entries = (u32)(indptr[v + 1] - row.start);
    if (u >= 0) {
        row.other = indptr[u];
        row.entries += (u32)(indptr[u + 1] - row.other);
    }
    return row;
}

// Numbers the first members in order: first[c] is that of c, and c is the coarse vertex of both. Codes, rows and their
// room follow; `alone` lists the vertices without a mate, in order, and three lists the rows that are not short, by
// kind; for marked ones also how many entries of such were listed before. `sums` has two words a block. All blocks run
// at one time: first they count, then they know where to write.
__global__ void __launch_bounds__(THREADS)
    number_pairs(i64 n, const i32* __restrict__ mate, const i64* __restrict__ indptr, i32* __restrict__ coarse,
                 i32* __restrict__ first, u32* __restrict__ code, i32* __restrict__ alone, Row* __restrict__ rows,
                 i32* mediums, i32* longs, i32* marked, i64* marked_at, u64* sums, u64* control) {
    __shared__ u64 partial[WARPS];
    const Lists lists = {mediums, longs, marked, marked_at};
    const Share share(n);
    u64 members = 0, entries = 0;  // how many are first and, in the lower half, alone; and the entries of their rows
    for (i64 v = share.begin + threadIdx.x; v < share.end; v += THREADS) {
        const i32 u = mate[v];
        if (u >= 0 && u < v) continue;
        members += pack(1, u < 0);
        entries += row_of_pair(indptr, v, u).entries;
    }
    sum_block(members, sums, partial);
    sum_block(entries, sums + gridDim.x, partial);
    meet((u32*)(control + NUMBERED), gridDim.x);
    u64 all, room;
    members = sum_blocks_before(sums, partial, all);
    entries = sum_blocks_before(sums + gridDim.x, partial, room);
    const u32 count = high(all);
    if (thread_id() == 0) control[COUNT] = count;

    for (i64 base = share.begin; base < share.end; base += THREADS) {
        const i64 v = base + threadIdx.x;
        const i32 u = v < share.end ? mate[v] : 0;
        const bool is_first = v < share.end && (u < 0 || u > v);
        Row row = {};
        if (is_first) row = row_of_pair(indptr, v, u);
        u64 more;
        const u64 place = members + sum_before<WARPS>(is_first ? pack(1, u < 0) : 0, partial, more);
        members += more;
        row.to = (i64)(entries + sum_before<WARPS>((u64)row.entries, partial, more));
        entries += more;

        const u32 c = high(place);
        if (is_first) {
            first[c] = (i32)v;
            coarse[v] = (i32)c;
            code[v] = 2 * c;
            if (u >= 0) coarse[u] = (i32)c, code[u] = 2 * c + 1;
            else alone[low(place)] = (i32)v;
            rows[c] = row;
        }
        lists.add(is_first, c, row.entries, count, control);
    }
}

// ---- short rows ----

// A group of lanes compares all entries of a row; the first of equal ones adds them up and writes.
template <class T>
__global__ void __launch_bounds__(THREADS)
    merge_short(i64 count, const Row* __restrict__ rows, const u32* __restrict__ code, const i32* __restrict__ indices,
                const T* __restrict__ weights, i32* __restrict__ new_indices,
                typename Sum<T>::Total* __restrict__ new_weights, i64* __restrict__ lengths, u64* control) {
    typedef typename Sum<T>::Part Part;
    alignas(16) __shared__ u32 all_keys[THREADS / GROUP][KEYS_APART];
    __shared__ Part all_values[THREADS / GROUP][SHORT];
    const i64 c = thread_id() / GROUP;
    const u32 lane = threadIdx.x % GROUP;
    u32* keys = all_keys[threadIdx.x / GROUP];
    Part* values = all_values[threadIdx.x / GROUP];
    Row row = {};
    if (c < count) row = rows[c];
    const bool mine = c < count && row.entries <= SHORT;
    const u32 entries = mine ? row.entries : 0;
    u32 from_second = 0;  // bits of the entries that are of crossed sums
#pragma unroll
    for (int s = 0; s < EACH; s++) {
        const u32 place = s * GROUP + lane, key = place < entries ? row.key(place, code, indices) : NO_KEY;
        keys[place] = key >> 1 == c || place >= entries ? NO_KEY : key >> 1;
        if (place < entries) values[place] = (Part)number(weights[row.place(place)]);
        const u32 odd = __ballot_sync(FULL, key & 1);
        from_second |= (odd >> (lane_id() - lane) & ((1u << GROUP) - 1)) << (s * GROUP);
    }
    __syncwarp();
    const Compared all(keys, entries, warp_max(entries));
    bool spilled = false;
#pragma unroll
    for (int s = 0; s < EACH; s++) {
        const u32 place = s * GROUP + lane;
        if (!(all.leaders >> place & 1)) continue;
        Part straight = 0, crossed = 0;
        for (u32 left = all.equal[s] & ~from_second; left; left &= left - 1) straight += values[__ffs(left) - 1];
        for (u32 left = all.equal[s] & from_second; left; left &= left - 1) crossed += values[__ffs(left) - 1];
        const i64 to = row.to + __popc(all.below[s] & all.leaders);
        new_indices[to] = (i32)keys[place];
        new_weights[to] = joined<T>(straight, crossed, spilled);
    }
    if (mine && lane == 0) lengths[c + 1] = __popc(all.leaders);
    if (spilled) control[SPILLED] = 1;
}

// ---- rows that are sorted ----

// A team sorts (key, place in the row) of a listed row; the first of equal neighbours finds the others behind it.
template <class T, class K, int TEAM, int ROOM>
__global__ void __launch_bounds__(THREADS)
    merge_sorted(const i32* __restrict__ list, i64 listed, const Row* __restrict__ rows,
                 const u32* __restrict__ code, const i32* __restrict__ indices, const T* __restrict__ weights,
                 i32* __restrict__ new_indices,
                 typename Sum<T>::Total* __restrict__ new_weights, i64* __restrict__ lengths, u64* control) {
    typedef Sorted<K, ROOM> S;
    static_assert(ROOM >= TEAM && ROOM >= 2 * WARP, "as many as are sorted at least");
    constexpr int TEAMS = THREADS / TEAM;
    __shared__ K all_keys[TEAMS][ROOM];
    __shared__ u32 partial[WARPS];
    const u32 rank = threadIdx.x % TEAM;
    K* keys = all_keys[threadIdx.x / TEAM];
    bool spilled = false;
    for (i64 r = (i64)blockIdx.x * TEAMS + threadIdx.x / TEAM; r < listed; r += (i64)gridDim.x * TEAMS) {
        const i64 c = list[r];
        const Row row = rows[c];
        u32 size = TEAM > WARP ? TEAM : 2 * WARP;  // all of the team go on together
        while (size < row.entries) size *= 2;
        for (u32 i = rank; i < size; i += TEAM) {
            u32 key = i < row.entries ? row.key(i, code, indices) : NO_KEY;
            keys[i] = S::of(key >> 1 == c ? NO_KEY : key, i);
        }
        sort<TEAM>(keys, size);
        u32 done = 0;
        for (u32 i = rank; i < size; i += TEAM) {
            const u32 key = S::key(keys[i]), d = key >> 1;
            const bool head = key != S::NONE && (i == 0 || S::key(keys[i - 1]) >> 1 != d);
            u32 before, heads;
            if (TEAM == WARP) {
                u32 mask = __ballot_sync(FULL, head);
                before = place_in(mask);
                heads = __popc(mask);
            } else {
                before = sum_before<WARPS>((u32)head, partial, heads);
            }
            if (head) {
                typename Sum<T>::Part straight = 0, crossed = 0;
                for (u32 j = i; j < size && S::key(keys[j]) >> 1 == d; j++)
                    (S::key(keys[j]) & 1 ? crossed : straight) += number(weights[row.place(S::place(keys[j]))]);
                i64 to = row.to + done + before;
                new_indices[to] = (i32)d;
                new_weights[to] = joined<T>(straight, crossed, spilled);
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
// A block marks a row's neighbours as bits, counts those before each word, and so knows the place of every neighbour;
// weights meet there by atomic additions, two at most in a sum.

// A block takes a row, bits and sums being in shared memory, where there is room for so many words of sums; as many
// places as have room are added up at a time.
template <class T, int TEAM>
__global__ void __launch_bounds__(TEAM, NEAR_RESIDENT / TEAM)
    merge_near(const i32* __restrict__ list, u32 words, u32 sums_room, const Row* __restrict__ rows,
               const u32* __restrict__ code, const i32* __restrict__ indices, const T* __restrict__ weights,
               i32* __restrict__ new_indices, typename Sum<T>::Total* __restrict__ new_weights,
               i64* __restrict__ lengths, u64* control) {
    typedef typename Sum<T>::Part Part;
    extern __shared__ uint4 shared[];
    __shared__ u32 partial[TEAM / WARP];
    u32* rest;
    const Marks<TEAM> marks((u32*)shared, words, rest);
    Part* sums = (Part*)rest;
    const i64 c = list[blockIdx.x];
    const Row row = rows[c];
    const auto key_at = [=](u32 i) { return row.key(i, code, indices); };
    const auto weight = [=](u32 i) { return (Part)number(weights[row.place(i)]); };
    for (u32 base = threadIdx.x; base < row.entries; base += AHEAD * TEAM) {
        u32 key[AHEAD];
        read_ahead<TEAM>(key_at, base, row.entries, key);
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++)
            if (base + k * TEAM < row.entries && key[k] >> 1 != c) marks.set(key[k] >> 1);
    }
    const u32 done = marks.count(partial);
    const u32 most = sums_room * sizeof(u32) / (2 * sizeof(Part));
    bool spilled = false;
    for (u32 from = 0; from < done; from += most) {
        const u32 size = min(most, done - from);
        for (u32 i = threadIdx.x; i < 2 * size; i += TEAM) sums[i] = 0;
        __syncthreads();
        visit_row<TEAM>(key_at, weight, row.entries, [&](u32 key, Part x) {
            const u32 p = marks.place(key >> 1) - from;
            if (key >> 1 != c && p < size) atomicAdd(sums + 2 * p + (key & 1), x);
        });
        __syncthreads();
        for (u32 p = threadIdx.x; p < size; p += TEAM)
            new_weights[row.to + from + p] = joined<T>(sums[2 * p], sums[2 * p + 1], spilled);
        __syncthreads();
    }
    marks.list(new_indices + row.to);
    if (threadIdx.x == 0) lengths[c + 1] = done;
    if (spilled) control[SPILLED] = 1;
}

// A block marks listed rows in a bitmap of its own in memory, 0 before and after; `words` is the size of one, and of
// what is counted for it.
template <class T>
__global__ void __launch_bounds__(MARK_THREADS)
    merge_marked(const i32* __restrict__ list, const i64* __restrict__ list_at, i64 listed, i64 words, u32* bitmaps,
               u32* counted, typename Sum<T>::Part* sums, const Row* __restrict__ rows,
               const u32* __restrict__ code, const i32* __restrict__ indices, const T* __restrict__ weights,
               i32* __restrict__ new_indices,
               typename Sum<T>::Total* __restrict__ new_weights, i64* __restrict__ lengths, u64* control) {
    constexpr int TEAM = MARK_THREADS;
    __shared__ u32 partial[TEAM / WARP];
    u32 *bits = bitmaps + blockIdx.x * words, *before = counted + blockIdx.x * words;
    bool spilled = false;
    for (i64 r = blockIdx.x; r < listed; r += gridDim.x) {
        const i64 c = list[r];
        const Row row = rows[c];
        const i64 to = row.to;
        typename Sum<T>::Part* own = sums + 2 * list_at[r];
        const auto read = [=](u32 i) { return row.key(i, code, indices); };
        for (u32 base = threadIdx.x; base < row.entries; base += AHEAD * TEAM) {
            u32 key[AHEAD];
            read_ahead<TEAM>(read, base, row.entries, key);
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                const u32 d = key[k] >> 1;
                if (base + k * TEAM < row.entries && d != c) atomicOr(bits + d / WARP, 1u << d % WARP);
            }
        }
        __syncthreads();
        u32 done = 0;
        for (i64 base = 0; base < words; base += TEAM) {
            i64 w = base + threadIdx.x;
            u32 word = w < words ? peek(bits + w) : 0, sum;
            u32 at = done + sum_before<TEAM / WARP>((u32)__popc(word), partial, sum);
            if (w < words) before[w] = at;
            for (; word; word &= word - 1) new_indices[to + at++] = (i32)(w * WARP + __ffs(word) - 1);
            done += sum;
        }
        for (u32 i = threadIdx.x; i < 2 * done; i += TEAM) own[i] = 0;
        __syncthreads();
        for (u32 base = threadIdx.x; base < row.entries; base += AHEAD * TEAM) {
            u32 key[AHEAD], word[AHEAD], first[AHEAD];
            typename Sum<T>::Part weight[AHEAD];
            read_ahead<TEAM>(read, base, row.entries, key);
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                const u32 i = base + k * TEAM, d = key[k] >> 1;
                word[k] = __ldcg(bits + d / WARP);
                first[k] = __ldcg(before + d / WARP);
                weight[k] = i < row.entries ? (typename Sum<T>::Part)number(weights[row.place(i)]) : 0;
            }
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                const u32 d = key[k] >> 1, at = first[k] + __popc(word[k] & ((1u << d % WARP) - 1));
                if (base + k * TEAM < row.entries && d != c) atomicAdd(own + 2 * at + (key[k] & 1), weight[k]);
            }
        }
        __syncthreads();
        for (u32 i = threadIdx.x; i < done; i += TEAM)
            new_weights[to + i] = joined<T>(peek(own + 2 * i), peek(own + 2 * i + 1), spilled);
        for (i64 w = threadIdx.x; w < words; w += TEAM) bits[w] = 0;
        if (threadIdx.x == 0) lengths[c + 1] = done;
        __syncthreads();
    }
    if (spilled) control[SPILLED] = 1;
}

// ---- to their places ----

// Lengths of rows, lengths[c + 1], become their starts: indptr, in the same place. And the vertex weights of members add
// up. `sums` has a word a block; all blocks run at one time.
template <class V>
__global__ void __launch_bounds__(THREADS)
    place_rows(i64 count, i64 columns, const i32* __restrict__ first, const i32* __restrict__ mate,
               const V* __restrict__ weights, V* __restrict__ new_weights, i64* lengths, u64* sums, u64* control) {
    start_rows(count, lengths, sums, control);
    for (i64 c = thread_id(); c < count; c += thread_count()) {
        const i32 v = first[c], u = mate[v];
        for (i64 j = 0; j < columns; j++)
            new_weights[c * columns + j] = weights[v * columns + j] + (u >= 0 ? weights[u * columns + j] : (V)0);
    }
}

template <class W>
__global__ void move_rows(i64 count, i64 total, const Row* __restrict__ rows, const i64* __restrict__ indptr,
                          const i32* __restrict__ indices, const W* __restrict__ weights,
                          i32* __restrict__ new_indices, W* __restrict__ new_weights) {
    move_tile(count, total, [=](i64 c) { return rows[c].to; }, indptr, indices, weights, new_indices, new_weights);
}

// ---- pairs that are no neighbours ----

// Of vertices with equal keys, which are in order, pair the first two, the next two, and so on.
__device__ void pair_equal(i64 count, const Keyed* sorted, i32* mate) {
    for (i64 i = thread_id(); i + 1 < count; i += thread_count()) {
        const Keyed here = Keyed::fetch(sorted + i), next = Keyed::fetch(sorted + i + 1);
        if (here.key != next.key) continue;
        if ((i - first_of_key(sorted, i)) % 2) continue;
        mate[here.vertex] = (i32)next.vertex;
        mate[next.vertex] = (i32)here.vertex;
    }
}
__global__ void pair_sorted(i64 count, const Keyed* sorted, i32* mate) { pair_equal(count, sorted, mate); }

// Keys of vertices, which ascend: hashes of their neighbours, as on the CPU. A warp takes a vertex. Where they are few,
// those with equal keys are paired too, and all blocks run at one time.
__global__ void __launch_bounds__(THREADS)
    pair_twins(i64 count, i64 few, const i32* __restrict__ vertices, const i64* __restrict__ indptr,
               const i32* __restrict__ indices, Keyed* keyed, u32* arrived, i32* mate) {
    for (i64 i = thread_id() / WARP; i < count; i += thread_count() / WARP) {
        const i32 v = vertices[i];
        u64 total = 0;
        for (i64 e = indptr[v] + lane_id(); e < indptr[v + 1]; e += WARP) total += mix64((u64)indices[e]);
        total = warp_sum(total);
        if (lane_id() == 0) keyed[i] = {total, v};
    }
    if (few) pair_equal(count, sort_together(count, keyed, arrived), mate);
}

// The same, but keys are the strongest neighbours, by the exact weights; the greatest number where there is none.
template <class W>
__global__ void __launch_bounds__(THREADS)
    pair_relatives(i64 count, i64 few, const i32* __restrict__ vertices, const i64* __restrict__ indptr,
                   const i32* __restrict__ indices, const W* __restrict__ bits, Order order, Keyed* keyed,
                   u32* arrived, i32* mate) {
    for (i64 i = thread_id() / WARP; i < count; i += thread_count() / WARP) {
        const i32 v = vertices[i];
        u64 most = 0;
        u32 best = 0;
        for (i64 e = indptr[v] + lane_id(); e < indptr[v + 1]; e += WARP) {
            u64 weight = bits[e];
            u32 rank = priority(order, (u32)indices[e]);
            if (weight > most || (weight == most && rank > best)) {
                most = weight;
                best = rank;
            }
        }
        const u64 heaviest = warp_max(most);
        best = warp_max(most == heaviest ? best : 0u);
        if (lane_id() == 0) keyed[i] = {heaviest ? vertex(order, best) : 0xffffffffull, v};
    }
    if (few) pair_equal(count, sort_together(count, keyed, arrived), mate);
}

// ---- edges between vertices that are light enough ----

template <class V>
__device__ __forceinline__ bool fits(i64 columns, const V* __restrict__ weights, const V* __restrict__ limits, i64 u,
                                     i64 v) {
    bool good = true;
    for (i64 j = 0; j < columns; j++) good &= weights[u * columns + j] + weights[v * columns + j] <= limits[j];
    return good;
}

// lengths[v + 1] = how many neighbours of v fit; lengths[0] = 0. A warp takes a row.
template <class V>
__global__ void count_fitting(i64 n, i64 columns, const i64* __restrict__ indptr, const i32* __restrict__ indices,
                              const V* __restrict__ weights, const V* __restrict__ limits, i64* __restrict__ lengths) {
    i64 v = thread_id() / WARP;
    if (v >= n) return;
    u64 count = 0;
    for (i64 e = indptr[v] + lane_id(); e < indptr[v + 1]; e += WARP)
        count += fits(columns, weights, limits, v, indices[e]);
    count = warp_sum(count);
    if (lane_id() == 0) lengths[v + 1] = (i64)count;
    if (v == 0 && lane_id() == 0) lengths[0] = 0;
}

// Copy the entries whose neighbours fit, in order.
template <class V, class W>
__global__ void copy_fitting(i64 n, i64 columns, const i64* __restrict__ indptr, const i32* __restrict__ indices,
                             const W* __restrict__ bits, const V* __restrict__ weights, const V* __restrict__ limits,
                             const i64* __restrict__ new_indptr, i32* __restrict__ new_indices,
                             W* __restrict__ new_bits) {
    i64 v = thread_id() / WARP;
    if (v >= n) return;
    i64 to = new_indptr[v], stop = indptr[v + 1];
    for (i64 start = indptr[v]; start < stop; start += WARP) {
        i64 e = start + lane_id();
        bool kept = e < stop && fits(columns, weights, limits, v, indices[e]);
        u32 mask = __ballot_sync(FULL, kept);
        if (kept) {
            new_indices[to + place_in(mask)] = indices[e];
            new_bits[to + place_in(mask)] = bits[e];
        }
        to += __popc(mask);
    }
}
