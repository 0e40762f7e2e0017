"""Replayed graphs and their captures: a real pair, and small traces whose pairs are told by hand.

Of the real pair an independent reading in Python says: the 544 kernels of the one graph launch have, in the order of
their starts, the names of the 544 launches between begin and end of the capture; two more launches come before it.
"""

import gzip
import json

import pytest

from tracelake.lake import Lake

from ...graph_traces import Host
from ...lakes import ingest_at_once
from ...storing import storing_only
from ...support import data_file

REPLAY = "kineto/sglang_qwen3-8b_decode_mi300x.json.gz"
CAPTURE = "kineto/sglang_qwen3-8b_decode_capture_mi300x.json.gz"
OTHER_REPLAY = "kineto/vllm_gpt-oss_decode_mi300x.json.gz"
OTHER_CAPTURE = "kineto/vllm_gpt-oss_decode_capture_mi300x.json.gz"
PAIRS = """
    SELECT r.trace, kernel_count, c.trace, captures
    FROM graph_captures AS g
    JOIN traces AS r USING (trace_id)
    JOIN traces AS c ON c.trace_id = g.capture_trace_id
    ORDER BY ALL
"""
KNOWN = """
    SELECT name, c.op_name, c.input_dims, module, module_path, captures
    FROM captured_kernels AS c
    JOIN kernels USING (trace_id, kernel_id)
    ORDER BY start_ns
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    lake = Lake(tmp_path_factory.mktemp("real") / "lake")
    ingest_at_once(lake, {
        data_file(REPLAY): {"trace": "replay", "num_layers": 36, "anchor": "Li256ELi16"},
        data_file(CAPTURE): {"trace": "capture"},
        data_file(OTHER_REPLAY): {"trace": "other"},
    })  # fmt: skip
    return lake


def test_the_real_replay_finds_its_capture_and_another_models_replay_finds_none(real):
    assert real.rows(PAIRS) == [("replay", 544, "capture", 1)]
    [(name, begin, text)] = real.rows("""
        SELECT capture_name, name, provenance
        FROM graph_captures
        JOIN events ON events.trace_id = capture_trace_id AND event_id = capture_id
    """)
    assert name == begin == "hipStreamBeginCapture"
    assert text.startswith("same 544 kernel names in the same order after hipStreamBeginCapture (event ")


def test_every_real_kernel_has_the_operator_and_shapes_of_a_launch_of_its_name(real):
    counts = real.rows("""
        SELECT count(*), count(DISTINCT kernel_id), count(DISTINCT capture_launch_id), count(op_name),
            count(input_dims), count(input_types), count(module)
        FROM captured_kernels
    """)
    assert counts == [(544,) * 7]
    same = real.rows("""
        SELECT count(*)
        FROM captured_kernels AS c
        JOIN kernels AS k USING (trace_id, kernel_id)
        JOIN events AS e ON e.trace_id = c.capture_trace_id AND e.event_id = c.capture_launch_id
        WHERE e.args ->> '$.kernel' = k.name AND k.input_dims IS NULL
    """)
    assert same == [(544,)]


def test_the_operator_by_time_is_the_one_that_shares_the_launchs_id(real):
    found = real.rows("""
        SELECT count(*)
        FROM captured_kernels AS c
        JOIN events AS l ON l.trace_id = c.capture_trace_id AND l.event_id = c.capture_launch_id
        JOIN events AS o ON o.trace_id = l.trace_id AND o.external_id = l.external_id AND o.category = 'cpu_op'
        WHERE o.name = c.op_name AND o.input_dims = c.input_dims
    """)
    assert found == [(544,)]


def test_the_products_of_36_layers_have_the_models_shapes_for_a_batch_of_32(real):
    # Qwen3-8B: hidden 4096; 32 + 2 x 8 heads of 128 = 6144; MLP 12288, gate and up together 24576; 151936 tokens.
    products = real.rows("""
        SELECT c.input_dims, count(*)
        FROM captured_kernels AS c
        JOIN kernels AS k USING (trace_id, kernel_id)
        WHERE k.category = 'gemm'
        GROUP BY ALL
    """)
    assert sorted((json.loads(dims), number) for dims, number in products) == [
        ([[32, 4096], [4096, 4096]], 36),
        ([[32, 4096], [4096, 6144]], 36),
        ([[32, 4096], [4096, 24576]], 36),
        ([[32, 4096], [4096, 151936]], 1),
        ([[32, 12288], [12288, 4096]], 36),
    ]


def test_the_layer_by_module_is_the_layer_by_anchor(real):
    found = real.rows("""
        SELECT count(*), count(DISTINCT layer_id), count(*) FILTER (
            list_contains(string_split(module_path, '/'), 'Qwen3DecoderLayer_' || layer_id)
        )
        FROM layer_kernels
        JOIN captured_kernels USING (trace_id, kernel_id)
    """)
    assert found == [(540, 36, 540)]
    [(inside,)] = real.rows("SELECT count(*) FROM captured_kernels WHERE module_path LIKE '%DecoderLayer%'")
    assert inside == 540


def test_a_replay_has_no_rows_before_its_capture_comes_and_after_it_goes(tmp_path):
    lake = Lake(tmp_path / "lake")
    lake.ingest(data_file(REPLAY), trace="replay")
    assert lake.rows("FROM graph_captures") == []
    assert lake.rows("FROM captured_kernels") == []
    lake.ingest(data_file(CAPTURE), trace="capture")
    assert lake.rows("SELECT count(*) FROM captured_kernels") == [(544,)]
    lake.remove("capture")
    assert lake.rows("FROM graph_captures") == []


@pytest.fixture
def lake_of(tmp_path):
    def made(**hosts):
        lake = Lake(tmp_path / "lake")
        lake.ingest(*(host.write(tmp_path / f"{name}.json") for name, host in hosts.items()))
        return lake

    return made


def test_a_pair_in_one_trace(lake_of):
    lake = lake_of(both=Host().capture("a", "b", dims=[[2, 3]], module="Toy_0").replay("a", "b"))
    assert lake.rows(PAIRS) == [("both", 2, "both", 1)]
    told = ("aten::mm", "[[2,3]]", "nn.Module: Toy_0", "Toy_0", 1)
    assert lake.rows(KNOWN) == [("a", *told), ("b", *told)]


def test_other_names_or_another_order_are_no_pair(lake_of):
    host = Host()
    for names in (("b", "a"), ("a",), ("a", "b", "b"), ("a", "c"), ("ab",)):
        host.capture(*names)
    lake = lake_of(capture=host, replay=Host().replay("a", "b"))
    assert lake.rows("FROM graph_captures") == []
    assert lake.rows("FROM captured_kernels") == []


def test_kernels_launched_one_by_one_are_no_replay(lake_of):
    eager = Host()
    eager.device("a", eager.launch("a"))
    assert lake_of(capture=Host().capture("a"), eager=eager).rows("FROM graph_captures") == []


def test_what_is_launched_around_a_capture_or_runs_at_once_is_not_captured(lake_of):
    host = Host()
    host.launch("before")
    host.begin()
    host.launch("a")
    host.device("now", host.launch("now"))
    host.add("cuda_runtime", "hipLaunchKernel", tid=8, kernel="of another thread")
    host.launch("b")
    host.end()
    host.launch("after")
    lake = lake_of(capture=host, replay=Host().replay("a", "b"))
    assert lake.rows(KNOWN) == [("a", None, None, None, None, 1), ("b", None, None, None, None, 1)]


def test_copies_do_not_count(lake_of):
    host = Host()
    host.begin()
    host.launch("a")
    host.add("cuda_runtime", "hipMemcpyAsync")
    host.launch("b")
    host.end()
    lake = lake_of(capture=host, replay=Host().replay("a", "Memcpy DtoD (Device -> Device)", "b"))
    assert lake.rows(PAIRS) == [("replay", 2, "capture", 1)]
    assert [row[0] for row in lake.rows(KNOWN)] == ["a", "b"]


def test_a_capture_without_its_end_is_none(lake_of):
    host = Host()
    host.begin()
    host.launch("a")
    assert lake_of(capture=host, replay=Host().replay("a")).rows("FROM graph_captures") == []


def test_a_begin_or_end_seen_twice_marks_one_range(lake_of):
    host = Host()
    host.begin()
    host.add("cuda_driver", "cuStreamBeginCapture_v2")
    host.launch("a")
    host.add("cuda_driver", "cuStreamEndCapture")
    host.end()
    host.capture("b")
    lake = lake_of(capture=host, replay=Host().replay("a").replay("b"))
    assert lake.rows(PAIRS) == [("replay", 1, "capture", 1)] * 2


def test_of_captures_with_the_same_names_only_what_they_agree_on_is_told(lake_of):
    host = Host()
    host.capture("a", dims=[[8, 4]], module="Toy_0").capture("a", dims=[[16, 4]], module="Toy_0").capture("a")
    lake = lake_of(capture=host, replay=Host().replay("a"))
    assert lake.rows(PAIRS) == [("replay", 1, "capture", 3)]
    assert lake.rows(KNOWN) == [("a", "aten::mm", None, "nn.Module: Toy_0", "Toy_0", 3)]
    [(text,)] = lake.rows("SELECT provenance FROM graph_captures")
    assert text.endswith(", the first of 3 such captures")


def layered(host, edit=lambda names: names):
    """Capture three layers of twelve kernels, each launched by an operator with a shape of its own."""
    names = edit([f"k{place}" for _ in range(3) for place in range(12)])
    host.begin()
    for nth, name in enumerate(names):
        host.within("cpu_op", "aten::mm", lambda name=name: host.launch(name), **{"Input Dims": [[nth]]})
    host.end()
    return host


def replayed(*changes):
    """Replay these layers, with some names changed: a place, how many names there, and the names instead."""
    names = [f"k{place}" for _ in range(3) for place in range(12)]
    for place, length, instead in changes:
        names[place : place + length] = instead
    return Host().replay(*names)


SHARES = """
    SELECT kernel_count, replayed_kernels, captured_kernels, renamed_kernels, round(named_pct, 2), round(aligned_pct, 2)
    FROM graph_captures
"""
SHAPES = """
    SELECT name, c.input_dims, is_renamed
    FROM captured_kernels AS c
    JOIN kernels USING (trace_id, kernel_id)
    ORDER BY start_ns
"""


def test_a_kernel_with_another_name_at_each_layer_is_known_by_its_place(lake_of):
    # The library took another variant of one kernel: 33 of 36 names are the same.
    tuned = [(place, 1, ["k5_tuned"]) for place in (5, 17, 29)]
    lake = lake_of(capture=layered(Host()), replay=replayed(*tuned))
    assert lake.rows(SHARES) == [(36, 36, 36, 3, 91.67, 100)]
    found = lake.rows(SHAPES)
    assert [dims for _, dims, _ in found] == [f"[[{nth}]]" for nth in range(36)]
    assert [name for name, _, is_renamed in found if is_renamed] == ["k5_tuned"] * 3
    [(text,)] = lake.rows("SELECT provenance FROM graph_captures")
    assert text.startswith("33 of 36 kernel names, 3 more by their place, in the same order after ")
    [check] = lake.rows("SELECT severity, round(value, 2), unit FROM health WHERE \"check\" = 'capture_differs'")
    assert check == ("info", 8.33, "percent")


def test_a_name_that_differs_in_one_layer_alone_leaves_the_others_paired(lake_of):
    lake = lake_of(capture=layered(Host()), replay=replayed((17, 1, ["k5_tuned"])))
    assert lake.rows(SHARES) == [(36, 36, 36, 1, 97.22, 100)]
    assert [dims for _, dims, _ in lake.rows(SHAPES)] == [f"[[{nth}]]" for nth in range(36)]


def test_a_kernel_more_or_less_is_left_out_and_the_rest_is_paired(lake_of):
    # k5 of the second layer is split in two with names of their own, k7 of the last is gone: 34 of 36 names.
    lake = lake_of(capture=layered(Host()), replay=replayed((31, 1, []), (17, 1, ["part", "sum"])))
    assert lake.rows(SHARES) == [(34, 36, 36, 0, 94.44, 94.44)]
    assert [dims for _, dims, _ in lake.rows(SHAPES)] == [f"[[{nth}]]" for nth in range(36) if nth not in (17, 31)]


def test_kernels_in_another_order_are_not_taken_for_each_other(lake_of):
    lake = lake_of(capture=layered(Host()), replay=replayed((17, 2, ["k6", "k5"])))
    assert lake.rows(SHARES) == [(34, 36, 36, 0, 94.44, 94.44)]
    assert [dims for _, dims, _ in lake.rows(SHAPES)] == [f"[[{nth}]]" for nth in range(36) if nth not in (17, 18)]


def test_of_captures_that_differ_the_one_with_most_names_is_the_replays(lake_of):
    host = layered(Host(), lambda names: ["x", "y", *names[2:]])
    layered(host, lambda names: ["x", *names[1:]])
    layered(host, lambda names: [*names[:-2], "y", "x"])
    lake = lake_of(capture=host, replay=replayed())
    assert lake.rows(SHARES) == [(36, 36, 36, 1, 97.22, 100)]
    assert lake.rows("SELECT captures, name FROM graph_captures JOIN _capture_launches AS c ON "
                     "c.trace_id = capture_trace_id AND c.capture_id = graph_captures.capture_id "
                     "WHERE position < 2 ORDER BY position") == [(1, "x"), (1, "k1")]  # fmt: skip


def test_a_capture_that_shares_less_than_nine_of_ten_names_is_none(lake_of):
    other = [(place, 1, [f"other{place}"]) for place in (0, 9, 18, 27)]
    lake = lake_of(capture=layered(Host()), replay=replayed(*other))
    assert lake.rows("FROM graph_captures") == []
    assert lake.rows("FROM captured_kernels") == []


def test_a_real_replay_whose_product_has_another_variant_keeps_the_shapes_of_all(tmp_path):
    # Of the 421 kernels of gpt-oss 24 are the router's product: [32, 2880] by [2880, 32], and a bias.
    trace = json.loads(gzip.decompress(data_file(OTHER_REPLAY).read_bytes()))
    for event in trace["traceEvents"]:
        if event.get("cat") == "kernel" and "_MT16x16x256_" in event["name"]:
            event["name"] = "Cijk_Alik_Bljk_BBS_BH_MT32x32x64_tuned"
    (tmp_path / "tuned.json").write_text(json.dumps(trace))
    lake = Lake(tmp_path / "lake")
    lake.ingest(tmp_path / "tuned.json", data_file(OTHER_CAPTURE))
    assert lake.rows(SHARES) == [(421, 421, 421, 24, 94.3, 100)]
    query = "SELECT DISTINCT op_name, input_dims FROM captured_kernels WHERE is_renamed"
    assert lake.rows(query) == [("aten::addmm", "[[32],[32,2880],[2880,32],[],[]]")]


def test_each_launch_of_a_graph_is_paired(lake_of):
    lake = lake_of(capture=Host().capture("a", "b"), replay=Host().replay("a", "b").replay("a", "b"))
    assert lake.rows(PAIRS) == [("replay", 2, "capture", 1)] * 2
    assert len(lake.rows(KNOWN)) == 4


def test_the_innermost_scopes_count_not_those_that_ended_before(lake_of):
    host = Host()
    host.begin()

    def attention():
        host.within("cpu_op", "aten::linear", lambda: host.within("cpu_op", "aten::t"), lambda: host.launch("a"))

    def layer():
        host.within("python_function", "nn.Module: Attention_0", attention)
        host.within("cpu_op", "aten::add", lambda: host.launch("b"))

    host.within("python_function", "nn.Module: Layer_0", layer)
    host.launch("c")
    host.end()
    assert lake_of(capture=host, replay=Host().replay("a", "b", "c")).rows(KNOWN) == [
        ("a", "aten::linear", None, "nn.Module: Attention_0", "Layer_0/Attention_0", 1),
        ("b", "aten::add", None, "nn.Module: Layer_0", "Layer_0", 1),
        ("c", None, None, None, None, 1),
    ]


@pytest.mark.parametrize("order", ["replays first", "captures first"])
def test_of_captures_with_the_same_names_those_of_the_replay_s_folder_and_rank_count(tmp_path, order):
    # Two deployments of two ranks each, whose kernels have the same names and other shapes.
    places = [(deployment, width, rank) for deployment, width in (("a", 16), ("b", 32)) for rank in (0, 1)]
    replays, captures = [], []
    for start, (deployment, width, rank) in enumerate(places):
        folder = tmp_path / deployment / "capture_traces"
        folder.mkdir(parents=True, exist_ok=True)
        replay, capture = Host(), Host()
        # No two files are the same.
        replay.now = capture.now = start
        replays.append(replay.replay("x", "y").write(folder.parent / f"replay_rank{rank}.json"))
        capture.capture("x", "y", dims=[[rank, width]])
        captures.append(capture.write(folder / f"graph_capture_rank{rank}.json"))
    with storing_only("captured_kernels", "graph_captures"), Lake(tmp_path / "lake", stored=True) as lake:
        for path in replays + captures if order == "replays first" else captures + replays:
            lake.ingest(path)
        found = lake.rows("""
            SELECT r.source_path, c.source_path, k.input_dims, min(captures)
            FROM captured_kernels AS k
            JOIN traces AS r USING (trace_id)
            JOIN traces AS c ON c.trace_id = capture_trace_id
            GROUP BY ALL ORDER BY ALL
        """)
        shown = lake.rows("SELECT c.source_path, captures FROM graph_captures JOIN traces AS r USING (trace_id) "
                          "JOIN traces AS c ON c.trace_id = capture_trace_id ORDER BY r.source_path")  # fmt: skip
    assert shown == [(str(capture), 1) for capture in captures]
    assert found == [
        (str(replay), str(capture), f"[[{rank},{width}]]", 1)
        for replay, capture, (_, width, rank) in zip(replays, captures, places, strict=True)
    ]
