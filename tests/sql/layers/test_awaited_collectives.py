"""Collectives on streams of their own: those that a layer's kernels wait for are the layer's."""

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
