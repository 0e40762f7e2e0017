"""Sums over kernels: per type and core, per shapes, per category and kind, and in the words of Ascend's profiler."""

import itertools
import json

import pytest

from tracelake.lake import Lake

from ...lakes import in_one_lake, ingest_at_once
from ...summary_cases import write_case
from ...support import data_file
from .counters import ask, ask_one, product, write_table, write_trace


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A lake with a training step, an excerpt, a timeline, and a table without types."""
    opened = Lake(tmp_path_factory.mktemp("stats") / "lake")
    ingest_at_once(opened, {
        data_file("ascend/kernel_details_training_910b_arithmetic.csv"): {"trace": "step"},
        data_file("ascend/kernel_details_excerpt_pipeutilization.csv"): {"trace": "excerpt", "software": "CANN 8"},
        data_file("ascend/trace_view.json"): {"trace": "timeline"},
    })  # fmt: skip
    yield opened
    opened.close()


def of(trace: str) -> str:
    return f"(SELECT trace_id FROM traces WHERE trace = '{trace}')"


# ------------------------------------------------------------------------------------- per type and core


def test_sums_per_type_and_core_are_those_of_op_statistic(real):
    found = ask(
        real,
        "SELECT op_type, core, count, sum_us, min_us, round(mean_us, 4), max_us, round(ratio_pct, 3) "
        f"FROM op_statistics WHERE trace_id = {of('step')} "
        "AND op_type IN ('MatMul', 'ApplyAdamW', 'Cast', 'hcom_allReduce_') ORDER BY op_type, core",
    )
    assert found == [
        ("ApplyAdamW", "AI_VECTOR_CORE", 28, 12939.38, 3.68, 462.1207, 1793.06, 3.261),
        ("Cast", "AI_CPU", 7, 785.18, 73.96, 112.1686, 197.54, 0.198),
        ("Cast", "AI_VECTOR_CORE", 68, 5118.84, 1.54, 75.2771, 433.2, 1.29),
        ("MatMul", "AI_CORE", 9, 14070.56, 494.96, 1563.3956, 2072.3, 3.546),
        ("hcom_allReduce_", "HCCL", 14, 27867.58, 5.78, 1990.5414, 6328.78, 7.023),
    ]
    whole = ask_one(
        real,
        "SELECT count(DISTINCT op_type) AS types, sum(count) AS rows, sum(sum_us) AS us, sum(ratio_pct) AS pct, "
        f"sum(removed_us) AS removed FROM op_statistics WHERE trace_id = {of('step')}",
    )
    assert whole == {"types": 43, "rows": 591, "us": pytest.approx(396807.04), "pct": pytest.approx(100), "removed": 0}


def test_double_rows_are_in_the_sums_as_in_the_file_and_told_apart(real_lake):
    lake = real_lake("ascend/synthetic/hcom_pairs.csv")
    found = ask(
        lake,
        "SELECT sum(sum_us) FILTER (op_type LIKE 'hcom%'), sum(counted_us) FILTER (op_type LIKE 'hcom%'), "
        "sum(removed_us) FILTER (op_type LIKE 'hcom%'), sum(removed_us) FILTER (op_type LIKE '%AicpuKernel') "
        "FROM op_statistics",
    )
    assert found == [(224, 153.75, 70.25, 30.3)]


def profiler_folder(root, rows, **companions: str):
    """Write a profiler's folder with a table of kernels and other files."""
    output = root / "host_1_20251120000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    write_table(output / "kernel_details.csv", *rows)
    for name, text in companions.items():
        (output / f"{name}.csv").write_text(text)
    return output.parent


OP_STATISTIC = """Device_id,Model Name,OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),Ratio(%)
0,N/A,MatMulV2,AI_CORE,2,30.0,10,15,20,75
0,N/A,Add,AI_VECTOR_CORE,1,9.0,9,9,9,25
"""  # noqa: E501


@in_one_lake
def test_op_statistic_beside_the_kernels_is_compared_row_by_row(tmp_path):
    rows = [
        product("MatMulV2", "16,64;64,32", "16,32", **{"Duration(us)": "10"}),
        product("MatMulV2", "16,64;64,32", "16,32", **{"Duration(us)": "20"}),
        {"Duration(us)": "10"},
    ]
    lake = yield profiler_folder(tmp_path, rows, op_statistic=OP_STATISTIC)
    found = ask(lake, "SELECT op_type, core, file_count, kernel_count, file_us, kernel_us, diff_us, "
                      "round(diff_pct, 3) FROM op_statistic_comparison ORDER BY op_type")  # fmt: skip
    assert found == [
        ("Add", "AI_VECTOR_CORE", 1, 1, 9, 10, 1, round(100 / 39, 3)),
        ("MatMulV2", "AI_CORE", 2, 2, 30, 30, 0, 0),
    ]
    checked = ask(lake, "SELECT severity, round(value, 3) FROM health WHERE \"check\" = 'op_sums_differ'")
    assert checked == [("warning", round(100 / 39, 3))]


# --------------------------------------------------------------------------------------------- per shapes

GROUPS = """
    MatMulV2 [[81920,4096],[8192,512]] 4 187.6488 187.2735 1.8486
    MatMulV3 [[81920,1536],[8192,4096]] 4 509.2755 509.4705 6.7752
    MatMulV3 [[8192,15365],[8192,4096]] 4 521.3100 521.3100 0
    Add [[512,2,4096],[512,2,4096]] 4 27.5205 26.9005 2.2528
    Add [[],[]] 4 1.4800 1.4800 0.0721
"""


def test_groups_of_shapes_have_mean_median_and_deviation(real):
    trace_id = ask(real, of("excerpt").strip("()"))[0][0]
    found = {
        (op_type, dims.replace(" ", "")): (count, *figures)
        for op_type, dims, count, *figures in ask(
            real, f"SELECT op_type, input_dims, count, mean_us, median_us, std_us FROM shape_stats('{trace_id}')"
        )
    }
    assert len(found) == 8
    for line in GROUPS.split("\n")[1:-1]:
        op_type, dims, *figures = line.split()
        assert found[op_type, dims] == pytest.approx([float(figure) for figure in figures], abs=5.1e-5)


def test_shapes_of_a_training_step(real):
    [(groups, rows, shaped, of_shaped)] = ask(
        real,
        "SELECT count(*), sum(count), count(*) FILTER (input_dims IS NOT NULL), "
        "sum(count) FILTER (input_dims IS NOT NULL) FROM (SELECT op_type, input_dims, output_dims, sum(count) AS count "
        "FROM shape_stats((SELECT trace_id FROM traces WHERE trace = 'step')) GROUP BY ALL)",
    )
    assert (groups, rows, shaped, of_shaped) == (127, 591, 122, 547)


def test_counters_are_averaged_over_the_kernels_that_have_them(lake, tmp_path):
    one = product("MatMulV2", "16,64;64,32", "16,32") | {"aic_mac_ratio": "0.25", "aicore_time(us)": "N/A"}
    other = one | {"aic_mac_ratio": "0.75"}
    without = one | {"aic_mac_ratio": "N/A"}
    lake.ingest(write_table(tmp_path / "t.csv", one, other, without))
    found = ask_one(lake, "SELECT count, pmu_avg FROM kernel_stats")
    assert found["count"] == 3
    assert json.loads(found["pmu_avg"]) == {"aic_mac_ratio": 0.5, "aicore_time(us)": None}


@in_one_lake
def test_a_loop_is_no_work_beside_its_operations(tmp_path):
    # 10 + 25 of the loop's 40, and 5 after it.
    operations = "while.1 0+40; fusion.1 0+10; fusion.1 10+25; copy.2 40+5"
    lake = yield write_case(tmp_path / "loop.json", [(1, "/device:TPU:0", {"XLA Ops": operations})])
    [(trace_id,)] = lake.rows("SELECT trace_id FROM traces")
    for relation in ("kernel_stats", f"shape_stats('{trace_id}')"):
        query = f"SELECT op_type, count, sum_us FROM {relation} WHERE first_trace = 'loop' ORDER BY op_type"
        assert lake.rows(query) == [("copy.2", 1, 5), ("fusion.1", 2, 35)]


def test_the_same_work_of_two_traces_is_one_row_and_other_hardware_another(lake, tmp_path):
    def write(name: str, *durations: float):
        rows = (product("MatMulV2", "16,64;64,32", "16,32", **{"Duration(us)": str(us)}) for us in durations)
        return write_table(tmp_path / f"{name}.csv", *rows)

    ingest_at_once(lake, {
        write("one", 1, 2, 3): {"trace": "one", "hardware": "ascend_910b2"},
        write("two", 4): {"trace": "two", "hardware": "ascend_910b2"},
        write("three", 100): {"trace": "three", "hardware": "ascend_910b3"},
    })  # fmt: skip
    found = ask(
        lake,
        "SELECT hardware, count, traces, sum_us, min_us, mean_us, median_us, p95_us, max_us, first_trace, last_trace "
        "FROM kernel_stats ORDER BY hardware",
    )
    assert found == [
        ("ascend_910b2", 4, 2, 10, 1, 2.5, 2.5, pytest.approx(3.85), 4, "one", "two"),
        ("ascend_910b3", 1, 1, 100, 100, 100, 100, 100, 100, "three", "three"),
    ]


def test_types_of_elements_and_blocks_keep_rows_apart(lake, tmp_path):
    row = product("MatMulV2", "16,64;64,32", "16,32")
    lake.ingest(write_table(tmp_path / "t.csv", row, row | {"Input Data Types": "INT8;INT8"}, row | {"Block Num": "8"}))
    found = ask(lake, "SELECT input_types, block_num, count FROM kernel_stats ORDER BY ALL")
    assert [(json.loads(types)[0], *rest) for types, *rest in found] == [
        ("DT_BF16", 8, 1), ("DT_BF16", 20, 1), ("INT8", 20, 1),
    ]  # fmt: skip


def test_kernels_of_other_vendors_are_grouped_by_their_name_to_show(lake, s1_file):
    lake.ingest(s1_file)
    [(rows, counted)] = ask(lake, "SELECT sum(count), count(*) FROM kernel_stats WHERE core IS NULL")
    [(kernels, names)] = ask(lake, "SELECT count(*), count(DISTINCT (display_name, input_dims)) FROM kernels")
    assert (rows, counted) == (kernels, names)


# ------------------------------------------------------------------------------ sum, union and exposed time


def test_unions_of_kinds_in_a_training_step(real):
    found = ask(
        real,
        "SELECT kind, kernel_count, round(sum_us * 1000), round(union_us * 1000), round(exposed_us * 1000), "
        f"round(hidden_us * 1000) FROM kind_times WHERE trace_id = {of('step')} ORDER BY kind",
    )
    assert found == [
        ("communication", 19, 346398740, 346398740, 345405400, 993340),
        ("compute", 572, 50408300, 49171580, 48178240, 993340),
    ]
    assert ask(real, f"SELECT round(union_us * 1000) FROM kind_times WHERE trace_id = {of('excerpt')}") == [(8092001,)]


def write_kernels_of(path, kernels):
    """Write kernels (name, category in the file, start µs, end µs), a stream each."""
    return write_trace(path, [
        {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": n, "ts": start, "dur": end - start,
         "args": {"device": 0, "stream": n}}
        for n, (name, category, start, end) in enumerate(kernels)
    ])  # fmt: skip


@in_one_lake
def test_a_category_is_exposed_where_it_runs_alone_and_united_where_it_runs_twice(tmp_path):
    # gemm 0..10, 5..15 and 15..18: alone 0..8. norm 8..20: alone 19..20. all-reduce 17..19, 30..31: alone 30..31.
    lake = yield write_kernels_of(tmp_path / "t.json", [
        ("nvjet_gemm", "kernel", 0, 10), ("nvjet_gemm", "kernel", 5, 15), ("nvjet_gemm", "kernel", 15, 18),
        ("rmsnorm_kernel", "kernel", 8, 20), ("ncclDevKernel_AllReduce", "kernel", 17, 19),
        ("ncclDevKernel_AllReduce", "kernel", 30, 31), ("nvjet_gemm", "kernel", 40, 40),
    ])  # fmt: skip
    found = ask(
        lake,
        "SELECT category, kind, kernel_count, sum_us, union_us, exposed_us, round(sum_pct, 6) FROM category_times "
        "ORDER BY category",
    )
    assert found == [
        ("communication", "communication", 2, 3, 3, 1, round(300 / 38, 6)),
        ("gemm", "compute", 4, 23, 18, 8, round(2300 / 38, 6)),
        ("norm", "compute", 1, 12, 12, 1, round(1200 / 38, 6)),
    ]
    columns = "kind, kernel_count, sum_us, union_us, exposed_us, hidden_us"
    found = ask(lake, f"SELECT {columns} FROM kind_times ORDER BY kind")
    assert found == [("communication", 2, 3, 3, 1, 2), ("compute", 5, 35, 20, 18, 2)]


NAMES = {
    "gemm": "nvjet_gemm", "norm": "rmsnorm_kernel", "communication": "ncclDevKernel_AllReduce",
    "attention": "flash_fwd_kernel",
}  # fmt: skip


@pytest.mark.parametrize("seed", range(3))
@in_one_lake
def test_sweeping_equals_counting_every_moment(tmp_path, seed):
    import random

    dice = random.Random(seed)
    kernels = []
    for _ in range(60):
        start = dice.randrange(100)
        kernels.append((dice.choice([*NAMES]), start, start + dice.randrange(9)))
    lake = yield write_kernels_of(tmp_path / "t.json", [
        (NAMES[category], "kernel", start, end) for category, start, end in kernels
    ])  # fmt: skip
    running = [{category for category, start, end in kernels if start <= at < end} for at in range(120)]
    expected = {
        category: (sum(category in now for now in running), sum(now == {category} for now in running))
        for category in NAMES
    }
    found = ask(lake, "SELECT category, union_us, exposed_us FROM category_times")
    assert {category: tuple(times) for category, *times in found} == expected


@in_one_lake
def test_devices_are_swept_apart(tmp_path):
    rows = ({"Device_id": str(device), "Start Time(us)": "0", "Duration(us)": "10"} for device in (0, 1, 1))
    lake = yield write_table(tmp_path / "t.csv", *rows)
    found = ask(lake, "SELECT device, kernel_count, sum_us, union_us, exposed_us FROM category_times ORDER BY device")
    assert found == [(0, 1, 10, 10, 10), (1, 2, 20, 10, 10)]


# --------------------------------------------------------------------------------- the profiler's own terms


def test_a_step_in_the_profilers_terms(real):
    found = ask_one(
        real,
        "SELECT step_id, elapsed_us, computing_us, communication_us, overlapped_us, communication_not_overlapped_us, "
        f"free_us, stage_us, bubble_us FROM msprof_breakdown WHERE trace_id = {of('step')}",
    )
    assert found == {
        "step_id": 1, "elapsed_us": 516885.54, "computing_us": 49171.58, "communication_us": 346398.74,
        "overlapped_us": 993.34, "communication_not_overlapped_us": 345405.4, "free_us": 122308.56,
        "stage_us": 516885.54, "bubble_us": 0,
    }  # fmt: skip
    assert ask(real, f"SELECT step_id, free_us FROM msprof_breakdown WHERE trace_id = {of('excerpt')}") == [
        (19, 2849028.404)
    ]


def test_the_profilers_own_lanes_say_the_same_as_the_kernels(real):
    lanes = dict(ask(real, "SELECT lane, (events, sum_us) FROM overlap_lanes"))
    [(computing, free)] = ask(
        real, f"SELECT computing_us, free_us FROM msprof_breakdown WHERE trace_id = {of('timeline')}"
    )
    # Copies are no computing; each of 273 gaps is rounded to a nanosecond.
    assert lanes["Computing"] == (274, computing)
    assert lanes["Free"][0] == 273
    assert lanes["Free"][1] == pytest.approx(free, abs=0.273)
    assert computing == pytest.approx(1788.2505, abs=274 * 0.0001)


@in_one_lake
def test_receiving_is_the_bubble_and_a_copy_is_free_time(tmp_path):
    def row(name: str, start: int, dur: int, core: str = "COMMUNICATION", **more: str) -> dict[str, str]:
        return {
            "Name": name, "Type": name.split("__", maxsplit=1)[0] + "_" * ("__" in name), "Accelerator Core": core,
            "Start Time(us)": str(start), "Duration(us)": str(dur), "Step Id": "3", **more,
        }  # fmt: skip

    lake = yield write_table(
        tmp_path / "t.csv",
        row("Add", 0, 10, "AI_VECTOR_CORE"),
        row("hcom_receive__777_0_1", 5, 20, **{"Stream ID": "N/A"}),
        row("MEMCPY_ASYNC", 30, 5, "MEMCPY_ASYNC"),
        row("Add", 40, 10, "AI_VECTOR_CORE"),
    )
    found = ask_one(lake, "SELECT * EXCLUDE (trace_id, rank, device, start_ns, end_ns) FROM msprof_breakdown")
    assert found == {
        "step_id": 3, "elapsed_us": 50, "computing_us": 20, "communication_us": 20, "overlapped_us": 5,
        "communication_not_overlapped_us": 15, "free_us": 15, "bubble_us": 20, "stage_us": 30,
        "not_overlapped_exclude_receive_us": -5,
    }  # fmt: skip


@in_one_lake
def test_kernels_that_exchange_tokens_themselves_are_computing_for_the_profiler_and_communication_elsewhere(tmp_path):
    names = ("QuantBatchMatmulV3", "MoeDistributeDispatchV2", "GroupedMatmul", "MoeDistributeCombineV2")
    rows = [
        {"Name": name, "Type": name, "Accelerator Core": "MIX_AIV", "Start Time(us)": str(start), "Duration(us)": "10"}
        for name, start in zip(names, (0, 10, 20, 30), strict=True)
    ]
    rows.append({"Name": "hcom_allReduce__428_0_1", "Type": "hcom_allReduce_", "Accelerator Core": "COMMUNICATION",
                 "Start Time(us)": "40", "Duration(us)": "5", "Stream ID": "N/A"})  # fmt: skip
    lake = yield write_table(tmp_path / "t.csv", *rows)
    assert ask(lake, "SELECT computing_us, communication_us, overlapped_us FROM msprof_breakdown") == [(40, 5, 0)]
    assert dict(ask(lake, "SELECT kind, sum(dur_us) FROM kernels GROUP BY kind")) == {
        "compute": 20, "communication": 25,
    }  # fmt: skip


STEPS = """Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing
0,7,20,0,0,0,20,40,0,0,3
0,8,10,0,0,0,0,10,0,0,1
"""  # noqa: E501


@in_one_lake
def test_the_files_steps_are_compared_with_the_kernels_of_each(tmp_path):
    def rows():
        for step, start, dur in (("7", 0, 10), ("7", 30, 10), ("8", 50, 9)):
            yield {"Step Id": step, "Start Time(us)": str(start), "Duration(us)": str(dur)}

    lake = yield profiler_folder(tmp_path, [*rows()], step_trace_time=STEPS)
    found = ask(lake, "SELECT step, term, file_us, kernel_us, diff_us, diff_pct FROM step_trace_comparison "
                      "WHERE term IN ('computing', 'free') ORDER BY step, term")  # fmt: skip
    assert found == [
        ("7", "computing", 20, 20, 0, 0), ("7", "free", 20, 20, 0, 0), ("8", "computing", 10, 9, -1, -10),
        ("8", "free", 0, 0, 0, 0),
    ]  # fmt: skip
    checked = ask(lake, "SELECT severity, value FROM health WHERE \"check\" = 'msprof_differs'")
    assert checked == [("warning", 10)]
    assert ask(lake, "SELECT step, preparing_us, elapsed_us, gap_us FROM step_trace_times ORDER BY step") == [
        ("7", 3, 40, 0), ("8", 1, 10, 0),
    ]  # fmt: skip


def test_parts_of_a_step_sum_to_its_length(real):
    rows = ask(
        real,
        "SELECT round((computing_us + communication_not_overlapped_us + free_us - elapsed_us) * 1000), "
        "round((communication_us - overlapped_us - communication_not_overlapped_us) * 1000) FROM msprof_breakdown",
    )
    assert rows
    assert set(itertools.chain(*rows)) == {0}
