"""One trace never hurts another: every relation answers for sound traces as if an absurd one were not there."""

import copy
import functools
import math
import operator
import os
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tracelake.engine.sql import keys
from tracelake.ingest.one import Ingested
from tracelake.lake import Lake
from tracelake.synthetic.npu import npu_table

from .. import absurd_traces as absurd

RELATIONS = [
    entry
    for entry in keys.keyed()
    # The best that other traces of the chip reached is another answer beside others: that is what it is for.
    if entry.name != "shape_bests" and entry.folder != "lookup" and any(c.name == "trace_id" for c in entry.columns)
]
SOUND = {"kineto": absurd.kineto(), "jax": absurd.jax(), "ascend": absurd.rows_of(npu_table())}
#: Columns that tell where a file lies and when it was read, and a key that counts all traces.
OF_THE_FILE = ("source_path", "source_mtime_ns", "ingested_at", "trace_key")
#: Columns that `kernel_roofline` has from `shape_bests`.
OF_OTHERS = ("best_us", "pct_of_best", "best_distance", "best_source")
#: Numbers that no argument has, or that 64 bits, a double or a list do not hold.
NUMBERS = [0, -1, 2**31, 2**40, -(2**40), 2**62, 2**63 - 1, -(2**63), 2**63, 10**30, 10**400, 1e308, -1.5, 5e-324]
VALUES = [
    *NUMBERS, *map(str, NUMBERS), True, None, "", "x", "NaN", "[", '{"a": 1}', [], {}, {"a": [1]}, [None], [[], [[]]],
    [0, -1, "x"], [2**63, 2**63], [[0, 2**62], [2**62, 2**62]], [[-4, 8], [8, -2]], [[2**24, 2**24]] * 3,
    [[2**40, 2**40]] * 2, [[2**40, 2**40]] * 3, [[2**40, 1], [1, 2**40]], [[2] * 10_000] * 2, [2] * 10_000,
    [[[1, 2], [3]], "x"], ["x", None, 1.5], [8, 1, 2**62, 2**62], [[2**47], [2**47]], [[0, 1], [1, 0], [0]],
]  # fmt: skip
#: Texts that stand where a name tells a load, or an instruction its shapes.
SHAPE = f"f32[{2**40},{2**40},{2**40}]{{2,1,0}}"
TEXTS = [
    f"execute_context_1({2**62})_generation_1({2**62})", f"step[DECODE bs={2**63 - 1} toks={2**63 - 1}]",
    f"execute_{2**62}_context_{2**62}(sq{2**62}sk{2**62}sqsq{2**63 - 1}sqsk{2**62})_generation_0(sq0sk0sqsq0sqsk0)",
    f"ProfilerStep#{10**30}", f"%dot.1 = {SHAPE} dot({SHAPE} %a, {SHAPE} %b), lhs_contracting_dims={{{10**30}}}",
    f"%dot.1 = {SHAPE} dot({SHAPE} %a, {SHAPE} %b), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}",
    f"%fusion.2 = {SHAPE} fusion({SHAPE} %a, {SHAPE} %b), kind=kOutput", f"f32[-1,{2**63}]", SHAPE,
    f"%all-reduce.5 = {SHAPE} all-reduce({SHAPE} %c), replica_groups=[{2**63},{2**62}]<=[{2**62}]",
    "nn.Module: Layer_99999999999999999999", f"hcom_allReduce__{10**20}_{10**20}_{10**20}",
]  # fmt: skip
#: Cells of a table.
CELLS = [
    *map(str, NUMBERS), "", "N/A", "x", "NaN", '"""-4,8;8,-2"""', f'"""{2**40},{2**40};{2**40},{2**40}"""', ";;;",
    '"' + ",".join(["2"] * 10_000) + '"', f'"{2**63},2;2,{2**63}"', "DT_BF16;x", f'"{2**24},{2**24};{2**24},{2**24}"',
]  # fmt: skip


def ask(lake: Lake, sound: dict[str, str]) -> dict[str, list]:
    """Return what every relation answers for the sound traces, asked for all traces at once."""
    answers = {}
    for entry in RELATIONS:
        asked = lake.prepare(entry.name).execute(f"FROM {entry.name}")
        columns = [name for name, *_ in asked.description]
        id_place = columns.index("trace_id")
        left_out = {"trace_id", *OF_THE_FILE, *(OF_OTHERS if entry.name == "kernel_roofline" else ())}
        places = [place for place, name in enumerate(columns) if name not in left_out]
        rows = [row for row in asked.fetchall() if row[id_place] in sound]
        answers[entry.name] = sorted(([sound[row[id_place]], *(row[n] for n in places)] for row in rows), key=repr)
    return answers


def alike(a: object, b: object) -> bool:
    """Whether two values agree; doubles to 12 digits, since their sums depend on the order of rows."""
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-12)
    return a == b


def sound_ids(lake: Lake) -> dict[str, str]:
    named = lake.rows("SELECT trace_id, trace FROM traces")
    return {trace_id: trace for trace_id, trace in named if trace in SOUND}


def differing(alone: dict[str, list], beside: dict[str, list]) -> set[str]:
    """Return the relations that answer otherwise."""

    def differ(rows: list, others: list) -> bool:
        pairs = (pair for row, other in zip(rows, others, strict=True) for pair in zip(row, other, strict=True))
        return not all(alike(a, b) for a, b in pairs)

    return {name for name, rows in alone.items() if len(rows) != len(beside[name]) or differ(rows, beside[name])}


def lake_of(folder: Path, traces: dict) -> Lake:
    """Return a lake of some traces, each read in full."""
    lake = Lake(folder / "lake")
    paths = [absurd.write(folder, name, trace) for name, trace in traces.items()]
    for path in paths:
        # Traces without a clock were recorded when their file was written.
        os.utime(path, (1_760_000_000, 1_760_000_000))
    read = lake.ingest(*paths)
    assert [one for one in read if not isinstance(one, Ingested) or one.rejected] == []
    return lake


@pytest.fixture(scope="module")
def alone(tmp_path_factory) -> dict[str, list[tuple]]:
    """What every relation answers where the sound traces are alone."""
    with lake_of(tmp_path_factory.mktemp("alone"), SOUND) as lake:
        return ask(lake, sound_ids(lake))


def nobody_is_set_aside(lake: Lake) -> None:
    assert lake.rows("SELECT trace, relation, reason FROM _set_aside JOIN traces USING (trace_id)") == []


TIMES = {f"{name} {what}": absurd.with_times(trace, what) for name, trace in SOUND.items() for what in absurd.TIMES}


def hostile(seed: int) -> dict:
    """Return a trace of each kind with arguments, names and cells that make no sense, drawn by chance."""
    chance, traces = random.Random(seed), {}
    for name, trace in SOUND.items():
        changed = copy.deepcopy(trace)
        holders: dict[str, list] = {}
        for holder, key in absurd.places_of(changed):
            holders.setdefault(key, []).append(holder)
        # Of each key about as many, however many events have it.
        for key, some in holders.items():
            values = CELLS if isinstance(trace, list) else TEXTS if key == "name" else VALUES + TEXTS
            for holder in chance.sample(some, min(chance.randrange(6), len(some))):
                holder[key] = chance.choice(values)
        traces[f"{name} {seed}"] = changed
    return traces


def test_every_relation_answers_whatever_the_times_and_arguments_of_a_trace(tmp_path):
    # Fifteen traces: as many as are computed together.
    with lake_of(tmp_path, TIMES | hostile(5) | hostile(8)) as lake:
        ask(lake, {})
        # The relations of the star have other keys; a database checks them.
        lake.export(tmp_path / "star.duckdb", star=True)
        nobody_is_set_aside(lake)


@pytest.mark.parametrize(
    ("seed", "kind", "relation"), [(497, "kineto", "operator_works"), (336167, "ascend", "ascend_operators")]
)
def test_widths_of_an_attention_beyond_64_bits_are_unknown(tmp_path, seed, kind, relation):
    with lake_of(tmp_path, {name: trace for name, trace in hostile(seed).items() if name.startswith(kind)}) as lake:
        lake.rows(f"FROM {relation}")
        nobody_is_set_aside(lake)


@pytest.mark.slow
def test_sound_traces_answer_beside_times_that_no_device_has_as_alone(tmp_path, alone):
    with lake_of(tmp_path, SOUND | TIMES) as lake:
        assert differing(alone, ask(lake, sound_ids(lake))) == set()


@pytest.mark.slow
@settings(max_examples=12, deadline=None, database=None, phases=[Phase.generate])
@given(st.sets(st.integers(0, 2**32), min_size=4, max_size=4))
def test_sound_traces_answer_beside_arguments_that_make_no_sense_as_alone(alone, seeds):
    traces = functools.reduce(operator.or_, map(hostile, seeds))
    with tempfile.TemporaryDirectory() as folder, lake_of(Path(folder), SOUND | traces) as lake:
        assert differing(alone, ask(lake, sound_ids(lake))) == set()
        nobody_is_set_aside(lake)
