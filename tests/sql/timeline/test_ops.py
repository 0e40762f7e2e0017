"""Operations, their names and shapes, by hand on small traces. Times in microseconds."""

import json

import pytest

from ...lakes import in_one_lake
from ...summary_cases import CASE_A, CASE_B, write_case

#: Names, what they count as, and the reference's family and category.
NAMES = {
    "fusion.1": ("fusion", "compute", "other", "compute"),
    "%fusion.12": ("fusion", "compute", "other", "compute"),
    "fusion.clone": ("fusion.clone", "compute", "fusion", "compute"),
    "fusion.1.remat": ("fusion.1.remat", "compute", "fusion", "compute"),
    "exponential_reduce_fusion.3": ("exponential_reduce_fusion", "compute", "fusion", "compute"),
    "copy.564": ("copy", "compute", "copy", "compute"),
    "copy-start.9": ("copy-start", "dma", "copy", "compute"),
    "copy_bitcast_fusion.2": ("copy_bitcast_fusion", "compute", "other", "compute"),
    "psum.29": ("psum", "communication", "other", "communication"),
    "psum_scatter.1": ("psum_scatter", "communication", "other", "communication"),
    "async-collective-start.4": ("async-collective-start", "communication", "collective", "communication"),
    "collective-broadcast.1": ("collective-broadcast", "communication", "collective", "communication"),
    "send.1": ("send", "communication", "other", "communication"),
    "input_permute_fusion.1": ("input_permute_fusion", "compute", "other", "communication"),
    "all_reduce.2": ("all_reduce", "communication", "other", "compute"),
    "reduce_scatter.3": ("reduce_scatter", "communication", "other", "compute"),
    "all_to_all.4": ("all_to_all", "communication", "other", "compute"),
    "barrier-cores": ("barrier-cores", "wait", "other", "stall"),
    "ncclDevKernel_AllGather_RING_LL": (
        "ncclDevKernel_AllGather_RING_LL", "communication", "collective", "communication",
    ),
}  # fmt: skip

#: Instructions, the shapes and types of their results, and the shapes that the reference reads.
INSTRUCTIONS = [
    ("%fusion.1 = bf16[128256,512]{1,0:T(8,128)(2,1)} fusion(bf16[4,4]{1,0} %p0), kind=kLoop",
     "128256,512", "bf16", "128256,512"),
    ("%ce.1 = (f32[65536, 512]{1,0}, f32[2,512,128256]{2,1,0}) custom-call(bf16[65536,2048]{1,0} %a), x=1",
     "65536,512|2,512,128256", "f32|f32", "65536,512|2,512,128256"),
    ("%cs = (pred[1024]{0}, pred[1024]{0}, u32[]{:S(2)}) copy-start(pred[1024]{0} %a)",
     "1024|1024|[]", "pred|pred|u32", "1024|1024"),
    ("%f = (f32[16,128]{1,0:T(8,128)}, f32[4,128]{1,0:T(4,128)}) fusion(f32[1]{0} %a)",
     "16,128|4,128", "f32|f32", "16,128|4,128"),
    ("dot(bf16[8,16]{1,0}, bf16[16,32]{1,0})", "8,16|16,32", "bf16|bf16", "8,16|16,32"),
    ("%c = s32[]{:T(128)} constant(0)", "[]", "s32", None),
    ("%m = f8e4m3fn[128,256]{1,0} fusion(bf16[128,256]{1,0} %p)", "128,256", "f8e4m3fn", None),
    ("%m = s64[7]{0} add(s64[7]{0} %p)", "7", "s64", None),
]  # fmt: skip


def written(folder, case):
    return write_case(folder / "case.json", case)


def line_of(described):
    """Return a trace of one line: name and arguments of each operation, 5 long and 10 apart."""
    text = "; ".join(
        f"{name} {nth * 10}+5" + (f" {json.dumps(args)}" if args else "") for nth, (name, args) in enumerate(described)
    )
    return [(1, "/device:TPU:0", {"XLA Ops": text})]


@in_one_lake
def test_names(tmp_path):
    lake = yield written(tmp_path, line_of([(name, None) for name in NAMES]))
    found = {
        row[0]: row[1:]
        for row in lake.rows(
            "SELECT ops.name, ops.canonical_name, ops.class, r.family, r.category FROM ops JOIN compat_ops AS r "
            "ON r.trace_id = ops.trace_id AND r.name = ops.name"
        )
    }
    assert found == NAMES


@in_one_lake
def test_shapes(tmp_path):
    described = [(f"op{n}.1", {"long_name": long_name}) for n, (long_name, *_) in enumerate(INSTRUCTIONS)]
    lake = yield written(tmp_path, line_of(described))
    rows = lake.rows(
        "SELECT ops.name, ops.shape, ops.dtype, r.shape FROM ops JOIN compat_ops AS r USING (trace_id, name)"
    )
    assert {row[0]: row[1:] for row in rows} == {
        f"op{n}.1": tuple(shapes) for n, (_, *shapes) in enumerate(INSTRUCTIONS)
    }


@in_one_lake
def test_own_times_and_the_reference_s_order(tmp_path):
    lake = yield written(tmp_path, CASE_A)
    own = {
        "while.7": 15, "fusion.1": 70, "fusion.2": 105, "all-reduce.1": 20, "psum.9": 20, "barrier-wait.3": 15,
    }  # fmt: skip
    assert dict(lake.rows("SELECT name, self_us FROM ops")) == own
    rows = lake.rows("SELECT name, exclusive_us FROM compat_ops ORDER BY place")
    assert [name for name, _ in rows] == [
        "fusion.2", "fusion.1", "all-reduce.1", "psum.9", "while.7", "barrier-wait.3",
    ]  # fmt: skip
    assert dict(rows) == own


@in_one_lake
def test_shares_are_of_devices_and_window_and_programs_are_apart(tmp_path):
    lake = yield written(tmp_path, CASE_B)
    rows = lake.rows(
        "SELECT program, sum(self_us), sum(calls), sum(window_pct) / 2, sum(self_us) / 350 * 100 FROM ops "
        "WHERE name = 'fusion.1' GROUP BY program"
    )
    # 160 of 2 devices of 200 each.
    assert rows == [("jit_train_step", 160, 4, pytest.approx(40), pytest.approx(45.714286))]
    assert lake.rows("SELECT role, sum(self_us), max(busy_pct) FROM ops WHERE name LIKE 'all-gather%' GROUP BY 1") == [
        ("async", 70, None)
    ]
    executions = lake.rows("SELECT DISTINCT execution_id FROM _device_ops WHERE role = 'op' ORDER BY 1")
    assert executions == [(70,), (71,)]
    [(total,)] = lake.rows("SELECT total_us FROM compat_ops WHERE name = 'fusion.1'")
    assert total == 160


@in_one_lake
def test_what_is_in_flight_beside_the_operations_has_a_category(tmp_path):
    """Only operations are kernels: a collective or copy that shows on the line of transfers alone was `other`."""
    lines = {
        "XLA Ops": "fusion.1 0+50; barrier-cores 50+5",
        "Async XLA Ops": "all-reduce-start.1 5+9; copy-start.2 20+9; send.3 40+5; custom.4 46+2",
    }
    lake = yield written(tmp_path, [(1, "/device:TPU:0", lines)])
    assert lake.rows("SELECT name, class, category FROM ops WHERE role = 'async' ORDER BY name") == [
        ("all-reduce-start.1", "communication", "communication"),
        ("copy-start.2", "dma", "memcpy"),
        ("custom.4", "compute", "other"),
        ("send.3", "communication", "communication"),
    ]


@in_one_lake
def test_shares_of_streams_that_run_at_once_do_not_pass_a_hundred(tmp_path):
    lines = {"Stream #1(Kernel)": "a 0+100", "Stream #2(Kernel)": "b 0+100", "Stream #3(Kernel)": "c 0+50; d 150+50"}
    lake = yield written(tmp_path, [(1, "/device:GPU:0", lines)])
    rows = lake.rows("SELECT name, busy_pct, window_pct FROM ops ORDER BY 1")
    # 300 in all; of the window of 200 the device is busy for 150.
    assert [row[0] for row in rows] == ["a", "b", "c", "d"]
    assert [row[1] for row in rows] == pytest.approx([100 / 3, 100 / 3, 50 / 3, 50 / 3])
    assert [row[2] for row in rows] == pytest.approx([25, 25, 12.5, 12.5])


@in_one_lake
def test_the_start_and_the_end_of_an_asynchronous_copy_move_nothing_themselves(tmp_path):
    """XLA gives both the bytes of the copy, which runs in between: 6 MB in 1 µs would be 6 TB/s."""
    text = "copy-start.1 0+1 {}; fusion.1 1+10 {}; copy-done.1 11+1 {}; all-gather-done.1 12+1 {}".format(
        *(
            json.dumps({"hlo_category": category, "bytes_accessed": str(size)})
            for category, size in (
                ("copy-start", 6_000_000), ("loop fusion", 8_000_000), ("copy-done", 2_000_000),
                ("all-gather-done", 2_000_000),
            )
        )
    )  # fmt: skip
    lake = yield written(tmp_path, [(1, "/device:TPU:0", {"XLA Ops": text})])
    # Only the fusion moves its bytes while it runs: 8 MB in 10 µs.
    assert lake.rows("SELECT name, bytes, gbps FROM ops WHERE bytes IS NOT NULL") == [("fusion.1", 8_000_000, 800)]
    assert lake.rows("SELECT display_name, gbps FROM kernel_roofline WHERE bytes IS NOT NULL") == [("fusion.1", 800)]
    # What XLA says stays to be read, without a rate.
    assert lake.rows("SELECT hlo_op, xla_bytes, xla_gbps FROM hlo_ops WHERE category = 'memcpy' ORDER BY 1") == [
        ("copy-done.1", 2_000_000, None), ("copy-start.1", 6_000_000, None),
    ]  # fmt: skip


# Figures of the public TPU trace; a nanosecond for each event.
def test_a_real_tpu_trace(real_lake):
    lake = real_lake("jax/tpu_inference_k1.trace.json.gz")
    assert [round(us) for (us,) in lake.rows("SELECT sum(self_us) FROM ops GROUP BY device ORDER BY device")] == [
        67209, 67207,
    ]  # fmt: skip
    # By deduplicated_name of the file, else by the name: the first of the copies has no other.
    rows = lake.rows("SELECT dedup_name, sum(calls), sum(self_us) FROM ops GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT 3")
    assert [(name, calls) for name, calls, _ in rows] == [
        ("convolution_bitcast_fusion", 124), ("RPA-bq_32-bkvp_64-p_64-.1", 128), ("fusion.6", 124),
    ]  # fmt: skip
    assert [us for *_, us in rows] == pytest.approx([42940.401, 34020.042, 27194.758], abs=0.13)
    rows = lake.rows("SELECT count(DISTINCT program), sum(calls), sum(self_us) FROM ops WHERE name = 'fusion'")
    assert rows == [(3, 6, pytest.approx(792.606, abs=0.01))]
    rows = lake.rows(
        "SELECT tflops, xla_model_flop FROM ops WHERE name = 'convolution_bitcast_fusion.63' ORDER BY device"
    )
    assert [flop for _, flop in rows] == [289946992640] * 2
    assert [tflops for tflops, _ in rows] == pytest.approx([736.490, 735.277], abs=0.002)
    [(flop, gbps)] = lake.rows(
        "SELECT sum(xla_model_flop) / sum(self_us) / 1e6, sum(bytes) / sum(self_us) / 1e3 FROM ops "
        "WHERE hlo_category = 'convolution fusion'"
    )
    assert (flop, gbps) == (pytest.approx(756.157, abs=0.01), pytest.approx(1057.632, abs=0.01))
    [(proxy,)] = lake.rows("SELECT proxy FROM compat_ops WHERE name = 'convolution_bitcast_fusion.63'")
    assert proxy == 28311552
    # XLA counts 72.529 GB, of which 12.173 are starts and ends of copies and slices beside the operations.
    for device, gflop, gigabytes in lake.rows(
        "SELECT device, sum(xla_model_flop) / 1e9, sum(bytes) / 1e9 FROM ops WHERE program = 'jit_step_fun' "
        "GROUP BY device"
    ):
        assert (device, gflop, gigabytes) == (
            device, pytest.approx(31974.463, abs=0.001), pytest.approx(72.529 - 12.173, abs=0.001),
        )  # fmt: skip
