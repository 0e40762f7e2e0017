"""Golden figures of the reference report's formulas, and lakes whose scenarios are its studies.

The figures in `report_golden/` were made by running the reference and by a second implementation of it; none comes from
the relations under test. Each file is one table of the specification of the report (sections 10.4 to 10.9 and 10.11).
"""

from __future__ import annotations

import csv
import functools
from pathlib import Path

from ..studies import with_studies

GOLDEN = Path(__file__).with_name("report_golden")
REGIMES = {"hbm-bound": "memory", "compute-bound": "compute", "network-bound": "network"}
with_report = functools.partial(with_studies, formulas="compat")


def golden(table: str) -> list[dict[str, str]]:
    """Return the rows of a table of golden figures, as printed."""
    with (GOLDEN / f"{table}.csv").open(newline="") as file:
        return list(csv.DictReader(file))
