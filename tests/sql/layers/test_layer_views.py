"""Layers summed up: by category, by type, beside each other, and where they are in Perfetto.

Figures of real traces were worked out with decimal arithmetic from the trace files (categories by a rule table of
ten substrings, so finer ones of ours are folded back); those of the synthetic trace S1 with pencil and paper.
"""

import json

import duckdb
import pytest

import tracelake
from tracelake.engine.sql.modules import csv_file
from tracelake.synthetic.gpu import gpu_config, write_gpu

from ...lakes import ingest_at_once
from ...support import data_file
from ..captures import sql_of

CASES = {
    "g1": ("sglang_qwen3-8b_prefill_mi300x", 36),
    "g2": ("sglang_qwen3-8b_decode_mi300x", 36),
    "g3": ("vllm_gpt-oss_decode_mi300x", 24),
    "g5": ("vllm_gpt-oss_prefill_tp_b200", 36),
}
#: Categories of the rule table that the expected figures were made with; all else is other.
COARSE = "gemm moe_gemm attention norm activation rope kv_store moe_routing quant communication".split()
IN_LAYERS = {
    "g1": {
        "gemm": (419869.417, 85.34), "norm": (26133.815, 5.31), "attention": (20075.158, 4.08),
        "activation": (16508.145, 3.36), "rope": (4725.106, 0.96), "other": (3389.917, 0.69),
        "kv_store": (1271.220, 0.26),
    },
    "g2": {
        "gemm": (5385.425, 58.33), "attention": (2127.869, 23.05), "norm": (679.227, 7.36), "other": (346.648, 3.75),
        "activation": (324.367, 3.51), "rope": (195.815, 2.12), "kv_store": (173.545, 1.88),
    },
}  # fmt: skip


class Traces:
    """A lake of the golden cases."""

    def __init__(self, folder):
        self.lake = tracelake.open(folder / "lake")
        cases = {data_file(f"kineto/{name}.json.gz"): {"num_layers": layers} for name, layers in CASES.values()}
        self.ids = dict(zip(CASES, ingest_at_once(self.lake, cases), strict=True))

    def rows(self, case, query):
        return self.lake.rows(query, [self.ids[case]])


@pytest.fixture(scope="module")
def traces(tmp_path_factory):
    return Traces(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="module")
def s1(tmp_path_factory):
    folder = tmp_path_factory.mktemp("s1")
    write_gpu(folder / "s1.json")
    (folder / "config.json").write_text(json.dumps(gpu_config()))
    lake = tracelake.open(folder / "lake")
    lake.ingest(folder / "s1.json", model=folder / "config.json")
    return lake


@pytest.fixture(scope="module")
def untyped(tmp_path_factory):
    folder = tmp_path_factory.mktemp("untyped")
    write_gpu(folder / "s1.json")
    lake = tracelake.open(folder / "lake")
    lake.ingest(folder / "s1.json", num_layers=6)
    return lake


def chosen_types(lake, columns):
    joined = "layer_types JOIN passes USING (trace_id, device, pass_id)"
    return lake.rows(f"SELECT {columns} FROM {joined} WHERE chosen ORDER BY layer_ids")


# Categories


@pytest.mark.parametrize("case", ["g1", "g2"])
def test_categories_inside_the_layers_of_a_dense_model(traces, case):
    folded = ", ".join(f"'{name}'" for name in COARSE)
    found = traces.rows(
        case,
        f"SELECT CASE WHEN category IN ({folded}) THEN category ELSE 'other' END AS coarse, "
        "round(sum(sum_us), 3), round(100 * sum(sum_us) / sum(sum(sum_us)) OVER (), 2) "
        "FROM layer_categories WHERE trace_id = $1 GROUP BY coarse",
    )
    assert {category: (total, share) for category, total, share in found} == IN_LAYERS[case]


@pytest.mark.parametrize("case", ["g1", "g3", "g5"])
def test_the_categories_of_a_layer_are_the_whole_layer(traces, case):
    broken = traces.rows(
        case,
        "SELECT layer_id FROM layers JOIN layer_categories AS c USING (trace_id, device, pass_id, layer_id) "
        "WHERE trace_id = $1 GROUP BY layer_id, layers.sum_us, layers.kernel_count "
        "HAVING abs(sum(c.sum_us) - layers.sum_us) > 1e-6 OR sum(c.kernel_count) <> layers.kernel_count "
        "OR abs(sum(layer_pct) - 100) > 1e-9",
    )
    assert broken == []


def test_every_category_that_a_rule_can_give_has_a_group(s1):
    assert s1.rows("SELECT DISTINCT category FROM category_rules ANTI JOIN category_groups USING (category)") == []


# Types from a config


def test_types_by_ratio_with_the_share_of_each_category(s1):
    # Of 12000 us in a C4 layer: MLA 4000, experts 4000, GEMM 300 + 500, all-reduce 800, mHC 800, Hadamard 200.
    assert chosen_types(s1, "layer_type, layer_kind, layers, mean_wall_us, median_wall_us, mean_sum_us") == [
        ("FULL_ATTN", None, 2, 11400, 11400, 11200),
        ("C4", None, 2, 12240, 12240, 12000),
        ("C128", None, 2, 11510, 11510, 11300),
    ]
    shares = {
        kind: tuple(values)
        for kind, *values in s1.rows(
            "SELECT layer_type, " + ", ".join(
                f"round(coalesce(sum(pct) FILTER (category SIMILAR TO '{category}'), 0), 1)"
                for category in ("mla", "moe", "gemm.*", "allreduce", "mhc.*", "hadamard")
            ) + " FROM layer_type_categories WHERE pass_id = 3 GROUP BY layer_type"
        )
    }  # fmt: skip
    assert shares == {
        "FULL_ATTN": (35.7, 35.7, 7.1, 7.1, 7.1, 0.0),
        "C4": (33.3, 33.3, 6.7, 6.7, 6.7, 1.7),
        "C128": (35.4, 35.4, 7.1, 7.1, 7.1, 0.0),
    }


def test_the_shares_of_a_type_and_of_a_pass_sum_to_the_whole(s1):
    query = "SELECT DISTINCT round(sum(pct), 9) FROM layer_type_categories GROUP BY pass_id, layer_type"
    assert s1.rows(query) == [(100.0,)]
    assert s1.rows("SELECT DISTINCT round(sum(pass_pct), 9) FROM layer_types GROUP BY pass_id") == [(100.0,)]


def test_the_bottleneck_is_the_type_with_most_time_and_its_largest_category(s1):
    found = s1.rows(
        "SELECT layer_type, layers, type_count, round(pass_pct, 3), target, round(target_pct, 3), idle_pct "
        "FROM layer_bottlenecks WHERE pass_id = 3"
    )
    # 2 x 12240 of 70300 us; 4000 of 12240 us; 240 of 12240 us between kernels.
    assert found == [("C4", 2, 3, 34.822, "mla", 32.68, pytest.approx(100 * 240 / 12240))]


# Kinds where no config tells


def test_two_kinds_alternate_and_the_first_layer_is_one_of_the_even_ones_with_a_kernel_less(traces):
    found = traces.rows(
        "g3",
        "SELECT layer_type, layer_kind, layer_ids, round(mean_wall_us, 3), round(mean_sum_us, 3) FROM layer_types "
        "WHERE trace_id = $1 ORDER BY layer_kind",
    )
    assert found == [
        (None, "A", [*range(0, 24, 2)], 408.507, 408.491),
        (None, "B", [*range(1, 24, 2)], 455.867, 455.850),
    ]
    shares = traces.rows(
        "g3",
        "SELECT layer_kind, category, round(pct, 2) FROM layer_type_categories WHERE trace_id = $1 AND category IN "
        "('moe_gemm', 'gemm', 'attention', 'moe_routing', 'norm')",
    )
    assert {(kind, category): share for kind, category, share in shares} == {
        ("A", "moe_gemm"): 70.16, ("A", "gemm"): 9.67, ("A", "attention"): 3.30, ("A", "moe_routing"): 7.78,
        ("A", "norm"): 3.34, ("B", "moe_gemm"): 65.72, ("B", "gemm"): 8.78, ("B", "attention"): 10.28,
        ("B", "moe_routing"): 6.83, ("B", "norm"): 2.97,
    }  # fmt: skip


def test_medians_show_that_one_slow_layer_moved_the_average(traces):
    found = traces.rows(
        "g5",
        "SELECT layer_kind, layers, round(mean_wall_us, 3), round(mean_sum_us, 3), median_wall_us < mean_wall_us - 400 "
        "FROM layer_types WHERE trace_id = $1 ORDER BY layer_kind",
    )
    # Kernels alone are 291.059 and 295.027; the copies of a layer take 21 us more.
    assert found == [("A", 18, 2287.542, 312.419, True), ("B", 18, 1797.376, 316.152, False)]
    found = traces.rows(
        "g5",
        "SELECT layer_kind, round(sum(sum_us) FILTER (category = 'attention'), 3) FROM layer_type_categories "
        "WHERE trace_id = $1 GROUP BY layer_kind ORDER BY layer_kind",
    )
    assert found == [("A", 212.544), ("B", 273.277)]
    found = traces.rows(
        "g5",
        "SELECT round(sum(sum_us), 3) FROM layer_type_categories WHERE trace_id = $1 AND category = 'communication'",
    )
    assert found == [(1896.348,)]


def test_layers_that_wait_for_the_host_have_idle_time_as_target(traces):
    [(target, category, share)] = traces.rows(
        "g5", "SELECT target, category, target_pct FROM layer_bottlenecks WHERE trace_id = $1"
    )
    assert (target, category) == ("idle", "moe_gemm")
    assert share > 80
    # The first call takes 10.1 ms, the others 1.7 to 2.2: without it, the even layers take less than the odd ones.
    [(kind, layers, outliers)] = traces.rows(
        "g5", "SELECT layer_kind, layers, outlier_ids FROM layer_bottlenecks WHERE trace_id = $1"
    )
    assert (kind, layers, outliers) == ("B", 18, [0])


@pytest.mark.parametrize("case", ["g1", "g2"])
def test_a_dense_model_has_one_kind(traces, case):
    found = traces.rows(case, "SELECT layer_kind, layers FROM layer_types WHERE trace_id = $1")
    assert found == [("A", 36)]


def test_three_kinds_by_kernels_alone_are_the_types_that_the_config_tells(untyped):
    assert chosen_types(untyped, "layer_type, layer_kind, layer_ids") == [
        (None, "A", [0, 1]), (None, "B", [2, 4]), (None, "C", [3, 5]),
    ]  # fmt: skip


def kinds(*layers):
    """Return the kinds of layers whose kernels are given as `category:name`."""
    with duckdb.connect() as connection:
        connection.execute(sql_of("category_groups"))
        connection.execute(f"INSERT INTO category_groups FROM '{csv_file('category_groups')}'")
        connection.execute(
            "CREATE TABLE layer_kernels (trace_id VARCHAR, rank INTEGER, device INTEGER, pass_id BIGINT, "
            "layer_id BIGINT, name VARCHAR, category VARCHAR)"
        )
        rows = [
            ("t", None, 0, 0, layer, kernel.partition(":")[2], kernel.partition(":")[0])
            for layer, names in enumerate(layers)
            for kernel in names.split()
        ]
        connection.executemany("INSERT INTO layer_kernels VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute(sql_of("_layer_kinds"))
        found = connection.execute("SELECT layer_kind FROM _layer_kinds ORDER BY layer_id").fetchall()
    return "".join(kind for (kind,) in found)


DENSE = "norm:add attention:full gemm:wide activation:silu gemm:narrow"
EXPERTS = "norm:add attention:full moe_gemm:experts activation:silu"


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ((DENSE.replace("add", "plain"), DENSE, DENSE), "AAA"),  # the first norm has no residual
        ((DENSE, DENSE, DENSE + " norm:last"), "AAA"),  # the last layer ends with one more
        ((DENSE, EXPERTS, EXPERTS), "ABB"),  # a leading dense layer is no odd expert layer
        ((DENSE.replace("add", "plain"), DENSE, EXPERTS, EXPERTS), "AABB"),
        ((DENSE, DENSE.replace("wide", "wider"), DENSE), "AAA"),  # a matmul of another tile size
        ((DENSE, DENSE, DENSE.replace("full", "sliding"), DENSE), "AABA"),
        ((DENSE, DENSE + " attention:full", DENSE + " attention:full"), "ABB"),  # attention twice
        (("other:x", "other:y", "other:z"), "AAA"),  # each its own: nothing tells kinds apart
        ((DENSE + " other:index", DENSE, DENSE + " other:index", DENSE), "ABAB"),
        ((DENSE,), "A"),
        ((DENSE + " memset:fill", DENSE, DENSE + " memset:fill", DENSE), "AAAA"),  # copies tell nothing
    ],
)  # fmt: skip
def test_kinds_of_layers(layers, expected):
    assert kinds(*layers) == expected


# Two layers beside each other


def diff(lake, *sides):
    [(trace_id,)] = lake.rows("SELECT trace_id FROM traces")
    return lake.rows(
        "SELECT side, name, a_count, b_count, diff_count, a_us, b_us, diff_us "
        f"FROM layer_diff('{trace_id}', {', '.join(map(str, sides))}) ORDER BY side, name"
    )


def test_layer_2_alone_runs_the_indexer_and_layer_3_alone_the_compressed_prefix(s1):
    found = diff(s1, 3, 2, 3, 3)
    assert [row for row in found if row[0] == "a"] == [
        ("a", "fast_hadamard_transform_kernel", 1, 0, -1, 200, 0, -200),
        ("a", "fused_store_indexer_cache", 1, 0, -1, 100, 0, -100),
        ("a", "topk_transform_512", 1, 0, -1, 200, 0, -200),
        ("a", "void deep_gemm::sm90_fp8_paged_mqa_logits<1>", 1, 0, -1, 300, 0, -300),
    ]
    assert [row for row in found if row[0] == "b"] == [("b", "c128_prefill", 0, 1, 1, 0, 100, 100)]
    assert len([row for row in found if row[0] == "both"]) == 15
    assert sum(row[5] for row in found) == 12000
    assert sum(row[6] for row in found) == 11300


def test_a_layer_beside_itself_does_not_differ_and_swapped_sides_change_the_sign(s1):
    assert {(row[0], row[4], row[7]) for row in diff(s1, 3, 2, 3, 2)} == {("both", 0, 0)}
    forth = {name: (count, us) for _, name, _, _, count, _, _, us in diff(s1, 3, 2, 3, 3)}
    back = {name: (-count, -us) for _, name, _, _, count, _, _, us in diff(s1, 3, 3, 3, 2)}
    assert forth == back


def test_names_that_differ_only_far_to_the_right_are_different_kernels(traces):
    # The first norm has no residual to add: the same template with one flag off, in the middle of its mangled name.
    found = traces.rows(
        "g1", "SELECT side, name, a_count, b_count FROM layer_diff($1, 0, 0, 0, 1) WHERE a_count <> b_count"
    )
    [(with_residual, *calls), (without, *first_calls)] = sorted(
        (name, a_count, b_count) for _, name, a_count, b_count in found
    )[::-1]
    assert with_residual.replace("ELb1", "ELb0", 1) == without
    assert (calls, first_calls) == ([1, 2], [1, 0])


# Perfetto


def test_ranges_count_from_perfettos_origin_in_seconds_and_milliseconds(s1):
    found = s1.rows(
        "SELECT range, layer_id, layer_type, start_s, end_s, start_ms, wall_ms, start_ns FROM perfetto_ranges "
        "WHERE pass_id = 3 AND (layer_id IS NULL OR layer_id = 2) ORDER BY start_ns, range"
    )
    assert found == [
        ("prologue", None, None, 0.17527, 0.17547, 175.27, 0.2, 175270000),
        ("pass", None, None, 0.17548, 0.24583, 175.48, 70.35, 175480000),
        ("layer", 2, "C4", 0.1983, 0.21054, 198.3, 12.24, 198300000),
        ("epilogue", None, None, 0.24584, 0.24835, 245.84, 2.51, 245840000),
        ("gap", None, None, 0.24835, 0.24936, 248.35, 1.01, 248350000),
    ]


def test_a_decode_layer_of_a_quarter_millisecond_has_a_range_of_its_own(traces):
    found = traces.rows(
        "g2", "SELECT start_ms, end_ms, wall_ms FROM perfetto_ranges WHERE trace_id = $1 AND layer_id = 0"
    )
    assert found == [(463842.169 / 1e3, 464123.388 / 1e3, 0.281219)]
