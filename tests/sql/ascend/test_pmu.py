"""Counters of Ascend's cores: read, and what clock, cores and work they give. Real figures were counted with Python's
csv and decimal from the data's own files."""

import pytest

from tracelake.lake import Lake

from ...lakes import Files, in_one_lake, ingest_at_once
from ...support import data_file
from .counters import ask, ask_one, product, write_table


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A lake with a training step (arithmetic counters) and an excerpt of another (counters of the pipes)."""
    opened = Lake(tmp_path_factory.mktemp("pmu") / "lake")
    ingest_at_once(opened, {
        data_file("ascend/kernel_details_training_910b_arithmetic.csv"): {"trace": "arithmetic"},
        data_file("ascend/kernel_details_excerpt_pipeutilization.csv"): {"trace": "pipes"},
    })  # fmt: skip
    yield opened
    opened.close()


OF = "FROM kernel_pmu JOIN traces USING (trace_id) WHERE trace ="


def test_every_column_of_counters_is_there_and_na_is_null(real):
    found = ask(
        real,
        "SELECT trace, count(DISTINCT counter), count(*), count(DISTINCT kernel_id) FILTER (value IS NOT NULL), "
        "count(text) FROM pmu_counters JOIN traces USING (trace_id) GROUP BY trace ORDER BY trace",
    )
    # 33 rows of 591 have N/A in all 14 columns.
    assert found == [("arithmetic", 14, 591 * 14, 558, 0), ("pipes", 25, 29 * 25, 29, 0)]


@pytest.mark.parametrize(
    ("trace", "counter", "total"),
    [
        ("arithmetic", "aicore_time", 14071.34), ("arithmetic", "aic_total_cycles", 624768004),
        ("arithmetic", "aiv_time", 32124.58), ("arithmetic", "aiv_total_cycles", 2816735101),
        ("arithmetic", "aiv_vector_fops", 27550920896), ("arithmetic", "aic_cube_fops", 4511556935680),
        ("pipes", "aicore_time", 9497.916), ("pipes", "aic_total_cycles", 336600066),
        ("pipes", "aic_mac_time", 5477.615), ("pipes", "aic_mte2_time", 6849.374),
        ("pipes", "aic_fixpipe_time", 3705.124), ("pipes", "aiv_time", 4916.778),
        ("pipes", "aiv_total_cycles", 353734394), ("pipes", "aiv_vec_time", 2441.285),
        ("pipes", "cube_utilization", 1920.280),
    ],
)  # fmt: skip
def test_sums_of_counters(real, trace, counter, total):
    [(found,)] = ask(
        real,
        f"SELECT sum(value) FROM pmu_counters JOIN traces USING (trace_id) "
        f"WHERE trace = '{trace}' AND counter = '{counter}'",
    )
    assert found == pytest.approx(total, rel=1e-12)


def test_the_clock_of_cube_and_vector_cores_is_constant(real):
    # 1850 MHz in one capture, 1800 in the other; short kernels have too few cycles to tell.
    for trace, mhz in (("arithmetic", 1850), ("pipes", 1800)):
        found = ask_one(
            real,
            "SELECT min(cube_mhz) AS low, max(cube_mhz) AS high, min(vector_mhz) FILTER (vector_us > 20) AS vlow, "
            f"max(vector_mhz) FILTER (vector_us > 20) AS vhigh {OF} '{trace}'",
        )
        assert list(found.values()) == pytest.approx([mhz] * 4, abs=0.5)


def test_the_share_of_used_cubes_gives_the_number_of_cores(real):
    found = ask(real, f"SELECT round(cube_cores_mhz, -1), round(cube_cores) {OF} 'pipes' AND cube_cycles > 0")
    assert found == [(36000, 20)] * 21


def test_work_by_counters_is_that_of_the_profiler_and_its_quotient_8192(real):
    found = ask_one(
        real,
        "SELECT count(mac_quotient) AS rows, min(mac_quotient) AS low, max(mac_quotient) AS high, "
        f"sum(pmu_flop) / sum(reported_cube_flop) AS ratio {OF} 'arithmetic' AND cube_cycles > 0",
    )
    assert found["rows"] == 13
    assert 8191.5 <= found["low"] <= found["high"] <= 8192.5
    assert found["ratio"] == pytest.approx(1, abs=2e-5)


def test_achieved_tflops_come_from_counters_alone_where_shapes_are_wrong(real):
    products = ask_one(
        real,
        "SELECT sum(pmu_flop) AS flop, sum(dur_us) AS us, sum(pmu_flop) / sum(dur_us) / 1e6 AS tflops "
        f"{OF} 'pipes' AND core = 'AI_CORE'",
    )
    assert round(products["flop"]) == 983630713217
    assert products["us"] == pytest.approx(4872.937)
    assert round(products["tflops"], 3) == 201.856
    [(attention,)] = ask(real, f"SELECT sum(pmu_flop) / sum(dur_us) / 1e6 {OF} 'pipes' AND core = 'MIX_AIC'")
    assert round(attention, 2) == 117.47


def test_kernels_of_vector_cores_have_no_cube_work(real):
    assert ask(real, f"SELECT count(*), count(pmu_flop), count(cube_mhz) {OF} 'pipes' AND core = 'AI_VECTOR_CORE'") == [
        (8, 0, 0)
    ]


def test_evidence_names_parts_by_cores_and_clock(real):
    found = ask(
        real,
        "SELECT trace, round(cube_mhz), cube_cores, cube_cores_source, round(measured_tflops, 1), candidates, agrees "
        "FROM device_evidence JOIN traces USING (trace_id) ORDER BY trace",
    )
    # 24 x 1850 MHz x 8192 = 363.7; 20 x 1800 x 8192 = 294.9.
    assert found == [
        ("arithmetic", 1850, 24, "blocks", 363.7, ["ascend_910b2", "ascend_910c"], None),
        ("pipes", 1800, 20, "utilisation", 294.9, ["ascend_910b3"], None),
    ]


@in_one_lake
def test_evidence_contradicts_what_the_user_says_without_overriding_it(tmp_path):
    counted = {"aicore_time(us)": "90", "aic_total_cycles": str(90 * 20 * 1800), "cube_utilization(%)": "90.0"}
    row = product("MatMulV2", "16,64;64,32", "16,32", **{"Duration(us)": "100"}) | counted
    lake = yield Files(write_table(tmp_path / "t.csv", row), hardware="ascend_910b2")
    found = ask_one(lake, "SELECT * FROM device_evidence")
    assert (found["hardware"], found["cube_cores"], found["candidates"]) == ("ascend_910b2", 20, ["ascend_910b3"])
    assert found["agrees"] is False
    assert found["nominal_bf16_tflops"] == 353.9
    assert found["nominal_fp16_tflops"] == 376
    assert ask(lake, "SELECT value FROM health WHERE \"check\" = 'hardware_differs'") == [(1,)]
    assert ask(lake, "SELECT hardware FROM traces") == [("ascend_910b2",)]


@in_one_lake
def test_a_clock_that_drops_is_told_and_short_kernels_are_not_asked(tmp_path):
    def row(us: float, mhz: float) -> dict[str, str]:
        return product("MatMulV2", "16,64;64,32", "16,32", **{"Duration(us)": str(us)}) | {
            "aicore_time(us)": str(us), "aic_total_cycles": str(us * 20 * mhz),
        }  # fmt: skip

    lake = yield write_table(tmp_path / "t.csv", row(50, 1800), row(50, 1800), row(50, 1620), row(1, 900))
    found = ask(lake, "SELECT severity, round(value, 6) FROM ascend_checks WHERE \"check\" = 'clock_varies'")
    assert found == [("warning", 10)]


@in_one_lake
def test_a_share_of_the_cubes_above_100_names_its_causes(tmp_path):
    def row(share: str) -> dict[str, str]:
        counted = {"aicore_time(us)": "90", "aic_total_cycles": str(90 * 20 * 1800), "cube_utilization(%)": share}
        return product("MatMulV2", "16,64;64,32", "16,32", **{"Duration(us)": "100"}) | counted

    lake = yield write_table(tmp_path / "t.csv", row("100"), row("100.1"))
    assert ask(lake, "SELECT cube_utilization_pct, over_100_causes FROM kernel_pmu ORDER BY kernel_id") == [
        (100, None), (100.1, "counted_at_another_clock;counted_beyond_duration"),
    ]  # fmt: skip


@in_one_lake
def test_names_of_columns_are_read_however_they_are_spelled(tmp_path):
    lake = yield write_table(
        tmp_path / "t.csv",
        {"cube_utilization( %)": "50", "Aic_Mac_Ratio": "1.5e-01", "r5a4": "7", "note": "high"},
        {"cube_utilization( %)": "", "Aic_Mac_Ratio": "N/A"},
    )
    found = ask(
        lake,
        "SELECT kernel_id, header, counter, side, metric, unit, value, text FROM pmu_counters "
        "ORDER BY kernel_id, counter",
    )
    assert found == [
        (0, "Aic_Mac_Ratio", "aic_mac_ratio", "aic", "mac_ratio", None, 0.15, None),
        (0, "cube_utilization( %)", "cube_utilization", "aic", "cube_utilization", "%", 50, None),
        (0, "note", "note", None, "note", None, None, "high"),
        (0, "r5a4", "r5a4", None, "r5a4", None, 7, None),
        (1, "Aic_Mac_Ratio", "aic_mac_ratio", "aic", "mac_ratio", None, None, None),
        (1, "cube_utilization( %)", "cube_utilization", "aic", "cube_utilization", "%", None, None),
        (1, "note", "note", None, "note", None, None, None),
        (1, "r5a4", "r5a4", None, "r5a4", None, None, None),
    ]


@in_one_lake
def test_older_chips_without_a_prefix_have_clock_and_work_too(tmp_path):
    row = product("MatMul", "16,64;64,32", "16,32", dtype="FLOAT16", **{"Duration(us)": "100"}) | {
        "aicore_time(us)": "50", "total_cycles": "1000000", "mac_ratio": "0.5", "vec_ratio": "0.1",
    }  # fmt: skip
    lake = yield write_table(tmp_path / "t.csv", row)
    found = ask_one(lake, "SELECT cube_mhz, mac_ratio, vector_ratio, pmu_flop, pmu_tflops FROM kernel_pmu")
    # 1e6 cycles / (50 us x 20 blocks) = 1000 MHz; 0.5 x 1e6 x 8192 = 4.096e9 FLOP in 100 us.
    assert found == {"cube_mhz": 1000, "mac_ratio": 0.5, "vector_ratio": 0.1, "pmu_flop": 4.096e9, "pmu_tflops": 40.96}


@pytest.mark.parametrize(("dtype", "flop"), [("INT8", 16384), ("DT_BF16", 8192), ("FLOAT", None), ("INT4", None)])
@in_one_lake
def test_what_a_cycle_multiplies_depends_on_the_type_of_elements(tmp_path, dtype, flop):
    row = product("MatMulV2", "16,64;64,32", "16,32", dtype=dtype)
    row |= {"aicore_time(us)": "1", "aic_total_cycles": "1000", "aic_mac_ratio": "0.25"}
    lake = yield write_table(tmp_path / "t.csv", row)
    assert ask(lake, "SELECT pmu_flop FROM kernel_pmu") == [(flop and flop * 250,)]


@in_one_lake
def test_the_arithmetic_counters_tell_int8_apart(tmp_path):
    row = product("MatMul", "16,64;64,32", "16,32", dtype="INT8") | {
        "aicore_time(us)": "1", "aic_total_cycles": "1000", "aic_mac_fp16_ratio": "0", "aic_mac_int8_ratio": "0.5",
    }  # fmt: skip
    lake = yield write_table(tmp_path / "t.csv", row)
    assert ask(lake, "SELECT pmu_flop, mac_ratio FROM kernel_pmu") == [(500 * 16384, 0.5)]


@in_one_lake
def test_a_mixed_kernel_has_the_blocks_of_its_second_kind_of_core_in_the_other_column(tmp_path):
    counted = {
        "aicore_time(us)": "10",
        "aic_total_cycles": "360000",
        "aiv_time(us)": "10",
        "aiv_total_cycles": "720000",
    }
    mixed = {"Block Num": "20", "Mix Block Num": "40", **counted}
    turned = {"Block Num": "40", "Mix Block Num": "20", **counted}
    lake = yield write_table(
        tmp_path / "t.csv",
        mixed | {"Type": "FusedInferAttentionScore", "Accelerator Core": "MIX_AIC"},
        turned | {"Type": "NonZero", "Accelerator Core": "MIX_AIV"},
    )
    found = ask(lake, "SELECT cube_blocks, vector_blocks, cube_mhz, vector_mhz FROM kernel_pmu")
    assert found == [(20, 40, 1800, 1800)] * 2


@in_one_lake
def test_a_trace_without_counters_has_none_and_no_evidence(tmp_path):
    lake = yield write_table(tmp_path / "t.csv", {})
    assert ask(lake, "SELECT * FROM pmu_counters") == ask(lake, "SELECT * FROM kernel_pmu") == []
    assert ask(lake, "SELECT * FROM device_evidence") == []
    assert ask(lake, "SELECT * FROM ascend_checks WHERE severity <> 'ok'") == []


@in_one_lake
def test_the_use_of_cores_is_a_mean_over_time_or_cycles_and_of_rows_with_the_counter(tmp_path):
    def matmul(us, cycles, utilisation, mac):
        row = product("MatMulV2", "16,5120;5120,640", "16,640")
        return row | {
            "Duration(us)": us, "aicore_time(us)": us, "aic_total_cycles": cycles, "cube_utilization(%)": utilisation,
            "aic_mac_ratio": mac,
        }  # fmt: skip

    rows = [matmul("100", "1000", "50", "0.5"), matmul("300", "1000", "90", "0.9"), matmul("600", "N/A", "N/A", "N/A")]
    lake = yield write_table(tmp_path / "t.csv", *rows, {"Duration(us)": "7"})
    found = ask(lake, "SELECT op_type, calls, sum_us, cube_utilization_pct, mac_pct, vector_pct FROM core_use")
    # By time 50 and 90 % weigh 1 to 3; by cycles as much. The vector kernel has no counter.
    assert found == [("MatMulV2", 3, 1000, pytest.approx(80), pytest.approx(70), None)]
