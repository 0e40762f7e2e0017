"""One thing has one name in all public relations."""

import re

import pytest

from tracelake.engine.sql import modules
from tracelake.engine.sql.glossary import explained, glossary, ours

#: Replicas have the names of the tools that they replicate.
PUBLIC = [entry for entry in modules.modules() if entry.public and entry.folder not in ("compat", "invariants")]
#: A star's surrogate keys are no other names of ids: dim_trace has both.
COLUMNS = {
    (entry.name, column.name)
    for entry in PUBLIC
    for column in entry.columns
    if entry.folder != "star" or not column.name.endswith("_key")
}
#: Part of a name -> what stands for it in ours.
PARTS = {
    "flops": "flop, a count; a rate is tflops", "avg": "mean", "delta": "change", "total_us": "sum_us",
    "achieved": "nothing: tflops, gbps",
}  # fmt: skip
#: Names that have such a part and mean something else.
OTHERS = {
    "avg_layer_us",  # the span of a pass by its layers: no mean of layers
    "pmu_avg",  # the means of counters, an object
}


@pytest.mark.parametrize("name", glossary())
def test_no_relation_has_another_name_for_it(name):
    assert {column for _, column in COLUMNS} >= {name}
    assert {(relation, column) for relation, column in COLUMNS if column in glossary()[name]} == set()


@pytest.mark.parametrize("part", PARTS)
def test_no_name_has_a_part_that_ours_have_another_word_for(part):
    has = re.compile(rf"(^|_){part}(_|$)")
    assert {both for both in COLUMNS if has.search(both[1]) and both[1] not in OTHERS} == set(), PARTS[part]


def test_a_name_is_of_one_thing():
    """Operations that wait, a rank that waits for others, and others that wait for it have a name each."""
    names = ("wait_us", "others_waited_us")
    having = {name: {relation for relation, column in COLUMNS if column == name} for name in names}
    assert having == {
        "wait_us": {"time_breakdown", "step_states"}, "others_waited_us": {"collective_delays", "rank_waits"},
    }  # fmt: skip
    assert ("stragglers", "waiting_us") in COLUMNS


def test_a_word_is_of_one_name():
    words = [word for others in glossary().values() for word in others]
    assert len(words) == len(set(words))
    assert not set(words) & set(glossary())


@pytest.mark.parametrize(("word", "name"), [("flops", "flop"), ("Achieved_TFLOPs", "tflops"), ("wall_us", None)])
def test_who_asks_for_another_name_is_told_ours(word, name):
    message = f'Binder Error: Referenced column "{word}" not found in FROM clause!'
    assert ours(word) == name
    assert explained(message) == message + (f"\n{word} is called {name} here." if name else "")


def test_every_duration_is_there_in_microseconds():
    named = [{column.name for column in entry.columns} for entry in PUBLIC]
    assert [names for names in named if "dur_ns" in names and "dur_us" not in names] == []
