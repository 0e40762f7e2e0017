"""Lakes whose scenarios are studies of models, and their figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import tracelake


def near(figure: str) -> Any:
    """Return what equals a printed figure: to a part in a billion, or to half of its last decimal."""
    decimals = len(figure.partition(".")[2]) if "." in figure and "e" not in figure else 15
    return pytest.approx(float(figure), rel=1e-9, abs=0.501 * 10.0**-decimals)


def with_studies(
    folder: Path, *studies: str, formulas: str = "physical", configs: Mapping[str, str] | None = None
) -> Any:
    """Open a lake whose scenarios are those of the studies, calls of presets, and whose models have configs."""
    lake = tracelake.open(folder / "lake")
    for model, config in (configs or {}).items():
        lake.rows("INSERT INTO model_configs (model, config) VALUES ($1, $2)", [model, config])
    lake.rows("DELETE FROM scenarios")
    for study in studies:
        lake.rows(f"INSERT INTO scenarios BY NAME SELECT * REPLACE ($1 AS formulas) FROM {study}", [formulas])
    return lake


def named_rows(lake: Any, query: str) -> list[dict[str, Any]]:
    """Return a question's rows by column."""
    answer = lake.sql(query)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.fetchall()]
