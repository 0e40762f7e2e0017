"""Layers of programs that XLA compiled for a GPU: kernels have names of functions, instructions are in their arguments.

Times are microseconds. Kernels follow one another without a gap.
"""

import json

import pytest

from ...lakes import in_one_lake
from ...summary_cases import write_case

#: A layer: its weights are gathered, then a norm and four products, two of which are one function of cuBLAS. That is
#: also the first product of a step, and runs in the backward pass.
CUBLAS = "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_TNN"
LAYER = (("ncclDevKernel_AllGather_RING_LL", 20, "all-gather"), ("input_reduce_fusion", 4, "mul"),
         (CUBLAS, 40, "dot"), ("cudnn_generated_fort_native_sdpa_sm90_flash", 30, "sdpa"), (CUBLAS, 20, "dot"),
         ("gemm_fusion_dot", 60, "dot"))  # fmt: skip
THERE, BACK = "jit(step)/jvp(Model)", "jit(step)/transpose(jvp(Model))"


class Stream:
    """Writes a stream of a GPU, and the host's calls of programs that launch its kernels."""

    def __init__(self):
        self.now, self.kernels, self.runs, self.calls, self.launches = 0, [], [], [], []

    def add(self, name, duration, path, instruction):
        number = str(len(self.kernels))
        args = {"correlation_id": number, "tf_op": "XlaModule:", "name": path, "hlo_op": instruction}
        self.kernels.append(f"{name} {self.now}+{duration} {json.dumps(args)}")
        at = self.calls[-1] + 1 + len(self.kernels) / 100
        self.launches.append(f'cuLaunchKernelEx {at}+0.001 {{"correlation_id": "{number}"}}')
        self.now += duration

    def run(self, *parts):
        """Add a run of parts: kernels, and the path before their own. Instructions count from 0 in each run.

        Kernels in a list are of one instruction, but for collectives, which have their own.
        """
        start, count = self.now, 0
        self.calls.append(start - 20)
        for kernels, scope in parts:
            for kernel in kernels:
                for name, duration, path in kernel if isinstance(kernel, list) else [kernel]:
                    instruction = f"nccl.{len(self.kernels)}" if name.startswith("nccl") else f"op.{count}"
                    self.add(name, duration, f"{scope}/{path}", instruction)
                count += 1
        self.runs.append(f"jit_step(4711) {start}+{self.now - start}")
        self.now += 50

    def steps(self, forward, backward):
        """Add three training steps of 6 layers, with a head and an optimizer."""
        for _ in range(3):
            self.run(
                ([("loop_gather_fusion", 3, "take")], "jit(step)"),
                *[(forward, f"{THERE}/layer_{nth}") for nth in range(6)],
                ([(CUBLAS, 50, "dot")], f"{THERE}/head"),
                ([(CUBLAS, 100, "dot")], f"{BACK}/head"),
                *[(backward, f"{BACK}/layer_{nth}") for nth in reversed(range(6))],
                ([("loop_add_fusion", 90, "add")], "jit(step)/adam"),
            )

    def written(self, path, *, drawn):
        lines = {"Stream #14(Compute)": "; ".join(self.kernels)}
        if drawn:
            lines["XLA Modules - from #14"] = "; ".join(self.runs)
        calls = "; ".join(f"jit_step:XLA GPU module {call}+19" for call in self.calls)
        return write_case(
            path, [(1, "/device:GPU:0", lines), (701, "/host:CPU", {"python3": f"{calls}; {'; '.join(self.launches)}"})]
        )


@pytest.mark.parametrize("drawn", [False, True])
@in_one_lake
def test_a_step_on_a_gpu_has_the_same_passes_with_and_without_the_line_that_the_profiler_derives(tmp_path, drawn):
    stream = Stream()
    twice = [(name, 2 * duration, path) for name, duration, path in LAYER[1:]]
    stream.steps(LAYER, [LAYER[0], *twice])
    lake = yield stream.written(tmp_path / f"step_{drawn}.json", drawn=drawn)
    # Layers of 20 + 154 us forward and 20 + 308 us backward, each from the gathering of its weights on.
    assert lake.rows("SELECT direction, complete, layer_count, span_us FROM passes ORDER BY pass_id") == [
        ("forward", True, 6, 6 * 174.0), ("backward", True, 6, 6 * 328.0),
    ] * 3  # fmt: skip
    assert lake.rows("SELECT DISTINCT direction, kernel_count, wall_us FROM layers ORDER BY 3") == [
        ("forward", 6, 174.0), ("backward", 6, 328.0),
    ]  # fmt: skip
    parts = "SELECT DISTINCT pass_id % 2, part, kernel_count, sum_us FROM pass_parts WHERE part <> 'gap' ORDER BY 1, 2"
    assert lake.rows(parts) == [
        (0, "epilogue", 1, 50.0), (0, "prologue", 1, 3.0), (1, "epilogue", 1, 90.0), (1, "prologue", 1, 100.0),
    ]  # fmt: skip


@pytest.mark.parametrize("drawn", [False, True])
@in_one_lake
def test_the_turns_of_a_loop_on_a_gpu_run_the_same_instructions_and_are_layers(tmp_path, drawn):
    # Without attention, what recurs in the loop shows the layers: two norms a layer are one function.
    body = [("loop_add_fusion", 2, "add"), (CUBLAS, 40, "dot"), ("loop_add_fusion", 2, "add"), (CUBLAS, 60, "dot")]
    stream = Stream()
    for _ in range(3):
        start = stream.now
        stream.calls.append(start - 20)
        stream.add("loop_gather_fusion", 7, "jit(step)/take", "fusion")
        for _ in range(8):
            for nth, (name, duration, path) in enumerate(body):
                stream.add(name, duration, f"jit(step)/while/body/{path}", f"body.{nth}")
        stream.runs.append(f"jit_step(4711) {start}+{stream.now - start}")
        stream.now += 50
    lake = yield stream.written(tmp_path / f"loop_{drawn}.json", drawn=drawn)
    assert lake.rows("SELECT direction, complete, layer_count, span_us FROM passes") == [(None, True, 8, 8 * 104.0)] * 3
    assert lake.rows("SELECT DISTINCT kernel_count, sum_us FROM layers") == [(4, 104.0)]


@in_one_lake
def test_an_instruction_that_launches_kernels_for_each_expert_is_no_loop(tmp_path):
    # Two grouped products a layer, each quantises and multiplies for 4 experts; collectives run beside them.
    expert = [("quantize_kernel", 1, "experts"), ("nvjet_sm90_tst_192x192_64x4_2x1_v_bz_TNN", 9, "experts")]
    gather = ("ncclDevKernel_AllGather_RING_LL", 2, "all-gather")
    experts = [*expert, gather, *expert, gather, *expert, gather, *expert]
    layer = [
        ("input_reduce_fusion", 4, "mul"), (CUBLAS, 40, "dot"), ("cudnn_generated_fort_native_sdpa_sm90_flash", 30, ""),
        experts, ("loop_multiply_fusion", 5, "mul"), experts,
    ]  # fmt: skip
    stream = Stream()
    stream.steps(layer, layer)
    lake = yield stream.written(tmp_path / "experts.json", drawn=False)
    # 79 us, 8 times 10 us of experts, and 6 times 2 us.
    assert lake.rows("SELECT direction, complete, layer_count, span_us FROM passes ORDER BY pass_id") == [
        ("forward", True, 6, 6 * 171.0), ("backward", True, 6, 6 * 171.0),
    ] * 3  # fmt: skip


@pytest.mark.parametrize(("drawn", "update"), [(True, "optimizer"), (False, "other")])
@in_one_lake
def test_what_runs_before_the_passes_of_a_later_step_is_not_the_optimizers(tmp_path, drawn, update):
    twice = [LAYER[0], *((name, 2 * duration, path) for name, duration, path in LAYER[1:])]
    # Gradients are zeros before the forward pass, and a loop shows nothing. Kernels name the program, but without the
    # derived line nothing of the device tells where a run begins.
    stream = Stream()
    for _ in range(3):
        stream.run(
            ([("loop_broadcast_fusion", 1, "broadcast_in_dim")], BACK),
            ([("loop_gather_fusion", 3, "take")], "jit(step)"),
            *[(LAYER, f"{THERE}/layer_{nth}") for nth in range(6)],
            ([(CUBLAS, 100, "dot")], f"{BACK}/head"),
            *[(twice, f"{BACK}/layer_{nth}") for nth in reversed(range(6))],
            ([("loop_add_fusion", 90, "add")], "jit(step)/adam"),
            ([("loop_select_fusion", 5, "while/body/add")] * 2, "jit(step)"),
        )
    stream.kernels = [kernel.replace('"tf_op"', '"hlo_module": "jit_step", "tf_op"') for kernel in stream.kernels]
    lake = yield stream.written(tmp_path / f"phases_{drawn}.json", drawn=drawn)
    assert lake.rows(
        "SELECT DISTINCT name, phase FROM kernels JOIN _training_kernels USING (trace_id, kernel_id) "
        "WHERE name IN ('loop_gather_fusion', 'loop_select_fusion', 'loop_add_fusion') ORDER BY name"
    ) == [("loop_add_fusion", update), ("loop_gather_fusion", "other"), ("loop_select_fusion", "other")]
