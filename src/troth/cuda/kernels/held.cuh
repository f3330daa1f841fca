// What a vertex holds while rows come in batches: for batches.cu. Keys are of two neighbours of one vertex, or of two
// offers to it, and compare by (weight, priority).

template <bool LOSSY>
struct Key {
    u64 word;

    template <class W>
    __device__ __forceinline__ static Key of(const Order& order, W bits, u32 rank) {
        return {pack(prefix(order, bits), rank)};
    }
    __device__ __forceinline__ bool operator>(const Key& other) const { return word > other.word; }
    __device__ __forceinline__ bool operator==(const Key& other) const { return word == other.word; }
    __device__ __forceinline__ bool is_none() const { return !word; }
    __device__ __forceinline__ u32 rank() const { return low(word); }
    __device__ __forceinline__ Key shuffle_xor(int step) const { return {__shfl_xor_sync(FULL, word, step)}; }
};

// Where prefixes are lossy, with the exact weight.
template <>
struct Key<true> {
    u64 weight;
    u32 its_rank;

    template <class W>
    __device__ __forceinline__ static Key of(const Order&, W bits, u32 rank) {
        return {(u64)bits, rank};
    }
    __device__ __forceinline__ bool operator>(const Key& other) const {
        return weight > other.weight || (weight == other.weight && its_rank > other.its_rank);
    }
    __device__ __forceinline__ bool operator==(const Key& other) const {
        return weight == other.weight && its_rank == other.its_rank;
    }
    __device__ __forceinline__ bool is_none() const { return !weight; }
    __device__ __forceinline__ u32 rank() const { return its_rank; }
    __device__ __forceinline__ Key shuffle_xor(int step) const {
        return {__shfl_xor_sync(FULL, weight, step), __shfl_xor_sync(FULL, its_rank, step)};
    }
};

// best[v] is prefix << 32 | priority of the suitor; or, where prefixes are lossy, the exact weight, and the priority is
// in rank[v]. 0 for none.
template <bool LOSSY>
struct Words {
    const u64* best;
    const u32* rank;

    __device__ __forceinline__ Key<LOSSY> held(u32 v) const {
        if constexpr (LOSSY) return {best[v], rank[v]};
        else return {best[v]};
    }
};
