"""The scenarios of a model report: an anchor, sweeps around it, what-ifs; and their costs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..engine.errors import UsageError
from ..engine.sql import modules
from .workloads import Workload

if TYPE_CHECKING:
    import duckdb

#: The schema with the relations that the report has read, for its tables and for files.
SCHEMA = "model_report"

_SCENARIOS = "study LIKE 'report %'"
#: Relations of the report: name, and the condition for its rows.
_RELATIONS = {
    "scenarios": _SCENARIOS,
    "phase_roofline": _SCENARIOS,
    "module_roofline": "study = 'report anchor'",
    "memory_per_gpu": _SCENARIOS,
    "scenario_faults": "study IN ('report anchor', 'report layout', 'report knobs')",
    "communication_envelope": "study = 'report anchor'",
    "parameters": "model = $model",
    "active_parameters": "model = $model",
    "architectures": "model = $model",
    "model_layers": "model = $model",
    "hardware": "list_contains($chips, hardware)",
    "hardware_peaks": "list_contains($chips, hardware)",
    "topologies": "list_contains($chips, hardware)",
    "execution_profiles": "list_contains($profiles, execution)",
}
#: Relations derived from phase_roofline: computed from the rows above instead of again from the model.
_DERIVED = {
    "byte_shares": "study = 'report anchor'",
    "critical_batch": "study = 'report batch'",
    "decode_frontier": "study = 'report frontier'",
    "knob_medians": "study = 'report grid'",
    "sensitivity": "study = 'report grid'",
    "regime_transitions": "study = 'report grid'",
}
#: The relations behind the report's sections, tables and charts.
REPORT = tuple(entry.name for entry in modules.modules() if entry.name.startswith("_report_") and entry.kind == "VIEW")
#: Texts of the report.
_WORDS = ("report_terms", "report_formulas", "report_assumptions")
_NEEDS = (
    *_RELATIONS, *_DERIVED, *_WORDS, "operators", "dtypes", "knobs", "_report_workload", "_report_types",
    "report_steps", "report_columns", "report_properties", "report_facts", "report_rules", "report_conditions",
    "report_advice", "_report_sentences", "_asked_profiles", "_asked_scenarios",
)  # fmt: skip
#: The relations that are written to files.
PRINTED = (*_RELATIONS, *_DERIVED)
#: Columns of _report_workload taken from the workload.
_WORKLOAD = (
    "model", "batch", "seq_len", "kv_len", "tp", "ep", "dp", "pp", "weight_dtype", "activation_dtype", "kv_dtype",
)  # fmt: skip


def needs(work: Workload) -> list[str]:
    """Return all relations that a report reads from the lake."""
    return [*_NEEDS, *(work.formulas.relation(name) for name in _NEEDS)]


def ask(connection: duckdb.DuckDBPyConnection, work: Workload) -> None:
    """Add the scenarios of a report to the lake; those of the previous report are removed."""
    connection.execute("DELETE FROM scenarios WHERE study LIKE 'report %'")
    connection.execute("DELETE FROM execution_profiles WHERE execution LIKE 'report %'")
    connection.execute("DELETE FROM _report_workload")
    row = {name: value for name, value in vars(work).items() if name in _WORKLOAD}
    row |= {"chips": list(work.hardware), "executions": list(work.executions), "main": work.main, "base": work.base}
    rules = work.formulas
    row |= {
        "formulas": rules.name, "batches": list(rules.batches), "frontier_batches": list(rules.frontier_batches),
        "open_type": rules.open_type, "tp_shares_experts": rules.tp_shares_experts,
    }  # fmt: skip
    connection.execute(
        f"INSERT INTO _report_workload ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values())
    )
    connection.execute("INSERT INTO execution_profiles BY NAME SELECT * FROM _asked_profiles")
    connection.execute("INSERT INTO scenarios BY NAME SELECT * FROM _asked_scenarios")
    _set_unfit_apart(connection, work)


def take(connection: duckdb.DuckDBPyConnection, work: Workload) -> None:
    """Store the report's relations as tables of the schema model_report, so that each is computed once.

    Raises:
        UsageError: a peak or a bandwidth that a chip's times need is unknown.
    """
    values = {"model": work.model, "chips": list(work.hardware), "profiles": list(work.executions)}
    connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    connection.execute(f"CREATE SCHEMA {SCHEMA}")
    of = work.formulas.relation
    passes = of("phase_roofline")
    connection.execute(f"CREATE TABLE {SCHEMA}.phase_roofline AS SELECT * FROM {passes} WHERE {_SCENARIOS}")
    connection.execute(f"CREATE TABLE {SCHEMA}._report_types AS SELECT * FROM {of('_report_types')}")
    _check_peaks(connection)
    _check_memory(connection)
    _check_links(connection)
    resting = {name for name in _DERIVED if passes in modules.sources(of(name))}
    _compute(connection, _between("phase_roofline", resting))
    for name in resting:
        connection.execute(f"DELETE FROM {SCHEMA}.{name} WHERE NOT coalesce({_DERIVED[name]}, FALSE)")
    more = {name: condition for name, condition in _DERIVED.items() if name not in resting}
    for name, known in (_RELATIONS | more | dict.fromkeys(_WORDS, "TRUE")).items():
        condition = re.sub(r"\$(\w+)", lambda key: _literal(values[key.group(1)]), known)
        if name != "phase_roofline":
            connection.execute(f"CREATE TABLE {SCHEMA}.{name} AS SELECT * FROM {of(name)} WHERE {condition}")
    _compute(connection, (name for name in REPORT if name != "_report_types"))


def _compute(connection: duckdb.DuckDBPyConnection, names: Iterable[str]) -> None:
    """Compute relations in dependency order, from the report's tables where it has them."""
    wanted = set(names)
    try:
        connection.execute(f"SET search_path = '{SCHEMA},main'")
        for module in modules.modules():
            if module.name in wanted:
                connection.execute(f"CREATE TABLE {SCHEMA}.{module.name} AS {module.query}")
    finally:
        connection.execute("SET search_path = 'main'")


def _check_peaks(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse chips without a peak for a type that products compute in.

    An omitted time must not be taken for zero.
    """
    unknown = connection.execute(
        f"SELECT hardware, dtype FROM {SCHEMA}._report_types WHERE lacks_peak ORDER BY hardware, dtype"
    ).fetchall()
    if unknown:
        chip = unknown[0][0]
        types = ", ".join(dtype for other, dtype in unknown if other == chip and dtype)
        [(known,)] = connection.execute(
            "SELECT string_agg(dtype, ', ' ORDER BY dtype) FROM hardware_peaks WHERE hardware = $1", [chip]
        ).fetchall()
        raise UsageError(
            f"{chip}: its peak in {types or 'a type of the model'} is not known; known: {known or 'none'}. "
            "Other types: --weight-dtype, --activation-dtype. A row of lookup/hardware.csv in the lake adds peaks."
        )


def _check_memory(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse chips without a bandwidth of their memory."""
    unknown = connection.execute(
        f"SELECT hardware FROM {SCHEMA}.phase_roofline "
        "WHERE study IN ('report anchor', 'report chips') AND hbm_ms IS NULL ORDER BY ALL LIMIT 1"
    ).fetchall()
    for (chip,) in unknown:
        raise UsageError(
            f"{chip}: the bandwidth of its memory is not known. "
            "A row of lookup/hardware.csv in the lake adds it as hbm_gbps."
        )


def _check_links(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse chips without a bandwidth of the links that the anchor sends over."""
    unknown = connection.execute(
        f"SELECT hardware, tp, ep, dp, pp FROM {SCHEMA}.phase_roofline "
        "WHERE study IN ('report anchor', 'report chips') AND net_bytes > 0 AND net_ms IS NULL ORDER BY ALL LIMIT 1"
    ).fetchall()
    for chip, *degrees in unknown:
        layout = ", ".join(f"{name} {degree}" for name, degree in zip(("tp", "ep", "dp", "pp"), degrees, strict=True))
        raise UsageError(
            f"{chip}: the bandwidth of its links is not known, and with {layout} its ranks send to each other. "
            "A row of lookup/hardware.csv in the lake adds it as link_gbps."
        )


def _between(below: str, above: Iterable[str]) -> list[str]:
    """Return the relations that some depend on and that depend on another."""
    return [name for name in modules.closure(above) if name != below and below in modules.closure([name])]


def _set_unfit_apart(connection: duckdb.DuckDBPyConnection, work: Workload) -> None:
    """Rank only what fits: grid points that do not fit are moved to another study, unless none fits."""
    memory = work.formulas.relation("memory_per_gpu")
    connection.execute(
        f"""
        UPDATE scenarios SET study = 'report grid, does not fit'
        WHERE scenario IN (SELECT scenario FROM {memory} WHERE study = 'report grid' AND NOT fits)
            AND EXISTS (SELECT scenario FROM {memory} WHERE study = 'report grid' AND fits)
        """
    )


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    return modules.quoted(value) if isinstance(value, str) else str(value)
