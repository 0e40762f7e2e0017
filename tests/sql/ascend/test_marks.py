"""What kernels of an Ascend device mark in a forward pass, on made-up captures whose truth the generator knows."""

from __future__ import annotations

import csv
from dataclasses import replace
from decimal import Decimal

import pytest

from tracelake.lake import Lake

from ...ascend_captures import Attention, Capture, Model, dense, paged
from ...lakes import Own, in_one_lake
from .files import CANN, HARDWARE, PYTHON, arrow, call, operator, task, timeline, write_timeline


def ask(lake: Own, query: str) -> list:
    return lake.rows(query)


def masked(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """Decode attention under a mask; the first layer also makes the mask, which is no attention."""
    if layer == 0:
        capture.add("GenAttentionMaskNdKernel", 3)
        capture.add("attention_mask", 3)
    paged(capture, tokens, requests, layer)
    capture.rows[-2] = replace(capture.rows[-2], kind="PagedAttentionMaskNdKernel", name="PagedAttentionMaskNdKernel")


@in_one_lake
def test_attention_with_a_mask_is_attention_and_what_makes_the_mask_is_not(tmp_path):
    capture = Capture()
    for attention in (paged, masked, masked):
        Model(4, attention).run(capture, 16, 16)
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    # Three passes of four layers; where the masked kernels were no anchors, one.
    assert ask(lake, "SELECT pass_id, layer_count, complete FROM passes ORDER BY pass_id") == [
        (0, 4, True), (1, 4, True), (2, 4, True),
    ]  # fmt: skip
    query = "SELECT count(*), count(DISTINCT layer_id) FROM layer_kernels WHERE pass_id = 1 AND name ILIKE '%mask%'"
    assert ask(lake, query) == [(6, 4)]


def prologued(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """Latent attention behind one kernel with all of its products."""
    capture.add("MlaPrologV2WeightNz", 30)
    capture.add("FusedInferAttentionScore", 20)
    capture.product(tokens, 512)


def of_atb(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """The same by the kernels of ATB, which MindIE runs."""
    capture.add("MLAPreprocessKernel", 30)
    capture.add("MLAKernel", 20)
    capture.add("PpMatMulI8Kernel", 8)


@pytest.mark.parametrize(
    ("attention", "residual"), [(prologued, "AddRmsNormBias"), (of_atb, "RmsPreNormQuantKernel")]
)  # fmt: skip
def test_the_first_layer_begins_at_its_norm_where_no_product_is_before_attention(tmp_path, attention, residual):
    # Without shapes a lookup does not show that it is the embedding's.
    capture = Capture(shown=False)
    for _ in range(3):
        Model(4, attention, residual=residual).run(capture, 16, 16)
        capture.wait(300)
    with Lake(tmp_path / "lake") as lake:
        lake.ingest(capture.write(tmp_path / "kernel_details.csv"))
        found = lake.rows(
            "SELECT pass_id, complete, layer_id, half, sum_us FROM passes JOIN layer_halves USING (trace_id, pass_id) "
            "ORDER BY ALL"
        )
    # 4 + 30 + 20 + 8 and a collective of 15; 4 + 30 + 3 + 25 and 15.
    assert found == [
        (nth, True, layer, half, time)
        for nth in range(3)
        for layer in range(4)
        for half, time in (("attn", 77.0), ("ffn", 77.0))
    ]


def of_a_stage(passes: int) -> Capture:
    """Return a capture of a middle stage: two tensors come and two go, and a pass begins right after the one before."""
    capture = Capture()
    for _ in range(passes):
        capture.part = "prologue"
        capture.collective("hcom_receive_", 20)
        capture.collective("hcom_receive_", 20)
        Model(3, head=False, tail=False).run(capture, 16, 16)
        capture.part = "epilogue"
        capture.collective("hcom_send_", 18)
        capture.collective("hcom_send_", 18)
        capture.wait(30)
    return capture


def ring(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """Attention of a ring: keys go round, and arrive, in each layer."""
    capture.collective("hcom_send_", 5)
    capture.collective("hcom_receive_", 5)
    paged(capture, tokens, requests, layer)


@in_one_lake
def test_what_a_stage_of_a_pipeline_receives_and_sends_bounds_its_passes(tmp_path):
    lake = yield of_a_stage(4).write(tmp_path / "kernel_details.csv")
    # Four passes of three layers were one of twelve where nothing else parts them.
    assert ask(lake, "SELECT layer_count, complete, pass_source FROM passes") == [(3, True, "signature break")] * 4
    # 4 + 30 + 3 + 25 and a collective of 15: what is sent is in no layer.
    halves = "SELECT layer_id, sum_us FROM layer_halves WHERE half = 'ffn' AND pass_id = 1 ORDER BY layer_id"
    assert ask(lake, halves) == [(0, 77.0), (1, 77.0), (2, 77.0)]
    parts = "SELECT part, sum_us FROM pass_parts WHERE part <> 'gap' AND pass_id = 1 ORDER BY part"
    assert ask(lake, parts) == [("epilogue", 36.0), ("prologue", 40.0)]


@in_one_lake
def test_what_every_layer_receives_and_sends_bounds_nothing(tmp_path):
    capture = Capture()
    for _ in range(3):
        Model(4, ring).run(capture, 16, 16)
        capture.wait(3000)
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    assert ask(lake, "SELECT layer_count, complete FROM passes") == [(4, True)] * 3
    assert ask(lake, "SELECT DISTINCT sum_us FROM layer_halves WHERE half = 'ffn'") == [(77.0,)]


def between_norms(capture: Capture, *, of_queries: bool) -> None:
    """Append a pass of a model like Gemma 3, each of whose halves has a norm before and after it; sums by add."""
    capture.begin_pass()
    for layer in range(3):
        capture.layer = layer
        capture.add("RmsNorm", 4)
        capture.product(16, 640)
        if of_queries:
            capture.add("RmsNorm", 2)
            capture.add("RmsNorm", 2)
        capture.add("FusedInferAttentionScore", 20, "16,4,128;1000,128,128;1000,128,128;;;16;16")
        capture.product(16, 512)
        capture.add("RmsNorm", 5)
        capture.add("Add", 2)
        capture.add("RmsNorm", 4)
        capture.product(16, 3200, 30)
        capture.add("Gelu", 3)
        capture.product(16, 512, 25)
        capture.add("RmsNorm", 5)
        capture.add("Add", 2)
    capture.layer = None
    capture.part = "epilogue"
    capture.add("RmsNorm", 4)
    capture.product(16, 9496, 40)
    capture.add("ArgMaxV2", 6)
    capture.part = None


@pytest.mark.parametrize("of_queries", [False, True])
@in_one_lake
def test_a_layer_whose_halves_are_between_norms_begins_at_the_last_of_them(tmp_path, of_queries):
    capture = Capture(clock=Decimal(1751520000000000 + of_queries))
    for _ in range(3):
        between_norms(capture, of_queries=of_queries)
        capture.wait(3000)
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    # 4 + 8 + 20 + 8 + 5 + 2, of queries and keys 2 + 2; 4 + 30 + 3 + 25 + 5 + 2.
    halves = "SELECT DISTINCT layer_id, half, sum_us, kernel_count FROM layer_halves ORDER BY ALL"
    attention, products = (51.0, 8) if of_queries else (47.0, 6), (69.0, 6)
    assert ask(lake, halves) == [
        (layer, half, *expected) for layer in range(3) for half, expected in (("attn", attention), ("ffn", products))
    ]
    parts = "SELECT DISTINCT part, sum_us FROM pass_parts WHERE part <> 'gap' ORDER BY ALL"
    assert ask(lake, parts) == [("epilogue", 50.0), ("prologue", 2.0)]


def with_fused_combines(capture: Capture) -> None:
    """Append a pass of a dense layer and three of experts, whose way back ends in the norm of the next half."""
    capture.begin_pass()
    for layer in range(4):
        capture.layer = layer
        if layer < 2:
            capture.add("AddRmsNorm" if layer else "RmsNorm", 4)
        paged(capture, 16, 16, layer)
        capture.add("AddRmsNorm", 4)
        if layer == 0:
            dense(capture, 16)
        else:
            capture.product(16, 256)
            capture.add("MoeDistributeDispatchV2", 20)
            capture.add("GroupedMatmul", 30)
            capture.add("MoeDistributeCombineAddRmsNorm", 21)
    capture.layer = None
    capture.part = "epilogue"
    capture.product(16, 9496, 40)
    capture.add("ArgMaxV2", 6)
    capture.part = None


@in_one_lake
def test_a_norm_fused_behind_the_way_back_of_experts_closes_their_layer(tmp_path):
    capture = Capture()
    for _ in range(3):
        with_fused_combines(capture)
        capture.wait(3000)
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    assert ask(lake, "SELECT layer_count, complete FROM passes") == [(4, True)] * 3
    # 8 + 5 + 2 + 20 + 8 after a norm of 4, or one fused into the layer before; 4 + 30 + 3 + 25, 4 + 8 + 20 + 30 + 21.
    halves = "SELECT DISTINCT layer_id, half, sum_us FROM layer_halves ORDER BY ALL"
    assert ask(lake, halves) == [
        (0, "attn", 47.0), (0, "ffn", 62.0), (1, "attn", 47.0), (1, "moe", 83.0), (2, "attn", 43.0),
        (2, "moe", 83.0), (3, "attn", 43.0), (3, "moe", 83.0),
    ]  # fmt: skip
    assert ask(lake, "SELECT DISTINCT sum_us FROM pass_parts WHERE part = 'epilogue'") == [(46.0,)]


def of_newer_types(*kinds: str) -> Attention:
    """Return an attention of these kernels, 9 us each, then a product fused with its all-reduce, 30 us."""

    def attention(capture: Capture, tokens: int, requests: int, layer: int) -> None:
        for kind in kinds:
            capture.add(kind, 9)
        capture.add("MatmulAllReduce", 30)

    return attention


@pytest.mark.parametrize("kinds", [
    ("MlaPrologV3", "FusedInferAttentionScore"),
    ("QuantLightningIndexerV2Metadata", "QuantLightningIndexerV2", "SparseAttnSharedkvMetadata", "SparseAttnSharedkv"),
    ("NsaCompressAttentionInfer", "NsaSelectedAttentionInfer"),
    ("RecurrentKda",),
    ("_fwd_diag_kernel", "_fwd_kv_parallel", "_fwd_kv_reduce", "_fwd_none_diag_kernel"),
    ("FlashMlaWithKvcache",),
])  # fmt: skip
@in_one_lake
def test_attention_of_newer_types_makes_layers_and_fused_kernels_are_their_products(tmp_path, kinds):
    capture = Capture(clock=Decimal(1751530000000000 + len("".join(kinds))))
    for _ in range(3):
        Model(4, of_newer_types(*kinds), mixtures=0).run(capture, 16, 16)
        capture.wait(3000)
    # One kernel for all that the experts of a layer do, their exchange included.
    capture.rows = [
        replace(row, kind="DispatchFFNCombine", name="DispatchFFNCombine") if row.kind == "GroupedMatmul" else row
        for row in capture.rows
        if not row.kind.startswith("MoeDistribute")
    ]
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    assert ask(lake, "SELECT layer_count, complete FROM passes") == [(4, True)] * 3
    groups = """
        SELECT DISTINCT category_group, sum(sum_us) FROM layer_categories
        WHERE category_group <> 'norm' GROUP BY pass_id, layer_id, category_group ORDER BY ALL"""
    # Two collectives of 15; the fused product, that of the router, and 3 on another stream; 3 for the router's choice.
    assert ask(lake, groups) == [
        ("attention", 9.0 * len(kinds)), ("communication", 30.0), ("gemm", 30 + 8 + 3.0), ("moe", 30 + 3.0),
    ]  # fmt: skip


#: As vLLM-Ascend, SGLang and CANN call the kernel that decodes with gated delta, Kimi delta, lightning attention or
#: a state space.
DECODES = [
    "fused_sigmoid_gating_delta_rule_update_kernel", "RecurrentGatedDeltaRule", "qwen35_gdn_decode_tile_kernel",
    "fused_recurrent_kda_packed_decode_kernel", "kda_decode", "_linear_attn_decode_kernel", "LightningAttentionDecode",
    "_selective_scan_update_kernel",
]  # fmt: skip


@pytest.mark.parametrize("decode", DECODES)
@in_one_lake
def test_a_decode_of_linear_attention_has_the_layers_of_its_prefill(tmp_path, decode):
    def mixer(capture: Capture, tokens: int, requests: int, layer: int) -> None:
        if layer % 4 == 3:
            paged(capture, tokens, requests, layer)
            return
        capture.product(tokens, 640)
        if tokens > requests:
            capture.add("chunk_gated_delta_rule_fwd_kernel_h_blockdim64", 30)
        else:
            capture.add(decode, 9)
        capture.product(tokens, 512)

    capture = Capture(clock=Decimal(1751540000000000 + DECODES.index(decode)))
    for tokens in (2048, 16, 16, 16):
        Model(8, mixer).run(capture, tokens, 16)
        capture.wait(3000)
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    # Where attention to a cache alone marks layers, a decode has two, and the prefill is four passes of two.
    assert ask(lake, "SELECT layer_count, complete FROM passes") == [(8, True)] * 4
    query = "SELECT pass_id, list(layer_id ORDER BY layer_id) FROM layer_kernels WHERE name = '{}' GROUP BY ALL"
    assert ask(lake, query.format(decode) + " ORDER BY pass_id") == [(nth, [0, 1, 2, 4, 5, 6]) for nth in (1, 2, 3)]


def of_two_steps(*last: tuple[str, float]) -> str:
    """Return the table of two steps, each a pass of six layers and some last kernels; 10 us lie between the steps."""
    capture = Capture()
    for _ in range(2):
        # The longest idle time between the passes is inside the second step.
        capture.add("Cast", 2, apart=500)
        capture.add("GatherV2", 2)
        for kind in 6 * ("LayerNormV3", "MatMulV2", "SoftmaxV2", "MatMulV2", "Gelu", "MatMulV2"):
            capture.add(kind)
        capture.add("LayerNormV3")
        capture.add("MatMulV2", 40)
        for kind, dur in last:
            capture.add(kind, dur)
        capture.wait(9)
    header, *lines = capture.text().splitlines()
    numbered = [f"{1 + 2 * nth // len(lines)},{line}" for nth, line in enumerate(lines)]
    return "\n".join([f"Step Id,{header}", *numbered]) + "\n"


@in_one_lake
def test_a_kernel_with_the_number_of_the_next_step_is_in_the_prologue_however_long_it_waits_there(tmp_path):
    (tmp_path / "kernel_details.csv").write_text(of_two_steps())
    lake = yield tmp_path / "kernel_details.csv"
    # A cast and the lookup of the embedding, 2 us each; norm and head, 5 + 40.
    query = "SELECT pass_id, part, kernel_count, sum_us, wall_us FROM pass_parts ORDER BY start_ns"
    assert ask(lake, query) == [
        (0, "prologue", 2, 4.0, 504.0), (0, "epilogue", 2, 45.0, 46.0), (0, "gap", 0, 0.0, 10.0),
        (1, "prologue", 2, 4.0, 504.0), (1, "epilogue", 2, 45.0, 46.0),
    ]  # fmt: skip


@in_one_lake
def test_a_step_around_two_passes_does_not_hide_that_each_has_an_engines_step(tmp_path):
    folder = tmp_path / "host_1_20251120000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    steps = [operator(f"execute_context_0(0)_generation_{4 + nth}({4 + nth})", str(400 * nth), 390.0,
                      category="user_annotation") for nth in range(2)]  # fmt: skip
    events = [operator("ProfilerStep#3", "0", 1000.0, category="user_annotation"), *steps]
    rows = list(csv.DictReader(of_two_steps().splitlines()))
    for nth, row in enumerate(rows):
        step, place = divmod(nth, len(rows) // 2)
        row["Step Id"], start, issued = "3", row["Start Time(us)"].strip(), 400 * step + 8 * place + 1
        events += [
            operator(f"aclnn{row['Type']}", f"{issued}", 3.0),
            call(f"AscendCL@aclnn{row['Type']}", f"{issued + 1}", 1.0),
            task(row["Name"], start, float(row["Duration(us)"]), number=int(row["Task ID"]), kind="AI_CORE"),
            *arrow("HostToDevice", f"9{nth}", (CANN, 1, f"{issued + 1}.5"), (HARDWARE, 2, start)),
            *arrow("async_npu", f"8{nth}", (PYTHON, 1, f"{issued}"), (HARDWARE, 2, start)),
        ]  # fmt: skip
    write_timeline(folder / "trace_view.json", timeline(*events))
    with (folder / "kernel_details.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    lake = yield folder.parent
    query = "SELECT pass_id, part, kernel_count, sum_us FROM pass_parts WHERE kernel_count > 0 ORDER BY start_ns"
    assert ask(lake, query) == [
        (0, "prologue", 2, 4.0), (0, "epilogue", 2, 45.0), (1, "prologue", 2, 4.0), (1, "epilogue", 2, 45.0),
    ]  # fmt: skip


@pytest.mark.parametrize(("updated", "severity"), [(600, "info"), (100, "ok")])
@in_one_lake
def test_layers_that_hold_little_of_a_training_step_do_not_hide_it(tmp_path, updated, severity):
    (tmp_path / "kernel_details.csv").write_text(of_two_steps(("ApplyAdamWV2", updated)))
    lake = yield tmp_path / "kernel_details.csv"
    # Layers: 36 kernels of 5 us; outside: 2 + 2 + 5 + 40 us and the optimizer.
    [(found, message)] = ask(lake, "SELECT severity, message FROM health WHERE \"check\" = 'training_step'")
    assert found == severity
    if severity == "info":
        assert f"optimizer {2 * updated:.1f} us" in message
        assert f"only {100 * 180 / (180 + 49 + updated):.1f} % of the device's busy time is in layers" in message
