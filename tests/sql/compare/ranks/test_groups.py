"""For whom the ranks of several parallel groups wait: what one brings from a group to the next is counted once."""

import pytest

import tracelake

from ...timeline.test_collectives import kineto, nccl, written

#: What the clock of each rank shows at the moment 0, µs, and the groups: of tensors and of data.
CLOCKS = (0, 500, 9000, -250)
TENSOR, DATA = ((0, 1), (2, 3)), ((0, 2), (1, 3))
STEPS = 5


def write_steps(folder, *, late, slow):
    """Write four ranks that compute 100 µs, reduce in their tensor group (20 µs), then in their data group (50 µs).

    Rank 1 begins `late` µs after the others in every step of 1000 µs, rank 3 computes `slow` µs longer.
    """
    events = {rank: [] for rank in range(4)}
    for step in range(STEPS):
        begins = {rank: 1000 * step + (late if rank == 1 else 0) for rank in events}
        now = {rank: begin + 100 + (slow if rank == 3 else 0) for rank, begin in begins.items()}
        for rank, own in events.items():
            own.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                        "ts": CLOCKS[rank] + 1000 * step - 5, "dur": 990})  # fmt: skip
            own.append(kineto("gemm", CLOCKS[rank] + begins[rank], now[rank] - begins[rank], stream=7))
        for name, groups, lasts in (("tp", TENSOR, 20), ("dp", DATA, 50)):
            for group in groups:
                end = max(now[rank] for rank in group) + lasts
                for rank in group:
                    events[rank].append(nccl(
                        "ncclDevKernel_AllReduce_Sum_bf16", CLOCKS[rank] + now[rank], end - now[rank], "allreduce", 8,
                        8, size=2, group=name, ranks=str(list(group)), Seq=step,
                    ))  # fmt: skip
                    now[rank] = end
    return [
        written(folder, f"rank{rank}", own, distributedInfo={"backend": "nccl", "rank": rank, "world_size": 4})
        for rank, own in events.items()
    ]


@pytest.mark.parametrize(
    ("odd", "guilty", "verdict"),
    [({"late": 40, "slow": 0}, 1, "late start"), ({"late": 0, "slow": 30}, 3, "slow compute")],
)
def test_what_one_group_made_the_next_wait_for_is_the_cost_of_one_rank(tmp_path, odd, guilty, verdict):
    lake = tracelake.Lake(tmp_path / "lake", stored=False)
    lake.ingest(*write_steps(tmp_path, **odd), run="r")
    cost = sum(odd.values())
    # Without the rank each step would end so much sooner; the two data groups wait as long as its tensor group.
    caused = dict(lake.rows("SELECT rank, caused_us FROM stragglers ORDER BY rank"))
    assert caused == {rank: STEPS * cost if rank == guilty else 0 for rank in range(4)}
    found = lake.rows("SELECT rank, waited_for_us, is_waited_for, cause FROM rank_steps ORDER BY rank, step")
    assert found == [
        (rank, pytest.approx(cost), True, verdict) if rank == guilty else (rank, 0, False, None)
        for rank in range(4) for _ in range(STEPS)
    ]  # fmt: skip
    judged = lake.rows("SELECT rank, verdict, waited_for_steps, earlier_call_steps FROM ranks ORDER BY rank")
    assert judged[guilty] == (guilty, verdict, STEPS, 0)
    assert {words for rank, words, *_ in judged if rank != guilty} == {"as the others"}
    # Each call shows for itself who came last to it and why: to those of the data groups the guilty tensor group.
    causes = lake.rows(
        "SELECT w.rank, w.cause, count(*) FROM rank_waits AS w JOIN collectives AS c USING (trace_id, collective_id) "
        "WHERE c.process_group = 'dp' GROUP BY ALL ORDER BY ALL"
    )
    assert causes == [(rank, "earlier call", STEPS) for rank in TENSOR[guilty // 2]]
