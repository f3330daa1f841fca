"""The team: results in order, all of the work once, errors and interrupts, several callers, forks."""

import _thread
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from numba import njit

from troth.errors import TrothError
from troth.kernels import team
from troth.kernels.atomics import fetch_add
from troth.validate import check_threads

posix = pytest.mark.skipif(os.name != "posix", reason="signals and forks as POSIX has them")


@njit(nogil=True)
def mark(worker, cursor, chunk, hits):
    """Count every index of every chunk; returns how many chunks this worker took."""
    count = 0
    for start, stop in team.chunks(cursor, chunk, hits.size):
        count += 1
        for i in range(start, stop):
            fetch_add(hits, np.uint64(i), np.int32(1))
    return count


@njit(nogil=True)
def count_up(worker, cursor, chunk, end):
    """Take until the cursor is at its end; with a far end, until somebody moves it there."""
    for _ in team.chunks(cursor, chunk, end):
        pass
    return worker


def name(worker, cursor, chunk):
    return worker


@pytest.mark.parametrize("threads", [1, 2, 7, 33])
def test_results_come_in_the_order_of_the_workers(threads):
    found = team.run_team(lambda worker, cursor, chunk, x: (worker, x), 1000, threads, "x")
    assert found == [(worker, "x") for worker in range(threads)]


def test_results_are_in_order_when_the_last_is_first():
    done = [threading.Event() for _ in range(4)]

    def work(worker, cursor, chunk):
        assert worker == 3 or done[worker + 1].wait(60)
        done[worker].set()
        return worker

    assert team.run_team(work, 1000, 4) == [0, 1, 2, 3]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize(
    ("total", "chunk"), [(0, 1), (1, 1), (1, 100), (999, 1), (1000, 7), (4096, 64), (100_003, 2048)]
)
def test_chunks_cover_everything_once(total, chunk, threads):
    cursor, hits = team.new_cursor(), np.zeros(total, np.int32)
    counts = team.run_team(mark, total, threads, hits, chunk=chunk, serial_below=0, cursor=cursor)
    assert (hits == 1).all()
    assert sum(counts) == -(-total // chunk)
    assert cursor[0] == (sum(counts) + threads) * chunk  # each found the end once


def test_few_items_and_the_calling_thread_need_no_team(monkeypatch):
    def where(worker, cursor, chunk):
        return worker, chunk, threading.get_ident()

    here, done = threading.get_ident(), []
    assert team.run_team(where, team.SERIAL_BELOW - 1, 5, progress=done.append) == [(0, team.SERIAL_BELOW - 1, here)]
    assert team.run_team(where, 10**6, team.CALLER, progress=done.append) == [(0, 10**6, here)]
    assert team.run_team(where, 10**6, team.CALLER, chunk=64) == [(0, 64, here)]
    assert team.run_team(where, 0, 5) == [(0, 1, here)]
    assert done == [team.SERIAL_BELOW - 1, 10**6]
    assert here not in {found[2] for found in team.run_team(where, team.SERIAL_BELOW, 2)}


@pytest.mark.parametrize("threads", [1, 2, 64])
def test_chunk_sizes(threads):
    for total in (0, 1, 10, 1000, 10**6, 10**12):
        chunk = team.chunk_size(total, threads)
        assert 1 <= chunk <= 2048
        assert total < 16 * threads or total // chunk >= 16 * threads


# ---- errors and interrupts ----


@pytest.mark.parametrize("kind", [np.uint8, np.uint32, np.float64])
@pytest.mark.parametrize("width", [1, 3, 64])
def test_rows_of_workers_share_no_cache_line(kind, width):
    rows = team.worker_rows(3, width, kind, np.zeros)
    ends = [(row.ctypes.data, row[:width].ctypes.data + row[:width].nbytes) for row in rows]
    assert all(begin - end >= team.APART for (_, end), (begin, _) in pairwise(ends))
    assert rows.flags.c_contiguous
    assert not rows.any()
    assert team.worker_rows(team.CALLER, width, kind).shape[0] == 1


@pytest.mark.parametrize("bad", [0, 2])
def test_an_error_of_a_worker_comes_back_after_the_others_are_done(bad):
    begun, cursor = [], team.new_cursor()

    def work(worker, cursor, chunk):
        begun.append(worker)
        if worker == bad:
            raise LookupError(f"worker {worker}")

    with pytest.raises(LookupError, match=f"worker {bad}"):
        team.run_team(work, 1000, 3, cursor=cursor)
    assert sorted(begun) == [0, 1, 2]
    assert cursor[0] == team.FAR
    assert team.run_team(name, 1000, 3) == [0, 1, 2]


@posix
@pytest.mark.parametrize("threads", [1, 3])
def test_an_interrupt_stops_a_kernel_and_leaves_the_team_usable(threads):
    """Nothing but the interrupt ends this kernel in reasonable time."""
    cursor = team.new_cursor()
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have turned it off

    def interrupt():
        while not cursor[0]:  # until the kernel has begun
            threading.Event().wait(0.001)
        _thread.interrupt_main()

    watcher = threading.Thread(target=interrupt)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        team.run_team(count_up, team.FAR, threads, team.FAR, chunk=1, cursor=cursor)
    watcher.join()
    signal.signal(signal.SIGINT, handler)
    assert cursor[0] >= team.FAR
    before = cursor[0]
    assert team.run_team(name, 1000, threads) == list(range(threads))
    assert cursor[0] == before  # nobody goes on


def test_progress_sees_the_cursor_and_may_stop_the_work():
    cursor, seen = team.new_cursor(), []
    options = {"chunk": 10, "serial_below": 0, "cursor": cursor}
    team.run_team(mark, 100, 2, np.zeros(100, np.int32), **options, progress=seen.append)
    assert seen[-1] == 120

    def stop(done):
        raise InterruptedError(f"at {done}")

    cursor = team.new_cursor()
    with pytest.raises(InterruptedError, match="at "):
        team.run_team(count_up, team.FAR, 2, team.FAR, chunk=1, cursor=cursor, progress=stop)
    assert cursor[0] >= team.FAR


# ---- several callers ----


def test_calls_from_several_threads():
    def call(i):
        hits = np.zeros(5000, np.int32)
        team.run_team(mark, len(hits), 1 + i % 4, hits, chunk=16)
        return int(hits.min()), int(hits.max())

    with ThreadPoolExecutor(8) as callers:
        assert set(callers.map(call, range(64))) == {(1, 1)}


def test_one_thread_runs_where_it_is_called_unless_that_is_the_main_thread():
    """The main thread has to stay free for Ctrl-C."""
    here = team.run_team(lambda *given: threading.get_ident(), 1000, 1)
    assert here != [threading.get_ident()]
    with ThreadPoolExecutor(1) as caller:
        inside, outside = caller.submit(
            lambda: (team.run_team(lambda *given: threading.get_ident(), 1000, 1), threading.get_ident())
        ).result()
    assert inside == [outside]


def test_teams_larger_than_the_pool_take_turns(monkeypatch):
    cursor, hits = team.new_cursor(), np.zeros(10_000, np.int32)
    with ThreadPoolExecutor(3) as pool, ThreadPoolExecutor(2) as callers:
        monkeypatch.setattr(team, "_pool", pool)
        calls = [callers.submit(team.run_team, mark, 10_000, 20, hits, chunk=3, cursor=cursor) for _ in range(2)]
    assert sum(sum(call.result()) for call in calls) == -(-10_000 // 3)
    assert (hits == 1).all()


def test_a_pool_that_takes_no_more_work(monkeypatch):
    """As at the end of a program, for a thread that outlives the main one: the caller does all the work."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    monkeypatch.setattr(team, "_pool", pool)
    hits = np.zeros(100, np.int32)
    assert team.run_team(mark, 100, 3, hits, chunk=10, serial_below=0) == [10, 0, 0]
    assert (hits == 1).all()


@posix
def test_use_after_a_fork():
    """In a process of its own: the parent has a team, the child starts another, and both still work."""
    code = """
import os, signal, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of forks with threads, from Python 3.12 on
import troth
from troth.kernels import team
g = troth.generate("path", n=5000)
mate = troth.match(g, threads=2).mate.tolist()
child = os.fork()
signal.alarm(40)  # rather than wait for threads that are not there
fine = team.run_team(lambda *given: given[0], 1000, 1) == [0] and troth.match(g, threads=2).mate.tolist() == mate
if child == 0:
    os._exit(0 if fine else 1)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0 or not fine)
"""
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# ---- how many ----


def test_numbers_of_threads(monkeypatch):
    monkeypatch.setenv("TROTH_NUM_THREADS", "4")
    assert [team.thread_count(None, work, 100) for work in (0, 99, 100, 350, 10**9)] == [1, 1, 2, 4, 4]
    for given in (1, 9, team.MAX_THREADS, np.int32(5), np.uint64(5)):
        assert team.thread_count(check_threads(given), 0) == given
        assert type(check_threads(given)) is int
    for given in (0, -1, 2.5, True, False, "2", np.float32(1), team.MAX_THREADS + 1, 10**30):
        with pytest.raises(TrothError, match="give a whole number from 1 to 1024") as refusal:
            check_threads(given)
        assert "\n" not in str(refusal.value)


def test_the_environment_decides_the_default(monkeypatch):
    monkeypatch.delenv("TROTH_NUM_THREADS", raising=False)
    cores = team.available_cores()
    assert 1 <= cores <= (os.cpu_count() or 1)
    for wish, found in [("3", 3), ("1", 1), (str(team.MAX_THREADS), team.MAX_THREADS), ("", cores)]:
        monkeypatch.setenv("TROTH_NUM_THREADS", wish)
        assert team.available_cores() == found
    for wish in ("0", "-2", "many", "1.5", "²", "99999"):
        monkeypatch.setenv("TROTH_NUM_THREADS", wish)
        with pytest.raises(TrothError, match=f"TROTH_NUM_THREADS='{wish}': give a whole number from 1 to 1024"):
            team.available_cores()
