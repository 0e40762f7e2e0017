"""A simulated forward pass beside a measured one: sums, types, shapes, and how much of it rests on measurements."""

from pathlib import Path

import pytest

from tracelake.engine.errors import UsageError
from tracelake.lake import Lake

from ...lakes import Files, in_one_lake
from ...support import data_file
from .counters import ask, product, write_table, write_trace


def event(place: int, name: str, dur: float, *, pid: int = 1, **args: object) -> dict:
    """Return a call of a simulator's trace."""
    return {"ph": "X", "cat": "analytic", "name": name, "pid": pid, "tid": 1, "ts": 1000 * place, "dur": dur,
            "args": args}  # fmt: skip


def simulated(path: Path, *calls: tuple) -> Path:
    """Write a simulator's trace: calls (name, dur, arguments)."""
    return write_trace(path, [event(place, name, dur, **args) for place, (name, dur, args) in enumerate(calls)])


def hit(kernel_type: str, **more: object) -> dict:
    return {"kernel_type": kernel_type, "source": "MEASURED", **more}


def collective(place: int, dur: float, kind: str = "allReduce", **more: str) -> dict[str, str]:
    return {
        "Name": f"hcom_{kind}__428_{place}_1", "Type": f"hcom_{kind}_", "Accelerator Core": "COMMUNICATION",
        "Stream ID": "N/A", "Task ID": "N/A", "Duration(us)": str(dur), **more,
    }  # fmt: skip


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """The example of the metric's own tests: 64 attentions, 128 products, 64 collectives and a sort."""
    folder = tmp_path_factory.mktemp("published")
    opened = Lake(folder / "lake")
    rows = [product("FusedInferAttentionScore", "16,4,128", "16,4,128", **{"Duration(us)": "50"})] * 64
    rows += [product("MatMulV2", "16,512;512,5120", "16,5120", **{"Duration(us)": "25"})] * 128
    rows += [collective(place, 100) for place in range(64)]
    rows += [{"Name": "Sort", "Type": "Sort", "Duration(us)": "200"}]
    attention = hit("FusedInferAttentionScore", simulation_shapes="[[16, 4, 128]]")
    matmul = {"kernel_type": "MatMulV2", "source": "INTERPOLATED", "simulation_shapes": "[[16, 512], [512, 5120]]"}
    calls = [("tensor_cast.attention.default", 53, attention)] * 64 + [("aten.mm.default", 20, matmul)] * 128
    calls += [
        ("aten.sort.default", 500, {"kernel_type": "Sort", "source": "EXTRAPOLATED"}),
        ("tensor_cast.all_reduce.default", 70, {}),
    ]
    opened.ingest(write_table(folder / "measured.csv", *rows), simulated(folder / "simulated.json", *calls))
    yield opened
    opened.close()


def test_m6_of_the_published_example(published):
    found = dict(
        zip(
            ("m6", "coverage", "calibration", "surplus", "hit_us", "simulated_us", "measured_us", "compute_us", "comm"),
            published.align("simulated", "measured", by="summary").fetchall()[0],
            strict=True,
        )
    )
    assert found == {
        "m6": pytest.approx(0.457846, abs=5e-7), "coverage": 6400 / 13000, "calibration": 5952 / 6400, "surplus": 0,
        "hit_us": 5952, "simulated_us": 6522, "measured_us": 13000, "compute_us": 6600, "comm": 6400,
    }  # fmt: skip
    assert found["m6"] == pytest.approx(found["coverage"] * found["calibration"] + found["surplus"], rel=1e-15)


def test_types_of_both_sides_with_errors_and_status(published):
    columns = "kernel_type, op_names, simulated_us, simulated_count, hit_us, measured_us, measured_count, error_pct, "
    found = published.align("simulated", "measured").select(columns + "count_error_pct, status").fetchall()
    assert found == [
        ("hcom_allReduce_", "tensor_cast.all_reduce.default", 70, 1, 0, 6400, 64, -98.90625, -98.4375, "MISS"),
        ("FusedInferAttentionScore", "tensor_cast.attention.default", 3392, 64, 3392, 3200, 64, 6, 0, "HIT"),
        ("MatMulV2", "aten.mm.default", 2560, 128, 2560, 3200, 128, -20, 0, "HIT"),
        ("Sort", "aten.sort.default", 500, 1, 0, 200, 1, 150, 0, "MISS"),
    ]


def test_shapes_of_both_sides(published):
    columns = "kernel_type, shape_key, simulated_us, measured_us, error_pct, sources, side"
    found = set(published.align("simulated", "measured", by="shape").select(columns).fetchall())
    assert found == {
        ("FusedInferAttentionScore", "16,4,128", 3392, 3200, 6, "MEASURED", "both"),
        ("MatMulV2", "16,512;512,5120", 2560, 3200, -20, "INTERPOLATED", "both"),
        ("hcom_allReduce_", None, 70, 6400, -98.90625, None, "both"),
        ("Sort", None, 500, 200, 150, "EXTRAPOLATED", "both"),
    }


def test_other_sources_count_where_they_are_asked_for(published):
    ids = dict(ask(published, "SELECT trace, trace_id FROM traces"))
    query = f"SELECT m6 FROM align_summary('{ids['simulated']}', '{ids['measured']}', NULL, NULL, 'tracelake', "
    assert ask(published, query + "['EXTRAPOLATED'])") == [(500 / 13000,)]
    assert ask(published, query + "['MEASURED'])") == [(3392 / 13000,)]


def test_a_metric_is_a_share_of_calls_functions_and_shapes(published):
    found = {
        metric: (hits, total)
        for metric, _, hits, total in published.align("simulated", "measured", "metrics").fetchall()
    }
    # The fused functions of M2 and M3 and the second model of M5 are not in this trace.
    assert found == {"M1": (192, 194), "M4": (2, 4)}


def align(lake, *options, measured="m", **said):
    """Align the simulation of a test with what it measured."""
    return lake.lake.align(lake.ids["s"], lake.ids[measured], *options, **said)


@in_one_lake
def test_collectives_written_twice_count_by_the_rule_asked_for(tmp_path):
    start = "1751520000000100"
    rows = [
        collective(0, 100, **{"Start Time(us)": f"{start}.125"}),
        collective(0, 100, **{"Start Time(us)": f"{start}.125", "Name": "hcom_allReduce_AivKernel", "Stream ID": "47"}),
        {"Duration(us)": "50", "Start Time(us)": f"{start}.000"},
        # Two groups begin within one microsecond: two collectives, of which the published rule sees the longer.
        collective(1, 8, "allGather", **{"Start Time(us)": "1751520000001000.250"}),
        collective(2, 15, "allGather", **{"Start Time(us)": "1751520000001000.750", "Name": "hcom_allGather__911_0_1"}),
        {"Name": "allreduceAicpuKernel", "Type": "allreduceAicpuKernel", "Accelerator Core": "AI_CPU",
         "Start Time(us)": f"{start}.000", "Duration(us)": "99", "Stream ID": "51"},
    ]  # fmt: skip
    lake = yield Files(write_table(tmp_path / "m.csv", *rows), simulated(tmp_path / "s.json", ("a", 1, hit("Add"))))
    found = {
        rule: align(lake, "summary", dedup=rule).select("compute_us, communication_us").fetchall()[0]
        for rule in ("tracelake", "compat", "none")
    }
    assert found == {"tracelake": (50, 123), "compat": (50, 115), "none": (50, 223)}


@in_one_lake
def test_calibration_and_surplus_add_up_where_types_are_on_one_side_only(tmp_path):
    lake = yield Files(
        write_table(tmp_path / "m.csv", {"Duration(us)": "100"}, {"Type": "Mul", "Duration(us)": "300"}),
        simulated(tmp_path / "s.json", ("a", 80, hit("Add")), ("b", 40, hit("Neg")), ("c", 0, hit("Mul"))),
    )
    found = align(lake, "summary").select("m6, coverage, calibration, surplus").fetchall()
    # Add: 80 for 100. Neg is not measured. A call of no time is no hit.
    assert found == [(0.3, 0.25, 0.8, 0.1)]
    types = align(lake).select("kernel_type, error_pct, count_error_pct, status").fetchall()
    assert types == [("Mul", -100, 0, "HIT"), ("Add", -20, 0, "HIT"), ("Neg", None, None, "HIT")]


@in_one_lake
def test_nothing_measured_has_no_m6(tmp_path):
    lake = yield Files(
        write_trace(tmp_path / "m.json", [{"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": 0, "dur": 1}]),
        simulated(tmp_path / "s.json", ("a", 80, hit("Add"))),
    )
    assert align(lake, "summary").select("m6, coverage, calibration, surplus, hit_us").fetchall() == [
        (None, None, None, None, 80)
    ]


@in_one_lake
def test_a_fused_call_is_taken_apart_by_its_durations_or_equally(tmp_path):
    parts = "[('BatchMatMulV2', 9.0), ('FusedInferAttentionScore', 55.0), ('TransposeBatchMatMul', 13.0)]"
    listed = "BatchMatMulV2,FusedInferAttentionScore,TransposeBatchMatMul"
    lake = yield simulated(
        tmp_path / "s.json",
        ("torch.ops.mla.default", 77, hit(listed, sub_kernel_durations=parts, simulation_shapes="[[4, 512]]")),
        ("mc2", 30, {"kernel_type": "MatMulV2, hcom_allReduce_", "source": "PARTIAL"}),
    )
    found = ask(
        lake, "SELECT op_name, kernel_type, part, parts, status, sum_us, shape_key FROM simulated_ops ORDER BY ALL"
    )
    assert found == [
        ("mc2", "MatMulV2", 1, 2, "partial", 15, None), ("mc2", "hcom_allReduce_", 2, 2, "partial", 15, None),
        ("torch.ops.mla.default", "BatchMatMulV2", 1, 3, "hit", 9, "4,512"),
        ("torch.ops.mla.default", "FusedInferAttentionScore", 2, 3, "hit", 55, "4,512"),
        ("torch.ops.mla.default", "TransposeBatchMatMul", 3, 3, "hit", 13, "4,512"),
    ]  # fmt: skip


@in_one_lake
def test_an_unmapped_call_goes_by_the_join_table_and_views_of_tensors_are_left_out(tmp_path):
    calls = [
        ("torch.ops.aten.mm.default", 7, {}), ("aten.view.default", 1, {}), ("aten.mm.default", 5, hit("MatMulV2")),
        ("my.own.default", 3, {"kernel_type": "?", "source": ""}),
    ]  # fmt: skip
    lake = yield Files(simulated(tmp_path / "s.json", *calls), write_table(tmp_path / "m.csv", {}))
    found = align(lake).select("kernel_type, op_names, simulated_count, hit_count, status").fetchall()
    assert found == [
        ("MatMulV2", "aten.mm.default", 2, 1, "PARTIAL"), ("my.own.default", "my.own.default", 1, 0, "MISS"),
        ("Add", None, 0, 0, "not modelled"),
    ]  # fmt: skip


@in_one_lake
def test_of_two_models_in_a_trace_the_one_with_measurements_counts_and_the_other_weighs(tmp_path):
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
        for pid, name in ((1, "Analytic model"), (2, "Profiling model"))
    ]
    fused = "tensor_cast.grouped_matmul.default"
    events += [
        event(1, "aten.mm.default", 30, pid=1), event(2, "aten.mm.default", 10, pid=1), event(3, fused, 60, pid=1),
        event(4, "aten.view.default", 9, pid=1),
        event(1, "aten.mm.default", 20, pid=2, **hit("MatMulV2", simulation_shapes="[[1, 2]]")),
        event(2, "aten.mm.default", 21, pid=2, simulation_shapes="[[3, 4]]"),
        event(3, fused, 50, pid=2, **hit("GroupedMatmul", simulation_shapes="[[5, 6]]")),
        event(4, "aten.view.default", 9, pid=2),
        event(5, "tensor_cast.mlapo.default", 5, pid=2, accepted_miss=True),
    ]  # fmt: skip
    lake = yield write_trace(tmp_path / "s.json", events)
    assert ask(lake, "SELECT sum(sum_us) FROM simulated_ops WHERE status = 'hit'") == [(70,)]
    found = {
        metric: (hits, total) for metric, hits, total in ask(lake, "SELECT metric, hits, total FROM simulation_metrics")
    }
    # M5: of 109 us of the analytic model 30 + 60 are of calls with a time from measurements.
    assert found == {"M1": (2, 4), "M2": (1, 2), "M3": (1, 1), "M4": (2, 4), "M5": (90, 109)}


@in_one_lake
def test_a_pass_and_its_window_stand_for_the_trace(tmp_path):
    measured = data_file("ascend/synthetic/forward_passes.csv")
    simulation = simulated(tmp_path / "s.json", ("aten.mm.default", 10, hit("MatMulV2")))
    lake = yield Files(measured, simulation)
    columns = "compute_us, communication_us"

    def sums(*which: object) -> tuple:
        return align(lake, "summary", *which, measured="forward_passes").select(columns).fetchall()[0]

    assert sums() == (1980, 520)
    assert sums(0, "anchor") == (353, 90)
    assert sums(0, "anchor", "none") == (353, 180)
    assert sums(0, "anchor", "compat") == (353, 90)
    assert sums(0, "extended") == (495, 130)
    for wrong in ((9, "anchor"), (0, "middle")):
        with pytest.raises(UsageError, match=r"pass 9: the trace has passes 0 to 3|window middle: the pass has anchor"):
            sums(*wrong)


@in_one_lake
def test_a_summary_of_operators_is_compared_without_hits(tmp_path):
    lake = yield Files(
        data_file("ascend/simulator_op_summary/qwen3_32b_decode.json"),
        data_file("ascend/synthetic/forward_passes.csv"),
    )
    sides = lake.ids["qwen3_32b_decode"], lake.ids["forward_passes"]
    found = lake.lake.align(*sides).select("kernel_type, simulated_us, simulated_count, measured_us, status").fetchall()
    # 129 products alone take 3234 us, 128 with an all-reduce half of 2368 us.
    assert found[0] == ("MatMulV2", 3234 + 1184, 129 + 128, 1328, "SUMMARY")
    # Sums are known: 9257 us of the file; what depends on the source of each time is not.
    summary = lake.lake.align(*sides, "summary")
    assert summary.select("m6, coverage, calibration, surplus, hit_us").fetchall() == [(None,) * 5]
    assert summary.select("simulated_us").fetchall() == [(pytest.approx(9257),)]
    assert sum(row[1] for row in found) == pytest.approx(9257)


@in_one_lake
def test_a_measured_trace_is_no_simulation(tmp_path):
    lake = yield write_table(tmp_path / "m.csv", {})
    with pytest.raises(UsageError, match="m: not written by a simulator"):
        lake.lake.align(lake.id, lake.id)
    assert ask(lake, "SELECT * FROM simulated_ops") == []


@in_one_lake
def test_kernels_of_other_vendors_can_be_the_measured_side(tmp_path, s1_file):
    lake = yield Files(s1_file, simulated(tmp_path / "s.json", ("aten.mm.default", 10, hit("MatMulV2"))))
    found = align(lake, "summary", measured="s1").select("compute_us + communication_us").fetchall()
    assert found == ask(lake, "SELECT sum(dur_ns) / 1000.0 FROM kernels")


@in_one_lake
def test_words_nobody_knows_are_refused(tmp_path):
    lake = yield simulated(tmp_path / "s.json", ("a", 80, hit("Add")))
    with pytest.raises(UsageError, match="by=op: expected type, shape, summary or metrics"):
        align(lake, by="op", measured="s")
    with pytest.raises(UsageError, match="dedup=all: expected one of tracelake, compat, none"):
        align(lake, dedup="all", measured="s")
