"""The values of scenarios: what is refused before they are added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..engine.errors import UsageError
from ..engine.sql.near import guess
from ..engine.store import Store

#: Columns that hold types of values, spelled in any way that the table dtypes has.
_TYPES = ("weight_dtype", "activation_dtype", "kv_dtype", "gemm_dtype", "head_dtype")
_PHASES = ("decode", "prefill", "training")
_MLA_MODES = ("absorbed", "auto", "expanded")


def checker(store: Store) -> Callable[[str, Any], Any]:
    """Return what checks a value for a column of the table scenarios, and returns it as the table has it.

    It raises UsageError where the column or the name is unknown, or the number is not whole and must be. A number
    that no work has (`tp=0`) passes: the relation scenario_faults tells of it.
    """
    connection = store.prepare("scenarios dtypes execution_profiles")
    table = connection.table("scenarios")
    columns = dict(zip(table.columns, map(str, table.types), strict=True))
    profiles = [name for (name,) in connection.execute("SELECT execution FROM execution_profiles").fetchall()]
    known = {"phase": _PHASES, "execution": sorted(profiles), "mla_mode": _MLA_MODES}
    spelled = connection.execute("SELECT token, dtype FROM dtypes WHERE bytes > 0 ORDER BY ALL").fetchall()
    types = {name: dtype for token, dtype in spelled for name in (token, dtype)}

    def checked(column: str, value: Any) -> Any:
        if column not in columns:
            raise UsageError(f"{column}: no column of scenarios.")
        if value is None:
            return None
        if column in known and value not in known[column]:
            raise UsageError(f"{column}={value}: unknown. Known: {', '.join(known[column])}.")
        if column in _TYPES:
            if (dtype := types.get(str(value).lower())) is None:
                near = guess(str(value).lower(), types, 4)
                raise UsageError(f"{column}={value}: unknown.{near} The table dtypes has all.")
            return dtype
        return _whole(column, value) if columns[column] == "BIGINT" else value

    return checked


def check_scenario(store: Store, scenario: str) -> None:
    """Check that the table scenarios has a scenario.

    Raises:
        UsageError: it has none of this name.
    """
    if not store.rows("SELECT 1 FROM scenarios WHERE scenario = $1", [scenario]):
        known = [name for (name,) in store.rows("SELECT scenario FROM scenarios WHERE study IS NULL ORDER BY ALL")]
        raise UsageError(f"{scenario}: unknown scenario.{guess(scenario, known, 4)} The table scenarios has all.")


def _whole(column: str, value: Any) -> int:
    try:
        if (number := int(value)) == value or isinstance(value, str):
            return number
    except (TypeError, ValueError, OverflowError):
        pass
    raise UsageError(f"{column}={value}: expected a whole number.")
