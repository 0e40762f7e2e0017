"""Collectives: one row per call, sizes and bandwidths as nccl-tests count them, calls matched across ranks."""

import json

import pytest

import tracelake

from ... import summary_cases as cases
from ...lakes import Files, in_one_lake, ingest_at_once
from ...support import trace_bytes
from ..ascend.files import logical, write_folder


def kineto(name, start, dur, device=0, stream=20, **args):
    """Return a kernel as the PyTorch profiler writes it; times in µs."""
    return {
        "ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": start, "dur": dur,
        "args": {"device": device, "stream": stream, **args},
    }  # fmt: skip


def nccl(name, start, dur, kind, elements_in, elements_out, *, size=4, dtype="BFloat16", group="0", ranks=None, **more):
    """Return a kernel of NCCL with what PyTorch says of the call."""
    args = {
        "Collective name": kind, "In msg nelems": elements_in, "Out msg nelems": elements_out, "Group size": size,
        "dtype": dtype, "Process Group Name": group, "Process Group Ranks": ranks or str(list(range(size))),
    }  # fmt: skip
    return kineto(name, start, dur, **args, **more)


def rows(lake, query):
    relation = lake.sql(query)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


def written(folder, name, events, **around):
    """Write events as a trace."""
    path = folder / f"{name}.json"
    path.write_bytes(trace_bytes(events, **around))
    return path


@pytest.fixture(scope="module")
def jax(tmp_path_factory):
    """Cases A, B and G."""
    folder = tmp_path_factory.mktemp("jax")
    lake = tracelake.open(folder / "lake")
    lake.ingest(*(cases.write_case(folder / f"{name}.json", getattr(cases, f"CASE_{name}")) for name in "ABG"))
    return lake


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        # kind: calls, total, exposed, hidden, of all devices
        ("A", {"all-reduce": (2, 40, 40, 0)}),
        # The all-gather of device 3 is in flight 10 µs beside the all-reduce, which is what exposes them.
        ("B", {"all-gather": (2, 70, 0, 60), "all-reduce": (2, 35, 35, 0)}),
        ("G", {"all-gather": (1, 50, 0, 50), "reduce-scatter": (1, 40, 40, 0)}),
    ],
)
def test_time_is_exposed_once_and_hidden_where_the_device_computes(jax, case, expected):
    found = jax.rows(
        "SELECT kind, sum(calls), sum(sum_us), sum(exposed_us), sum(hidden_us) FROM collective_kinds "
        "JOIN traces USING (trace_id) WHERE trace = $1 GROUP BY kind",
        [case],
    )
    assert {kind: tuple(figures) for kind, *figures in found} == expected


@in_one_lake
def test_start_and_done_are_one_call_from_the_first_to_the_last(tmp_path):
    # The start lasts 1, the transfer runs beside two fusions, the done waits 9; another start of the same name follows
    # in the next run. A done whose start lies before the trace stands alone.
    done = '{"long_name": "%ag-done.9 = bf16[8,16]{1,0} all-gather-done(bf16[8,16]{1,0} %all-gather-start.1)"}'
    lake = yield cases.write_case(tmp_path / "t.json", [
        (1, "/device:TPU:0", {
            "XLA Modules": 'jit_f(1) 10+60 {"run_id": "1"}; jit_f(1) 100+60 {"run_id": "2"}',
            "XLA Ops": f"all-gather-start.1 10+1; fusion.1 11+19; fusion.2 30+10; all-gather-done.9 40+9 {done}; "
                       f"all-gather-start.1 100+1; fusion.1 101+19; all-gather-done.9 120+4 {done}",
        }),
    ])  # fmt: skip
    found = rows(lake, "SELECT name, operations, dur_us, exposed_us, hidden_us FROM collectives ORDER BY start_ns")
    assert found == [
        {"name": "all-gather-start.1", "operations": 2, "dur_us": 39, "exposed_us": 10, "hidden_us": 29},
        {"name": "all-gather-start.1", "operations": 2, "dur_us": 24, "exposed_us": 5, "hidden_us": 19},
    ]


@in_one_lake
def test_the_flight_that_a_line_of_its_own_shows_belongs_to_the_call(tmp_path):
    lake = yield cases.write_case(tmp_path / "t.json", [
        (1, "/device:TPU:0", {
            "XLA Ops": "all-gather-start.1 10+1; fusion.1 11+19; all-gather-done.1 30+2",
            "Async XLA Ops": "all-gather-start.1 10+21",
        }),
    ])  # fmt: skip
    [found] = rows(lake, "SELECT operations, dur_us, exposed_us, hidden_us FROM collectives")
    assert found == {"operations": 3, "dur_us": 22, "exposed_us": 3, "hidden_us": 19}


@pytest.mark.parametrize(
    ("kind", "elements_in", "elements_out", "size_bytes", "factor"),
    [
        # Of 8 ranks, elements of 2 bytes; 100 µs. Sizes: nccl-tests doc/PERFORMANCE.md.
        ("allreduce", 1000, 1000, 2000, 2 * 7 / 8),
        ("_allgather_base", 1000, 8000, 16000, 7 / 8),
        ("_reduce_scatter_base", 8000, 1000, 16000, 7 / 8),
        ("all_to_allv", 8000, 8000, 16000, 7 / 8),
        ("broadcast", 1000, 1000, 2000, 1),
        ("send", 1000, 0, 2000, 1),
    ],
)
@in_one_lake
def test_bandwidths_are_those_of_nccl_tests(tmp_path, kind, elements_in, elements_out, size_bytes, factor):
    event = nccl("ncclDevKernel_SendRecv", 0, 100, kind, elements_in, elements_out, size=8)
    lake = yield written(tmp_path, "t", [event])
    [found] = rows(lake, "SELECT bytes, algorithm_gbps, bus_gbps, bytes_source FROM collectives")
    assert found["bytes"] == size_bytes
    assert found["algorithm_gbps"] == pytest.approx(size_bytes / 100e3)
    assert found["bus_gbps"] == pytest.approx(factor * size_bytes / 100e3)
    assert found["bytes_source"] == "arguments"


@in_one_lake
def test_an_older_trace_tells_kind_and_size_by_the_annotation_around_the_launch(tmp_path):
    events = [
        {"ph": "X", "cat": "user_annotation", "name": "nccl:all_to_all", "pid": 9, "tid": 9, "ts": 0, "dur": 10,
         "args": {"Input Dims": [[4, 250]], "Input type": ["float"]}},
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 5, "dur": 1,
         "args": {"correlation": 7}},
        # Launched after the annotation has ended: nobody says what it is.
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 15, "dur": 1,
         "args": {"correlation": 8}},
        kineto("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", 20, 40, correlation=7),
        kineto("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", 80, 40, correlation=8),
    ]  # fmt: skip
    lake = yield written(tmp_path, "t", events)
    found = rows(lake, "SELECT kind, bytes, bytes_source, bus_gbps FROM collectives ORDER BY start_ns")
    assert found == [
        {"kind": "all-to-all", "bytes": 4000, "bytes_source": "annotation", "bus_gbps": None},
        {"kind": "send-recv", "bytes": None, "bytes_source": None, "bus_gbps": None},
    ]


@in_one_lake
def test_exchanges_with_experts_are_all_to_alls_that_are_exposed_where_nothing_computes(tmp_path):
    # 22 + 28 µs of TensorRT-LLM's exchange, 7 + 9 of pplx's; experts compute for 40 µs, beside none of them.
    moe = "void tensorrt_llm::kernels::moe_comm::moeA2A{}Kernel<__nv_bfloat16, 8>(int)"
    events = [
        kineto(moe.format("PrepareDispatch"), 0, 2), kineto(moe.format("Dispatch"), 2, 22),
        kineto("fused_moe_kernel", 24, 40, stream=7), kineto(moe.format("Combine"), 64, 28),
        kineto("void a2a_kernels::a2a_dispatch_send_kernel<true, 16ul, 8ul>(int)", 100, 7),
        kineto("void a2a_kernels::a2a_combine_recv_kernel<true, 16ul, 8ul>(int)", 110, 9),
    ]  # fmt: skip
    lake = yield written(tmp_path, "t", events)
    assert lake.rows("SELECT kind, dur_us, exposed_us FROM collectives ORDER BY start_ns") == [
        ("all-to-all", dur, dur) for dur in (22, 28, 7, 9)
    ]
    # What prepares the exchange is routing on the device itself.
    assert lake.rows("SELECT exposed_communication_us, compute_us FROM time_breakdown") == [(66, 42)]


@pytest.mark.parametrize(
    ("names", "kinds"),
    [
        # DeepEP and its port UCCL-EP have the same kernels in other namespaces.
        ("void deep_ep::internode_ll::{dispatch,combine}<true, false, 7168>(void*)", ["all-to-all"] * 2),
        ("void uccl::internode_ll::{dispatch,combine}<true, false, 7168>(void*)", ["all-to-all"] * 2),
        # MoRI's exchange between nodes: copies to and from what the network reads are steps of it.
        (
            "Ep{DispatchCopyToStaging,CombineSync,CombineSyncBarrier,CombineInterNodeV1Kernel,CombineAll}_bf16",
            ["all-to-all", "all-to-all", "barrier", "all-to-all", "all-to-all"],
        ),
        # Of Transformer Engine, around its products.
        (
            "void userbuffers_fp16_sum_inplace_gpu_{rw_ag<8>,rr_rs_oop<8>,rr_rs_oop_fp8<8,mc_ag,mc_rs_oop,rw<8>}(int)",
            ["all-gather", "reduce-scatter", "reduce-scatter", "all-gather", "reduce-scatter", "all-reduce"],
        ),
    ],
)
@in_one_lake
def test_all_kernels_of_a_library_of_exchanges_communicate(tmp_path, names, kinds):
    # Each takes 10 us, experts after them 40.
    before, steps, after = names.replace("}", "{").split("{")
    names = [before + step + after for step in steps.split(",")]
    events = [kineto(name, 10 * nth, 10) for nth, name in enumerate(names)]
    lake = yield written(tmp_path, "t", [*events, kineto("fused_moe_kernel", 10 * len(names), 40)])
    assert lake.rows("SELECT kind FROM collectives ORDER BY start_ns") == [(kind,) for kind in kinds]
    found = lake.rows("SELECT exposed_communication_us, compute_us FROM time_breakdown")
    assert found == [(10 * len(names), 40)]


@in_one_lake
def test_an_older_trace_tells_the_group_by_the_shapes_of_the_operator_around_the_launch(tmp_path):
    def call(at, name, dims, element, number):
        return [
            {"ph": "X", "cat": "cpu_op", "name": name, "pid": 9, "tid": 9, "ts": at, "dur": 10,
             "args": {"Input Dims": [*dims, []], "Input type": [element, element, ""]}},
            {"ph": "X", "cat": "user_annotation", "name": f"nccl:{name[6:-1]}", "pid": 9, "tid": 9, "ts": at + 1,
             "dur": 8, "args": {"Input Dims": dims[1:], "Input type": [element]}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": at + 5, "dur": 1,
             "args": {"correlation": number}},
            kineto("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", 100 * number, 50, correlation=number),
        ]  # fmt: skip

    events = [
        *call(0, "c10d::_allgather_base_", [[8, 100], [2, 100]], "signed char", 1),
        *call(20, "c10d::_reduce_scatter_base_", [[300], [1500]], "c10::BFloat16", 2),
        *call(40, "c10d::alltoall_base_", [[700], [600]], "float", 3),
        # No ratio of whole numbers, and no tensor that has elements: nothing shows the group.
        *call(60, "c10d::_allgather_base_", [[7], [2]], "float", 4),
        *call(80, "c10d::_allgather_base_", [[0], [0]], "float", 5),
    ]
    lake = yield written(tmp_path, "t", events, distributedInfo={"rank": 0, "world_size": 16})
    columns = "kind, group_size, group_size_source, bytes, bytes_source, dtype, bus_gbps"
    # Output before input. Of 4 ranks 800 bytes are gathered; of 5, 1500 values of 2 bytes scattered, in 50 µs.
    assert lake.rows(f"SELECT {columns} FROM collectives ORDER BY start_ns") == [
        ("all-gather", 4, "operator", 800, "operator", "int8", pytest.approx(3 / 4 * 800 / 50e3)),
        ("reduce-scatter", 5, "operator", 3000, "operator", "bf16", pytest.approx(4 / 5 * 3000 / 50e3)),
        ("all-to-all", 16, "world size", 2800, "operator", "fp32", pytest.approx(15 / 16 * 2800 / 50e3)),
        ("all-gather", 16, "world size", 16 * 8, "operator", "fp32", pytest.approx(15 / 16 * 128 / 50e3)),
        ("all-gather", 16, "world size", 0, "operator", "fp32", 0),
    ]


def test_a_real_all_gather_has_the_ranks_that_its_operator_shows_and_not_those_of_the_job(real_lake):
    lake = real_lake("kineto/hta_trace_filter_sampled_rank-0.json.gz")
    found = lake.rows("SELECT DISTINCT group_size, group_size_source, bytes FROM collectives WHERE kind = 'all-gather'")
    # c10d::_allgather_base_ of 16777216 bytes to 1073741824, 64 times as many, in a job of 128 ranks.
    assert found == [(64, "operator", 1073741824)]


#: What the clock of each rank shows at the moment 0, µs.
CLOCKS = (0, 5000, -3000, 7)
#: When each rank comes to call n, after 1000 n; the others are there at 0, 2, 4 and 1 µs.
ARRIVALS = (0, 2, 30, 1)


def ranks_of_a_run(folder, *, calls=5, numbered=True, leave_out=()):
    """Return the traces of four ranks; of the calls each ends 20 µs after the last, rank 2, has come."""
    paths = []
    for rank, (clock, arrival) in enumerate(zip(CLOCKS, ARRIVALS, strict=True)):
        events = [
            nccl("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 100_000 + 1000 * call + clock + arrival, 50 - arrival,
                 "allreduce", 1_000_000, 1_000_000, **({"Seq": call} if numbered else {}))
            for call in range(calls) if (rank, call) not in leave_out
        ]  # fmt: skip
        around = {"distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 4}, "of": str(folder)}
        paths.append(written(folder, f"rank{rank}", events, **around))
    # A test's run, and its traces, are its own.
    return Files(*paths, run=str(folder))


@pytest.mark.parametrize("numbered", [True, False])
@in_one_lake
def test_ranks_of_a_run_are_matched_and_their_clocks_compared_by_the_ends(tmp_path, numbered):
    lake = yield ranks_of_a_run(tmp_path, numbered=numbered)
    found = rows(lake, f"SELECT * FROM collective_calls WHERE run = '{tmp_path}' ORDER BY first_ns")
    assert len(found) == 5
    for call in found:
        assert call["matched_by"] == ("sequence" if numbered else "order")
        assert (call["participants"], call["group_size"], call["last_rank"]) == (4, 4, 2)
        assert (call["skew_us"], call["transfer_us"], call["waiting_us"]) == (30, 20, 30 + 28 + 29)
        # 2 MB in 20 µs, times 2 · 3/4.
        assert call["algorithm_gbps"] == pytest.approx(100)
        assert call["bus_gbps"] == pytest.approx(150)
        assert call["clock_residual_us"] == 0
    clocks = lake.rows("SELECT DISTINCT rank, clock_offset_us FROM collective_ranks ORDER BY rank")
    assert clocks == list(enumerate(CLOCKS))
    late = rows(lake, "SELECT rank, last_pct, caused_us, mean_late_us FROM stragglers ORDER BY rank")
    # The last but one comes 2 µs after the first, so rank 2 alone costs 28 µs a call.
    assert late[2] == {"rank": 2, "last_pct": 100, "caused_us": 5 * 28, "mean_late_us": 30}
    assert [row["caused_us"] for row in late] == [0, 0, 140, 0]


@in_one_lake
def test_ranks_are_matched_by_number_though_one_of_them_missed_a_call(tmp_path):
    lake = yield ranks_of_a_run(tmp_path, leave_out={(3, 0)})
    found = lake.rows(
        "SELECT participants, skew_us, transfer_us FROM collective_calls WHERE run = $1 ORDER BY first_ns",
        [str(tmp_path)],
    )
    assert found == [(3, 30, None), *[(4, 30, 20)] * 4]
    # Of the group every rank is there, for the other calls.
    assert checks(lake) == {}


def ranks_of_groups(folder, *, world, present, **args):
    """Return traces of ranks of a job: each begins an all-reduce 1 µs after the one before, and all end at 100 µs."""
    return Files(*(
        written(
            folder, f"rank{rank}",
            [kineto("ncclDevKernel_AllReduce", rank, 100 - rank, **{
                "In msg nelems": 8, "Out msg nelems": 8, "dtype": "Float", "Seq": 1,
                **{key: value(rank) for key, value in args.items()},
            })],
            distributedInfo={"rank": rank, "world_size": world}, of=str(folder),
        )
        for rank in present
    ), run=str(folder))  # fmt: skip


def of_a_pair(rank):
    return str([rank // 2 * 2, rank // 2 * 2 + 1])


@pytest.mark.parametrize(
    ("settings", "transfers", "expected"),
    [
        # Two pairs, of a job of eight: no rank of a group is missing. The second of a pair begins at 1, or at 3.
        ({"world": 8, "present": range(4), "Process Group Ranks": of_a_pair}, [97, 99], set()),
        # Of three ranks that list their group the fourth is missing.
        ({"world": 4, "present": (0, 1, 3), "Process Group Ranks": lambda _: "[0, 1, 2, 3]"}, [None],
         {"rank 2 of 4 is not in the lake"}),
        # A list that was shortened names nobody.
        ({"world": 64, "present": range(3), "Process Group Ranks": lambda _: "[0, 1, ..., 63]",
          "Group size": lambda _: 64}, [None], {"no call has more than 3 of the 64 ranks"}),
        # Nothing names a group: it may be the whole job, of which ranks are missing.
        ({"world": 8, "present": range(4)}, [None], {"ranks 4, 5, 6 and 1 more of 8 are not in the lake"}),
        # Or it is a part, as the calls of two pairs have other numbers, and all of the job are there.
        ({"world": 4, "present": range(4), "Seq": lambda rank: rank // 2}, [97, 99], set()),
        # One rank alone is compared with none.
        ({"world": 4, "present": (1,), "Process Group Ranks": lambda _: "[0, 1, 2, 3]"}, [], set()),
    ],
)  # fmt: skip
@in_one_lake
def test_a_transfer_is_measured_where_no_rank_of_the_group_is_missing(tmp_path, settings, transfers, expected):
    lake = yield ranks_of_groups(tmp_path, **settings)
    found = lake.rows("SELECT transfer_us FROM collective_calls WHERE run = $1 ORDER BY ALL", [str(tmp_path)])
    assert [transfer for (transfer,) in found] == transfers
    reasons = lake.rows("SELECT message FROM health WHERE \"check\" = 'collectives_incomplete' AND severity <> 'ok'")
    assert {message.rpartition(" (")[2].rstrip(")") for (message,) in reasons} == expected


@in_one_lake
def test_a_rank_that_counts_otherwise_is_matched_with_none(tmp_path):
    lake = yield ranks_of_a_run(tmp_path, numbered=False, leave_out={(3, 0)})
    assert lake.rows("SELECT DISTINCT participants FROM collective_calls WHERE run = $1", [str(tmp_path)]) == [(3,)]
    assert lake.rows("SELECT DISTINCT rank FROM collective_ranks ORDER BY ALL") == [(0,), (1,), (2,)]


def test_groups_of_one_name_and_other_ranks_are_not_matched(lake, tmp_path):
    files = {}
    for rank in range(4):
        pair = "[0, 1]" if rank < 2 else "[2, 3]"
        events = [nccl("ncclDevKernel_AllReduce", 10 + rank, 20, "allreduce", 8, 8, size=2, ranks=pair, Seq=1)]
        files[written(tmp_path, f"rank{rank}", events)] = {"run": "r", "rank": rank}
    ingest_at_once(lake, files)
    found = lake.rows("SELECT call, list(rank ORDER BY rank) FROM collective_ranks GROUP BY call ORDER BY ALL")
    assert [ranks for _, ranks in found] == [[0, 1], [2, 3]]


@in_one_lake
def test_traces_of_no_run_are_not_matched(tmp_path):
    lake = yield Files(*(
        written(tmp_path, f"trace{rank}", [nccl("ncclDevKernel_AllReduce", rank, 20, "allreduce", 8, 8, Seq=1)])
        for rank in range(2)
    ))  # fmt: skip
    assert lake.rows("SELECT count(*) FROM collective_ranks") == [(0,)]


@pytest.fixture(scope="module")
def k1(real_lake):
    return real_lake("jax/tpu_inference_k1.trace.json.gz")


def test_two_devices_of_a_real_trace_meet_at_each_collective(k1):
    # Starts of all-reduce.1: 1145093.822229 and 1145133.642… µs; it ends 25.4 µs after the later.
    found = rows(k1, "SELECT * FROM collective_calls ORDER BY first_ns")
    assert [call["kind"] for call in found] == ["all-reduce"] * 129 + ["all-gather"] * 2
    assert {call["participants"] for call in found} == {2}
    first = found[0]
    assert (first["skew_us"], first["transfer_us"], first["last_device"]) == (39.82, 25.453, 1)
    # bf16[1024,5120] on 2 ranks, for which the factor of an all-reduce is 1.
    assert first["bytes"] == 2 * 1024 * 5120
    assert first["bus_gbps"] == first["algorithm_gbps"] == pytest.approx(2 * 1024 * 5120 / 25453)
    # Nobody leaves an all-reduce before the other has come: no transfer takes less than the link allows.
    assert min(call["transfer_us"] for call in found if call["kind"] == "all-reduce") > 20


def test_sums_of_a_real_trace_are_those_of_the_specification(k1):
    found = k1.rows("SELECT kind, sum(calls), sum(sum_us) FROM collective_kinds GROUP BY kind ORDER BY kind")
    # Rounded to nanoseconds, start and end: 1 ns an event.
    assert found == [("all-gather", 4, pytest.approx(7.967, abs=0.004)),
                     ("all-reduce", 258, pytest.approx(6888.667, abs=0.258))]  # fmt: skip


def test_a_real_trace_of_an_older_pytorch_has_all_to_alls_and_no_messages(real_lake):
    lake = real_lake("kineto/hta_trace_diff_control_control.json.gz")
    found = lake.rows("SELECT kind, calls, bus_gbps IS NOT NULL FROM collective_kinds ORDER BY kind")
    # Nothing names a group; distributedInfo says that the job has 8 ranks.
    assert found == [("all-reduce", 18, True), ("all-to-all", 42, True)]
    sizes = "SELECT DISTINCT group_size, group_size_source FROM collectives"
    assert lake.rows(sizes) == [(8, "world size")]
    [(size, factor)] = lake.rows(
        "SELECT bytes, bus_gbps / algorithm_gbps FROM collectives WHERE kind = 'all-reduce' ORDER BY start_ns LIMIT 1"
    )
    assert size is not None
    assert factor == pytest.approx(2 * 7 / 8)


@in_one_lake
def test_the_worlds_size_is_a_groups_where_nothing_names_one_and_never_a_messages(tmp_path):
    def anonymous(kind, start, **args):
        return kineto(f"ncclDevKernel_{kind}", start, 10, **{"In msg nelems": 8, "Out msg nelems": 8,
                                                             "dtype": "Float", **args})  # fmt: skip

    events = [
        anonymous("AllReduce", 0), anonymous("SendRecv", 20),
        anonymous("AllReduce", 40, **{"Process Group Name": "tp"}),
        anonymous("AllReduce", 60, **{"Process Group Name": "tp", "Process Group Ranks": "[0, 1, 2]"}),
        anonymous("AllReduce", 80, **{"Group size": 2}),
    ]  # fmt: skip
    lake = yield written(tmp_path, "t", events, distributedInfo={"rank": 0, "world_size": 16})
    found = lake.rows("SELECT group_size, group_size_source FROM collectives ORDER BY start_ns")
    assert found == [(16, "world size"), (None, None), (None, None), (3, "ranks"), (2, "arguments")]
    assert checks(lake)["collectives_of_the_world"] == 20


def checks(lake):
    """Return what `doctor` says of collectives: check and value."""
    return dict(
        lake.rows("SELECT \"check\", value FROM health WHERE \"check\" LIKE 'collectives_%' AND severity <> 'ok'")
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        # Five calls of a rank, less one that is left out.
        ({"numbered": True}, {}),
        ({"numbered": False}, {}),
        ({"numbered": False, "leave_out": {(3, 0)}}, {"collectives_unnumbered": 4, "collectives_incomplete": 5}),
        ({"numbered": True, "leave_out": {(0, 0), (1, 0), (2, 0)}}, {"collectives_unmatched": 1}),
    ],
)
@in_one_lake
def test_doctor_says_why_collectives_are_matched_with_none(tmp_path, settings, expected):
    lake = yield ranks_of_a_run(tmp_path, **settings)
    assert checks(lake) == expected


@in_one_lake
def test_doctor_says_that_the_other_ranks_are_not_there_and_that_sizes_are_missing(tmp_path):
    lake = yield written(
        tmp_path, "t", [kineto("ncclDevKernel_AllReduce", 0, 10), kineto("ncclDevKernel_SendRecv", 20, 10)]
    )
    # Of no run, a trace is compared with itself.
    assert lake.rows("SELECT * FROM collective_calls WHERE run = $1", [lake.id]) == []
    assert lake.rows("FROM stragglers") == []
    assert checks(lake) == {"collectives_alone": 1, "collectives_point_to_point": 1, "collectives_unsized": 100,
                            "collectives_of_unknown_group": 50}  # fmt: skip


def test_a_real_trace_of_a_newer_pytorch_tells_sizes_and_groups(real_lake):
    lake = real_lake("kineto/vllm_gpt-oss_prefill_tp_b200.json.gz")
    [found] = rows(lake, "SELECT * FROM collectives WHERE process_group IS NOT NULL")
    assert (found["kind"], found["group_size"], found["bytes"], found["dtype"]) == ("all-gather", 8, 402176, "bf16")
    assert found["bus_gbps"] == pytest.approx(402176 / 21953 * 7 / 8)
    # symm_mem::multimem_all_reduce_ has its tensor as first input: 2557440 or 2727936 values of BF16.
    own = lake.rows(
        "SELECT bytes / 2, bytes_source, dtype, sum(count(*)) OVER () FROM collectives WHERE kind = 'all-reduce' "
        "GROUP BY ALL ORDER BY ALL"
    )
    assert own == [(2557440, "operator", "bf16", 73), (2727936, "operator", "bf16", 73)]


@pytest.mark.parametrize(
    "name",
    [
        "jax/tpu_inference_k1.trace", "kineto/deepseek-v3_train_h800", "kineto/hta_trace_filter_sampled_rank-0",
        "kineto/vllm_gpt-oss_prefill_tp_b200",
    ],
)  # fmt: skip
def test_exposed_times_of_the_collectives_sum_to_the_device_s(real_lake, name):
    lake = real_lake(f"{name}.json.gz")
    found = lake.rows(
        "SELECT round(1000 * sum(exposed_us)), round(1000 * any_value(exposed_communication_us)) "
        "FROM collectives JOIN time_breakdown USING (trace_id, device) GROUP BY trace_id, device"
    )
    assert found
    assert all(of_calls == of_device > 0 for of_calls, of_device in found)
    assert lake.rows("SELECT count(*) FROM collectives WHERE exposed_us + hidden_us > dur_us + 1e-6") == [(0,)]


def test_an_instruction_is_matched_in_the_same_run_of_its_program_alone(jax):
    # Case B: the all-gather is in the first run on one device, and in the second on the other.
    found = jax.rows(
        "SELECT name, participants, skew_us, last_device FROM collective_calls JOIN collectives "
        "ON trace_id = last_trace_id AND device = last_device AND collectives.start_ns = first_ns + 1000 * skew_us "
        "JOIN traces USING (trace_id) WHERE trace = 'B'"
    )
    assert found == [("all-reduce.5", 2, 5, 1)]


def test_hccl_names_its_group_in_the_operation(real_lake):
    lake = real_lake("ascend/kernel_details_training_910b_arithmetic.csv")
    found = lake.rows("SELECT name, process_group FROM collectives WHERE starts_with(name, 'hcom_')")
    assert found
    assert all(group and f"_{group}_" in name for name, group in found)


def transfer(dur, megabytes):
    """Return what communication.json says of a collective: its length, and what moved over two classes of links."""
    links = {link: {"Transit Size(MB)": size} for link, size in
             (("HCCS", megabytes - 0.5), ("SDMA", megabytes - 0.5), ("RDMA", 0.5))}  # fmt: skip
    return {
        "Communication Time Info": {"Start Timestamp(us)": "100", "Elapse Time(ms)": dur / 1000},
        "Communication Bandwidth Info": links,
    }


#: Kind, MB moved in 10 µs, and in a group of 4 the size, and both bandwidths. A ring of 4 moves 2 x 3/4 of what it
#: reduces, 3/4 of what it gathers; a broadcast does not tell who sent how often.
TRANSFERS = [
    ("allReduce", 3, 2e6, 200, 300), ("allGather", 1.5, 2e6, 200, 150), ("reduceScatter", 1.5, 2e6, 200, 150),
    ("broadcast", 1, None, None, 100),
]  # fmt: skip


def npu_folder(folder):
    """Write a rank's folder of NPU 0 with a table of kernels and communication.json."""
    calls = [(f"{n}_0_1", 100 + 20 * n, *row) for n, row in enumerate(TRANSFERS)]
    written = write_folder(folder, [logical(kind, f"42{nth}", str(at), "10.000") for nth, at, kind, *_ in calls], [])
    said = {f"hcom_{kind}__42{nth}@77{nth[0]}": transfer(10, moved) for nth, _, kind, moved, *_ in calls}
    (written / "ASCEND_PROFILER_OUTPUT" / "communication.json").write_text(
        json.dumps({"step1": {"p2p": {}, "collective": said}})
    )
    return written


@in_one_lake
def test_what_a_rank_of_npus_moved_gives_the_bus_bandwidth(tmp_path):
    lake = yield npu_folder(tmp_path)
    query = "SELECT moved_bytes, bytes, bytes_source, algorithm_gbps, bus_gbps FROM collectives ORDER BY start_ns"
    # 10 µs: a MB is 100 GB/s. How many ranks shared it nothing tells.
    assert lake.rows(query) == [
        (1e6 * moved, None, None, None, pytest.approx(100 * moved)) for _, moved, *_ in TRANSFERS
    ]


def test_the_group_of_a_cluster_s_file_gives_the_size_of_what_was_exchanged(lake, tmp_path):
    cluster = tmp_path / "cluster_communication.json"
    groups = {f"hcom_x__42{n}_0@77{n}": {"0": transfer(10, 1)} for n in range(len(TRANSFERS))}
    cluster.write_text(json.dumps({"(0, 1, 2, 3)": {"step1": groups}}))
    lake.ingest(npu_folder(tmp_path), cluster, run="r")
    found = lake.rows(
        "SELECT kind, group_size, bytes, bytes_source, algorithm_gbps, bus_gbps FROM collectives ORDER BY start_ns"
    )
    assert [row[0] for row in found] == ["all-reduce", "all-gather", "reduce-scatter", "broadcast"]
    for (_, ranks, *measured), (*_, size, algorithm, bus) in zip(found, TRANSFERS, strict=True):
        assert ranks == 4
        assert measured == [size, "transfers" if size else None, algorithm and pytest.approx(algorithm),
                            pytest.approx(bus)]  # fmt: skip
