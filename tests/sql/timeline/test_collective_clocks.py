"""Clocks of ranks: compared in any group of two traces and by way of others, unknown where nothing compares them."""

import pytest

import tracelake

from ...lakes import Files, in_one_lake
from .test_collectives import nccl, rows, written

ALL_REDUCE = ("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "allreduce")
BROADCAST = ("ncclDevKernel_Broadcast", "broadcast")
#: What the clock of each rank shows at the moment 0, µs.
CLOCKS = (0, 5000, -3000)
WHY = "no collective that ends together on its ranks, such as an all-reduce, links their clocks"


def call(what, ranks, at, *, arrivals, end, number=None, group="0"):
    """Return a call as a function of the rank: on its clock, from when the rank arrives, µs; numbered, or not."""
    name, kind = what

    def part(rank):
        start = at + arrivals[rank]
        return nccl(
            name, CLOCKS[rank] + start, at + end - start, kind, 1000, 1000, size=len(ranks), group=group,
            ranks=str(list(ranks)), **({} if number is None else {"Seq": number}),
        )  # fmt: skip

    return dict.fromkeys(ranks, part)


def captured(folder, rank, name, calls, world=3):
    """Write the trace of a rank that takes part in those of the calls that name it."""
    events = [parts[rank](rank) for parts in calls if rank in parts]
    around = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": world}, "of": str(folder)}
    return written(folder, name, events, **around)


def broadcasts_and(calls):
    """Return calls and three broadcasts between rank 0 and 2, to which rank 2 comes 2 µs after rank 0."""
    found = [call(BROADCAST, (0, 2), 100 * n, arrivals={0: 0, 2: 2}, end=20, number=n, group="data") for n in range(3)]
    return [*found, *calls]


@in_one_lake
def test_clocks_are_those_of_another_group_and_chain_by_way_of_a_third(tmp_path):
    # Ranks 0 and 1 reduce, 1 and 2 do: rank 2's clock is 8000 µs behind rank 1's, which is 5000 ahead of rank 0's.
    calls = broadcasts_and(
        call(ALL_REDUCE, pair, 1000 + 100 * n, arrivals={0: 0, 1: 5, 2: 9}, end=50, number=n, group=str(pair))
        for pair in ((0, 1), (1, 2)) for n in range(3)
    )  # fmt: skip
    lake = yield Files(*(captured(tmp_path, rank, f"rank{rank}", calls) for rank in range(3)), run=str(tmp_path))
    clocks = "SELECT DISTINCT rank, clock_offset_us, clock_residual_us FROM collective_ranks ORDER BY rank"
    assert lake.rows(clocks) == [(0, 0, 0), (1, 5000, 0), (2, -3000, 0)]
    found = lake.rows(
        "SELECT DISTINCT rank, late_us, waiting_us, transfer_us, is_last FROM collective_ranks "
        "WHERE kind = 'broadcast' ORDER BY rank"
    )
    assert found == [(0, 0, 2, 18, False), (2, 2, 0, 18, True)]


@in_one_lake
def test_times_against_others_are_unknown_where_nothing_compares_the_clocks(tmp_path):
    calls = broadcasts_and([])
    lake = yield Files(*(captured(tmp_path, rank, f"rank{rank}", calls) for rank in (0, 2)), run=str(tmp_path))
    unknown = "late_us, waiting_us, transfer_us, alone_us, arrival_ns, is_last, clock_offset_us, clock_residual_us"
    assert lake.rows(f"SELECT DISTINCT {unknown}, unaligned_reason FROM collective_ranks") == [(*(None,) * 8, WHY)]
    unknown = "skew_us, waiting_us, transfer_us, bus_gbps, first_ns, last_rank"
    found = rows(lake, f"SELECT DISTINCT {unknown}, unaligned_reason FROM collective_calls WHERE run = '{tmp_path}'")
    assert found == [dict.fromkeys(unknown.split(", ")) | {"unaligned_reason": WHY}]
    assert lake.rows("FROM stragglers") == []
    judged = lake.rows(
        "SELECT verdict, calls, waiting_ms, clock_offset_us, clock_residual_us, unpaired_reason FROM ranks"
    )
    assert judged == [("cannot tell", 0, None, None, None, f"3 calls: {WHY}")] * 2


#: A second after the first, each rank is captured again.
LATER = 1_000_000


def twice(folder, *, numbered, of_rank_1=(0, LATER)):
    """Return two captures of each of two ranks: rank 1 comes 30 µs after rank 0, and calls end 50 µs after it."""
    paths = []
    for rank, begins in ((0, (0, LATER)), (1, of_rank_1)):
        for nth, begin in enumerate(begins):
            calls = [
                call(ALL_REDUCE, (0, 1), begin + 100 * n, arrivals={0: 0, 1: 30}, end=80,
                     number=100 * nth + n if numbered else None)
                for n in range(3)
            ]  # fmt: skip
            paths.append(captured(folder, rank, f"rank{rank}_{nth}", calls, world=2))
    return Files(*paths, run=str(folder))


@pytest.mark.parametrize("numbered", [True, False])
@in_one_lake
def test_captures_of_one_rank_are_no_partners_and_each_is_compared_with_its_own(tmp_path, numbered):
    lake = yield twice(tmp_path, numbered=numbered)
    found = lake.rows(
        "SELECT rank, participants, clock_offset_us, waiting_us, transfer_us, count(*) FROM collective_ranks "
        "GROUP BY ALL ORDER BY rank"
    )
    assert found == [(0, 2, 0, 30, 50, 6), (1, 2, 5000, 0, 50, 6)]
    traces = lake.rows("SELECT list(DISTINCT right(trace, 1)) FROM collective_ranks JOIN traces USING (trace_id) "
                       "GROUP BY call")  # fmt: skip
    assert sorted(traces) == [(["0"],)] * 3 + [(["1"],)] * 3


@pytest.mark.parametrize(
    ("of_rank_1", "calls"),
    [
        # One capture of rank 1: with which of rank 0's it belongs nothing shows.
        ((0,), 0),
        # Two at one time are of other jobs, or by other profilers.
        ((0, 10), 0),
    ],
)
@in_one_lake
def test_captures_that_cannot_be_told_apart_are_matched_with_none(tmp_path, of_rank_1, calls):
    lake = yield twice(tmp_path, numbered=False, of_rank_1=of_rank_1)
    assert lake.rows("SELECT count(*) FROM collective_ranks") == [(calls,)]


def test_the_order_of_ingest_changes_no_row(tmp_path):
    pairs = broadcasts_and(
        call(ALL_REDUCE, pair, 1000 + 100 * n, arrivals={0: 0, 1: 5, 2: 9}, end=50, number=n, group=str(pair))
        for pair in ((0, 1), (1, 2)) for n in range(3)
    )  # fmt: skip
    paths = [*twice(tmp_path, numbered=False).paths, captured(tmp_path, 2, "rank2", pairs)]
    found = []
    for name, ordered in (("at once", paths), ("one by one", reversed(paths))):
        lake = tracelake.open(tmp_path / name)
        if name == "at once":
            lake.ingest(*ordered, run="r")
        else:
            for path in ordered:
                lake.ingest(path, run="r")
        found.append([
            lake.rows(f"FROM {relation} ORDER BY ALL")
            for relation in ("collective_ranks", "collective_delays", "stragglers", "ranks", "perfetto_clocks")
        ])  # fmt: skip
        lake.close()
    assert found[0] == found[1]
    assert all(found[0])
