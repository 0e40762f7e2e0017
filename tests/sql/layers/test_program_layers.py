"""Layers of compiled programs: equal stretches in each run of a module of XLA, on made-up traces and on a TPU's.

Times are microseconds. Operations follow one another without a gap.
"""

import gzip
import json
import re
from collections import defaultdict
from decimal import Decimal

import pytest

from ...lakes import Files, in_one_lake
from ...summary_cases import write_case
from ...support import DATA

K1 = "jax/tpu_inference_k1.trace.json.gz"
PRODUCT = '{"hlo_category": "convolution fusion"}'
#: A layer: norm, product, attention, collective, product. The first norm has no residual and another name.
LAYER = (("reduce_fusion", 2, ""), ("fusion", 5, PRODUCT), ("RPA-bq_32-", 9, ""), ("all-reduce", 3, ""),
         ("fusion", 8, PRODUCT), ("copy-start", 1, '{"hlo_category": "copy-start"}'))  # fmt: skip

#: A layer with an attention that no rule knows, and one with an attention written out as products and a softmax. Other
#: names show nothing.
PLAIN = (("fusion", 2, ""), ("fusion", 30, PRODUCT), ("tpu_custom_call", 40, ""), ("fusion", 20, PRODUCT),
         ("fusion", 5, ""), ("fusion", 80, PRODUCT), ("fusion", 40, PRODUCT))  # fmt: skip
WRITTEN_OUT = (*PLAIN[:2], ("fusion", 20, PRODUCT), ("fusion", 9, ""), ("fusion", 25, PRODUCT), *PLAIN[3:])


class Program:
    """Writes the lines of a device: programs, and the operations in their runs."""

    def __init__(self):
        self.now, self.modules, self.operations, self.numbers = 0.0, [], [], defaultdict(int)

    def run(self, name, *parts, pause=50):
        """Add a run of operations, numbered from 0 in each run as a compiler numbers them."""
        start = self.now
        self.numbers.clear()
        for part in parts:
            for kernel, duration, args in part:
                number = self.numbers[kernel]
                self.numbers[kernel] += 1
                self.add(f"{kernel}.{number}" if number else kernel, duration, args)
        self.modules.append(f"{name}(4711) {start}+{self.now - start}")
        self.now += pause

    def add(self, name, duration, args):
        self.operations.append(f"{name} {self.now}+{duration} {args}".strip())
        self.now += duration

    def loop(self, name, body, times, args=""):
        """Return a part: a loop around so many turns, each with the very names of the body."""
        whole = sum(duration for _, duration, _ in body) * times
        self.operations.append(f"{name} {self.now}+{whole} {args}".strip())
        for _ in range(times):
            for kernel, duration, more in body:
                self.add(kernel, duration, more)

    def written(self, folder):
        lines = {"XLA Modules": "; ".join(self.modules), "XLA Ops": "; ".join(self.operations)}
        return write_case(
            folder / "made.trace.json", [(3, "/device:TPU:0", lines), (701, "/host:CPU", {"main": "f 0+1"})]
        )


def forward(layers, *, first=LAYER):
    first = (("square_fusion", 2, ""), *first[1:])
    return [
        (("gather_fusion", 7, ""), ("all-reduce", 4, "")), first, *[LAYER] * (layers - 1),
        (("reduce_fusion", 2, ""), ("tanh_fusion", 1, "")),
    ]  # fmt: skip


PASSES = "SELECT pass_id, pass_source, complete, num_layers, layer_count FROM passes ORDER BY pass_id"
PARTS = "SELECT pass_id, part, kernel_count, sum_us FROM pass_parts WHERE part <> 'gap' ORDER BY pass_id, start_ns"


@in_one_lake
def test_each_run_of_a_program_with_equal_stretches_is_a_pass(tmp_path):
    program = Program()
    for _ in range(3):
        program.run("jit_step", *forward(8))
        program.run("jit_sample", (("sort", 6, ""), ("fusion", 2, PRODUCT)))
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == [(number, "program run", True, 8, 8) for number in range(3)]
    # 2 + 5 + 9 + 3 + 8 us of kernels and 1 us of copying; the first norm counts though its name is another.
    found = lake.rows("SELECT DISTINCT kernel_count, memory_count, sum_us, wall_us FROM layers")
    assert found == [(5, 1, 28.0, 27.0)]
    assert lake.rows(PARTS) == [
        row for number in range(3) for row in [(number, "prologue", 2, 11.0), (number, "epilogue", 2, 3.0)]
    ]
    # Layers and parts are the run: 11 + 8 * 28 + 3 us.
    assert lake.rows("SELECT DISTINCT dur_us FROM programs WHERE program = 'jit_step'") == [(238.0,)]
    assert lake.rows("SELECT list(DISTINCT layer_kind) FROM layer_types") == [(["A"],)]


@in_one_lake
def test_attention_of_a_layer_in_a_kernel_for_each_kind_of_request_is_one_layer(tmp_path):
    # Decodes, prefills, and what is both: newer ragged paged attention runs all three in each layer.
    cases = tuple((f"RPA{case}-p_64-bq_32_32-", 3, "") for case in "dpm")
    layer = (*LAYER[:2], *cases, *LAYER[3:])
    program = Program()
    for _ in range(3):
        program.run("jit_step", (("gather_fusion", 7, ""), ("all-reduce", 4, "")), *[layer] * 8)
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == [(number, "program run", True, 8, 8) for number in range(3)]
    assert lake.rows("SELECT DISTINCT sum_us FROM layer_categories WHERE category = 'attention'") == [(9.0,)]


@in_one_lake
def test_two_programs_of_one_model_have_passes_each(tmp_path):
    program = Program()
    for name in ("jit_prefill", "jit_decode", "jit_decode"):
        program.run(name, *forward(6))
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == [(number, "program run", True, 6, 6) for number in range(3)]


@in_one_lake
def test_programs_of_other_lengths_keep_their_own_number_of_layers(tmp_path):
    program = Program()
    program.run("jit_draft", *forward(4))
    program.run("jit_target", *forward(9))
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == [(0, "program run", True, 4, 4), (1, "program run", True, 9, 9)]


@in_one_lake
def test_the_turns_of_a_loop_are_layers_and_the_loop_itself_is_no_operation_of_them(tmp_path):
    program = Program()
    body = [kernel for kernel in LAYER if kernel[0] != "copy-start"]
    program.add("gather_fusion", 7, "")
    program.loop("while.3", body, 12)
    program.add("tanh_fusion", 1, "")
    program.modules.append(f"jit_scan(4711) 0+{program.now}")
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == [(0, "program run", True, 12, 12)]
    assert lake.rows("SELECT DISTINCT kernel_count, sum_us, wall_us FROM layers") == [(5, 27.0, 27.0)]
    assert lake.rows(PARTS) == [(0, "prologue", 1, 7.0), (0, "epilogue", 1, 1.0)]
    # 12 layers of 27, 7 and 1: the loop of 324 is no kernel of the pass, of the device or of an operator.
    window = "SELECT DISTINCT counted_us, row_count FROM pass_windows WHERE window_kind IN ('extended', 'whole')"
    assert lake.rows(window) == [(332.0, 62)]
    assert lake.rows("SELECT sum_us, time_us FROM pass_mfu WHERE time_basis <> 'wall'") == [(332.0, 332.0)] * 2
    assert lake.rows("SELECT sum(kernel_count), sum(busy_us) FROM pass_coverage") == [(62, 332.0)]
    assert lake.rows("SELECT sum(kernel_count), sum(sum_us) FROM op_roofline") == [(62, 332.0)]
    facts = "SELECT count(*) FILTER (starts_with(name, 'while')), count(*) > 60 FROM fact_kernel"
    named = "JOIN dim_kernel_name USING (kernel_name_key) JOIN dim_trace USING (trace_key)"
    assert lake.rows(f"{facts} {named} WHERE dim_trace.trace_id = '{lake.id}'") == [(0, True)]
    spans = "SELECT count(*), sum(dur_us) FROM timeline_spans WHERE lane IN ('compute', 'communication')"
    assert lake.rows(spans) == [(60, 324.0)]  # the layers, as drawn


@in_one_lake
def test_a_loop_around_anchors_that_the_user_names_is_of_no_layer(tmp_path):
    program = Program()
    body = [kernel for kernel in LAYER if kernel[0] != "copy-start"]
    for _ in range(3):
        start = program.now
        program.add("gather_fusion", 7, "")
        program.loop("while.3", body, 8)
        program.modules.append(f"jit_scan(4711) {start}+{program.now - start}")
        program.now += 50
    # The last layer of a run ends after its anchor, and the next run's loop follows.
    lake = yield Files(program.written(tmp_path), anchor="RPA", anchor_role="begin", num_layers=8)
    assert lake.rows("SELECT count(*) FILTER (starts_with(name, 'while')), count(*) > 100 FROM layer_kernels") == [
        (0, True)
    ]
    overlaps = "SELECT end_ns > lead(start_ns) OVER (ORDER BY pass_id) FROM passes ORDER BY pass_id"
    assert lake.rows(overlaps) == [(False,), (False,), (None,)]


@in_one_lake
def test_a_step_of_training_is_a_forward_pass_and_a_backward_one(tmp_path):
    # Loops of six layers. What runs backward computes the attention again; its gradient is two kernels.
    there = '{"hlo_category": "convolution fusion", "tf_op": "jit(step)/jvp(Model)/dot_general:"}'
    back = '{"hlo_category": "convolution fusion", "tf_op": "jit(step)/transpose(jvp(Model))/dot_general:"}'
    forward_layer = [("add_fusion.1", 2, ""), ("fusion.2", 5, there), ("splash_mha_fwd.3", 9, ""),
                     ("fusion.4", 8, there), ("all-reduce.5", 3, "")]  # fmt: skip
    backward_layer = [("fusion.11", 16, back), ("splash_mha_fwd.12", 9, ""), ("splash_mha_dq.13", 11, ""),
                      ("splash_mha_dkv.14", 12, ""), ("fusion.15", 10, back)]  # fmt: skip
    program = Program()
    for _ in range(2):
        start = program.now
        program.add("gather_fusion.20", 7, "")
        program.loop("while.21", forward_layer, 6)
        for head in (("fusion.22", 6, there), ("reduce_fusion.23", 4, ""), ("fusion.24", 12, back)):
            program.add(*head)
        program.loop("while.25", backward_layer, 6)
        program.add("adam_fusion.26", 20, "")
        program.modules.append(f"jit_step(4711) {start}+{program.now - start}")
        program.now += 50
    lake = yield program.written(tmp_path)
    # Forward layers of 27, backward ones of 58, each step.
    assert lake.rows("SELECT pass_id, series, direction, complete, num_layers, span_us FROM passes ORDER BY 1") == [
        (2 * step + nth, "jit_step", direction, True, 6, span)
        for step in range(2)
        for nth, (direction, span) in enumerate([("forward", 162.0), ("backward", 348.0)])
    ]
    # The metric of passes is of those forward, not the 255 between the two.
    assert lake.rows("SELECT value FROM trace_metrics WHERE metric = 'pass_ms'") == [(0.162,)]
    assert lake.rows("SELECT DISTINCT direction, kernel_count, sum_us FROM layers ORDER BY 3") == [
        ("forward", 5, 27.0), ("backward", 5, 58.0),
    ]  # fmt: skip
    # The last layer runs backward first.
    order = "SELECT list(layer_id ORDER BY start_ns) FROM layers WHERE pass_id < 2 GROUP BY pass_id ORDER BY pass_id"
    assert lake.rows(order) == [([0, 1, 2, 3, 4, 5],), ([5, 4, 3, 2, 1, 0],)]
    assert lake.rows(f"SELECT * FROM ({PARTS}) WHERE pass_id < 2") == [
        (0, "prologue", 1, 7.0), (0, "epilogue", 2, 10.0), (1, "prologue", 1, 12.0), (1, "epilogue", 1, 20.0),
    ]  # fmt: skip


@pytest.mark.parametrize("attention", ["splash_mha_fwd.3", "tpu_custom_call.3"])
@in_one_lake
def test_a_layer_whose_loop_opens_with_the_gathering_of_its_weights_begins_with_that(tmp_path, attention):
    body = [("all-gather.1", 4, ""), ("add_fusion.1", 2, ""), ("fusion.2", 5, PRODUCT), (attention, 9, ""),
            ("fusion.4", 8, PRODUCT)]  # fmt: skip
    program = Program()
    program.add("gather_fusion.20", 7, "")
    program.add("all-reduce.21", 3, "")  # sums the embedding
    program.loop("while.22", body, 6)
    program.add("fusion.23", 6, PRODUCT)
    program.modules.append(f"jit_step(4711) 0+{program.now}")
    lake = yield program.written(tmp_path)
    # Each turn is a layer of 4 + 2 + 5 + 9 + 8 us.
    assert lake.rows("SELECT kernel_count, sum_us, wall_us FROM layers") == [(5, 28.0, 28.0)] * 6
    assert lake.rows(PARTS) == [(0, "prologue", 2, 10.0), (0, "epilogue", 1, 6.0)]


@pytest.mark.parametrize(("micro_batches", "loss_parts"), [(2, 1), (4, 1), (1, 3), (3, 3)])
@in_one_lake
def test_each_turn_of_a_loop_of_micro_batches_is_a_forward_pass_and_a_backward_one(tmp_path, micro_batches, loss_parts):
    # The loss may be a loop that runs its parts forward and backward: that is no loop of micro-batches.
    there = '{"hlo_category": "convolution fusion", "tf_op": "jit(step)/while/body/jvp(Model)/dot_general:"}'
    back = '{"hlo_category": "convolution fusion", "tf_op": "jit(step)/while/body/transpose(jvp(Model))/dot_general:"}'
    forward_layer = [("all-gather.1", 4, ""), ("add_fusion.2", 2, ""), ("fusion.3", 5, there),
                     ("splash_mha_fwd.4", 9, ""), ("fusion.5", 8, there)]  # fmt: skip
    backward_layer = [("all-gather.11", 4, ""), ("fusion.12", 16, back), ("splash_mha_dkv.13", 12, ""),
                      ("fusion.14", 10, back), ("reduce-scatter.15", 6, "")]  # fmt: skip
    program = Program()
    for _ in range(2):
        start = program.now
        program.add("convert_fusion.20", 3, "")
        for _ in range(micro_batches):
            program.add("gather_fusion.21", 7, "")
            program.loop("while.22", forward_layer, 6)
            program.loop("while.23", [("fusion.24", 6, there), ("fusion.25", 12, back)], loss_parts)
            program.loop("while.26", backward_layer, 6)
            program.add("add_fusion.27", 5, "")
        program.add("adam_fusion.28", 20, "")
        program.modules.append(f"jit_step(4711) {start}+{program.now - start}")
        program.now += 50
    lake = yield program.written(tmp_path)
    # Forward layers of 28 us, backward ones of 48.
    assert lake.rows("SELECT direction, complete, layer_count, span_us FROM passes ORDER BY pass_id") == [
        ("forward", True, 6, 168.0), ("backward", True, 6, 288.0),
    ] * 2 * micro_batches  # fmt: skip
    assert lake.rows("SELECT DISTINCT direction, kernel_count, sum_us FROM layers ORDER BY 3") == [
        ("forward", 5, 28.0), ("backward", 5, 48.0),
    ]  # fmt: skip


@in_one_lake
def test_without_attention_what_repeats_tells_the_layers(tmp_path):
    program = Program()
    mixer = tuple(("scan_fusion" if kernel[0].startswith("RPA") else kernel[0], *kernel[1:]) for kernel in LAYER)
    program.run("jit_step", (("gather_fusion", 7, ""),), *[mixer] * 10, (("tanh_fusion", 1, ""),))
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == [(0, "program run", True, 10, 10)]
    assert lake.rows("SELECT DISTINCT kernel_count, sum_us FROM layers") == [(5, 28.0)]


@pytest.mark.parametrize(("layer", "kernels", "time"), [(PLAIN, 7, 217), (WRITTEN_OUT, 9, 231)])
@in_one_lake
def test_each_instruction_of_a_loop_runs_once_in_a_layer_whatever_its_name(tmp_path, layer, kernels, time):
    program = Program()
    program.add("fusion.100", 7, "")
    program.loop("while.3", [(f"{name}.{nth}", *rest) for nth, (name, *rest) in enumerate(layer)], 8)
    program.add("fusion.101", 50, PRODUCT)
    program.modules.append(f"jit_scan(4711) 0+{program.now}")
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == [(0, "program run", True, 8, 8)]
    assert lake.rows("SELECT DISTINCT kernel_count, sum_us FROM layers") == [(kernels, time)]


@pytest.mark.parametrize("attention", ["splash_mha", "tpu_custom_call", "fusion"])
@in_one_lake
def test_turns_with_several_layers_unrolled_in_them_are_no_layers(tmp_path, attention):
    # Three steps of a diffusion model of seven layers: 28 products a turn. Without a name, nothing shows the layers.
    body = [
        (f"{name.replace('tpu_custom_call', attention)}.{9 * layer + nth}", *rest)
        for layer in range(7)
        for nth, (name, *rest) in enumerate(PLAIN)
    ]
    program = Program()
    program.add("fusion.100", 7, "")
    program.loop("while.3", body, 3)
    program.modules.append(f"jit_sample(4711) 0+{program.now}")
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == ([] if attention == "fusion" else [(0, "program run", True, 21, 21)])


@in_one_lake
def test_an_operation_with_like_stretches_comes_before_one_that_recurs_in_each_layer(tmp_path):
    # Between 17 collectives lie two products and a norm, 82 us each time; 8 of 16 times there is a call, too.
    layer = [
        ("fusion", 2, ""), ("fusion", 40, PRODUCT), ("tpu_custom_call", 20, ""), ("fusion", 20, PRODUCT),
        ("all-reduce", 9, ""), ("fusion", 2, ""), ("fusion", 50, PRODUCT), ("fusion", 30, PRODUCT),
        ("all-reduce", 9, ""),
    ]  # fmt: skip
    program = Program()
    program.run("jit_step", [("fusion", 7, ""), ("all-reduce", 9, "")], *[layer] * 8, [("fusion", 50, PRODUCT)])
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == [(0, "program run", True, 8, 8)]
    assert lake.rows("SELECT DISTINCT kernel_count, sum_us FROM layers") == [(9, 182)]


@in_one_lake
def test_layers_of_unlike_length_without_attention_need_the_number_that_the_user_sets(tmp_path):
    # Every second layer has a longer mixer, 12 of 39 us; the others 2 of 29 us.
    layers = [
        [("norm_fusion", 2, ""), ("fusion", 10, PRODUCT), ("scan_fusion", 2 + 10 * (nth % 2), ""),
         ("add_fusion", 1, ""), ("fusion", 14, PRODUCT)]
        for nth in range(9)
    ]  # fmt: skip
    program = Program()
    program.run("jit_step", *layers)
    lake = yield Files(program.written(tmp_path), num_layers=9)
    assert lake.rows(PASSES) == [(0, "program run", True, 9, 9)]


@pytest.mark.parametrize(
    "parts",
    [
        [WRITTEN_OUT] * 8,  # a norm or softmax with two products recurs three times in each layer
        [[(f"f{n}_fusion", 5, PRODUCT) for n in range(40)]],  # nothing repeats
        [[("fusion", 5, PRODUCT), *[("sort", 1, "")] * (n * n % 7)] for n in range(12)],  # never the same between
        [[("loop_fusion", 5, ""), ("copy_fusion", 2, "")] for _ in range(9)],  # no product: no layer of a model
        [*[LAYER] * 5, [("fusion", 900, PRODUCT)]],  # a tenth of the run
    ],
)
@in_one_lake
def test_a_program_that_holds_no_equal_stretches_has_no_passes_and_doctor_says_so(tmp_path, parts):
    program = Program()
    program.run("jit_step", *parts)
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == []
    [(severity,)] = lake.rows("SELECT severity FROM layer_checks WHERE \"check\" = 'no_passes'")
    assert severity != "ok"


@in_one_lake
def test_a_run_that_the_capture_cuts_is_no_pass_but_counted(tmp_path):
    program = Program()
    for _ in range(3):
        program.run("jit_step", *forward(8))
    program.run("jit_step", *forward(8)[:4])
    lake = yield program.written(tmp_path)
    assert lake.rows(PASSES) == [(number, "program run", True, 8, 8) for number in range(3)]
    assert lake.rows("SELECT DISTINCT remainder FROM passes") == [(3,)]


def test_a_tpus_step_has_64_layers_on_each_device_and_they_are_the_run(real_lake):
    """The file itself, read in plain Python: 64 attentions in the one run of jit_step_fun of each device."""
    lake = real_lake(K1)
    with gzip.open(DATA / K1) as file:
        events = [event for event in json.load(file, parse_float=Decimal)["traceEvents"] if event.get("ph") == "X"]
    answer = "SELECT device, num_layers, layer_count, complete, pass_source FROM passes ORDER BY device"
    assert lake.rows(answer) == [(device, 64, 64, True, "program run") for device in (0, 1)]
    for device, pid in ((0, 3), (1, 4)):
        [run] = [event for event in events if (event["pid"], event["tid"]) == (pid, 2) and "step_fun" in event["name"]]
        operations = [
            event for event in events
            if (event["pid"], event["tid"]) == (pid, 3) and run["ts"] <= event["ts"] < run["ts"] + run["dur"]
        ]  # fmt: skip
        attentions = sorted(event["ts"] for event in operations if event["name"].startswith("RPA"))
        assert len(attentions) == 64
        # Every operation of the run, copies included, is in one layer or part.
        measures = "kernel_count + memory_count AS operations, sum_us"
        [(count, total)] = lake.rows(
            f"SELECT sum(operations), sum(sum_us) FROM (SELECT {measures} FROM layers WHERE device = {device} "
            f"UNION ALL SELECT {measures} FROM pass_parts WHERE device = {device})"
        )
        assert count == len(operations) == 3440
        assert total == pytest.approx(float(sum(event["dur"] for event in operations)), abs=3.44)
        # Each layer has one attention, and begins behind the collective that ends the layer before, with its norm.
        found = lake.rows(
            "SELECT layer_id, count(*) FILTER (category = 'attention'), count(*) FILTER (category = 'gemm'), "
            "count(*) FILTER (kind = 'communication'), arg_min(name, start_ns) FILTER (kind <> 'memory') "
            f"FROM layer_kernels WHERE device = {device} GROUP BY 1 ORDER BY 1"
        )
        assert [row[:4] for row in found] == [(layer, 1, 4, 2) for layer in range(64)]
        assert {re.sub(r"\.\d+$", "", row[4]) for row in found[1:]} == {"multiply_reduce_fusion"}
        assert found[0][4] == "fusion.386"  # aten::mean without a residual, by its tf_op
        epilogue = lake.rows(
            f"SELECT end_ns - start_ns, kernel_count FROM pass_parts WHERE device = {device} AND part = 'epilogue'"
        )
        assert [count for _, count in epilogue] == [3]  # the final norm
    assert lake.rows("SELECT layer_kind, layers FROM layer_types") == [("A", 64), ("A", 64)]
