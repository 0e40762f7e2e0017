"""Device rows of an Ascend timeline: which are kernels, what launched them, and what a table of kernels has as well."""

from __future__ import annotations

import pytest

from ...lakes import Files, in_one_lake
from .files import (
    CANN,
    COLLECTIVES,
    HARDWARE,
    PYTHON,
    arrow,
    call,
    collective,
    logical,
    operator,
    part,
    physical,
    task,
    timeline,
    write_folder,
    write_timeline,
)


def ask(lake, query):
    return lake.sql(query).fetchall()


@pytest.fixture
def real(real_lake):
    """A lake with a real timeline of 276 device rows."""
    return real_lake("ascend/trace_view.json")


def test_device_rows_of_a_real_timeline(real):
    [row] = ask(
        real,
        "SELECT count(*), count(DISTINCT name), sum(dur_ns), min(start_ns), max(end_ns), min(device), max(device),"
        " min(stream), max(stream) FROM kernels",
    )
    assert row == (276, 93, 1790457, 1704161511422904204, 1704161511434174121, 0, 0, 3, 3)
    found = ask(real, "SELECT core, count(*), sum(dur_ns) FROM ascend_kernels GROUP BY core")
    assert set(found) == {("Other", 274, 1462890), ("AI_CPU", 2, 327567)}


def test_the_largest_kernels_of_a_real_timeline(real):
    found = ask(real, "SELECT name, count(*), sum(dur_ns) FROM kernels GROUP BY name ORDER BY 3 DESC LIMIT 3")
    assert found == [
        ("aclnnReduceSum_CastAiCpu_Cast", 1, 188148), ("aclnnCast_CastAiCpu_Cast", 1, 139419),
        ("aclnnMm_TransData_TransData", 18, 121960),
    ]  # fmt: skip


def test_the_profilers_own_computing_lane_is_our_compute(real):
    [(rows, total)] = ask(
        real,
        "SELECT count(*), sum(dur_ns) FROM events JOIN _lines USING (trace_id, pid, tid)"
        " WHERE thread = 'Computing' AND ph = 'X'",
    )
    assert (rows, round(total / 1000, 1)) == (274, 1788.3)
    # What it leaves out are the two copies.
    found = ask(real, "SELECT kind, count(*), sum(dur_ns) FROM kernels GROUP BY kind ORDER BY kind")
    assert found == [("compute", 274, 1788267), ("memory", 2, 2190)]


def test_every_kernel_of_a_real_timeline_has_its_launch_and_its_operator(real):
    [row] = ask(
        real,
        "SELECT count(launch_id), count(op_id), count(correlation), max(launch_kernels) FROM kernels",
    )
    assert row == (274, 274, 274, 9)
    found = ask(real, "SELECT op_name, count(*) FROM kernels GROUP BY op_name ORDER BY 2 DESC LIMIT 3")
    assert found == [("aclnnMm", 42), ("aclnnAddmm", 27), ("aclnnInplaceAdd", 22)]
    # An arrow begins inside of the call that launched, of the same name.
    named = "SELECT DISTINCT op_name, events.name FROM kernels JOIN events ON events.event_id = launch_id"
    assert ("aclnnMm", "AscendCL@aclnnMm") in ask(real, named)
    alone = ask(real, "SELECT DISTINCT name FROM kernels WHERE launch_id IS NULL")
    assert alone == [("MEMCPY_ASYNC",)]


@in_one_lake
def test_a_device_is_the_one_of_its_label_not_its_process(tmp_path):
    lake = yield write_timeline(tmp_path / "trace_view.json", timeline(task("Add", "100.000", 5.0), npu="NPU 3"))
    assert ask(lake, "SELECT device, stream FROM kernels") == [(3, 2)]


def of_two_devices(first: int, second: int, place: int) -> list:
    """Return the hardware of two devices, labelled NPU alone, by the numbers of its processes and their place."""
    named = [
        {"ph": "M", "name": name, "pid": pid, "tid": 0, "args": args}
        for pid in (first, second)
        for name, args in (
            ("process_name", {"name": "Ascend Hardware"}), ("process_labels", {"labels": "NPU"}),
            ("process_sort_index", {"sort_index": place}), ("thread_name", {"name": "Stream 0"}),
        )
    ]  # fmt: skip
    tasks = [
        task("Add", f"{start}.000", dur, stream=0) | {"pid": pid}
        for pid, start, dur in ((first, 100, 5.0), (second, 100, 7.0))
    ]
    return [*named, *tasks]


@pytest.mark.parametrize(
    ("first", "second", "place", "devices"),
    [
        # (22334 << 10) | (13 << 5) | device, and 22334, 08 and 00 or 01 one behind the other.
        (22870432, 22870433, 13, (0, 1)), (2233440800, 2233440801, 8, (0, 1)),
        # The viewer's place is in neither: nothing tells the devices apart.
        (22870432, 22870433, 9, (0, 0)),
    ],
)  # fmt: skip
@in_one_lake
def test_a_process_without_a_device_in_its_label_has_it_in_its_number(tmp_path, first, second, place, devices):
    lake = yield write_timeline(tmp_path / "trace_view.json", of_two_devices(first, second, place))
    assert ask(lake, "SELECT dur_ns, device FROM kernels ORDER BY dur_ns") == [(5000, devices[0]), (7000, devices[1])]
    expected = [(str(first), devices[0]), (str(second), devices[1])]
    assert ask(lake, "SELECT pid, device FROM lines ORDER BY pid") == expected
    assert ask(lake, "SELECT pid, device FROM device_processes ORDER BY pid") == expected


def test_lines_and_processes_of_a_real_timeline_have_the_device_of_its_kernels(real):
    found = ask(real, "SELECT process, device, count(*) FROM lines GROUP BY ALL ORDER BY ALL")
    assert found == [
        ("Ascend Hardware", 0, 1), ("CANN", None, 4), ("Overlap Analysis", 0, 4), ("Python", None, 3),
    ]  # fmt: skip
    assert ask(real, "SELECT pid, device FROM device_processes") == [("800", 0)]


@in_one_lake
def test_control_tasks_are_rows_and_no_kernels(tmp_path):
    events = [
        task("EVENT_WAIT", "100.000", 5.0, kind="EVENT_WAIT"), task("NOTIFY_WAIT_SQE", "110.000", 5.0, kind="Other"),
        task("MEMCPY_ASYNC", "120.000", 5.0, kind="MEMCPY_ASYNC"), task("Add", "130.000", 5.0),
        # Waits from then on; the window of the two kernels is 15 µs.
        *(task(kind, "140.000", 90.0, stream=47, kind=kind) for kind in ("DAVID_EVENT_WAIT", "CAPTURE_WAIT")),
    ]  # fmt: skip
    lake = yield write_timeline(tmp_path / "trace_view.json", timeline(*events))
    assert ask(lake, "SELECT window_us, compute_us, idle_us FROM time_breakdown") == [(15.0, 5.0, 5.0)]
    found = ask(lake, "SELECT name, core_group, counted FROM ascend_kernels ORDER BY start_ns, kernel_id")
    assert found == [
        ("EVENT_WAIT", "control", False), ("NOTIFY_WAIT_SQE", "control", False), ("MEMCPY_ASYNC", "memory", True),
        ("Add", "vector", True), ("DAVID_EVENT_WAIT", "control", False), ("CAPTURE_WAIT", "control", False),
    ]  # fmt: skip
    assert ask(lake, "SELECT name, kind FROM kernels ORDER BY start_ns") == [
        ("MEMCPY_ASYNC", "memory"), ("Add", "compute"),
    ]  # fmt: skip


@in_one_lake
def test_a_collective_s_waits_and_copies_are_no_compute_where_a_timeline_has_no_planes(tmp_path):
    # At Level0 only the stream shows what a collective consists of. Compute: 2 + 3 µs; exposed: 100 - 3 µs.
    lake = yield write_timeline(
        tmp_path / "trace_view.json",
        timeline(
            collective("hcom_allReduce__868_0_1", "100.000", 100.0),
            task("Notify Wait", "100.000", 80.0, stream=47, number=1, kind="Notify Wait"),
            task("SDMA", "180.000", 15.0, stream=47, number=2, kind="SDMA"),
            task("Write Value", "195.000", 5.0, stream=47, number=3, kind="Write Value"),
            task("Add", "50.000", 2.0, number=4), task("Mul", "150.000", 3.0, number=5),
        ),
    )  # fmt: skip
    found = ask(lake, "SELECT compute_us, communication_us, exposed_communication_us, memory_us FROM time_breakdown")
    assert found == [(5.0, 100.0, 97.0, 0.0)]
    assert ask(lake, "SELECT name, dup_reason FROM ascend_kernels WHERE NOT counted ORDER BY ALL") == [
        ("Notify Wait", None), ("SDMA", "small_task"), ("Write Value", None),
    ]  # fmt: skip


@in_one_lake
def test_groups_are_collectives_and_planes_are_their_parts(tmp_path):
    events = [
        collective("hcom_allReduce__428_0_1", "100.000", 50.0),
        part("Notify_Wait", "100.000", 20.0, stream=47, number=3), part("Memcpy", "120.000", 20.0, stream=47, number=4),
        # The hardware's lines show the same parts, and copies of the collective's engine.
        task("MEMCPY_ASYNC", "120.000", 20.0, stream=47, number=4, kind="MEMCPY_ASYNC"),
        task("SDMA", "105.000", 5.0, stream=47, number=5, kind="SDMA_SQE"),
        # Others only happen to run meanwhile, or afterwards.
        task("MEMCPY_ASYNC", "121.000", 20.0, stream=2, number=6, kind="MEMCPY_ASYNC"),
        task("SDMA", "149.000", 5.0, stream=47, number=8, kind="SDMA_SQE"),
    ]  # fmt: skip
    lake = yield write_timeline(tmp_path / "trace_view.json", timeline(*events))
    found = ask(lake, "SELECT start_ns, kind, stream FROM kernels ORDER BY ALL")
    assert found == [(100000, "communication", None), (121000, "memory", 2), (149000, "memory", 47)]
    found = ask(lake, "SELECT start_ns, rule, twin_id FROM kernel_duplicates ORDER BY ALL")
    assert found == [(105000, "small_task", None), (120000, "small_task", None)]
    assert ask(lake, "SELECT comm_role, comm_kind, comm_group, op_type FROM ascend_kernels WHERE stream IS NULL") == [
        ("logical", "allreduce", "428", "hcom_allReduce_")
    ]  # fmt: skip


@pytest.mark.parametrize("key", ["Stream Id", "Physic Stream Id", None])
@in_one_lake
def test_the_stream_of_a_task_has_two_spellings_and_else_is_the_one_its_line_is_named_after(tmp_path, key):
    """Without it a task is no row's twin, and a copy is no part of its collective: both were counted again."""
    rows = [
        {"Task ID": "7", "Start Time(us)": "100.000", "Duration(us)": "5.000"},
        logical("allReduce", "428_0_1", "200.000", "50.000"),
    ]
    tasks = [
        task("Add", "100.000", 5.0, number=7),
        task("MEMCPY_ASYNC", "220.000", 20.0, stream=47, number=4, kind="MEMCPY_ASYNC"),
        task("Add", "300.000", 5.0, number=8),
    ]
    for event in tasks:
        stream = event["args"].pop("Stream Id")
        event["args"] |= {key: stream} if key else {}
    shown = [collective("hcom_allReduce__428_0_1", "200.000", 50.0)]
    shown += [part("Memcpy", "220.000", 20.0, stream=47, number=4)]
    lake = yield write_folder(tmp_path, rows, [*tasks, *shown])
    found = ask(lake, "SELECT start_ns, stream, kind FROM kernels ORDER BY ALL")
    assert found == [(100000, 2, "compute"), (200000, None, "communication"), (300000, 2, "compute")]
    found = ask(lake, "SELECT start_ns, rule FROM kernel_duplicates ORDER BY ALL")
    assert found == [(100000, "timeline_twin"), (200000, "timeline_twin"), (220000, "small_task")]


def launched(*, number: str = "34359738367") -> list:
    """Return an operator that launches a kernel at once, another through a queue, and the arrows of both."""
    return [
        operator("aten::mm", "10.000", 30.0, dims="[[4, 8], [8, 2]]"), operator("aclnnMm", "12.000", 20.0),
        call("AscendCL@aclnnMm", "13.000", 15.0), call("Node@launch", "15.000", 5.0),
        task("aclnnMm_MatMulV2_MatMulV2", "100.000", 5.0, number=7, connection=8),
        *arrow("HostToDevice", number, (CANN, 1, "15.000"), (HARDWARE, 2, "100.000")),
        *arrow("async_npu", "100000", (PYTHON, 1, "12.000"), (HARDWARE, 2, "100.000")),
        # No arrow from the framework: the queue's numbers lead there.
        operator("aten::add", "50.000", 20.0, dims="[[4, 2]]"),
        operator("Enqueue", "55.000", 2.0, category="enqueue", number=3),
        operator("Dequeue@aclnnAdd", "60.000", 20.0, category="dequeue", tid=9, number=3),
        call("AscendCL@aclnnAdd", "62.000", 10.0, tid=9),
        task("aclnnAdd_Add_Add", "110.000", 5.0, number=8, connection=9),
        task("aclnnAdd_Cast_Cast", "116.000", 5.0, number=9, connection=9),
        *arrow("HostToDevice", "38654705663", (CANN, 9, "64.000"), (HARDWARE, 2, "110.000")),
        *arrow("HostToDevice", "38654705664", (CANN, 9, "65.000"), (HARDWARE, 2, "116.000")),
        task("Add", "130.000", 5.0, number=10),
    ]  # fmt: skip


@in_one_lake
def test_shapes_that_torch_npu_writes_as_text_are_json(tmp_path):
    event = operator("aten::addmm", "10.000", 30.0)
    event["args"] |= {
        "Input Dims": "1000;\r\n32,4096;\r\n4096,1000;\r\n;\r\n",
        "Input type": "float;\r\nfloat;\r\nfloat;\r\nScalar;\r\nScalar",
    }
    odd = operator("aten::odd", "50.000", 5.0)
    odd["args"] |= {"Input Dims": "4,x", "Input type": 'a"b'}
    ends = (PYTHON, 1, "12.000"), (HARDWARE, 2, "100.000")
    events = [event, odd, task("MatMulV2", "100.000", 5.0), *arrow("async_npu", "100000", *ends)]
    lake = yield write_timeline(tmp_path / "trace_view.json", timeline(*events))
    assert ask(lake, "SELECT input_dims, input_types FROM events WHERE category = 'cpu_op' ORDER BY start_ns") == [
        ("[[1000],[32,4096],[4096,1000],[],[]]", '["float","float","float","Scalar","Scalar"]'), (None, None),
    ]  # fmt: skip
    # 2 * 32 * 4096 * 1000
    assert ask(lake, "SELECT flop FROM kernel_roofline") == [(262144000.0,)]


LAUNCHES = """
SELECT kernels.start_ns, calls.name, launch_kernels, op_name, kernels.input_dims, kernels.correlation
FROM kernels LEFT JOIN events AS calls ON calls.trace_id = kernels.trace_id AND calls.event_id = launch_id
ORDER BY kernels.start_ns
"""
LAUNCHED = [
    (100000, "Node@launch", 1, "aclnnMm", "[[4, 8], [8, 2]]", 8),
    (110000, "AscendCL@aclnnAdd", 2, "aten::add", "[[4, 2]]", 9),
    (116000, "AscendCL@aclnnAdd", 2, "aten::add", "[[4, 2]]", 9),
    (130000, None, None, None, None, None),
]


@in_one_lake
def test_arrows_lead_to_the_innermost_call_and_operator(tmp_path):
    lake = yield write_timeline(tmp_path / "trace_view.json", timeline(*launched()))
    assert ask(lake, LAUNCHES) == LAUNCHED


@in_one_lake
def test_rows_of_a_table_take_over_what_their_twins_show(tmp_path):
    rows = [
        {"Name": "aclnnMm_MatMulV2_MatMulV2", "Type": "MatMulV2", "Task ID": "7", "Start Time(us)": "100.000"},
        {"Name": "aclnnAdd_Add_Add", "Type": "Add", "Task ID": "8", "Start Time(us)": "110.000",
         "Input Shapes": '"4,2"', "Input Data Types": "FLOAT"},
        {"Name": "aclnnAdd_Cast_Cast", "Type": "Cast", "Task ID": "9", "Start Time(us)": "116.000"},
    ]  # fmt: skip
    lake = yield write_folder(tmp_path, [row | {"Duration(us)": "5.000"} for row in rows], launched())
    found = ask(lake, LAUNCHES)
    assert [row[:4] for row in found] == [row[:4] for row in LAUNCHED]
    assert found[1][4] == "[[4,2]]"  # its own, as its table writes them
    sources = ask(lake, "SELECT source, counted, count(*) FROM ascend_kernels GROUP BY ALL ORDER BY ALL")
    assert sources == [("csv", True, 3), ("timeline", False, 3), ("timeline", True, 1)]
    assert ask(lake, "SELECT DISTINCT rule FROM kernel_duplicates") == [("timeline_twin",)]


@in_one_lake
def test_twins_are_rows_of_one_device_stream_task_and_start(tmp_path):
    def row(number, start, **more):
        return {"Task ID": number, "Start Time(us)": start, "Duration(us)": "5.000", **more}

    rows = [row("7", "100.000"), row("8", "200.000"), row("8", "200.000"), row("9", "300.4"), row("10", "400.000")]
    events = [
        task("Add", "100.000", 5.0, number=7), *(task("Add", "200.000", 5.0, number=8) for _ in range(3)),
        task("Add", "300.372", 5.0, number=9),
        task("Add", "400.000", 5.0, number=10, stream=47), task("Add", "401.001", 5.0, number=10),
    ]  # fmt: skip
    lake = yield write_folder(tmp_path, rows, events)
    found = ask(
        lake,
        "SELECT twin_id, start_ns FROM kernel_duplicates WHERE rule = 'timeline_twin' ORDER BY ALL",
    )
    assert found == [(0, 100000), (1, 200000), (2, 200000), (3, 300372)]
    # One more than the table has, another stream, and more than a microsecond away: these are rows of their own.
    left = ask(lake, "SELECT start_ns, stream FROM ascend_kernels WHERE source = 'timeline' AND counted ORDER BY ALL")
    assert left == [(200000, 2), (400000, 47), (401001, 2)]


@pytest.mark.parametrize("drop", [("Stream ID", "Task ID"), ("Stream ID",), ("Task ID",)])
@in_one_lake
def test_twins_have_one_name_and_start_where_the_table_has_no_streams_or_no_tasks(tmp_path, drop):
    rows = [
        {"Name": name, "Type": "N/A", "Accelerator Core": "N/A", "Start Time(us)": start, "Duration(us)": "5.000"}
        for name, start in (("Add1", "100.000"), ("Add1", "200.000"), ("Mul2", "200.000"), ("Add1", "300.000"))
    ]
    events = [
        task("Add1", "100.000", 5.0, number=7), task("Add1", "200.000", 5.0, number=8),
        task("Mul2", "200.000", 5.0, number=9, stream=47),
        task("Mul2", "300.000", 5.0, number=10),  # another name: a row of its own
    ]  # fmt: skip
    lake = yield write_folder(tmp_path, rows, events, drop=drop)
    found = ask(lake, "SELECT source, dup_of, count(*) FROM ascend_kernels GROUP BY ALL ORDER BY ALL")
    left = [("timeline", 0, 1), ("timeline", 1, 1), ("timeline", 2, 1), ("timeline", None, 1)]
    assert found == [("csv", None, 4), *left]
    # Five kernels of 5 µs, of which two run beside another one.
    assert ask(lake, "SELECT sum(dur_us) FROM kernels") == [(25.0,)]
    assert ask(lake, "SELECT compute_us FROM time_breakdown") == [(15.0,)]


@in_one_lake
def test_a_row_without_a_task_in_a_table_that_has_tasks_pairs_by_name_and_start(tmp_path):
    none = {"Stream ID": "N/A", "Task ID": "N/A", "Type": "N/A", "Duration(us)": "5.000"}
    rows = [
        {"Name": "Add", "Task ID": "7", "Start Time(us)": "100.000", "Duration(us)": "5.000"},
        *({"Name": "Mul", "Start Time(us)": start, **none} for start in ("100.000", "100.000", "200.000", "300.4")),
    ]
    events = [
        task("Add", "100.000", 5.0, number=7), task("Mul", "100.000", 5.0, number=8),
        task("Mul", "100.000", 5.0, number=9, stream=47), task("Mul", "200.000", 5.0, number=10),
        task("Mul", "300.372", 5.0, number=11), task("Sub", "200.000", 5.0, number=12),
    ]  # fmt: skip
    lake = yield write_folder(tmp_path, rows, events)
    found = ask(lake, "SELECT dup_of, name FROM ascend_kernels WHERE source = 'timeline' ORDER BY ALL")
    assert found == [(0, "Add"), (1, "Mul"), (2, "Mul"), (3, "Mul"), (4, "Mul"), (None, "Sub")]


@in_one_lake
def test_a_collective_of_folder_counts_once_however_often_it_is_shown(tmp_path):
    rows = [
        logical("allReduce", "428_0_1", "100.000", "50.000"),
        physical("allReduce", "100.000", "50.000", **{"Task ID": "3"}),
    ]
    events = [
        collective("hcom_allReduce__428_0_1", "100.000", 50.0),
        task("hcom_allReduce_AivKernel", "100.000", 50.0, stream=47, number=3, connection=5),
        operator("c10d::allreduce_", "10.000", 30.0, dims="[[4]]"), call("Node@launch", "15.000", 5.0),
        *arrow("HostToDevice", "21474836479", (CANN, 1, "16.000"), (HARDWARE, 47, "100.000")),
        *arrow("async_npu", "100000", (PYTHON, 1, "12.000"), (COLLECTIVES, 0, "100.000")),
    ]  # fmt: skip
    lake = yield write_folder(tmp_path, rows, events)
    found = ask(lake, "SELECT kernel_id, stream, op_name, launch_id IS NOT NULL, input_dims IS NOT NULL FROM kernels")
    assert found == [(0, 47, "c10d::allreduce_", True, True)]
    rules = ask(lake, "SELECT rule, twin_id FROM kernel_duplicates ORDER BY ALL")
    assert rules == [("aiv_exact", 0), ("timeline_twin", 0), ("timeline_twin", 0)]
    [row] = ask(lake, "SELECT hcom_rows, hcom_us, counted_us, timeline_twin_rows FROM double_counts")
    assert row == (2, 100.0, 50.0, 2)


@pytest.mark.parametrize(
    ("listed", "npu", "device"), [("5", "NPU", 5), (None, "NPU 3", 3), ("3", "NPU 3", 3), (None, "NPU", 0)]
)
@in_one_lake
def test_files_of_a_folder_are_of_one_device_whichever_says_it(tmp_path, listed, npu, device):
    row = {"Task ID": "7", "Start Time(us)": "100.000", "Duration(us)": "5.000"} | (
        {"Device_id": listed} if listed else {}
    )
    events = [task("Add", "100.000", 5.0, number=7), task("MEMCPY_ASYNC", "110.000", 5.0, kind="MEMCPY_ASYNC")]
    lake = yield write_folder(tmp_path, [row], events, npu=npu, drop=() if listed else ("Device_id",))
    assert ask(lake, "SELECT kernel_id, device FROM kernels ORDER BY start_ns")[0] == (0, device)
    assert ask(lake, "SELECT count(*), count(DISTINCT device) FROM kernels") == [(2, 1)]
    # What the host shows is of no device.
    lines = "SELECT process IN ('Python', 'CANN'), device FROM lines GROUP BY ALL ORDER BY ALL"
    assert ask(lake, lines) == [(False, device), (True, None)]
    assert ask(lake, "SELECT device FROM device_processes WHERE pid = '102'") == [(device,)]


@in_one_lake
def test_without_a_rule_the_timeline_still_shows_nothing_twice(tmp_path):
    rows = [{"Task ID": "7", "Start Time(us)": "100.000", "Duration(us)": "5.000"}]
    lake = yield Files(write_folder(tmp_path, rows, [task("Add", "100.000", 5.0, number=7)]), dedup="none")
    assert ask(lake, "SELECT kernel_id FROM kernels") == [(0,)]
