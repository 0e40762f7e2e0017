"""Case G1: SGLang, Qwen3-8B, one eager prefill, 36 layers of 14 kernels on one stream.

The expected figures were worked out with decimal arithmetic from the trace, and confirmed by the trace's
module scopes, which give the same kernels per layer. Times are microseconds after the trace's origin.
"""

from decimal import Decimal

import pytest

from ...lakes import in_one_lake
from ..captures import Capture, captured, device_events, kineto_events, open_lake, rows

BY_NORM = Capture("g1", (), {"anchor": "Li256ELi16", "num_layers": 36})

#: The series bears the anchor's name.
BUT_SERIES = "SELECT * EXCLUDE (series) FROM layers ORDER BY layer_id"

LAYERS = {
    # layer: start, end, kernels, sum, wall, start to next start
    0: ("494609.861", "508649.306", 14, "13941.646", "14039.445", "14039.446"),
    1: ("508649.307", "522344.368", 14, "13695.048", "13695.061", "13695.062"),
    2: ("522344.369", "536040.471", 14, "13696.089", "13696.102", "13696.103"),
    3: ("536040.472", "549710.816", 14, "13670.331", "13670.344", "13670.345"),
    34: ("959304.586", "973043.192", 14, "13738.593", "13738.606", "13738.607"),
    # The last one's neighbour is the final norm, outside the layers, one nanosecond after it.
    35: ("973043.193", "986680.928", 14, "13637.722", "13637.735", None),
}
HALVES = {
    # layer: attention and feed-forward, each kernels, sum, wall
    0: (10, "3760.649", "3858.444", 4, "10180.997", "10181.000"),
    1: (10, "3699.758", "3699.767", 4, "9995.290", "9995.293"),
    2: (10, "3708.531", "3708.540", 4, "9987.558", "9987.561"),
    3: (10, "3648.361", "3648.370", 4, "10021.970", "10021.973"),
    34: (10, "3690.985", "3690.994", 4, "10047.608", "10047.611"),
    35: (10, "3635.582", "3635.591", 4, "10002.140", "10002.143"),
}
LAYER_1 = [
    # place among all kernels by start, start, duration, part of the name
    (27, "508649.307", "120.059", "Li256ELi16"),
    (28, "508769.367", "1465.628", "Cijk_"),
    (29, "510234.996", "68.221", "direct_copy"),
    (30, "510303.218", "392.185", "Li64ELi8"),
    (31, "510695.404", "23.194", "direct_copy"),
    (32, "510718.599", "100.669", "Li64ELi8"),
    (33, "510819.269", "132.317", "rotary"),
    (34, "510951.587", "37.335", "store_kvcache"),
    (35, "510988.923", "536.280", "FmhaBatchPrefill"),
    (36, "511525.204", "823.870", "Cijk_"),
    (37, "512349.075", "118.296", "Li256ELi16"),
    (38, "512467.372", "6783.093", "Cijk_"),
    (39, "519250.466", "459.245", "act_and_mul"),
    (40, "519709.712", "2634.656", "Cijk_"),
]


def ns(microseconds):
    return None if microseconds is None else int(Decimal(microseconds) * 1000)


def us(microseconds):
    return None if microseconds is None else float(microseconds)


@pytest.fixture(scope="module")
def events():
    return kineto_events("G1")


@pytest.fixture(scope="module")
def lake(events):
    return open_lake([Capture("g1", events, BY_NORM.settings)])


def test_origin_is_the_first_timed_event(lake):
    assert rows(lake, "SELECT origin_ns FROM traces") == [(4909913692199694,)]


def test_seventy_three_norms_of_hidden_size_are_the_anchors_and_head_norms_are_none(lake):
    found = rows(
        lake,
        "SELECT count(*), count(DISTINCT name), bool_or(name LIKE '%Li64ELi8%'), min(anchor_index), "
        "max(anchor_index), any_value(role), any_value(stream), any_value(pattern_source) FROM anchors",
    )
    assert found == [(73, 2, False, 0, 72, "begin", 3, "user")]


def test_the_final_norm_makes_73_anchors_one_complete_pass(lake):
    found = rows(
        lake,
        "SELECT pass_id, pass_source, complete, num_layers, layer_count, note, chosen, anchor_count, remainder "
        "FROM passes",
    )
    assert found == [(0, "anchor count", True, 36, 36, "single-pass", True, 73, 0)]


def test_the_pass_runs_from_layer_0_to_the_end_of_layer_35(lake):
    found = rows(
        lake,
        "SELECT start_ns - origin_ns, end_ns - origin_ns, span_us, busy_us, first_layer_us "
        "FROM passes JOIN (SELECT trace_id, origin_ns FROM traces) USING (trace_id)",
    )
    assert found == [(ns("494609.861"), ns("986680.928"), 492071.067, 491972.778, 14039.445)]


def test_sums_and_walls_over_the_layers(lake):
    found = rows(
        lake,
        "SELECT CAST(sum(sum_us * 1000) AS BIGINT), CAST(sum(wall_us * 1000) AS BIGINT), "
        "min(wall_us), median(wall_us), max(wall_us), arg_max(layer_id, wall_us), sum(kernel_count) FROM layers",
    )
    assert found == [(ns("491972.778"), ns("492071.032"), 13548.242, 13671.4255, 14039.445, 0, 504)]


@pytest.mark.parametrize(("layer_id", "expected"), LAYERS.items())
def test_layer(lake, layer_id, expected):
    start, end, kernels, total, wall, pitch = expected
    found = rows(
        lake,
        "SELECT start_ns - origin_ns, end_ns - origin_ns, kernel_count, sum_us, wall_us, pitch_us "
        f"FROM layers JOIN (SELECT trace_id, origin_ns FROM traces) USING (trace_id) WHERE layer_id = {layer_id}",
    )
    assert found == [(ns(start), ns(end), kernels, us(total), us(wall), us(pitch))]


@pytest.mark.parametrize(("layer_id", "expected"), HALVES.items())
def test_halves(lake, layer_id, expected):
    found = rows(
        lake,
        f"SELECT half, kernel_count, sum_us, wall_us FROM layer_halves WHERE layer_id = {layer_id} ORDER BY start_ns",
    )
    attention, feed_forward = expected[:3], expected[3:]
    assert found == [
        ("attn", attention[0], us(attention[1]), us(attention[2])),
        ("ffn", feed_forward[0], us(feed_forward[1]), us(feed_forward[2])),
    ]


@pytest.mark.parametrize(("layer_id", "first", "last"), [(0, 13, 26), (1, 27, 40), (35, 504, 517)])
def test_layer_holds_these_places_of_the_sorted_kernel_list(lake, events, layer_id, first, last):
    places = {kernel_id: place for place, kernel_id in enumerate(device_events(events))}
    found = rows(lake, f"SELECT kernel_id FROM layer_kernels WHERE layer_id = {layer_id} ORDER BY position")
    assert [places[kernel_id] for (kernel_id,) in found] == list(range(first, last + 1))


def test_layer_1_kernel_by_kernel(lake):
    found = rows(
        lake,
        "SELECT position, start_ns - origin_ns, dur_us, half, name "
        "FROM layer_kernels JOIN (SELECT trace_id, origin_ns FROM traces) USING (trace_id) "
        "WHERE layer_id = 1 ORDER BY position",
    )
    assert [row[:4] for row in found] == [
        (place - 27, ns(start), us(duration), "attn" if place < 37 else "ffn") for place, start, duration, _ in LAYER_1
    ]
    assert all(row[4].count(part) for row, (_, _, _, part) in zip(found, LAYER_1, strict=True))


def test_hot_order_is_by_duration_and_shares_are_of_the_layers_sum(lake):
    found = rows(
        lake,
        "SELECT position, dur_us, layer_pct, rel_ms FROM layer_kernels WHERE layer_id = 1 ORDER BY hot_rank LIMIT 3",
    )
    assert found == [
        (11, 6783.093, pytest.approx(100 * 6783.093 / 13695.048), 512.467372),
        (13, 2634.656, pytest.approx(100 * 2634.656 / 13695.048), 519.709712),
        (1, 1465.628, pytest.approx(100 * 1465.628 / 13695.048), 508.769367),
    ]


def test_prologue_and_epilogue_stay_outside_the_layers(lake):
    found = rows(lake, "SELECT part, kernel_count, sum_us FROM pass_parts ORDER BY start_ns")
    assert found == [("prologue", 12, 144.079), ("epilogue", 9, 686.535)]


def test_kernels_of_another_stream_belong_to_no_layer(lake):
    assert rows(lake, "SELECT DISTINCT stream FROM layers") == [(3,)]
    found = rows(
        lake,
        "SELECT count(*) FROM kernels WHERE stream = 2 AND kernel_id IN (SELECT kernel_id FROM layer_kernels)",
    )
    assert found == [(0,)]


@pytest.mark.parametrize(
    ("settings", "halves"),
    [
        ({"anchor": "FmhaBatchPrefill"}, 1),  # attention, in the middle of the layer
        ({"anchor": "Li256ELi16ELb1"}, 2),  # misses the first norm of the pass, which has no residual input
        ({"anchor": "rotary_embedding", "anchor_role": "inside"}, 1),
        ({"anchor": "Li256ELi16", "blocks_per_layer": 2, "anchor_role": "begin"}, 2),
        ({"profile": "sglang_aiter"}, 2),
        ({}, 2),  # every known pattern is tried
    ],
)
@in_one_lake
def test_any_good_anchor_gives_the_same_layers(tmp_path, lake, events, settings, halves):
    other = yield captured(tmp_path, Capture("g1", events, {"num_layers": 36, **settings}))
    assert rows(other, BUT_SERIES) == rows(lake, BUT_SERIES)
    query = "SELECT part, start_ns, end_ns, kernel_count FROM pass_parts ORDER BY start_ns"
    assert rows(other, query) == rows(lake, query)
    assert rows(other, "SELECT count(*) FROM layer_halves") == [(36 * halves,)]


@in_one_lake
def test_without_the_final_norm_the_last_half_ends_where_the_others_do(tmp_path, lake, events):
    norms = [event for event in events if "Li256ELi16" in event["name"]]
    last = max(norms, key=lambda event: event["ts"])
    kept = [event if event is not last else {**event, "cat": "cpu_op"} for event in events]
    other = yield captured(tmp_path, Capture("g1", kept, BY_NORM.settings))
    assert rows(other, BUT_SERIES) == rows(lake, BUT_SERIES)
    assert rows(other, "SELECT part, kernel_count FROM pass_parts ORDER BY start_ns") == [
        ("prologue", 12), ("epilogue", 8),
    ]  # fmt: skip


@in_one_lake
def test_an_anchor_count_that_no_pass_length_divides_is_reported(tmp_path, events):
    lake = yield captured(tmp_path, Capture("g1", events, {"anchor": "FmhaBatchPrefill", "num_layers": 20}))
    found = rows(lake, "SELECT complete, layer_count, note, chosen, remainder FROM passes ORDER BY pass_id")
    assert found == [(True, 20, "single-pass", True, 16), (False, 16, "partial", False, 16)]


@in_one_lake
def test_an_anchor_that_does_not_occur_gives_no_rows_rather_than_wrong_ones(tmp_path, events):
    lake = yield captured(tmp_path, Capture("g1", events, {"anchor": "no_such_kernel", "num_layers": 36}))
    assert rows(lake, "FROM anchors") == rows(lake, "FROM passes") == rows(lake, "FROM layers") == []


@pytest.mark.parametrize("settings", [{"anchor": "Li256ELi16"}, {}])
@in_one_lake
def test_without_a_layer_count_the_attention_kernels_tell_it(tmp_path, lake, events, settings):
    other = yield captured(tmp_path, Capture("g1", events, settings))
    assert rows(other, BUT_SERIES) == rows(lake, BUT_SERIES)
    assert rows(other, "SELECT stage FROM passes") == [("prefill",)]


@in_one_lake
def test_no_attention_and_no_layer_count_give_anchors_but_no_passes(tmp_path, events):
    kept = [event if "FmhaBatchPrefill" not in event["name"] else {**event, "cat": "cpu_op"} for event in events]
    kept = [event for event in kept if event.get("cat") != "python_function"]
    lake = yield captured(tmp_path, Capture("g1", kept, {"anchor": "Li256ELi16"}))
    assert rows(lake, "SELECT count(*) FROM anchors") == [(73,)]
    assert rows(lake, "FROM passes") == []
