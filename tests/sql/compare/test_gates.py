"""What a gate lets pass, what it fails, and what it cannot judge. Times in microseconds, worked by hand."""

import collections
import gzip
import json

import pytest

import tracelake
from tracelake.engine.errors import UsageError

from ...launching import NCCL, Trace
from ...support import data_file


def decode(*works, name="step[DECODE bs=8]", between=10, only=None):
    """Steps of 10 on the host, and for each the operations of a graph that the device runs one after the other, later.

    Args:
        works: for each step the durations of its operations; none for a step that launches nothing.
        name: name of the steps.
        between: time between the work of two steps.
        only: name of an operation that makes the trace another one.
    """
    trace, at = Trace(), 1000
    for step, durations in enumerate(works):
        trace.mark(name, 20 * step, 10)
        starts = [at + sum(durations[:nth]) for nth in range(len(durations))]
        if durations:
            trace.graph(20 * step + 5, *zip(starts, durations, strict=True))
        at += sum(durations) + between
    return trace.add("cpu_op", only or "aten::mm", 0, 1, 1, 2)


def beside(dur, second=None):
    """The same five steps, and behind each an operation launched outside, in time that the step does not take."""
    longest = max(dur, second or 0)
    trace = decode(*[(60, 20)] * 5, between=longest + 10, only=f"aten::{dur}, {second}")
    for step in range(5):
        trace.run(1085 + step * (90 + longest), second if second and step == 1 else dur, 20 * step + 15)
    return trace


#: All of them run the device long after the host is done: no operation lies in the time of its step on the host.
CASES = {
    "before": decode(*[(60, 20)] * 5),
    "same": decode(*[(60, 20)] * 5, only="aten::add"),
    # The first operation takes 15 % longer: 9 of 80.
    "slower": decode(*[(69, 20)] * 5),
    "one": decode((60, 20)),
    "one the same": decode((60, 20), only="aten::add"),
    "one slower": decode((69, 20)),
    "two": decode((60, 20), (60, 20)),
    "two the same": decode((60, 20), (60, 20), only="aten::add"),
    "two slower": decode((69, 20), (69, 20)),
    "three": decode(*[(60, 20)] * 3),
    "hollow": decode((60, 20), (60, 20), (), (60, 20), (60, 20)),
    "sampling": beside(8),
    "sampling once longer": beside(8, 60),
    "sampling longer": beside(11),
    "sampling far longer": beside(18),
    "update": beside(90),
    "batch": decode(*[(40, 10)] * 5, name="step[DECODE bs=4]"),
    "prefill": decode(*[(300, 100)] * 5, name="step[EXTEND bs=1 toks=100]"),
    "nothing launched": decode(*[()] * 3).run(5000, 10),
    # Steps of training: the host needs longer between them, the device does the same.
    "training": decode(*[(60, 20)] * 5, name="train_step 1"),
    "loading": decode(*[(60, 20)] * 5, name="train_step 1", between=20),
    "no device": decode(*[()] * 3, only="aten::add"),
    "no steps": Trace().run(0, 10, 0).run(20, 10, 10),
    "no steps, slower": Trace().run(0, 15, 0).run(20, 10, 10),
    "no steps, faster": Trace().run(0, 10, 0).run(20, 9, 10),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gates")
    with tracelake.open(folder / "lake") as lake:
        lake.ingest(*[trace.write(folder / f"{name}.json") for name, trace in CASES.items()])
        yield lake


def test_a_gate_passes_on_evidence_alone(lake):
    expected = {
        ("before", "same"): ("pass", []),
        ("before", "slower"): ("fail", []),
        ("slower", "before"): ("pass", []),
        # One step shows that it got slower, but not that it did not.
        ("one", "one slower"): ("fail", ["one step", "one step"]),
        ("one", "one the same"): ("unknown", ["one step", "one step"]),
        ("before", "one"): ("unknown", ["one step"]),
        # Noise is measured between three steps or more.
        ("two", "two the same"): ("unknown", ["two steps", "two steps"]),
        ("two", "two slower"): ("fail", ["two steps", "two steps"]),
        ("two", "three"): ("unknown", ["two steps"]),
        ("before", "three"): ("pass", []),
        ("before", "hollow"): ("unknown", ["no work in a step"]),
        ("before", "nothing launched"): ("unknown", ["no work in a step"]),
        # Between steps of 80 a growth of 3 is allowed, one of 10 is more than 5 %. Of 90 + 80, most is in no step.
        ("sampling", "sampling longer"): ("pass", []),
        # One long operation between two steps says nothing of the others.
        ("sampling", "sampling once longer"): ("pass", []),
        ("sampling", "sampling far longer"): ("unknown", ["work outside steps"]),
        ("sampling far longer", "sampling"): ("pass", []),
        ("update", "update"): ("unknown", ["work outside steps", "work outside steps"]),
        # Fewer requests, in less time: that is no improvement, and the way back no regression.
        ("before", "batch"): ("unknown", ["different work"]),
        ("batch", "before"): ("unknown", ["different work"]),
        ("prefill", "before"): ("unknown", ["different work"]),
        ("before", "no device"): ("unknown", ["different work", "nothing to measure"]),
        # From step to step 90 and 100.
        ("training", "loading"): ("fail", []),
        ("loading", "training"): ("pass", []),
        ("no steps", "no steps, slower"): ("fail", ["one step", "one step"]),
        ("no steps", "no steps, faster"): ("unknown", ["one step", "one step"]),
    }
    rows = lake.rows(
        """
        WITH pairs AS (
            SELECT b.trace AS before, a.trace AS after, b.trace_id AS before_id, a.trace_id AS after_id
            FROM traces AS b CROSS JOIN traces AS a
        ),
        gated AS (SELECT before_id, after_id, list(verdict) AS verdicts FROM _gated GROUP BY ALL),
        doubted AS (SELECT before_id, after_id, list(reason ORDER BY reason) AS reasons FROM _gate_doubts GROUP BY ALL)
        SELECT before, after, _gate_status(coalesce(verdicts, []), coalesce(reasons, [])), coalesce(reasons, [])
        FROM pairs
        LEFT JOIN gated USING (before_id, after_id)
        LEFT JOIN doubted USING (before_id, after_id)
        """
    )
    found = {(before, after): (status, reasons) for before, after, status, reasons in rows}
    assert {pair: found[pair] for pair in expected} == expected


def test_no_measure_passes_where_the_gate_cannot_judge(lake):
    def verdicts(before, after):
        ids = [lake.locate(before), lake.locate(after)]
        return {verdict for (verdict,) in lake.rows("SELECT verdict FROM gated_changes($1, $2)", ids)}

    # One step cannot rule a regression out, but can show one; of different work it cannot do either.
    assert verdicts("one", "one the same") == {"unknown"}
    assert "fail" in verdicts("one", "one slower")
    assert "pass" not in verdicts("one", "one slower")
    assert verdicts("before", "batch") == verdicts("batch", "before") == {"unknown"}
    assert verdicts("before", "same") == {"pass"}


def test_a_measure_says_in_which_unit_it_is(lake):
    units = "SELECT DISTINCT metric, unit, change_unit FROM gated_changes($1, $2) WHERE part IS NULL ORDER BY metric"
    assert lake.rows(units, [lake.locate("before"), lake.locate("slower")]) == [
        ("communication_share", "%", "points"), ("compute_median", "µs", "%"), ("idle_share", "%", "points"),
        ("step_median", "µs", "%"), ("step_p90", "µs", "%"),
    ]  # fmt: skip


def test_a_regression_of_what_runs_after_the_host_is_seen_with_its_figures(lake):
    ids = [lake.locate("before"), lake.locate("slower")]
    columns = "metric, part, before, after, round(change, 3), verdict"
    assert lake.rows(f"SELECT {columns} FROM gated_changes($1, $2)", ids) == [
        ("step_median", None, 80, 89, 11.25, "fail"), ("step_p90", None, 80, 89, 11.25, "fail"),
        ("compute_median", None, 80, 89, 11.25, "fail"),
        ("communication_share", None, 0, 0, 0, "pass"), ("idle_share", None, 0, 0, 0, "pass"),
        ("family", "matmul", 80, 89, 11.25, "fail"), ("operation", "gemm", 80, 89, 11.25, "fail"),
    ]  # fmt: skip
    rows = lake.rows(
        "SELECT metric, before, after, change FROM trace_changes($1, $2) WHERE change <> 0 ORDER BY place", ids
    )
    assert rows == [
        ("step, median", 80, 89, 9), ("step, 90th percentile", 80, 89, 9), ("busy", 80, 89, 9), ("compute", 80, 89, 9),
        ("step to step", 90, 99, 9),
    ]  # fmt: skip
    assert lake.rows("SELECT metric, after FROM trace_changes($1, $2) WHERE metric = 'step on the host'", ids) == [
        ("step on the host", 10)
    ]
    assert lake.rows("SELECT before_calls, before_us, change_us FROM op_changes($1, $2)", ids) == [(2, 80, 9)]
    assert lake.rows("SELECT change_us FROM family_changes($1, $2)", ids) == [(9,)]


def test_the_history_of_a_baseline_does_not_pass_what_the_gate_cannot_judge(lake, tmp_path):
    names = ("before", "same", "one", "one slower", "batch")
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(*[CASES[name].write(tmp_path / f"{name}.json") for name in names])
        for name in names[1:]:
            lake.set(name, baseline="before")
        rows = lake.rows(
            "SELECT trace, status, [d[:d.position(':') - 1] FOR d IN doubts] FROM track_history ORDER BY 1"
        )
    assert rows == [
        ("batch", "unknown", ["different work"]), ("one", "unknown", ["one step"]),
        ("one slower", "fail", ["one step"]), ("same", "pass", []),
    ]  # fmt: skip


# Parts of a step


def parts(gemm=100, nccl=20, gap=2, copy="copy", copied=878, steps=5):
    """Steps of 1000 of which a product takes 100, a collective 20 and gaps 2."""
    trace, at = Trace(), 10_000
    for step in range(steps):
        begins = 100 * step
        trace.mark("train_step 1", begins, 50)
        for nth, (name, dur) in enumerate([("gemm", gemm), (NCCL, nccl), (copy, copied)]):
            trace.run(at, dur, begins + 10 * nth + 1, name)
            at += dur + (gap if nth == 0 else 0)
    return trace


#: What is 15 % slower, or twice as long, is less than 5 % of the step.
PARTS = {
    "slower product": (parts(gemm=115), "fail", {"family matmul", "operation gemm"}),
    "slower communication": (parts(nccl=23), "fail", {"family collective", "operation ncclAllReduce_bf16_R"}),
    "wider gaps": (parts(gap=6), "fail", {"idle idle"}),
    # 5 % of 100 is less than what counts, and so is a tenth of a percent of the step.
    "slower by the threshold": (parts(gemm=105), "pass", set()),
    "gaps of a step's thousandth": (parts(gap=3), "pass", set()),
    # The same operation under another name, slower: its family tells.
    "renamed and slower": (parts(copy="copy_v2", copied=925), "fail", {"family copy"}),
    # What a product takes over from elsewhere is no regression of the whole, which noise may lengthen a little.
    "moved": (parts(gemm=150, copied=800), "warn", {"family matmul", "operation gemm"}),
    "moved, and a 50th of that more": (parts(gemm=150, copied=829), "warn", {"family matmul", "operation gemm"}),
    # Of the 50 more, 20 are made up for elsewhere: the step takes 30 longer.
    "more than half is new": (parts(gemm=150, copied=858), "fail", {"family matmul", "operation gemm"}),
}


def hidden(nccl):
    """Steps of a product that takes 1000, beside a collective that begins with it."""
    trace = Trace()
    for step in range(5):
        trace.mark("train_step 1", 100 * step, 50)
        trace.run(10_000 + 1010 * step, 1000, 100 * step + 1)
        trace.run(10_000 + 1010 * step, nccl, 100 * step + 2, NCCL, stream=8)
    return trace


@pytest.fixture(scope="module")
def parts_lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    with tracelake.open(folder / "lake") as lake:
        traces = {"base": parts(), "hidden": hidden(300), "hidden, twice": hidden(600), "sticks out": hidden(1250)}
        traces |= {name: trace for name, (trace, _, _) in PARTS.items()}
        lake.ingest(*[trace.write(folder / f"{name}.json") for name, trace in traces.items()])
        yield lake


@pytest.mark.parametrize("name", PARTS)
def test_a_part_of_a_step_fails_a_gate_by_its_name(parts_lake, name):
    _, status, expected = PARTS[name]
    answer = parts_lake.compare("base", name)
    found = {(metric, part, verdict) for metric, part, *_, verdict in answer.gate.fetchall() if part is not None}
    assert {f"{metric} {part[:20]}" for metric, part, _ in found} == expected
    assert {verdict for _, _, verdict in found} <= {status}
    assert answer.status == status


@pytest.mark.parametrize(
    ("name", "step", "status"),
    # All of 300 more is hidden; of 950 more, 250 lengthen the step by a quarter, which fails by itself.
    [("hidden, twice", 1000, "warn"), ("sticks out", 1250, "fail")],
)
def test_a_collective_that_takes_longer_behind_other_work_only_warns(parts_lake, name, step, status):
    answer = parts_lake.compare("hidden", name)
    rows = {row[0]: row for row in answer.gate.fetchall()}
    assert rows["step_median"][2:4] == (1000, step)
    assert (rows["family"][1], rows["family"][-1]) == ("collective", "warn")
    assert answer.status == status


# Different work


def test_different_work_is_refused_and_compared_anyway_with_the_difference(lake):
    with pytest.raises(UsageError, match="--anyway"):
        lake.compare("prefill", "before")
    answer = lake.compare("prefill", "before", anyway=True)
    assert answer.basis == (
        "one device in one steady step (engine step of prefill) before, "
        "for one device in one steady step (engine step of decode) after"
    )
    [stated] = answer.warnings
    assert stated.startswith("different work: basis: ")
    assert "requests: 1, 8" in stated
    assert answer.work.fetchall()[1:] == [
        ("devices", "1", "1", 1, "same"), ("requests", "1", "8", 8, "different"),
        ("tokens", "100", None, None, "unknown"), ("operations", "2", "2", 1, "info"),
    ]  # fmt: skip
    [median] = [row for row in answer.metrics.fetchall() if row[0] == "step, median"]
    assert median[2:4] == (400, 80)


def test_of_one_stage_other_work_is_shown_and_stated(lake):
    answer = lake.compare("before", "batch")
    assert answer.warnings == ("different work: requests: 8, 4",)


def test_different_work_is_a_doubt_of_each_side_beside_the_baseline(lake):
    answer = lake.compare_sides("before", "same", "batch")
    assert answer.sides.select("side, doubts").fetchall() == [
        ("same", None), ("batch", "different work: requests: 8, 4"),
    ]  # fmt: skip


def test_a_side_without_operations_is_named(lake):
    answer = lake.compare("before", "nothing launched", anyway=True)
    assert answer.missing == (
        "nothing launched: no device operation belongs to its steps, see step_summary.without_work"
    )


# On the command line


@pytest.fixture
def gate(run_cli):
    def gate(lake, *arguments):
        done = run_cli("compare", *arguments, lake=lake)
        assert "Traceback" not in done.stderr
        return done

    return gate


def test_the_gate_s_exit_status_and_reason(run_cli, gate, tmp_path):
    paths = [CASES[name].write(tmp_path / f"{name}.json") for name in ("one", "one the same", "prefill", "no device")]
    assert run_cli("ingest", *paths, lake=tmp_path / "lake").returncode == 0
    done = gate(tmp_path / "lake", "one", "one the same", "--gate")
    assert done.returncode == 1
    assert "one step: one has one steady step" in done.stderr
    assert done.stderr.rstrip().endswith("tracelake: cannot judge, see above")
    done = gate(tmp_path / "lake", "prefill", "one", "--gate")
    assert done.returncode == 1
    assert "different work: basis: steady step (engine step of prefill)" in done.stderr
    done = gate(tmp_path / "lake", "prefill", "one")
    assert done.returncode == 2
    assert "--anyway" in done.stderr
    done = gate(tmp_path / "lake", "prefill", "one", "--anyway", "--families", "--format", "json")
    assert done.returncode == 0
    assert "different work" in done.stderr
    assert [row["before_us"] for row in json.loads(done.stdout)] == [400]
    done = gate(tmp_path / "lake", "no device", "no device", "--anyway", "--ops", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)) == (0, [])
    assert "no operations: no device: no device operation in it takes time" in done.stderr


def test_different_work_is_stated_once(gate, tmp_path):
    files = [CASES[name].write(tmp_path / f"{name}.json") for name in ("before", "batch")]
    # With the waterfall, with a table alone, and with the verdict of the gate.
    for arguments in ((), ("--families",), ("--gate",)):
        done = gate(tmp_path / "lake", *files, *arguments)
        assert done.stderr.count("different work: requests: 8, 4") == 1, arguments


# A real trace


def slower(source, target):
    """Copy a trace with its longest kernel 15 % slower and what follows on its stream later; return by how much."""
    read = json.loads(gzip.decompress(source.read_bytes()))
    device = [event for event in read["traceEvents"] if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    totals = collections.Counter()
    for event in device:
        totals[event["name"]] += event["dur"]
    [(slowest, _)] = totals.most_common(1)
    late = collections.Counter()
    for event in sorted(device, key=lambda event: event["ts"]):
        line = event["pid"], event["tid"]
        event["ts"] += late[line]
        if event["name"] == slowest:
            late[line] += 0.15 * event["dur"]
            event["dur"] *= 1.15
    target.write_text(json.dumps(read))
    return late.total()


def test_a_real_decode_with_its_longest_kernel_15_percent_slower_fails(tmp_path):
    before = data_file("kineto/vllm_gpt-oss_decode_mi300x.json.gz")
    added = slower(before, tmp_path / "after.json")
    assert added == pytest.approx(564.28, abs=0.01)
    with tracelake.open(tmp_path / "lake") as lake:
        lake.ingest(before, tmp_path / "after.json")
        answer = lake.compare("vllm_gpt-oss_decode_mi300x", "after")
        rows = {row[0]: row[2:] for row in answer.gate.fetchall()}
        operations = answer.operations.fetchall()
        families = answer.families.fetchall()
    assert answer.status == "fail"
    assert rows["step_median"][:3] == pytest.approx((10743.181, 10743.181 + added, 100 * added / 10743.181), abs=0.05)
    assert rows["step_median"][-1] == rows["compute_median"][-1] == "fail"
    assert operations[0][-2:] == pytest.approx((added, 15), abs=0.05)
    assert families[0][3] == pytest.approx(added, abs=0.05)
    assert rows["family"][:2] == pytest.approx((8265.155, 8265.155 + added), abs=0.05)
    # The step is one: no more than a regression can be told of it.
    assert [doubt[:8] for doubt in answer.doubts] == ["one step"] * 2
