"""Regions, by hand on small traces and by law on real ones. Times in microseconds."""

import gzip
import json

import pytest

from ...lakes import Files, compute_once, in_one_lake
from ...launched import union
from ...summary_cases import CASE_A, CASE_C, CASE_G, write_case
from ...support import data_file, data_files

LAYER = "_train_step=>Transformer=>layer_0=>attn=>bsh,hm->bsm=>dot_general"


def written(folder, case):
    return write_case(folder / "case.json", case)


@in_one_lake
def test_roots_share_one_whole_and_what_has_no_path_is_unattributed(tmp_path):
    lake = yield written(tmp_path, CASE_C)
    roots = lake.sql(
        "SELECT path, sum(inclusive_us), sum(calls), round(sum(busy_pct), 4) FROM regions WHERE depth = 1 GROUP BY path"
    )
    # 175 in all; fusion.10 without a path joins the one that has it.
    assert {path: tuple(rest) for path, *rest in roots.fetchall()} == {
        "_train_step": (145, 7, 82.8571),
        "model.params.blocks[0].attn.w_k": (10, 1, 5.7143),
        "outer": (10, 1, 5.7143),
        "ns": (5, 1, 2.8571),
        "(unattributed)": (5, 2, 2.8571),
    }


@in_one_lake
def test_phases_are_told_apart_and_scopes_of_the_user_stay(tmp_path):
    lake = yield written(tmp_path, CASE_C)
    phases = lake.sql("SELECT phase, sum(exclusive_us) FROM regions GROUP BY phase").fetchall()
    assert dict(phases) == {"forward": 60, "backward": 30, "recompute": 9, None: 76}
    leaves = dict(lake.sql("SELECT path, exclusive_us FROM regions WHERE phase IS NULL").fetchall())
    assert leaves["_train_step=>tpu_flash_attention=>launch_kernel=>mul"] == 6
    assert leaves["_train_step=>main=>_splash_attention=>splash_fwd_block=512"] == 30
    [(forward,)] = lake.sql(f"SELECT inclusive_us FROM regions WHERE path = '{LAYER}' AND phase = 'forward'").fetchall()
    assert forward == 60


@in_one_lake
def test_a_chain_is_marked_and_layers_have_one_key(tmp_path):
    lake = yield written(tmp_path, CASE_C)
    rows = lake.rows("SELECT path, layer_key, is_unary_chain FROM regions WHERE phase = 'backward' ORDER BY depth")
    assert [chain for _, _, chain in rows] == [True] * 5 + [False]
    assert rows[-1][:2] == (LAYER, LAYER.replace("layer_0", "layer_#"))


@in_one_lake
def test_kernels_with_nothing_but_a_module_for_a_path_are_unattributed(tmp_path):
    lake = yield written(tmp_path, CASE_G)
    rows = lake.rows("SELECT path, inclusive_us FROM regions WHERE depth = 1")
    # fusion_1 100, two collectives 90, a copy 10; gemm_fusion_dot_3 has a path.
    assert dict(rows) == {"(unattributed)": 200, "train": 80}


# The reference's table, in its order: path, depth, calls, inclusive, share of its root, exclusive.
REFERENCE_C = [
    ("_train_step", 1, 6, 125, 100, 0),
    (LAYER, 6, 2, 70, 56, 70),
    ("_train_step=>main=>_splash_attention=>splash_fwd_block=512", 4, 1, 30, 24, 30),
    ("fusion", 1, 1, 20, 100, 20),
    ("_train_step=>add", 2, 1, 10, 8, 10),
    ("model.params.blocks[0].attn.w_k", 1, 1, 10, 100, 10),
    ("outer=>inner=>op.4", 3, 1, 10, 100, 10),
    ("outer", 1, 1, 10, 100, 0),
    ("_train_step=>rematted_computation=>layer_0=>mlp=>mul", 5, 1, 9, 7.2, 9),
    ("_train_step=>mul", 2, 1, 6, 4.8, 6),
    ("ns=>kernel", 2, 1, 5, 100, 5),
    ("ns", 1, 1, 5, 100, 0),
    ("copy", 1, 1, 4, 100, 4),
    ("copy-done", 1, 1, 1, 100, 1),
]


@in_one_lake
def test_the_reference_s_regions(tmp_path):
    lake = yield written(tmp_path, CASE_C)
    rows = lake.rows(
        "SELECT path, depth, calls, inclusive_us, round(root_pct, 6), exclusive_us FROM compat_regions ORDER BY place"
    )
    assert rows == REFERENCE_C


@in_one_lake
def test_the_reference_s_regions_of_bare_names_and_of_streams(tmp_path):
    lake = yield Files(write_case(tmp_path / "a.json", CASE_A), write_case(tmp_path / "g.json", CASE_G))
    of_one = "FROM compat_regions WHERE trace_id = $1 ORDER BY place"
    a, g = lake.ids.values()
    rows = lake.rows(f"SELECT path, inclusive_us, calls, root_pct {of_one}", [a])
    assert rows == [
        ("fusion", 175, 4, 100), ("all-reduce", 20, 1, 100), ("psum", 20, 1, 100), ("barrier-wait", 15, 1, 100),
        ("while", 15, 1, 100),
    ]  # fmt: skip
    rows = lake.rows(f"SELECT path, inclusive_us {of_one}", [g])
    assert rows == [
        ("XlaModule", 100), ("train=>mlp=>dot_general", 80), ("train", 80),
        ("ncclDevKernel_AllGather_RING_LL", 50), ("ncclDevKernel_ReduceScatter_RING_LL", 40), ("MemcpyD2D", 10),
    ]  # fmt: skip


PIECES = {
    "jit(main)": "main", "transpose(jvp(Transformer))": "Transformer",
    "vmap(jit(_splash_attention))": "_splash_attention", "checkpoint": None,
    "rematted_computation": "rematted_computation", "custom_jvp(f)": "custom_jvp(f)",
    "dynamic_donated[1][0][0].model.params.blocks[0].attn.w_k:": "model.params.blocks[0].attn.w_k",
    "remat(x)(y)": "remat(x)(y)", "tpu_flash_attention": "tpu_flash_attention", "pallas_call": None, "jit()": None,
}  # fmt: skip
#: Where the reference reads a piece otherwise: greedy brackets, and a word of the runtime in it.
REFERENCE_PIECES = PIECES | {"remat(x)(y)": "x)(y", "tpu_flash_attention": None}


@in_one_lake
def test_pieces_of_paths(tmp_path):
    operations = "; ".join(
        f"op.{n} {n * 10}+5 {json.dumps({'tf_op': 'root/' + piece})}" for n, piece in enumerate(PIECES)
    )
    lake = yield written(tmp_path, [(1, "/device:TPU:0", {"XLA Ops": operations})])
    found = dict(lake.rows("SELECT name, path FROM _device_ops"))
    assert found == {f"op.{n}": "root" + (f"=>{piece}" if piece else "") for n, piece in enumerate(PIECES.values())}
    read = dict(
        lake.rows("SELECT tf_op, array_to_string(scopes, '=>') FROM _compat_paths WHERE starts_with(tf_op, 'root/')")
    )
    assert read == {
        f"root/{piece}": "root" + (f"=>{scope}" if scope else "") for piece, scope in REFERENCE_PIECES.items()
    }


def host(cat, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def kernel(name, ts, dur, correlation):
    args = {"device": 0, "stream": 7, "correlation": correlation}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": args}


def launch(ts, correlation, tid=1):
    return host("cuda_runtime", "cudaLaunchKernel", ts, 1, tid, correlation=correlation)


@in_one_lake
def test_a_kernel_belongs_to_the_modules_around_its_launch_and_a_backward_to_those_of_its_forward(tmp_path):
    engine = "autograd::engine::evaluate_function: "
    events = [
        host("user_annotation", "ProfilerStep#3", 0, 1000),
        host("python_function", "nn.Module: Model_0", 10, 100),
        host("python_function", "nn.Module: Linear_4", 20, 30),
        host("cpu_op", "aten::linear", 22, 20, **{"Sequence number": 5, "Fwd thread id": 0}),
        launch(25, 1),
        launch(60, 2),
        host("cpu_op", engine + "AddmmBackward0", 200, 50, 2, **{"Sequence number": 5, "Fwd thread id": 1}),
        launch(210, 3, 2),
        host("cpu_op", engine + "CheckpointFunctionBackward", 300, 90, 2, **{"Sequence number": 4}),
        host("python_function", "nn.Module: Linear_4", 310, 30, 2),
        launch(320, 4, 2),
        host("user_annotation", "Optimizer.step#AdamW.step", 500, 50),
        launch(510, 5),
        launch(700, 6),
        *(kernel(f"k{n}", 1000 + n * 100, 10 * n, n) for n in range(1, 7)),
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    lake = yield path
    rows = lake.rows("SELECT name, path, phase FROM _device_ops ORDER BY name")
    assert rows == [
        ("k1", "Model_0=>Linear_4", "forward"),
        ("k2", "Model_0", "forward"),
        ("k3", "Model_0=>Linear_4", "backward"),
        ("k4", "Linear_4", "recompute"),
        ("k5", "Optimizer.step#AdamW.step", None),
        ("k6", None, None),
    ]
    shares = lake.sql("SELECT path, phase, round(busy_pct, 4) FROM regions WHERE depth = 1 ORDER BY ALL").fetchall()
    assert shares == [
        ("(unattributed)", None, 28.5714),
        ("Linear_4", "recompute", 19.0476),
        ("Model_0", "backward", 14.2857),
        ("Model_0", "forward", 14.2857),
        ("Optimizer.step#AdamW.step", None, 23.8095),
    ]


@pytest.mark.parametrize("name", data_files("jax/*.gz", "kineto/*.gz"))
def test_parts_sum_to_wholes_on_real_traces(real_lake, name):
    lake = real_lake(name)
    compute_once(lake, "_device_ops", "regions", "op_families", "ops")
    whole = dict(lake.rows("SELECT device, sum(self_ns) FROM once__device_ops WHERE role = 'op' GROUP BY device"))
    for relation, condition in (("regions", "WHERE depth = 1"), ("op_families", ""), ("ops", "WHERE role = 'op'")):
        us = "inclusive_us" if relation == "regions" else "self_us"
        rows = lake.rows(
            f"SELECT device, sum({us}), sum(busy_pct), max(busy_pct), sum(window_pct) FROM once_{relation} {condition} "
            "GROUP BY 1"
        )
        assert {device: round(total * 1000) for device, total, *_ in rows} == whole
        for _, _, shares, largest, of_window in rows:
            assert shares == pytest.approx(100)
            assert largest <= 100.000001
            assert of_window is None or of_window <= 100.000001
    [(worst, below)] = lake.rows(
        "SELECT max(r.inclusive_us - p.inclusive_us), count(*) FILTER (p.path IS NULL) FROM once_regions AS r "
        "LEFT JOIN once_regions AS p ON p.path = r.parent AND p.phase IS NOT DISTINCT FROM r.phase "
        "AND p.device = r.device WHERE r.depth > 1"
    )
    assert (worst or 0) <= 1e-6
    assert below == 0
    # A region is as busy as what is inside it, and no longer than from its first operation to its last.
    [(over, beyond)] = lake.rows(
        "SELECT count(*) FILTER (busy_us > span_us + 1e-6), count(*) FILTER (start_ns > end_ns) FROM once_regions"
    )
    assert (over, beyond) == (0, 0)
    [(outside,)] = lake.rows(
        "SELECT count(*) FROM once_regions AS r JOIN once_regions AS p ON p.path = r.parent "
        "AND p.phase IS NOT DISTINCT FROM r.phase AND p.device = r.device "
        "WHERE r.busy_us > p.busy_us + 1e-6 OR r.start_ns < p.start_ns OR r.end_ns > p.end_ns "
        "OR r.host_us > p.host_us + 1e-6"
    )
    assert outside == 0
    # Own times of a line sum to the union of its intervals.
    [(apart,)] = lake.rows(
        """
        WITH reached AS (
            SELECT *, max(end_ns) OVER (
                PARTITION BY pid, tid ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ) AS until_ns FROM once__device_ops
        ),
        lines_found AS (
            SELECT pid, tid, sum(self_ns) AS own,
                sum(greatest(0, end_ns - greatest(start_ns, coalesce(until_ns, start_ns)))) AS covered
            FROM reached GROUP BY pid, tid
        )
        SELECT count(*) FROM lines_found WHERE own <> covered
        """
    )
    assert apart == 0


def numbered(name, ts, dur, number, tid=1, made_by=0):
    return host("cpu_op", name, ts, dur, tid, **{"Sequence number": number, "Fwd thread id": made_by})


@in_one_lake
def test_numbers_of_autograd_tell_forward_from_backward_without_modules(tmp_path):
    events = [
        # Makes no node: the next operator has the same number; so has the one around that, whatever the file's order.
        numbered("aten::to", 0, 9, 7), launch(1, 1),
        numbered("aten::addmm", 10, 20, 7), numbered("aten::linear", 10, 30, 7), launch(20, 2),
        # Its backward is not in the trace, but a higher number follows.
        numbered("aten::relu", 50, 9, 8), launch(51, 3),
        # Nothing follows on its thread, nothing goes back.
        numbered("aten::mean", 60, 9, 9), launch(61, 4),
        # Numbers are a thread's own.
        numbered("aten::copy_", 70, 9, 3, tid=2), launch(71, 5, 2),
        host("cpu_op", "aten::ones_like", 80, 9), launch(81, 6),
        # The function without the engine's own call of it.
        numbered("AddmmBackward0", 100, 50, 7, 3, made_by=1), launch(110, 7, 3),
        # A function that computes forward again, and goes back through that.
        numbered("autograd::engine::evaluate_function: CheckpointFunctionBackward", 200, 90, 6, 3, made_by=1),
        numbered("aten::mul", 210, 10, 20, 3), launch(211, 8, 3),
        numbered("autograd::engine::evaluate_function: MulBackward0", 230, 50, 20, 3, made_by=3), launch(240, 9, 3),
        host("cpu_op", "aten::_softmax_backward_data", 400, 9), launch(401, 10),
        *(kernel(f"k{n:02}", 1000 + n * 100, 10, n) for n in range(1, 11)),
    ]  # fmt: skip
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    lake = yield path
    assert [phase for (phase,) in lake.rows("SELECT phase FROM _device_ops ORDER BY name")] == [
        None, "forward", "forward", None, None, None, "backward", "recompute", "backward", None,
    ]  # fmt: skip
    phases = "SELECT phase, list(name ORDER BY name) FROM kernel_scopes JOIN kernels USING (trace_id, kernel_id)"
    assert lake.rows(f"{phases} WHERE phase IS NOT NULL GROUP BY phase ORDER BY phase") == [
        ("backward", ["k07", "k09"]), ("forward", ["k02", "k03"]), ("recompute", ["k08"]),
    ]  # fmt: skip
    calls = lake.rows(
        "SELECT f.name, o.name FROM autograd_links JOIN events AS f ON f.event_id = function_id "
        "JOIN events AS o ON o.event_id = op_id ORDER BY f.start_ns"
    )
    assert calls == [
        ("AddmmBackward0", "aten::addmm"),
        ("autograd::engine::evaluate_function: MulBackward0", "aten::mul"),
    ]


@in_one_lake
def test_numbers_of_operators_that_are_recomputed_count_inside_their_backward_function_only(tmp_path):
    engine = "autograd::engine::evaluate_function: "
    events = [
        numbered("aten::mm", 0, 9, 1), numbered("aten::relu", 10, 9, 2), numbered("aten::add", 20, 9, 3),
        # Computed again by a thread that counts from 1 too; nothing goes back through that.
        numbered(engine + "AddBackward0", 100, 50, 3, 2, made_by=1),
        numbered("aten::silu", 110, 9, 1, 2), numbered("aten::tanh", 120, 9, 2, 2),
        numbered(engine + "ReluBackward0", 200, 50, 2, 2, made_by=1),
        numbered(engine + "MmBackward0", 300, 50, 1, 2, made_by=1),
        # What this function computes again it goes back through, then through what the forward pass computed.
        numbered(engine + "CheckpointFunctionBackward", 400, 90, 4, 3, made_by=1),
        numbered("aten::exp", 410, 9, 1, 3),
        numbered(engine + "ExpBackward0", 420, 20, 1, 3, made_by=3),
        numbered(engine + "AddBackward0", 450, 20, 3, 3, made_by=1),
    ]  # fmt: skip
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    lake = yield path
    calls = lake.rows(
        "SELECT split_part(f.name, ': ', 2), o.name FROM autograd_links JOIN events AS f ON f.event_id = function_id "
        "JOIN events AS o ON o.event_id = op_id ORDER BY f.start_ns"
    )
    assert calls == [
        ("AddBackward0", "aten::add"), ("ReluBackward0", "aten::relu"), ("MmBackward0", "aten::mm"),
        ("ExpBackward0", "aten::exp"), ("AddBackward0", "aten::add"),
    ]  # fmt: skip
    # The last number of a thread, which no function inside the same one has: no node is known.
    assert lake.rows("SELECT 1 FROM autograd_calls WHERE name = 'aten::tanh'") == []


# The users of these traces annotated their training loops, which tells the phases once more.
@pytest.mark.parametrize(
    "name", ["hta_trace_diff_control_control", "hta_trace_diff_test_test", "hta_trace_filter_sampled_rank-0"]
)
def test_phases_agree_with_the_annotations_of_training_loops(real_lake, name):
    lake = real_lake(f"kineto/{name}.json.gz")
    found = {}
    for scopes, phase, us in lake.rows(
        "SELECT string_split(path, '=>'), phase, sum(self_ns) / 1000 FROM _device_ops "
        "WHERE path IS NOT NULL GROUP BY 1, 2"
    ):
        key = (scopes[0].strip("# "), phase)
        found[key] = found.get(key, 0) + us
    # What is differentiated outside of the forward part is the division of the loss, in the backward part.
    forward = {scope: us for (scope, phase), us in found.items() if phase == "forward"}
    assert set(forward) <= {"forward", "backward"}
    assert forward.get("backward", 0) < 0.001 * forward["forward"]
    # Four fifths of that part are told; the rest looks up embeddings, of which these profilers wrote no number, and
    # prepares their indices.
    assert forward["forward"] > 0.79 * (forward["forward"] + found["forward", None])
    for other in ("optimizer", "load_batch", "sparse_data_dist", "metrics:add", "sdd_preprocess_splits"):
        assert (other, "backward") not in found


@in_one_lake
def test_a_region_s_time_is_that_of_what_it_launched_and_its_calls_are_beside_it(tmp_path):
    engine = "autograd::engine::evaluate_function: "
    events = [
        host("python_function", "nn.Module: Model_0", 0, 100),
        host("python_function", "nn.Module: Linear_0", 10, 20),
        host("cpu_op", "aten::linear", 12, 16, **{"Sequence number": 5, "Fwd thread id": 0}),
        launch(15, 1),
        launch(18, 2),
        host("python_function", "nn.Module: Linear_0", 40, 30),
        launch(45, 3),
        host("cpu_op", engine + "AddmmBackward0", 200, 50, 2, **{"Sequence number": 5, "Fwd thread id": 1}),
        launch(210, 4, 2),
        # All of it runs after the calls; the first two overlap on two streams.
        kernel("k1", 1000, 100, 1),
        kernel("k2", 1060, 100, 2) | {"tid": 8},
        kernel("k3", 1500, 100, 3),
        kernel("k4", 2000, 70, 4),
    ]
    events[-3]["args"]["stream"] = 8
    path = tmp_path / "t.json"
    path.write_text(json.dumps({"traceEvents": events}))
    lake = yield path
    rows = lake.rows(
        "SELECT path, phase, calls, span_us, busy_us, inclusive_us, host_us FROM regions ORDER BY phase, depth"
    )
    assert rows == [
        ("Model_0", "backward", 1, 70, 70, 70, 50),
        ("Model_0=>Linear_0", "backward", 1, 70, 70, 70, 50),
        ("Model_0", "forward", 3, 600, 260, 300, 100),
        ("Model_0=>Linear_0", "forward", 3, 600, 260, 300, 50),
    ]


def test_a_module_s_region_is_its_frame_and_its_kernels(real_lake):
    name = "kineto/sglang_qwen3-8b_prefill_mi300x.json.gz"
    with gzip.open(data_file(name)) as file:
        events = json.load(file)["traceEvents"]
    [frame] = [e for e in events if e.get("name") == "nn.Module: Qwen3Model_0" and e["ph"] == "X"]
    end = frame["ts"] + frame["dur"]
    launched = {
        e["args"]["correlation"]
        for e in events
        if e.get("cat") in ("cuda_runtime", "cuda_driver") and e["tid"] == frame["tid"] and frame["ts"] <= e["ts"] < end
    }
    work = [
        (round(e["ts"] * 1000), round((e["ts"] + e["dur"]) * 1000))
        for e in events
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset") and e["args"]["correlation"] in launched
    ]
    [(calls, busy, host)] = real_lake(name).rows(
        "SELECT calls, busy_us, host_us FROM regions WHERE path = 'Qwen3Model_0'"
    )
    assert calls == len(work)
    assert busy == pytest.approx(union(work) / 1000, abs=len(work) / 1000)
    assert host == pytest.approx(frame["dur"], abs=0.001)
    # The device works on for long after the host has launched it all.
    assert host < busy / 10
