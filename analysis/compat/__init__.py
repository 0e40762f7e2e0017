"""The formulas of the reference report, including its errors."""

from __future__ import annotations

from ..formulas import BATCHES, Formulas

FORMULAS = Formulas(
    "compat", "those of the reference report, errors included", ("naive", "efficient"), BATCHES, schema="compat",
    former="seed", open_type="fp8", open_words="one byte", tp_shares_experts=False, one_peak=True, vector_work=False,
)  # fmt: skip
