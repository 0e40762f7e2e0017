"""What lies beside a table of Ascend's kernels, typed: steps, collectives, profiled shapes, simulators."""

import json

import pytest

from tracelake.lake import Lake

from ...lakes import in_one_lake, ingest_at_once
from ...support import data_file
from .counters import ask, ask_one, write_table

GROUP = "6297232067196334501"


def test_ranks_and_stage_of_a_clusters_steps(real_lake):
    lake = real_lake("ascend/cluster_step_trace_time.csv")
    ranks = ask(lake, "SELECT rank, gap_us FROM step_trace_times WHERE type = 'rank' ORDER BY rank")
    assert [rank for rank, _ in ranks] == [*range(8)]
    expected = [0.3311, 0.0327, 0.1677, -0.0500, 0.0900, 0.1300, 0.1500, 0.1700]
    assert [gap for _, gap in ranks] == pytest.approx(expected, abs=5.1e-5)
    assert ask(lake, "SELECT computing_us FROM step_trace_times WHERE rank = 0") == [(80309.68717187493,)]
    assert ask(
        lake,
        "SELECT max(abs(communication_us - overlapped_us - communication_not_overlapped_us)) < 1e-9 "
        "FROM step_trace_times",
    ) == [(True,)]
    columns = ("computing", "communication", "free", "overlapped", "communication_not_overlapped")
    most = ", ".join(f"max({column}_us) FILTER (type = 'rank') = max({column}_us) FILTER (type = 'stage')"
                     for column in columns)  # fmt: skip
    assert ask(lake, f"SELECT {most} FROM step_trace_times") == [(True,) * 5]
    assert ask(lake, "SELECT rank, ranks, gap_us FROM step_trace_times WHERE type = 'stage'") == [
        (None, "(0, 1, 2, 3, 4, 5, 6, 7)", None)
    ]
    assert ask(lake, "SELECT * FROM step_trace_comparison") == []


@pytest.mark.parametrize(
    ("file", "warned"), [("cluster_communication.json", 0), ("cluster_step_trace_time.csv", 0), ("trace_view.json", 0)]
)
def test_a_table_that_is_no_trace_is_not_blamed_for_having_no_operations(real_lake, file, warned):
    lake = real_lake(f"ascend/{file}")
    asked = "SELECT value, severity FROM health WHERE \"check\" = 'no_device_operations'"
    assert ask(lake, asked) == [(warned, "ok")]


def test_collectives_of_a_cluster(real_lake):
    lake = real_lake("ascend/cluster_communication.json")
    found = ask(lake, "SELECT op, rank, elapsed_ms, ranks, step, comm_group FROM communication_ops ORDER BY op, rank")
    names = ["hcom_broadcast__501_0"] * 2 + ["hcom_broadcast__501_1"] * 2
    elapsed = [121.73694384375, 20.798642234375, 27.107999203125, 17.367596484375]
    assert found == [
        (name, place % 2, time, "(0, 1)", "step", GROUP)
        for place, (name, time) in enumerate(zip(names, elapsed, strict=True))
    ]
    first = ask_one(
        lake,
        "SELECT start_ns, transit_ms, wait_ms, synchronise_ms, idle_ms, wait_ratio, transit_mb, kernel_id "
        "FROM communication_ops ORDER BY event_id LIMIT 1",
    )
    # 0.063936 MB by HCCS and 0.021376 MB by PCIE; SDMA is both.
    assert first == {
        "start_ns": 1695054582608213000, "transit_ms": 0.0080599375, "wait_ms": 115.96064153125,
        "synchronise_ms": 102.699834, "idle_ms": 5.768242375, "wait_ratio": 0.9999,
        "transit_mb": pytest.approx(0.085312), "kernel_id": None,
    }  # fmt: skip
    links = ask(
        lake,
        "SELECT link, size_mb, transit_ms, bandwidth_gbps, packets, smallest_mb, largest_mb FROM communication_links "
        "WHERE event_id = (SELECT min(event_id) FROM communication_links) AND size_mb > 0 ORDER BY link",
    )
    assert links == [
        ("HCCS", 0.06393599999999998, 0.02366978125, 2.7012, 21, 0.002752, 0.003072),
        ("PCIE", 0.021376, 0.011499890625, 1.8588, 7, 0.002944, 0.003072),
        ("SDMA", 0.08531199999999997, 0.035169671875, 2.4257, 0, None, None),
    ]


def entry(elapsed: float, start: str, size: float) -> dict:
    """Return what communication.json says of a collective."""
    link = {"Transit Size(MB)": size, "Transit Time(ms)": 0.5, "Bandwidth(GB/s)": 2 * size,
            "Large Packet Ratio": 1, "Size Distribution": {str(size): [1, 0.5]}}  # fmt: skip
    return {
        "Communication Time Info": {"Start Timestamp(us)": start, "Elapse Time(ms)": elapsed, "Wait Time(ms)": 0},
        "Communication Bandwidth Info": {"RDMA": link | {"Transit Size(MB)": 1}, "HCCS": link, "SDMA": link},
    }


@in_one_lake
def test_collectives_find_their_kernels_by_name_and_sums_are_left_out(tmp_path):
    def row(name: str, start: int, dur: int) -> dict[str, str]:
        return {
            "Name": name, "Type": "hcom_allReduce_", "Accelerator Core": "COMMUNICATION", "Stream ID": "N/A",
            "Start Time(us)": str(start), "Duration(us)": str(dur),
        }  # fmt: skip

    output = tmp_path / "host_1_20251120000000000_ascend_pt" / "ASCEND_PROFILER_OUTPUT"
    # The first name is called in both steps.
    names = [
        ("hcom_allReduce__428_0_1", 100, 5),
        ("hcom_allReduce__428_1_1", 200, 6),
        ("hcom_allReduce__428_0_1", 300, 7),
    ]
    write_table(output / "kernel_details.csv", *(row(*name) for name in names))
    total = {"Total Op Info": entry(9, "0", 9)}
    (output / "communication.json").write_text(
        json.dumps({
            "step1": {"p2p": {}, "collective": {
                "hcom_allReduce__428_0_1@77": entry(0.005, "100.000", 4),
                "hcom_allReduce__428_1_1@77": entry(0.006, "200.000", 4), **total}},
            "step2": {"p2p": {}, "collective": {"hcom_allReduce__428_0_1@77": entry(0.007, "300.000", 4), **total}},
        })
    )  # fmt: skip
    lake = yield output.parent
    found = ask(
        lake, "SELECT step, op_kind, op, comm_group, transit_mb, elapsed_ms, kernel_ms FROM communication_ops "
              "ORDER BY start_ns"
    )  # fmt: skip
    assert found == [
        (step, "collective", name, "77", 5, dur / 1000, dur / 1000)
        for step, (name, _, dur) in zip(("step1", "step1", "step2"), names, strict=True)
    ]
    assert ask(lake, "SELECT count(*) FROM communication_links") == [(9,)]


@in_one_lake
def test_links_of_a_matrix(tmp_path):
    link = {"Transport Type": "HCCS", "Transit Time(ms)": 0.5, "Transit Size(MB)": 2, "Bandwidth(GB/s)": 4}
    path = tmp_path / "communication_matrix.json"
    ops = {"hcom_allReduce__428_0_1@77": {"0-1": link, "1-0": link | {"Transport Type": "LOCAL"}}, "Total Op Info": {
        "0-1": link}}  # fmt: skip
    path.write_text(json.dumps({"step1": {"collective": ops}}))
    lake = yield path
    found = ask(
        lake,
        "SELECT step, op_kind, op, comm_group, source_rank, target_rank, transport, size_mb, transit_ms, "
        "bandwidth_gbps FROM communication_matrix ORDER BY source_rank",
    )
    rest = (2, 0.5, 4)
    name = "hcom_allReduce__428_0_1"
    assert found == [
        ("step1", "collective", name, "77", 0, 1, "HCCS", *rest),
        ("step1", "collective", name, "77", 1, 0, "LOCAL", *rest),
    ]


def test_shapes_of_a_profiling_database(real_lake):
    lake = real_lake("ascend/profiling_db/FusedInferAttentionScore.csv")
    found = ask(
        lake,
        "SELECT kernel_type, slots, mean_us, mean_seq_len, tokens, requests, phase FROM profiled_shapes "
        "ORDER BY event_id",
    )
    assert {(kernel_type, slots) for kernel_type, slots, *_ in found} == {("FusedInferAttentionScore", 31)}
    times = [58.2, 60.1, 64.2, 59.0, 780.0, 1286.0, 28.0, 60.0, 120.5, 55.0]
    lengths = [4096, 4096, 4096, 2048, 3518, 3731, 2048, 4096, 8192, -1]
    assert [(row[2], row[3]) for row in found] == [*zip(times, lengths, strict=True)]
    assert [row[4:] for row in found[4:6]] == [(24624, 7, "prefill"), (41040, 11, "prefill")]
    assert {row[6] for row in found[:4] + found[6:]} == {"decode"}


def test_a_table_of_a_type_without_phases(real_lake):
    lake = real_lake("ascend/profiling_db/TransposeBatchMatMul.csv")
    found = ask(lake, "SELECT kernel_type, shape_key, mean_us, phase FROM profiled_shapes ORDER BY event_id")
    assert found == [
        ("TransposeBatchMatMul", "4,16,128;16,128,512", 15, None),
        ("TransposeBatchMatMul", "4,16,512;16,512,128", 12, None),
    ]


@pytest.fixture(scope="module")
def summaries(tmp_path_factory):
    """A lake with four summaries of a simulator's operators."""
    opened = Lake(tmp_path_factory.mktemp("summaries") / "lake")
    names = ("qwen3_32b_decode", "qwen3_32b_prefill", "dsv3_decode", "dsv3_prefill")
    ingest_at_once(opened, {data_file(f"ascend/simulator_op_summary/{name}.json"): {"trace": name} for name in names})
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("name", "calls", "operators", "mapped", "total", "largest", "largest_calls", "largest_us"),
    [
        ("qwen3_32b_decode", 2392, 30, 26, 9261, "aten.mm.default", 129, 3234),
        ("qwen3_32b_prefill", 2392, 30, 26, 1519405, "tensor_cast.matmul_all_reduce.default", 128, 738304),
        ("dsv3_decode", 18360, 46, 40, 179190, "tensor_cast.all_gather.default", 2843, 60751),
        ("dsv3_prefill", 18360, 46, 40, 182472, "tensor_cast.all_gather.default", 2843, 60739),
    ],
)
def test_operators_of_a_simulators_summary(
    summaries, name, calls, operators, mapped, total, largest, largest_calls, largest_us
):
    of = f"FROM simulated_ops JOIN traces USING (trace_id) WHERE trace = '{name}'"
    found = ask_one(
        summaries,
        "SELECT sum(count) FILTER (part = 1) AS calls, count(DISTINCT op_name) AS operators, "
        f"count(DISTINCT op_name) FILTER (mapped) AS mapped, sum(sum_us) AS total {of}",
    )
    assert found == {"calls": calls, "operators": operators, "mapped": mapped, "total": total}
    by_operator = f"SELECT op_name, any_value(count), sum(sum_us) AS us {of} GROUP BY op_name ORDER BY us DESC"
    assert ask(summaries, f"{by_operator} LIMIT 1") == [(largest, largest_calls, largest_us)]


def test_a_fused_operator_of_a_summary_is_shared_among_its_kernels(summaries):
    found = ask(
        summaries,
        "SELECT kernel_type, part, parts, count, sum_us FROM simulated_ops JOIN traces USING (trace_id) "
        "WHERE trace = 'qwen3_32b_decode' AND op_name = 'tensor_cast.matmul_all_reduce.default' ORDER BY part",
    )
    assert found == [("MatMulV2", 1, 2, 128, 1184), ("hcom_allReduce_", 2, 2, 128, 1184)]


def test_every_operator_that_the_simulator_maps_to_a_kernel_is_mapped_alike_by_the_join_table(summaries):
    found = ask(
        summaries,
        "SELECT DISTINCT op_name, o.kernel_type FROM simulated_ops AS o "
        "WHERE mapped AND parts = 1 AND o.kernel_type IS NOT NULL AND NOT EXISTS (SELECT 1 FROM op_kernel_map AS m "
        "WHERE m.kernel_type = o.kernel_type AND starts_with(op_name, m.op || '.')) ORDER BY ALL",
    )
    assert found == []
