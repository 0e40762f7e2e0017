"""The modelled cost of a scenario, and sweeps over many."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..engine.errors import UsageError
from ..engine.store import Store
from .formulas import Formulas, find
from .models import resolve_hardware, resolve_model, study_remarks
from .scenarios import check_scenario, checker
from .workloads import listed

if TYPE_CHECKING:
    import duckdb

#: Columns of a sweep's scenarios that may be lists, in the sort order of its rows.
AXES = (
    "hardware", "phase", "execution", "weight_dtype", "activation_dtype", "kv_dtype", "tp", "ep", "dp", "pp", "cp",
    "virtual_stages", "zero_stage", "microbatches", "top_k", "seq_len", "kv_len", "batch",
)  # fmt: skip
#: Those of them that the relation phase_roofline does not repeat.
_GIVEN = "weight_dtype, activation_dtype, kv_dtype, virtual_stages, zero_stage, top_k"
#: The maximum number of points in a sweep.
MOST_POINTS = 200_000


@dataclass(frozen=True, repr=False)
class Sweep:
    """A sweep over modelled costs, valid until the next one replaces it.

    Attributes:
        store: the lake.
        formulas: the set of formulas.
        fingerprint: of its scenarios.
    """

    store: Store
    formulas: Formulas
    fingerprint: int

    @property
    def rows(self) -> duckdb.DuckDBPyRelation:
        """A row per combination of values: the cost of the workload, or why it cannot run.

        Raises:
            UsageError: another sweep has replaced this one.
        """
        self._check_current()
        of = self.formulas.relation
        return self.store.sql(
            f"SELECT p.*, {_GIVEN}, fits, max_batch, faults FROM {of('phase_roofline')} AS p "
            f"JOIN (SELECT scenario, {_GIVEN} FROM scenarios) AS s USING (scenario) "
            f"JOIN (SELECT scenario, fits, max_batch FROM {of('memory_per_gpu')}) AS m USING (scenario) "
            "LEFT JOIN (SELECT scenario, string_agg(fault, '; ' ORDER BY fault) AS faults "
            f"FROM {of('scenario_faults')} GROUP BY scenario) AS f USING (scenario) "
            f"WHERE study = 'sweep' ORDER BY {', '.join(AXES)}"
        )

    @property
    def remarks(self) -> list[str]:
        """What its costs omit from the model's config.json, and oddities of its chips' figures."""
        self._check_current()
        return study_remarks(self.store, "sweep")

    def map(self, x: str, y: str) -> duckdb.DuckDBPyRelation:
        """Return the bottleneck of the sweep's points, over two of its knobs: a row per pair of values.

        Args:
            x: a knob of the table knobs.
            y: another.

        Raises:
            UsageError: a knob is unknown, or another sweep has replaced this one.
        """
        known = [name for (name,) in self.store.rows("SELECT knob FROM knobs ORDER BY knob")]
        for knob in (x, y):
            if knob not in known:
                raise UsageError(f"{knob}: unknown knob. Known: {', '.join(known)}.")
        self._check_current()
        regimes = self.formulas.relation("regime_map")
        return self.store.kept(f"SELECT * FROM {regimes}('sweep', '{x}', '{y}') ORDER BY ALL")

    def _check_current(self) -> None:
        if _fingerprint(self.store) != self.fingerprint:
            raise UsageError("another sweep has taken the place of this one: repeat it.")


def _fingerprint(store: Store) -> int:
    [(found,)] = store.rows("SELECT bit_xor(hash(s)) FROM scenarios AS s WHERE study = 'sweep'")
    return int(found)


def model_roofline(store: Store, scenario: str, *, modules: bool = False) -> duckdb.DuckDBPyRelation:
    """Return the cost of a scenario: one row, or with `modules` a row for each module, the longest first.

    Raises:
        UsageError: there is no such scenario.
    """
    check_scenario(store, scenario)
    [(formulas,)] = store.rows("SELECT formulas FROM scenarios WHERE scenario = $1", [scenario])
    of = find(str(formulas)).relation
    if modules:
        return store.sql(
            f"SELECT * FROM {of('module_roofline')} WHERE scenario = $scenario ORDER BY time_ms DESC, module, category",
            scenario=scenario,
        )
    return store.sql(
        f"SELECT p.*, fits, max_batch FROM {of('phase_roofline')} AS p "
        f"JOIN (SELECT scenario, fits, max_batch FROM {of('memory_per_gpu')}) AS m USING (scenario) "
        "WHERE scenario = $scenario",
        scenario=scenario,
    )


def sweep(store: Store, model: str | os.PathLike[str], *, formulas: str = "physical", **axes: Any) -> Sweep:
    """Model a scenario for each combination of values.

    The scenarios stay in the open lake as the study `sweep`, until the next sweep.

    Args:
        store: the lake.
        model: a name, or the path of a config.json.
        formulas: a set of formulas known to `analysis.formulas`.
        axes: columns of the relation scenarios, each a value or a list of values. A degree of expert parallelism
            without one of data parallelism implies the number of replicas.

    Raises:
        UsageError: the model, a chip or a column is unknown, or there are too many points.
    """
    import duckdb

    rules = find(formulas)
    resolved = resolve_model(store, model)
    lists = {name: listed(value) for name, value in axes.items() if value is not None}
    lists.setdefault("phase", ["decode"])
    _check_axes(lists)
    checked = checker(store)
    lists = {name: [checked(name, value) for value in values] for name, values in lists.items()}
    lists["hardware"] = [resolve_hardware(store, chip) for chip in lists["hardware"]]
    lists.setdefault("tp", [1])
    lists.setdefault("ep", [1])
    lists.setdefault("cp", [1])
    columns = [f"axis_{name}.{name}" for name in lists]
    shared = rules.replicas("axis_tp.tp * axis_cp.cp", "axis_ep.ep")
    dp = "" if "dp" in lists else f", {shared} AS dp"
    joined = " CROSS JOIN ".join(f"(SELECT DISTINCT unnest(${name}) AS {name}) AS axis_{name}" for name in lists)
    label = ", ".join(f"'{name} ' || {column}" for name, column in zip(lists, columns, strict=True))
    connection = store.prepare("scenarios")
    connection.execute("DELETE FROM scenarios WHERE study = 'sweep'")
    try:
        connection.execute(
            f"INSERT INTO scenarios BY NAME SELECT concat_ws(' / ', 'sweep', {label}) AS scenario, "
            f"'sweep' AS study, $formulas AS formulas, $model AS model, {', '.join(columns)}{dp} FROM {joined}",
            {"model": resolved, "formulas": rules.name, **lists},
        )
    except duckdb.Error as error:
        raise UsageError(f"sweep: {error}") from error
    return Sweep(store, rules, _fingerprint(store))


def _check_axes(lists: dict[str, list[Any]]) -> None:
    """Check a sweep's axes, and that there are some points and not too many."""
    if unknown := [name for name in lists if name not in (*AXES, "mla_mode")]:
        raise UsageError(f"{unknown[0]}: no axis of a sweep. Known: {', '.join(AXES)}.")
    if not lists.get("hardware"):
        raise UsageError("hardware: a sweep needs a chip. tracelake hardware list shows all.")
    if empty := [name for name, values in lists.items() if not values]:
        raise UsageError(f"{empty[0]}: an axis needs a value.")
    if (points := math.prod(len(values) for values in lists.values())) > MOST_POINTS:
        raise UsageError(f"{points:,} scenarios; a sweep has at most {MOST_POINTS:,}.")
