"""The golden cases as a stranger has them: ingested and asked, with no anchor, layer count or config.

The expected figures were worked out with decimal arithmetic from the traces and confirmed by their module scopes.
Copies and fills of memory count in sums and busy times, not among the kernels: in G6 fills of 143.047 us, in G5 copies
of 764.732 us, one of which (3.296 us) follows the last layer's last kernel.
Times are microseconds after the trace's origin.
"""

import gzip
import json
from decimal import Decimal

import pytest

import tracelake
from tracelake.synthetic.gpu import gpu_trace

from ...lakes import in_one_lake
from ...support import DATA, data_file
from ..captures import KINETO_FILES

PASSES = {
    # source, stage, layers, start, end, span, busy, sums, sum of walls, wall min, median, max and its layer
    "G1": ("module scopes", "prefill", 36, "494609.861", "986680.928", 492071.067, 491972.778,
           "491972.778", "492071.032", 13548.242, 13671.4255, 14039.445, 0),
    "G2": ("anchor count", "decode", 36, "463842.169", "473349.293", 9507.124, 9232.896,
           "9232.896", "9233.400", 244.845, 250.273, 378.525, 7),
    "G3": ("anchor count", "decode", 24, "8439.197", "18811.700", 10372.503, 10372.085,
           "10372.085", "10372.480", 339.717, 432.336, 468.637, 1),
    "G5": ("module scopes", "prefill", 36, "7039.475", "84552.017", 77512.542, 11241.696,
           "11314.270", "73528.524", 1694.747, 1799.035, 10079.970, 0),
    "G6": ("module scopes", None, 24, "15926.816", "49657.352", 33730.536, 31674.178,
           "31674.178", None, 1378.682, 1392.7455, 1637.752, 0),
}  # fmt: skip
PARTS = {
    "G1": [("prologue", 12, 144.079), ("epilogue", 9, 686.535)],
    "G2": [("prologue", 9, 63.284), ("epilogue", 4, 472.500)],
    "G3": [("prologue", 2, 58.228), ("epilogue", 4, 287.395)],
    "G5": [("prologue", 7, 282.752), ("epilogue", 5, 68.738)],
}
HALVES = {
    # layer 1: attention and feed-forward, each kernels, sum, wall
    "G1": [("attn", 10, 3699.758, 3699.767), ("ffn", 4, 9995.290, 9995.293)],
    "G2": [("attn", 11, 149.252, 149.262), ("ffn", 4, 136.120, 136.123)],
    "G3": [("attn", 8, 110.752, 110.759), ("ffn", 10, 357.868, 357.877)],
    "G5": [("attn", 9, 89.503, 1128.605), ("ffn", 12, 245.088, 970.718)],
}
G6_LAYERS = [
    # layer, start, end, wall, sum
    (0, "15926.816", "17564.568", 1637.752, 1323.644),
    (1, "17565.624", "18998.706", 1433.082, 1316.088),
    (2, "18999.730", "20384.267", 1384.537, 1320.411),
    (12, "32908.147", "34305.677", 1397.530, 1322.327),
    (23, "48264.046", "49657.352", 1393.306, 1319.933),
]
G7_COMPONENTS = {
    # streams, kernels per layer, sum per layer
    "combine(B)": ([27], [3, 3, 3, 3], [4380, 5224, 6207, 7266]),
    "attn(F)": ([7], [65, 65, 65, 65], [4311, 4263, 4438, 4467]),
    "mlp(B)": ([7], [29, 29, 29, 29], [5693, 5408, 5407, 4716]),
    "dispatch(F)": ([27], [3, 3, 3, 3], [6059, 5706, 7077, 7919]),
    "dispatch(B)": ([27], [2, 2, 2, 2], [7302, 7909, 7271, 7465]),
    "mlp(W)": ([7, 23], [12, 12, 12, 12], [6420, 6023, 7272, 5798]),
    "mlp(F)": ([7], [20, 19, 20, 20], [4250, 4384, 5175, 4606]),
    "attn(B)": ([7], [100, 100, 100, 100], [9018, 9368, 9452, 9525]),
    "attn(W)": ([7], [5, 5, 5, 5], [2375, 2382, 2392, 2405]),
    "combine(F)": ([27], [2, 2, 2, 2], [7325, 8260, 9521, 9630]),
}
G7_WEIGHT_UNIONS = [5325, 5050, 5249, 4627]


def ns(microseconds):
    return None if microseconds is None else int(Decimal(microseconds) * 1000)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Every golden case in one lake, and S1 four times: alone, as two ranks, as two devices of one file."""
    folder = tmp_path_factory.mktemp("traces")
    lake = tracelake.open(folder / "lake")
    files = {**KINETO_FILES, "G7": "deepseek-v3_train_h800"}
    for case, name in files.items():
        path = DATA / "kineto" / f"{name}.json.gz"
        if not path.exists():
            pytest.skip(f"golden case {case} needs the trace {path}")
        link = folder / f"{case}.json.gz"
        link.symlink_to(path)
    events = gpu_trace()["traceEvents"]
    second = [{**event, "args": {**event["args"], "device": 1}} for event in events if event["cat"] == "kernel"]
    traces = {
        "S1": {"traceEvents": events},
        "S1-rank-0": {"traceEvents": events, "distributedInfo": {"rank": 0}},
        "S1-rank-1": {"traceEvents": events, "distributedInfo": {"rank": 1}},
        "S1-devices": {"traceEvents": events + second},
    }
    for name, trace in traces.items():
        (folder / f"{name}.json").write_text(json.dumps(trace))
    # G6 again, as a profiler without Python stacks and steps would have written it.
    with gzip.open(DATA / "kineto" / f"{KINETO_FILES['G6']}.json.gz") as file:
        trace = json.load(file, parse_float=str, parse_int=str)
    kept = ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cpu_op")
    trace["traceEvents"] = [event for event in trace["traceEvents"] if event.get("cat") in kept]
    (folder / "G6-bare.json").write_text(json.dumps(trace))
    lake.ingest(*sorted(folder.glob("*.json*")))
    return lake


def ask(lake, query, case):
    return lake.sql(query, case=case).fetchall()


OF_CASE = "(SELECT trace_id, origin_ns FROM traces WHERE trace = $case)"


@pytest.mark.parametrize("case", PASSES)
def test_the_complete_pass(lake, case):
    found = ask(
        lake,
        "SELECT pass_source, stage, num_layers, start_ns - origin_ns, end_ns - origin_ns, span_us, busy_us, note, "
        f"chosen, remainder FROM passes JOIN {OF_CASE} USING (trace_id) WHERE complete",
        case,
    )
    source, stage, layers, start, end, span, busy, *_ = PASSES[case]
    assert found == [(source, stage, layers, ns(start), ns(end), span, busy, "single-pass", True, 0)]


@pytest.mark.parametrize("case", PASSES)
def test_sums_and_walls_over_the_layers(lake, case):
    ((total, walls, least, median, most, layer),) = ask(
        lake,
        "SELECT CAST(sum(sum_us * 1000) AS BIGINT), CAST(sum(wall_us * 1000) AS BIGINT), min(wall_us), "
        f"median(wall_us), max(wall_us), arg_max(layer_id, wall_us) FROM layers JOIN {OF_CASE} USING (trace_id) "
        "SEMI JOIN passes ON passes.trace_id = layers.trace_id AND passes.pass_id = layers.pass_id AND complete",
        case,
    )
    expected = PASSES[case][7:]
    assert (total, least, most, layer) == (ns(expected[0]), expected[2], expected[4], expected[5])
    assert median == pytest.approx(expected[3], abs=1e-9)
    assert expected[1] is None or walls == ns(expected[1])


@pytest.mark.parametrize("case", PARTS)
def test_prologue_and_epilogue(lake, case):
    found = ask(
        lake,
        f"SELECT part, kernel_count, sum_us FROM pass_parts JOIN {OF_CASE} USING (trace_id) ORDER BY start_ns",
        case,
    )
    assert found == PARTS[case]


@pytest.mark.parametrize("case", HALVES)
def test_module_scopes_keep_the_halves_that_anchors_tell(lake, case):
    found = ask(
        lake,
        "SELECT half, kernel_count, sum_us, wall_us FROM layer_halves "
        f"JOIN {OF_CASE} USING (trace_id) WHERE layer_id = 1 ORDER BY start_ns",
        case,
    )
    assert found == HALVES[case]


@pytest.mark.parametrize("case", ["G6", "G6-bare"])
@pytest.mark.parametrize("row", G6_LAYERS, ids=lambda row: str(row[0]))
def test_layers_of_the_pass_that_the_capture_holds_whole(lake, case, row):
    layer_id, start, end, wall, total = row
    found = ask(
        lake,
        f"SELECT start_ns - origin_ns, end_ns - origin_ns, wall_us, sum_us, kernel_count FROM layers JOIN {OF_CASE} "
        f"USING (trace_id) WHERE pass_id = 1 AND layer_id = {layer_id}",
        case,
    )
    # The bare trace begins with its first kernel or call, so its origin is another.
    shift = found[0][0] - ns(start) if case == "G6-bare" else 0
    assert found == [(ns(start) + shift, ns(end) + shift, wall, total, 42)]


@pytest.mark.parametrize(
    ("case", "partial", "whole"),
    [
        ("G6", "step annotations", (True, "single-pass", "module scopes")),
        # Kernels alone cannot tell: the capture might end where one more layer would begin.
        ("G6-bare", "signature break", (False, "partial", "signature break")),
    ],
)
def test_a_pass_that_began_before_the_capture_is_numbered_from_its_end(lake, case, partial, whole):
    found = ask(
        lake,
        "SELECT pass_id, layer_count, num_layers, chosen, complete, note, pass_source FROM passes "
        f"JOIN {OF_CASE} USING (trace_id) ORDER BY pass_id",
        case,
    )
    assert found == [
        (0, 11, 24, False, False, "partial", partial),
        (1, 24, 24, True, *whole),
    ]
    # The feed-forward kernels of layer 13, then ten layers: 10 attentions and 11 activations.
    found = ask(
        lake,
        f"SELECT layer_id, kernel_count FROM layers JOIN {OF_CASE} USING (trace_id) WHERE pass_id = 0 ORDER BY 1",
        case,
    )
    assert found == [(13, 8), *((layer, 42) for layer in range(14, 24))]
    # Final norm of the one; embedding and rotary tables of the other, after 290.943 of idle time.
    found = ask(
        lake,
        f"SELECT pass_id, part, kernel_count, wall_us FROM pass_parts JOIN {OF_CASE} USING (trace_id) "
        "ORDER BY start_ns",
        case,
    )
    assert [row[:3] for row in found] == [(0, "epilogue", 8), (0, "gap", 0), (1, "prologue", 13), (1, "epilogue", 8)]
    assert found[1][3] == 290.943


@pytest.mark.parametrize(("direction", "letter"), [("forward", "F"), ("backward", "B"), ("weight gradient", "W")])
def test_layers_of_two_interleaved_microbatches_are_the_components_of_one_direction_each(lake, direction, letter):
    found = ask(
        lake,
        "SELECT l.kernel_count, l.sum_us, gap_after_us >= 0 "
        f"FROM layers AS l JOIN {OF_CASE} USING (trace_id) WHERE direction = '{direction}' ORDER BY layer_id",
        "G7",
    )
    parts = [(kernels, sums) for name, (_, kernels, sums) in G7_COMPONENTS.items() if name.endswith(f"({letter})")]
    for layer, (kernel_count, sum_us, is_apart) in enumerate(found):
        assert kernel_count == sum(kernels[layer] for kernels, _ in parts)
        # Each component's sum is rounded to a microsecond.
        assert abs(sum_us - sum(sums[layer] for _, sums in parts)) <= len(parts) / 2
        assert is_apart in (True, None if layer == 3 else True)
    assert len(found) == 4
    found = ask(
        lake,
        f"SELECT pass_source, num_layers, complete FROM passes JOIN {OF_CASE} USING (trace_id) "
        f"WHERE direction = '{direction}'",
        "G7",
    )
    assert found == [("annotations", 4, True)]


@pytest.mark.parametrize(("component", "expected"), G7_COMPONENTS.items())
def test_components_of_overlapping_layers(lake, component, expected):
    found = ask(
        lake,
        "SELECT list(DISTINCT stream ORDER BY stream), sum(kernel_count), sum(sum_us), sum(busy_us) "
        f"FROM layer_components JOIN {OF_CASE} USING (trace_id) WHERE component = '{component}' "
        "GROUP BY layer_id ORDER BY layer_id",
        "G7",
    )
    streams, kernels, sums = expected
    unions = G7_WEIGHT_UNIONS if component == "mlp(W)" else sums
    assert found == list(zip([streams] * 4, kernels, sums, unions, strict=True))


def test_streams_of_overlapping_layers(lake):
    found = ask(
        lake,
        "SELECT stream, sum(kernel_count), sum(sum_us) FROM layer_components "
        f"JOIN {OF_CASE} USING (trace_id) GROUP BY 1 ORDER BY 1",
        "G7",
    )
    assert found == [(7, 907, 118193), (23, 16, 11355), (27, 40, 114521)]


S1_SPANS = [34350, 58350, 70350, 70350, 70350]


@pytest.mark.parametrize("case", ["S1", "S1-rank-0", "S1-rank-1", "S1-devices"])
def test_five_passes_of_six_layers_are_told_by_what_happens_once_per_pass(lake, case):
    found = ask(
        lake,
        "SELECT device, pass_id, num_layers, complete, start_ns // 1000, span_us, chosen, pass_source FROM passes "
        f"JOIN {OF_CASE} USING (trace_id) ORDER BY device, pass_id",
        case,
    )
    starts = [1210, 39300, 101390, 175480, 249570]
    assert found == [
        (device, number, 6, True, start, span, number == 3, "signature break")
        for device in range(2 if case == "S1-devices" else 1)
        for number, (start, span) in enumerate(zip(starts, S1_SPANS, strict=True))
    ]


def test_ranks_do_not_mix(lake):
    counts = lake.sql(
        "SELECT rank, count(*) FROM layers JOIN traces USING (trace_id, rank) WHERE starts_with(trace, 'S1-rank') "
        "GROUP BY rank ORDER BY rank"
    ).fetchall()
    assert counts == [(0, 30), (1, 30)]


CHOSEN = {
    # pattern, role, occurrences, anchors per layer, layers
    "G1": ("Li(?:256", "begin", 73, 2, 36),
    "G2": ("Li(?:256", "begin", 73, 2, 36),
    "G3": ("Rmsnorm2dFwd", "begin", 49, 2, 24),
    "G5": ("rms_norm_kernel", "begin", 73, 2, 36),
    "G6": ("flash_fwd_kernel", "inside", 34, 1, 24),
    "S1": ("mhc_post_tilelang", "end", 60, 2, 6),
}


@pytest.mark.parametrize(("case", "expected"), CHOSEN.items())
def test_the_anchor_that_was_chosen_and_its_evidence(lake, case, expected):
    found = ask(
        lake,
        "SELECT pattern, role, occurrences, blocks_per_layer, num_layers, remainder, score > 0.5 "
        f"FROM anchor_candidates JOIN {OF_CASE} USING (trace_id) WHERE chosen",
        case,
    )
    assert [(expected[0] in row[0], *row[1:]) for row in found] == [(True, *expected[1:], 0, True)]


def test_norms_of_queries_and_keys_are_a_candidate_of_their_own(lake):
    # 72 of them and 73 of the hidden size: taken together they would be neither.
    found = ask(
        lake,
        "SELECT occurrences, contains(pattern, 'Li64ELi8'), chosen FROM anchor_candidates "
        f"JOIN {OF_CASE} USING (trace_id) WHERE role = 'begin' ORDER BY 1, 3",
        "G1",
    )
    assert found == [(72, True, False), (73, False, False), (73, False, True)]


def test_an_anchor_that_does_not_occur_finds_nothing_but_leaves_the_candidates_to_see(lake):
    lake.set("S1-rank-1", anchor="no_such_kernel")
    try:
        assert ask(lake, f"SELECT 1 FROM passes JOIN {OF_CASE} USING (trace_id)", "S1-rank-1") == []
        found = ask(
            lake,
            f"SELECT bool_or(chosen), max(score) > 0.5 FROM anchor_candidates JOIN {OF_CASE} USING (trace_id)",
            "S1-rank-1",
        )
        assert found == [(False, True)]
    finally:
        lake.set("S1-rank-1", anchor=None)


STEPS = [
    # name, is it a step, its stage
    ("execute_context_1(888_788544)_generation_0(0)", True, "prefill"),
    ("execute_15360_context_15(sq15360sk15360sqsq15728640)_generation_0(sq0sk0sqsq0sqsk0)", True, "prefill"),
    ("execute_32_context_0(sq0sk0sqsq0sqsk0)_generation_32(sq32sk55086sqsq32sqsk55086)", True, "decode"),
    ("execute_context_9(512)_generation_37(37)", True, "mixed"),
    ("execute_context_0(0)_generation_10(10)", True, "decode"),
    ("execute_context_10(512)_generation_0(0)", True, "prefill"),
    ("execute_context_1(8)_generation_01(1)", False, None),
    ("step[EXTEND bs=15 toks=15360]", True, "prefill"),
    ("step[DECODE bs=32]", True, "decode"),
    ("step[MIXED bs=9]", True, "mixed"),
    ("step[IDLE bs=0]", True, None),
    ("ProfilerStep#6", True, None),
    ("ProfilerStep*", False, None),
    ("capture_32_DECODE", False, None),
    ("## forward ##", False, None),
]


@pytest.mark.parametrize(("name", "is_step", "stage"), STEPS)
def test_the_stage_of_a_step_is_read_from_whole_numbers_and_words(lake, name, is_step, stage):
    found = lake.sql(
        "SELECT arg_min({'stage': stage}, priority) FROM step_rules WHERE regexp_matches($name, pattern)", name=name
    ).fetchall()
    assert found == [({"stage": stage} if is_step else None,)]


WINDOWS = [
    # case, first and last kernel in passes of the case; layers of each pass found, a star where it is complete
    ("G1", 0.46, 2.78, [20, "36*", 29]),
    ("G2", 0.00, 3.53, ["36*", "36*", "36*", 19]),
    ("G2", 0.84, 3.50, [6, "36*", "36*", 18]),
    ("G3", 0.92, 2.46, [2, "24*", 12]),
    ("G3", 1.30, 4.00, [17, "24*", "24*"]),
    ("G3", 1.27, 2.30, []),  # no pass is whole, so their length is not known
    ("G5", 0.06, 2.78, [35, "36*", 29]),
    ("G6", 1.13, 3.97, [22, "24*", 23]),
]
KERNELS_OF_A_PASS = {"G1": 504, "G2": 540, "G3": 419, "G5": 756, "G6": 1008}


@pytest.mark.parametrize(("case", "first", "last", "expected"), WINDOWS)
@in_one_lake
def test_a_capture_of_kernels_alone_may_begin_and_end_anywhere(tmp_path, case, first, last, expected):
    with gzip.open(data_file(f"kineto/{KINETO_FILES[case]}.json.gz")) as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    kernels = sorted((event for event in events if event.get("cat") == "kernel"), key=lambda event: event["ts"])
    kernels = kernels[436:] if case == "G6" else kernels
    span = kernels[-1]["ts"] + kernels[-1]["dur"] - kernels[0]["ts"] + 3
    passes = [
        {**event, "ts": str(event["ts"] + number * span), "dur": str(event["dur"]),
         "args": {key: event["args"][key] for key in ("device", "stream")}}
        for number in range(4)
        for event in kernels
    ]  # fmt: skip
    window = passes[int(first * len(kernels)) : int(last * len(kernels))]
    (tmp_path / "window.json").write_text(json.dumps({"traceEvents": window}))
    lake = yield tmp_path / "window.json"
    found = lake.sql(
        "SELECT layer_count, complete, sum(kernel_count) FROM passes JOIN layers USING (trace_id, pass_id) "
        "GROUP BY pass_id, layer_count, complete ORDER BY pass_id"
    ).fetchall()
    assert [f"{layers}*" if complete else layers for layers, complete, _ in found] == expected
    assert {count for _, complete, count in found if complete} <= {KERNELS_OF_A_PASS[case]}
