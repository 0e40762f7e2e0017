"""Models whose attention is written out as products and a softmax, as transformers does it eagerly, made by hand.

A pass: the embedding is gathered, each layer is norm, product, two products around a softmax, product, norm and two
products; then norm, head and arg-max. Each kernel takes 10 us, the head 100, one follows the other after 1 us.
"""

import json

import pytest

from ...kernel_traces import GEMM, Trace
from ...lakes import Files, in_one_lake

NORM, SOFTMAX = "vectorized_layer_norm_kernel<BFloat16, float, false>", "softmax_warp_forward<float, float, float, 9>"
PASSES = "SELECT stage, tokens, requests, num_layers, layer_count, complete FROM passes ORDER BY pass_id"


class Model:
    """Writes passes of a model: kernels one after another, each launched by an operator."""

    def __init__(self, layers=3, *, routed=False):
        self.trace, self.now, self.layers, self.routed = Trace(), 0.0, layers, routed

    def run(self, name, op="aten::add", dims=None, dur=10.0, idle=1.0):
        """Add a kernel, which starts so long after the last one ended."""
        self.now += idle
        number = self.trace.op(op, self.now - 0.5, 0.4, dims)
        self.trace.kernel(name, self.now - 0.3, self.now, dur, number)
        self.now += dur

    def product(self, name=GEMM, **more):
        self.run(name, "aten::mm", [[8, 64], [64, 64]], **more)

    def attention(self, batch, queries, keys):
        self.product("ampere_bf16_s16816gemm_qk")
        self.run("elementwise_kernel<128, 4, MulFunctor>", "aten::mul")
        self.run(SOFTMAX, "aten::_softmax", [[batch, 4, queries, keys], [], []])
        self.product("ampere_bf16_s16816gemm_pv")

    def layer(self, batch, queries, keys):
        self.run(NORM, "aten::native_layer_norm")
        self.product()
        self.attention(batch, queries, keys)
        self.product("out_gemm")
        self.run(NORM, "aten::native_layer_norm")
        if self.routed:
            self.product("router_gemm")
            self.run(SOFTMAX, "aten::_softmax", [[batch * queries, 8], [], []])
            self.run("sbtopk::gatherTopK<float, unsigned int, 2, false>", "aten::topk")
        self.product("up_gemm")
        self.product("down_gemm")

    def forward(self, batch, queries, keys, *, head_after=1.0, next_after=1.0, mask_after=None):
        self.run("indexSelectSmallIndex<BFloat16, long>", "aten::index_select", idle=next_after)
        if mask_after is not None:
            self.run("triu_tril_kernel<bool, int, false, 8, false>", "aten::tril", idle=mask_after)
        for _ in range(self.layers):
            self.layer(batch, queries, keys)
        self.run(NORM, "aten::native_layer_norm")
        self.product("head_gemm", dur=100.0, idle=head_after)
        self.run("reduce_kernel<512, 1, ReduceOp<BFloat16, ArgMaxOps<float>>>", "aten::argmax")
        return self

    def write(self, folder):
        return self.trace.write(folder / "trace.json")


@pytest.mark.parametrize("routed", [False, True], ids=["dense", "experts"])
@in_one_lake
def test_the_softmax_between_two_products_marks_a_layer_and_a_router_s_does_not(tmp_path, routed):
    model = Model(routed=routed).forward(2, 128, 128)
    for step in (1, 2):
        model.forward(2, 1, 128 + step)
    lake = yield model.write(tmp_path)
    assert lake.rows(PASSES) == [("prefill", 256, 2, 3, 3, True), *[("decode", 2, 2, 3, 3, True)] * 2]
    # Nine kernels of a layer and the scaling, three more where it is routed.
    assert lake.rows("SELECT DISTINCT kernel_count FROM layers") == [(13 if routed else 10,)]


@in_one_lake
def test_an_anchor_that_the_user_names_is_looked_for_in_the_kernels_own_names(tmp_path):
    path = Model().forward(2, 128, 128).forward(2, 1, 129).write(tmp_path)
    lake = yield Files(path, anchor="softmax_warp_forward", num_layers=3)
    assert lake.rows("SELECT name, pattern_source, count(*) FROM anchors GROUP BY ALL") == [(SOFTMAX, "user", 6)]
    assert len(lake.rows(PASSES)) == 2


@in_one_lake
def test_up_to_eight_queries_of_a_sequence_are_a_decode_with_its_drafts(tmp_path):
    lake = yield Model().forward(2, 9, 64).forward(2, 8, 72).forward(2, 8, 80).write(tmp_path)
    assert [stage for stage, *_ in lake.rows(PASSES)] == ["prefill", "decode", "decode"]


@in_one_lake
def test_a_model_that_only_takes_whole_sequences_has_tokens_and_no_stage(tmp_path):
    model = Model()
    for _ in range(3):
        model.forward(4, 64, 64)
    lake = yield model.write(tmp_path)
    assert lake.rows(PASSES) == [(None, 256, 4, 3, 3, True)] * 3


@in_one_lake
def test_beside_a_kernel_that_is_attention_by_its_name_a_softmax_is_attention_too(tmp_path):
    """A decoder like T5's: its own attention has a bias and is written out, that to the encoder is fused."""
    model = Model(layers=0)
    for _ in range(3):
        model.forward(1, 1, 1)
        for _ in range(4):
            model.run(NORM, "aten::native_layer_norm")
            model.product()
            model.attention(1, 1, 64)
            model.product("out_gemm")
            model.run(NORM, "aten::native_layer_norm")
            model.product("query_gemm")
            model.run("flash_fwd_kernel<Flash_fwd_kernel_traits<64>>", "aten::_flash_attention_forward")
            model.product("out_gemm")
            model.product("up_gemm")
            model.run("vectorized_elementwise_kernel<8, launch_clamp_scalar>", "aten::clamp_min")
            model.product("down_gemm")
    lake = yield model.write(tmp_path)
    assert lake.rows("SELECT num_layers, layer_count, complete FROM passes") == [(4, 4, True)] * 3
    assert lake.rows(
        "SELECT half, count(*) FROM anchors JOIN layer_kernels USING (trace_id, kernel_id) GROUP BY 1 ORDER BY 1"
    ) == [
        ("cross", 12),
        ("self", 12),
    ]


@in_one_lake
def test_a_softmax_of_the_loss_or_backward_marks_no_layer(tmp_path):
    model = Model(layers=0)
    for _ in range(6):
        model.product()
        model.run("cunn_SoftMaxForward<4, float, LogSoftMaxForwardEpilogue>", "aten::_log_softmax")
        model.run("nll_loss_forward_reduce_cuda_kernel_2d", "aten::nll_loss_forward")
        model.product()
        model.run("softmax_warp_backward<float, float, float, 9>", "aten::_softmax_backward_data")
        model.product()
    lake = yield model.write(tmp_path)
    assert lake.rows("FROM anchors") == []
    assert lake.rows("SELECT pattern FROM anchor_candidates WHERE contains(pattern, 'softmax')") == []


@pytest.mark.parametrize(("head_after", "next_after"), [(200.0, 1.0), (200.0, 50.0), (1.0, 200.0)])
@in_one_lake
def test_the_head_and_its_sampling_are_of_the_pass_that_they_end_wherever_the_device_waits(
    tmp_path, head_after, next_after
):
    model = Model().forward(2, 128, 128, head_after=head_after, next_after=next_after)
    for step in (1, 2):
        model.forward(2, 1, 128 + step, head_after=head_after, next_after=next_after)
    lake = yield model.write(tmp_path)
    # A gather before the layers; behind them norm, head and arg-max: 10 + 100 + 10 us.
    assert lake.rows(
        "SELECT pass_id, part, kernel_count, sum_us FROM pass_parts WHERE part <> 'gap' ORDER BY pass_id, start_ns"
    ) == [row for number in range(3) for row in ((number, "prologue", 1, 10.0), (number, "epilogue", 3, 120.0))]


@in_one_lake
def test_what_is_gathered_after_the_sampling_is_of_the_next_pass_though_the_device_waits_behind_it(tmp_path):
    model = Model()
    for step in range(3):
        model.forward(2, 1, 128 + step, mask_after=300.0)
    lake = yield model.write(tmp_path)
    assert lake.rows(
        "SELECT pass_id, part, kernel_count FROM pass_parts WHERE part <> 'gap' ORDER BY pass_id, start_ns"
    ) == [row for number in range(3) for row in ((number, "prologue", 2), (number, "epilogue", 3))]


@pytest.mark.parametrize("given", [{}, {"num_layers": 12}], ids=["config", "user"])
@in_one_lake
def test_a_rank_of_a_pipeline_has_some_of_its_config_s_layers_by_what_happens_once_per_pass(tmp_path, given):
    """Of six layers three run here, as tokens that are gathered and drawn show; another number of the user's stands."""
    model = Model(layers=3)
    for step in range(4):
        # Equal events would be one trace.
        model.forward(2, 1, 128 + step + len(given))
    config = json.dumps({"num_hidden_layers": 6, "layer_types": ["sliding_attention", "full_attention"] * 3})
    lake = yield Files(model.write(tmp_path), config=config, **given)
    rows = lake.rows("SELECT num_layers, layer_count, complete FROM passes ORDER BY pass_id")
    if given:
        assert rows == [(12, 12, True)]
    else:
        assert rows == [(3, 3, True)] * 4
        # Which of the model's layers these are, no one says.
        assert lake.rows("SELECT DISTINCT layer_type FROM layers") == [(None,)]
