"""Files merged from several ranks: ids of calls and operators are a process's own."""

from ...lakes import in_one_lake
from ...support import trace_bytes


def rank(number, prefix, names, op, delay, gpu=None):
    """Return the events of a rank, whose ids begin at 10 as those of any other; a call runs 2 µs into its operator."""
    gpu = number if gpu is None else gpu
    host, device = (f"{prefix}{1000 + number}", f"{prefix}{gpu}") if prefix else (1000 * (number + 1), gpu)
    events = []
    for nth, name in enumerate(names):
        ids = {"External id": 10 + nth}
        call = {**ids, "correlation": 10 + nth}
        at = 100 + 40 * nth
        for cat, event, pid, tid, ts, dur, args in (
            ("cpu_op", op, host, 1, at, 8, ids),
            ("cuda_runtime", "cudaLaunchKernel", host, 1, at + 2, 3, call),
            ("kernel", name, device, 7, at + 2 + delay, 20, {**call, "device": gpu, "stream": 7}),
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


BUSY = "SELECT device, busy_us FROM time_breakdown ORDER BY 1"
CHECKS = """SELECT "check", value FROM health WHERE "check" IN ('merged_devices', 'shared_devices') ORDER BY ALL"""


@in_one_lake
def test_gpus_of_two_nodes_are_four_devices_though_the_file_numbers_them_0_and_1(tmp_path):
    """Ranks run 3 kernels of 20 µs; those of rank 10 and 11 begin 5 µs later: as one device they would be busy 75."""
    path = tmp_path / "nodes.json"
    events = [
        event
        for number in (11, 10, 9, 8)
        for event in rank(number, f"[TP{number}] ", ["gemm_kernel"] * 3, "aten::mm", 8 + 5 * (number > 9), number % 2)
    ]
    path.write_bytes(trace_bytes(events))
    lake = yield path
    assert lake.rows(BUSY) == [(0, 60), (1, 60), (2, 60), (3, 60)]
    assert lake.rows("SELECT pid, device, merged_device FROM device_processes ORDER BY device") == [
        ("[TP8] 0", 0, 0), ("[TP9] 1", 1, 1), ("[TP10] 0", 2, 2), ("[TP11] 1", 3, 3),
    ]  # fmt: skip
    # Each kernel with its own rank's launch.
    assert lake.rows(f"{LAUNCHES} ORDER BY 1") == [
        (device, "aten::mm", 8000 + 5000 * (device > 1), 1, 3) for device in range(4)
    ]
    assert lake.rows(CHECKS) == [("merged_devices", 4), ("shared_devices", 0)]


def labelled(pid, gpu):
    """Return what Kineto writes about the process of a GPU, and one annotation on it, which may name the device."""
    at = {"ph": "M", "pid": pid, "tid": 7, "ts": 0}
    return [
        {**at, "name": "process_name", "args": {"name": "python"}},
        {**at, "name": "process_labels", "args": {"labels": f"GPU {gpu}"}},
        {**at, "name": "thread_name", "args": {"name": "stream 7"}},
        {**at, "ph": "X", "cat": "gpu_user_annotation", "name": "run", "ts": 110, "dur": 100,
         "args": {"device": gpu} if pid else {}},
    ]  # fmt: skip


@in_one_lake
def test_two_processes_labelled_as_one_gpu_are_two(tmp_path):
    """One file labels a GPU once: the second is another file's, whose processes were renumbered."""
    path = tmp_path / "labelled.json"
    second = rank(1, "", ["gemm_kernel"] * 3, "aten::mm", 13, 0)
    moved = [event | {"pid": 100_000} if event["pid"] == 0 else event for event in second]
    first = rank(0, "", ["gemm_kernel"] * 3, "aten::mm", 8, 0)
    path.write_bytes(trace_bytes([*first, *labelled(0, 0), *moved, *labelled(100_000, 0)]))
    lake = yield path
    assert lake.rows(BUSY) == [(0, 60), (1, 60)]
    assert lake.rows("SELECT device, count(*) FROM user_annotations GROUP BY 1 ORDER BY 1") == [(0, 1), (1, 1)]


@in_one_lake
def test_streams_as_processes_stay_one_device_and_are_warned_of(tmp_path):
    """Kernels from 0 to 20 µs on stream 7 and from 10 to 30 on stream 20 of GPU 3: busy 30."""
    path = tmp_path / "streams.json"
    path.write_bytes(trace_bytes([
        {"ph": "X", "cat": "kernel", "name": "gemm_kernel", "pid": f"stream {stream}", "tid": stream, "ts": ts,
         "dur": 20, "args": {"device": 3, "stream": stream}}
        for stream, ts in ((7, 0), (20, 10))
    ]))  # fmt: skip
    lake = yield path
    assert lake.rows(BUSY) == [(3, 30)]
    assert lake.rows(CHECKS) == [("merged_devices", 0), ("shared_devices", 1)]


@in_one_lake
def test_processes_with_several_devices_are_programs_that_share_them(tmp_path):
    path = tmp_path / "programs.json"
    path.write_bytes(trace_bytes([
        {"ph": "X", "cat": "kernel", "name": "gemm_kernel", "pid": f"[{name}] 1", "tid": 7, "ts": 10 * gpu + late,
         "dur": 20, "args": {"device": gpu, "stream": 7}}
        for name, late in (("a", 0), ("b", 5))
        for gpu in (4, 5)
    ]))  # fmt: skip
    lake = yield path
    assert lake.rows(BUSY) == [(4, 25), (5, 25)]
