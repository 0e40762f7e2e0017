"""Numbers in the names of modules, scopes and steps: those that count are one, those within a name are not.

Times in microseconds.
"""

import pytest

import tracelake

from ...kernel_traces import Trace
from ...lakes import Files, in_one_lake

NORM = "vectorized_layer_norm_kernel<c10::BFloat16, float>"


@in_one_lake
def test_a_number_that_no_letter_touches_counts_and_one_within_a_name_does_not(tmp_path):
    lake = yield swapped(30, 60).write(tmp_path / "any.json")
    folded = {
        "model=>layers.3=>mlp": "model=>layers.#=>mlp", "h.3": "h.#", "0=>1=>2": "#=>#=>#", "a.1.2.3": "a.#.#.#",
        "Linear_3": "Linear_#", "Qwen3Mlp_11": "Qwen3Mlp_#", "encoder.block.3.layer.1)": "encoder.block.#.layer.#)",
        "PP:0F3": "PP:#F#", "PP:12UNSHARD": "PP:#UNSHARD#",
        "layer12": "layer#", "TransformerBlock3": "TransformerBlock#", "microbatch7": "microbatch#",
    }  # fmt: skip
    whole = ["fc1", "norm2", "w13", "conv2d", "Conv2d", "conv_1x1", "all2all", "fp8", "layer_norm1", "1F1B", "été1"]
    rows = lake.rows("SELECT name, _numbers_folded(name) FROM (SELECT unnest($1) AS name)", [[*folded, *whole]])
    assert dict(rows) == folded | {name: name for name in whole}


def swapped(first, second):
    """Return six steps of three layers, each with two norms of one shape: `norm1` and `norm2`, and their times."""
    trace = Trace()
    for nth in range(6):
        at = 1000 * nth
        for layer in range(3):
            begin = at + 200 * layer
            trace.note(f"block.{layer}", begin, 100)
            for name, offset, dur in (("norm1", 0, first), ("norm2", 40, second)):
                trace.note(name, begin + offset + 1, 30)
                op = trace.op("aten::native_layer_norm", begin + offset + 2, 20, [[64, 64]])
                trace.kernel(NORM, begin + offset + 3, begin + 100 + 2 * offset, dur, op)
        trace.note(f"ProfilerStep#{nth}", at, 900)
    return trace


@pytest.fixture(scope="module")
def norms(tmp_path_factory):
    folder = tmp_path_factory.mktemp("norms")
    files = [swapped(*times).write(folder / f"{name}.json") for name, times in NORMS.items()]
    with tracelake.open(folder / "lake") as lake:
        lake.ingest(*files)
        yield lake


NORMS = {"before": (30, 60), "after": (70, 20)}


def test_two_norms_of_one_shape_whose_changes_cancel_are_both_found(norms):
    found = dict(
        norms.compare_sides("before", "after")
        .terms.filter("level = 'module' AND name <> ''").select("name, (change_ns, verdict)").fetchall()
    )  # fmt: skip
    # In each step three calls: 3 x (70 - 30) and 3 x (20 - 60).
    assert found == {"block.#=>norm1": (120_000, "slower"), "block.#=>norm2": (-120_000, "faster")}


def test_the_parts_of_a_trace_have_both_norms_and_one_layer(norms):
    rows = norms.rows(
        "SELECT path, calls, self_us FROM nested_parts JOIN traces USING (trace_id) "
        "WHERE trace = 'before' AND kind = 'module' ORDER BY path"
    )
    # 6 steps x 3 layers x (30 + 60).
    assert rows == [
        (["block.#"], 36, 1620), (["block.#", "norm1"], 18, 540), (["block.#", "norm2"], 18, 1080),
    ]  # fmt: skip
    keys = norms.rows("SELECT DISTINCT layer_key FROM regions WHERE contains(path, 'norm') ORDER BY 1")
    assert keys == [("block.#=>norm1",), ("block.#=>norm2",)]


#: What each step's call of the host is named, by what idle time in it is listed under.
STEPS = {
    "engine step": "execute_{0}_context_0(sq0sk0sqsq0sqsk0)_generation_4(sq4sk{0}sqsq4sqsk{0})",
    "profiler step": "ProfilerStep#{0}",
    "chunk #": "chunk {0}",
    "nn.Module: Linear_#": "nn.Module: Linear_{0}",
    "fc1": "fc1",
}


def waiting(name):
    """Return four calls, each of 500 with a launch at 300 of it, every 1000; each kernel runs for 10."""
    trace = Trace()
    for nth in range(4):
        at = 1000 * nth
        add = trace.module if name.startswith("nn.Module: ") else trace.note
        add(name.format(nth).removeprefix("nn.Module: "), at, 500)
        trace.kernel(NORM, at + 300, at + 301, 10)
    return trace


@in_one_lake
def test_idle_time_in_steps_and_layers_is_one_row_whatever_their_numbers(tmp_path):
    lake = yield Files(*(waiting(name).write(tmp_path / f"{nth}.json") for nth, name in enumerate(STEPS.values())))
    for activity, trace_id in zip(STEPS, lake.ids.values(), strict=True):
        rows = lake.rows(
            "SELECT host_activity, intervals, idle_us, max_us FROM idle_causes "
            "WHERE trace_id = $1 AND cause = 'launch not issued' ORDER BY idle_us", [trace_id],
        )  # fmt: skip
        # Of each of the three gaps 189 are in the call that launched before, 500 in none, 300 in the one that launches.
        assert rows == [(activity, 3, 3 * 489, 489), (None, 3, 3 * 500, 500)]
