// GPU-LD: a thread a vertex; every vertex keeps a candidate, and those who are each other's candidate match.
//
// Reference: Md. Naim et al., Optimizing approximate weighted matching on Nvidia Kepler K40, HiPC 2015, Algorithms 1
// and 2; M. Halappanavar, J. Feo, O. Villa, A. Tumeo and A. Pothen, Approximate weighted matching on emerging manycore
// and multithreaded architectures, IJHPCA 26(4), 2012, for the GPU.
//
// candidate[v], mate[v]: -1 for none. queue[0..tail[0]): the matched vertices, each once. Q_C is the stretch that was
// queued by the launch before, Q_N what this launch adds.
//
// Invariant: between two launches the candidate of an unmatched vertex is its heaviest unmatched neighbour (-1: none),
// or a matched one that is in Q_C; and no two unmatched vertices are each other's candidates.
//
// Why it holds, whatever the threads of one launch see of each other:
//
// 1. One thread processes s. The first launch meets s once. Later, the candidate of s before the launch is one vertex
//    u, which is in Q_C once. The new candidate was read as unmatched, so it is not in Q_C, all of which was matched
//    before the launch: no other thread of the launch finds s waiting for it.
// 2. What is mutual stays so. Let s be unmatched before the launch, and a thread of the launch read candidate[t] == s.
//    If t is processed in this launch, its candidate was -1 or in Q_C before, not s; so s is the one candidate that t
//    takes in this launch. If not, t keeps s. A candidate that is one's mate stays: its thread in a later launch passes
//    over its mate.
// 3. A mutual pair is found by one thread or by both. If one end wrote its candidate in an earlier launch, the other
//    sees it. If both write in this one, each writes its own candidate, fences, and reads the other's. __threadfence is
//    sequentially consistent: one fence is before the other, and whoever has the later one reads what was written
//    before the earlier one.
// 4. A pair is queued once: by the thread whose compare-and-swap of the smaller end's mate succeeds.
// 5. Nobody waits in vain. mate[t] goes from -1 to a vertex, once, so a stale read shows a matched t as free, never a
//    free one as matched. Hence a candidate is at least as good as the heaviest unmatched neighbour. If t was matched
//    in this launch, it is in Q_N, and in the next launch its thread finds candidate[s] == t and processes s again.
//
// When Q_C is empty, the candidate of an unmatched vertex is unmatched. Preferences have no cycles, so if there were
// any such candidates, they would lead to a mutual pair; there is none. So the matching is maximal, and stable by 5.

// Lines 2 to 7 of Algorithm 2: the heaviest unmatched neighbour of s by (exact weight, priority), or -1.
template <class W>
__device__ __forceinline__ i32 find_candidate(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                                              const W* __restrict__ bits, const Order& order, i32 s, const i32* mate) {
    i32 best = -1;
    u32 rank = 0;
    W heaviest = 0;
    i64 stop = indptr[s + 1];
    for (i64 e = indptr[s]; e < stop; ++e) {
        W weight = bits[e];
        if (weight < heaviest) continue;
        i32 t = indices[e];
        u32 other = priority(order, (u32)t);
        if ((weight > heaviest || other > rank) && peek(mate + t) < 0) {
            best = t;
            rank = other;
            heaviest = weight;
        }
    }
    return best;
}

// Algorithm 2: candidate[s] = the best that is left; if the choice is mutual, the two are mates and go to the queue.
template <class W>
__device__ __forceinline__ void process_vertex(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                                               const W* __restrict__ bits, const Order& order, i32 s, i32* candidate,
                                               i32* mate, i32* queue, u32* tail) {
    i32 t = find_candidate(indptr, indices, bits, order, s, mate);
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
template <class W>
__global__ void process_all(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                            const W* __restrict__ bits, Order order, i64 n, i32* candidate, i32* mate, i32* queue,
                            u32* tail) {
    i64 s = thread_id();
    if (s < n) process_vertex(indptr, indices, bits, order, (i32)s, candidate, mate, queue, tail);
}

// Lines 9 to 12: thread i takes u = queue[start + i] and processes the neighbours that wait for u. Only u's own mate
// keeps u as its candidate for good.
template <class W>
__global__ void process_queue(const i64* __restrict__ indptr, const i32* __restrict__ indices,
                              const W* __restrict__ bits, Order order, i64 start, i64 stop, i32* candidate, i32* mate,
                              i32* queue, u32* tail) {
    i64 i = start + thread_id();
    if (i >= stop) return;
    i32 u = queue[i], partner = peek(mate + u);
    i64 end = indptr[u + 1];
    for (i64 e = indptr[u]; e < end; ++e) {
        i32 v = indices[e];
        if (v != partner && peek(candidate + v) == u)
            process_vertex(indptr, indices, bits, order, v, candidate, mate, queue, tail);
    }
}
