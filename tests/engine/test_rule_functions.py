"""The functions that a table's rules become: the rules that they return are those whose pattern matches."""

from __future__ import annotations

import pytest

from tracelake.engine.errors import InputError
from tracelake.engine.sql.modules import MATCHED

#: Names of kernels, operators, operations and annotations; most of them match rules of some table.
TEXTS = (
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm>", "flash_bwd_dq_dk_dv_loop_kernel", "splitk_reduce_f16",
    "aten::mm", "aten::addmm_", "aten::softmax", "all-reduce-start.3", "%copy-start.1", "fusion.12", "optimizer_update",
    "step[DECODE bs=32", "ProfilerStep#6", "train_step 12", "attn(F)", "mlp(W)", "FlashAttentionScore", "MatMulV3", "",
)  # fmt: skip


@pytest.mark.parametrize("table", MATCHED)
def test_a_function_returns_the_rules_that_a_join_finds(s1_lake, table):
    for text in TEXTS:
        joined = f"SELECT list(priority ORDER BY priority) FROM {table} WHERE regexp_matches($1, pattern)"
        [(found, expected)] = s1_lake.rows(f"SELECT _matching_{table}($1), ({joined})", [text])
        assert found == (expected or []), text


def test_the_first_matching_rule_of_an_operator_is_the_lowest(s1_lake):
    for text in TEXTS:
        joined = "SELECT min(priority) FROM trace_op_rules WHERE regexp_matches($1, pattern)"
        [(found, expected)] = s1_lake.rows(f"SELECT _trace_op_rule($1), ({joined})", [text])
        assert found == expected, text


def test_every_table_has_a_text_that_matches(s1_lake):
    for table in MATCHED:
        [(most,)] = s1_lake.rows(f"SELECT max(len(_matching_{table}(text))) FROM unnest($1) AS t(text)", [list(TEXTS)])
        assert most > 0, table


def test_the_lakes_own_rules_are_in_the_function(s1_lake):
    asked = "SELECT _matching_step_rules('my_step 4'), _matching_step_rules('ProfilerStep#6')"
    assert s1_lake.rows(asked) == [([], [80])]
    (s1_lake.path / "lookup").mkdir()
    rules = s1_lake.path / "lookup" / "step_rules.csv"
    rules.write_text("priority,step_source,pattern\n7,train step,^my_step\n9,train step,Profiler\n")
    assert s1_lake.rows(asked) == [([7], [9, 80])]
    rules.write_text("priority,step_source,pattern\n7,train step,(\n")
    with pytest.raises(InputError, match="step_rules: a rule is not a regular expression"):
        s1_lake.rows(asked)
