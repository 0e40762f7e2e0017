"""Files merged from several ranks: ids of calls and operators are a process's own."""

from ...lakes import in_one_lake
from ...support import trace_bytes


def rank(number, prefix, names, op, delay):
    """Return the events of a rank, whose ids begin at 10 as those of any other; a call runs 2 µs into its operator."""
    host, device = (f"{prefix}{1000 + number}", f"{prefix}{number}") if prefix else (1000 * (number + 1), number)
    events = []
    for nth, name in enumerate(names):
        ids = {"External id": 10 + nth}
        call = {**ids, "correlation": 10 + nth}
        at = 100 + 40 * nth
        for cat, event, pid, tid, ts, dur, args in (
            ("cpu_op", op, host, 1, at, 8, ids),
            ("cuda_runtime", "cudaLaunchKernel", host, 1, at + 2, 3, call),
            ("kernel", name, device, 7, at + 2 + delay, 20, {**call, "device": number, "stream": 7}),
        ):
            made = {"ph": "X", "cat": cat, "name": event, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
            events.append(made)
    return events


def merged(prefixes):
    return [
        *rank(0, prefixes[0], ["gemm_kernel"] * 3, "aten::mm", 8),
        *rank(1, prefixes[1], ["softmax_warp_forward"] * 3, "aten::softmax", 13),
    ]


LAUNCHES = "SELECT device, op_name, min(start_ns - launch_ns), max(launch_kernels), count(*) FROM kernels GROUP BY ALL"


@in_one_lake
def test_names_of_processes_tell_ranks_apart(tmp_path):
    path = tmp_path / "named.json"
    path.write_bytes(trace_bytes(merged(["[TP00] ", "[TP01] "])))
    lake = yield path
    assert lake.rows(f"{LAUNCHES} ORDER BY 1") == [(0, "aten::mm", 8000, 1, 3), (1, "aten::softmax", 13_000, 1, 3)]


@in_one_lake
def test_without_such_names_no_launch_is_taken_from_another_rank(tmp_path):
    path = tmp_path / "numbered.json"
    path.write_bytes(trace_bytes(merged(["", ""])))
    lake = yield path
    assert lake.rows(f"{LAUNCHES} ORDER BY 1") == [(0, None, None, None, 3), (1, None, None, None, 3)]
    [(linked,)] = lake.rows("SELECT value FROM health WHERE \"check\" = 'without_launch'")
    assert linked == 100


@in_one_lake
def test_one_rank_alone_has_its_launches(tmp_path):
    path = tmp_path / "alone.json"
    path.write_bytes(trace_bytes(rank(1, "", ["softmax_warp_forward"] * 3, "aten::softmax", 13)))
    lake = yield path
    assert lake.rows(LAUNCHES) == [(1, "aten::softmax", 13_000, 1, 3)]
