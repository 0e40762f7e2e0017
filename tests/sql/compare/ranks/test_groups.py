"""For whom the ranks of several parallel groups wait: what one brings from a group to the next is counted once."""

import pytest

import tracelake

from ....lakes import ingest_at_once
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


def test_a_rank_whose_data_group_is_on_other_nodes_is_not_as_the_others(tmp_path):
    # Of a job on two nodes the lake has the second: ranks 2 and 3 are a tensor group, and alone in their data groups.
    lake = tracelake.Lake(tmp_path / "lake", stored=False)
    lake.ingest(*write_steps(tmp_path, late=0, slow=0)[2:], run="node")
    found = lake.rows("SELECT rank, verdict, calls, unpaired_reason, missing_reason FROM ranks ORDER BY rank")
    why = f"{STEPS} calls: no other rank of the group is in the lake"
    assert found == [
        (2, "cannot tell", STEPS, why, "rank 0 of 4 is not in the lake"),
        (3, "cannot tell", STEPS, why, "rank 1 of 4 is not in the lake"),
    ]
    checks = (
        "SELECT DISTINCT \"check\", value FROM health WHERE severity <> 'ok' AND starts_with(\"check\", 'collectives') "
        "AND value <> 100"
    )
    assert lake.rows(checks) == [("collectives_alone", STEPS)]


def test_a_call_counts_once_where_others_of_its_group_do_not_name_their_size(tmp_path):
    # Of four ranks the lake has two. The last call of rank 0 has no partner; the size of some is that of their list.
    files = []
    for rank in (0, 1):
        calls = [nccl("ncclKernel_AllReduce", 100 * n, 20, "allreduce", 8, 8, Seq=n) for n in range(6 + (rank == 0))]
        for call in calls[1:6:2]:
            del call["args"]["Group size"]
        job = {"backend": "nccl", "rank": rank, "world_size": 4}
        files.append(written(tmp_path, f"r{rank}", calls, distributedInfo=job))
    lake = tracelake.Lake(tmp_path / "lake", stored=False)
    lake.ingest(*files, run="job")
    assert lake.rows("SELECT rank, calls, unpaired_calls FROM ranks ORDER BY rank") == [(0, 6, 1), (1, 6, 0)]
    checks = (
        'SELECT "check", value FROM health JOIN traces USING (trace_id) WHERE rank = 0 '
        "AND \"check\" IN ('collectives_incomplete', 'collectives_unmatched') ORDER BY 1"
    )
    assert lake.rows(checks) == [("collectives_incomplete", 6), ("collectives_unmatched", 1)]


def write_parallel(folder, run, *, layers=6, slow=(), steps=8, noise=(0,) * 4, repeat=1, base_ns=None, span=0):
    """Write four ranks that compute `layers` times 400 µs, and all-reduce each time for 80 µs behind the next.

    A rank of `slow` computes its times 400 µs, `noise` is added per rank to each. With repeat=2 each number is that of
    two calls, and computing waits for them. `span` µs pass between the arrivals that end a call on odd ranks.
    """
    events = {rank: [] for rank in range(4)}
    slow = dict(slow)
    begin = 0.0
    for step in range(steps):
        now, free = [begin] * 4, begin
        for layer in range(layers):
            for rank, own in events.items():
                busy = 400 * slow.get(rank, 1) + noise[(rank + step) % 4]
                own.append(kineto("gemm", CLOCKS[rank] + now[rank], busy, stream=7))
                now[rank] += busy
            for _ in range(repeat):
                starts = [max(free, at) for at in now]
                end = max(starts) + 80
                for rank, own in events.items():
                    own.append(nccl(
                        "ncclDevKernel_AllReduce_Sum_bf16", CLOCKS[rank] + starts[rank],
                        end + span * (rank % 2) * (step % 2) - starts[rank], "allreduce", 8, 8, size=4, group="dp",
                        ranks="[0, 1, 2, 3]", Seq=step * layers + layer,
                    ))  # fmt: skip
                free = end
                if repeat > 1:
                    now = [end + span] * 4
        for rank, own in events.items():
            own.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                        "ts": CLOCKS[rank] + begin - 5, "dur": free - begin})  # fmt: skip
        begin = max(free, *now) + 50
    folder = folder / run
    folder.mkdir()
    return [
        written(folder, f"rank{rank}", own, distributedInfo={"backend": "nccl", "rank": rank, "world_size": 4}, of=run,
                **({} if base_ns is None else {"baseTimeNanoseconds": base_ns[rank]}))
        for rank, own in events.items()
    ]  # fmt: skip


DAY_NS = 86400 * 10**9
#: Runs of four ranks, and what is odd about them.
PARALLEL = {
    "hidden": {"slow": {2: 1.05}},
    "one step": {"steps": 1, "noise": (0, 30, 60, 90)},
    "one step, slow": {"steps": 1, "slow": {2: 1.3}, "noise": (0, 1, 2, 1)},
    "two of a number": {"slow": {2: 1.1}, "repeat": 2},
    "uncertain": {
        "repeat": 2,
        "span": 300,
        "base_ns": [DAY_NS * 20000, DAY_NS * 20000, DAY_NS * 20000, DAY_NS * 19977],
    },
}


@pytest.fixture(scope="module")
def parallel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parallel")
    lake = tracelake.open(folder / "lake")
    ingest_at_once(lake, {
        path: {"run": run} for run, odd in PARALLEL.items() for path in write_parallel(folder, run, **odd)
    })  # fmt: skip
    return lake


def test_a_lag_that_computing_hides_costs_once_what_the_step_grows_by(parallel):
    # Each call finds rank 2 20 µs later than the one before, 20 to 120 of them, 420 in all. Its computing takes
    # 6 · 420 µs where the others' takes 6 · 400: the step grows by 120 µs.
    [(waited, worst)] = parallel.rows(
        "SELECT max(waited_for_us), max(abs(waited_for_us - 120)) FROM rank_steps WHERE run = 'hidden' AND rank = 2"
    )
    assert (waited, worst) == (pytest.approx(120), pytest.approx(0, abs=0.01))
    caused = dict(parallel.rows("SELECT rank, caused_us FROM stragglers WHERE run = 'hidden'"))
    assert caused == {0: 0, 1: 0, 2: pytest.approx(8 * 120), 3: 0}
    # What a rank waits for others it communicates without computing.
    over = "SELECT max(waiting_us - exposed_communication_us) FROM rank_steps WHERE run = 'hidden'"
    assert parallel.rows(over)[0][0] <= 0
    # What the traces show of it is their own window's.
    [(gain, pct, value)] = parallel.rows(
        "SELECT gain_us, gain_pct, value FROM _finding_values JOIN traces USING (trace_id), "
        "LATERAL (SELECT 100 * gain_us / window_us AS gain_pct FROM time_breakdown AS t "
        "WHERE t.trace_id = _finding_values.trace_id) "
        "WHERE run = 'hidden' AND rank = 2 AND finding = 'straggler'"
    )
    assert (gain, pct) == (pytest.approx(8 * 120), pytest.approx(value))


def test_one_step_names_a_rank_only_if_it_is_later_than_the_others_differ(parallel):
    one, slow = parallel.ranks("one step"), parallel.ranks("one step, slow")
    # The last of four equally spaced ranks: in one step, some rank is.
    assert one.verdicts == ("rank 3: 1 step of 4 ranks is too few to tell a straggler from chance.",)
    [verdict] = slow.verdicts
    assert verdict.startswith("rank 2: slow compute. The others wait longest for it in 1 of 1 steps, 0.7")


def test_calls_of_one_number_are_matched_in_their_order(parallel):
    found = parallel.rows(
        "SELECT DISTINCT participants, count(*) OVER () FROM collective_calls WHERE run = 'two of a number'"
    )
    assert found == [(4, 8 * 6 * 2)]
    [verdict] = parallel.ranks("two of a number").verdicts
    # 6 times 40 µs.
    assert verdict.startswith("rank 2: slow compute. The others wait longest for it in 8 of 8 steps, 0.240 ms")


def test_clocks_that_agree_too_little_are_no_sign_that_nobody_is_late(parallel):
    found = parallel.ranks("uncertain")
    assert {verdict for [verdict] in found.rows.select("verdict").fetchall()} == {"cannot tell"}
    assert any("clocks agree too little" in line for line in found.verdicts)
    assert any(line.startswith("rank 3: ") and "off by 23.0 days" in line for line in found.verdicts)


def test_a_rank_that_computes_slowly_has_no_slow_link_where_all_links_jitter(tmp_path):
    # Rank 2 computes 420 µs, the others 400; each call ends 0, 32, 64 or 96 µs later on
    # a rank, equally often on each.
    events, now = {rank: [] for rank in range(4)}, [0.0] * 4
    for step in range(6):
        for rank, own in events.items():
            own.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                        "ts": CLOCKS[rank] + now[rank] - 5, "dur": 12 * 500})  # fmt: skip
        for call in range(12):
            for rank, own in events.items():
                busy = 420 if rank == 2 else 400
                own.append(kineto("gemm", CLOCKS[rank] + now[rank], busy, stream=7))
                now[rank] += busy
            last = max(now)
            for rank, own in events.items():
                end = last + 100 + 32 * ((call * (1 + 2 * (rank % 2)) + rank) % 4)
                own.append(nccl(
                    "ncclDevKernel_AllReduce_Sum_bf16", CLOCKS[rank] + now[rank], end - now[rank], "allreduce", 8, 8,
                    size=4, group="dp", ranks="[0, 1, 2, 3]", Seq=12 * step + call,
                ))  # fmt: skip
                now[rank] = end
        now = [max(now) + 50] * 4
    lake = tracelake.Lake(tmp_path / "lake", stored=False)
    lake.ingest(*(
        written(tmp_path, f"rank{rank}", own, distributedInfo={"backend": "nccl", "rank": rank, "world_size": 4})
        for rank, own in events.items()
    ), run="r")  # fmt: skip
    found = lake.rows("SELECT DISTINCT cause FROM rank_steps WHERE rank = 2 AND is_waited_for")
    assert found == [("slow compute",)]


def write_experts(folder, *, cold, steps=4, layers=10):
    """Write four ranks that compute 400 µs and exchange tokens (50 µs) per layer.

    Rank 3 computes 900 µs more in layer 0, and `cold` µs less in the others. Every call ends on it 0.2 µs later.
    """
    events, now = {rank: [] for rank in range(4)}, [0.0] * 4
    for step in range(steps):
        begin = max(now)
        for layer in range(layers):
            busy = [400, 400, 400, 400 + (900 if layer == 0 else -cold)]
            last = max(at + more for at, more in zip(now, busy, strict=True))
            for rank, own in events.items():
                end = last + 50 + (0.2 if rank == 3 else 0)
                own.append(kineto("gemm", now[rank], busy[rank], stream=7))
                own.append(nccl("ncclDevKernel_SendRecv", now[rank] + busy[rank], end - now[rank] - busy[rank],
                                "all_to_allv", 8, 8, size=4, group="ep", ranks="[0, 1, 2, 3]",
                                Seq=layers * step + layer))  # fmt: skip
                now[rank] = end
        for own in events.values():
            own.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 1, "tid": 1,
                        "ts": begin - 5, "dur": max(now) - begin})  # fmt: skip
        now = [max(now) + 50] * 4
    return [
        written(folder, f"rank{rank}", own, distributedInfo={"backend": "nccl", "rank": rank, "world_size": 4})
        for rank, own in events.items()
    ]


@pytest.fixture(scope="module")
def experts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experts")
    lake = tracelake.Lake(folder / "lake", stored=False)
    lake.ingest(*write_experts(folder, cold=115), run="r")
    return lake


def test_the_cause_is_that_of_the_calls_which_are_waited_for_where_a_rank_is_ahead_in_the_others(experts):
    # A hot expert in one layer, cold ones in nine: 900 - 9 · 115 = -135 µs, so that over all calls its links, 1.8 µs
    # in a step, would be the largest part. The others wait the 900 µs.
    found = experts.rows("SELECT waited_for_us, own_behind_us < 0, cause FROM rank_steps WHERE rank = 3")
    assert found == [(pytest.approx(900, abs=1), True, "slow compute")] * 4


def test_a_rank_that_the_longest_wait_of_every_step_is_for_is_a_straggler_though_it_is_seldom_last(experts):
    # Last to 4 of 40 calls, where 10 are expected. But of four equal ranks one has the longest wait in 4 of 4 steps
    # with 4 · 1/256 = 1.6 %.
    found = "SELECT calls, last_calls, is_often_last FROM stragglers WHERE rank = 3"
    assert experts.rows(found) == [(40, 4, True)]
    made = "SELECT gain_us FROM findings JOIN traces USING (trace_id) WHERE rank = 3 AND finding = 'straggler'"
    assert experts.rows(made) == [(pytest.approx(4 * 900, abs=4),)]


def test_waits_in_a_step_are_unknown_where_none_of_its_collectives_has_a_partner(tmp_path):
    """Rank 0 reduces with one that the lake does not have; rank 1 has no collective, so it waits for nobody."""
    reduces = nccl("ncclDevKernel_AllReduce_Sum_bf16", 10, 5, "allreduce", 8, 8, size=2, group="dp", ranks="[0, 2]",
                   Seq=1)  # fmt: skip
    own = {0: [kineto("gemm", 0, 10, stream=7), reduces], 1: [kineto("gemm", 0, 10, stream=7)]}
    lake = tracelake.Lake(tmp_path / "lake", stored=False)
    lake.ingest(
        *(written(tmp_path, f"rank{rank}", events, distributedInfo={"backend": "nccl", "rank": rank, "world_size": 3})
          for rank, events in own.items()), run="r",
    )  # fmt: skip
    columns = "rank, calls, waiting_us, waited_for_us, is_waited_for, own_behind_us, unresolved_us"
    assert lake.rows(f"SELECT {columns} FROM rank_steps ORDER BY rank") == [
        (0, 0, None, None, None, None, None), (1, 0, 0, 0, False, 0, 0),
    ]  # fmt: skip
