"""Rollouts inside a training process: passes under torch.no_grad are served, those that autograd records are trained.

A round generates with one prefill of 16 tokens and two decodes, then trains on all 18 tokens. Only operators outside of
torch.no_grad have numbers of autograd's nodes. Every kernel takes 5 us.
"""

import pytest

from ...lakes import in_one_lake
from ...launching import Trace
from .test_training import LAYERS, Step

ATTENTION = "aten::_scaled_dot_product_flash_attention"


class Round(Step):
    """Writes a round: layers of a norm, an attention and a product, first served, then trained."""

    def operator(self, name, kernel, dims=None, **numbers):
        start = self.now
        self.now += 1
        self.launch(kernel, 1)
        shapes = {} if dims is None else {"Input Dims": dims}
        self.event("cpu_op", name, start, 1, **shapes, **numbers)

    def forward(self, name, kernel, sequence):
        dims = [[1, 2, 18, 64]] * 3 if kernel == "flash_fwd_kernel" else None
        numbers = {"Sequence number": self.nodes + sequence, "Fwd thread id": 0}
        if dims:
            self.operator("aten::rms_norm", "rms_norm_kernel")
        self.operator(ATTENTION if dims else name, kernel, dims, **numbers)

    def serve(self, queries, keys):
        model = self.now
        for layer in range(LAYERS):
            start = self.now
            self.now += 1
            self.operator("aten::rms_norm", "rms_norm_kernel")
            self.operator(ATTENTION, "flash_fwd_kernel", [[1, 2, queries, 64], [1, 2, keys, 64], [1, 2, keys, 64]])
            self.operator("aten::mm", "nvjet_ffn")
            if self.modules:
                self.event("python_function", f"nn.Module: ToyDecoderLayer_{layer}", start, 1)
            self.now += 1
        self.operator("aten::argmax", "argmax_kernel")
        if self.modules:
            self.event("python_function", "nn.Module: ToyModel_0", model, 1)

    def step(self):
        for queries, keys in [(16, 16), (1, 17), (1, 18)]:
            self.serve(queries, keys)
            self.now += 50
        super().step()


@pytest.mark.parametrize("modules", [True, False])
@in_one_lake
def test_passes_under_no_grad_are_served_and_passes_that_autograd_records_are_trained(tmp_path, modules):
    lake = yield Round(modules=modules, marked=False, steps=2).write(tmp_path / "round.json")
    found = lake.rows(
        "SELECT p.direction, p.stage, w.phase, p.tokens FROM passes AS p "
        "LEFT JOIN pass_workloads AS w USING (trace_id, device, pass_id) ORDER BY pass_id"
    )
    served = [(None, "prefill", "prefill", 16), (None, "decode", "decode", 1), (None, "decode", "decode", 1)]
    # What autograd records is training, whether or not modules show its direction.
    trained = [("forward", None, "training", 18), ("backward", None, None, None)]
    assert found == 2 * (served + (trained if modules else [(None, None, "training", 18)]))
    # Two rounds of the layers' three kernels forward and three backward, the loss, and the optimizer. Of the rollouts
    # 3 * 3 * 3 kernels of layers and three that choose tokens are no part of the training. Only modules show that the
    # norms, whose nodes no backward function has, run forward.
    norms = 0 if modules else 2 * LAYERS
    phases = lake.rows("SELECT phase, kernel_count FROM training_phases ORDER BY 1")
    assert phases == [("backward", 20), ("forward", 20 - norms), ("optimizer", 2), ("other", 60 + norms)]


@pytest.mark.parametrize("modules", [True, False])
@in_one_lake
def test_what_a_trace_mostly_does_is_training_whether_or_not_its_backward_passes_are_found(tmp_path, modules):
    # Layers of a round: two decodes of 45 us, and three trained passes of 45 us forward alone.
    lake = yield Round(modules=modules, marked=False, batches=3).write(tmp_path / "round.json")
    assert lake.rows("SELECT phase FROM headlines") == [("training",)]


@in_one_lake
def test_passes_of_a_step_that_one_graph_holds_are_training_for_the_backward_pass_among_them(tmp_path):
    # No operator is recorded, so only kernels show what runs backward: two steps of three layers, of 5 us each.
    forward = ["rms_norm_kernel", "flash_fwd_kernel", "nvjet_ffn"] * LAYERS
    backward = ["nvjet_dx", "nvjet_dw", "flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel"] * LAYERS
    trace = Trace()
    for step in range(2):
        names = ["indexSelectLargeIndex", *forward, "nll_loss_forward_kernel", *backward]
        for nth, name in enumerate([*names, "adam_kernel"]):
            trace.run(500 * step + 10 * nth, 5, name=name)
    lake = yield trace.write(tmp_path / "graphs.json")
    assert lake.rows("SELECT direction, stage, layer_count FROM passes") == [(None, None, LAYERS)] * 2
    assert lake.rows("SELECT phase FROM headlines") == [("training",)]


@in_one_lake
def test_annotations_of_a_pass_tell_the_phase_of_what_nothing_else_tells(tmp_path):
    # An operator of 10 us is differentiated, at 0; its backward function runs on thread 2. Every kernel takes 5 us.
    number, late = ({"Sequence number": number, "Fwd thread id": 0} for number in (0, 1))
    trace = Trace().add("cpu_op", "aten::mm", 1, 9, 1, 1, **number).run(1000, 5, 2, "nvjet_y")
    function = "autograd::engine::evaluate_function: MmBackward0"
    trace.add("cpu_op", function, 110, 20, 1, 2, **{**number, "Fwd thread id": 1}).run(1110, 5, 112, "nvjet_dw", tid=2)
    trace.mark("## forward ##", 0, 100).mark("## forward: tables ##", 20, 20).run(1020, 5, 25, "pooled_lookup")
    trace.add("python_function", "nn.Module: Teacher_0", 50, 20, 1, 1).run(1050, 5, 55, "of_the_teacher")
    trace.add("cpu_op", "aten::mm", 54, 9, 1, 1)
    # A module whose operators never have a number, and a count of its indices, with the number of a later node.
    trace.add("python_function", "nn.Module: Tables_0", 75, 20, 1, 1).run(1075, 5, 80, "lookup_of_a_module")
    trace.add("cpu_op", "fbgemm::lookup", 79, 4, 1, 1).add("cpu_op", "aten::mm", 85, 4, 1, 1, **late)
    trace.mark("## backward ##", 100, 100).run(1120, 5, 120, "scale_loss")
    trace.mark("## forward ##", 150, 20).run(1150, 5, 155, "pooled_lookup_again")
    # Nothing in this one is differentiated.
    trace.mark("## forward ##", 200, 100).run(1200, 5, 250, "of_an_evaluation")
    lake = yield trace.write(tmp_path / "annotated.json")
    found = lake.rows("SELECT phase, list(name ORDER BY start_ns) FROM _training_kernels JOIN kernels "
                      "USING (trace_id, kernel_id, start_ns) GROUP BY phase ORDER BY phase")  # fmt: skip
    assert found == [
        ("backward", ["nvjet_dw", "scale_loss", "pooled_lookup_again"]),
        ("forward", ["nvjet_y", "pooled_lookup", "lookup_of_a_module"]),
        ("other", ["of_the_teacher", "of_an_evaluation"]),
    ]


@pytest.mark.parametrize("trained", [1, 2])
@in_one_lake
def test_weights_that_an_annotation_gathers_under_no_grad_are_of_the_pass_that_follows_on_its_thread(tmp_path, trained):
    # As FSDP2 does: gathers and copies for a layer, then the layer, of which the second trains or is evaluated.
    gathers = ["ncclDevKernel_AllGather_RING_LL", "split_with_sizes_copy_out_contiguous_no_cast_kernel"]
    trace, function = Trace(), "autograd::engine::evaluate_function: MmBackward0"
    for nth in range(2):
        at = 100 * nth
        # The annotation of the whole model is followed by that of its layer, not by a product.
        trace.mark("FSDP::pre_forward", at, 8).run(1000 + at, 5, at + 2, gathers[0])
        trace.mark(f"FSDP::pre_forward (layers.{nth})", at + 10, 20).run(1010 + at, 5, at + 12, gathers[0])
        trace.run(1020 + at, 5, at + 15, gathers[1])
        trace.add("cpu_op", "aten::mm", at + 40, 10, 1, 1, **({"Sequence number": nth} if nth < trained else {}))
        trace.run(1030 + at, 5, at + 42, "nvjet_y")
    for nth in range(trained):
        trace.add("cpu_op", function, 500 + 50 * nth, 20, 1, 2, **{"Sequence number": nth, "Fwd thread id": 1})
        trace.run(1500 + 50 * nth, 5, 502 + 50 * nth, "nvjet_dw", tid=2)
    lake = yield trace.write(tmp_path / "gathered.json")
    phases = lake.rows("SELECT phase, kernel_count FROM training_phases ORDER BY 1")
    evaluated = [("other", 4)] if trained == 1 else []
    assert phases == [("backward", trained), ("forward", 4 * trained), *evaluated]


@in_one_lake
def test_the_forward_annotation_is_enough_where_no_operator_s_number_is_recorded(tmp_path):
    trace = Trace().mark("forward", 0, 10).run(100, 5, 5, "mm").run(200, 5, 15, "flash_bwd_kernel")
    # One that names both passes tells neither.
    trace.mark("forward_backward", 20, 10).run(300, 5, 25, "mm")
    lake = yield trace.write(tmp_path / "unnumbered.json")
    phases = lake.rows("SELECT phase, kernel_count FROM training_phases ORDER BY 1")
    assert phases == [("backward", 1), ("forward", 1), ("other", 1)]


@in_one_lake
def test_a_pipeline_s_wait_for_another_stage_is_in_no_phase(tmp_path):
    # As Megatron annotates it; the first activations come after 900 us. An all-reduce of the pass is in its phase.
    wait = "ncclDevKernel_SendRecv"
    trace = Trace().mark("recv_forward", 0, 10).run(0, 900, 5, wait, stream=20)
    trace.mark("forward_step", 10, 20).run(900, 50, 15, "nvjet_y").run(950, 7, 16, stream=20, name="ncclAllReduce")
    trace.mark("send_forward", 30, 10).run(1000, 40, 35, wait, stream=20)
    trace.mark("pp: recv-bwd", 40, 10).run(1100, 300, 45, wait, stream=20)
    trace.mark("backward_step", 50, 20).run(1400, 100, 55, "nvjet_dx")
    lake = yield trace.write(tmp_path / "stage.json")
    phases = lake.rows("SELECT phase, kernel_count, busy_us FROM training_phases ORDER BY 1")
    assert phases == [("backward", 1, 100), ("forward", 2, 57), ("other", 3, 900 + 40 + 300)]


@in_one_lake
def test_annotations_of_one_phase_that_overlap_by_rounding_all_count(tmp_path):
    # Each ends 1 ns behind the start of the next; inside the first, one ends 1 ns behind it.
    trace = Trace().mark("forward: a part", 5, 15.001)
    for nth in range(4):
        trace.mark("forward_step", 20 * nth, 20.001 if nth else 20).run(100 * nth, 30, 20 * nth + 2, "nvjet_y")
    trace.mark("backward_step", 80, 20).run(500, 60, 85, "nvjet_dx")
    lake = yield trace.write(tmp_path / "rounded.json")
    phases = lake.rows("SELECT phase, kernel_count, busy_us FROM training_phases ORDER BY 1")
    assert phases == [("backward", 1, 60), ("forward", 4, 120)]
