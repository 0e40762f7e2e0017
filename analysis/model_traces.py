"""The work of a trace: the modelled cost of its kernels, and whether a model explains it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, SupportsIndex

from ..engine import changes
from ..engine.errors import InputError, UsageError
from ..engine.sql.near import guess
from ..engine.store import Store
from ..ingest.model import names_config
from .models import check_config, resolve_model, settings_of_model
from .passes import find_one_pass
from .traces import locate, of_trace

if TYPE_CHECKING:
    import duckdb


def trace_ops(store: Store, trace: str) -> duckdb.DuckDBPyRelation:
    """Return the framework operators of a trace that have a FLOP rule, each call once, in time order."""
    return store.sql(f"SELECT * FROM trace_ops WHERE {of_trace(store, trace)} ORDER BY start_ns, op_id")


def roofline_of(store: Store, trace: str, pass_id: SupportsIndex | None = None) -> duckdb.DuckDBPyRelation:
    """Return the FLOP and bytes of a trace's operators beside the peaks of its chip, longest time first.

    Args:
        store: the lake.
        trace: the trace.
        pass_id: list the kernels of one forward pass, a row each, instead of all kernels by operator and shape.

    Raises:
        UsageError: the trace has no such pass.
    """
    if pass_id is None:
        return store.kept(
            f"SELECT * FROM op_roofline WHERE {of_trace(store, trace)}"
            " ORDER BY sum_us DESC, unit, trace_op, kernel_category, n, k, m"
        )
    return store.kept(
        f"SELECT * FROM kernel_roofline WHERE {of_trace(store, trace)}{_of_pass(store, trace, pass_id)}"
        " ORDER BY dur_us DESC, kernel_id"
    )


def explain(store: Store, trace: str, model: str | os.PathLike[str]) -> str:
    """Set the model of a trace, resolved to the lake's name for it; return that name.

    Raises:
        UsageError: the trace or the model is unknown.
        InputError: the model's config.json cannot be read.
    """
    trace_id = locate(store, trace)
    given = settings_of_model(store, model)
    if names_config(model):
        check_config(store, model, str(given["config"]))
    else:
        resolve_model(store, model)
    changes.write_settings(store, trace_id, given)
    store.refresh()
    [(known,)] = store.rows("SELECT model FROM _trace_models WHERE trace_id = $1", [trace_id])
    return str(known)


def validate(store: Store, trace: str, pass_id: SupportsIndex | None = None) -> duckdb.DuckDBPyRelation:
    """Return for each complete pass whether the trace's work matches its model's template: PASS, WARN, FAIL.

    Raises:
        UsageError: the trace is unknown, its model is not set, the model is unknown, or the trace has no such pass.
        InputError: no pass of the trace is complete, or no pass has a known number of tokens.
    """
    check_modelled(store, trace)
    where = f"{of_trace(store, trace)}{_of_pass(store, trace, pass_id)}"
    return store.kept(f"SELECT * FROM template_verdicts WHERE {where} ORDER BY rank, device, pass_id")


def model_fault(store: Store, trace_id: str) -> str | None:
    """Return why the dimensions of a trace's model are unknown; None if they are known."""
    [(model, known, fault)] = store.rows(
        "SELECT model, known, fault FROM _model_states WHERE trace_id = $1",
        [trace_id],
    )
    if model is None or known is not None:
        return None
    if fault:
        return f"model {model}: {fault}"
    words = store.rows("SELECT word FROM model_words UNION SELECT model FROM architectures ORDER BY ALL")
    near = guess(str(model), [word for (word,) in words]).rstrip(".")
    return f"model {model}: no such model is known (see model list){'.' if near else ''}{near}"


def check_modelled(store: Store, trace: str) -> None:
    """Check that a trace's model is set and known, and that the work of a complete pass is known.

    Raises:
        UsageError: the trace is unknown, its model is not set, or the model is unknown.
        InputError: no pass of the trace is complete, or no pass has a known number of tokens.
    """
    trace_id = locate(store, trace)
    [(model, known)] = store.rows("SELECT model, known FROM _model_states WHERE trace_id = $1", [trace_id])
    if model is None:
        raise UsageError(f"{trace}: no model is set. Set it: `tracelake set {trace} model=NAME`.")
    if known is None:
        resolve_model(store, model)
        raise UsageError(
            f"{trace}: its model {model} is known only from another trace's config.json. To use it for this"
            f" trace: `tracelake set {trace} model={model}`."
        )
    counts = store.rows("SELECT passes, complete, sized FROM _pass_counts WHERE trace_id = $1", [trace_id])
    passes, complete, sized = counts[0] if counts else (0, 0, 0)
    if not complete:
        found = f"{passes} passes, none of them complete" if passes else "no forward passes"
        raise InputError(f"{trace}: {found}: nothing to compare with {known}.")
    if not sized:
        raise InputError(
            f"{trace}: the tokens of its passes are unknown: no annotation of an engine, no shapes of"
            " an attention (record shapes), or ranks share its sequences."
        )


def template_vs_trace(store: Store, trace: str, pass_id: SupportsIndex | None = None) -> duckdb.DuckDBPyRelation:
    """Return the operators of each complete pass, layer by layer: the template's FLOP beside the trace's.

    Raises:
        UsageError: the trace has no such pass.
    """
    return store.kept(
        f"SELECT * FROM template_vs_trace WHERE {of_trace(store, trace)}{_of_pass(store, trace, pass_id)}"
        " ORDER BY rank, device, pass_id, layer_id < 0, layer_id, unit NULLS LAST, n"
    )


def model_doubts(store: Store, trace_id: str) -> list[str]:
    """Return what a trace shows but its model lacks, and which published models fit; empty if nothing."""
    query = "SELECT value, unit, message FROM model_checks WHERE trace_id = $1 AND severity <> 'ok'"
    return [f"{value:g} {unit} {message}" for value, unit, message in store.rows(query, [trace_id])]


def _of_pass(store: Store, trace: str, pass_id: SupportsIndex | None) -> str:
    return "" if pass_id is None else f" AND pass_id = {find_one_pass(store, trace, pass_id)}"
