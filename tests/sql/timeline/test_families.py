"""Families of operations, and what the reference takes for their work. Times in microseconds."""

import pytest

import tracelake

from ...lakes import in_one_lake
from ...summary_cases import write_case

#: Family, shapes, and the reference's floating-point operations of a call.
PROXIES = [
    ("loss_xent", "65536,512|2,512,128256", 67108864),
    ("loss_xent", "65536,128|65536,128", 16777216),
    ("loss_xent", "512", 512),
    ("attention_splash", "32,512,64|32,512,64|32,8,2048,64|32,8,2048,64", 274877906944),
    ("attention_splash", "32,512,128|32,512,128|32,512,64|32,8,2048,64|32,8,2048,128", 412316860416),
    ("attention_splash", "16,128", 2048),
    ("other", "128256,512", 65667072),
    ("other", "0,4|3,3", 9),
    ("attention_splash", "0,8,2048,64|0,8,2048,64", None),
]


def written(folder, text):
    return write_case(folder / "case.json", [(1, "/device:TPU:0", {"XLA Ops": text})])


@in_one_lake
def test_the_reference_s_work_of_a_call(tmp_path):
    lake = yield written(tmp_path, "a 0+1")
    for family, shapes, expected in PROXIES:
        [(found,)] = lake.rows("SELECT _compat_proxy($1, $2)", [family, shapes])
        assert found == expected, (family, shapes)


@in_one_lake
def test_families_are_of_all_operations_and_the_reference_s_of_its_list(tmp_path):
    text = """
        splash_mha_fwd.1 0+50; fusion.1 50+30; all-reduce.1 80+10; psum.2 90+5;
        dot.3 100+20 {"hlo_category": "convolution fusion", "model_flops": "40000000"};
        custom.4 120+20 {"hlo_category": "custom-call", "model_flops": "0"};
        op.5 140+10 {"tf_op": "jit(step)/optimizer_update/mul"}
    """
    lake = yield written(tmp_path, text)
    rows = lake.rows("SELECT family, self_us, flop_known_pct, tflops FROM op_families ORDER BY family")
    assert rows == [
        ("attention", 50, 0, None),
        ("collective", 15, 0, None),
        ("custom call", 20, 0, None),
        ("fusion", 30, 0, None),
        # 40 million in 20 µs.
        ("matmul", 20, 100, pytest.approx(2)),
        ("optimizer", 10, 0, None),
    ]
    query = "SELECT family, exclusive_us, calls, share FROM compat_families($1, $2, 0) ORDER BY place"
    assert lake.rows(query, [lake.id, 25]) == [
        ("other", 85, 5, pytest.approx(85 / 145)), ("attention_splash", 50, 1, pytest.approx(50 / 145)),
        ("collective", 10, 1, pytest.approx(10 / 145)),
    ]  # fmt: skip
    assert lake.rows(query, [lake.id, 2]) == [
        ("attention_splash", 50, 1, pytest.approx(50 / 80)), ("other", 30, 1, pytest.approx(30 / 80)),
    ]  # fmt: skip
    [(share,)] = lake.rows("SELECT share FROM compat_families($1, 25, 290) WHERE family = 'other'", [lake.id])
    assert share == pytest.approx(85 / 290)


def test_a_rule_of_the_lake_s_own_comes_first(tmp_path):
    folder = tmp_path / "lake" / "lookup"
    lake = tracelake.open(tmp_path / "lake")
    folder.mkdir(exist_ok=True)
    (folder / "family_rules.csv").write_text("priority,field,pattern,family,comment\n1,name,^fusion,mine,\n")
    lake.ingest(written(tmp_path, "fusion.1 0+10; dot.1 10+10"))
    assert dict(lake.rows("SELECT family, self_us FROM op_families")) == {"mine": 10, "matmul": 10}


def test_a_real_tpu_trace(real_lake):
    lake = real_lake("jax/tpu_inference_k1.trace.json.gz")
    rows = dict(lake.rows("SELECT family, sum(self_us) FROM op_families GROUP BY 1"))
    # By hlo_category: convolution fusions 84 561.535, all-reduce 6 888.667 and all-gather 7.967.
    assert rows["matmul"] == pytest.approx(84561.535, abs=0.6)
    assert rows["collective"] == pytest.approx(6896.634, abs=0.3)
    families = lake.rows("SELECT DISTINCT family FROM compat_families((SELECT trace_id FROM traces), 25, 0)")
    assert families == [("other",)]
