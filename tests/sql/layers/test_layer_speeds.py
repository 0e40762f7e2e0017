"""Layers with the same kernels are two kinds where their times or the shapes of their attention say so."""

import gzip
import json
import random

import duckdb
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tracelake.engine.sql import modules

from ...lakes import in_one_lake
from ...support import DATA
from ..captures import KINETO_FILES, sql_of

#: Attention of gpt-oss on a long context: sliding and full, in us.
SLIDING, FULL = 230.0, 390.0
TABLES = """
CREATE TABLE layer_kernels (
    trace_id VARCHAR, rank INTEGER, device INTEGER, pass_id BIGINT, layer_id BIGINT, position BIGINT, name VARCHAR,
    category VARCHAR, kind VARCHAR, dur_us DOUBLE, input_dims VARCHAR
);
"""


def typed(traces):
    """Return kinds and reasons by trace: `AABB`, times. A trace has passes of layers of (attention, product, shape)."""
    with duckdb.connect() as connection:
        connection.execute(TABLES)
        for table in ("category_groups", "layer_kind_limits"):
            connection.execute(modules.module(table).sql)
            connection.execute(f"INSERT INTO {table} FROM '{modules.csv_file(table)}'")
        rows = [
            (str(trace), None, 0, number, layer, *kernel)
            for trace, passes in enumerate(traces)
            for number, layers in enumerate(passes)
            for layer, (attention, product, shape) in enumerate(layers)
            for kernel in (
                (0, "norm", "norm", "compute", 5.0, None),
                (1, "attend", "attention", "compute", attention, shape),
                (2, "product", "gemm", "compute", product, "[[64, 64]]"),
            )
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        types = [row[1] for row in connection.execute("DESCRIBE layer_kernels").fetchall()]
        marks = ", ".join(f"unnest(CAST(? AS {kind}[]))" for kind in types)
        connection.execute(f"INSERT INTO layer_kernels SELECT {marks}", columns)
        connection.execute(
            "CREATE TABLE layers AS SELECT trace_id, rank, device, pass_id, layer_id, CAST(NULL AS VARCHAR) AS "
            "layer_type, sum(dur_us) AS wall_us, sum(dur_us) AS sum_us, sum(dur_us) AS busy_us FROM layer_kernels "
            "GROUP BY ALL"
        )
        connection.execute(
            "CREATE TABLE passes AS SELECT trace_id, rank, device, pass_id, CAST(NULL AS VARCHAR) AS stage, "
            "'m' AS series, "
            "CAST(count(DISTINCT layer_id) AS INTEGER) AS num_layers FROM layer_kernels GROUP BY ALL"
        )
        connection.execute(
            "CREATE TABLE _layer_settings AS SELECT DISTINCT trace_id, FALSE AS is_mlp_only FROM layer_kernels"
        )
        for view in ("_layer_kinds", "_layer_shapes", "_layer_speeds", "_typed_layers"):
            connection.execute(sql_of(view).replace("CREATE VIEW", "CREATE TABLE", 1))
        found = connection.execute(
            "SELECT trace_id, pass_id, string_agg(layer_kind, '' ORDER BY layer_id), list(DISTINCT kind_reason) "
            "FROM _typed_layers GROUP BY 1, 2 ORDER BY CAST(trace_id AS BIGINT), 2"
        ).fetchall()
    return [(kinds, *reasons) for _, _, kinds, reasons in found]


def layers(*attentions, product=600.0, shapes=None):
    return [(us, product, shapes[n] if shapes else None) for n, us in enumerate(attentions)]


def test_two_speeds_that_take_turns_are_two_kinds():
    assert typed([[layers(*[SLIDING, FULL] * 12)]]) == [("AB" * 12, "times")]


def test_one_full_layer_in_six_is_a_kind():  # Gemma 3 with 26 layers
    order = [SLIDING] * 5 + [FULL]
    assert typed([[layers(*(order * 5)[:26])]]) == [(("AAAAAB" * 5)[:26], "times")]


def test_a_slow_layer_of_the_fast_kind_stays_what_it_is():
    times = [SLIDING, FULL] * 12
    times[8] = 900.0
    assert typed([[layers(*times)]]) == [("AB" * 12, "times")]


def test_few_layers_need_two_passes():
    few = layers(*[SLIDING, FULL] * 3)
    assert typed([[few]]) == [("AAAAAA", "kernels")]
    assert typed([[few, few]]) == [("ABABAB", "times")] * 2


def test_passes_that_grow_have_the_same_kinds():
    passes = [layers(*[SLIDING * factor, FULL * factor] * 12) for factor in (1, 1.5, 2.2)]
    assert typed([passes]) == [("AB" * 12, "times")] * 3


def test_a_kernel_that_is_no_attention_tells_kinds_too():
    turns = [(100.0, us, None) for us in (600.0, 800.0) * 8]
    assert typed([[turns]]) == [("AB" * 8, "times")]


@pytest.mark.parametrize(
    "times",
    [
        [*[SLIDING] * 8, 900.0, *[SLIDING] * 15],  # one slow layer
        [900.0, 600.0, *[SLIDING] * 22],  # the first ones, while caches are cold
        [SLIDING + 10 * n for n in range(24)],  # rising all the time
        [*[SLIDING] * 12, *[FULL] * 12],  # from somewhere on slower: a clock went down
        [SLIDING if n % 2 else 1.05 * SLIDING for n in range(24)],  # five per cent
        [FULL if n in (3, 4, 11, 17, 18, 22) else SLIDING for n in range(24)],  # now and then
        [FULL if n in (5, 17) else SLIDING for n in range(24)],  # two, twelve layers apart
    ],
)
def test_what_does_not_repeat_is_no_kind(times):
    assert typed([[layers(*times)]]) == [("A" * 24, "kernels")]


@settings(max_examples=5, deadline=None, derandomize=True)
@given(st.integers(0, 2**32), st.sampled_from([6, 12, 24, 61]), st.integers(1, 3))
def test_noise_parts_nothing(seed, count, passes):
    """Of 40 traces a time: 20 % of noise, and one layer in ten twice as slow.

    In one pass alone noise may look like two kinds: in 9 of 1200 traces of 61 layers, in 3 of 12; in none of several.
    """
    dice = random.Random(seed)
    traces = [
        [
            [
                (SLIDING * dice.gauss(1, 0.2) * dice.choice([1] * 9 + [2]), 600 * dice.gauss(1, 0.1), None)
                for _ in range(count)
            ]
            for _ in range(passes)
        ]
        for _ in range(40)
    ]
    assert sum(reason == "times" for _, reason in typed(traces)) <= (passes == 1)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([2, 3, 4, 6]), st.integers(20, 64), st.floats(1.25, 4))
def test_a_difference_of_five_times_the_noise_is_found(seed, period, count, factor):
    # Each place of the period is to be seen four times: least_times.
    assume(count >= 4 * period)
    dice = random.Random(seed)
    noise = (factor - 1) / 5
    traces = [
        [[(SLIDING * (factor if n % period == 0 else 1) + SLIDING * noise * dice.uniform(-1, 1), 600.0, None)
          for n in range(count)]]
        for _ in range(20)
    ]  # fmt: skip
    expected = "".join("A" if n % period == 0 else "B" for n in range(count))
    assert typed(traces) == [(expected, "times")] * 20


def test_other_shapes_of_the_attention_are_another_kind():
    shapes = ["[[64, 8, 128]]" if n in (1, 4) else "[[64, 8, 256]]" for n in range(6)]
    assert typed([[layers(*[SLIDING] * 6, shapes=shapes)]]) == [("ABAABA", "shapes")]
    # A shape of one layer alone tells nothing.
    shapes[4] = shapes[0]
    assert typed([[layers(*[SLIDING] * 6, shapes=shapes)]]) == [("AAAAAA", "kernels")]


@in_one_lake
def test_a_decode_step_whose_attentions_have_one_name_keeps_its_two_kinds(tmp_path):
    """In gpt-oss's decode two kernels and a reduction tell sliding from full; here one name does, and no reduction."""
    source = DATA / "kineto" / f"{KINETO_FILES['G3']}.json.gz"
    if not source.exists():
        pytest.skip(f"needs the trace {source}")
    with gzip.open(source) as file:
        trace = json.load(file, parse_float=str, parse_int=str)
    kept = []
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel" and event["name"].startswith("kernel_unified_attention"):
            event["name"] = "kernel_unified_attention"
        if event.get("name") != "reduce_segments":
            kept.append(event)
    trace["traceEvents"] = kept
    (tmp_path / "one.json").write_text(json.dumps(trace))
    lake = yield tmp_path / "one.json"
    found = lake.rows("SELECT layer_kind, kind_reason, layer_ids FROM layer_types ORDER BY 1")
    assert found == [("A", "times", [*range(0, 24, 2)]), ("B", "times", [*range(1, 24, 2)])]


def test_chance_alone_seldom_parts_even_small_models():
    """A thousand models of ten layers, each layer of its own speed."""
    dice = random.Random(7)
    traces = [[[(dice.uniform(200, 400), 600.0, None) for _ in range(10)]] for _ in range(1000)]
    assert sum(reason == "times" for _, reason in typed(traces)) <= 5
