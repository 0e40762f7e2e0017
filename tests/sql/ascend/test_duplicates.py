"""Which of several rows of one Ascend collective count. Pairs and sums are worked by hand."""

from __future__ import annotations

import random

import pytest

from tracelake.engine import changes
from tracelake.engine.errors import UsageError

from ...lakes import Files, in_one_lake
from ...support import data_file
from .files import logical, physical, service, write_kernels

TOTALS = """
SELECT hcom_rows, hcom_us, counted_rows, counted_us, removed_rows, removed_us, aiv_exact_rows, aiv_exact_us,
    aiv_near_rows, aiv_near_us, unpaired_rows, unpaired_us, service_rows, service_us, service_unpaired_rows
FROM double_counts ORDER BY device
"""


def ask(lake, query):
    return lake.sql(query).fetchall()


def table(folder, *rows, **settings):
    """Write a table, for a trace of these settings."""
    return Files(write_kernels(folder / "kernel_details.csv", *rows), **settings)


def pairs(lake, *rows):
    """Return {row: (its owner, the rule)} of the table's rows that do not count, numbered as written."""
    found = ask(lake, "SELECT kernel_id, twin_id, rule FROM kernel_duplicates")
    assert len({kernel_id for kernel_id, _, _ in found}) == len(found)
    # What counts and what does not are the whole, each row once.
    kernels = [kernel_id for (kernel_id,) in ask(lake, "SELECT kernel_id FROM kernels")]
    assert sorted([*kernels, *(kernel_id for kernel_id, _, _ in found)]) == list(range(len(rows)))
    return {kernel_id: (twin_id, rule) for kernel_id, twin_id, rule in found}


@pytest.fixture
def vector(lake):
    """A lake with the eleven rows that exercise the pairing."""
    lake.ingest(data_file("ascend/synthetic/hcom_pairs.csv"))
    return lake


def test_totals_of_the_check_vector(vector):
    assert ask(vector, TOTALS) == [
        (9, 224.0, 7, 153.75, 2, 70.25, 1, 50.25, 1, 20.0, 1, 12.0, 1, 30.3, 0)
    ]  # fmt: skip
    assert ask(vector, "SELECT kind, sum(dur_ns) FROM kernels GROUP BY kind ORDER BY ALL") == [
        ("communication", 153750), ("compute", 100000),
    ]  # fmt: skip


def test_pairs_of_the_check_vector(vector):
    found = ask(vector, "SELECT kernel_id, twin_id, rule FROM kernel_duplicates ORDER BY ALL")
    assert found == [(1, 0, "aiv_exact"), (2, 3, "aicpu_service"), (6, 5, "aiv_near")]


def test_roles_groups_and_partners_of_the_check_vector(vector):
    found = ask(
        vector,
        "SELECT kernel_id, comm_role, comm_kind, comm_group, counted, unpaired, dup_of, partner_stream, partner_task"
        " FROM ascend_kernels ORDER BY kernel_id",
    )
    assert found == [
        (0, "logical", "allreduce", "428", True, False, None, 47, 11),
        (1, "physical", "allreduce", "428", False, False, 0, None, None),
        (2, "service", "allgather", "911", False, False, 3, None, None),
        (3, "logical", "allgather", "911", True, False, None, 51, 12),
        (4, "logical", "allgather", "428", True, False, None, None, None),
        (5, "logical", "allreduce", "428", True, False, None, 47, 13),
        (6, "physical", "allreduce", "428", False, False, 5, None, None),
        (7, "compute", None, None, True, False, None, None, None),
        (8, "physical", "allreduce", None, True, True, None, None, None),
        (9, "logical", "send", "777", True, False, None, None, None),
        (10, "logical", "receive", "777", True, False, None, None, None),
    ]


def test_a_collective_runs_on_the_stream_of_its_kernel(vector):
    found = ask(vector, "SELECT kernel_id, stream FROM kernels WHERE kind = 'communication' ORDER BY kernel_id")
    assert found == [(0, 47), (3, None), (4, None), (5, 47), (8, 47), (9, None), (10, None)]


def test_the_rule_of_published_figures_counts_seven_keys_of_whole_microseconds(vector):
    [(trace_id,)] = ask(vector, "SELECT trace_id FROM traces")
    vector.set(trace_id, dedup="compat")
    [row] = ask(vector, "SELECT dedup, hcom_us, counted_rows, counted_us, compat_rows, compat_us FROM double_counts")
    assert row == ("compat", 224.0, 7, 143.75, 2, 80.25)
    assert ask(vector, "SELECT sum(dur_ns) FROM kernels WHERE kind = 'communication'") == [(143750,)]
    assert ask(vector, "SELECT kernel_id, twin_id, rule FROM kernel_duplicates ORDER BY ALL") == [
        (1, 0, "compat"), (2, None, "aicpu_service"), (3, 4, "compat"),
    ]  # fmt: skip


def test_the_former_name_of_the_rule_is_accepted_and_read_in_stored_settings(vector):
    [(trace_id,)] = ask(vector, "SELECT trace_id FROM traces")
    vector.set(trace_id, dedup="seed")
    assert ask(vector, "SELECT value FROM tags WHERE key = 'dedup'") == [("compat",)]
    changes.write_settings(vector.store, trace_id, {"dedup": "seed"})
    vector.refresh()
    assert ask(vector, "SELECT dedup, counted_rows FROM double_counts") == [("compat", 7)]


def test_without_a_rule_every_row_counts(vector):
    [(trace_id,)] = ask(vector, "SELECT trace_id FROM traces")
    vector.set(trace_id, dedup="none")
    assert ask(vector, "SELECT dedup, counted_us, removed_rows FROM double_counts") == [("none", 224.0, 0)]
    assert ask(vector, "SELECT count(*), sum(dur_ns) FROM kernels") == [(11, 354300)]
    vector.set(trace_id, dedup="")
    assert ask(vector, "SELECT count(*) FROM kernels") == [(8,)]


def test_a_rule_nobody_knows_is_refused(vector):
    [(trace_id,)] = ask(vector, "SELECT trace_id FROM traces")
    with pytest.raises(UsageError, match="expected one of tracelake, compat, none"):
        vector.set(trace_id, dedup="all")


@in_one_lake
def test_the_compat_rule_prefers_the_longest_then_the_first_and_knows_no_device(tmp_path):
    rows = (
        logical("allReduce", "1_0", "100.999", "5.000"), logical("allReduce", "2_0", "100.000", "7.000", Device_id="1"),
        logical("allReduce", "3_0", "100.500", "7.000"), logical("allReduce", "4_0", "101.000", "1.000"),
        logical("allGather", "5_0", "100.000", "1.000"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows, dedup="compat")
    assert pairs(lake, *rows) == {0: (1, "compat"), 2: (1, "compat")}


@in_one_lake
def test_logical_rows_are_never_merged(tmp_path):
    same = [logical("allReduce", group, "100.000", "5.000") for group in ("1_0", "2_0", "2_0")]
    lake = yield table(tmp_path, *same)
    assert pairs(lake, *same) == {}


@in_one_lake
def test_two_groups_in_one_microsecond_keep_their_own_kernels(tmp_path):
    rows = (
        physical("allReduce", "100.400", "5.000"), physical("allReduce", "100.100", "9.000"),
        logical("allReduce", "1_0", "100.100", "9.000"), logical("allReduce", "2_0", "100.400", "5.000"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {0: (3, "aiv_exact"), 1: (2, "aiv_exact")}


@in_one_lake
def test_equal_pairs_go_in_file_order_and_the_rest_counts(tmp_path):
    rows = (
        physical("allReduce", "100.000", "5.000"), logical("allReduce", "1_0", "100.000", "5.000"),
        physical("allReduce", "100.000", "5.000"), logical("allReduce", "2_0", "100.000", "5.000"),
        physical("allReduce", "100.000", "5.000"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {0: (1, "aiv_exact"), 2: (3, "aiv_exact")}
    assert ask(lake, "SELECT kernel_id FROM ascend_kernels WHERE unpaired") == [(4,)]


@in_one_lake
def test_a_pair_may_straddle_a_microsecond_but_not_lie_further_apart_than_one(tmp_path):
    rows = (
        logical("allReduce", "1_0", "99.999", "5.000"), physical("allReduce", "100.000", "5.000"),
        logical("allReduce", "1_1", "200.000", "5.000"), physical("allReduce", "201.000", "5.000"),
        logical("allReduce", "1_2", "300.000", "5.000"), physical("allReduce", "301.001", "5.000"),
        logical("allReduce", "1_3", "400.000", "5.000"), physical("allReduce", "400.000", "6.001"),
        logical("allReduce", "1_4", "500.000", "5.000"), physical("allReduce", "499.000", "7.000"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {1: (0, "aiv_near"), 3: (2, "aiv_near"), 9: (8, "aiv_near")}


@in_one_lake
def test_the_closest_pair_of_all_goes_first(tmp_path):
    # 1 is 600 + 600 ns from 0 and 200 + 200 from 2; 3 is 400 + 400 from 2, and 1200 from 0.
    rows = (
        logical("allReduce", "1_0", "100.000", "5.000"), physical("allReduce", "100.600", "5.000"),
        logical("allReduce", "2_0", "100.800", "5.000"), physical("allReduce", "101.200", "5.000"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {1: (2, "aiv_near")}
    assert ask(lake, "SELECT kernel_id FROM ascend_kernels WHERE unpaired") == [(3,)]


@in_one_lake
def test_who_loses_the_closest_takes_the_next(tmp_path):
    # Row 0 is 300 from 3 and 500 from 2, row 1 is 100 from 3: rows 1 and 3 pair, then 0 and 2.
    rows = (
        physical("allReduce", "100.300", "5.000"), physical("allReduce", "100.500", "5.000"),
        logical("allReduce", "1_0", "99.800", "5.000"), logical("allReduce", "2_0", "100.600", "5.000"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {1: (3, "aiv_near"), 0: (2, "aiv_near")}


@in_one_lake
def test_of_equally_close_rows_the_earlier_in_the_file_pairs(tmp_path):
    rows = (
        physical("allReduce", "100.400", "5.000"), physical("allReduce", "99.600", "5.000"),
        logical("allReduce", "1_0", "100.000", "5.000"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {0: (2, "aiv_near")}


@in_one_lake
def test_a_chain_of_near_rows_pairs_as_greed_would(tmp_path):
    # Each gap is smaller than the one before, so that the last pair settles first: rounds follow each other.
    gaps = [700 - 20 * nth for nth in range(30)]
    at, starts = 100_000, []
    for gap in gaps:
        starts.append(at)
        at += gap
    rows = [
        (logical("allReduce", f"1_{nth}", us, "5.000") if nth % 2 else physical("allReduce", us, "5.000"))
        for nth, us in enumerate(f"{start / 1000:.3f}" for start in starts)
    ]
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == greedy(rows)


@in_one_lake
def test_pairs_of_random_rows_are_those_of_greed(tmp_path):
    seeded = random.Random(7)
    rows = []
    for _ in range(300):
        start, dur = 100_000 + seeded.randrange(60_000), 2_000 + seeded.randrange(900)
        kind, device = seeded.choice(["allReduce", "allGather"]), str(seeded.randrange(2))
        make = seeded.choice([
            lambda kind, *args, **more: logical(kind, "1_0", *args, **more), physical,
            lambda kind, *args, **more: service(kind.lower(), *args, **more),
        ])  # fmt: skip
        rows.append(make(kind, f"{start / 1000:.3f}", f"{dur / 1000:.3f}", Device_id=device))
    lake = yield table(tmp_path, *rows)
    found = pairs(lake, *rows)
    assert {rule for _, rule in found.values()} >= {"aiv_near", "aicpu_service"}
    assert found == greedy(rows)


def greedy(rows):
    """Pair rows one after the other: the rules in plain Python."""
    read = [one_row(nth, row) for nth, row in enumerate(rows)]
    whole = [one for one in read if one["role"] == "logical"]
    exact, near, served = [], [], []
    for row in read:
        for call in (one for one in whole if one["where"] == row["where"]):
            off, end_off = abs(row["start"] - call["start"]), abs(row["end"] - call["end"])
            shared = min(row["end"], call["end"]) - max(row["start"], call["start"])
            spanned = max(row["end"], call["end"]) - min(row["start"], call["start"])
            if row["role"] == "physical" and off == end_off == 0:
                exact.append((row["nth"], call["nth"], row["nth"], call["nth"]))
            elif row["role"] == "physical" and off <= 1000 and end_off <= 1000:
                near.append((off + end_off, row["nth"], row["nth"], call["nth"]))
            elif row["role"] == "service" and 2 * shared >= spanned:
                served.append((-shared / spanned, off, call["nth"], row["nth"]))
    found, taken = {}, set()
    for rule, options in (("aiv_exact", exact), ("aiv_near", near)):
        for *_, nth, call in sorted(options):
            if nth not in found and call not in taken:
                found[nth] = (call, rule)
                taken.add(call)
    taken = set()
    for *_, call, nth in sorted(served):
        if nth not in found and call not in taken:
            found[nth] = (call, "aicpu_service")
            taken.add(call)
    return {row["nth"]: (None, "aicpu_service") for row in read if row["role"] == "service"} | found


def one_row(nth, row):
    """Return a row with its times in ns, its role, and what it pairs within."""
    start, dur = (round(float(row[column]) * 1000) for column in ("Start Time(us)", "Duration(us)"))
    role = "service" if "AicpuKernel" in row["Name"] else "physical" if "AivKernel" in row["Name"] else "logical"
    kind = row["Type"].lower().removeprefix("hcom_").replace("_", "").removesuffix("aicpukernel")
    return {"nth": nth, "role": role, "where": (row.get("Device_id", "0"), kind), "start": start, "end": start + dur}


@in_one_lake
def test_devices_and_kinds_pair_apart(tmp_path):
    rows = (
        logical("allReduce", "1_0", "100.000", "5.000", Device_id="0"),
        physical("allReduce", "100.000", "5.000", Device_id="1"),
        logical("allGather", "1_1", "200.000", "5.000"), physical("allReduce", "200.000", "5.000"),
        logical("allReduce", "1_2", "300.000", "5.000", Device_id="1"),
        physical("allReduce", "300.000", "5.000", Device_id="1"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {5: (4, "aiv_exact")}
    assert ask(lake, "SELECT device, hcom_rows, counted_rows FROM double_counts ORDER BY ALL") == [(0, 3, 3), (1, 3, 2)]


@in_one_lake
def test_a_capture_of_physical_rows_alone_counts_them_all(tmp_path):
    rows = [physical("allReduce", f"{100 + nth}.000", "0.500") for nth in range(3)]
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {}
    assert ask(lake, "SELECT counted_rows, unpaired_rows FROM double_counts") == [(3, 3)]


@in_one_lake
def test_a_service_row_pairs_beside_a_vector_kernel(tmp_path):
    rows = (
        logical("allReduce", "1_0", "100.000", "50.000"), physical("allReduce", "100.000", "50.000"),
        service("allreduce", "99.000", "52.000"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {1: (0, "aiv_exact"), 2: (0, "aicpu_service")}
    found = ask(lake, "SELECT partner_id, partner_stream FROM ascend_kernels WHERE kernel_id = 0")
    assert found == [(1, 47)]  # the kernel is the collective, the AI CPU only serves it


@in_one_lake
def test_a_service_row_pairs_with_the_call_it_overlaps_most_by_half_at_least(tmp_path):
    rows = (
        logical("allReduce", "1_0", "100.000", "30.000"), logical("allReduce", "2_0", "110.000", "30.000"),
        service("allreduce", "108.000", "30.000"),  # 22 of 38 with the first, 28 of 32 with the second
        logical("allGather", "1_1", "200.000", "20.000"), service("allgather", "210.000", "30.000"),  # 10 of 40
        logical("broadcast", "1_2", "300.000", "10.000"), service("broadcast", "300.000", "20.000"),  # exactly half
        logical("broadcast", "1_3", "400.000", "9.999"), service("broadcast", "400.000", "20.000"),  # just less
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {
        2: (1, "aicpu_service"), 4: (None, "aicpu_service"), 6: (5, "aicpu_service"), 8: (None, "aicpu_service"),
    }  # fmt: skip
    assert ask(lake, "SELECT service_rows, service_us, service_unpaired_rows FROM double_counts") == [(4, 100.0, 2)]


@in_one_lake
def test_a_call_has_one_service_row(tmp_path):
    rows = (
        logical("allReduce", "1_0", "100.000", "30.000"), service("allreduce", "101.000", "30.000"),
        service("allreduce", "100.500", "30.000"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {1: (None, "aicpu_service"), 2: (0, "aicpu_service")}


@in_one_lake
def test_kinds_are_spelled_in_many_ways(tmp_path):
    names = {
        "hcom_allReduce_": "allreduce", "HcomAllReduce": "allreduce", "hcom_reduceScatter_": "reducescatter",
        "hcom_reduce_scatter_": "reducescatter", "HcomReduceScatter": "reducescatter", "hcom_alltoallvc_": "alltoallvc",
        "hcom_send_": "send", "reduce_scatterAicpuKernel": "reducescatter", "hcom_allGather_AicpuKernel": "allgather",
        "alltoallAicpuKernel": "alltoall", "AllGatherMatmulAicpu": "allgather",
    }  # fmt: skip
    rows = [
        {
            "Type": name,
            "Name": name,
            "Accelerator Core": "COMMUNICATION",
            "Start Time(us)": str(nth),
            "Stream ID": "N/A",
        }
        for nth, name in enumerate(names)
    ]
    # The type of these says nothing.
    rows += [
        {"Type": "N/A", "Name": "AivKernel_reduceScatter", "Start Time(us)": "90"},
        {"Type": "Foo", "Name": "hcom_allReduce__428_0_1_AivKernel", "Start Time(us)": "91"},
    ]
    lake = yield write_kernels(tmp_path / "kernel_details.csv", *rows)
    found = ask(lake, "SELECT comm_kind FROM ascend_kernels ORDER BY kernel_id")
    assert [kind for (kind,) in found] == [*names.values(), "reducescatter", "allreduce"]


@in_one_lake
def test_companions_of_fused_operations_serve_and_the_operation_counts(tmp_path):
    rows = (
        {"Type": "MatmulReduceScatter", "Name": "aclnnX_y_MatmulReduceScatter", "Accelerator Core": "MIX_AIC"},
        {"Type": "MatmulReduceScatterAicpu", "Name": "MatmulReduceScatterAicpu", "Accelerator Core": "AI_CPU"},
        {"Type": "CastAiCpu", "Name": "aclnnCast_CastAiCpu_Cast", "Accelerator Core": "AI_CPU"},
    )
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {1: (None, "aicpu_service")}
    assert ask(lake, "SELECT category, kind FROM kernels ORDER BY kernel_id")[0] == ("mc2", "compute")


@in_one_lake
def test_parts_of_a_collective_count_only_outside_of_one(tmp_path):
    def leaked(start, dur):
        return {
            "Name": "Memcpy", "Type": "Memcpy", "Accelerator Core": "HCCL", "Start Time(us)": start,
            "Duration(us)": dur, "Stream ID": "60",
        }  # fmt: skip

    rows = (
        logical("allReduce", "1_0", "100.000", "50.000"), logical("allReduce", "2_0", "140.000", "20.000"),
        leaked("100.000", "10.000"), leaked("145.000", "15.000"), leaked("155.000", "5.001"),
        leaked("300.000", "1.000"),
    )  # fmt: skip
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {2: (None, "small_task"), 3: (None, "small_task")}
    assert ask(lake, "SELECT small_task_rows, small_task_us FROM double_counts") == [(2, 25.0)]
    assert ask(lake, "SELECT DISTINCT category, kind FROM kernels WHERE stream = 60") == [
        ("communication", "communication")
    ]  # fmt: skip


@in_one_lake
def test_byte_identical_rows_are_reported_and_count(tmp_path):
    row = {"Type": "Add", "Start Time(us)": "10.000", "Duration(us)": "2.000"}
    lake = yield table(tmp_path, row, row, row | {"Task ID": "8"}, row | {"Device_id": "1"})
    assert pairs(lake, row, row, row | {"Task ID": "8"}, row | {"Device_id": "1"}) == {}
    found = ask(lake, "SELECT device, exact_duplicates, exact_duplicates_us FROM double_counts ORDER BY ALL")
    assert found == [(0, 1, 2.0), (1, 0, 0.0)]


@in_one_lake
def test_tasks_of_one_number_and_two_contexts_are_no_duplicates(tmp_path):
    rows = [{"Accelerator Core": "MIX_AIV", "Context ID": str(nth), "Type": "NonZero"} for nth in range(2)]
    lake = yield table(tmp_path, *rows)
    assert pairs(lake, *rows) == {}
