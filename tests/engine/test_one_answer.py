"""One law: what a lake answers depends on what is in it, not on the order in which it came, was set or asked about."""

import json
import shutil
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tracelake.engine.computing import renew
from tracelake.lake import Lake

from ..graph_traces import Host
from ..sql.timeline.test_collectives import nccl, npu_folder, transfer
from ..storing import storing_only
from ..support import trace_bytes

#: Groups of traces that know something of each other, by name: the traces, the settings that come after their trace one
#: by one, and relations that rest on stored rows of several traces.
GROUPS = {
    "graphs": (
        ("capture", "other", "replay", "both"),
        (("replay", {"model": "Qwen3-8B"}), ("capture", {"trace": "renamed"}), ("both", {"num_layers": "1"})),
        ("graph_captures", "captured_kernels", "_device_ops"),
    ),
    "ranks": (
        ("npu", "cluster", "rank0", "rank1"),
        (("rank0", {"run": "r"}), ("rank1", {"run": "r"}), ("rank1", {"rank": "5"}), ("npu", {"run": "c"}),
         ("cluster", {"run": "c"})),
        ("collectives", "collective_ranks", "stragglers"),
    ),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def asked_alone():
    """Most other relations have no such tie."""
    with storing_only(*(name for *_, names in GROUPS.values() for name in names), "kernel_roofline"):
        yield


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Traces that know something of each other: by name, what to ingest."""
    folder = tmp_path_factory.mktemp("traces")
    kernels = ("rmsnorm", "Cijk_Alik_Bljk", "softmax")
    made = {
        "capture": Host().capture(*kernels, dims=[[8, 16], [16, 32]], module="Layer_0").write(folder / "capture.json"),
        "other": Host().capture(*kernels[:2], dims=[[4, 16], [16, 32]]).write(folder / "other.json"),
        "replay": Host().replay(*kernels).replay(*kernels[:2]).write(folder / "replay.json"),
        "both": Host().capture("a", "b", dims=[[2, 2], [2, 2]]).replay("a", "b").write(folder / "both.json"),
        "npu": npu_folder(folder),
        "cluster": folder / "cluster_communication.json",
    }
    groups = {f"hcom_x__42{n}_0@77{n}": {"0": transfer(10, 1)} for n in range(4)}
    made["cluster"].write_text(json.dumps({"(0, 1, 2, 3)": {"step1": groups}}))
    for rank in range(2):
        events = [nccl("ncclDevKernel_AllReduce_Sum_bf16", 100 * call + rank, 20 - rank, "allreduce", 8, 8, size=2)
                  for call in range(2)]  # fmt: skip
        made[f"rank{rank}"] = folder / f"rank{rank}.json"
        made[f"rank{rank}"].write_bytes(trace_bytes(events, distributedInfo={"rank": rank, "world_size": 2}))
    return made


class World:
    """A lake that is filled, set and asked, step by step."""

    def __init__(self, folder, files):
        shutil.rmtree(folder, ignore_errors=True)
        self.lake, self.files, self.ids = Lake(folder), files, {}

    def ingest(self, name, **how):
        [result] = self.lake.ingest(self.files[name], **how)
        self.ids[name] = result.trace_id

    def set(self, name, values):
        self.lake.set(self.ids[name], **values)

    def answers(self, questions):
        return {name: sorted(map(repr, self.lake.rows(f"FROM {name}"))) for name in questions}


@pytest.fixture(scope="module")
def expected(files, tmp_path_factory):
    """The answers of lakes that were asked once, when all was in them, and nothing was computed before."""
    found = {}
    for group, (traces, values, questions) in GROUPS.items():
        world = World(tmp_path_factory.mktemp("expected") / "lake", files)
        for name in traces:
            world.ingest(name, events_only=True)
        for name, setting in values:
            world.set(name, setting)
        found[group] = world.answers(questions)
    # The law is not about empty answers.
    assert all(rows for answers in found.values() for rows in answers.values())
    return found


@st.composite
def histories(draw):
    """A group, and what is done to a lake, in order: ingest a trace, set something of one, ask, close and open."""
    group = draw(st.sampled_from(sorted(GROUPS)))
    traces, values, questions = GROUPS[group]
    steps = [("ingest", name) for name in draw(st.permutations(traces))]
    for name, setting in values:
        # Of settings of one trace none has the key of another: their order does not matter.
        first = steps.index(("ingest", name)) + 1
        steps.insert(draw(st.integers(first, len(steps))), ("set", name, setting))
    asked = st.sampled_from([*(("ask", name) for name in questions), ("open",)])
    for step in draw(st.lists(asked, min_size=1, max_size=3)):
        steps.insert(draw(st.integers(0, len(steps))), step)
    return group, steps


def check(files, expected, folder, history, at_once):
    group, steps = history
    world = World(folder / "lake", files)
    with mock.patch.object(renew, "AT_ONCE", at_once):
        for kind, *what in steps:
            if kind == "ask":
                world.lake.rows(f"FROM {what[0]}")
            elif kind == "open":
                world.lake.close()
                world.lake = Lake(folder / "lake")
            else:
                getattr(world, kind)(*what)
        found = world.answers(GROUPS[group][2])
        world.lake.close()
    assert found == expected[group]


def test_the_flop_of_a_replay_are_there_when_its_capture_comes_after_the_question(files, tmp_path):
    # The product of 8 x 16 and 16 x 32 is 2 * 8 * 16 * 32 FLOP.
    world = World(tmp_path / "lake", files)
    asked = "SELECT flop FROM kernel_roofline JOIN traces USING (trace_id) WHERE trace = 'replay' AND flop > 0"
    world.ingest("replay")
    assert world.lake.rows(asked) == []
    world.ingest("capture")
    assert world.lake.rows(asked) == [(8192,)]
    with Lake(tmp_path / "lake") as again:
        assert again.rows(asked) == [(8192,)]
    world.lake.remove("capture")
    assert world.lake.rows(asked) == []


LAW = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}
AT_ONCE = st.sampled_from([1, 2, 16])


@settings(max_examples=3, derandomize=True, phases=[Phase.generate], **LAW)
@given(history=histories(), at_once=AT_ONCE)
def test_the_answers_do_not_depend_on_the_order_of_what_came_before(files, expected, tmp_path, history, at_once):
    check(files, expected, tmp_path, history, at_once)


@pytest.mark.slow
@settings(max_examples=30, **LAW)
@given(history=histories(), at_once=AT_ONCE)
def test_the_answers_do_not_depend_on_any_of_many_orders(files, expected, tmp_path, history, at_once):
    check(files, expected, tmp_path, history, at_once)
