"""Several models in one trace that shows no modules: they are told apart by the turns that they take.

Each kernel takes 10 us and follows the last after 1 us. Tokens enter by the lookup of an embedding, patches by a
convolution; a pass that draws a token ends with an arg-max.
"""

import pytest

from ...kernel_traces import GEMM, Trace
from ...lakes import in_one_lake

NORM = "vectorized_layer_norm_kernel<BFloat16, float, false>"
PASSES = "SELECT series, num_layers, layer_count, complete FROM passes ORDER BY pass_id"


class Models:
    """Writes passes of models: kernels one after another, each launched by an operator."""

    def __init__(self):
        self.trace, self.now, self.replays = Trace(), 0.0, 0

    def run(self, name, op="aten::add", around=None, idle=1.0):
        """Add a kernel."""
        self.now += idle
        if around:
            self.trace.op(around, self.now - 0.9, 0.8)
        number = self.trace.op(op, self.now - 0.8, 0.5)
        self.trace.kernel(name, self.now - 0.6, self.now, 10.0, number)
        self.now += 10.0

    def replay(self, *names):
        """Run a graph that one call launches."""
        self.replays += 1
        launched = self.now
        for name in names:
            self.now += 1.0
            self.trace.replayed(name, launched, self.now, 10.0, self.replays)
            self.now += 10.0

    def lookup(self):
        """Tokens enter, by a kernel whose name is that of any gather."""
        self.run("vectorized_gather_kernel<16, long>", "aten::gather", around="aten::embedding")

    def patches(self, *, convolved=True):
        """Patches enter, by a convolution or by a product of a size that no layer has."""
        if convolved:
            self.run("sm80_xmma_fprop_implicit_gemm_bf16bf16_bf16f32", "aten::cudnn_convolution")
        else:
            self.run("nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "aten::mm")

    def draw(self):
        """A token is drawn."""
        self.run(NORM, "aten::native_layer_norm")
        self.run(GEMM, "aten::mm")
        self.run("reduce_kernel<512, 1, ReduceOp<BFloat16, ArgMaxOps<float>>>", "aten::argmax")

    def attention(self, width=64, *, norm=True):
        """Norm, projections, attention of a width of heads and its output."""
        if norm:
            self.run(NORM, "aten::native_layer_norm")
        self.run(GEMM, "aten::mm")
        self.run(f"flash_fwd_kernel<Flash_fwd_kernel_traits<{width}>>", "aten::_flash_attention_forward")
        self.run(GEMM, "aten::mm")

    def feed_forward(self, experts=0):
        """Norm and two products; of experts each has its own, behind a router."""
        self.run(NORM, "aten::native_layer_norm")
        if experts:
            self.run(GEMM, "aten::mm")
            self.run("sbtopk::gatherTopK<float, unsigned int, 2, false>", "aten::topk")
            self.run("reduce_kernel<512, 1, ReduceOp<float, sum_functor>>", "aten::sum")
            self.run("index_elementwise_kernel<128, 4>", "aten::index")
        for _ in range(max(experts, 1)):
            self.run(GEMM, "aten::mm")
            self.run("vectorized_elementwise_kernel<8, GeluCUDAKernelImpl>", "aten::gelu")
            self.run(GEMM, "aten::mm")

    def layers(self, count, *, crosses=False):
        """Layers, with an attention to an encoder where `crosses`."""
        for _ in range(count):
            self.attention()
            if crosses:
                self.attention()
            self.feed_forward()

    def towers(self, times):
        """A tower of 6 layers for an image, then one of 4 for a text."""
        for _ in range(times):
            self.patches()
            self.layers(6)
            self.run(NORM, "aten::native_layer_norm")
            self.lookup()
            self.layers(4)
            self.draw()

    def write(self, folder):
        """Write the trace."""
        return self.trace.write(folder / "trace.json")


@pytest.mark.parametrize("prompts", [1, 3])
@in_one_lake
def test_an_encoder_and_its_decoder_are_two_models_and_both_attentions_are_of_one_layer(tmp_path, prompts):
    models = Models()
    for _ in range(prompts):
        models.lookup()
        models.layers(5)
        models.run(NORM, "aten::native_layer_norm")
        for _ in range(3):
            models.lookup()
            models.layers(4, crosses=True)
            models.draw()
    lake = yield models.write(tmp_path)
    assert lake.rows(PASSES) == [("model 1", 5, 5, True), *[("model 2", 4, 4, True)] * 3] * prompts
    halves = lake.rows(
        "SELECT DISTINCT p.series, half FROM layer_kernels "
        "JOIN passes AS p USING (trace_id, device, pass_id) ORDER BY ALL"
    )
    assert halves == [("model 1", "full"), ("model 2", "cross"), ("model 2", "self")]
    # Norm, product, attention, product; norm and three more.
    counts = "SELECT DISTINCT series, kernel_count FROM layers ORDER BY 1"
    assert lake.rows(counts) == [("model 1", 8), ("model 2", 12)]


@in_one_lake
def test_what_patches_enter_and_what_tokens_enter_are_two_models(tmp_path):
    """As CLIP has them."""
    models = Models()
    models.towers(3)
    lake = yield models.write(tmp_path)
    assert lake.rows(PASSES) == [("model 1", 6, 6, True), ("model 2", 4, 4, True)] * 3
    parts = "SELECT part, count(*) FROM pass_parts WHERE part <> 'gap' AND kernel_count > 0 GROUP BY 1 ORDER BY 1"
    assert [part for part, _ in lake.rows(parts)] == ["epilogue", "prologue"]


@pytest.mark.parametrize(("images", "convolved"), [(1, True), (2, True), (2, False)])
@pytest.mark.parametrize("tower", [3, 6])
@in_one_lake
def test_a_tower_that_few_images_enter_is_a_model_of_its_own(tmp_path, tower, images, convolved):
    """As a server of a vision and language model has it: an image, then tokens one after another."""
    models = Models()
    for _ in range(images):
        models.patches(convolved=convolved)
        models.layers(tower)
        models.run(NORM, "aten::native_layer_norm")
        for _ in range(3):
            models.lookup()
            models.layers(4)
            models.draw()
    lake = yield models.write(tmp_path)
    assert lake.rows(PASSES) == [("model 1", tower, tower, True), *[("model 2", 4, 4, True)] * 3] * images


@in_one_lake
def test_a_draft_of_few_layers_and_its_target_are_two_models(tmp_path):
    models = Models()
    for _ in range(3):
        for layers in (1, 1, 1, 6):
            models.lookup()
            models.layers(layers)
            models.draw()
    lake = yield models.write(tmp_path)
    assert lake.rows(PASSES) == [*[("model 1", 1, 1, True)] * 3, ("model 2", 6, 6, True)] * 3


@pytest.mark.parametrize(("width", "experts"), [(64, 0), (64, 4), (128, 0)])
@pytest.mark.parametrize("drafts", [1, 3])
@in_one_lake
def test_the_layer_of_a_draft_ends_before_the_head_and_begins_after_what_joins_its_inputs(
    tmp_path, drafts, width, experts
):
    """Be its target's like it, with experts, or with an attention that shows nothing of the draft's."""
    models = Models()
    for _ in range(4):
        models.lookup()
        for _ in range(6):
            models.attention(width)
            models.feed_forward(experts)
        models.draw()
        for _ in range(drafts):
            models.lookup()
            models.run(NORM, "aten::native_layer_norm")
            models.run(NORM, "aten::native_layer_norm")
            models.run("CatArrayBatchedCopy<int>", "aten::cat")
            models.run(GEMM, "aten::mm")
            models.layers(1)
            models.draw()
    lake = yield models.write(tmp_path)
    # Norm, product, attention, product; norm and three more: with the 1 us between them, 87.
    walls = "SELECT DISTINCT kernel_count, wall_us, is_whole FROM layers WHERE series = 'model 2'"
    assert lake.rows(walls) == [(8, 87.0, True)]
    assert lake.rows("SELECT count(*) FROM passes WHERE series = 'model 2'") == [(4 * drafts,)]


@in_one_lake
def test_the_layer_of_a_draft_with_more_norms_is_measured_by_its_target(tmp_path):
    """A norm between two products before the attention, as DeepSeek has it, and one that ends the layer, as Gemma."""
    models = Models()
    for _ in range(4):
        for layers in (6, 1):
            models.lookup()
            models.run(NORM, "aten::native_layer_norm")
            models.run(GEMM, "aten::mm")
            for _ in range(layers):
                models.run(NORM, "aten::native_layer_norm")
                models.run(GEMM, "aten::mm")
                models.attention()
                models.feed_forward()
                models.run(NORM, "aten::native_layer_norm")
            models.draw()
    lake = yield models.write(tmp_path)
    # 8 kernels as above and 3 more; 10 times 1 us in between.
    assert lake.rows("SELECT DISTINCT kernel_count, wall_us FROM layers WHERE series = 'model 2'") == [(11, 120.0)]


@in_one_lake
def test_the_layer_of_a_draft_without_a_norm_of_its_inputs_begins_with_its_projection(tmp_path):
    """As the first EAGLE has it."""
    models = Models()
    for _ in range(4):
        models.lookup()
        models.layers(6)
        models.draw()
        models.lookup()
        models.run("CatArrayBatchedCopy<int>", "aten::cat")
        models.run(GEMM, "aten::mm")
        models.attention(norm=False)
        models.feed_forward()
        models.draw()
    lake = yield models.write(tmp_path)
    assert lake.rows("SELECT DISTINCT kernel_count, wall_us FROM layers WHERE series = 'model 2'") == [(7, 76.0)]


GATHER, FIRST_NORM = "vectorized_gather_kernel<16, long>", "norm::RMSNormKernel"
ADDED_NORM, JOIN = "norm::FusedAddRMSNormKernel", "CatArrayBatchedCopy<int>"
SOFTMAX = "cunn_SoftMaxForward<4, float, float, float>"
BEST = {1: "reduce_kernel<512, 1, ReduceOp<float, MaxOps<float>>>", 4: "sbtopk::gatherTopK<float, unsigned int, 2>"}


def layer(*opening, attention, norm=FIRST_NORM):
    """Return a layer of 8 kernels, and those that open a draft's beside its norm."""
    first = (norm, *opening, GEMM, attention, "nvjet_out")
    return (*first, ADDED_NORM, "nvjet_up", "act_and_mul_kernel<silu>", "nvjet_down")


@pytest.mark.parametrize("drafts", [2, 3])
@pytest.mark.parametrize("candidates", [1, 4])
@pytest.mark.parametrize("inputs", ["joined by a product", "joined in the layer"])
@in_one_lake
def test_each_draft_of_a_chain_in_one_graph_is_a_pass_of_one_layer(tmp_path, inputs, candidates, drafts):
    """As SGLang runs EAGLE: its target verifies in a graph, then drafts follow one another in another graph."""
    models = Models()
    # The third EAGLE has a norm for each input in its layer, others join them ahead of it.
    joins, opening = ((JOIN, "nvjet_out"), ()) if inputs == "joined by a product" else ((), (FIRST_NORM, JOIN))
    own = layer(*opening, attention="BatchDecodeWithPagedKVCacheKernel<int>")
    draft = (GATHER, *joins, *own, ADDED_NORM, "nvjet_head", SOFTMAX, BEST[candidates])
    target = "BatchPrefillWithPagedKVCacheKernel<int>"
    verified = [name for nth in range(6) for name in layer(attention=target, norm=ADDED_NORM if nth else FIRST_NORM)]
    for _ in range(4):
        # What runs between two graphs weighs more than what runs between two drafts of one.
        models.replay("create_flashinfer_kv_indices_triton", "build_tree_efficient")
        models.replay(GATHER, *verified, ADDED_NORM, "nvjet_head")
        models.run("reduce_kernel<512, 1, ReduceOp<BFloat16, ArgMaxOps<float>>>", "aten::argmax")
        models.replay(*draft * drafts)
    lake = yield models.write(tmp_path)
    assert lake.rows(PASSES) == [("model 1", 6, 6, True), *[("model 2", 1, 1, True)] * drafts] * 4
    # 10 us a kernel, 1 us between two.
    walls = "SELECT series, kernel_count, wall_us, count(*) FROM layers GROUP BY ALL ORDER BY 1"
    length = len(own)
    assert lake.rows(walls) == [("model 1", 8, 87.0, 24), ("model 2", length, 11.0 * length - 1, 4 * drafts)]


@pytest.mark.parametrize("drafts", [1, 3])
@in_one_lake
def test_the_graph_of_a_draft_with_split_attention_is_a_pass_of_one_layer(tmp_path, drafts):
    """As vLLM runs DeepSeek's: attention and its merge are two kernels of one layer."""
    models = Models()
    own = (NORM, GEMM, NORM, NORM, GEMM, "flash_fwd_splitkv_mla_kernel", "flash_fwd_mla_combine_kernel", "nvjet_out")
    own = (*own, NORM, "nvjet_up", "act_and_mul_kernel<silu>", "nvjet_down")
    for _ in range(4):
        models.replay(GATHER, *own * 6, NORM)
        models.draw()
        for _ in range(drafts):
            models.replay(GATHER, NORM, NORM, JOIN, GEMM, *own, NORM)
            models.draw()
    lake = yield models.write(tmp_path)
    assert lake.rows(PASSES) == [("model 1", 6, 6, True), *[("model 2", 1, 1, True)] * drafts] * 4
    assert lake.rows("SELECT DISTINCT kernel_count, wall_us FROM layers") == [(12, 131.0)]


@in_one_lake
def test_the_last_layer_of_a_tower_ends_where_tokens_are_gathered_though_no_operator_shows_that(tmp_path):
    """As a capture of the device alone has it, where the device waits as long after every kernel."""
    models = Models()
    for _ in range(3):
        models.patches()
        models.layers(6)
        models.run(NORM, "aten::native_layer_norm")
        for _ in range(2):
            models.run("vectorized_gather_kernel<16, long>", "aten::gather")
            models.layers(4)
            models.draw()
    lake = yield models.write(tmp_path)
    layers = "SELECT series, layer_id, kernel_count, wall_us, count(*) FROM layers GROUP BY ALL ORDER BY ALL"
    assert lake.rows(layers) == [
        *[("model 1", layer, 8, 87.0, 3) for layer in range(6)],
        *[("model 2", layer, 8, 87.0, 6) for layer in range(4)],
    ]


@in_one_lake
def test_a_stretch_that_the_capture_cuts_is_of_no_model(tmp_path):
    """Though it has as many layers as the second: nothing shows where it began."""
    models = Models()
    models.layers(4)
    models.draw()
    models.towers(3)
    lake = yield models.write(tmp_path)
    assert lake.rows(PASSES) == [("model 1", 6, 6, True), ("model 2", 4, 4, True)] * 3


@in_one_lake
def test_layers_with_experts_among_those_without_are_of_one_pass(tmp_path):
    """As Llama 4 has them in every second layer: a router gathers and sums up, but draws no token."""
    models = Models()
    for _ in range(3):
        models.run("vectorized_gather_kernel<16, long>", "aten::gather")
        for layer in range(8):
            models.attention()
            models.feed_forward(experts=4 if layer % 2 else 0)
        models.run(GEMM, "aten::mm")
        models.run("reduce_kernel<512, 1, ReduceOp<BFloat16, ArgMaxOps<float>>>", "aten::argmax")
    lake = yield models.write(tmp_path)
    assert lake.rows(PASSES) == [("flash_fwd_kernel", 8, 8, True)] * 3


@in_one_lake
def test_passes_of_a_model_that_patches_enter_are_told_apart(tmp_path):
    """As a vision transformer has them: no token is drawn between them."""
    models = Models()
    for _ in range(4):
        models.patches()
        models.layers(6)
        models.run(NORM, "aten::native_layer_norm")
        models.run(GEMM, "aten::mm")
    lake = yield models.write(tmp_path)
    assert [row[1:] for row in lake.rows(PASSES)] == [(6, 6, True)] * 4


@in_one_lake
def test_attention_that_runs_backward_marks_no_layer(tmp_path):
    models = Models()
    for _ in range(3):
        models.lookup()
        models.layers(4)
        models.run(GEMM, "aten::mm")
        models.run("nll_loss_forward_reduce_cuda_kernel_2d", "aten::nll_loss_forward")
        for _ in range(4):
            models.run(GEMM, "aten::mm")
            models.run("cudnn::fusion::compute_dot_do_o_specialized<true, 128>", "aten::_cudnn_attention_backward")
            models.run("cudnn_generated_sdpa_sm90_flash_bprop_wgmma", "aten::_cudnn_attention_backward")
            models.run(GEMM, "aten::mm")
        models.run("embedding_backward_kernel", "aten::embedding_dense_backward")
    lake = yield models.write(tmp_path)
    assert [row[1:] for row in lake.rows(PASSES)] == [(4, 4, True)] * 3
    assert lake.rows("SELECT count(*) FROM anchors") == [(12,)]


@pytest.mark.parametrize("marked", ["by operators", "by steps"])
@in_one_lake
def test_what_runs_backward_and_the_optimizer_are_of_the_pass_before(tmp_path, marked):
    """Though the device waits longest within the backward."""
    models = Models()
    for step in range(3):
        began = models.now
        models.lookup()
        models.layers(4)
        models.run(GEMM, "aten::mm")
        models.run("nll_loss_forward_reduce_cuda_kernel_2d", "aten::nll_loss_forward")
        models.run(GEMM, "aten::mm")
        models.run(GEMM, "aten::mm", idle=500.0)
        if marked == "by operators":
            models.run("embedding_backward_kernel", "aten::embedding_dense_backward")
            models.run("multi_tensor_apply_kernel<FusedAdamMathFunctor>", "aten::_fused_adamw_")
        else:
            models.run("elementwise_kernel<128, 4, MulFunctor>", "aten::mul_")
            models.run("elementwise_kernel<128, 4, AddFunctor>", "aten::add_")
            models.trace.note(f"ProfilerStep#{step}", began, models.now - began)
    lake = yield models.write(tmp_path)
    rows = lake.rows("SELECT part, kernel_count FROM pass_parts WHERE part <> 'gap' ORDER BY pass_id, start_ns")
    assert rows == [("prologue", 1), ("epilogue", 6)] * 3
