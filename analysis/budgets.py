"""Budgets: limits that a team sets for traces, each a SQL query with a name, a threshold and a sentence."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.errors import InputError, UsageError
from ..engine.sql import modules
from ..engine.sql.guard import without_end
from . import sides

if TYPE_CHECKING:
    import duckdb

    from ..engine.store import Store

#: Keys of a budget, and whether they are required.
_KEYS = {"name": True, "sentence": True, "query": True, "threshold": False, "unit": False, "worse": False}
#: Columns that a budget's query may return, with the default of each; `value` has none.
_COLUMNS = {"item": "''", "value": None, "threshold": "NULL", "noise": "0"}


@dataclass(frozen=True)
class Budget:
    """A budget.

    Attributes:
        file: the file that defines it.
        name: its name, unique in the file.
        sentence: what it guarantees, for people.
        query: SQL that returns a row per item: `value`, and optionally `item` (what the value is of),
            `threshold` and `noise` (an excess up to this is inconclusive; NULL: unknown; default: 0, see
            _budget_noise for comparisons).
        threshold: the limit of the value, for rows without a threshold of their own.
        unit: of the value.
        worse: higher, or lower if the value must not fall below the threshold.
    """

    file: str
    name: str
    sentence: str
    query: str
    threshold: float | None = None
    unit: str = ""
    worse: str = "higher"


def read(paths: Sequence[Path]) -> list[Budget]:
    """Read budget files.

    Raises:
        InputError: a file cannot be read, is not TOML, or has something other than budgets.
    """
    return [budget for path in paths for budget in _read(path)]


def check(
    store: Store,
    files: Sequence[str | os.PathLike[str]],
    *,
    of: Sequence[str] = (),
    baseline: str | None = None,
    anyway: bool = False,
) -> duckdb.DuckDBPyRelation:
    """Check traces against the budgets of some files, see `judge`.

    Args:
        store: the lake.
        files: budget files.
        of: the traces, runs or filters to check; default: the whole lake.
        baseline: what they are compared with; default: the baseline in their settings.
        anyway: compare even if the measurement methods differ.

    Raises:
        InputError: a file is unusable, or has no budget.
        UsageError: a word matches nothing; a baseline without traces to check; sides, or a trace and the baseline in
            its settings, cannot be compared.
    """
    budgets = read([Path(file) for file in files])
    if not budgets:
        raise InputError(f"{', '.join(map(str, files))}: no budget in it.")
    if baseline is not None and not of:
        raise UsageError("a baseline is for what is judged: name that, too.")
    if of:
        sides.judge(store, of, baseline=baseline, anyway=anyway)
    elif any(_compares(budget) for budget in budgets):
        sides.check_comparable(store, anyway=anyway)
    return judge(store, budgets)


def judge(store: Store, budgets: Sequence[Budget]) -> duckdb.DuckDBPyRelation:
    """Return a row per budget and item: budget, item, value, threshold, noise, unit, verdict, sentence, file.

    The verdict is pass, fail, or cannot judge: the query gave no row, no value, no threshold or no noise, or the value
    is beyond the threshold by no more than the noise. The sentence of a budget without rows ends with the reason. Of a
    budget that reads comparisons, each side that could not be compared has such a row, with the reason as the sentence.

    Raises:
        InputError: a budget's query, or its result, is invalid.
    """
    return reduce(lambda one, other: one.union(other), [_judged(store, budget) for budget in budgets])


def _compares(budget: Budget) -> bool:
    """Return whether a budget's query reads comparisons with a baseline."""
    return "comparison_works" in modules.closure(modules.names_in(budget.query))


def _read(path: Path) -> list[Budget]:
    try:
        entries = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not TOML: {error}.") from None
    listed = entries.pop("budget", None)
    if entries or not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        found = ", ".join(entries) or "nothing of that"
        raise InputError(f"{path}: expected [[budget]] tables, found {found}. `docs/guide/ci-gate.md` has examples.")
    budgets = [_budget(path, entry) for entry in listed]
    names = [budget.name for budget in budgets]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InputError(f"{path}: two budgets have the name {', '.join(sorted(twice))}.")
    return budgets


def _budget(path: Path, entry: dict[str, Any]) -> Budget:
    name = entry.get("name", "?")
    missing = [key for key, needed in _KEYS.items() if needed and key not in entry]
    unknown = [key for key in entry if key not in _KEYS]
    if missing or unknown:
        what = f"lacks {', '.join(missing)}" if missing else f"has {', '.join(unknown)}, which is no key of a budget"
        raise InputError(f"{path}: budget {name} {what}. Keys: {', '.join(_KEYS)}.")
    texts = {key: value for key, value in entry.items() if key != "threshold"}
    if bad := [key for key, value in texts.items() if not isinstance(value, str) or not value.strip()]:
        raise InputError(f"{path}: budget {name}: {', '.join(bad)} must be text.")
    threshold = entry.get("threshold")
    is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool) and math.isfinite(threshold)
    if threshold is not None and not is_number:
        raise InputError(f"{path}: budget {name}: threshold must be a number, found {threshold!r}.")
    if entry.get("worse", "higher") not in ("higher", "lower"):
        raise InputError(f"{path}: budget {name}: worse must be higher or lower, found {entry['worse']!r}.")
    return Budget(str(path), **entry)


def _judged(store: Store, budget: Budget) -> duckdb.DuckDBPyRelation:
    """Return a budget's rows with verdicts, computed once.

    Raises:
        InputError: its query, or its result, is invalid.
    """
    import duckdb

    # It may end with a comment.
    query = without_end(budget.query) + "\n"
    try:
        columns = store.sql(query).columns
        if "value" not in columns:
            raise UsageError(f"its query gives no column value, but {columns}.")
        missing = f" UNION ALL {_not_compared(budget)}" if _compares(budget) else ""
        rows = store.kept(_with_verdicts(budget, query, columns) + missing)
    except UsageError as error:
        raise InputError(f"{budget.file}: budget {budget.name}: {error}") from None
    except (duckdb.DataError, duckdb.ProgrammingError, duckdb.NotSupportedError) as error:
        # The other lines quote the query that wraps the budget's.
        reason = str(error).partition("\n")[0]
        raise InputError(f"{budget.file}: budget {budget.name}: {reason}") from None
    if rows.limit(1).fetchall():
        return rows
    unjudged = replace(budget, sentence=f"{budget.sentence} {_why_no_row(store, budget)}")
    return store.kept(_with_verdicts(unjudged, "SELECT NULL AS value", ["value"]))


def _why_no_row(store: Store, budget: Budget) -> str:
    if _compares(budget) and not store.rows("SELECT 1 FROM _comparison_pairs LIMIT 1"):
        return "No baseline is set: give one with --baseline SIDE."
    return "The query gave no row."


def _with_verdicts(budget: Budget, query: str, columns: Sequence[str]) -> str:
    """Return the SQL that judges the rows of a query."""
    defaults = dict(_COLUMNS)
    if _compares(budget):
        defaults["noise"] = f"_budget_noise(CAST({'item' if 'item' in columns else _COLUMNS['item']} AS VARCHAR))"
    asked = ", ".join(f"{name if name in columns else other} AS {name}" for name, other in defaults.items())
    default = "NULL" if budget.threshold is None else repr(float(budget.threshold))
    sign = "-1" if budget.worse == "lower" else "1"
    return f"""
        SELECT
            {modules.quoted(budget.name)} AS budget, CAST(item AS VARCHAR) AS item, value, threshold, noise,
            {modules.quoted(budget.unit)} AS unit,
            _budget_verdict({sign} * (value - threshold), noise) AS verdict,
            {modules.quoted(budget.sentence)} AS sentence, {modules.quoted(budget.file)} AS file
        FROM (SELECT
            item, CAST(value AS DOUBLE) AS value, coalesce(CAST(threshold AS DOUBLE), {default}) AS threshold,
            CAST(noise AS DOUBLE) AS noise
        FROM (SELECT {asked} FROM ({query})))"""


def _not_compared(budget: Budget) -> str:
    """Return the SQL of a row per side that could not be compared, in the columns of `_with_verdicts`."""
    return f"""
        SELECT
            {modules.quoted(budget.name)}, side, NULL, NULL, NULL, {modules.quoted(budget.unit)}, 'cannot judge',
            concat(side, ' ', reason, '.'), {modules.quoted(budget.file)}
        FROM (FROM _uncompared ORDER BY side)"""
