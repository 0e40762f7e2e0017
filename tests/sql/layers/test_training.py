"""Training: forward, backward and optimizer of a step are told apart, and layers in both directions where shown.

The made-up step: three layers, each of two differentiated operators, forward on one thread, backward on another in the
order that the autograd runs it, then the optimizer. Every kernel takes 5 us.
"""

import gzip
import json

import pytest

from tracelake.lake import Lake

from ...kernel_traces import Trace
from ...lakes import Files, in_one_lake
from ...support import data_file

LAYERS = 3
FUSED_SGD = (
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
    "FusedOptimizerTensorListMetadata<3>, at::native::(anonymous namespace)::FusedSgdMathFunctor<float, 3>, "
    "double, double>(int)"
)
DIRECTIONS = ["backward", "forward", "weight gradient"]
# The gradient, a bucket's reduction, and a cast of what was reduced on a stream where no function launches.
ADDS = [("CUDAFunctor_add", 7), ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 7), ("cast_kernel", 9)]


class Step:
    """Writes a training step: operators with the numbers of the nodes they make, and the functions that bear them.

    Where `recomputes`, the first function of a layer runs the layer's operators again, which take numbers of their own
    thread. `adds` are the names and streams of what is launched where a gradient is added to its parameter's. Where
    `closure`, the optimizer runs both passes.
    """

    def __init__(
        self,
        modules=True,
        marked=True,
        steps=1,
        noted=True,
        batches=1,
        optimizer="foreach_kernel",
        recomputes=False,
        adds=(),
        closure=False,
    ):
        self.events, self.now, self.launches, self.nodes = [], 0, 0, 0
        self.modules, self.marked, self.steps, self.noted = modules, marked, steps, noted
        self.batches, self.optimizer = batches, optimizer
        self.recomputes, self.adds, self.recomputed, self.closure = recomputes, adds, 0, closure

    def event(self, cat, name, start, tid, **args):
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": start, "dur": self.now - start,
             "args": args}
        )  # fmt: skip

    def launch(self, name, tid, stream=7):
        self.launches += 1
        ids = {"correlation": self.launches}
        self.events += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": tid, "ts": self.now + 1,
             "dur": 1, "args": ids},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": self.now + 1000, "dur": 5,
             "args": {"device": 0, "stream": stream, **ids}},
        ]  # fmt: skip
        self.now += 10

    def forward(self, name, kernel, sequence):
        start = self.now
        self.now += 1
        self.launch(kernel, 1)
        self.event("cpu_op", name, start, 1, **{"Sequence number": self.nodes + sequence, "Fwd thread id": 0})

    def recompute(self, name, kernel):
        start = self.now
        self.launch(kernel, 2)
        self.event("cpu_op", name, start, 2, **{"Sequence number": self.recomputed, "Fwd thread id": 0})
        self.recomputed += 1

    def accumulate(self):
        start = self.now
        for name, stream in self.adds:
            self.launch(name, 2, stream)
        self.event("cpu_op", "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", start, 2)

    def backward(self, name, kernels, sequence, first=False):
        start = self.now
        self.now += 1
        inner = self.now
        if first and self.recomputes:
            self.recompute("aten::scaled_dot_product", "flash_fwd_kernel")
            self.recompute("aten::mm", "nvjet_ffn")
        for kernel in kernels:
            self.launch(kernel, 2)
        numbers = {"Sequence number": self.nodes + sequence, "Fwd thread id": 1}
        self.event("cpu_op", name, inner, 2, **numbers)
        self.now += 1
        self.event("cpu_op", f"autograd::engine::evaluate_function: {name}", start, 2, **numbers)
        if self.adds:
            self.accumulate()

    def write(self, path):
        for _ in range(self.steps):
            self.step()
            self.now += 500
        path.write_text(json.dumps({"traceEvents": self.events}))
        return path

    def step(self):
        whole = self.now
        for _ in range(self.batches):
            self.batch()
            self.nodes += 2 * LAYERS + 1
        start = self.now
        self.now += 1
        self.launch(self.optimizer, 1)
        if self.noted:
            self.event("user_annotation", "Optimizer.step#AdamW.step", whole if self.closure else start, 1)
        if self.marked:
            self.event("user_annotation", "ProfilerStep#3", whole, 1)

    def batch(self):
        model = self.now
        for layer in range(LAYERS):
            start = self.now
            self.now += 1
            self.forward("aten::scaled_dot_product", "flash_fwd_kernel", 2 * layer)
            self.forward("aten::mm", "nvjet_ffn", 2 * layer + 1)
            if self.modules:
                self.event("python_function", f"nn.Module: ToyDecoderLayer_{layer}", start, 1)
            self.now += 1
        self.forward("aten::nll_loss", "nll_loss_kernel", 2 * LAYERS)
        if self.modules:
            self.event("python_function", "nn.Module: ToyModel_0", model, 1)
        self.backward("NllLossBackward0", ["nll_loss_backward"], 2 * LAYERS)
        for layer in reversed(range(LAYERS)):
            self.backward("MmBackward0", ["nvjet_dx", "nvjet_dw"], 2 * layer + 1, first=True)
            self.backward("ScaledDotProductBackward0", ["flash_bwd_kernel"], 2 * layer)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    with Lake(folder / "lake") as made:
        made.ingest(
            Step().write(folder / "shown.json"),
            Step(modules=False).write(folder / "hidden.json"),
            Step(marked=False, steps=4, noted=False, optimizer="my_step").write(folder / "unmarked.json"),
            Step(closure=True).write(folder / "closure.json"),
            Step(noted=False).write(folder / "foreach.json"),
            Step(noted=False, optimizer="triton_for_fused_0").write(folder / "compiled.json"),
            Step(noted=False, optimizer="kOptimizerStatic8bit2StateBlockwise<float, 3>").write(folder / "8bit.json"),
            Step(marked=False, steps=4).write(folder / "optimized.json"),
            Step(recomputes=True).write(folder / "recomputed.json"),
            Step(adds=ADDS).write(folder / "added.json"),
            Step(marked=False, steps=2, noted=False, batches=3, optimizer=FUSED_SGD).write(folder / "batched.json"),
        )
        yield made


def ask(lake, query, trace):
    return lake.rows(query, [lake.resolve(trace)])


def test_layers_run_in_both_directions_where_modules_and_numbers_show_them(lake):
    found = ask(
        lake,
        "SELECT pass_id, series, direction, num_layers, layer_count, complete, chosen FROM passes WHERE trace_id = $1 "
        "ORDER BY pass_id",
        "shown",
    )
    assert found == [
        (0, "ToyModel_0", "forward", 3, 3, True, True),
        (1, "ToyModel_0", "backward", 3, 3, True, True),
    ]
    assert lake.chosen_pass(lake.resolve("shown")) == 0


def test_a_backward_layer_bears_the_number_of_its_forward_and_runs_in_reverse(lake):
    found = ask(
        lake,
        "SELECT direction, layer_id, list(name ORDER BY position) FROM layer_kernels "
        "JOIN passes USING (trace_id, device, pass_id) WHERE trace_id = $1 GROUP BY ALL "
        "ORDER BY min(layer_kernels.start_ns)",
        "shown",
    )
    there = [("forward", layer, ["flash_fwd_kernel", "nvjet_ffn"]) for layer in range(LAYERS)]
    back = [("backward", layer, ["nvjet_dx", "nvjet_dw", "flash_bwd_kernel"]) for layer in reversed(range(LAYERS))]
    assert found == there + back
    gaps = ask(lake, "SELECT min(gap_after_us) >= 0 FROM layers WHERE trace_id = $1", "shown")
    assert gaps == [(True,)]


BACKWARD_LAYERS = (
    "SELECT layer_id, list(name ORDER BY position) FROM layer_kernels JOIN passes USING (trace_id, device, pass_id) "
    "WHERE trace_id = $1 AND direction = 'backward' GROUP BY ALL ORDER BY layer_id"
)


def test_what_a_backward_layer_recomputes_is_its_own_though_its_numbers_are_those_of_other_layers(lake):
    # Numbers 0 to 5 twice: of the main thread from the first layer on, of the backward thread from the last layer on.
    names = ["flash_fwd_kernel", "nvjet_ffn", "nvjet_dx", "nvjet_dw", "flash_bwd_kernel"]
    assert ask(lake, BACKWARD_LAYERS, "recomputed") == [(layer, names) for layer in range(LAYERS)]


def test_gradients_are_added_in_the_layer_that_computed_them_and_reduced_in_none(lake):
    # Those of the loss, which no layer computed, are in none.
    names = ["nvjet_dx", "nvjet_dw", "CUDAFunctor_add", "flash_bwd_kernel", "CUDAFunctor_add"]
    assert ask(lake, BACKWARD_LAYERS, "added") == [(layer, names) for layer in range(LAYERS)]


@pytest.mark.parametrize("trace", ["shown", "hidden", "closure", "foreach", "compiled", "8bit"])
def test_phases_of_the_step_are_told_apart(lake, trace):
    found = ask(lake, "SELECT phase, kernel_count, busy_us FROM training_phases WHERE trace_id = $1 ORDER BY 1", trace)
    # 2 kernels forward and 3 backward in each layer, one of the loss in each direction, one of the optimizer.
    assert found == [("backward", 10, 50.0), ("forward", 7, 35.0), ("optimizer", 1, 5.0)]


def test_without_modules_the_step_is_named_and_no_layer_is_claimed(lake):
    assert ask(lake, "SELECT 1 FROM passes WHERE trace_id = $1", "hidden") == []
    [(severity, message)] = ask(
        lake, "SELECT severity, message FROM health WHERE trace_id = $1 AND \"check\" = 'training_step'", "hidden"
    )
    assert severity == "info"
    assert message == (
        "training step seen: forward 35.0 us, backward 50.0 us, optimizer 5.0 us; no layers are found because "
        "attention runs forward and backward, and no modules or annotations show them"
    )
    found = ask(lake, "SELECT severity FROM health WHERE trace_id = $1 AND \"check\" = 'training_step'", "shown")
    assert found == [("ok",)]


def test_two_interleaved_microbatches_are_no_four_layers_of_both(real_lake):
    lake = real_lake("kineto/deepseek-v3_train_h800.json.gz")
    found = lake.sql(
        "SELECT direction, layer_id, kernel_count, gap_after_us >= 0 FROM layers ORDER BY direction, layer_id"
    ).fetchall()
    # Kernels of the components by plain Python: F 65 + 3 + 20 + 2, in layer 1 one less; B 3 + 29 + 2 + 100; W 12 + 5.
    kernels = {"backward": [134] * 4, "forward": [90, 89, 90, 90], "weight gradient": [17] * 4}
    assert found == [
        (direction, layer, kernels[direction][layer], True if layer < 3 else None)
        for direction in DIRECTIONS
        for layer in range(4)
    ]
    assert lake.sql("SELECT value FROM layer_checks WHERE \"check\" = 'overlapping_layers'").fetchall() == [(0,)]


def test_without_marks_a_training_step_is_a_forward_pass_and_what_follows_it(lake):
    passes = ask(lake, "SELECT direction FROM passes WHERE trace_id = $1 ORDER BY start_ns", "unmarked")
    assert passes == [("forward",), ("backward",)] * 4
    steps = ask(lake, "SELECT step_source, dur_us, step_id FROM steps WHERE trace_id = $1 ORDER BY step_id", "unmarked")
    assert [(source, step) for source, _, step in steps] == [("pass", n) for n in range(4)]
    # From the first layer of a step to the last one of its backward pass: 21 launches of 10 us, and what lies between.
    [(first, last)] = ask(
        lake, "SELECT min(start_ns), max(end_ns) FROM passes WHERE trace_id = $1 AND pass_id < 2", "unmarked"
    )
    assert {us for _, us, _ in steps} == {(last - first) / 1000}


def test_the_optimizer_s_own_mark_ends_a_training_step_that_nothing_else_marks(lake):
    # Two kernels forward and three backward of each layer, two of the loss, and the optimizer's.
    steps = ask(
        lake, "SELECT step_source, work_source, ops FROM steps WHERE trace_id = $1 ORDER BY step_id", "optimized"
    )
    assert steps == [("optimizer step", "launches", 5 * LAYERS + 3)] * 4


def test_kernels_of_the_optimizer_end_a_step_of_several_microbatches_that_nothing_marks(lake):
    # Of each micro-batch two kernels forward and three backward of each layer, and two of the loss.
    steps = ask(lake, "SELECT step_source, ops FROM steps WHERE trace_id = $1 ORDER BY step_id", "batched")
    assert steps == [("pass", 3 * (5 * LAYERS + 2) + 1)] * 2
    assert ask(lake, "SELECT count(*) FROM passes WHERE trace_id = $1", "batched") == [(2 * 2 * 3,)]


def test_functors_of_optimizers_are_known_by_their_names(lake):
    names = [
        "AdamCapturableMasterFunctor", "DistOptLAMBStage1Functor", "FusedAdagradMathFunctor", "FusedAdamMathFunctor",
        "FusedSgdMathFunctor", "LAMBStage2Functor", "LionFunctor", "NovoGradFunctor", "SGDFunctor",
    ]  # fmt: skip
    # Gradients are scaled, and their norms taken, by others.
    others = ["BinaryOpScalarFunctor", "L2NormFunctor", "LambdaFunctor", "ScaleFunctor"]
    found = lake.rows(
        "SELECT n.name FROM (SELECT unnest($1) AS name) AS n JOIN direction_rules AS r "
        "ON r.subject = 'kernel' AND regexp_matches('f<Metadata<3>, ' || n.name || '<float> >', r.pattern) "
        "GROUP BY n.name HAVING arg_min(r.direction, r.priority) = 'optimizer' ORDER BY 1",
        [names + others],
    )
    assert [name for (name,) in found] == names


def test_memory_efficient_attention_is_backward_by_a_letter_of_its_name(lake):
    # Without the parameters, as Nsight's short names have it: F is forward, B backward.
    names = [f"fmha_cutlass{letter}_bf16_aligned_64x64_k64_sm80" for letter in "FB"]
    assert lake.rows(
        "SELECT name, direction FROM (SELECT unnest($1) AS name) JOIN direction_rules AS r "
        "ON r.subject = 'kernel' AND regexp_matches(name, r.pattern)",
        [names],
    ) == [(names[1], "backward")]


@in_one_lake
def test_interleaved_microbatches_without_a_mark_are_one_step(tmp_path):
    with gzip.open(data_file("kineto/deepseek-v3_train_h800.json.gz")) as file:
        trace = json.load(file)
    [step] = [event for event in trace["traceEvents"] if str(event.get("name")).startswith("ProfilerStep")]
    trace["traceEvents"].remove(step)
    (tmp_path / "unmarked.json").write_text(json.dumps(trace))
    lake = yield tmp_path / "unmarked.json"
    rows = lake.rows("SELECT step_source, program, dur_us, ops FROM steps")
    # As the mark has it, which spans all 983 kernels.
    assert rows == [("pass", None, 129012.0, 983)]


FORWARD = ["rms_norm_kernel", "nvjet_qkv", "flash_fwd_kernel", "nvjet_qkv", "rms_norm_kernel", "nvjet_qkv"]
BACKWARD = ["nvjet_qkv", "rms_norm_backward_kernel", "nvjet_qkv", "flash_bwd_kernel", "nvjet_qkv", "nvjet_qkv"]


@pytest.mark.parametrize("optimizer", [["adam_kernel"], []], ids=["optimizer", "no optimizer"])
@in_one_lake
def test_layers_whose_activations_are_computed_again_run_backward_in_reverse(tmp_path, optimizer):
    # Four layers with six kernels of 3 us forward; twelve backward, of which the first six are the forward's. The head
    # and its backward are products like those of layers, in no layer.
    trace, now = Trace(), 0.0
    head = ["rms_norm_kernel", "nvjet_qkv", "cross_entropy_kernel", "nvjet_qkv", "nvjet_qkv"]
    for _ in range(3):
        for name in ["embedding_kernel", *FORWARD * 4, *head, *(FORWARD + BACKWARD) * 4, *optimizer]:
            trace.kernel(name, now - 5, now, 3.0)
            now += 4
        now += 80
    lake = yield trace.write(tmp_path / "trace.json")
    assert lake.rows("SELECT pass_id, direction, complete, chosen FROM passes ORDER BY pass_id") == [
        (0, "forward", True, False), (1, "backward", True, False),
        (2, "forward", True, True), (3, "backward", True, True),
        (4, "forward", True, False), (5, "backward", True, False),
    ]  # fmt: skip
    assert lake.rows("SELECT layer_id, kernel_count, sum_us FROM layers WHERE pass_id = 2 ORDER BY start_ns") == [
        (nth, 6, 18.0) for nth in range(4)
    ]
    assert lake.rows("SELECT layer_id, kernel_count, sum_us FROM layers WHERE pass_id = 3 ORDER BY start_ns") == [
        (nth, 12, 36.0) for nth in (3, 2, 1, 0)
    ]
    # 78 kernels and the optimizer's, one every 4 us.
    duration = (78 + len(optimizer)) * 4.0 - 1
    assert lake.rows("SELECT step_source, dur_us FROM steps") == [("pass", duration)] * 3


@in_one_lake
def test_layers_that_alone_are_computed_again_have_no_numbers_of_the_forward_pass(tmp_path):
    # Of four layers the first two: the numbers of what runs backward would be those of other layers.
    trace, now = Trace(), 0.0
    backward = [*BACKWARD * 2, *(FORWARD + BACKWARD) * 2]
    for _ in range(3):
        for name in ["embedding_kernel", *FORWARD * 4, "cross_entropy_kernel", *backward, "adam_kernel"]:
            trace.kernel(name, now - 5, now, 3.0)
            now += 4
        now += 80
    lake = yield trace.write(tmp_path / "trace.json")
    assert lake.rows("SELECT direction, layer_count, count(*) FROM passes GROUP BY ALL ORDER BY ALL") == [
        (None, 2, 3), (None, 4, 3),
    ]  # fmt: skip


@in_one_lake
def test_a_table_of_training_has_no_passes_but_names_the_step():
    lake = yield data_file("ascend/kernel_details_excerpt_pipeutilization.csv")
    assert lake.rows("SELECT 1 FROM passes") == []
    # Four FlashAttentionScoreGrad by the table itself: 762.215 + 763.215 + 757.095 + 755.915.
    found = lake.rows("SELECT busy_us FROM training_phases WHERE phase = 'backward'")
    assert found == [(3038.44,)]


@pytest.mark.parametrize("trace", ["kineto/hta_trace_diff_control_control.json.gz"])
def test_a_real_step_without_layers_says_what_it_saw(real_lake, trace):
    [(severity, message)] = (
        real_lake(trace)
        .sql("SELECT severity, message FROM training_checks")
        .fetchall()
    )  # fmt: skip
    assert severity == "info"
    assert message.startswith("training step seen: forward ")
    assert ", backward " in message
    assert ", optimizer " in message


@in_one_lake
def test_norms_of_a_two_layer_table_are_two_to_a_layer_and_a_final_one():
    # Five LayerNormV3 in forward: two layers of two, and one after them. The table's order: each layer one softmax.
    lake = yield Files(
        data_file("ascend/kernel_details_training_910b_arithmetic.csv"),
        anchor="LayerNorm",
        num_layers=2,
    )
    found = lake.rows(
        "SELECT layer_id, count(*) FILTER (category = 'attention'), count(*) FILTER (name LIKE 'LayerNorm%') "
        "FROM layer_kernels GROUP BY ALL ORDER BY 1"
    )
    assert found == [(0, 1, 2), (1, 1, 2)]
