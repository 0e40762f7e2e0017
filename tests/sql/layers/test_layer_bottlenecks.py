"""What to look at first in a pass's layers: exposed communication, idle time, outliers, the range of wall times."""

import pytest

from tracelake.reports.trace.layers import verdict

from ...lakes import Files, in_one_lake
from ...support import trace_bytes
from .test_program_layers import PRODUCT, Program


@in_one_lake
def test_communication_that_others_hide_is_no_target(tmp_path):
    def kernel(name, stream, start, end):
        args = {"device": 0, "stream": stream}
        return {
            "ph": "X",
            "cat": "kernel",
            "name": name,
            "pid": 0,
            "tid": 7,
            "ts": start,
            "dur": end - start,
            "args": args,
        }

    # Two layers of 100 us. A collective runs for 95 us, 80 of them below a matmul; the matmul takes 80.
    events = [
        kernel(name, 7, start + offset, end + offset)
        for offset in (0, 200)
        for name, start, end in (("flash_fwd_kernel", 0, 5), ("ncclDevKernel_AllGather", 5, 100), ("sgemm_nn", 10, 90))
    ]
    (tmp_path / "t.json").write_bytes(trace_bytes(events))
    lake = yield Files(tmp_path / "t.json", anchor="flash_fwd_kernel", anchor_role="begin", num_layers=2)
    found = lake.rows("SELECT layers, target, target_pct, idle_pct FROM layer_bottlenecks")
    assert found == [(2, "gemm", 80, 0)]
    assert lake.rows("SELECT DISTINCT category, exposed_us FROM _exposed_layers") == [("communication", 15)]


def anchored(path, layers):
    """Write layers, each a list of `name start-end`, µs; a layer starts 10 ms after the one before."""
    events = []
    for nth, kernels in enumerate(layers):
        for kernel in kernels:
            name, _, span = kernel.partition(" ")
            start, end = map(int, span.split("-"))
            events.append({
                "ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": 10000 * nth + start,
                "dur": end - start, "args": {"device": 0, "stream": 7},
            })  # fmt: skip
    path.write_bytes(trace_bytes(events))
    return Files(path, anchor="flash_fwd_kernel", anchor_role="begin", num_layers=len(layers))


@in_one_lake
def test_one_slow_layer_makes_no_bottleneck_of_its_kind_and_is_named(tmp_path):
    even = ["flash_fwd_kernel 0-5", "sgemm_nn 5-100"]
    odd = ["flash_fwd_kernel 0-5", "rms_norm_kernel 5-15", "sgemm_nn 15-110"]
    # The first layer waits 900 us for its second kernel.
    first = ["flash_fwd_kernel 0-5", "sgemm_nn 905-1000"]
    lake = yield anchored(tmp_path / "cold.json", [first, odd, even, odd, even, odd])
    found = lake.rows(
        "SELECT layer_kind, layers, pass_pct, target, outlier_ids, outlier_pct, outlier_ratio, outlier_idle_pct "
        "FROM layer_bottlenecks"
    )
    # 3 x 110 us beside 2 x 100; the first one has 1000 of 1530 us, and 100 is the median of its kind.
    share, alone = pytest.approx(100 * 330 / 530), pytest.approx(100 * 1000 / 1530)
    assert found == [("B", 3, share, "gemm", [0], alone, 10, 90)]
    assert str(verdict(lake.lake.store, lake.id, 0)).startswith(
        "Outlier: layer 0 takes 65.4 % of the layers' time, 10.0 times the median of its type; the device is idle for "
        "90.0 % of it. Bottleneck: kind-B layers (3 of 5) take 62.3 % of the others' time. Next target: gemm"
    )


@in_one_lake
def test_layers_alike_by_their_kernels_whose_wall_times_differ_have_their_range_named(tmp_path):
    # The second kernel of each comes 30 us later than that of the layer before.
    layers = [["flash_fwd_kernel 0-5", f"sgemm_nn {5 + 30 * nth}-{100 + 30 * nth}"] for nth in range(4)]
    lake = yield anchored(tmp_path / "late.json", layers)
    found = lake.rows(
        "SELECT shortest_id, min_wall_us, longest_id, max_wall_us, min_busy_us, max_busy_us, outlier_ids "
        "FROM layer_bottlenecks"
    )
    assert found == [(0, 100, 3, 190, 100, 100, None)]
    assert (
        "all 4 layers are alike by their kernels; their wall times range from 0.10 ms (layer 0) to 0.19 ms (layer 3), "
        "the time with kernels from 0.10 to 0.10 ms."
    ) in str(verdict(lake.lake.store, lake.id, 0))


@in_one_lake
def test_a_loop_of_the_compiler_hides_no_communication_and_is_no_work(tmp_path):
    # Each turn gathers its weights for 40 us, computes for 24 us, and waits for 6.
    body = [("all-gather.1", 40, ""), ("add_fusion.1", 2, ""), ("fusion.2", 5, PRODUCT),
            ("splash_mha_fwd.3", 9, ""), ("fusion.4", 8, PRODUCT)]  # fmt: skip
    program = Program()
    program.add("gather_fusion.20", 7, "")
    program.operations.append(f"while.22 {program.now}+{12 * 70}")
    for _ in range(12):
        for kernel in body[:3]:
            program.add(*kernel)
        program.now += 6
        for kernel in body[3:]:
            program.add(*kernel)
    program.add("fusion.23", 6, PRODUCT)
    program.modules.append(f"jit_step(4711) 0+{program.now}")
    lake = yield program.written(tmp_path)
    assert lake.rows("SELECT exposed_us, count(*) FROM _exposed_layers GROUP BY ALL") == [(40, 12)]
    share = "round(target_pct, 6), round(idle_pct, 6)"
    [(target, *shares)] = lake.rows(f"SELECT target, {share} FROM layer_bottlenecks")
    assert (target, *shares) == ("communication", round(100 * 40 / 70, 6), round(100 * 6 / 70, 6))
    assert lake.rows("SELECT exposed_communication_us FROM time_breakdown") == [(12 * 40,)]


@in_one_lake
def test_layers_whose_kernels_take_longer_are_no_outliers(tmp_path):
    # Six layers of 145 us; the experts of two take 480 us for 40, and one of these two waits 2000 us more.
    layers, hot = [], 585 - 145
    for more, wait in ((0, 0), (hot, 0), (0, 0), (0, 0), (hot, 2000), (0, 0)):
        layers.append(["flash_fwd_kernel 0-5", f"sgemm_nn {5 + wait}-{105 + wait}",
                       f"fused_moe_kernel {105 + wait}-{145 + wait + more}"])  # fmt: skip
    lake = yield anchored(tmp_path / "hot.json", layers)
    [(layer_count, target, share, outliers)] = lake.rows(
        "SELECT layers, target, target_pct, outlier_ids FROM layer_bottlenecks"
    )
    # The experts of five layers: 4 x 40 + 480 of 4 x 145 + 585 us.
    assert (layer_count, target, outliers) == (5, "moe_gemm", [4])
    assert share == pytest.approx(100 * 640 / 1165)
