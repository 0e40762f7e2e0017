"""Other streams than the layers': collectives that a layer's kernels wait for, kernels launched from within a layer."""

from tracelake.lake import Lake

from ...kernel_traces import Trace
from ...lakes import in_one_lake
from ...support import trace_bytes

#: Kernels of a layer, in µs, one right after the other; `~` on a stream of its own.
LAYER = [
    ("rms_norm_kernel", 3), ("qkv_gemm", 20), ("flash_fwd_kernel", 14), ("o_gemm", 10),
    ("~ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 8), ("fused_add_rms_norm_kernel", 3),
    ("~void deep_ep::intranode::dispatch<8>(int)", 6), ("fused_moe_kernel", 37),
    ("~void deep_ep::intranode::combine<8>(int)", 9),
]  # fmt: skip
LAYERS, PASSES = 6, 4


def captured():
    """Return passes of layers, a head behind each, and beside the products a collective that nothing waits for."""
    events, now = [], 0.0

    def run(name, dur, stream=7, beside=False):
        nonlocal now
        event = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": now, "dur": dur}
        events.append({**event, "args": {"device": 0, "stream": stream}})
        if not beside:
            now += dur

    for _ in range(PASSES):
        run("embedding_kernel", 4)
        for _ in range(LAYERS):
            for name, dur in LAYER:
                if name == "qkv_gemm":
                    run("ncclDevKernel_AllGather_RING_LL", 25, 30, beside=True)
                run(name.removeprefix("~"), dur, 20 if name.startswith("~") else 7)
        run("lm_head_gemm", 30)
        run("argmax_kernel", 4)
        # Of no layer: what all ranks have drawn.
        run("ncclDevKernel_Broadcast_RING_LL", 5, 20)
        now += 60
    return events


@in_one_lake
def test_a_layer_has_the_collectives_that_its_kernels_wait_for(tmp_path):
    path = tmp_path / "experts.json"
    path.write_bytes(trace_bytes(captured()))
    lake = yield path
    whole = sum(dur for _, dur in LAYER)
    rows = lake.rows(
        "SELECT wall_us, sum_us, busy_us, kernel_count, comm_count, stream, count(*) FROM layers GROUP BY ALL"
    )
    assert rows == [(whole, whole, whole, len(LAYER), 3, 7, LAYERS * PASSES)]
    assert lake.rows("SELECT DISTINCT span_us, busy_us FROM passes") == [(LAYERS * whole, LAYERS * whole)]
    assert (
        lake.rows("SELECT DISTINCT half, name FROM layer_kernels WHERE kind = 'communication' AND half IS NULL") == []
    )
    # One kind of layer, and the collectives of no layer are in none.
    assert lake.rows("SELECT count(DISTINCT layer_kind) FROM _typed_layers") == [(1,)]
    apart = lake.rows(
        "SELECT k.name, count(*) FROM kernels AS k ANTI JOIN layer_kernels USING (trace_id, kernel_id) "
        "WHERE k.kind = 'communication' GROUP BY ALL ORDER BY ALL"
    )
    assert apart == [
        ("ncclDevKernel_AllGather_RING_LL", LAYERS * PASSES), ("ncclDevKernel_Broadcast_RING_LL", PASSES),
    ]  # fmt: skip


#: Kernels of a layer in the order of their launches, 5 us each; those of the shared expert run beside the routed ones.
ROUTED = ["rms_norm_kernel", "qkv_gemm", "flash_fwd_kernel", "o_gemm", "fused_add_rms_norm_kernel", "moe_gate_kernel"]
SHARED = ["shared_up_gemm", "act_and_mul_kernel", "shared_down_gemm"]
EXPERTS = ["fused_moe_kernel", "fused_moe_kernel", "moe_sum_kernel"]


@in_one_lake
def test_a_layer_has_the_kernels_that_it_launches_on_another_stream(tmp_path):
    trace = Trace()
    launched = now = 0.0

    def launch(name, start, **where):
        nonlocal launched
        trace.kernel(name, launched, start, 5.0, **where)
        launched += 2

    for _ in range(PASSES):
        launched = now = max(launched, now) + 100
        launch("embedding_kernel", now := now + 6)
        for _ in range(LAYERS):
            for name in ROUTED:
                launch(name, now := now + 6)
            for place, name in enumerate(SHARED):
                # They run late: the last one beside the next layer.
                launch(name, now + 10 + 6 * place, stream=9)
            for name in EXPERTS:
                launch(name, now := now + 6)
        launch("lm_head_gemm", now := now + 6)
        # Launched behind the layers: of none.
        launch("counter_kernel", now + 6, stream=9)
        launch("argmax_kernel", now := now + 6)
    lake = yield trace.write(tmp_path / "shared.json")
    names = sorted([*ROUTED, *SHARED, *EXPERTS])
    rows = lake.rows("""
        SELECT names, count(*)
        FROM (
            SELECT list(kernels.name ORDER BY kernels.name) AS names
            FROM layer_kernels JOIN kernels USING (trace_id, kernel_id) GROUP BY pass_id, layer_id
        )
        GROUP BY names
    """)
    assert rows == [(names, LAYERS * PASSES)]
    assert lake.rows("SELECT DISTINCT sum_us, kernel_count FROM layers") == [(5 * len(names), len(names))]
    # What runs beside the next layer is in no limits.
    assert lake.rows("SELECT DISTINCT wall_us FROM layers") == [(6 * len(ROUTED + EXPERTS) - 1,)]
    assert lake.rows("SELECT DISTINCT sum(wall_us) OVER (PARTITION BY pass_id, layer_id) FROM layer_halves") == [
        (6 * len(ROUTED + EXPERTS) - 2,)
    ]
    assert lake.rows("FROM _layers_hold_their_kernels") == []


def test_kernels_launched_behind_a_graph_are_of_no_layer(tmp_path):
    # All kernels of a replay have one launch time. With some thousands of them DuckDB would now and then join with
    # another one than the last, so the question is asked several times.
    layers, replays = 40, 40
    trace = Trace()
    now = 0.0
    for replay in range(replays):
        launched = now = now + 100
        trace.kernel("embedding_kernel", launched, now := now + 6, 5.0)
        for name in [*ROUTED, *EXPERTS] * layers:
            trace.replayed(name, launched + 2, now := now + 6, 5.0, replay)
        for nth in range(4):
            trace.kernel("counter_kernel", launched + 4 + nth, now + 6 * nth, 5.0, stream=9)
        trace.kernel("lm_head_gemm", launched + 8, now := now + 6, 5.0)
    with Lake(tmp_path / "lake") as lake:
        lake.ingest(trace.write(tmp_path / "replayed.json"))
        rows = lake.sql("SELECT kernel_count, count(*) FROM layers GROUP BY ALL").fetchall()
        assert rows == [(len(ROUTED) + len(EXPERTS), layers * replays)]
        asked = [lake.sql("SELECT count(*) FROM _beside_places").fetchall() for _ in range(8)]
        assert asked == [[(0,)]] * 8


@in_one_lake
def test_a_gather_ahead_of_a_layer_and_a_reduction_behind_it_are_not_of_its_time(tmp_path):
    # Sharded weights: each layer launches its gather, which runs beside the layer before, and a reduction, which runs
    # beside the one behind. The first gather and the last reduction, which ends 18 us after the other kernels, have
    # nothing to run beside: their layers wait. Each layer waits for its all-reduce, and 5 us for a kernel of no layer.
    trace, host, now = Trace(), 0.0, 0.0
    for _ in range(PASSES):
        trace.kernel("embedding_kernel", host, now := now + 1000, 5.0)
        start = now + 5 + 20
        for layer in range(LAYERS):
            host += 30
            trace.kernel("ncclDevKernel_AllGather_RING_LL", host + 1, start - (35 if layer else 20), 20.0, stream=21)
            trace.kernel("rms_norm_kernel", host + 3, start, 10.0)
            trace.kernel("nvjet_qkv", host + 5, start + 15, 15.0)
            trace.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", host + 7, start + 30, 10.0, stream=20)
            trace.kernel("ncclDevKernel_ReduceScatter_RING_LL", host + 9, start + 43, 15.0, stream=22)
            trace.module(f"ToyDecoderLayer_{layer}", host, 20)
            trace.kernel("counter_kernel", host + 25, start + 10, 5.0, stream=30)
            start += 40
        host, now = host + 500, start
        trace.kernel("nvjet_head", host - 400, now + 30, 5.0)
    lake = yield trace.write(tmp_path / "sharded.json")
    rows = lake.rows(
        "SELECT layer_id, wall_us, busy_us, gap_after_us, sum_us, comm_count, stream, count(*) FROM layers "
        "GROUP BY ALL ORDER BY layer_id"
    )
    assert rows == [
        (0, 60, 55, 0, 70, 3, 7, PASSES),
        *[(layer, 40, 35, 0, 70, 3, 7, PASSES) for layer in range(1, LAYERS - 1)],
        (LAYERS - 1, 58, 50, None, 70, 3, 7, PASSES),
    ]
    assert lake.rows("SELECT DISTINCT span_us FROM passes") == [(20 + 40 * LAYERS + 18,)]
    assert lake.rows("SELECT wall_us FROM layer_halves EXCEPT SELECT wall_us FROM layers") == []
    # Idle is a device that runs nothing: 3 us before the last reduction. Of communication, the first gather, the
    # all-reduces and the last reduction are exposed: 20 + 60 + 15 of 278 us.
    rows = lake.rows("SELECT DISTINCT target, round(target_pct, 6), round(idle_pct, 6) FROM layer_bottlenecks")
    wall = 20 + 40 * LAYERS + 18
    assert rows == [("communication", round(100 * 95 / wall, 6), round(100 * 3 / wall, 6))]
    assert lake.rows("FROM _layers_hold_their_kernels") == []


@in_one_lake
def test_communication_that_the_work_of_no_layer_hides_is_not_exposed(tmp_path):
    # Each layer waits 10 us for its all-reduce; beside it, 6 us of a kernel of no layer.
    trace, host, now = Trace(), 0.0, 0.0
    for _ in range(PASSES):
        for layer in range(LAYERS):
            host, now = host + 30, now + 100
            trace.kernel("rms_norm_kernel", host + 3, now, 15.0)
            trace.kernel("nvjet_qkv", host + 5, now + 15, 15.0)
            trace.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", host + 7, now + 30, 10.0, stream=20)
            trace.kernel("nvjet_out", host + 9, now + 40, 10.0)
            trace.module(f"ToyDecoderLayer_{layer}", host, 20)
            trace.kernel("counter_kernel", host + 25, now + 31, 6.0, stream=30)
    lake = yield trace.write(tmp_path / "beside.json")
    assert lake.rows("SELECT exposed_us, count(*) FROM _exposed_layers GROUP BY ALL") == [(4, LAYERS * PASSES)]
    assert lake.rows("SELECT exposed_communication_us FROM time_breakdown") == [(4 * LAYERS * PASSES,)]
