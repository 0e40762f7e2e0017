"""A question about one trace: what is read is its files and those its answers rest on, and the answers are the same."""

from collections.abc import Iterator

import pytest

from tracelake.lake import Lake
from tracelake.synthetic.gpu import write_gpu

from ..graph_traces import Host
from ..lakes import set_at_once
from ..sql.timeline.test_collectives import nccl
from ..support import trace_bytes

KERNELS = ("rmsnorm", "Cijk_Alik_Bljk", "softmax")
#: Relations that rest on other traces, and some that rest on one alone.
ASKED = (
    "traces", "passes", "layers", "kernels", "health", "findings", "collectives", "collective_ranks", "stragglers",
    "graph_captures", "captured_kernels", "kernel_roofline",
)  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> Iterator[Lake]:
    """A lake of a decode, a replayed graph, its capture, and two ranks of each of two runs: one was set, one is
    that of the folder."""
    folder = tmp_path_factory.mktemp("traces")
    write_gpu(folder / "decode.json.gz")
    Host().replay(*KERNELS).write(folder / "replay.json")
    Host().capture(*KERNELS, dims=[[8, 16], [16, 32]], module="Layer_0").write(folder / "capture.json")
    for rank in range(2):
        events = [
            nccl("ncclDevKernel_AllReduce_Sum_bf16", 100 * call + rank, 20 - rank, "allreduce", 8, 8, size=2)
            for call in range(2)
        ]
        about = {"rank": rank, "world_size": 2}
        (folder / f"rank{rank}.json").write_bytes(trace_bytes(events, distributedInfo=about))
        (folder / "by names" / "job").mkdir(parents=True, exist_ok=True)
        events[0]["dur"] += 1
        (folder / "by names" / "job" / f"its_rank{rank}.json").write_bytes(trace_bytes(events, distributedInfo=about))
    with Lake(folder / "lake") as lake:
        found = lake.ingest(*sorted(path for path in folder.iterdir() if path.is_file()), folder / "by names")
        set_at_once(lake, {one.trace_id: {"run": "r"} for one in found if one.trace.startswith("rank")})
        yield lake


def answers(lake: Lake, trace_id: str) -> dict[str, list[str]]:
    return {
        name: sorted(map(repr, lake.rows(f"FROM {name} WHERE trace_id = $1", [trace_id])))
        for name in ASKED
    }  # fmt: skip


@pytest.mark.parametrize(("trace", "read"), [
    ("decode", {"decode"}), ("replay", {"replay", "capture"}), ("rank1", {"rank0", "rank1"}),
    ("its_rank1", {"its_rank0", "its_rank1"}),
])  # fmt: skip
def test_the_answers_about_a_trace_are_those_of_the_whole_lake(filled, trace, read):
    names = dict(filled.rows("SELECT trace, trace_id FROM traces"))
    with Lake(filled.path) as alone:
        alone.store.focus(names[trace])
        assert alone.store.answers.focus == {names[one] for one in read}
        found = answers(alone, names[trace])
        assert alone.rows("SELECT count(DISTINCT trace_id) FROM events") == [(len(read),)]
    assert found == answers(filled, names[trace])
    # The law is not about empty answers.
    of_kind = {
        "decode": "layers",
        "replay": "captured_kernels",
        "rank1": "collective_ranks",
        "its_rank1": "collective_ranks",
    }
    assert found[of_kind[trace]]


def test_what_others_change_meanwhile_leaves_the_focus_as_it_is(filled):
    [(trace_id,)] = filled.rows("SELECT trace_id FROM traces WHERE trace = 'decode'")
    with Lake(filled.path) as alone:
        alone.store.focus(trace_id)
        filled.set("replay", build="17")
        alone.refresh()
        assert alone.rows("SELECT trace FROM traces") == [("decode",)]
        assert len(alone.rows("FROM layers")) == 30


def test_a_lake_that_is_asked_about_another_trace_has_that_ones_rows(filled):
    names = dict(filled.rows("SELECT trace, trace_id FROM traces"))
    with Lake(filled.path) as alone:
        for trace, calls in (("decode", 60), ("rank1", 4), ("decode", 60)):
            alone.store.focus(names[trace])
            assert len(alone.rows("FROM collectives")) == calls
            assert alone.rows("SELECT count(*) > 0 FROM kernels WHERE trace_id = $1", [names[trace]]) == [(True,)]
