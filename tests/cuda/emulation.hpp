// Enough of CUDA for g++ to run kernels on the CPU, slowly: a block is a thread of the system, its threads are fibers
// of that one, and warps and blocks meet where their instructions say so. Lanes that wait at different lines, or
// for a lane that has returned, end the process with a message.

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>
#include <ctime>
using std::fabs; using std::rint; using std::ceil; using std::fmin;

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __noinline__ __attribute__((noinline))
#define __shared__ static thread_local

struct Dim { unsigned x; };
static thread_local Dim threadIdx, blockIdx, blockDim, gridDim;
struct uchar4 { unsigned char x[4]; };
struct ushort4 { unsigned short x[4]; };
struct uint4 { unsigned x, y, z, w; };
struct ulonglong2 { unsigned long long x, y; };

template <class A, class B> typename std::common_type<A, B>::type min(A a, B b) { typename std::common_type<A, B>::type x = a, y = b; return y < x ? y : x; }
template <class A, class B> typename std::common_type<A, B>::type max(A a, B b) { typename std::common_type<A, B>::type x = a, y = b; return x < y ? y : x; }

// ---- fibers ----

extern "C" void emu_switch(void** save, void* to);
asm(R"(
.text
.globl emu_switch
.hidden emu_switch
emu_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

struct Meeting {
    unsigned long long slots[2][1024];
    unsigned arrived = 0, generation = 0;
    int line = 0;
};

struct Fiber { void* sp; bool done; };

struct Team {
    std::vector<Fiber> fibers;
    std::unique_ptr<char[]> stacks;  // not cleared: most of it is never touched
    size_t room = 0;
    std::vector<Meeting> warps;
    Meeting block;
    void* home = nullptr;
    unsigned current = 0, returned = 0;
    unsigned long long moves = 0;
    const void* work = nullptr;
    void (*call)(const void*) = nullptr;
};
static thread_local Team* team;

__attribute__((noinline)) void emu_yield() {
    unsigned me = team->current;
    emu_switch(&team->fibers[me].sp, team->home);
}

static void fail(const char* what, int line, int other) {
    fprintf(stderr, "emulation: %s at line %d and %d, block %u thread %u\n", what, line, other, blockIdx.x, threadIdx.x);
    abort();
}

// Everybody of a meeting gives a value; returns the slots of all.
__attribute__((noinline)) unsigned long long* emu_meet(Meeting& m, unsigned place, unsigned size, unsigned long long value, int line) {
    if (m.arrived && m.line != line) fail("threads of one meeting", m.line, line);
    m.line = line;
    unsigned mine = m.generation;
    m.slots[mine % 2][place] = value;
    team->moves++;
    if (++m.arrived == size) {
        m.arrived = 0;
        m.generation++;
    } else {
        while (m.generation == mine) emu_yield();
    }
    return m.slots[mine % 2];
}
static unsigned long long* emu_warp(unsigned long long value, int line) {
    return emu_meet(team->warps[threadIdx.x / 32], threadIdx.x % 32, 32, value, line);
}
template <class T> unsigned long long emu_bits(T x) { static_assert(sizeof(T) <= 8); unsigned long long b = 0; memcpy(&b, &x, sizeof x); return b; }
template <class T> T emu_value(unsigned long long b) { T x; memcpy(&x, &b, sizeof x); return x; }
template <class T> T emu_shuffle(int line, T x, int from, int width = 32) {
    return emu_value<T>(emu_warp(emu_bits(x), line)[(int)(threadIdx.x % 32) / width * width + (from & (width - 1))]);
}
template <class T> T emu_up(int line, T x, unsigned by) {
    auto s = emu_warp(emu_bits(x), line);
    return emu_value<T>(s[threadIdx.x % 32 < by ? threadIdx.x % 32 : threadIdx.x % 32 - by]);
}
static unsigned emu_ballot(int line, bool x) {
    auto s = emu_warp(x, line);
    unsigned mask = 0;
    for (int i = 0; i < 32; ++i) mask |= (unsigned)(s[i] != 0) << i;
    return mask;
}
static int emu_any(int value, int line) {
    auto s = emu_meet(team->block, threadIdx.x, blockDim.x, value != 0, line);
    for (unsigned i = 0; i < blockDim.x; ++i) if (s[i]) return 1;
    return 0;
}
#define __shfl_sync(M, V, ...) emu_shuffle(__LINE__, V, __VA_ARGS__)
#define __shfl_xor_sync(M, V, F) emu_shuffle(__LINE__, V, (int)(threadIdx.x % 32) ^ (int)(F))
#define __shfl_up_sync(M, V, F) emu_up(__LINE__, V, F)
#define __ballot_sync(M, V) emu_ballot(__LINE__, V)
#define __any_sync(M, V) (emu_ballot(__LINE__, V) != 0)
#define __syncwarp() emu_warp(0, __LINE__)
#define __syncthreads() emu_meet(team->block, threadIdx.x, blockDim.x, 0, __LINE__)
#define __syncthreads_or(V) emu_any(V, __LINE__)
#define __threadfence() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define __nanosleep(T) (emu_yield(), std::this_thread::yield())

static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static int __ffs(unsigned x) { return __builtin_ffs(x); }
static unsigned __float_as_uint(float x) { return (unsigned)emu_bits(x); }
static long long __double_as_longlong(double x) { return (long long)emu_bits(x); }
static double __longlong_as_double(long long x) { return emu_value<double>(x); }
static float __uint_as_float(unsigned x) { return emu_value<float>(x); }
template <class T> T __ldcg(const T* p) { __asm__ volatile("" ::: "memory"); return *p; }
template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }

template <class T, class U> T atomicAdd(T* p, U x) { emu_yield(); return __atomic_fetch_add(p, (T)x, __ATOMIC_SEQ_CST); }
inline double atomicAdd(double* p, double x) {
    emu_yield();
    double old, next;
    __atomic_load(p, &old, __ATOMIC_SEQ_CST);
    do next = old + x; while (!__atomic_compare_exchange(p, &old, &next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return old;
}
template <class T, class U> T atomicOr(T* p, U x) { emu_yield(); return __atomic_fetch_or(p, (T)x, __ATOMIC_SEQ_CST); }
template <class T, class U> T atomicMax(T* p, U x) {
    emu_yield();
    T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (old < (T)x && !__atomic_compare_exchange_n(p, &old, (T)x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    return old;
}
template <class T, class U> T atomicMin(T* p, U x) {
    T old = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while (old > (T)x && !__atomic_compare_exchange_n(p, &old, (T)x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {}
    return old;
}
template <class T> T atomicCAS(T* p, T old, T x) { __atomic_compare_exchange_n(p, &old, x, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); return old; }

// ---- launches ----

static void emu_entry() {
    Team* t = team;
    t->call(t->work);
    t->fibers[t->current].done = true;
    t->returned++;
    for (;;) emu_yield();
}

constexpr size_t STACK = 1 << 16;

static void emu_block(unsigned index, unsigned grid, unsigned size, const void* work, void (*call)(const void*), unsigned seed) {
    static thread_local Team own;
    Team& t = own;
    team = &t;
    t.fibers.assign(size, {});
    if (t.room < size * STACK) t.stacks.reset(new char[t.room = size * STACK]);
    t.warps.assign((size + 31) / 32, {});
    t.block = {};
    t.work = work, t.call = call, t.returned = 0;
    blockIdx.x = index, gridDim.x = grid, blockDim.x = size;
    for (unsigned i = 0; i < size; ++i) {
        uintptr_t top = ((uintptr_t)(t.stacks.get() + (i + 1) * STACK)) & ~(uintptr_t)63;
        void** sp = (void**)top;
        *--sp = nullptr;
        *--sp = (void*)emu_entry;
        for (int k = 0; k < 6; ++k) *--sp = nullptr;
        t.fibers[i].sp = sp;
    }
    unsigned long long state = seed * 0x9E3779B97F4A7C15ull + index * 77 + 1;
    time_t started = time(nullptr);
    unsigned long long before = 0;
    while (t.returned < size) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        unsigned first = seed ? (unsigned)(state % size) : 0, step = seed && state >> 40 & 1 ? size - 1 : 1;
        for (unsigned k = 0, i = first; k < size; ++k, i = (i + step) % size) {
            if (t.fibers[i].done) continue;
            t.current = i;
            threadIdx.x = i;
            emu_switch(&t.home, t.fibers[i].sp);
        }
        if (t.moves != before) { before = t.moves; started = time(nullptr); }
        else if (time(nullptr) - started > 60) fail("nothing moves", team->block.line, (int)t.returned);
    }
}

template <class... A> struct Packed { void (*kernel)(A...); void** args; };
template <class... A, size_t... I> void emu_apply(const Packed<A...>& p, std::index_sequence<I...>) {
    p.kernel(*(typename std::decay<A>::type*)p.args[I]...);
}
template <class... A> void emu_call(const void* work) {
    emu_apply(*(const Packed<A...>*)work, std::index_sequence_for<A...>{});
}
template <class... A>
void emu_launch(void (*kernel)(A...), unsigned grid, unsigned block, int together, unsigned seed, void** args) {
    Packed<A...> packed = {kernel, args};
    if (together) {
        std::vector<std::thread> threads;
        for (unsigned b = 0; b < grid; ++b) threads.emplace_back(emu_block, b, grid, block, &packed, emu_call<A...>, seed);
        for (auto& thread : threads) thread.join();
    } else {
        std::thread([&] {
            for (unsigned b = 0; b < grid; ++b) emu_block(seed & 1 ? grid - 1 - b : b, grid, block, &packed, emu_call<A...>, seed);
        }).join();
    }
}
template <class... A> int emu_sizes(void (*)(A...), int* sizes) {
    int all[] = {(int)sizeof(typename std::decay<A>::type)...};
    for (size_t i = 0; i < sizeof...(A); ++i) sizes[i] = all[i];
    return (int)sizeof...(A);
}
