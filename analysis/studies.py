"""The scenarios of a model report: an anchor, sweeps around it, what-ifs; and what they cost."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..engine import modules
from ..engine.errors import UsageError
from .workloads import Workload

if TYPE_CHECKING:
    import duckdb

#: Where the report keeps the relations that it read, for its tables and for files.
SCHEMA = "model_report"
PROMPTS = [64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768]
CACHES = [2048, 4096, 8192, 16384]

_SCENARIOS = "study LIKE 'report %'"
#: Relations of the report: name, and which of its rows belong to it.
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
#: Relations that rest on phase_roofline: computed from the rows above, not once more from the model.
_DERIVED = {
    "byte_shares": "study = 'report anchor'",
    "critical_batch": "study = 'report batch'",
    "decode_frontier": "study = 'report frontier'",
    "knob_medians": "study = 'report grid'",
    "sensitivity": "study = 'report grid'",
    "regime_transitions": "study = 'report grid'",
}
#: What sections, tables and charts of the report are made of.
REPORT = tuple(entry.name for entry in modules.modules() if entry.name.startswith("_report_") and entry.kind == "VIEW")
#: Words of the report.
_WORDS = ("report_terms", "report_formulas", "report_assumptions")
_NEEDS = (
    *_RELATIONS, *_DERIVED, *_WORDS, "operators", "dtypes", "knobs", "_report_workload", "_report_types",
    "report_steps", "report_columns", "report_properties", "report_facts", "report_rules", "report_conditions",
    "report_advice",
)  # fmt: skip
#: The relations that go into files.
PRINTED = (*_RELATIONS, *_DERIVED)
#: Columns of _report_workload that a workload has.
_WORKLOAD = ("model", "formulas", "batch", "seq_len", "kv_len", "tp", "ep", "dp", "pp")


def needs(work: Workload) -> list[str]:
    """Return all that a report reads of the lake."""
    return [*_NEEDS, *(work.formulas.relation(name) for name in _NEEDS)]


def ask(connection: duckdb.DuckDBPyConnection, work: Workload) -> None:
    """Put the scenarios of a report into the lake; those of the report before go."""
    connection.execute("DELETE FROM scenarios WHERE study LIKE 'report %'")
    connection.execute("DELETE FROM execution_profiles WHERE execution LIKE 'report %'")
    connection.execute("DELETE FROM _report_workload")
    row = {name: value for name, value in vars(work).items() if name in _WORKLOAD}
    row |= {"formulas": work.formulas.name}
    row |= {"chips": list(work.hardware), "executions": list(work.executions), "main": work.main, "base": work.base}
    connection.execute(
        f"INSERT INTO _report_workload ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values())
    )
    connection.execute(_ANCHOR, _named(work, executions=list(work.executions), study="report anchor"))
    if others := work.hardware[1:]:
        for chip in others:
            connection.execute(_ANCHOR, _named(work, hardware=chip, executions=[work.main], study="report chips"))
    [(experts, latent, longest)] = connection.execute(
        "SELECT num_experts, kv_lora_rank IS NOT NULL, max_positions FROM architectures WHERE model = $1", [work.model]
    ).fetchall()
    ranks = sorted({1 << n for n in range(max(experts, 1).bit_length()) if 1 << n <= max(experts, 1)} | {work.ep})
    caches = sorted({length for length in CACHES if length <= (longest or length)} | {work.kv_len})
    tried = list(work.formulas.frontier_batches) or [work.batch]
    _vary(connection, "batch", "decode", work, batch=[*work.formulas.batches, work.batch])
    prompts = [length for length in PROMPTS if length <= (longest or length)]
    _vary(connection, "prompt", "prefill", work, seq_len=[*prompts, work.seq_len])
    _vary(connection, "frontier", "decode", work, only_main=True, ep=ranks, kv_len=caches, batch=tried)
    _vary(connection, "layout", "decode", work, only_main=True, tp=sorted({1, 2, 4, 8, work.tp}), ep=ranks)
    _vary(
        connection, "grid", "decode", work, kv_dtype=["fp8", "bf16"],
        top_k=[k for k in (2, 4, 8) if k <= experts] or [None], kv_rank_scale=[0.5, 1.0, 1.5] if latent else [1.0],
        hidden_scale=[0.75, 1.0, 1.25], kv_len=[length for length in CACHES if length <= (longest or length)],
    )  # fmt: skip
    _turn_knobs(connection, work)
    _set_unfit_apart(connection, work)


def take(connection: duckdb.DuckDBPyConnection, work: Workload) -> None:
    """Store what the report is made of as tables of the schema model_report, so that each is computed once.

    Raises:
        UsageError: a chip's peak in a type that the model computes in is not known.
    """
    values = {"model": work.model, "chips": list(work.hardware), "profiles": list(work.executions)}
    connection.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE")
    connection.execute(f"CREATE SCHEMA {SCHEMA}")
    of = work.formulas.relation
    passes = of("phase_roofline")
    connection.execute(f"CREATE TABLE {SCHEMA}.phase_roofline AS SELECT * FROM {passes} WHERE {_SCENARIOS}")
    connection.execute(f"CREATE TABLE {SCHEMA}._report_types AS SELECT * FROM {of('_report_types')}")
    _check_peaks(connection)
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
    """Compute relations, each after those it uses, from the tables of the report where it has them."""
    wanted = set(names)
    try:
        connection.execute(f"SET search_path = '{SCHEMA},main'")
        for module in modules.modules():
            if module.name in wanted:
                connection.execute(f"CREATE TABLE {SCHEMA}.{module.name} AS {module.query}")
    finally:
        connection.execute("SET search_path = 'main'")


def _check_peaks(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuse chips without a peak in a type that products compute in.

    What is left out of a time is not to be taken for no time.
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


def _between(below: str, above: Iterable[str]) -> list[str]:
    """Return the relations that some rest on and that rest on another."""
    return [name for name in modules.closure(above) if name != below and below in modules.closure([name])]


def _named(work: Workload, **more: Any) -> Any:
    values = {
        "model": work.model, "hardware": work.hardware[0], "formulas": work.formulas.name, "batch": work.batch,
        "seq_len": work.seq_len, "kv_len": work.kv_len, "tp": work.tp, "ep": work.ep, "dp": work.dp, "pp": work.pp,
        "weight_dtype": work.weight_dtype, "activation_dtype": work.activation_dtype, "kv_dtype": work.kv_dtype,
    }  # fmt: skip
    return values | more


_ANCHOR = """
    INSERT INTO scenarios BY NAME
    SELECT
        concat_ws(' / ', $study, phase, execution, $hardware) AS scenario, $study AS study, $formulas AS formulas,
        $model AS model, phase, $batch AS batch, CASE WHEN phase = 'decode' THEN 1 ELSE $seq_len END AS seq_len,
        CASE WHEN phase = 'decode' THEN $kv_len ELSE 0 END AS kv_len, $tp AS tp, $ep AS ep, $dp AS dp, $pp AS pp,
        $hardware AS hardware, execution, $weight_dtype AS weight_dtype, $activation_dtype AS activation_dtype,
        $kv_dtype AS kv_dtype,
        -- The head and the router are never in fewer than two bytes; on a chip without BF16 they follow the rest.
        CASE WHEN $activation_dtype IN ('fp16', 'fp32') THEN $activation_dtype END AS head_dtype
    FROM unnest(['training', 'prefill', 'decode']) AS phases (phase)
    CROSS JOIN unnest($executions) AS executions (execution)
    """


def _vary(
    connection: duckdb.DuckDBPyConnection,
    study: str,
    phase: str,
    work: Workload,
    *,
    only_main: bool = False,
    **axes: list[Any],
) -> None:
    """Insert the anchor of a phase with every combination of some columns' values."""
    joins = " ".join(
        f"CROSS JOIN (SELECT DISTINCT unnest({_literal(values)}) AS {column}) AS of_{column}"
        for column, values in axes.items()
    )
    new = ", ".join(f"of_{column}.{column} AS {column}" for column in axes)
    label = ", ".join(f"'{column} ' || of_{column}.{column}" for column in axes)
    if {"ep", "tp"} & axes.keys():
        # Every rank that is not shared keeps sequences of its own, as at the anchor.
        ep, tp = ("of_ep.ep" if "ep" in axes else "s.ep"), ("of_tp.tp" if "tp" in axes else "s.tp")
        new += f", CASE WHEN {ep} = s.ep AND {tp} = s.tp THEN s.dp ELSE {work.formulas.replicas(tp, ep)} END AS dp"
    connection.execute(
        f"INSERT INTO scenarios BY NAME SELECT s.* REPLACE (concat_ws(' / ', 'report {study}', execution, {label}) "
        f"AS scenario, 'report {study}' AS study, {new}) FROM scenarios AS s {joins} "
        "WHERE s.study = 'report anchor' AND s.phase = $1 AND ($2 IS NULL OR s.execution = $2)",
        [phase, work.main if only_main else None],
    )


def _turn_knobs(connection: duckdb.DuckDBPyConnection, work: Workload) -> None:
    """Insert the what-ifs of report_steps around each phase of the anchor, those that change something."""
    connection.execute(
        """
        INSERT INTO execution_profiles BY NAME
        SELECT e.* REPLACE (
            concat_ws(' ', 'report', knob, side) AS execution, flop_fraction * flop_factor AS flop_fraction,
            hbm_fraction * hbm_factor AS hbm_fraction, net_fraction * net_factor AS net_fraction,
            'what-if of a model report' AS comment
        )
        FROM execution_profiles AS e
        JOIN report_steps ON flop_factor <> 1 OR hbm_factor <> 1 OR net_factor <> 1
        WHERE e.execution = $1
        """,
        [work.main],
    )
    dp = work.formulas.replicas("CAST(tp * tp_factor AS BIGINT)", "CAST(ep * ep_factor AS BIGINT)")
    connection.execute(
        f"""
        INSERT INTO scenarios BY NAME
        WITH anchors AS (
            SELECT s.*, num_experts, a.top_k AS model_top_k, kv_lora_rank, s.study AS anchor_study,
                coalesce(s.activation_dtype, $2, 'bf16') AS activations,
                coalesce(s.weight_dtype, $2, a.weight_dtype) AS weights
            FROM scenarios AS s JOIN architectures AS a ON a.model = s.model
            WHERE study = 'report anchor' AND execution = $1
        ),
        turned AS (
            SELECT s.* EXCLUDE (num_experts, model_top_k, kv_lora_rank, anchor_study, activations, weights) REPLACE (
                concat_ws(' / ', 'report knobs', phase, knob, side) AS scenario, 'report knobs' AS study,
                CAST(batch * batch_factor AS BIGINT) AS batch,
                CASE WHEN phase = 'decode' THEN seq_len ELSE CAST(seq_len * length_factor AS BIGINT) END AS seq_len,
                CAST(kv_len * length_factor AS BIGINT) AS kv_len,
                CAST(tp * tp_factor AS BIGINT) AS tp, CAST(ep * ep_factor AS BIGINT) AS ep,
                CASE WHEN tp_factor * ep_factor = 1 THEN dp ELSE {dp} END AS dp,
                CASE WHEN flop_factor * hbm_factor * net_factor = 1 THEN execution
                    ELSE concat_ws(' ', 'report', knob, side) END AS execution,
                coalesce(r.weight_dtype, s.weight_dtype) AS weight_dtype,
                coalesce(r.activation_dtype, s.activation_dtype) AS activation_dtype,
                CASE WHEN r.activation_dtype IS NOT NULL THEN coalesce(s.kv_dtype, activations)
                    ELSE coalesce(r.kv_dtype, s.kv_dtype) END AS kv_dtype,
                CASE WHEN top_k_factor = 1 THEN s.top_k
                    ELSE CAST(coalesce(s.top_k, model_top_k) * top_k_factor AS BIGINT) END AS top_k,
                s.hidden_scale * r.hidden_scale AS hidden_scale, s.kv_rank_scale * r.kv_rank_scale AS kv_rank_scale
            )
            FROM anchors AS s
            CROSS JOIN report_steps AS r
            WHERE batch * batch_factor >= 1 AND (phase <> 'decode' OR kv_len * length_factor >= 1)
                AND (phase = 'decode' OR seq_len * length_factor >= 1)
                AND tp * tp_factor >= 1 AND ep * ep_factor >= 1
                AND (ep_factor = 1 OR ep * ep_factor <= num_experts)
                AND (top_k_factor = 1 OR model_top_k * top_k_factor BETWEEN 1 AND num_experts)
                AND (r.kv_rank_scale = 1 OR kv_lora_rank > 0)
                AND coalesce(r.weight_dtype <> weights, TRUE)
                AND coalesce(r.activation_dtype <> activations, TRUE)
                AND (r.kv_dtype IS NULL OR phase = 'decode' AND r.kv_dtype <> coalesce(s.kv_dtype, activations))
        )
        FROM turned
        """,
        [work.main, work.formulas.open_type],
    )


def _set_unfit_apart(connection: duckdb.DuckDBPyConnection, work: Workload) -> None:
    """Rank what fits: points of the grid that do not are kept in a study of their own, unless none fits."""
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
