"""Analyses that need Python besides SQL: what-ifs, calibration, simulation, measured times; functions over a store."""

from typing import TYPE_CHECKING

from ..later import submodules

if TYPE_CHECKING:
    from . import (
        alignment,
        budgets,
        calibration,
        comparison,
        history,
        latencies,
        mfu,
        model_traces,
        models,
        passes,
        ranks,
        sides,
        sweeps,
        traces,
    )

__all__ = [
    "alignment", "budgets", "calibration", "comparison", "history", "latencies", "mfu", "model_traces", "models",
    "passes", "ranks", "sides", "sweeps", "traces",
]  # fmt: skip
__getattr__ = submodules(__name__)
