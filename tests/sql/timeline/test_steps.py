"""Steps: where they come from, which of them count, and their classes. Figures: microseconds, worked by hand."""

import json
import math

import pytest

import tracelake
from tracelake.tests.kernel_traces import Trace
from tracelake.tests.lakes import in_one_lake, ingest_at_once
from tracelake.tests.summary_cases import CASE_A, CASE_B, CASE_G, CASES_D, steps_case, write_case

KERNEL = {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7}
STATS = "steps, mean_us, median_us, p90_us, min_us, max_us"


def xla(**lines):
    """Return a trace of one device with some lines."""
    return [(1, "/device:TPU:0", {name.replace("_", " "): text for name, text in lines.items()})]


def auxiliary():
    """Return 8 training steps of 200 with an auxiliary program of 5 after each, every launch a step of the line."""
    steps, modules, operations, at = [], [], [], 0
    for nth in range(8):
        for name, dur in (("train(1)", 200 + nth), ("log(2)", 5)):
            steps.append(f"{len(steps)} {at}+{dur}")
            modules.append(f"{name} {at}+{dur}")
            operations.append(f"fusion.1 {at}+{dur}")
            at += dur
    return xla(Steps="; ".join(steps), XLA_Modules="; ".join(modules), XLA_Ops="; ".join(operations))


def broken_off():
    """Return a published run on a TPU v5: steps of 120.882, 120.116, 120.131 and 120.116 ms, and 3.052 of a fifth."""
    steps, at = [], 0
    for dur in (120882, 120116, 120131, 120116, 3052):
        steps.append((at, dur))
        at += dur
    operations = [(start + 1000 * n, 900) for start, dur in steps for n in range(dur // 1000)]
    return xla(
        Steps="; ".join(f"{nth} {start}+{dur}" for nth, (start, dur) in enumerate(steps)),
        XLA_Ops="; ".join(f"fusion.1 {start}+{dur}" for start, dur in operations),
    )


def enqueued():
    """Return two steps of the host, each of which enqueues a run that the device does when both are over."""
    calls = [
        f'train {20 * run}+10 {{"step_num": "{run}"}}; '
        f'DoEnqueueProgram {20 * run + 5}+1 {{"run_id": "{run}", "device_ordinal": "0"}}'
        for run in (1, 2)
    ]
    device = xla(
        XLA_Modules='train(7) 100+50 {"run_id": "1"}; train(7) 160+45 {"run_id": "2"}',
        XLA_Ops="fusion.1 100+40; fusion.2 140+10; fusion.1 160+45",
    )
    return [*device, (2, "/host:CPU", {"python3": "; ".join(calls)})]


#: Durations without a pattern, behind five that warm up.
SCATTERED = {f"scattered{seed}": [100 + (nth * 37 % 11) ** 2 * seed for nth in range(30)] for seed in range(1, 5)}
CASES = {
    "A": CASE_A, "B": CASE_B, "G": CASE_G,
    **{name: steps_case(*durations, first=100 if name == "D7" else 0) for name, durations in CASES_D.items()},
    **{name: steps_case(*[100] * 5, *durations) for name, durations in SCATTERED.items()},
    "programs": xla(
        XLA_Modules="big(1) 0+100; small(2) 100+5; big(1) 110+100; small(2) 210+5; big(1) 220+100",
        XLA_Ops="a 0+100; b 100+5; a 110+100; b 210+5; a 220+100",
    ),
    "auxiliary": auxiliary(), "enqueued": enqueued(),
    "broken off": broken_off(),
    "begun": xla(
        Steps="4 0+50; 5 50+100; 6 150+100", XLA_Modules="train(1) 50+90; train(1) 150+90",
        XLA_Ops="fusion.1 10+30; fusion.1 50+90; fusion.1 150+90",
    ),
}  # fmt: skip
KINETO = {
    # Annotations; kernels by launch and start. The second step's kernel starts when its own mark is over.
    "engine": (
        [
            ("ProfilerStep#3", 0, 300),
            ("step[EXTEND bs=1 toks=5]", 10, 90), ("execute_5_context_1(a)_generation_0(b)", 20, 70),
            ("step[DECODE bs=1]", 110, 80),
        ],
        [(30, 40, 50), (50, 95, 100), (120, 200, 30)],
    ),
    "training": (
        [("train_step 7", 0, 50), ("forward", 0, 20), ("Optimizer.step#SGD.step", 30, 10), ("train_step 8", 50, 60)],
        [(1, 2, 40), (51, 52, 50)],
    ),
    # The optimizer alone is marked: of one within another the outer counts, one that launches nothing ends no step.
    "optimized": (
        [
            ("Optimizer.step#Chained.step", 30, 10), ("Optimizer.step#AdamW8bit.step", 31, 5),
            ("Optimizer.step#Muon.step", 41, 2), ("Optimizer.step#Chained.step", 70, 10),
        ],
        [(1, 2, 20), (20, 25, 40), (32, 70, 10), (51, 90, 20), (60, 115, 40), (72, 160, 10), (85, 180, 5)],
    ),
    # Names by their category: torch_npu, and PyTorch 1.8.
    "cpu_op": (
        [("ProfilerStep#5", 0, 50), ("aten::mm", 0, 10), ("ProfilerStep#6", 50, 60)],
        [(1, 2, 40), (51, 52, 50)]),
    # Each step copies its batch on stream 21 as soon as that is launched, and computes behind the step before.
    "prefetched": (
        [("ProfilerStep#0", 0, 10), ("ProfilerStep#1", 10, 10), ("ProfilerStep#2", 20, 10)],
        [(1, 2, 1, 21), (2, 5, 100), (11, 12, 1, 21), (12, 105, 100), (21, 22, 1, 21), (22, 205, 100)],
    ),
    "Operator": ([("ProfilerStep#5", 0, 50), ("ProfilerStep#6", 50, 60)], [(1, 2, 40), (51, 52, 50)]),
}  # fmt: skip
WARM_UP = {"A": 1, "D7": 1, "G": 1, "broken off": 0}


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steps")
    files = [write_case(folder / f"{name}.json", case) for name, case in CASES.items()]
    files += [
        kineto(folder / f"{name}.json", *events, name if name in ("cpu_op", "Operator") else "user_annotation")
        for name, events in KINETO.items()
    ]
    lake = tracelake.open(folder / "lake")
    warm_up = {name: {"warm_up_steps": steps} for name, steps in WARM_UP.items()}
    ingest_at_once(lake, {path: warm_up.get(path.stem, {}) for path in files})
    yield lake
    lake.close()


def kineto(path, annotations, kernels, category):
    """Write host annotations (name, start, dur) of a category and kernels (launch, start, dur) of one device.

    They run on stream 7, or on a fourth number's.
    """
    events = [
        {"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": start, "dur": dur}
        for name, start, dur in annotations
    ]
    for nth, (launch, start, dur, *stream) in enumerate(kernels, 1):
        args = {"correlation": nth, "device": 0, "stream": stream[0] if stream else 7}
        events.append(KERNEL | {"ts": start, "dur": dur, "args": args})
        events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1,
                       "ts": launch, "dur": 1, "args": {"correlation": nth}})  # fmt: skip
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def of_case(lake, relation, columns, case, order="ALL"):
    return lake.rows(
        f"SELECT {columns} FROM {relation} AS r JOIN traces USING (trace_id) WHERE trace = $1 ORDER BY {order}", [case]
    )


# What a trace has


def test_devices_keep_their_own_steps_and_share_one_time(cases):
    columns = "device, step_number, step_source, program, execution_id, dur_us, ops, span_us, period_us"
    assert of_case(cases, "steps", columns, "B", "device, step_number") == [
        (0, 5, "step line", "jit_train_step", 70, 100, 3, 90, 110),
        (0, 6, "step line", "jit_train_step", 71, 100, 2, 85, None),
        (1, 5, "step line", "jit_train_step", 70, 104, 3, 95, 107),
        (1, 6, "step line", "jit_train_step", 71, 96, 2, 88, None),
    ]
    columns = "step_number, devices, marker_us, span_us, period_us, reference_mean_us, spread_us, slowest_device"
    assert of_case(cases, "step_times", columns, "B", "step_number") == [
        (5, 2, 104, 100, 110, 102, 4, 1), (6, 2, 100, 90, None, 98, 4, 0),
    ]  # fmt: skip


def test_runs_of_programs_have_the_number_of_their_run(cases):
    columns = "device, program_id, program, fingerprint, execution_id, dur_us, is_main"
    assert of_case(cases, "programs", columns, "B") == [
        (0, 0, "jit_train_step", "11", 70, 90, True), (0, 1, "jit_train_step", "11", 71, 85, True),
        (1, 0, "jit_train_step", "11", 70, 95, True), (1, 1, "jit_train_step", "11", 71, 88, True),
    ]  # fmt: skip


def test_the_host_s_annotation_with_the_most_step_numbers_gives_the_steps(cases):
    columns = "step_number, step_source, dur_us, is_warm_up"
    assert of_case(cases, "steps", columns, "G") == [
        (100, "train step", 500, True), (101, "train step", 400, False), (102, "train step", 350, False),
    ]  # fmt: skip
    assert of_case(cases, "step_summary", "median_us", "G", "scope") == [(400,), (375,)]


def test_a_step_s_work_is_the_runs_that_the_host_enqueued_in_it(cases):
    columns = "step_number, work_source, program, execution_id, host_us, dur_us, ops, busy_us"
    assert of_case(cases, "steps", columns, "enqueued", "step_number") == [
        (1, "program runs", "train", 1, 10, 50, 2, 50), (2, "program runs", "train", 2, 10, 45, 1, 45),
    ]  # fmt: skip


def test_without_marks_the_runs_of_the_main_program_are_the_steps(cases):
    rows = of_case(cases, "steps", "step_id, step_source, program, dur_us, ops", "programs")
    assert rows == [(nth, "program", "big", 100, 1) for nth in range(3)]


def test_auxiliary_programs_on_the_step_line_are_no_light_steps(cases):
    found = of_case(cases, "step_summary", f"scope, program, is_main, {STATS}", "auxiliary")
    assert [row[1:] for row in found if row[0] == "steady"] == [
        ("log", False, 4, 5, 5, 5, 5, 5), ("train", True, 4, 205.5, 205.5, pytest.approx(206.7), 204, 207),
    ]  # fmt: skip
    assert of_case(cases, "step_classes", "step_class", "auxiliary") == [("typical",)] * 2


def test_an_engine_s_steps_nest_and_kernels_belong_to_the_step_that_launched_them(cases):
    # The host takes 90 and 80; the device takes from 40 to 195 for the first, and from 200 to 230 for the second.
    columns = "step_id, step_source, work_source, program, host_us, dur_us, ops, busy_us, period_us, requests, tokens"
    assert of_case(cases, "steps", columns, "engine") == [
        (0, "engine step", "launches", "prefill", 90, 155, 2, 150, 160, 1, 5),
        (1, "engine step", "launches", "decode", 80, 30, 1, 30, None, 1, None),
    ]  # fmt: skip


def test_a_step_follows_the_one_before_by_the_stream_that_computes(cases):
    # Steps of 100 each: the first operations, copies ahead of time, are 10 apart.
    for relation in ("steps", "step_times"):
        found = of_case(cases, relation, "r.start_ns, period_us", "prefetched", "step_id")
        assert found == [(2000, 100), (12000, 100), (22000, None)]


def test_names_of_training_steps_are_known_and_their_parts_are_none(cases):
    assert of_case(cases, "steps", "step_number, step_source, host_us, dur_us, ops", "training") == [
        (7, "train step", 50, 40, 1), (8, "train step", 60, 50, 1),
    ]  # fmt: skip


def test_steps_of_the_optimizer_end_those_of_training_where_nothing_else_marks_any(cases):
    # The host: from 1, its first event, to 40, and on to 80. What is launched then is of a step that has no end.
    columns = "step_source, work_source, step_number, host_us, dur_us, ops, period_us"
    assert of_case(cases, "steps", columns, "optimized", "step_id") == [
        ("optimizer step", "launches", None, 39, 78, 3, 88), ("optimizer step", "launches", None, 40, 80, 3, None),
    ]  # fmt: skip


@pytest.mark.parametrize("category", ["cpu_op", "Operator"])
def test_steps_that_are_written_as_operators_are_known_by_their_name(cases, category):
    assert of_case(cases, "steps", "step_number, step_source, host_us, dur_us, ops", category) == [
        (5, "profiler step", 50, 40, 1), (6, "profiler step", 60, 50, 1),
    ]  # fmt: skip


def test_passes_are_the_steps_of_a_trace_that_marks_none(s1_lake):
    steps = s1_lake.rows("SELECT device, step_id, step_source, start_ns, end_ns FROM steps ORDER BY ALL")
    passes = s1_lake.rows("SELECT device, pass_id, 'pass', start_ns, end_ns FROM passes ORDER BY ALL")
    assert len(steps) == 5
    assert steps == passes
    # Its Hadamard transforms are no steps of Adam.
    assert s1_lake.rows("FROM training_phases") == []


@pytest.mark.parametrize("recomputed", [False, True])
@in_one_lake
def test_passes_of_training_are_steps_with_their_backward_and_optimizer(tmp_path, recomputed):
    # Kernels of 3, one every 4. A step: lookup, 3 layers of 5, norm, head and loss, a backward of 2 per layer, with the
    # layer computed again before it or not, and the optimizer: 1 + 15 + 3 + (6 or 21) + 1 kernels.
    layer = ["rms_norm_kernel", "nvjet_qkv", "flash_fwd_kernel", "nvjet_o", "act_and_mul_kernel"]
    backward = ["flash_bwd_dq_dk_dv_loop_kernel", "rmsnorm_bwd_kernel"]
    names = [
        "embedding_kernel", *layer * 3, "rms_norm_kernel", "nvjet_head", "nll_loss_forward_kernel",
        *[*(layer if recomputed else []), *backward] * 3, "multi_tensor_apply_kernel<AdamFunctorMaster<float> >",
    ]  # fmt: skip
    trace = Trace()
    for nth, name in enumerate(names * 4):
        trace.kernel(name, 4 * nth - 2, 4 * nth, 3)
    lake = yield trace.write(tmp_path / "training.json")
    assert len(lake.rows("FROM passes")) == (8 if recomputed else 4)
    kernels = 41 if recomputed else 26
    assert len(names) == kernels
    assert lake.rows("SELECT step_source, ops, dur_us, period_us FROM steps ORDER BY step_id") == [
        ("pass", kernels, 4 * kernels - 1, 4 * kernels if nth < 3 else None) for nth in range(4)
    ]


def test_kineto_files_have_profiler_steps_or_engine_steps(real_lake):
    columns = "trace, step_number, step_source, program, host_us, dur_us, ops"
    rows = [
        row
        for name in ("deepseek-v3_train_h800", "hta_trace_diff_control_control", "vllm_gpt-oss_prefill_tp_b200")
        for row in real_lake(f"kineto/{name}.json.gz").rows(
            f"SELECT {columns} FROM steps JOIN traces USING (trace_id) ORDER BY ALL"
        )
    ]
    # Of the host, the durations of the annotations in the files; of the device, by launches, as plain Python has them.
    host = (75473, 76940, 76212, 76727, 78473, 81120)
    device = (75103, 76422, 75725, 76226, 77915, 80585)
    assert rows == [
        ("deepseek-v3_train_h800", 1, "profiler step", None, 112202, 129012, 983),
        *[
            ("hta_trace_diff_control_control", 1009 + nth, "profiler step", None, *durations, 1575)
            for nth, durations in enumerate(zip(host, device, strict=True))
        ],
        ("vllm_gpt-oss_prefill_tp_b200", None, "engine step", "prefill", 87412.863, 84487.178, 929),
    ]


# Which steps count


def test_a_last_step_that_breaks_off_is_partial_and_no_part_of_the_figures(cases):
    assert [row[1] for row in of_case(cases, "steps", "step_id, is_partial", "broken off")] == [False] * 4 + [True]
    # Published mean and median of the four whole steps, in ms: 120.311 and 120.124; with the fifth, 96.3.
    columns = "scope, steps, round(mean_us), median_us"
    assert of_case(cases, "step_summary", columns, "broken off") == [
        ("all", 5, 96859, 120116), ("steady", 4, 120311, 120123.5),
    ]  # fmt: skip


def test_a_first_step_without_its_program_is_partial(cases):
    found = of_case(cases, "steps", "step_number, is_partial", "begun")
    assert found == [(4, True), (5, False), (6, False)]


def test_warm_up_is_counted_in_steps_and_is_never_more_than_half(cases):
    assert of_case(cases, "step_summary", STATS, "D7", "scope")[1] == (5, 102, 102, pytest.approx(103.6), 100, 104)
    found = of_case(cases, "steps", "count(*) FILTER (is_warm_up), count(*)", "B")
    assert found == [(2, 4)]  # one of two steps, on both devices
    assert of_case(cases, "steps", "count(*) FILTER (is_warm_up), count(*)", "D1") == [(5, 17)]


# Statistics and classes

CLASSES = {
    "D1": [("heavy", 3, 25, 215, 219, 16, 4), ("light", 9, 75, 100, 103.2, 5, None)],
    "D2": [("typical", 7, 100, 100, 221.2, 5, None)],
    "D3": [("typical", 21, 100, 101, 102, 6, None)],
    "D3b": [("heavy", 2, 10, 302.5, 304.5, 23, None), ("light", 18, 90, 101, 102, 6, None)],
    "D4": [("typical", 6, 100, 112, 124, 5, None)],
    "D5": [("typical", 6, 100, 120, 140, 5, None)],
    "D6": [("heavy", 3, 50, 150, 150, 6, 2), ("light", 3, 50, 100, 100, 5, None)],
    "D8": [("typical", 5, 100, 120, 139, 7, None)],
}


@pytest.mark.parametrize("case", CLASSES)
def test_steps_fall_into_two_classes_only_where_they_lie_apart(cases, case):
    columns = "step_class, steps, steps_pct, median_us, p90_us, representative_step, period"
    expected = [tuple(map(about, row)) for row in CLASSES[case]]
    assert of_case(cases, "step_classes", columns, case) == expected
    reference = (
        "SELECT step_class, steps, 100 * fraction, median_us, p90_us, representative_step, period "
        "FROM compat_step_classes($1, 5) ORDER BY ALL"
    )
    assert cases.rows(reference, [cases.resolve(case)]) == expected


def about(value):
    return pytest.approx(value) if isinstance(value, float) else value


def test_mean_and_p90_of_the_steady_steps(cases):
    columns = "steps, mean_us, median_us, p90_us, round(jitter, 2)"
    rows = {case: of_case(cases, "step_summary", columns, case, "scope")[1] for case in ("D1", "D2")}
    assert rows == {
        "D1": (12, pytest.approx(129.083333), 101.5, 214.5, 2.11),
        "D2": (7, pytest.approx(142.857143), 100, pytest.approx(221.2), 2.21),
    }


def test_one_step_of_each_class_represents_it(cases):
    rows = of_case(cases, "steps", "step_number, step_class", "D1", "step_number")
    assert [number for number, step_class in rows if step_class == "heavy"] == [8, 12, 16]
    marked = cases.rows(
        "SELECT step_number, step_class FROM steps JOIN traces USING (trace_id) WHERE trace = 'D1' AND representative "
        "ORDER BY ALL"
    )
    assert marked == [(5, "light"), (16, "heavy")]


def test_steps_too_rare_for_a_class_are_outliers_with_their_numbers(cases):
    assert of_case(cases, "step_summary", "scope, outliers", "D3") == [("all", [24, 25]), ("steady", [24, 25])]
    assert of_case(cases, "step_summary", "scope, outliers", "D2") == [("all", [11]), ("steady", [11])]


def test_the_split_is_the_best_of_all_cuts(cases):
    """The exact optimum by trying each cut in Python, on durations without a pattern."""
    for name, durations in SCATTERED.items():
        ordered = sorted(durations)
        cut = min(range(1, len(ordered)), key=lambda at: (squares(ordered[:at]) + squares(ordered[at:]), at))
        found = dict(of_case(cases, "step_classes", "step_class, steps", name))
        assert found == {"light": cut, "heavy": len(ordered) - cut}


def squares(durations):
    sizes = [math.log(duration) for duration in durations]
    mean = sum(sizes) / len(sizes)
    return sum((size - mean) ** 2 for size in sizes)


# The reference's own figures


def test_the_reference_averages_devices_and_compares_numbers_with_the_warm_up(cases):
    query = f"SELECT {STATS} FROM compat_step_stats($1, $2) ORDER BY scope"
    found = {
        case: cases.rows(query, [cases.resolve(case), warm_up]) for case, warm_up in (("A", 1), ("B", 0), ("G", 1))
    }
    assert found == {
        "A": [(4, 182.5, 115, pytest.approx(316), 100, 400), (3, 110, 110, 118, 100, 120)],
        "B": [(2, 100, 100, pytest.approx(101.6), 98, 102)] * 2,
        "G": [(3, pytest.approx(416.666667), 400, 480, 350, 500)] * 2,
    }
    [everything, steady] = cases.rows(query, [cases.resolve("D7"), 5])
    assert everything == steady == (6, 135, 102.5, 202, 100, 300)
    query = "SELECT step_class, representative_step FROM compat_step_classes($1, 1)"
    assert cases.rows(query, [cases.resolve("A")]) == [("typical", 3)]
    assert cases.rows("SELECT step_number, dur_us FROM compat_steps($1, 0) ORDER BY ALL", [cases.resolve("B")]) == [
        (5, 102), (6, 98),
    ]  # fmt: skip


def test_steps_of_case_a_by_rank_and_by_number_are_the_same(cases):
    assert of_case(cases, "step_summary", STATS, "A", "scope") == [
        (4, 182.5, 115, pytest.approx(316), 100, 400), (3, 110, 110, 118, 100, 120),
    ]  # fmt: skip
    assert of_case(cases, "step_classes", "step_class, representative_step", "A") == [("typical", 3)]


@pytest.mark.parametrize(
    ("name", "number", "dur_us"),
    [("training_910b_arithmetic", 1, 516_885.54), ("excerpt_pipeutilization", 19, 2_857_120.405)],
)
def test_a_table_of_kernels_names_the_step_of_its_rows(real_lake, name, number, dur_us):
    lake = real_lake(f"ascend/kernel_details_{name}.csv")
    steps = lake.sql("SELECT step_source, step_number, dur_us FROM steps").fetchall()
    assert steps == [("profiler step", number, dur_us)]


@in_one_lake
def test_steps_of_a_table_follow_its_numbers(tmp_path):
    rows = [(1, 10, 5), (1, 16, 4), (2, 30, 10), ("N/A", 45, 1), (3, 50, 10), (3, 62, 8)]
    header = "Step Id,Name,Type,Stream ID,Start Time(us),Duration(us)\n"
    lines = (f"{step},Add{nth},Add,2,{start},{dur}\n" for nth, (step, start, dur) in enumerate(rows))
    (tmp_path / "kernel_details.csv").write_text(header + "".join(lines))
    lake = yield tmp_path / "kernel_details.csv"
    steps = lake.sql("SELECT step_number, dur_us FROM steps ORDER BY step_id").fetchall()
    assert steps == [(1, 10), (2, 10), (3, 20)]
