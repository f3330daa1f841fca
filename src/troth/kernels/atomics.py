"""Atomic operations and prefetching for compiled kernels; Numba has none of its own on the CPU.

Each takes an array and an unsigned index. ``compare_and_swap`` and ``fetch_add`` are sequentially consistent, ``load``
and ``store`` are relaxed ("monotonic"): no tearing, never hoisted out of a loop, and no fence.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _pointer(context, builder, array_type, array, index):
    struct = context.make_array(array_type)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, array_type, struct, [index], wraparound=False)


@intrinsic
def load(typingctx, array, index):
    """array[index], read once and from memory."""

    def codegen(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1])
        return builder.load_atomic(pointer, "monotonic", array.dtype.bitwidth // 8)

    return array.dtype(array, types.uintp), codegen


@intrinsic
def store(typingctx, array, index, value):
    """array[index] = value, written whole."""

    def codegen(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1])
        builder.store_atomic(args[2], pointer, "monotonic", array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.uintp, array.dtype), codegen


@intrinsic
def compare_and_swap(typingctx, array, index, expected, value):
    """If array[index] is ``expected``, write ``value``; return what was there before."""

    def codegen(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1])
        pair = builder.cmpxchg(pointer, args[2], args[3], ordering="seq_cst", failordering="seq_cst")
        return builder.extract_value(pair, 0)

    return array.dtype(array, types.uintp, array.dtype, array.dtype), codegen


@intrinsic
def fetch_add(typingctx, array, index, value):
    """array[index] += value; return what was there before."""

    def codegen(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1])
        return builder.atomic_rmw("add", pointer, args[2], ordering="seq_cst")

    return array.dtype(array, types.uintp, array.dtype), codegen


@intrinsic
def prefetch(typingctx, array, index):
    """Ask for the cache line of array[index]; no effect on any value, and none where the index is out of range."""

    def codegen(context, builder, signature, args):
        pointer = _pointer(context, builder, signature.args[0], args[0], args[1])
        byte = ir.IntType(8).as_pointer()
        flag = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(ir.VoidType(), [byte, flag, flag, flag]), "llvm.prefetch.p0"
        )
        read, keep, data = flag(0), flag(3), flag(1)
        builder.call(function, [builder.bitcast(pointer, byte), read, keep, data])
        return context.get_dummy_value()

    return types.void(array, types.uintp), codegen
