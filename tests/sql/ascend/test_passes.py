"""Passes, layers and windows of Ascend captures, on made-up ones whose truth the generator knows."""

import csv
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from tracelake.lake import Lake

from ...ascend_captures import Capture, Model, Row, chunked, hybrid, latent, norms_of_queries, paged, sparse
from ...lakes import ingest_at_once
from ...support import DATA, data_file

Made = Callable[[], Capture]


def decoding(model: Model, passes: int, *, tokens: int = 16, apart: float = 3000, **options: Any) -> Capture:
    """Return a capture of passes with idle time between them."""
    capture = Capture(**options)
    for _ in range(passes):
        model.run(capture, tokens, tokens)
        capture.wait(apart)
    return capture


def cut(capture: Capture, first: Callable[[Row], bool], last: Callable[[Row], bool]) -> Capture:
    """Keep what lies between the first row of one kind and the last row of another."""
    start = next(row.start for row in capture.rows if first(row))
    end = [row.start for row in capture.rows if last(row)][-1]
    capture.rows = [row for row in capture.rows if start <= row.start <= end]
    return capture


def later(capture: Capture, start: Any, by: int) -> None:
    """Have all that begins from a moment on begin later."""
    capture.rows = [replace(row, start=row.start + by) if row.start >= start else row for row in capture.rows]


def in_mid_pass() -> Capture:
    """Return a capture that begins in layer 2 of its first pass and ends in layer 3 of its last."""
    return cut(
        decoding(Model(6), 4),
        lambda row: (row.pass_no, row.layer) == (0, 2),
        lambda row: (row.pass_no, row.layer) == (3, 3),
    )


def in_mid_layer() -> Capture:
    """Return a capture that begins behind the first norm, and ends before the last activation."""
    capture = decoding(Model(4), 3)
    return cut(
        capture,
        lambda row: row.kind == "MatMulV2",
        lambda row: (row.pass_no, row.layer) == (2, 3) and row.shapes.endswith(",3200"),
    )


def with_a_hiccup() -> Capture:
    """Return a capture whose second pass waits for the host before its layer 1."""
    capture = decoding(Model(3), 4)
    later(capture, next(row.start for row in capture.rows if (row.pass_no, row.layer) == (1, 1)), 4000)
    return capture


def with_a_slow_rank() -> Capture:
    """Return a capture in which one collective waits longer than passes lie apart."""
    capture = decoding(Model(3, head=False, tail=False), 3)
    slow = next(row for row in capture.rows if (row.pass_no, row.layer, row.stream) == (1, 1, None))
    later(capture, slow.start + slow.dur, 8000)
    capture.rows = [replace(row, dur=row.dur + 8000) if row.start == slow.start else row for row in capture.rows]
    return capture


def of_many_loads() -> Capture:
    """Return a capture of passes of both stages."""
    capture = Capture()
    for tokens, requests in ((4112, 1), (16, 16), (32, 16), (2048, 4), (16, 16)):
        Model(4).run(capture, tokens, requests)
        capture.wait(3000)
    return capture


def both(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """Attention of the requests that decode, and of the one that prefills."""
    paged(capture, 16, 16, layer)
    chunked(0)(capture, tokens, requests, layer)


def of_mixed_passes() -> Capture:
    """Return a capture of passes that prefill some requests and decode others."""
    capture = Capture()
    for _ in range(2):
        Model(3, both).run(capture, 1000, 1)
        capture.wait(3000)
    return capture


def without_attention_shapes() -> Capture:
    """Return a capture whose attention shows no shapes."""
    capture = decoding(Model(4), 2, tokens=24)
    capture.rows = [replace(row, shapes="N/A") if "Attention" in row.kind else row for row in capture.rows]
    return capture


def with_fused_norms() -> Capture:
    """Return a capture of a model whose norms are in one kernel with the product and the collective before them."""
    capture = Capture()
    for _ in range(3):
        capture.begin_pass()
        for layer in range(3):
            capture.layer = layer
            if layer == 0:
                capture.add("RmsNorm", 4)
            capture.product(16, 640)
            capture.add("FusedInferAttentionScore", 20, "16,4,128;1000,128,128;1000,128,128;;;16;16")
            capture.add("MatmulAllReduceAddRmsNorm", 20)
            capture.product(16, 3200, 30)
            capture.add("SwiGlu", 3)
            capture.add("MatmulAllReduceAddRmsNorm", 25)
        capture.layer = None
        capture.part = "epilogue"
        capture.product(16, 9496)
        capture.add("ArgMaxV2", 6)
        capture.part = None
        capture.wait(3000)
    return capture


MODELS = {
    "dense": Model(4),
    "norms of queries": Model(4, norms_of_queries),
    "latent with experts": Model(6, latent, mixtures=1),
    "sparse": Model(5, sparse, mixtures=2),
    "hybrid": Model(8, hybrid, mixtures=0),
    "chunks": Model(4, chunked(2)),
    "one card": Model(4, tensor_parallel=False),
    "dynamic quantisation": Model(4, residual="AddRmsNormDynamicQuant"),
    "in place": Model(4, residual="InplaceAddRmsNorm"),
}
#: Each capture with the settings of its trace.
CAPTURES: dict[str, tuple[Made, dict[str, Any]]] = {
    **{f"{name}, apart": (partial(decoding, model, 3), {}) for name, model in MODELS.items()},
    **{f"{name}, at once": (partial(decoding, model, 3, apart=0), {}) for name, model in MODELS.items()},
    "parts": (lambda: decoding(Model(4), 3), {}),
    "halves": (lambda: decoding(Model(4, latent, mixtures=2), 2), {}),
    "mid pass": (in_mid_pass, {}),
    "mid layer": (in_mid_layer, {}),
    "no shapes": (lambda: decoding(Model(4), 3, apart=0, shown=False), {}),
    "pipeline": (lambda: decoding(Model(4, head=False, tail=False), 3), {}),
    "counted": (lambda: decoding(Model(4, head=False, tail=False), 3, apart=0), {"num_layers": 4}),
    "hiccup": (with_a_hiccup, {}),
    "slow rank": (with_a_slow_rank, {}),
    "loads": (of_many_loads, {}),
    "mixed": (of_mixed_passes, {}),
    "first product": (without_attention_shapes, {}),
    "drafts": (lambda: decoding(Model(5, latent, drafts=2), 3, apart=0), {}),
    "fused norms": (with_fused_norms, {}),
    "alone": (lambda: decoding(Model(1, latent, head=False, tail=False), 3), {}),
    "alone, plain norms": (lambda: decoding(Model(1, latent, residual="RmsNorm", head=False, tail=False), 3), {}),
    "user": (lambda: decoding(Model(4), 3), {"anchor": "FusedInferAttentionScore", "num_layers": 4}),
}
#: Those whose kernels must all be where the generator put them, with complete passes and their layers.
WHOLE = {
    **{f"{name}, {how}": (3, model.layers) for name, model in MODELS.items() for how in ("apart", "at once")},
    "no shapes": (3, 4), "pipeline": (3, 4), "counted": (3, 4), "hiccup": (4, 3), "slow rank": (3, 3),
    "loads": (5, 4), "drafts": (3, 7), "fused norms": (3, 3), "alone": (3, 1),
    "alone, plain norms": (3, 1),
}  # fmt: skip
#: The second pass of these comes first in the file.
SHUFFLED = "shuffled"


@pytest.fixture(scope="module")
def captures() -> dict[str, Capture]:
    """The captures, by name."""
    made = {name: make() for name, (make, _) in CAPTURES.items()}
    made[SHUFFLED] = decoding(Model(8, sparse, head=False, tail=False, mixtures=3), 3, apart=0)
    return made


@pytest.fixture(scope="module")
def lake(captures: dict[str, Capture], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """One lake of all captures and of the real files."""
    folder = tmp_path_factory.mktemp("captures")
    opened = Lake(folder / "lake")
    files = {"check": "synthetic/forward_passes.csv", "training": "kernel_details_training_910b_arithmetic.csv"}
    files["excerpt"] = "kernel_details_excerpt_pipeutilization.csv"
    written = {
        DATA / "ascend" / name: {"trace": trace} for trace, name in files.items() if (DATA / "ascend" / name).is_file()
    }
    for nth, (name, (_, settings)) in enumerate(CAPTURES.items()):
        # Two captures may be alike; content tells traces apart.
        moved = [replace(row, start=row.start + nth * 10**9) for row in captures[name].rows]
        captures[name].rows = moved
        written[captures[name].write(folder / f"c{nth}.csv")] = {"trace": name, **settings}
    order = {0: 1, 1: 0, 2: 2}
    path = captures[SHUFFLED].write(folder / "s.csv", order=lambda row: (order[row.pass_no or 0], row.start))
    written[path] = {"trace": SHUFFLED}
    one, two = decoding(Model(4), 3), decoding(Model(6, latent), 2)
    lines = [line.replace("0,", "1,", 1) for line in two.text().splitlines()[1:]]
    (folder / "d.csv").write_text(one.text() + "\n".join(lines) + "\n")
    captures |= {"device 0": one, "device 1": two}
    written[folder / "d.csv"] = {"trace": "two devices"}
    ingest_at_once(opened, written)
    yield opened
    opened.close()


def ask(lake: Lake, query: str, trace: str) -> list[tuple[Any, ...]]:
    """Return the rows of a question about one trace, `$1`."""
    return lake.rows(query, [lake.resolve(trace)])


def places(lake: Lake, trace: str) -> dict[tuple[str, int], tuple[int, int]]:
    """Return pass and layer of each kernel that has them, by name and start."""
    found = ask(lake, "SELECT name, start_ns, pass_id, layer_id FROM layer_kernels WHERE trace_id = $1", trace)
    return {(name, start): (pass_id, layer) for name, start, pass_id, layer in found}


def truth(capture: Capture) -> dict[tuple[str, int], tuple[int | None, int]]:
    """Return the same by the generator."""
    return {
        (row.name, int(row.start * 1000)): (row.pass_no, row.layer)
        for row in capture.rows
        if row.layer is not None and "AivKernel" not in row.name
    }


def passes(lake: Lake, trace: str) -> list[tuple[Any, ...]]:
    """Return pass, stage, tokens, requests, whether complete, and layers."""
    columns = "pass_id, stage, tokens, requests, complete, layer_count"
    return ask(lake, f"SELECT {columns} FROM passes WHERE trace_id = $1 ORDER BY device, pass_id", trace)


@pytest.mark.parametrize("trace", WHOLE)
def test_every_kernel_is_in_its_pass_and_layer(lake: Lake, captures: dict[str, Capture], trace: str) -> None:
    count, layers = WHOLE[trace]
    assert places(lake, trace) == truth(captures[trace])
    assert [row[4:] for row in passes(lake, trace)] == [(True, layers)] * count


def test_no_law_is_broken(lake: Lake) -> None:
    assert lake.broken_invariants() == []


def test_the_parts_outside_the_layers_are_the_embedding_and_the_head(lake: Lake) -> None:
    query = "SELECT part, count(*), min(sum_us), max(sum_us) FROM pass_parts WHERE trace_id = $1 GROUP BY 1 ORDER BY 1"
    # Norm, product and arg-max; the idle time and the microsecond before it, between three passes.
    assert ask(lake, query, "parts") == [("epilogue", 3, 50.0, 50.0), ("gap", 2, 0.0, 0.0), ("prologue", 3, 2.0, 2.0)]
    gaps = ask(lake, "SELECT DISTINCT wall_us FROM pass_parts WHERE part = 'gap' AND trace_id = $1", "parts")
    assert gaps == [(3001.0,)]


def test_the_halves_of_a_layer_are_attention_and_feed_forward_or_experts(lake: Lake) -> None:
    query = (
        "SELECT layer_id, half, sum_us FROM layer_halves WHERE pass_id = 0 AND trace_id = $1 ORDER BY layer_id, half"
    )
    # 4 + 8 + 2 + 8 + 3 + 20 + 8 and a collective of 15; 4 + 30 + 3 + 25 + 15; 4 + 8 + 3 + 3 + 20 + 30 + 20 + 15.
    assert ask(lake, query, "halves") == [
        (0, "attn", 68.0), (0, "ffn", 77.0), (1, "attn", 68.0), (1, "ffn", 77.0),
        (2, "attn", 68.0), (2, "moe", 103.0), (3, "attn", 68.0), (3, "moe", 103.0),
    ]  # fmt: skip


def test_a_capture_may_begin_and_end_within_a_pass(lake: Lake, captures: dict[str, Capture]) -> None:
    assert places(lake, "mid pass") == truth(captures["mid pass"])
    assert [row[4:] for row in passes(lake, "mid pass")] == [(False, 4), (True, 6), (True, 6), (False, 4)]


def test_a_layer_that_the_capture_cuts_makes_its_pass_partial(lake: Lake) -> None:
    assert [row[4:] for row in passes(lake, "mid layer")] == [(False, 4), (True, 4), (False, 4)]


def test_how_passes_were_found_is_said(lake: Lake) -> None:
    query = "SELECT DISTINCT pass_source FROM passes WHERE trace_id = $1"
    found = {trace: ask(lake, query, trace) for trace in ("parts", "pipeline", "counted")}
    assert found == {"parts": [("signature break",)], "pipeline": [("idle gap",)], "counted": [("anchor count",)]}


def test_prefill_and_decode_are_told_by_the_shapes_of_the_attention(lake: Lake) -> None:
    assert [row[1:4] for row in passes(lake, "loads")] == [
        ("prefill", 4112, 1), ("decode", 16, 16), ("decode", 32, 16), ("prefill", 2048, 4), ("decode", 16, 16),
    ]  # fmt: skip


def test_a_pass_with_attention_of_both_stages_is_mixed(lake: Lake) -> None:
    assert [row[1:] for row in passes(lake, "mixed")] == [("mixed", 1016, 17, True, 3)] * 2


def test_without_shapes_of_the_attention_the_first_product_tells_the_tokens(lake: Lake) -> None:
    assert [row[1:4] for row in passes(lake, "first product")] == [("decode", 24, None)] * 2
    assert [row[1:4] for row in passes(lake, "no shapes")] == [(None, None, None)] * 3


def test_what_lies_between_the_layers_and_those_that_draft_is_a_part(lake: Lake) -> None:
    query = "SELECT part, sum(kernel_count) FROM pass_parts WHERE part <> 'gap' AND trace_id = $1 GROUP BY 1 ORDER BY 1"
    # Twice a pass the final norm, head and arg-max, and the embedding after them.
    assert ask(lake, query, "drafts") == [("between", 24), ("epilogue", 9), ("prologue", 3)]


def test_a_run_of_ascending_rows_is_a_pass_wherever_it_stands_in_the_file(
    lake: Lake, captures: dict[str, Capture]
) -> None:
    # Nothing but the order of the file tells these passes apart.
    assert places(lake, SHUFFLED) == truth(captures[SHUFFLED])
    each = [row for row in captures[SHUFFLED].rows if row.pass_no == 1]
    counted = [row for row in each if "AivKernel" not in row.name]
    query = (
        "SELECT pass_id, row_count, counted_count FROM pass_windows WHERE window_kind = 'monotonic' AND trace_id = $1"
    )
    # The third pass goes on in the file where the first one ends: that run has both, and is of neither.
    assert ask(lake, query, SHUFFLED) == [(1, len(each), len(counted))]


def test_a_user_s_anchor_is_heeded(lake: Lake) -> None:
    assert [row[4:] for row in passes(lake, "user")] == [(True, 4)] * 3
    assert ask(lake, "SELECT DISTINCT pattern_source FROM anchors WHERE trace_id = $1", "user") == [("user",)]


def test_two_devices_in_one_file_are_looked_at_apart(lake: Lake, captures: dict[str, Capture]) -> None:
    assert [row[4:] for row in passes(lake, "two devices")] == [(True, 4)] * 3 + [(True, 6)] * 2
    query = "SELECT row_count FROM pass_windows WHERE window_kind = 'whole' AND trace_id = $1 ORDER BY device"
    assert ask(lake, query, "two devices") == [(len(captures[f"device {n}"].rows),) for n in (0, 1)]


def test_candidates_name_the_types_of_attention(lake: Lake) -> None:
    query = (
        "SELECT pattern, occurrences, num_layers, chosen FROM anchor_candidates WHERE trace_id = $1 ORDER BY pattern"
    )
    assert ask(lake, query, "hybrid, apart") == [
        ("ChunkGatedDeltaRuleOutput", 18, 8, True), ("FusedInferAttentionScore", 6, 8, True),
        ("chunk_gated_delta_rule_fwd_kernel_h", 18, 8, True),
    ]  # fmt: skip


def test_two_layers_are_matched_by_type_shapes_and_occurrence(lake: Lake) -> None:
    one = lake.resolve("loads")
    match = f"layer_match('{one}', 1, 0, '{one}', $1, $2)"
    query = f"SELECT match, count(*), sum(diff_us) FROM {match} GROUP BY ALL ORDER BY ALL"
    # Layer 0 has a plain norm where layer 2 has one with the residual; all else of two decodes is alike.
    assert lake.rows(query, [4, 2]) == [("a", 1, None), ("b", 1, None), ("exact", 11, 0.0)]
    # Beside a prefill only what has no shapes is alike: fused rotation, cache, activation, two collectives.
    assert lake.rows(query, [0, 0]) == [("exact", 5, 0.0), ("shapes", 7, 0.0)]
    # Of another trace, a mixture of experts: of three products before its attention the second has no partner,
    # since the first takes the one whose shapes differ, and the third the one whose shapes are equal.
    other = lake.resolve("halves")
    found = lake.rows(
        f"SELECT op_type FROM layer_match('{one}', 1, 1, '{other}', 0, 3) WHERE match = 'b' ORDER BY b_position"
    )
    assert [kind for (kind,) in found] == [
        "RmsNorm", "MatMulV2", "KvRmsNormRopeCache", "MoeGatingTopK", "MoeDistributeDispatchV2", "GroupedMatmul",
        "MoeDistributeCombineV2",
    ]  # fmt: skip


WINDOWS = [
    # pass, window, start, end, rows, counted, compute, communication, raw communication; from the specification.
    (0, "anchor", 6027_000, 6506_000, 43, 37, 353.0, 90.0, 180.0),
    (0, "extended", 6000_000, 6677_000, 62, 53, 495.0, 130.0, 260.0),
]


@pytest.mark.parametrize("pass_id", range(4))
def test_windows_of_the_check_vector(lake: Lake, pass_id: int) -> None:
    data_file("ascend/synthetic/forward_passes.csv")
    shift = (0, 5678_000, 11356_000, 17034_000)[pass_id]
    found = ask(
        lake,
        f"""
        SELECT
            window_kind, start_ns - 1751520000000000000, end_ns - 1751520000000000000, row_count, counted_count,
            compute_us, communication_us, raw_communication_us, gap_threshold_us
        FROM pass_windows
        WHERE pass_id = {pass_id} AND trace_id = $1
        ORDER BY window_kind
        """,
        "check",
    )
    assert found == [(kind, start + shift, end + shift, *rest, 2509.0) for _, kind, start, end, *rest in WINDOWS]


def test_what_a_window_leaves_out_is_said_in_numbers(lake: Lake) -> None:
    data_file("ascend/synthetic/forward_passes.csv")
    found = ask(
        lake,
        "SELECT window_kind, excluded_count, excluded_us, round(excluded_pct, 2), whole_pct FROM pass_windows "
        "WHERE pass_id IN (-1, 2) AND trace_id = $1 ORDER BY window_kind",
        "check",
    )
    # 625 - 443 of 625; the four passes are all there is.
    assert found == [
        ("anchor", 16, 182.0, 29.12, 17.72),
        ("extended", 0, 0.0, 0.0, 25.0),
        ("whole", None, None, None, 100),
    ]


def test_layers_of_the_check_vector(lake: Lake) -> None:
    data_file("ascend/synthetic/forward_passes.csv")
    assert [row[:5] for row in passes(lake, "check")] == [
        (0, "prefill", 128, 1, True), *((n, "decode", 16, 16, True) for n in (1, 2, 3))
    ]  # fmt: skip
    layers = ask(lake, "SELECT DISTINCT layer_id, sum_us FROM layers WHERE trace_id = $1 ORDER BY layer_id", "check")
    assert layers == [(0, 140.0), (1, 141.0), (2, 141.0), (3, 141.0)]
    halves = ask(
        lake, "SELECT DISTINCT layer_id, half, sum_us FROM layer_halves WHERE trace_id = $1 ORDER BY ALL", "check"
    )
    assert halves == [
        (0, "attn", 63.0), (0, "ffn", 77.0),
        *((n, half, us) for n in (1, 2, 3) for half, us in (("attn", 64.0), ("ffn", 77.0))),
    ]  # fmt: skip
    parts = ask(
        lake,
        "SELECT DISTINCT part, sum_us FROM pass_parts WHERE part <> 'gap' AND trace_id = $1 ORDER BY part",
        "check",
    )
    assert parts == [("epilogue", 60.0), ("prologue", 2.0)]


def test_training_without_fused_attention_has_no_passes_and_one_window(lake: Lake) -> None:
    data_file("ascend/kernel_details_training_910b_arithmetic.csv")
    assert passes(lake, "training") == []
    found = ask(
        lake,
        "SELECT window_kind, row_count, compute_us, communication_us FROM pass_windows WHERE trace_id = $1",
        "training",
    )
    assert found == [("whole", 591, 50408.3, 346398.74)]


def test_the_excerpt_has_four_runs_of_ascending_rows(lake: Lake) -> None:
    data_file("ascend/kernel_details_excerpt_pipeutilization.csv")
    assert ask(lake, "SELECT max(block), count(*) FROM _window_rows WHERE trace_id = $1", "excerpt") == [(4, 29)]
    # Of nine attention kernels four run backward.
    assert ask(lake, "SELECT count(*) FROM anchors WHERE trace_id = $1", "excerpt") == [(5,)]


STAGES = [
    ("[[128,4,128],[12307,128,128],[12307,128,128],null,[2048,2048],[128],[128]]", (128, 128, "decode")),
    ("[[24624,4,128],[24624,1,128],[24624,1,128],null,[2048,2048],[7],[7]]", (24624, 7, "prefill")),
    ("[[4,16,1,512],[1135,1,128,512],[1135,1,128,512],null,null,null,[4]]", (4, 4, "decode")),
    ("[[5,1,16,512],[1135,1,128,512]]", (5, None, "decode")),
    ("[[32,4,128],[900,128,128],[900,128,128],null,null,[8],[8]]", (32, 8, "decode")),
    ("[[72,4,128],[900,128,128],[900,128,128],null,null,[8],[8]]", (72, 8, "prefill")),
    ("[[40,4,128],[40,4,128],[40,4,128]]", (40, None, "prefill")),
    ("[[75,4,128],[900,128,128]]", (75, None, None)),
    ("[[100,512]]", (100, None, "prefill")),
    ("[[50,512]]", (50, None, "decode")),
    ("[[1,4096,5120],[1,4096,5120]]", (4096, None, "prefill")),
    ("[null,[1,2]]", (None, None, None)),
]


@pytest.mark.parametrize(("shapes", "expected"), STAGES)
def test_tokens_requests_and_stage_follow_from_shapes_alone(
    lake: Lake, shapes: str, expected: tuple[int | None, int | None, str | None]
) -> None:
    found = lake.rows(
        "SELECT attention_tokens(s[1]), attention_requests(s), attention_stage(s) "
        "FROM (SELECT CAST(CAST($1 AS JSON) AS BIGINT[][]) AS s)",
        [shapes],
    )
    assert found == [expected]


def test_the_profiling_database_has_two_prefills(lake: Lake) -> None:
    path = data_file("ascend/profiling_db/FusedInferAttentionScore.csv")
    with path.open(newline="") as file:
        listed = [
            [[int(n) for n in slot.split(",")] if slot else None for slot in row["Input Shapes"].strip('"').split(";")]
            for row in csv.DictReader(file)
        ]
    found = [
        lake.rows(
            "SELECT attention_tokens(s[1]), attention_requests(s), attention_stage(s) "
            "FROM (SELECT CAST(CAST($1 AS JSON) AS BIGINT[][]) AS s)",
            [json.dumps(shapes)],
        )[0]
        for shapes in listed
    ]
    assert [n for n, (_, _, stage) in enumerate(found, 1) if stage == "prefill"] == [5, 6]
    assert found[4:6] == [(24624, 7, "prefill"), (41040, 11, "prefill")]
    assert {stage for _, _, stage in found} == {"prefill", "decode"}
