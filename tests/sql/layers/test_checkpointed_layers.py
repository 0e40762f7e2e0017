"""Layers that a reentrant checkpoint runs: its operator begins before the layer's module, and goes back through it.

As `torch.utils.checkpoint(use_reentrant=True)` around each layer is written: CheckpointFunction runs the module without
numbers (no node is made), its backward runs the module again and then the functions of the nodes that this makes.
"""

import pytest

from ...lakes import in_one_lake
from .test_training import LAYERS, Step

ENGINE = "autograd::engine::evaluate_function: "


class Checkpointed(Step):
    """Writes a step of checkpointed layers, `chunk` of them by one operator."""

    def __init__(self, chunk=1):
        super().__init__()
        self.chunk, self.nested = chunk, 0

    def number(self, sequence, thread):
        return {"Sequence number": sequence, "Fwd thread id": thread}

    def module(self, layer, tid, numbered):
        start = self.now
        self.now += 1
        for name, kernel in (("aten::scaled_dot_product", "flash_fwd_kernel"), ("aten::mm", "nvjet_ffn")):
            begin = self.now
            self.launch(kernel, tid)
            self.event("cpu_op", name, begin, tid, **(self.number(self.nested, 0) if numbered else {}))
            self.nested += numbered
        self.event("python_function", f"nn.Module: ToyDecoderLayer_{layer}", start, tid)
        self.now += 1

    def function(self, name, kernels, sequence, thread, layers=(), again=()):
        start = self.now
        self.now += 1
        for kernel in again:
            begin = self.now
            self.launch(kernel, 2)
            self.event("cpu_op", "aten::some", begin, 2, **self.number(self.nested, 0))
            self.nested += 1
        first = self.nested
        for layer in layers:
            self.module(layer, 2, numbered=True)
        for made in reversed(range(first, first + 2 * len(layers), 2)):
            self.function("MmBackward0", ["nvjet_dx", "nvjet_dw"], made + 1, 2)
            self.function("ScaledDotProductBackward0", ["flash_bwd_kernel"], made, 2)
        for kernel in kernels:
            self.launch(kernel, 2)
        self.event("cpu_op", name, start + 0.5, 2, **self.number(sequence, thread))
        self.now += 1
        self.event("cpu_op", ENGINE + name, start, 2, **self.number(sequence, thread))

    def batch(self):
        model, groups = self.now, [range(n, min(n + self.chunk, LAYERS)) for n in range(0, LAYERS, self.chunk)]
        for nth, layers in enumerate(groups):
            start = self.now
            self.now += 1
            for layer in layers:
                self.module(layer, 1, numbered=False)
            self.event("cpu_op", "CheckpointFunction", start, 1, **self.number(nth, 0))
            self.now += 1
        self.forward("aten::nll_loss", "nll_loss_kernel", len(groups))
        self.event("python_function", "nn.Module: ToyModel_0", model, 1)
        self.function("NllLossBackward0", ["nll_loss_backward"], len(groups), 1)
        for nth, layers in reversed(list(enumerate(groups))):
            self.function("CheckpointFunctionBackward", [], nth, 1, layers)


RECOMPUTED = ["flash_fwd_kernel", "nvjet_ffn"]
GONE_BACK = ["nvjet_dx", "nvjet_dw", "flash_bwd_kernel"]


@pytest.mark.parametrize(
    ("chunk", "backward"),
    [
        (1, [("backward", layer, RECOMPUTED + GONE_BACK) for layer in range(LAYERS)]),
        # One operator runs layers 0 and 1: which of them a kernel goes back through, its number does not show.
        (2, [("backward", 2, RECOMPUTED + GONE_BACK)]),
    ],
)
@in_one_lake
def test_what_a_checkpoint_around_one_layer_computes_again_and_goes_back_through_is_that_layer_s(
    tmp_path, chunk, backward
):
    lake = yield Checkpointed(chunk).write(tmp_path / f"{chunk}.json")
    found = lake.rows(
        "SELECT direction, layer_id, list(name ORDER BY position) FROM layer_kernels "
        "JOIN passes USING (trace_id, device, pass_id) GROUP BY ALL ORDER BY ALL"
    )
    assert found == [*backward, *(("forward", layer, RECOMPUTED) for layer in range(LAYERS))]


class Unnamed(Checkpointed):
    """Writes steps whose modules, loss and gradients have no names that tell: autograd's functions alone show them."""

    def __init__(self, layer, again, gradients, layers=4, batches=1, first=(), last=()):
        super().__init__()
        self.first, self.last = first, last
        self.steps, self.optimizer, self.layers, self.batches = 3, "adam_kernel", layers, batches
        self.layer, self.again, self.gradients = layer, again, gradients

    def batch(self):
        for kernel in self.first:
            self.launch(kernel, 1)
        for nth in range(self.layers):
            start = self.now
            for kernel in self.layer:
                self.launch(kernel, 1)
            self.event("cpu_op", "CheckpointFunction", start, 1, **self.number(nth, 0))
        for kernel in ("rms_norm_kernel", "nvjet_head"):
            self.launch(kernel, 1)
        self.forward("MyLoss", "triton_red_fused_exp_sub_0", 4)
        self.function("MyLossBackward", ["triton_poi_fused_mul_1"], 4, 1)
        self.function("MmBackward0", ["nvjet_dx", "nvjet_dw"], 5, 1)
        for nth in reversed(range(self.layers)):
            before, after = self.gradients
            for kernel in before:
                self.function("MmBackward0", [kernel], 10, 1)
            self.function("CheckpointFunctionBackward", after, nth, 1, again=self.again)
        for kernel in self.last:
            self.function("MulBackward0", [], 10, 1, again=[kernel])


FULL = ["rms_norm_kernel", "nvjet_qkv", "flash_fwd_kernel", "nvjet_out", "rms_norm_kernel", "nvjet_ffn"]
LAYERS_SEEN = (
    "SELECT direction, pass_id, layer_id, list(name ORDER BY position) FROM layer_kernels "
    "JOIN passes USING (trace_id, device, pass_id) GROUP BY ALL ORDER BY min(layer_kernels.start_ns)"
)


PARTS = (
    "SELECT pass_id, part, list(name ORDER BY p.start_ns) FROM _part_kernels AS p "
    "JOIN kernels USING (trace_id, kernel_id) GROUP BY ALL ORDER BY min(p.start_ns)"
)


# Of two layers, what precedes the first forward layer is what precedes the second backward layer.
@pytest.mark.parametrize(("layers", "batches"), [(4, 1), (2, 4)])
@in_one_lake
def test_layers_computed_again_by_backward_functions_are_a_pass_of_their_own_though_no_name_says_so(
    tmp_path, layers, batches
):
    gradients = ["nvjet_dx", "fused_grad_kernel", "nvjet_dx"]
    lake = yield Unnamed(FULL, FULL, ([], gradients), layers, batches).write(tmp_path / f"{layers}.json")
    expected = []
    for batch in range(3 * batches):
        expected += [("forward", 2 * batch, layer, FULL) for layer in range(layers)]
        expected += [("backward", 2 * batch + 1, layer, FULL + gradients) for layer in reversed(range(layers))]
    assert lake.rows(LAYERS_SEEN) == expected
    # The backward pass begins with the first gradient, be it the loss's.
    assert lake.rows(PARTS)[:2] == [
        (0, "epilogue", ["rms_norm_kernel", "nvjet_head", "triton_red_fused_exp_sub_0"]),
        (1, "prologue", ["triton_poi_fused_mul_1", "nvjet_dx", "nvjet_dw"]),
    ]


@in_one_lake
def test_attention_that_alone_is_computed_again_is_no_layer(tmp_path):
    # It runs in the middle of the layer's gradients: where the layer begins among them, it does not show.
    gradients = (["nvjet_dx", "rms_norm_backward_kernel"], ["flash_bwd_kernel", "nvjet_dx", "rms_norm_backward_kernel"])
    lake = yield Unnamed(FULL, ["flash_fwd_kernel"], gradients).write(tmp_path / "core.json")
    assert lake.rows(LAYERS_SEEN) == [(None, step, layer, FULL) for step in range(3) for layer in range(4)]


@in_one_lake
def test_the_last_gradients_of_a_micro_batch_are_its_own_though_no_name_says_so(tmp_path):
    # As where the embedding is frozen: its gradient, whose name would tell, is not computed.
    gradients = (["nvjet_dx", "rms_norm_backward_kernel"], ["flash_bwd_kernel", "rms_norm_backward_kernel"])
    last = ["nvjet_dx", "scale_kernel", "nvjet_dx"]
    step = Unnamed(FULL, ["flash_fwd_kernel"], gradients, batches=2, first=["indexSelectLargeIndex"], last=last)
    lake = yield step.write(tmp_path / "last.json")
    parts = {(pass_, part): names for pass_, part, names in lake.rows(PARTS)}
    assert [parts[pass_, "epilogue"][-3:] for pass_ in (0, 2, 4)] == [last] * 3
    assert [parts[pass_, "prologue"] for pass_ in range(6)] == [["indexSelectLargeIndex"]] * 6


class Stage(Unnamed):
    """Writes the middle stage of a pipeline: neither tokens enter nor a loss, and nothing is computed again."""

    def batch(self):
        for nth in range(self.layers):
            start = self.now
            for kernel in self.layer:
                self.launch(kernel, 1)
            self.event("cpu_op", "MyLayer", start, 1, **self.number(nth, 0))
        for nth in reversed(range(self.layers)):
            self.function("MyLayerBackward", [], nth, 1, again=self.again)


@in_one_lake
def test_forward_layers_with_backward_kernels_between_them_are_of_two_passes(tmp_path):
    gradients = ["nvjet_dx", "nvjet_dw", "fused_grad_kernel"]
    lake = yield Stage(FULL, gradients, (), layers=2, batches=4).write(tmp_path / "stage.json")
    assert lake.rows(LAYERS_SEEN) == [(None, batch, layer, FULL) for batch in range(3 * 4) for layer in range(2)]
