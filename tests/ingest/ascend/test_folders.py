"""What an Ascend profiler leaves of one rank is one trace, with its companions and what its folders' names say."""

import json
import sqlite3
from pathlib import Path

import pytest

from tracelake.lake import Lake
from tracelake.synthetic.databases import write_msprof

from ...support import data_file, ingest_into, trace_bytes

KERNELS = """Device_id,Name,Type,Task ID,Stream ID,Accelerator Core,Start Time(us),Duration(us)
3,MatMul1,MatMul,1,2,AI_CORE,100.125,10
3,hcom_allReduce__428_0_1,hcom_allReduce_,N/A,N/A,COMMUNICATION,110.25,5
"""
OP_SUMMARY = KERNELS.replace("Name,Type", "Op Name,OP Type").replace("Start", "Task Start").replace(",Dur", ",Task Dur")
STEPS = (
    "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble\n"
    "3,7,10,5,0,5,0.125,15.125,0\n"
)
STATISTIC = "Device_id,Model Name,OP Type,Core Type,Count,Total Time(us)\n3,0,MatMul,AI_CORE,1,10\n"
TIME = {"Start Timestamp(us)": 110.25, "Elapse Time(ms)": 0.005}
COLLECTIVE = {"Communication Time Info": TIME, "Communication Bandwidth Info": {"HCCS": {"Transit Size(MB)": 1}}}
COMMUNICATION = {
    "step7": {"p2p": {}, "collective": {"hcom_allReduce__428_0_1@10031793614": COLLECTIVE, "Total Op Info": COLLECTIVE}}
}
LINK = {"Transport Type": "HCCS", "Transit Time(ms)": 0.002}
MATRIX = {"step7": {"collective": {"hcom_allReduce__428_0_1@10031793614": {"0-1": LINK}}}}
TIMELINE = [
    {"ph": "M", "name": "process_name", "pid": 8, "args": {"name": "Ascend Hardware"}},
    {"ph": "X", "name": "MatMul1", "pid": 8, "tid": 2, "ts": "100.125", "dur": 10, "args": {"Stream Id": 2}},
]


def write(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())


def rank_folder(folder: Path, name: str = "dp0_pp0_tp1_dcp0_ep1_rank5_20260101120000000_ascend_pt") -> Path:
    worker = folder / name
    output = "ASCEND_PROFILER_OUTPUT"
    info = {"DeviceInfo": [{"id": 3, "ai_core_num": 24, "aic_frequency": "1850", "secret": "token"}]}
    write(worker, {
        f"{output}/kernel_details.csv": KERNELS,
        f"{output}/trace_view.json": json.dumps(TIMELINE),
        f"{output}/step_trace_time.csv": STEPS,
        f"{output}/op_statistic.csv": STATISTIC,
        f"{output}/communication.json": json.dumps(COMMUNICATION),
        f"{output}/communication_matrix.json": json.dumps(MATRIX),
        "PROF_000001_20260101120000000_ABCDEF/device_3/info.json.3": json.dumps(info),
        "PROF_000001_20260101120000000_ABCDEF/mindstudio_profiler_output/op_summary_20260101120000.csv": OP_SUMMARY,
        "profiler_metadata.json": "{}",
        "FRAMEWORK/torch.op_range": b"\0\1\2",
        "analyse.done": b"",
    })  # fmt: skip
    return worker


def test_a_rank_s_folder_is_one_trace_with_all_its_files(tmp_path):
    worker = rank_folder(tmp_path)
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, worker)
    assert (result.events, result.rejected) == (2 + 2 + 1 + 1 + 2 + 1, 0)
    assert result.trace == "dp0_pp0_tp1_dcp0_ep1_rank5_20260101120000000"
    [row] = lake.sql(
        "SELECT format, vendor, rank, rank_source, tp_rank, ep_rank, pp_rank, dcp_rank, metadata FROM traces"
    ).fetchall()
    assert row[:-1] == ("ascend", "huawei", 5, "folder name", 1, 1, 0, 0)
    metadata = json.loads(row[-1])
    assert metadata["chip"] == {"id": 3, "ai_core_num": 24, "aic_frequency": "1850"}
    assert metadata["dcp_rank"] == 0
    assert [file["kind"] for file in metadata["files"]] == [
        "kernels", "communication", "communication_matrix", "op_statistic", "step_trace_time",
    ]  # fmt: skip
    found = lake.sql("SELECT event_id, lane, name FROM events ORDER BY event_id").fetchall()
    assert found == [
        (0, "device", "MatMul1"),
        (1, "device", "hcom_allReduce__428_0_1"),
        (2, "meta", "process_name"),
        (3, "device", "MatMul1"),
        (4, "meta", "communication"),
        (5, "meta", "communication"),
        (6, "meta", "communication_matrix"),
        (7, "meta", "op_statistic"),
        (8, "meta", "step_trace_time"),
    ]


def test_what_companions_say_is_kept_as_they_say_it(tmp_path):
    lake = Lake(tmp_path / "lake")
    ingest_into(lake, rank_folder(tmp_path))
    rows = {
        name: json.loads(args)
        for name, args in lake.sql(
            "SELECT name, args FROM events WHERE lane = 'meta' ORDER BY event_id DESC"
        ).fetchall()
    }
    assert rows["step_trace_time"]["Communication(Not Overlapped)"] == "5"
    assert rows["op_statistic"]["OP Type"] == "MatMul"
    place = {"ranks": None, "step": "step7", "kind": "collective", "op": "hcom_allReduce__428_0_1"}
    assert rows["communication"] == place | {
        "group": "10031793614", "rank": None, "time": TIME, "bandwidth": {"HCCS": {"Transit Size(MB)": 1}},
    }  # fmt: skip
    assert rows["communication_matrix"] == place | {"group": "10031793614", "rank": None, "link": "0-1"} | LINK


def test_ranks_below_a_folder_are_traces_of_their_own_and_a_second_time_nothing_is_new(tmp_path):
    for rank in (0, 1):
        rank_folder(tmp_path / "run", f"host_{rank}_2026010112000000{rank}_ascend_pt")
        write(tmp_path / "run" / f"host_{rank}_2026010112000000{rank}_ascend_pt", {
            f"profiler_info_{rank}.json": "{}",
            # Two ranks never write the same times.
            "ASCEND_PROFILER_OUTPUT/step_trace_time.csv": STEPS.replace("0.125", f"0.{rank}"),
        })  # fmt: skip
    write(tmp_path / "run", {"other.trace.json": trace_bytes([{"ph": "X", "name": "a", "ts": 1, "dur": 1}])})
    lake = Lake(tmp_path / "lake")
    results = ingest_into(lake, tmp_path / "run")
    assert [result.new for result in results] == [True] * 3
    ranks = lake.sql("SELECT rank, rank_source FROM traces WHERE format = 'ascend' ORDER BY ALL").fetchall()
    assert ranks == [(0, "profiler info"), (1, "profiler info")]
    assert [result.new for result in ingest_into(lake, tmp_path / "run")] == [False] * 3


def test_without_the_framework_s_output_the_table_of_the_exporter_counts(tmp_path):
    folder = tmp_path / "PROF_000001_20260101120000000_ABCDEF"
    write(folder / "mindstudio_profiler_output", {"op_summary_20260101120000.csv": OP_SUMMARY})
    write(folder / "device_2", {"info.json.2": "{}"})
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, folder)
    assert result.events == 2
    assert lake.sql("SELECT name, start_ns, dur_ns FROM events ORDER BY event_id").fetchall() == [
        ("MatMul1", 100_125, 10_000),
        ("hcom_allReduce__428_0_1", 110_250, 5000),
    ]


def test_slices_of_the_exporter_s_files_are_one_trace(tmp_path):
    folder = tmp_path / "PROF_000001_20260101120000000_ABCDEF"
    second = OP_SUMMARY.replace("100.125", "200.125").replace("110.25", "210.25")
    timeline = json.dumps(TIMELINE)
    write(folder / "mindstudio_profiler_output", {
        "op_summary_slice_0_20260101120000.csv": OP_SUMMARY,
        "op_summary_slice_1_20260101120000.csv": second,
        "msprof_slice_0_20260101120000.json": timeline,
        "msprof_slice_1_20260101120000.json": timeline.replace("100.125", "200.125"),
    })  # fmt: skip
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, tmp_path)
    assert (result.trace, result.events, result.rejected) == (folder.name, 8, 0)
    # Two products of 10 us and two collectives of 5 us, shown twice by the timeline or not.
    assert lake.sql("SELECT count(*), sum(dur_us), min(start_ns), max(end_ns) FROM kernels").fetchall() == [
        (4, 30.0, 100_125, 215_250)
    ]


def test_the_device_of_a_table_that_names_none_is_the_folder_s(tmp_path):
    table = "Name,Type,Start Time(us),Duration(us)\nAdd1,Add,1,2\n"
    write(tmp_path / "device_6" / "summary", {"op_summary_6_1_20260101120000.csv": table})
    lake = Lake(tmp_path / "lake")
    ingest_into(lake, tmp_path / "device_6")
    assert lake.sql("SELECT device FROM events").fetchall() == [(6,)]


def test_a_broken_companion_costs_itself_and_is_counted(tmp_path):
    worker = rank_folder(tmp_path)
    write(worker / "ASCEND_PROFILER_OUTPUT", {"communication.json": json.dumps(COMMUNICATION)[:-30]})
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, worker)
    assert (result.events, result.rejected) == (2 + 2 + 1 + 1 + 1, 1)
    assert "communication.json: not whole JSON" in result.reason


def test_a_broken_table_of_kernels_is_refused(tmp_path):
    worker = rank_folder(tmp_path)
    write(worker / "ASCEND_PROFILER_OUTPUT", {"kernel_details.csv": "Name,Type\nx,y\n"})
    [failed] = ingest_into(Lake(tmp_path / "lake"), worker)
    assert "lacks Start Time(us), Duration(us)" in failed.reason


def test_a_command_takes_the_folder_as_a_trace(tmp_path):
    worker = rank_folder(tmp_path)
    lake = Lake(tmp_path / "lake")
    trace_id = lake.locate(str(worker / "ASCEND_PROFILER_OUTPUT"))
    assert lake.locate(str(worker / "ASCEND_PROFILER_OUTPUT")) == trace_id
    assert lake.locate("dp0_pp0_tp1_dcp0_ep1_rank5_20260101120000000") == trace_id


def test_a_single_file_of_a_rank_s_folder_takes_the_folder_s_name_and_rank(tmp_path):
    worker = rank_folder(tmp_path)
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, worker / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv")
    assert result.trace == "dp0_pp0_tp1_dcp0_ep1_rank5_20260101120000000"
    assert lake.sql("SELECT rank FROM traces").fetchall() == [(5,)]


def test_tables_of_unknown_kinds_in_a_folder_are_no_traces(tmp_path):
    write(tmp_path / "results", {"loss.csv": "step,loss\n1,2.5\n", "pass.csv": KERNELS})
    [result] = ingest_into(Lake(tmp_path / "lake"), tmp_path / "results")
    assert result.trace == "pass"
    write(tmp_path / "others", {"loss.csv": "step,loss\n1,2.5\n"})
    [failed] = Lake(tmp_path / "lake").ingest(tmp_path / "others")
    assert "no traces in this folder" in str(failed)


TASKS = "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us)\n3,a,AI_CORE,2,1,10,100\n"


def test_a_table_of_tasks_beside_one_of_kernels_is_no_trace_and_alone_it_is_one(tmp_path):
    """CANN's exporter always writes it, large ones in slices."""
    output = tmp_path / "PROF_000001_20260101120000000_ABCDEF" / "mindstudio_profiler_output"
    names = ("task_time_20260101120000.csv", "task_time_slice_0_20260101120000.csv")
    write(output, {"op_summary_20260101120000.csv": OP_SUMMARY, **dict.fromkeys(names, TASKS)})
    write(tmp_path / "alone", {names[0]: TASKS})
    found = [(one.trace, one.events) for one in ingest_into(Lake(tmp_path / "lake"), tmp_path)]
    assert sorted(found) == [("PROF_000001_20260101120000000_ABCDEF", 2), ("task_time_20260101120000", 1)]


@pytest.mark.parametrize(
    ("name", "kind", "events"),
    [
        ("cluster_step_trace_time.csv", "step_trace_time", 9),
        ("cluster_communication.json", "communication", 4),
        ("profiling_db/FusedInferAttentionScore.csv", "profiled_shape", 10),
        ("profiling_db/TransposeBatchMatMul.csv", "profiled_shape", 2),
        ("simulator_op_summary/qwen3_32b_decode.json", "simulated_op", 30),
        ("simulator_op_summary/dsv3_prefill.json", "simulated_op", 46),
    ],
)
def test_companions_can_be_read_alone(tmp_path, name, kind, events):
    lake = Lake(tmp_path / "lake")
    [result] = ingest_into(lake, data_file(f"ascend/{name}"))
    assert (result.events, result.rejected) == (events, 0)
    assert lake.sql("SELECT DISTINCT lane, name FROM events").fetchall() == [("meta", kind)]


def test_the_tables_of_all_ranks_are_read_from_their_folder_as_they_are_alone(tmp_path):
    """The analysis of a cluster writes both into one folder, and the matrix of links beside them."""
    folder = tmp_path / "cluster_analysis_output"
    folder.mkdir()
    for name in ("cluster_step_trace_time.csv", "cluster_communication.json"):
        (folder / name).write_bytes(data_file(f"ascend/{name}").read_bytes())
    (folder / "cluster_communication_matrix.json").write_text("{}")
    lake = Lake(tmp_path / "lake")
    assert [(one.trace, one.events) for one in ingest_into(lake, folder)] == [
        ("cluster_communication", 4), ("cluster_step_trace_time", 9),
    ]  # fmt: skip
    assert lake.rows("SELECT count(*) FROM communication_ops") == [(4,)]


SUMMARY = "Name,Type,Start Time(us),Duration(us)\nAdd1,Add,{},2\n"
CAPTURE = "PROF_000001_20260101120000000_ABCDEF"


def test_the_device_of_a_table_that_names_none_does_not_depend_on_the_way_to_it(tmp_path):
    """The exporter's output lies beside the only folder of a device; of two devices each has its own below it."""
    folders = {3: CAPTURE, 5: CAPTURE.replace("000001", "000002"), 6: CAPTURE.replace("000001", "000002")}
    tables = {
        3: tmp_path / folders[3] / "mindstudio_profiler_output" / "op_summary_20260101120000.csv",
        5: tmp_path / folders[5] / "device_5" / "summary" / "op_summary_5_1_20260101120000.csv",
        6: tmp_path / folders[6] / "device_6" / "summary" / "op_summary_6_1_20260101120000.csv",
    }
    for device, table in tables.items():
        write(table.parent, {table.name: SUMMARY.format(device)})
    write(tmp_path / folders[3] / "device_3", {"info.json.3": "{}"})
    found = []
    for nth, way in enumerate([[tmp_path], [table.parent for table in tables.values()], list(tables.values())]):
        lake = Lake(tmp_path / f"lake{nth}")
        ingest_into(lake, *way)
        found.append(lake.sql("SELECT DISTINCT start_ns, device FROM events ORDER BY ALL").fetchall())
    assert found == [[(3000, 3), (5000, 5), (6000, 6)]] * 3


def test_a_capture_of_the_exporter_is_called_by_its_folder_and_its_device(tmp_path):
    for device in (5, 6):
        folder = tmp_path / CAPTURE / f"device_{device}" / "summary"
        write(folder, {f"op_summary_{device}_1_20260101120000.csv": SUMMARY.format(device)})
    results = ingest_into(Lake(tmp_path / "lake"), tmp_path)
    assert sorted(result.trace for result in results) == [f"{CAPTURE}_device_5", f"{CAPTURE}_device_6"]


def test_the_database_of_a_rank_s_folder_is_read_where_it_has_no_table_of_kernels(tmp_path):
    for rank in (0, 1):
        output = tmp_path / "run" / f"host_{rank}_2026010112000000{rank}_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
        write(output, {"step_trace_time.csv": STEPS.replace("0.125", f"0.{rank}"), "trace_view.json": "[]"})
        write_msprof(output / f"ascend_pytorch_profiler_{rank}.db")
    both = rank_folder(tmp_path / "both")
    write_msprof(both / "ASCEND_PROFILER_OUTPUT" / "ascend_pytorch_profiler_5.db")
    lake = Lake(tmp_path / "lake")
    ingest_into(lake, tmp_path / "run", tmp_path / "both")
    # 9 events of the database and a row of steps; with both, only what the tables and the time line have.
    assert lake.rows("SELECT trace, rank, event_count FROM traces ORDER BY rank") == [
        ("host_0_20260101120000000", 0, 10),
        ("host_1_20260101120000001", 1, 10),
        ("dp0_pp0_tp1_dcp0_ep1_rank5_20260101120000000", 5, 9),
    ]


def test_of_databases_that_were_gathered_in_a_folder_each_is_a_trace(tmp_path):
    (tmp_path / "all").mkdir()
    write_msprof(tmp_path / "all" / "ascend_pytorch_profiler_0.db")
    again = write_msprof(tmp_path / "all" / "ascend_pytorch_profiler_1.db")
    connection = sqlite3.connect(again)
    connection.execute("UPDATE TASK SET endNs = endNs + 1")
    connection.commit()
    connection.close()
    results = ingest_into(Lake(tmp_path / "lake"), tmp_path / "all")
    assert sorted(result.trace for result in results) == ["ascend_pytorch_profiler_0", "ascend_pytorch_profiler_1"]


def test_the_database_beside_the_exporter_s_tables_is_the_same_capture(tmp_path):
    folder = tmp_path / CAPTURE
    write(folder / "mindstudio_profiler_output", {"op_summary_20260101120000.csv": OP_SUMMARY})
    write_msprof(folder / "msprof_20260101120000.db")
    [result] = ingest_into(Lake(tmp_path / "lake"), tmp_path)
    assert (result.trace, result.events) == (CAPTURE, 2)


def test_what_cann_left_beside_the_output_is_the_same_capture_whatever_the_rank_s_folder_is_called(tmp_path):
    folder = rank_folder(tmp_path, "renamed")
    write_msprof(folder / "PROF_000001_20260101120000000_ABCDEF" / "msprof_20260101120000.db")
    [result] = ingest_into(Lake(tmp_path / "lake"), tmp_path)
    assert Path(result.source).name == "ASCEND_PROFILER_OUTPUT"
