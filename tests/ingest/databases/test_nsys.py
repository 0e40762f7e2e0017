"""Exports of Nsight Systems: the golden figures of real ones, and a made-up one whose every figure is known."""

import gzip
import json
import sqlite3
from typing import Any

import pytest

from tracelake.ingest.batch import Failed
from tracelake.ingest.land import ingest_one
from tracelake.lake import Lake
from tracelake.synthetic.nsys import (
    COMMUNICATOR,
    COPY_BYTES,
    MESSAGE_BYTES,
    SECRETS,
    nsys_tables,
    write_nsys,
    write_nsys_folder,
)

from ...support import data_file, ingest_into, new_lake, stored
from ..test_secrets import everything_in

CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
OPERATIONS = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_graph")
# By plain interval arithmetic over the rows of the files, apart from this project. Per trace and device: kernels, the
# sum of their durations, copies and fills, and in ns window, busy, compute, exposed communication, exposed memory.
GOLDEN = {
    ("h100_2gpu_1s", 0): (1721, 22385163, 463, 969447605, 962890247, 22385163, 0, 940505084),
    ("h100_2gpu_1s", 1): (1721, 22444359, 463, 969258578, 962810705, 22444359, 0, 940366346),
    ("mfu_2gpu_before", 0): (1993, 270875926, 643, 299848812, 273817787, 253690832, 17172652, 2954303),
    ("mfu_2gpu_before", 1): (2017, 264324724, 646, 298661551, 267275916, 256095624, 8229100, 2951192),
    ("mfu_2gpu_after", 0): (1793, 237473368, 573, 299251215, 240108749, 227484352, 9989016, 2635381),
    ("mfu_2gpu_after", 1): (1794, 251362038, 573, 299269422, 254000754, 227608953, 23753085, 2638716),
}
#: Of each file: NVTX rows, kernels with a launch, kernels of communication a device.
COUNTS = {
    "h100_2gpu_1s": (16782, 1632, None),
    "mfu_2gpu_before": (19118, 3986, 33),
    "mfu_2gpu_after": (17113, 3577, 31),
}


@pytest.fixture(scope="module")
def real(tmp_path_factory: Any) -> Lake:
    """A lake with the three real exports."""
    lake = Lake(tmp_path_factory.mktemp("nsys") / "lake")
    for result in lake.ingest(*(data_file(f"nsys/{name}.sqlite") for name in COUNTS)):
        assert not isinstance(result, Failed), result
        assert (result.rejected, result.unmatched, result.truncated) == (0, 0, False)
    return lake


def test_the_times_of_real_exports_are_those_of_interval_arithmetic_to_the_nanosecond(real):
    counted = real.rows("""
        SELECT
            trace, kernels.device, count(*) FILTER (events.category = 'kernel'),
            sum(kernels.dur_ns) FILTER (events.category = 'kernel'),
            count(*) FILTER (events.category <> 'kernel'), max(kernels.end_ns) - min(kernels.start_ns)
        FROM kernels
        JOIN events ON events.trace_id = kernels.trace_id AND events.event_id = kernels.kernel_id
        JOIN traces ON traces.trace_id = kernels.trace_id
        GROUP BY ALL""")
    broken_down = real.rows("""
        SELECT
            trace, device,
            unnest([[busy_us, compute_us, exposed_communication_us, exposed_memory_us, window_us - idle_us]])
        FROM time_breakdown JOIN traces USING (trace_id)""")
    parts = {(trace, device): tuple(round(1000 * one) for one in found) for trace, device, found in broken_down}
    # Idle is what is left of the window; that of the product is the one of all devices.
    assert {place: found[-1] for place, found in parts.items()} == {place: found[0] for place, found in parts.items()}
    assert {(trace, device): (*found, *parts[trace, device][:4]) for trace, device, *found in counted} == GOLDEN


def test_every_range_is_an_event_and_kernels_find_the_launch_of_their_own_process(real):
    found = real.rows("""
        SELECT
            trace, count(*) FILTER (category IN ('cpu_op', 'user_annotation', 'nccl')),
            (SELECT count(*) FROM kernels JOIN events AS e ON e.trace_id = kernels.trace_id
                AND e.event_id = kernel_id AND e.category = 'kernel' AND kernels.launch_id IS NOT NULL
                WHERE kernels.trace_id = traces.trace_id),
            (SELECT count(*) FROM collectives WHERE collectives.trace_id = traces.trace_id)
        FROM events JOIN traces USING (trace_id) GROUP BY ALL""")
    assert {trace: (ranges, launched) for trace, ranges, launched, _ in found} == {
        trace: counts[:2] for trace, counts in COUNTS.items()
    }
    assert {trace: calls / 2 for trace, *_, calls in found if calls} == {
        trace: calls for trace, (*_, calls) in COUNTS.items() if calls
    }
    # Both processes number their correlations alike; a launch of the other device's process would be one of its own.
    apart = "SELECT count(*) FROM kernels GROUP BY trace_id, launch_pid HAVING count(DISTINCT device) > 1"
    assert real.rows(f"{apart} AND launch_pid IS NOT NULL") == []
    assert real.rows("SELECT DISTINCT format, rank, rank_source, recorded_at_source FROM traces") == [
        ("nsys", None, "devices", "clock")
    ]


def test_the_comparison_of_the_real_exports_names_what_became_shorter(real):
    changed = real.rows("""
        SELECT round(sum(compute_us) FILTER (trace = 'mfu_2gpu_after'))
            - round(sum(compute_us) FILTER (trace = 'mfu_2gpu_before'))
        FROM time_breakdown JOIN traces USING (trace_id)""")
    # From the table above: 227484 + 227609 - 253691 - 256096.
    assert changed == [(-54693,)]
    assert "mfu_2gpu_before" in str(real.compare("mfu_2gpu_before", "mfu_2gpu_after"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: Any) -> Lake:
    """A lake with the made-up export."""
    folder = tmp_path_factory.mktemp("made")
    lake = Lake(folder / "lake")
    [result] = ingest_into(lake, write_nsys(folder / "made.sqlite"))
    # 13 operations and 13 calls a process, 21 ranges and a mark, a name of it and of its thread.
    assert (result.events, result.rejected, result.trace) == (2 * (13 + 13 + 21 + 1 + 2), 0, "made")
    return lake


def test_the_parts_of_the_time_are_those_that_were_written(made):
    [first, second] = made.rows("""
        SELECT window_us, compute_us, communication_us, memory_us, busy_us, idle_us FROM time_breakdown""")
    # 3 x (10 + 7 + 5) of kernels; 30 of the graph, 12 x 40 after the first; the second device is 1 later.
    assert first == second == (12 * 40 + 30 + 1, 96, 20, 9, 125, 511 - 125)
    assert made.rows("SELECT DISTINCT category FROM kernels WHERE name = 'CUDA graph 12'") == [("graph",)]


@pytest.mark.parametrize("alone", [False, True], ids=["beside kernels", "alone"])
def test_a_graph_that_starts_on_the_host_is_on_the_device_of_its_process(tmp_path, made, alone):
    """CUPTI writes INT_MAX for the device and the context of a graph whose first node is a function of the host."""
    path = write_nsys(tmp_path / "on_host.sqlite")
    with sqlite3.connect(path) as connection:
        if alone:
            of_processes = "deviceId AS gpuId, deviceId AS cudaId, (globalPid >> 24) % 0x1000000 AS pid"
            graphs = f"SELECT DISTINCT {of_processes} FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
            connection.execute(f"CREATE TABLE TARGET_INFO_CUDA_DEVICE AS {graphs}")
            for table in ("KERNEL", "MEMCPY", "MEMSET"):
                connection.execute(f"DELETE FROM CUPTI_ACTIVITY_KIND_{table}")
        connection.execute("UPDATE CUPTI_ACTIVITY_KIND_GRAPH_TRACE SET deviceId = 2147483647, contextId = 2147483647")
    connection.close()
    lake = Lake(tmp_path / "lake")
    ingest_into(lake, path)
    graphs = "SELECT device, start_ns, dur_ns FROM kernels WHERE category = 'graph' ORDER BY ALL"
    assert lake.rows(graphs) == made.rows(graphs)
    facts = "SELECT world_size, rank_source, hardware FROM traces"
    assert lake.rows(facts) == made.rows(facts)


def test_ranges_are_passes_layers_steps_and_operators_with_shapes(made):
    assert made.rows("SELECT device, pass_id, pass_source, num_layers FROM passes ORDER BY 1") == [
        (device, 0, "annotations", 3) for device in (0, 1)
    ]
    assert made.rows("SELECT layer_id, kernel_count, sum_us FROM layers WHERE device = 1 ORDER BY 1") == [
        (layer, 3, 22.0) for layer in range(3)
    ]
    assert made.rows("SELECT device, step_number, step_source FROM steps ORDER BY 1") == [
        (device, 0, "train step") for device in (0, 1)
    ]
    assert made.rows("""
        SELECT op_name, input_dims, count(*) FROM kernels WHERE device = 0 AND op_name IS NOT NULL GROUP BY ALL
        ORDER BY 1""") == [
        ("aten::mm", "[[8,16],[16,4]]", 3),
        ("flash_attn::_flash_attn_forward", "[[1,8,2,64],[1,8,2,64],[1,8,2,64]]", 3),
        ("vllm::silu_and_mul", "[[8,4]]", 3),
    ]
    assert made.rows("SELECT DISTINCT args ->> '$.\"Sequence number\"' FROM events WHERE name = 'aten::mm'") != []
    # A product of 8 x 16 and 16 x 4 is 2 x 8 x 16 x 4 operations.
    assert made.rows("SELECT DISTINCT flop FROM operator_works WHERE flop IS NOT NULL") == [(1024,)]


def test_each_operation_has_the_launch_of_its_process_where_both_number_them_alike(made):
    assert made.rows("""
        SELECT device, launch_pid, count(*), count(DISTINCT correlation % 4294967296) FROM kernels GROUP BY ALL
        ORDER BY 1""") == [(0, "100", 13, 13), (1, "101", 13, 13)]
    assert made.rows("SELECT count(*) FROM kernels WHERE start_ns - launch_ns <> 10000") == [(0,)]


def test_collectives_have_the_sizes_that_nccl_attached(made):
    assert made.rows("""
        SELECT device, kind, bytes, bytes_source, group_size, group_size_source, process_group FROM collectives
        ORDER BY 1""") == [
        (device, "all-reduce", MESSAGE_BYTES, "NCCL", 2, "NCCL", str(COMMUNICATOR)) for device in (0, 1)
    ]


def test_copies_have_their_bytes_and_the_trace_its_clock_hardware_and_ranks(made):
    assert made.rows("""
        SELECT DISTINCT name, CAST(args ->> '$.bytes' AS BIGINT) FROM events WHERE category = 'gpu_memcpy'""") == [
        ("Memcpy HtoD (Pinned -> Device)", COPY_BYTES)
    ]
    [(hardware, recorded, source, rank, ranks, world, files)] = made.rows("""
        SELECT hardware, CAST(recorded_at AS VARCHAR), recorded_at_source, rank, rank_source, world_size,
            metadata ->> '$.files[0]'
        FROM traces""")
    assert (hardware, source, rank, ranks, world) == ("h100_sxm", "clock", None, "devices", 2)
    # The first event is the range of the communicator's creation, 40 us after the session's start.
    assert recorded == "2026-05-26 08:00:00.00004"
    assert json.loads(files) == {
        "kind": "nsys", "first_event": 0, "rows": 100, "schema_version": "3.25.0", "product_version": "2026.2.1",
        "not_read": {"GPU_METRICS": 2},
    }  # fmt: skip


def test_environment_command_line_host_user_and_output_are_nowhere_in_the_lake(made):
    written = everything_in(made.path)
    assert "NVIDIA H100 80GB HBM3" in written
    assert [text for text in SECRETS.values() if text.split("=")[0].split()[0] in written] == []


@pytest.mark.parametrize("kind", ["parquetdir", "arrowdir"])
def test_a_folder_of_tables_holds_the_same_events(made, tmp_path, kind):
    (tmp_path / "run").mkdir()
    folder = write_nsys_folder(tmp_path / "run" / "made", kind)
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, folder)
    columns = "* EXCLUDE (trace_id)"
    assert lake.rows(f"SELECT {columns} FROM events ORDER BY event_id") == made.rows(
        f"SELECT {columns} FROM events ORDER BY event_id"
    )
    # The folder around it is one with a trace, and what was read once is known.
    [again] = lake.ingest(tmp_path / "run")
    assert (result.rejected, again.new, again.trace_id) == (0, False, result.trace_id)


# A column that is missing leaves its figure out, a table its events, and nothing else.
@pytest.mark.parametrize(
    ("without", "operations", "events"),
    [
        ("StringIds", 26, 100), ("NVTX_EVENTS", 26, 56), ("CUPTI_ACTIVITY_KIND_RUNTIME", 26, 74),
        ("TARGET_INFO_SESSION_START_TIME", 26, 100), ("NVTX_PAYLOAD_SCHEMA_ENTRIES", 26, 100),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", 24, 98), ("META_DATA_EXPORT", 26, 100), ("PROCESSES", 26, 98),
    ],
)  # fmt: skip
def test_every_table_is_optional(tmp_path, without, operations, events):
    lake = new_lake(tmp_path / "lake")
    result = ingest_one(lake, write_nsys(tmp_path / "made.sqlite", without=[without]))
    assert (result.events, result.rejected, result.truncated) == (events, 0, False)
    assert sum(row["category"] in OPERATIONS for row in stored(lake, result.trace_id)) == operations


def test_of_an_old_export_with_few_columns_the_events_are_read(tmp_path):
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, streamId INT)")
        connection.execute(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 9, 0, 7), (NULL, 3, 0, 7), ('x', 4, 0, 7)"
        )
        connection.execute("CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, globalTid INT)")
        connection.execute("INSERT INTO NVTX_EVENTS VALUES (1, NULL, 59, 'open at the end', 16777217)")
        connection.execute("INSERT INTO NVTX_EVENTS VALUES (2, 8, 59, CAST(x'ff41' AS TEXT), 16777217)")
    connection.close()
    lake = new_lake(tmp_path / "lake")
    result = ingest_one(lake, path)
    # A row without a start is no event, and a beginning without its end has no partner.
    assert (result.events, result.rejected, result.unmatched) == (3, 2, 1)
    rows = {row["name"]: row for row in stored(lake, result.trace_id)}
    assert (rows["kernel without a name"]["device"], rows["kernel without a name"]["dur_ns"]) == (0, 4)
    assert (rows["open at the end"]["ph"], rows["open at the end"]["dur_ns"]) == ("B", None)
    assert rows["\ufffdA"]["dur_ns"] == 6


def test_processes_that_number_their_devices_apart_keep_them_apart(tmp_path):
    tables = nsys_tables()
    for name in [name for name in tables if name.startswith("CUPTI_ACTIVITY_KIND_") and name != CALLS]:
        columns, rows = tables[name]
        tables[name] = columns, [(*row[:2], 0, *row[3:]) for row in rows]
    tables["TARGET_INFO_CUDA_DEVICE"] = ("gpuId INTEGER, cudaId INTEGER, pid INTEGER", [(2, 0, 100), (3, 0, 101)])
    lake = new_lake(tmp_path / "lake")
    result = ingest_one(lake, write_nsys(tmp_path / "made.sqlite", tables))
    devices = [row["device"] for row in stored(lake, result.trace_id) if row["category"] in OPERATIONS]
    assert sorted(devices) == [2] * 13 + [3] * 13


def test_the_hardware_is_that_of_the_gpu_which_the_process_calls_its_device(tmp_path):
    # CUDA's device 0 is the machine's GPU 1, as with CUDA_VISIBLE_DEVICES=1 or a slower card in the first slot.
    columns, rows = (tables := nsys_tables())["TARGET_INFO_GPU"]
    tables["TARGET_INFO_GPU"] = columns, [(0, "NVIDIA L4", 24 << 30, 58, 8, 9, "GPU-0"), *rows[1:]]
    tables["TARGET_INFO_CUDA_DEVICE"] = ("gpuId INTEGER, cudaId INTEGER, pid INTEGER", [(1, 0, 100)])
    columns, rows = tables["CUPTI_ACTIVITY_KIND_KERNEL"]
    lake = Lake(tmp_path / "lake", stored=False)
    kernels = columns, [row for row in rows if row[2] == 0]
    few = {name: tables[name] for name in ("StringIds", "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE")}
    ingest_into(lake, write_nsys(tmp_path / "made.sqlite", few | {"CUPTI_ACTIVITY_KIND_KERNEL": kernels}))
    assert lake.rows("SELECT device_name, hardware FROM traces") == [
        ("NVIDIA H100 80GB HBM3", "h100_sxm")
    ]  # fmt: skip
    # Its number stays CUDA's, as everywhere in the trace.
    assert lake.rows("SELECT DISTINCT device FROM kernels") == [(0,)]


def test_modules_of_hooks_are_calls_of_modules(tmp_path):
    columns, _ = nsys_tables()["NVTX_EVENTS"]
    thread = 100 << 24 | 100
    rows = [
        (start, end, 59, f"{{'Module': '{path}', 'TrainableParams': {{}}}}", thread, None, None, 0, None)
        for start, end, path in (
            (0, 90, "model"), (10, 40, "model.layers.0"), (15, 30, "model.layers.0.mlp"), (50, 80, "model.layers.1"),
        )
    ]  # fmt: skip
    lake = Lake(tmp_path / "lake")
    ingest_into(lake, write_nsys(tmp_path / "made.sqlite", {"NVTX_EVENTS": (columns, rows)}))
    assert lake.rows("SELECT module, class, instance, parent FROM module_calls ORDER BY start_ns") == [
        ("model_0", "model", 0, None),
        ("model.layers_0", "model.layers", 0, "model_0"),
        ("model.layers.mlp_0", "model.layers.mlp", 0, "model.layers_0"),
        ("model.layers_1", "model.layers", 1, "model_0"),
    ]


def test_damage_is_named_and_the_file_never_touched(tmp_path):
    whole = write_nsys(tmp_path / "made.sqlite", nsys_tables(layers=400))
    content = whole.read_bytes()
    holed = tmp_path / "holed.sqlite"
    holed.write_bytes(content[: len(content) // 2] + bytes(40960) + content[len(content) // 2 + 40960 :])
    lake = new_lake(tmp_path / "lake")
    result = ingest_one(lake, holed)
    assert result.rejected > 0
    assert "its rows from here on cannot be read" in result.reason
    assert 0 < result.events < ingest_one(lake, whole).events
    assert sorted(path.name for path in tmp_path.iterdir()) == ["holed.sqlite", "lake", "made.sqlite"]
    assert whole.read_bytes() == content


def test_what_cannot_be_read_is_refused_in_a_line_that_says_what_to_do(tmp_path):
    made = write_nsys(tmp_path / "made.sqlite")
    journal = tmp_path / "made.sqlite-wal"
    packed = tmp_path / "packed.sqlite.gz"
    packed.write_bytes(gzip.compress(made.read_bytes()))
    short = tmp_path / "short.sqlite"
    short.write_bytes(made.read_bytes()[:60])
    cut = tmp_path / "cut.sqlite"
    cut.write_bytes(made.read_bytes()[:-4096])
    empty = write_nsys(tmp_path / "empty.sqlite", {"META_DATA_EXPORT": ("name TEXT, value TEXT", [])})
    journal.write_bytes(b"x")
    column = tmp_path / "column.sqlite"
    column.write_bytes(made.read_bytes().replace(b'"value" TEXT', b'"v\xeelue" TEXT'))
    table = tmp_path / "table.sqlite"
    table.write_bytes(made.read_bytes().replace(b"CREATE TABLE", b"CREATE TAB\xee\xee", 1))
    for path, said in (
        (made, "made.sqlite-wal lies beside it"),
        (packed, "decompress it first"),
        (short, "the file ends inside its header, at 60 bytes"),
        (cut, f"cut short: the file has {cut.stat().st_size} of its {made.stat().st_size} bytes"),
        (column, "damaged: a name in its schema is not UTF-8"),
        (table, "damaged: a name in its schema is not UTF-8"),
        (empty, "an export of Nsight Systems without an event: export the report again"),
    ):
        [failed] = Lake(tmp_path / "lake").ingest(path)
        assert failed.reason.startswith(f"{path}: ")
        assert said in failed.reason
        assert "\n" not in failed.reason.strip()
