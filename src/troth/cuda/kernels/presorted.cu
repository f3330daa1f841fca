// Locally-Dominant and Suitor on rows that are sorted by decreasing key: a vertex walks down its list and never turns.
//
// Reference: Md. Naim et al., Optimizing approximate weighted matching on Nvidia Kepler K40, HiPC 2015, section 2.1:
// with sorted lists the work is Theta(V + E). kernels/locally_dominant.cu and cpu/suitor.py say why no race matters.
//
// lists: the neighbours of a row, the best first; reached[v]: the place in them that v has come to. Invariant: all
// before it are matched (Locally-Dominant) or hold a better offer than v's (Suitor), and both for good. A stale, lower
// place only costs a second look.

// Three keys of every entry, the last counts most: what a stable sort needs to put each row in decreasing order.
template <class W, class K>
__global__ void list_keys(const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits,
                          i64 n, i64 total, Order order, K* __restrict__ keys) {
    for (i64 v = thread_id() / WARP; v < n; v += thread_count() / WARP) {
        for (i64 e = indptr[v] + lane_id(); e < indptr[v + 1]; e += WARP) {
            keys[e] = (u32)~priority(order, (u32)indices[e]);
            keys[total + e] = (K)~(K)bits[e];
            keys[2 * total + e] = (K)v;
        }
    }
}

// ---- Locally-Dominant ----

// Algorithm 2: the candidate of s is the first unmatched vertex of what is left of its list.
__device__ __forceinline__ void process_vertex(const i64* __restrict__ indptr, const i32* __restrict__ lists, i32 s,
                                               i64* reached, i32* candidate, i32* mate, i32* queue, u32* tail) {
    i64 e = reached[s], stop = indptr[s + 1];
    while (e < stop && peek(mate + lists[e]) >= 0) ++e;
    reached[s] = e;
    i32 t = e < stop ? lists[e] : -1;
    *(volatile i32*)(candidate + s) = t;
    if (t < 0) return;
    __threadfence();
    if (peek(candidate + t) != s || atomicCAS(mate + min(s, t), -1, max(s, t)) != -1) return;
    *(volatile i32*)(mate + max(s, t)) = min(s, t);
    u32 place = atomicAdd(tail, 2u);
    queue[place] = s;
    queue[place + 1] = t;
}

// Lines 6 and 7 of Algorithm 1: thread s processes vertex s.
__global__ void walk_all(const i64* __restrict__ indptr, const i32* __restrict__ lists, i64 n, i64* reached,
                         i32* candidate, i32* mate, i32* queue, u32* tail) {
    i64 s = thread_id();
    if (s < n) process_vertex(indptr, lists, (i32)s, reached, candidate, mate, queue, tail);
}

// Lines 9 to 12: thread i takes u = queue[start + i] and processes the neighbours that wait for u.
__global__ void walk_queue(const i64* __restrict__ indptr, const i32* __restrict__ lists, i64 start, i64 stop,
                           i64* reached, i32* candidate, i32* mate, i32* queue, u32* tail) {
    i64 i = start + thread_id();
    if (i >= stop) return;
    i32 u = queue[i], partner = peek(mate + u);
    for (i64 e = indptr[u]; e < indptr[u + 1]; ++e) {
        i32 v = lists[e];
        if (v != partner && peek(candidate + v) == u)
            process_vertex(indptr, lists, v, reached, candidate, mate, queue, tail);
    }
}

// ---- Suitor ----

// u's offer to v for a weight, made unless v holds a better one. Returns whether it was made; `held` is what v held.
template <class W>
__device__ __forceinline__ bool make_offer(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                                           const W* __restrict__ bits, const Order& order, u32 v, u64 offer,
                                           u64* state, u64& held) {
    while (wins(indptr, indices, bits, order, v, offer, held)) {
        const u64 seen = atomicCAS(state + v, held, offer);
        if (seen == held) return true;
        held = seen;
    }
    return false;
}

// Algorithm 3: thread u makes u's offer to the first of its list that takes it, and goes on with whom it displaces. A
// neighbour that refused has a better offer, and words of `state` only grow. Equal prefixes of lossy weights are
// settled in the rows as they were (indices, bits), which ascend. Vertices whose offers stand (standing[u]: at whom,
// -1 for nowhere) are left out. After `most` looks the thread leaves its vertex where it is, and says so in `stopped`.
template <class W>
__global__ void walk_suitors(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                             const W* __restrict__ bits, const i32* __restrict__ lists,
                             const W* __restrict__ list_bits, i64 n, Order order, const i32* __restrict__ standing,
                             i64 most, i64* reached, u64* state, u32* stopped) {
    if (thread_id() >= n) return;
    u32 u = (u32)thread_id();
    if (standing[u] >= 0) return;
    for (i64 looks = 0;;) {
        const u32 rank = priority(order, u);
        const i64 stop = indptr[u + 1];
        i64 e = *(volatile i64*)(reached + u);
        u64 held = 0;
        bool made = false;
        for (; e < stop && looks < most; ++e, ++looks) {
            const u32 v = (u32)lists[e];
            const u64 offer = pack(prefix(order, list_bits[e]), rank);
            held = peek(state + v);
            if (!wins(indptr, indices, bits, order, v, offer, held)) continue;
            *(volatile i64*)(reached + u) = e;  // before anyone can displace u
            __threadfence();
            made = make_offer(indptr, indices, bits, order, v, offer, state, held);
            if (made) break;
        }
        if (!made) {
            *(volatile i64*)(reached + u) = e;
            if (e < stop) *(volatile u32*)stopped = 1;
            return;
        }
        if (!held) return;  // nobody was displaced
        __threadfence();
        ++looks;
        u = vertex(order, low(held));
    }
}

// Long chains of displaced vertices are followed by pointer doubling, between two walks. Were u displaced now, it would
// go to ahead[u], the next of its list that takes its offer, and displace jump[u] there. Along jumps the pairs of a
// vertex and its neighbour only get worse in the one order of all edges, so nobody comes up twice; and two vertices of a
// chain go to different neighbours, since those held offers of different suitors. So all of a chain can move at one
// time: `marked` are those who wait, and all whom they displace, and those whom these do, and so on.

// standing[u] = the vertex that holds u's offer. All are -1 before.
__global__ void note_standing(const u64* __restrict__ state, i64 n, Order order, i32* __restrict__ standing) {
    i64 v = thread_id();
    if (v < n && state[v]) standing[vertex(order, low(state[v]))] = (i32)v;
}

template <class W>
__global__ void look_ahead(const i64* __restrict__ indptr, const i32* __restrict__ indices, const W* __restrict__ bits,
                           const i32* __restrict__ lists, const W* __restrict__ list_bits, i64 n, Order order,
                           const u64* __restrict__ state, const i32* __restrict__ standing,
                           const i64* __restrict__ reached, i64* __restrict__ ahead, i32* __restrict__ jump,
                           u8* __restrict__ marked) {
    i64 u = thread_id();
    if (u >= n) return;
    const u32 rank = priority(order, (u32)u);
    const i64 stop = indptr[u + 1];
    i64 e = reached[u] + (standing[u] >= 0);
    u64 held = 0;
    for (; e < stop; ++e) {
        held = state[lists[e]];
        if (wins(indptr, indices, bits, order, (u32)lists[e], pack(prefix(order, list_bits[e]), rank), held)) break;
    }
    ahead[u] = e;
    jump[u] = e < stop && held ? (i32)vertex(order, low(held)) : -1;
    marked[u] = e < stop && standing[u] < 0;
}

// Round k: whoever is 2^k jumps behind a marked vertex is marked, and further[u] is twice as far as jump[u]. Before it,
// all within 2^k - 1 jumps are marked; so once nobody has so far to go (more[k + 1] stays 0), all are.
__global__ void double_jumps(const i32* __restrict__ jump, i64 n, i64 k, i32* __restrict__ further, u8* marked,
                             u32* more) {
    i64 u = thread_id();
    if (u >= n || (k && !more[k])) return;
    i32 next = jump[u];
    if (next >= 0 && marked[u]) {
        marked[next] = 1;
        more[k + 1] = 1;
    }
    further[u] = next >= 0 ? jump[next] : -1;
}

// All that are marked make the offers that they looked for. The best at a vertex stands; the others wait.
template <class W>
__global__ void follow_jumps(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                             const W* __restrict__ bits, const i32* __restrict__ lists,
                             const W* __restrict__ list_bits, i64 n, Order order, const i64* __restrict__ ahead,
                             const u8* __restrict__ marked, i64* __restrict__ reached, u64* state) {
    i64 u = thread_id();
    if (u >= n || !marked[u]) return;
    const i64 e = ahead[u];
    reached[u] = e;
    if (e >= indptr[u + 1]) return;
    const u32 v = (u32)lists[e];
    u64 held = peek(state + v);
    make_offer(indptr, indices, bits, order, v, pack(prefix(order, list_bits[e]), priority(order, (u32)u)), state, held);
}

// mate[v] = the vertex whose offer v holds, -1 where it holds none.
__global__ void read_suitors(const u64* __restrict__ state, i64 n, Order order, i32* __restrict__ mate) {
    i64 v = thread_id();
    if (v < n) mate[v] = state[v] ? (i32)vertex(order, low(state[v])) : -1;
}
