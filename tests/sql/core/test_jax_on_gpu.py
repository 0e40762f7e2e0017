"""JAX: which lines of a device count, and of which device they are."""

import pytest

from tracelake.lake import Lake

from ...lakes import in_one_lake
from ...summary_cases import CASE_G, write_case

DRAWN = {
    "XLA Modules": "jit_train 10+290",
    "XLA Ops": "fusion_1 10+100; gemm_fusion_dot_3 120+80; all-gather.1 150+50; reduce-scatter.2 260+40",
    "Framework Ops": "train 10+190",
    "Source code": "train.py:7 10+190",
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    (pid, process, streams), *host = CASE_G
    with Lake(folder / "lake") as made:
        drawn = [(pid, process, {**DRAWN, **streams}), *host]
        made.ingest(write_case(folder / "streams.json", CASE_G), write_case(folder / "drawn.json", drawn))
        yield made


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name, kind, category, start_ns, dur_ns FROM kernels",
        "SELECT compute_us, communication_us, exposed_communication_us, memory_us, idle_us FROM time_breakdown",
        "SELECT name, calls, self_us FROM ops",
        "SELECT path, inclusive_us, busy_us FROM regions",
    ],
)
def test_operations_drawn_over_kernels_count_once(lake, query):
    alone, drawn = (
        lake.rows(f"{query} WHERE trace_id = $1 ORDER BY ALL", [lake.resolve(trace)]) for trace in ("streams", "drawn")
    )
    assert alone == drawn != []


def test_the_lines_say_what_they_are(lake):
    rows = lake.rows("SELECT thread, role FROM lines WHERE trace_id = $1 AND device = 0", [lake.resolve("drawn")])
    assert dict(rows) == {
        "XLA Modules": "module", "XLA Ops": "annotation", "Framework Ops": "annotation", "Source code": "annotation",
        "Stream #0(compute)": "operation", "Stream #1(nccl)": "operation",
    }  # fmt: skip


@pytest.mark.parametrize("listed", ["Compute", "compute", "Compute,MemcpyD2D", "MemcpyD2D,Compute", "MemcpyD2D,Kernel"])
@in_one_lake
def test_what_else_a_stream_ran_makes_no_copies_of_its_kernels(tmp_path, listed):
    streams = {
        f"Stream #14({listed})": "gemm_fusion_dot_1 100+50; MemcpyD2D 150+10; loop_add_fusion 160+40",
        "Stream #15(MemcpyH2D,Memset)": "MemcpyH2D 190+20",
        "Stream #20(Compute)": "ncclDevKernel_AllGather_RING_LL 120+100",
    }
    lake = yield write_case(tmp_path / f"{listed}.json", [(1, "/device:GPU:0", streams)])
    columns = "compute_us, exposed_communication_us, hidden_communication_us, memory_us, exposed_memory_us"
    assert lake.rows(f"SELECT {columns} FROM time_breakdown") == [(90, 30, 90 - 20, 30, 0)]


@in_one_lake
def test_the_cores_beside_a_tpus_own_are_its(tmp_path):
    ops = "fusion.1 100+100; all-reduce.8 300+50"
    planes = [(3 + nth, f"/device:TPU:{nth}", {"XLA Ops": ops}) for nth in range(3)]
    planes.append((7, "/device:TPU:0 SparseCore 0", {"Sparse Core Ops": "gather.1 310+140"}))
    planes.append((2, "/device:TPU:0 SparseCore 1", {"Sparse Core Ops": "gather.2 310+160"}))
    lake = yield write_case(tmp_path / "sparse.json", planes)
    rows = lake.rows("SELECT device, compute_us, exposed_communication_us FROM time_breakdown ORDER BY device")
    assert rows == [(0, 100 + 160, 10), (1, 100, 50), (2, 100, 50)]
    # One core's operation encloses none of another's, though both lines are the first of their core.
    assert lake.rows("SELECT * FROM enclosing_kernels") == []


@in_one_lake
def test_a_collective_that_sparse_cores_carry_out_counts_once_as_the_program_starts_and_ends_it(tmp_path):
    ops = (
        "all-gather-start.1 100+5; all-gather-start.2 105+5; fusion.1 110+50; all-gather-done.1 160+10; "
        "fusion.2 170+60; all-gather-done.2 230+20; fusion.3 250+150"
    )
    # The second one ends a microsecond later by the clock of its core. No collective of the program is the exchange,
    # nor that beside the gather.
    gathers = "all-gather.1 106+63; all-gather.2 172+79"
    exchange = "all-to-all.2 120+30; all-to-all.1 300+40"
    cores = [
        (7, "/device:TPU:0 SparseCore 0", {"Sparse Core Ops": f"{gathers}; {exchange}"}),
        (8, "/device:TPU:0 SparseCore 1", {"Sparse Core Ops": gathers}),
    ]
    lake = yield write_case(tmp_path / "offloaded.json", [(3, "/device:TPU:0", {"XLA Ops": ops}), *cores])
    assert lake.rows("SELECT name, dur_us FROM kernels WHERE kind = 'communication' ORDER BY start_ns") == [
        ("all-gather-start.1", 5), ("all-gather-start.2", 5), ("all-to-all.2", 30), ("all-gather-done.1", 10),
        ("all-gather-done.2", 20), ("all-to-all.1", 40),
    ]  # fmt: skip
    assert lake.rows("SELECT name, dur_us, operations FROM collectives ORDER BY start_ns") == [
        ("all-gather-start.1", 170 - 100, 2), ("all-gather-start.2", 250 - 105, 2), ("all-to-all.2", 30, 1),
        ("all-to-all.1", 40, 1),
    ]  # fmt: skip
    assert lake.rows("SELECT compute_us, exposed_communication_us, idle_us FROM time_breakdown") == [(260, 40, 0)]
    assert lake.rows("SELECT DISTINCT role FROM ops WHERE name LIKE 'all-gather.%'") == [("async",)]


@pytest.mark.parametrize(
    ("steps", "runs"),
    [
        # The second run begins on stream 13 at 160, while the first one is on stream 14 until 165.
        (("0", "1"), [(0, 100, 65), (1, 160, 60)]),
        # Without a step, what overlaps is one run.
        ((None, None), [(0, 100, 120)]),
    ],
)
@in_one_lake
def test_a_run_that_two_streams_of_a_gpu_show_is_one(tmp_path, steps, runs):
    first, second = (f' {{"group_id": "{step}"}}' if step else "" for step in steps)
    lines = {
        "Stream #13(Compute)": "loop_add_fusion 100+50; loop_add_fusion 160+50",
        "Stream #14(Compute)": "ncclDevKernel_AllReduce_RING_LL 120+45; ncclDevKernel_AllReduce_RING_LL 175+45",
        "XLA Modules - from #13": f"jit_f(7) 100+50{first}; jit_f(7) 160+50{second}",
        "XLA Modules - from #14": f"jit_f(7) 120+45{first}; jit_f(7) 175+45{second}",
    }
    lake = yield write_case(tmp_path / f"steps_{steps[0]}.json", [(1, "/device:GPU:0", lines)])
    found = lake.rows("SELECT program_id, start_ns, dur_us FROM programs ORDER BY program_id")
    origin = found[0][1]
    assert [(run, (start - origin) // 1000 + 100, us) for run, start, us in found] == runs


@in_one_lake
def test_programs_of_two_streams_that_overlap_are_two_runs(tmp_path):
    lines = {"XLA Modules - from #13": "jit_f(7) 100+50", "XLA Modules - from #14": "jit_g(8) 120+45"}
    lake = yield write_case(tmp_path / "two_programs.json", [(1, "/device:GPU:0", lines)])
    assert lake.rows("SELECT program, dur_us FROM programs ORDER BY start_ns") == [("jit_f", 50), ("jit_g", 45)]


@in_one_lake
def test_steps_of_a_gpu_have_the_number_behind_the_name_of_their_annotation(tmp_path):
    # group_id is a number of the capture's own.
    steps = 'train 10 100+50 {"group_id": "0"}; train 11 150+50 {"group_id": "1"}; eval 200+20 {"group_id": "2"}'
    lines = {"Steps": steps, "Stream #13(Compute)": "loop_add_fusion 100+40; loop_add_fusion 150+70"}
    lake = yield write_case(tmp_path / "numbered.json", [(1, "/device:GPU:0", lines)])
    found = lake.rows("SELECT step_number, dur_us FROM steps ORDER BY start_ns")
    assert found == [(10, 50), (11, 50), (None, 20)]


@in_one_lake
def test_devices_with_their_host_before_the_name_are_those_of_that_host(tmp_path):
    # The names of XProf's streaming viewer.
    streams = {"Stream #13(Compute)": "gemm_fusion_dot_1 100+50", "XLA Modules - from #13": "jit_f(7) 100+50"}
    planes = [(1001 + nth, f"tw003 /device:GPU:{nth}", streams) for nth in range(2)]
    lake = yield write_case(tmp_path / "streamed.json", [*planes, (1701, "tw003 /host:CPU", {"python": "f 0+9"})])
    assert lake.rows("SELECT format, device_name FROM traces") == [("jax", "GPU")]
    assert lake.rows("SELECT device, name FROM kernels ORDER BY 1") == [(nth, "gemm_fusion_dot_1") for nth in (0, 1)]
    assert lake.rows("SELECT device, program FROM programs ORDER BY 1") == [(0, "jit_f"), (1, "jit_f")]
    assert lake.rows("SELECT process, role FROM lines WHERE device IS NULL") == [("/host:CPU", "host")]


@in_one_lake
def test_devices_of_two_hosts_are_apart_though_their_numbers_are_the_same(tmp_path):
    stream = {"Stream #13(Compute)": "gemm_fusion_dot_1 100+50"}
    planes = [(1001, "tw003 /device:GPU:0", stream), (2001, "tw004 /device:GPU:0", stream)]
    lake = yield write_case(tmp_path / "hosts.json", planes)
    assert lake.rows("SELECT count(DISTINCT device), sum(compute_us) FROM time_breakdown") == [(2, 100)]


@in_one_lake
def test_the_path_of_a_gpus_kernel_is_the_name_of_its_instruction_not_the_annotation_around_its_program(tmp_path):
    args = '"tf_op": "XlaModule:", "hlo_module": "jit_f", "hlo_op":'
    back = '"name": "jit(f)/transpose(jvp(Model))/layers_3/dot_general"'
    kernels = (
        f'nvjet 100+40 {{{args} "cublas-gemm.1", {back}}}; '
        # The name of an argument of the program, and a command buffer, whose kernels have none.
        f'wrapped_transpose 140+10 {{{args} "wrapped_transpose", "name": "x"}}; '
        f'loop_add_fusion 150+5 {{{args} "command_buffer_1"}}'
    )
    lake = yield write_case(tmp_path / "paths.json", [(1, "/device:GPU:0", {"Stream #14(Compute)": kernels})])
    assert lake.rows("SELECT hlo_op, tf_op FROM hlo_ops ORDER BY sum_us DESC") == [
        ("cublas-gemm.1", "jit(f)/transpose(jvp(Model))/layers_3/dot_general"),
        ("wrapped_transpose", None), ("command_buffer_1", None),
    ]  # fmt: skip
    assert lake.rows("SELECT name, path, phase FROM ops ORDER BY sum_us DESC") == [
        ("nvjet", "f=>Model=>layers_3=>dot_general", "backward"), ("wrapped_transpose", None, None),
        ("loop_add_fusion", None, None),
    ]  # fmt: skip
    assert lake.rows("SELECT path, busy_us FROM regions WHERE depth = 1 ORDER BY 2") == [
        ("(unattributed)", 15), ("f", 40),
    ]  # fmt: skip


@pytest.mark.parametrize(("events", "value"), [(1_000_000, 1), (999_999, 0)])
def test_a_chrome_trace_with_the_most_events_that_the_profiler_writes_is_not_whole(tmp_path, events, value):
    lines = {"XLA Ops": "fusion.1 1+5", "python": "f 1+1"}
    case = write_case(tmp_path / "capped.json", [(3, "/device:TPU:0", lines)])
    head, tail = case.read_text().rsplit("]", 1)
    more = ',{"ph": "X", "pid": 701, "tid": 1, "ts": 2, "dur": 1, "name": "f"}' * (events - len(lines))
    case.write_text(f"{head}{more}]{tail}")
    with Lake(tmp_path / "lake", stored=False) as lake:
        lake.ingest(case)
        assert lake.rows("SELECT value FROM trace_checks WHERE \"check\" = 'capped'") == [(value,)]
