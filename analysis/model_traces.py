"""What a lake answers about the work of a trace: what its kernels should have cost, and whether a model explains it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ..engine import modules
from ..engine.errors import InputError, UsageError
from ..ingest.model import names_config
from .models import Models

if TYPE_CHECKING:
    import duckdb


class ModelTraces(Models):
    """A lake that holds traces against models."""

    def trace_ops(self, trace: str) -> duckdb.DuckDBPyRelation:
        """Return the framework operators of a trace with a rule for their FLOP, each call once, in time order."""
        return self.sql(f"SELECT * FROM trace_ops WHERE {self._is(trace)} ORDER BY start_ns, op_id")

    def roofline_of(self, trace: str, pass_id: int | None = None) -> duckdb.DuckDBPyRelation:
        """Return what the operators of a trace compute and move beside the peaks of its chip, longest time first.

        Args:
            trace: the trace.
            pass_id: kernels of one forward pass, one row each, instead of all kernels by operator and shape.
        """
        if pass_id is None:
            return self.kept(
                f"SELECT * FROM op_roofline WHERE {self._is(trace)} ORDER BY sum_us DESC, unit, trace_op, n, k, m"
            )
        return self.kept(
            f"SELECT * FROM kernel_roofline WHERE {self._is(trace)} AND pass_id = {int(pass_id)}"
            " ORDER BY dur_us DESC, kernel_id"
        )

    def explain(self, trace: str, model: str | os.PathLike[str]) -> str:
        """Say for good which model a trace is of, as the lake knows it; return its name.

        Raises:
            UsageError: the trace or the model is unknown.
            InputError: the model's config.json cannot be read.
        """
        trace_id = self.locate(trace)
        said = self.said_of_model(model)
        if names_config(model):
            self._check_config(model, str(said["config"]))
        else:
            self.resolve_model(model)
        self.write_settings(trace_id, said)
        self.refresh()
        [(known,)] = self.rows("SELECT model FROM _trace_models WHERE trace_id = $1", [trace_id])
        return str(known)

    def validate(self, trace: str, pass_id: int | None = None) -> duckdb.DuckDBPyRelation:
        """Return for each complete pass whether the trace computes what its model's template says: PASS, WARN, FAIL.

        Raises:
            UsageError: the trace is unknown, its model is not said, or no such model is known.
            InputError: no pass of the trace is complete, or nothing tells the tokens of any.
        """
        self.check_modelled(trace)
        return self.kept(
            f"SELECT * FROM template_verdicts WHERE {self._is(trace)}{_of_pass(pass_id)} ORDER BY rank, device, pass_id"
        )

    def model_fault(self, trace_id: str) -> str | None:
        """Return why the model that a trace is said to be of is not known by its dimensions; None where it is."""
        [(model, known, fault)] = self.rows(
            "SELECT t.model, m.model, a.fault FROM traces AS t LEFT JOIN _trace_models AS m USING (trace_id) "
            "LEFT JOIN _trace_configs AS c ON c.said = t.model AND c.config = t.config "
            "LEFT JOIN of_passes.architectures AS a ON a.model = coalesce(c.model, t.model) WHERE trace_id = $1",
            [trace_id],
        )
        if model is None or known is not None:
            return None
        return f"model {model}: {fault}" if fault else f"model {model}: no such model is known (see model list)"

    def check_modelled(self, trace: str) -> None:
        """Check that a trace's model is said and known, and that a complete pass tells what it computes.

        Raises:
            UsageError: the trace is unknown, its model is not said, or no such model is known.
            InputError: no pass of the trace is complete, or nothing tells the tokens of any.
        """
        trace_id = self.locate(trace)
        [(model, known)] = self.rows(
            "SELECT t.model, m.model FROM traces AS t LEFT JOIN _trace_models AS m USING (trace_id)"
            " WHERE trace_id = $1",
            [trace_id],
        )
        if model is None:
            raise UsageError(f"{trace}: no model is set. Set it: `tracelake set {trace} model=NAME`.")
        if known is None:
            self.resolve_model(model)
            raise UsageError(
                f"{trace}: its model {model} is known only from another trace's config.json. To use it for this"
                f" trace: `tracelake set {trace} model={model}`."
            )
        [(passes, complete, sized)] = self.rows(
            "SELECT count(*), count(*) FILTER (p.complete), count(*) FILTER (p.complete AND w.new_tokens > 0)"
            " FROM passes AS p LEFT JOIN pass_workloads AS w ON w.trace_id = p.trace_id"
            " AND w.device = p.device AND w.pass_id = p.pass_id WHERE p.trace_id = $1",
            [trace_id],
        )
        if not complete:
            found = f"{passes} passes, none of them complete" if passes else "no forward passes"
            raise InputError(f"{trace}: {found}: nothing to compare with {known}.")
        if not sized:
            raise InputError(
                f"{trace}: the tokens of its passes are unknown: no annotation of an engine, no shapes of"
                " an attention. Record shapes."
            )

    def template_vs_trace(self, trace: str, pass_id: int | None = None) -> duckdb.DuckDBPyRelation:
        """Return the operators of each complete pass, layer by layer: the template's FLOP beside the trace's."""
        return self.kept(
            f"SELECT * FROM template_vs_trace WHERE {self._is(trace)}{_of_pass(pass_id)}"
            " ORDER BY rank, device, pass_id, layer_id < 0, layer_id, unit NULLS LAST, n"
        )

    def _is(self, trace: str) -> str:
        return f"trace_id = {modules.quoted(self.locate(trace))}"


def _of_pass(pass_id: int | None) -> str:
    return "" if pass_id is None else f" AND pass_id = {int(pass_id)}"
