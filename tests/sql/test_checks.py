"""The relations of checks: values of their own, judged in one place by the rows of check_rules."""

from __future__ import annotations

import pytest

from tracelake.engine.sql import modules

CHECKS = [entry for entry in modules.modules() if entry.name.endswith("_checks") and entry.kind == "VIEW"]


@pytest.mark.parametrize("entry", CHECKS, ids=lambda entry: entry.name)
def test_a_relation_of_checks_leaves_the_verdict_to_one_macro(entry):
    assert "judged_checks" in entry.uses
    assert ">= threshold" not in entry.sql


def test_a_row_of_health_has_the_severity_of_its_rule_from_the_threshold_on(s1_lake):
    assert s1_lake.sql(
        'SELECT "check", h.severity, h.value FROM health AS h JOIN check_rules AS r USING ("check") '
        "WHERE h.severity <> CASE WHEN h.value >= r.threshold THEN r.severity ELSE 'ok' END "
        "OR h.threshold <> r.threshold OR h.unit <> r.unit"
    ).fetchall() == []  # fmt: skip
    found = s1_lake.sql("SELECT count(DISTINCT \"check\"), bool_or(severity = 'ok') FROM health").fetchall()
    # The made-up trace has kernels, layers and collectives, and no model, capture or table of Ascend.
    assert found[0][0] > 20
    assert found[0][1]
