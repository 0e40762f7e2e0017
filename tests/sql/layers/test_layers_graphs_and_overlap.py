"""Cases G2, G3 and G5: one graph launch, alternating layer types, overlap within a stream.

The expected figures were worked out with decimal arithmetic from the traces; G5's layers are those of its
module scopes. Copies of memory count in sums and busy times, not among the kernels.
Times are microseconds after the trace's origin.
"""

from decimal import Decimal

import pytest

from ...lakes import in_one_lake
from ..captures import Capture, captured, kineto_events, open_lake, rows

SETTINGS = {
    "G2": {"anchor": "Li256ELi16", "num_layers": 36},
    "G3": {"anchor": "Rmsnorm2dFwd", "num_layers": 24},
    "G5": {"anchor": "rms_norm_kernel", "num_layers": 36},
}
ALTERNATING = '{"layer_types": [' + ", ".join(['"sliding_attention", "full_attention"'] * 18) + "]}"

PASSES = {
    # start, end, span, busy; sum of sums, sum of walls, wall min, median, max and the layer that has it
    "G2": ("463842.169", "473349.293", 9507.124, 9232.896,
           "9232.896", "9233.400", 244.845, 250.273, 378.525, 7),
    "G3": ("8439.197", "18811.700", 10372.503, 10372.085,
           "10372.085", "10372.480", 339.717, 432.336, 468.637, 1),
    "G5": ("7039.475", "84552.017", 77512.542, 11241.696,
           "11310.974", "73528.524", 1694.747, 1799.035, 10079.970, 0),
}  # fmt: skip
PARTS = {
    "G2": [("prologue", 9, 63.284), ("epilogue", 4, 472.500)],
    "G3": [("prologue", 2, 58.228), ("epilogue", 4, 287.395)],
    "G5": [("prologue", 7, 282.752), ("epilogue", 5, 72.034)],
}
ROWS = [
    # case, layer, start, kernels, sum, busy, wall, start to next start, then kernels, sum, wall of both halves
    ("G2", 0, "463842.169", 15, 281.205, 281.205, 281.219, 281.220,
     (11, 149.933, 149.943), (4, 131.272, 131.275)),
    ("G2", 1, "464123.389", 15, 285.372, 285.372, 285.386, 559.076,
     (11, 149.252, 149.262), (4, 136.120, 136.123)),
    ("G2", 2, "464682.465", 15, 261.095, 261.095, 261.109, 261.110,
     (11, 137.795, 137.805), (4, 123.300, 123.303)),
    ("G2", 7, "465997.349", 15, 378.511, 378.511, 378.525, 378.526,
     (11, 255.531, 255.541), (4, 122.980, 122.983)),
    ("G2", 35, "473103.006", 15, 246.273, 246.273, 246.287, None,
     (11, 129.022, 129.032), (4, 117.251, 117.254)),
    ("G3", 0, "8439.197", 16, 416.662, 416.662, 416.677, 416.678, (6, 64.074, 64.079), (10, 352.588, 352.597)),
    ("G3", 1, "8855.875", 18, 468.620, 468.620, 468.637, 468.638,
     (8, 110.752, 110.759), (10, 357.868, 357.877)),
    ("G3", 2, "9324.513", 17, 429.980, 429.980, 429.996, 429.997, (7, 77.112, 77.118), (10, 352.868, 352.877)),
    ("G3", 23, "18377.024", 18, 434.659, 434.659, 434.676, None, (8, 112.311, 112.318), (10, 322.348, 322.357)),
    ("G5", 0, "7039.475", 21, 327.743, 321.663, 10079.970, 10229.506,
     (9, 85.921, 6994.507), (12, 241.822, 2927.191)),
    ("G5", 1, "17268.981", 21, 334.591, 329.183, 2161.722, 2281.401,
     (9, 89.503, 1128.605), (12, 245.088, 970.718)),
    ("G5", 2, "19550.382", 21, 324.830, 318.142, 1797.819, 1907.547,
     (9, 85.343, 839.102), (12, 239.487, 897.662)),
    ("G5", 35, "82758.326", 21, 294.268, 292.636, 1793.691, None,
     (9, 88.893, 808.126), (12, 205.375, 928.478)),
]  # fmt: skip


def ns(microseconds):
    return int(Decimal(microseconds) * 1000)


@pytest.fixture(scope="module", params=SETTINGS)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def lake():
    return open_lake([Capture(name, kineto_events(name), given) for name, given in SETTINGS.items()])


def test_one_complete_pass(lake, case):
    found = rows(
        lake,
        "SELECT start_ns - origin_ns, end_ns - origin_ns, span_us, busy_us, complete, note, chosen, remainder "
        f"FROM passes JOIN (SELECT trace_id, origin_ns FROM traces) USING (trace_id) WHERE trace_id = ${case}",
    )
    start, end, span, busy, *_ = PASSES[case]
    assert found == [(ns(start), ns(end), span, busy, True, "single-pass", True, 0)]


def test_sums_and_walls_over_the_layers(lake, case):
    found = rows(
        lake,
        "SELECT CAST(sum(sum_us * 1000) AS BIGINT), CAST(sum(wall_us * 1000) AS BIGINT), min(wall_us), "
        f"median(wall_us), max(wall_us), arg_max(layer_id, wall_us) FROM layers WHERE trace_id = ${case}",
    )
    total, walls, least, median, most, layer = PASSES[case][4:]
    assert found == [(ns(total), ns(walls), least, pytest.approx(median, abs=1e-9), most, layer)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_layer_and_its_halves(lake, row):
    case, layer_id, start, kernels, total, busy, wall, pitch, *halves = row
    where = f"WHERE trace_id = ${case} AND layer_id = {layer_id}"
    found = rows(
        lake,
        "SELECT start_ns - origin_ns, kernel_count, sum_us, busy_us, wall_us, pitch_us "
        f"FROM layers JOIN (SELECT trace_id, origin_ns FROM traces) USING (trace_id) {where}",
    )
    assert found == [(ns(start), kernels, total, busy, wall, pitch)]
    found = rows(lake, f"SELECT kernel_count, sum_us, wall_us FROM layer_halves {where} ORDER BY start_ns")
    assert found == halves


def test_prologue_and_epilogue(lake, case):
    found = rows(
        lake,
        f"SELECT part, kernel_count, sum_us FROM pass_parts WHERE trace_id = ${case} ORDER BY start_ns",
    )
    assert found == PARTS[case]


def test_a_hole_between_two_layers_of_a_graph_is_gap_and_no_layers_time(lake):
    found = rows(
        lake,
        "SELECT layer_id, gap_after_us FROM layers WHERE trace_id = $G2 ORDER BY gap_after_us DESC NULLS LAST LIMIT 2",
    )
    assert found[0] == (1, 273.690)
    assert found[1][1] == 0.001


def test_layers_of_a_graph_all_have_fifteen_kernels(lake):
    found = rows(lake, "SELECT kernel_count, count(*) FROM layers WHERE trace_id = $G2 GROUP BY 1")
    assert found == [(15, 36)]


def test_the_short_first_layer_does_not_shift_the_alternating_ones(lake):
    found = rows(lake, "SELECT kernel_count FROM layers WHERE trace_id = $G3 ORDER BY layer_id")
    assert [count for (count,) in found] == [16, *[18, 17] * 11, 18]


@pytest.mark.parametrize(("case", "sliding", "full"), [("G3", 408.507, 455.867), ("G5", 2287.542, 1797.376)])
@in_one_lake
def test_average_walls_by_the_types_that_the_config_names(tmp_path, case, sliding, full):
    settings = {**SETTINGS[case], "config": ALTERNATING}
    lake = yield captured(tmp_path, Capture(case, kineto_events(case), settings))
    found = rows(lake, "SELECT layer_type, round(avg(wall_us), 3) FROM layers GROUP BY 1 ORDER BY 1")
    assert found == [("FULL_ATTN", full), ("SLIDING_ATTN", sliding)]


def test_copies_on_the_same_stream_are_in_the_layer_that_they_follow_a_kernel_of(lake):
    # Each layer launches four, the last of them behind its last kernel: in layer 35 that is behind all layers.
    found = rows(lake, "SELECT memory_count, list(layer_id) FROM layers WHERE trace_id = $G5 GROUP BY 1 ORDER BY 1")
    assert [(copies, sorted(layers)) for copies, layers in found] == [(3, [35]), (4, list(range(35)))]
    query = "SELECT part, memory_count FROM pass_parts WHERE trace_id = $G5 ORDER BY start_ns"
    assert rows(lake, query) == [("prologue", 17), ("epilogue", 1)]


def test_each_layer_of_a_tensor_parallel_model_has_two_collectives(lake):
    assert rows(lake, "SELECT DISTINCT comm_count FROM layers WHERE trace_id = $G5") == [(2,)]


@in_one_lake
def test_the_embeddings_all_reduce_stays_outside_when_the_capture_misses_the_last_one(tmp_path, lake):
    # 72 all-reduces are 36 layers of two by count; that attention comes after the first one says otherwise.
    events = kineto_events("G5")
    last = max((event for event in events if "all_reduce_kernel" in event["name"]), key=lambda event: event["ts"])
    cut = [event for event in events if event["ts"] < last["ts"]]
    other = yield captured(tmp_path, Capture("G5", cut, {"anchor": "all_reduce", "num_layers": 36}))
    assert rows(other, "SELECT complete, layer_count FROM passes") == [(False, 36)]
    query = "FROM layers WHERE trace_id = $G5 AND layer_id < 35 ORDER BY layer_id"
    without_last_gap = "SELECT * EXCLUDE (series) REPLACE (if(layer_id < 34, gap_after_us, 0) AS gap_after_us) "
    assert rows(other, without_last_gap + query) == rows(lake, without_last_gap + query)


@pytest.mark.parametrize(
    ("case", "settings"),
    [
        ("G2", {"anchor": "paged_attention_ll4mi_QKV"}),
        ("G3", {"anchor": "kernel_unified_attention"}),  # two variants, one per layer type
        ("G3", {"profile": "vllm_rocm"}),
        ("G5", {"anchor": "all_reduce"}),  # ends a half; the first one sums the embedding
        ("G5", {"anchor": "fmhaSm100aKernel"}),
        ("G5", {"anchor": "fused_add_rms_norm_kernel"}),  # misses the first norm of the pass
        ("G5", {"profile": "vllm_nvidia"}),
    ],
)
@in_one_lake
def test_any_good_anchor_gives_the_same_layers(tmp_path, lake, case, settings):
    num_layers = SETTINGS[case]["num_layers"]
    other = yield captured(tmp_path, Capture(case, kineto_events(case), {"num_layers": num_layers, **settings}))
    # Of the copy behind the pass's last kernel only the module scopes know that it is the last layer's.
    copies = ", sum_us, memory_count, memory_us" if "profile" in settings and case == "G5" else ""
    query = f"SELECT * EXCLUDE (series{copies}) FROM layers WHERE trace_id = ${case} ORDER BY layer_id"
    assert rows(other, query) == rows(lake, query)
