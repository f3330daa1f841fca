// One-way handshaking: the six kernels of the course project, and a search for strongest neighbours in one pass.
//
// Reference: Efficient Parallel Graph Matching, a course project at Rutgers University (2020). The names of the six
// kernels, their arguments, the order of these and what they mean are the course project's; so inputs and outputs, old
// and new, alternate. `Order` is added; with ties="low" it is the course project's rule: of equally heavy neighbours the
// one with the smaller number. W is the type of the weights' bits, S that of the sums (i64 from 2^31 edges on).
//
// The graph is a list of edges (src, dst, weight)[0..num_edges), both directions of each, those of one source together:
// a segment.
//
// Invariant (section 2.4): of T threads, thread t handles the items t, t + T, t + 2 T, ..., so that neighbouring
// threads read neighbouring words; each output word depends on the inputs alone, so any T gives the same output.

constexpr int BLOCK = HOST_BLOCK;  // threads of a block of `find_strongest`
constexpr int AHEAD = 4;           // entries of a row that a lane reads at a time

// What the neighbours of a vertex compare by: the exact bits of the weight, then the priority. No weight is 0, so
// {0, 0} is nobody.
template <class W>
struct Key {
    W bits;
    u32 rank;
};

// Without branches: which of two keys is greater is anyone's guess.
template <class W>
__device__ __forceinline__ bool operator<(const Key<W>& a, const Key<W>& b) {
    return (a.bits < b.bits) | ((a.bits == b.bits) & (a.rank < b.rank));
}

template <class W>
__device__ __forceinline__ Key<W> greater(const Key<W>& a, const Key<W>& b) {
    bool other = a < b;
    return {other ? b.bits : a.bits, other ? b.rank : a.rank};
}

// ---- the six kernels ----

// new[i] = the stronger of old[i] and, where that is of the same source, old[i - distance]; made_changes[0] = 1 if and
// only if new_dst differs from old_dst anywhere. After distances 1, 2, ..., d/2 an item is the strongest of the last d
// items of its segment up to it. When the pass of distance d changes nothing, it beats the d items before those, which
// beat the d before them, and so on: it is the strongest of all.
template <class W>
__global__ void strongest_neighbour_scan(const i32* __restrict__ src, const i32* __restrict__ old_dst,
                                         i32* __restrict__ new_dst, const W* __restrict__ old_weight,
                                         W* __restrict__ new_weight, i32* __restrict__ made_changes, i64 distance,
                                         i64 num_edges, Order order) {
    bool changed = false;
    for (i64 i = thread_id(); i < num_edges; i += thread_count()) {
        i32 dst = old_dst[i];
        W weight = old_weight[i];
        if (i >= distance && src[i] == src[i - distance]) {
            i32 other = old_dst[i - distance];
            W other_weight = old_weight[i - distance];
            Key<W> here = {weight, priority(order, dst)}, there = {other_weight, priority(order, other)};
            if (here < there) {
                changed |= dst != other;
                dst = other;
                weight = other_weight;
            }
        }
        new_dst[i] = dst;
        new_weight[i] = weight;
    }
    if (__syncthreads_or(changed) && threadIdx.x == 0) *made_changes = 1;
}

// output[v] = scan_result at the end of v's segment. Vertices without a segment keep what they have.
__global__ void collate_segments(const i32* __restrict__ src, const i32* __restrict__ scan_result,
                                 i32* __restrict__ output, i64 num_edges) {
    for (i64 i = thread_id(); i < num_edges; i += thread_count()) {
        i32 v = src[i];
        if (i + 1 == num_edges || src[i + 1] != v) output[v] = scan_result[i];
    }
}

// matches[v] = strong_neighbour[v], where v is unmatched (-1) and that neighbour points back.
__global__ void check_handshaking(const i32* __restrict__ strong_neighbour, i32* __restrict__ matches,
                                  i32 num_nodes) {
    for (i64 v = thread_id(); v < num_nodes; v += thread_count()) {
        i32 strongest = strong_neighbour[v];
        if (strongest >= 0 && strong_neighbour[strongest] == v && matches[v] == -1) matches[v] = strongest;
    }
}

// keep_edges[i] = 1 where both ends of edge i are unmatched, else 0.
template <class S>
__global__ void mark_filter_edges(const i32* __restrict__ src, const i32* __restrict__ dst,
                                  const i32* __restrict__ matches, S* __restrict__ keep_edges, i64 num_edges) {
    for (i64 i = thread_id(); i < num_edges; i += thread_count()) {
        keep_edges[i] = matches[src[i]] == -1 && matches[dst[i]] == -1;
    }
}

// Distance 0: new_sum[x] = old_sum[x - 1], and 0 at the front; the last item of old_sum is not read. Else new_sum[x] =
// old_sum[x] + old_sum[x - distance], if there is such an item. So the distances 0, 1, 2, 4, ... make new_sum[x] the
// sum of all items before x.
template <class S>
__global__ void exclusive_prefix_sum(const S* __restrict__ old_sum, S* __restrict__ new_sum, i64 distance,
                                     i64 num_elements) {
    for (i64 x = thread_id(); x < num_elements; x += thread_count()) {
        if (distance == 0) new_sum[x] = x > 0 ? old_sum[x - 1] : 0;
        else new_sum[x] = x >= distance ? old_sum[x] + old_sum[x - distance] : old_sum[x];
    }
}

// new[edge_map[x]] = old[x] for the edges that are kept, those x with edge_map[x] != edge_map[x + 1].
template <class W, class S>
__global__ void pack_graph(i32* __restrict__ new_src, const i32* __restrict__ old_src, i32* __restrict__ new_dst,
                           const i32* __restrict__ old_dst, W* __restrict__ new_weight,
                           const W* __restrict__ old_weight, const S* __restrict__ edge_map, i64 num_edges) {
    for (i64 x = thread_id(); x < num_edges; x += thread_count()) {
        S place = edge_map[x];
        if (edge_map[x + 1] != place) {
            new_src[place] = old_src[x];
            new_dst[place] = old_dst[x];
            new_weight[place] = old_weight[x];
        }
    }
}

// ---- from rows to the list of edges ----

// src[e] = v for the entries e of row v: a warp a row.
__global__ void list_sources(const i64* __restrict__ indptr, i32 num_nodes, i32* __restrict__ src) {
    for (i64 v = thread_id() / WARP; v < num_nodes; v += thread_count() / WARP) {
        i64 stop = indptr[v + 1];
        for (i64 e = indptr[v] + lane_id(); e < stop; e += WARP) src[e] = v;
    }
}

// ---- strongest neighbours in one pass ----

// The greatest key of a group of LANES lanes, known to all of them. All lanes of the warp call it.
template <int LANES, class W>
__device__ __forceinline__ Key<W> greatest(Key<W> key) {
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
        Key<W> other = {(W)__shfl_xor_sync(FULL, key.bits, apart), __shfl_xor_sync(FULL, key.rank, apart)};
        key = greater(key, other);
    }
    return key;
}

// The greatest key of the entries start, start + step, ... of a row. AHEAD of them are read at a time, since who waits
// for one word may as well wait for more. Past the end it is the last entry, once more: a maximum does not mind.
template <class W>
__device__ __forceinline__ Key<W> look(const i32* __restrict__ indices, const W* __restrict__ bits, const Order& order,
                                       i64 start, i64 stop, int step) {
    Key<W> best = {};
    for (i64 e = start; e < stop; e += AHEAD * step) {
        W weights[AHEAD];
        i32 neighbours[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            i64 place = min(e + k * step, stop - 1);
            weights[k] = bits[place];
            neighbours[k] = indices[place];
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++) best = greater(best, {weights[k], priority(order, neighbours[k])});
    }
    return best;
}

template <class W>
__device__ __forceinline__ i32 owner(const Order& order, const Key<W>& key) {
    return key.bits ? (i32)vertex(order, key.rank) : -1;
}

// strongest[v] = the neighbour of v with the greatest key, -1 where there is none. LANES lanes look at a short row, and
// a whole block at each of its long ones.
template <class W, int LANES>
__global__ void find_strongest(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                               const W* __restrict__ bits, Order order, i32 num_nodes, i32* __restrict__ strongest) {
    constexpr int GROUPS = BLOCK / LANES;
    constexpr i64 LONG = 32 * LANES;  // entries
    __shared__ i32 long_rows[GROUPS];
    __shared__ Key<W> parts[BLOCK / WARP];
    int lane = threadIdx.x % LANES, group = threadIdx.x / LANES;
    i64 v = (i64)blockIdx.x * GROUPS + group, start = 0, stop = 0;
    if (v < num_nodes) {
        start = indptr[v];
        stop = indptr[v + 1];
    }
    bool is_long = stop - start > LONG;
    if (lane == 0) long_rows[group] = is_long ? (i32)v : -1;
    Key<W> best = look(indices, bits, order, start + lane, is_long ? start : stop, LANES);
    best = greatest<LANES>(best);
    if (v < num_nodes && lane == 0 && !is_long) strongest[v] = owner(order, best);

    if (!__syncthreads_or(is_long)) return;
    for (int k = 0; k < GROUPS; k++) {
        i32 row = long_rows[k];
        if (row < 0) continue;
        best = look(indices, bits, order, indptr[row] + threadIdx.x, indptr[row + 1], BLOCK);
        best = greatest<WARP>(best);
        if (lane_id() == 0) parts[threadIdx.x / WARP] = best;
        __syncthreads();
        if (threadIdx.x == 0) {
            for (int part = 1; part < BLOCK / WARP; part++) best = greater(best, parts[part]);
            strongest[row] = owner(order, best);
        }
        __syncthreads();
    }
}
