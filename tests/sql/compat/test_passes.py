"""The reference analyser's arithmetic, errors included: its own published figures, which the tool must be able to
explain. Times are microseconds after the trace's origin; the reference counts in doubles, so they are off by 0.002.
"""

import json

import pytest

import tracelake
from tracelake.synthetic.gpu import gpu_config, write_gpu

from ...lakes import ingest_at_once
from ...support import data_file
from ..captures import KINETO_FILES

FILES = {**KINETO_FILES, "G7": "deepseek-v3_train_h800"}
NUM_LAYERS = {"G1": 36, "G2": 36, "G3": 24, "G5": 36, "G6": 24}
ORIGIN = "(SELECT origin_ns FROM traces WHERE trace = $case)"
#: What makes a run sensible: the anchor that opens each half, and twice the layers.
SENSIBLE = {
    "G1": ("Li256ELi16", 72),
    "G2": ("Li256ELi16", 72),
    "G3": ("Rmsnorm2dFwd", 48),
    "G5": ("rms_norm_kernel", 72),
    "G6": ("flash_fwd_kernel", None),
}
SPANS = {
    "G1": (494609.860, 986680.927, 492071.066),
    "G2": (463842.169, 473349.293, 9507.124),
    "G3": (8439.197, 18811.700, 10372.503),
    "G5": (7039.475, 84552.017, 77512.542),
    "G6": (1229.730, 36373.251, 35143.521),
}
LAYERS = [
    # case, layer (or half-layer), wall, sum, kernels
    ("G1", 0, 3858.444, 3760.649, 10),
    ("G1", 1, 10181.000, 10180.997, 4),
    ("G1", 2, 3699.768, 3699.758, 10),
    ("G1", 3, 9995.294, 9995.290, 4),
    ("G1", 4, 3708.540, 3713.217, 11),  # a kernel of another stream strays into it
    ("G1", 71, 10002.143, 10002.140, 4),
    ("G2", 0, 149.943, 149.933, 11),
    ("G2", 1, 131.274, 131.272, 4),
    ("G2", 14, 255.541, 255.531, 11),
    ("G2", 71, 117.254, 117.251, 4),
    ("G3", 0, 64.079, 64.074, 6),
    ("G3", 1, 352.597, 352.588, 10),
    ("G3", 2, 110.760, 110.752, 8),
    ("G3", 47, 322.356, 322.348, 10),
    ("G5", 0, 6994.507, 70.241, 9),
    ("G5", 1, 2927.191, 235.423, 12),
    ("G5", 71, 928.478, 202.303, 12),
    ("G6", 0, 1390.874, 1315.834, 42),
    ("G6", 9, 3088.723, 1545.113, 63),  # two passes meet in the middle of it
]
CATEGORIES = [
    # case, layer (or half-layer), categories
    ("G1", 0, {"quant": 961.273, "other": 2799.376}),
    ("G1", 1, {"quant": 103.674, "other": 9617.156, "activation": 460.167}),
    ("G1", 4, {"quant": 1204.795, "other": 2508.422}),
    ("G1", 71, {"quant": 120.018, "other": 9418.390, "activation": 463.732}),
    ("G2", 1, {"quant": 5.608, "other": 113.567, "activation": 12.097}),
    ("G2", 14, {"quant": 13.699, "other": 241.832}),
    ("G3", 1, {"quant": 7.439, "other": 340.710, "topk": 4.439}),
    ("G3", 47, {"quant": 7.399, "other": 310.510, "topk": 4.439}),
    ("G5", 0, {"other": 53.184, "gemm_bf16": 14.368, "quant": 2.689}),
    ("G5", 71, {"other": 191.231, "gemm_bf16": 6.496, "quant": 4.576}),
    ("G6", 9, {"other": 1545.113}),
]
WHOLE_FILES = [
    ("G1", {"other": (310, 429931.729), "quant": (181, 46333.718), "activation": (36, 16508.145)}),
    ("G2", {"other": (374, 8757.117), "quant": (145, 683.953), "activation": (36, 324.367)}),
    ("G3", {"other": (352, 10222.673), "quant": (49, 332.030), "topk": (24, 119.814)}),
    ("G5", {"other": (587, 9813.319), "gemm_bf16": (109, 784.762), "quant": (72, 264.835)}),
    ("G6", {"other": (1465, 45432.698)}),
]
VERDICTS = [
    # case, anchor, layers said, layers of the config, anchors, layers, passes
    ("G1", None, None, 36, 0, 36, -1),
    ("G1", "FmhaBatchPrefill", None, 36, 36, 36, 0),
    ("G1", "Li256ELi16", None, 36, 73, 36, 2),
    ("G1", "Li256ELi16", 72, 36, 73, 72, 1),
    ("G2", "Li256ELi16", 72, 36, 73, 72, 1),
    ("G3", "Rmsnorm2dFwd", 48, 24, 49, 48, 1),
    ("G3", "kernel_unified_attention", None, 24, 24, 24, 0),
    ("G5", None, None, 36, 0, 36, -1),
    ("G5", "rms_norm_kernel", 72, 36, 73, 72, 1),
    ("G5", "all_reduce", 72, 36, 73, 72, 1),
    ("G6", "flash_fwd_kernel", None, 24, 34, 24, 1),
    ("G6", "flash_fwd_kernel", None, None, 34, 16, 2),  # 16 layers, from the rhythm of the blocks
    ("G7", "compute_attn_ws", 4, None, 4, 4, 0),
    ("G7", "compute_attn_ws", 1, None, 4, 1, 3),
]


def about(microseconds):
    return pytest.approx(microseconds * 1000, abs=2.5)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("traces")
    lake = tracelake.open(folder / "lake")
    files = {data_file(f"kineto/{name}.json.gz"): {"trace": case} for case, name in FILES.items()}
    ingest_at_once(lake, files)
    return lake


@pytest.fixture(scope="module")
def s1(tmp_path_factory):
    folder = tmp_path_factory.mktemp("s1")
    write_gpu(folder / "S1.json")
    (folder / "config.json").write_text(json.dumps(gpu_config()))
    lake = tracelake.open(folder / "lake")
    lake.ingest(folder / "S1.json", model=folder / "config.json")
    return lake


@pytest.mark.parametrize("case", SENSIBLE)
def test_start_end_and_duration_of_the_one_pass_of_a_sensible_run(lake, case):
    anchor, layers = SENSIBLE[case]
    [(origin,)] = lake.sql(f"SELECT {ORIGIN}", case=case).fetchall()
    found = lake.compat.passes(case, anchor, layers or NUM_LAYERS[case])
    ((start, end, dur, note),) = found.select("start_ns, end_ns, dur_ns, note").fetchall()
    expected = [about(value) for value in SPANS[case]]
    assert [start - origin, end - origin, dur, note] == [*expected, "cold-start"]


@pytest.mark.parametrize(("case", "layer", "wall", "total", "kernels"), LAYERS)
def test_layers_of_the_sensible_runs(lake, case, layer, wall, total, kernels):
    anchor, layers = SENSIBLE[case]
    found = lake.compat.layers(case, anchor, layers or NUM_LAYERS[case], pass_id=0).filter(f"layer_id = {layer}")
    assert found.select("wall_ns, sum_ns, kernel_count").fetchall() == [(about(wall), about(total), kernels)]


@pytest.mark.parametrize(("case", "layer", "categories"), CATEGORIES)
def test_its_rules_leave_most_kernels_of_other_stacks_unnamed(lake, case, layer, categories):
    anchor, layers = SENSIBLE[case]
    found = lake.sql(
        "SELECT category, sum_ns FROM compat_categories($trace, $anchor, $layers, 1) "
        "WHERE pass_id = 0 AND layer_id = $layer",
        trace=lake.resolve(case), anchor=anchor, layers=layers or NUM_LAYERS[case], layer=layer,
    ).fetchall()  # fmt: skip
    assert dict(found) == {category: about(us) for category, us in categories.items()}


@pytest.mark.parametrize(("case", "categories"), WHOLE_FILES)
def test_its_rules_over_whole_files(lake, case, categories):
    found = lake.sql(
        "SELECT names.category, count(*), sum(dur_ns) FROM kernels JOIN _compat_names($trace) AS names USING (name) "
        "WHERE trace_id = $trace AND kind <> 'memory' GROUP BY names.category",
        trace=lake.resolve(case),
    ).fetchall()
    assert {category: (count, ns) for category, count, ns in found} == {
        category: (count, about(us)) for category, (count, us) in categories.items()
    }


@pytest.mark.parametrize(("case", "anchor", "said", "config", "anchors", "layers", "passes"), VERDICTS)
def test_how_many_passes_it_finds(lake, case, anchor, said, config, anchors, layers, passes):
    lake.set(case, num_layers=config)
    try:
        assert lake.compat.plan(case, anchor, said).fetchall() == [(anchor, layers, anchors, passes)]
        assert len(lake.compat.passes(case, anchor, said).fetchall()) == max(passes, 0)
    finally:
        lake.set(case, num_layers=None)


def test_a_profiles_anchor_is_taken_unseen(lake):
    # No kernel of this training run is FlashMLA's.
    lake.set("G7", profile="dsv3_mla", num_layers=61)
    try:
        assert lake.compat.plan("G7").fetchall() == [("flash_fwd_mla_combine", 61, 0, -1)]
    finally:
        lake.set("G7", profile=None, num_layers=None)


def test_forward_and_backward_interleaved_make_passes_that_mean_nothing(lake):
    found = lake.compat.passes("G7", "compute_attn_ws", 1).select("dur_ns // 1000").fetchall()
    assert found == [(31459,), (31332,), (32443,)]
    found = lake.compat.layers("G7", "compute_attn_ws", 1).select("sum_ns // 1000").fetchall()
    assert found == [(58014,), (59932,), (62031,)]


@pytest.mark.parametrize(
    ("case", "anchor", "layers", "expected"),
    [
        ("G1", "Li256ELi16", 36, [246.2, 245.8]),
        ("G5", "all_reduce", 72, [77.6]),
        ("G6", "flash_fwd_kernel", 24, [35.1]),
    ],
)
def test_durations_of_the_runs_that_make_no_sense(lake, case, anchor, layers, expected):
    found = lake.compat.passes(case, anchor, layers).select("round(dur_ns / 1e6, 1)").fetchall()
    assert [dur for (dur,) in found] == expected


def test_four_of_five_passes_their_notes_and_the_one_it_goes_into(s1):
    columns = "start_ns // 1000, end_ns // 1000, dur_ns // 1000, first_layer_ns // 1000, note, chosen"
    assert s1.compat.passes("S1").select(columns).fetchall() == [
        (3990, 44070, 40080, 5400, "cold-start", False),
        (44080, 107160, 63080, 9400, "growing 1.7x", True),
        (107170, 181250, 74080, 11400, None, False),
        (181260, 255340, 74080, 11400, "steady-state", False),
    ]


def test_every_layer_holds_the_attention_of_the_next_one(s1):
    found = s1.compat.layers("S1", pass_id=3).select(
        "layer_id, compress_ratio, start_ns // 1000, wall_ns // 1000, sum_ns // 1000, kernel_count, "
        "hadamard_ns // 1000, gemm_ns // 1000, layer_type"
    )
    assert found.fetchall() == [
        (0, 0, 181260, 11400, 11200, 21, 0, 800, "FIRST"),
        (1, 0, 192670, 12240, 12000, 25, 200, 800, "FULL_ATTN"),
        (2, 4, 204920, 11510, 11300, 22, 0, 800, "C4_LIGHT"),
        (3, 128, 216440, 12240, 12000, 25, 200, 800, "C128_HEAVY"),
        (4, 4, 228690, 11510, 11300, 22, 0, 800, "HASH"),
        (5, 128, 240210, 15130, 13900, 24, 0, 2800, "HASH"),
    ]


def test_averages_and_shares_by_its_types(s1):
    shares = ", ".join(
        f"round(100 * sum({name}_ns) / sum(sum_ns), 1)" for name in ("mla", "moe", "gemm", "nccl", "mhc", "hadamard")
    )
    found = s1.compat.layers("S1", pass_id=3).aggregate(
        f"layer_type, count(*), round(avg(wall_ns) / 1e6, 2), round(avg(sum_ns) / 1e6, 2), {shares}", "layer_type"
    )
    assert {row[0]: row[1:] for row in found.fetchall()} == {
        "FIRST": (1, 11.40, 11.20, 35.7, 35.7, 7.1, 7.1, 7.1, 0.0),
        "FULL_ATTN": (1, 12.24, 12.00, 33.3, 33.3, 6.7, 6.7, 6.7, 1.7),
        "C4_LIGHT": (1, 11.51, 11.30, 35.4, 35.4, 7.1, 7.1, 7.1, 0.0),
        "C128_HEAVY": (1, 12.24, 12.00, 33.3, 33.3, 6.7, 6.7, 6.7, 1.7),
        "HASH": (2, 13.32, 12.60, 31.7, 31.7, 14.3, 6.3, 6.3, 0.0),
    }


def test_without_a_count_of_layers_the_ramp_hides_the_rhythm_and_the_profile_decides(s1):
    s1.set("S1", config=None, profile="dsv4_csa_hca")
    try:
        assert s1.compat.plan("S1").fetchall() == [("mhc_post_tilelang", 43, 60, 0)]
        assert s1.compat.plan("S1", num_layers=6).fetchall() == [("mhc_post_tilelang", 6, 60, 4)]
        # Without ratios only the first and the last have a type of their own.
        found = s1.compat.layers("S1", num_layers=6, pass_id=0).select("layer_type").fetchall()
        assert [kind for (kind,) in found] == ["FIRST", *["CR-1"] * 4, "FINAL"]
        s1.set("S1", profile=None)
        # The first of three names that enough kernels contain; one block is a layer.
        assert s1.compat.plan("S1", num_layers=12).fetchall() == [("mhc_post_tilelang", 12, 60, 4)]
    finally:
        s1.set("S1", config=json.dumps(gpu_config()), profile=None)


def test_wall_ends_with_the_kernel_that_starts_last_though_another_works_longer(tmp_path):
    kernels = [("anchor", 0, 10), ("a", 10, 50), ("b", 20, 50), ("c", 30, 5), ("anchor", 80, 1)]
    trace = [
        {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur}
        for name, ts, dur in kernels
    ]
    (tmp_path / "wall.json").write_text(json.dumps({"traceEvents": trace}))
    lake = tracelake.open(tmp_path / "lake")
    lake.ingest(tmp_path / "wall.json")
    found = lake.compat.layers("wall", "anchor", 1).select("wall_ns, sum_ns, kernel_count")
    assert found.fetchall() == [(35000, 115000, 4)]


@pytest.fixture
def run(s1, call):
    return lambda *words: call("--lake", s1.path, *words)


def test_commands_answer_as_the_reference_only_when_told_to(run):
    code, out, _ = run("passes", "S1", "--compat", "reference", "--format", "json")
    assert (code, len(json.loads(out))) == (0, 4)
    code, out, _ = run("layers", "S1", "--compat", "reference", "--pass", "3", "--format", "json")
    assert (code, [row["layer_type"] for row in json.loads(out)][-1]) == (0, "HASH")
    code, out, _ = run("layers", "S1", "--compat", "--format", "json")
    assert (code, {row["pass_id"] for row in json.loads(out)}) == (0, {1})
    code, out, _ = run("passes", "S1", "--format", "json")
    assert (code, len(json.loads(out))) == (0, 5)
    assert "compat" not in run("passes", "--help")[1]


def test_layers_for_people_and_other_settings(run):
    options = ("--anchor", "flash_fwd_mla_combine", "--num-layers", "6", "--blocks-per-layer", "1")
    code, out, _ = run("layers", "S1", "--compat", "reference", "--pass", "all", *options)
    assert (code, out.count("FIRST")) == (0, 4)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("passes", "S1", "--compat", "--anchor", "none"), 1, "0 kernels contain 'none'"),
        (("layers", "S1", "--compat", "reference", "--num-layers", "30"), 1, "60 kernels contain 'mhc_post_tilelang'"),
        (("layers", "S1", "--compat", "reference", "--pass", "4"), 2, "passes 0 to 3"),
        (("passes", "S1", "--anchor", "mhc_post"), 2, "--anchor needs --compat"),
    ],
)
def test_what_it_cannot_answer(run, words, code, message):
    found, out, err = run(*words)
    assert (found, out) == (code, "")
    assert message in err
