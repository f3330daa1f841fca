// Of kernels whose blocks meet: the host launches no more blocks than can run at one time, each takes its share of the
// work, and what blocks find before a meeting is known to all after it. Sums over all that comes before a block, and
// sorting by the whole grid. HOST_THREADS is the size of all of these blocks.

constexpr int THREADS = HOST_THREADS;
constexpr int WARPS = THREADS / WARP;
constexpr i64 CHUNK = 2048;  // items that a block sorts

// ---- sums over blocks ----

// sums[b] = the sum of the values of the threads of block b.
__device__ void sum_block(u64 value, u64* sums, u64* partial) {
    u64 sum;
    sum_before<WARPS>(value, partial, sum);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// When the blocks have met: the sum of those before this one; `all` is that of all.
__device__ u64 sum_blocks_before(const u64* sums, u64* partial, u64& all) {
    u64 value = 0, earlier = 0, before;
    for (u32 b = threadIdx.x; b < gridDim.x; b += THREADS) {
        value += peek(sums + b);
        if (b < blockIdx.x) earlier += peek(sums + b);
    }
    sum_before<WARPS>(value, partial, all);
    sum_before<WARPS>(earlier, partial, before);
    return before;
}

// The part of 0..size-1 that is this block's.
struct Share {
    i64 begin, end;

    __device__ explicit Share(i64 size) {
        i64 turns = (size + thread_count() - 1) / thread_count();
        begin = min(size, blockIdx.x * turns * THREADS);
        end = min(size, begin + turns * THREADS);
    }
};

// ---- lists in order ----

// Writes those of 0..n-1 for which `belongs` holds: write(place, item), places in the order of the items. Returns how
// many there are. `sums` has a word a block; `arrived` is 0. All threads of all blocks call it.
template <class Belongs, class Write>
__device__ u64 list_in_order(i64 n, u64* sums, u32* arrived, u32 target, Belongs belongs, Write write) {
    __shared__ u64 partial[WARPS];
    const Share share(n);
    u64 mine = 0, all, more;
    for (i64 v = share.begin + threadIdx.x; v < share.end; v += THREADS) mine += belongs(v);
    sum_block(mine, sums, partial);
    meet(arrived, target);
    u64 before = sum_blocks_before(sums, partial, all);
    if (!all) return 0;
    for (i64 base = share.begin; base < share.end; base += THREADS) {
        const i64 v = base + threadIdx.x;
        const bool listed = v < share.end && belongs(v);
        const u64 place = before + sum_before<WARPS>((u64)listed, partial, more);
        before += more;
        if (listed) write(place, v);
    }
    return all;
}

// ---- sorting ----

// A warp or a whole block.
template <int TEAM>
__device__ __forceinline__ void wait() {
    if (TEAM == WARP) __syncwarp();
    else __syncthreads();
}

// keys[0..size) in order, `size` being a power of two: K. E. Batcher, Sorting networks and their applications, 1968.
template <int TEAM, class K>
__device__ void sort(K* keys, u32 size) {
    for (u32 width = 2; width <= size; width *= 2) {
        for (u32 apart = width / 2; apart; apart /= 2) {
            wait<TEAM>();
            for (u32 i = threadIdx.x % TEAM; i < size / 2; i += TEAM) {
                u32 low = 2 * i - (i & (apart - 1));
                const K a = keys[low], b = keys[low + apart];
                if ((a > b) == !(low & width)) {
                    keys[low] = b;
                    keys[low + apart] = a;
                }
            }
        }
    }
    wait<TEAM>();
}

// A vertex and what it is compared by. No two are equal, so any sort is stable.
struct alignas(16) Keyed {
    u64 key;
    i64 vertex;

    __device__ bool operator>(const Keyed& other) const {
        return key > other.key || (key == other.key && vertex > other.vertex);
    }
    __device__ static Keyed fetch(const Keyed* at) { return {peek(&at->key), peek(&at->vertex)}; }
};
SAME_SIZE(Keyed, KEYED);

// Sorts keyed[0..count): chunks in shared memory, then twice as long runs in every round, to the other side, `count`
// places on, and back; an item's place is its own plus the number of those in the other run that go before it. Returns
// the side where all is sorted. All blocks run at one time.
__device__ Keyed* sort_together(i64 count, Keyed* keyed, u32* arrived) {
    __shared__ Keyed chunk[CHUNK];
    Keyed *from = keyed, *to = keyed + count;
    u32 met = 0;
    meet(arrived, ++met * gridDim.x);
    for (i64 start = (i64)blockIdx.x * CHUNK; start < count; start += (i64)gridDim.x * CHUNK) {
        const u32 items = (u32)min(CHUNK, count - start);
        u32 size = 2;
        while (size < items) size *= 2;
        for (u32 i = threadIdx.x; i < size; i += THREADS)
            chunk[i] = i < items ? Keyed::fetch(from + start + i) : Keyed{~0ull, count + i};
        sort<THREADS>(chunk, size);
        for (u32 i = threadIdx.x; i < items; i += THREADS) from[start + i] = chunk[i];
        __syncthreads();
    }
    meet(arrived, ++met * gridDim.x);
    for (i64 run = CHUNK; run < count; run *= 2) {
        for (i64 i = thread_id(); i < count; i += thread_count()) {
            const Keyed item = Keyed::fetch(from + i);
            const i64 begin = i / run * run, other = min(begin ^ run, count);
            i64 low = other, high = min(other + run, count);
            while (low < high) {
                i64 middle = (low + high) >> 1;
                if (item > Keyed::fetch(from + middle)) low = middle + 1;
                else high = middle;
            }
            to[min(begin, other) + (i - begin) + (low - other)] = item;
        }
        meet(arrived, ++met * gridDim.x);
        Keyed* sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

// The first place of the key at place i of a sorted list.
__device__ inline i64 first_of_key(const Keyed* sorted, i64 i) {
    const u64 key = peek(&sorted[i].key);
    i64 begin = 0, end = i;
    while (begin < end) {
        i64 middle = (begin + end) >> 1;
        if (peek(&sorted[middle].key) < key) begin = middle + 1;
        else end = middle;
    }
    return begin;
}
