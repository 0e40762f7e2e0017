"""What a model should cost on a chip: a report, the roofline of one workload, and sweeps over many."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..engine.errors import UsageError
from ..reports.output.files import check_target, checked_suffix, write_text
from .formulas import Formulas, find
from .models import Models

if TYPE_CHECKING:
    import duckdb

    from .workloads import Workload

#: Columns of a sweep's scenarios that may be lists, in the order in which its rows are sorted.
AXES = (
    "hardware", "phase", "execution", "weight_dtype", "activation_dtype", "kv_dtype", "tp", "ep", "dp", "pp", "cp",
    "virtual_stages", "zero_stage", "microbatches", "top_k", "seq_len", "kv_len", "batch",
)  # fmt: skip
#: Of these, columns that the relation phase_roofline does not repeat.
_SAID = "weight_dtype, activation_dtype, kv_dtype, virtual_stages, zero_stage, top_k"
#: Points of a sweep at most.
MOST_POINTS = 200_000


class ModelReports(Models):
    """A lake that writes down what models should cost."""

    def model_report(
        self,
        model: str | os.PathLike[str],
        output: str | os.PathLike[str] | None = None,
        *,
        hardware: str | Sequence[str],
        formulas: str = "physical",
        executions: Sequence[str] = (),
        csv: str | os.PathLike[str] | None = None,
        parquet: str | os.PathLike[str] | None = None,
        **work: Any,
    ) -> str:
        """Return a report on what a model should cost, as Markdown or HTML; write it and its charts to a file.

        Its scenarios stay on the open lake as studies whose name begins with `report `, until the next report.

        Args:
            model: a name, or the path of a config.json.
            output: the file, .md or .html; charts of Markdown go beside it as SVG.
            hardware: chips; the report is on the first, the others stand beside it.
            formulas: the set of formulas, of those that `analysis.formulas` knows.
            executions: execution profiles; figures are of the last, the first stands beside it as the base.
            csv: folder for the relations that the tables are of, as CSV.
            parquet: the same as Parquet.
            work: batch, seq_len, kv_len, tp, ep, dp, pp, weight_dtype, activation_dtype, kv_dtype; see `Workload`.

        Raises:
            UsageError: the model, a chip, a profile or a type is unknown, or the file's suffix is neither.
            InputError: a file cannot be read or written.
        """
        from ..reports.model.facts import find_facts
        from ..reports.model.render import Report, as_html, as_markdown
        from ..reports.model.sections import sections
        from . import workloads as asked

        suffix = checked_suffix(output, "a model report", {".md": "Markdown", ".html": "HTML"})
        if output is not None:
            check_target(output)
        workload = self._workload(model, hardware, formulas, executions, work)
        connection = self._ready(asked.needs(workload))
        asked.check(connection, workload)
        asked.ask(connection, workload)
        asked.take(connection, workload)
        facts = find_facts(connection, workload)
        report = Report(
            f"Model Report: {facts['model_name']} on {facts['chip_name']}",
            f"Formulas: **{workload.formulas.name}**. Execution profile: **{workload.main}**. Made "
            f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by tracelake.",
            tuple(sections(connection, workload, facts)),
        )
        for folder, format in ((csv, "csv"), (parquet, "parquet")):
            if folder is not None:
                asked.write_tables(connection, workload, Path(folder), format)
        if suffix == ".html":
            text = as_html(report)
        else:
            target = Path(output) if output is not None else None
            text = as_markdown(report, _write_charts(report.charts, target) if target else {})
        if output is not None:
            write_text(output, text)
        return text

    def report_faults(self) -> list[str]:
        """Return the reasons why what the report asked last is about cannot run; none where it can."""
        rows = self.rows("SELECT words FROM report_facts WHERE fact = 'hindrances'")
        return [reason for (reasons,) in rows for reason in reasons.split("; ")]

    def model_roofline(self, scenario: str, *, modules: bool = False) -> duckdb.DuckDBPyRelation:
        """Return what a scenario costs: a row, or with `modules` a row for each module, the longest first."""
        of = self._formulas_of("scenario", scenario).relation
        if modules:
            return self.sql(
                f"SELECT * FROM {of('module_roofline')} WHERE scenario = $scenario "
                "ORDER BY time_ms DESC, module, category",
                scenario=scenario,
            )
        return self.sql(
            f"SELECT p.*, fits, max_batch FROM {of('phase_roofline')} AS p "
            f"JOIN (SELECT scenario, fits, max_batch FROM {of('memory_per_gpu')}) AS m USING (scenario) "
            "WHERE scenario = $scenario",
            scenario=scenario,
        )

    def _formulas_of(self, column: str, name: str) -> Formulas:
        """Return the formulas of a scenario or a study."""
        rows = self.rows(f"SELECT formulas FROM scenarios WHERE {column} = $1 LIMIT 1", [name])
        return find(str(rows[0][0])) if rows else find("physical")

    def model_sweep(
        self, model: str | os.PathLike[str], *, formulas: str = "physical", **axes: Any
    ) -> duckdb.DuckDBPyRelation:
        """Return a row for each combination of values: what the workload costs, and why it cannot run where it cannot.

        The scenarios stay on the open lake as the study `sweep`, until the next sweep.

        Args:
            model: a name, or the path of a config.json.
            formulas: the set of formulas, of those that `analysis.formulas` knows.
            axes: columns of the relation scenarios, each a value or a list of values. A degree of expert parallelism
                without one of data parallelism takes the replicas that it needs.

        Raises:
            UsageError: the model, a chip or a column is unknown, or there are too many points.
        """
        import duckdb

        rules = find(formulas)
        resolved = self.resolve_model(model)
        lists = {name: _listed(value) for name, value in axes.items() if value is not None}
        lists.setdefault("phase", ["decode"])
        self._check_axes(lists)
        lists["hardware"] = [self.resolve_hardware(chip) for chip in lists["hardware"]]
        lists.setdefault("tp", [1])
        lists.setdefault("ep", [1])
        lists.setdefault("cp", [1])
        columns = [f"axis_{name}.{name}" for name in lists]
        shared = rules.replicas("axis_tp.tp * axis_cp.cp", "axis_ep.ep")
        dp = "" if "dp" in lists else f", {shared} AS dp"
        joined = " CROSS JOIN ".join(f"(SELECT DISTINCT unnest(${name}) AS {name}) AS axis_{name}" for name in lists)
        label = ", ".join(f"'{name} ' || {column}" for name, column in zip(lists, columns, strict=True))
        connection = self._ready(["scenarios"])
        connection.execute("DELETE FROM scenarios WHERE study = 'sweep'")
        try:
            connection.execute(
                f"INSERT INTO scenarios BY NAME SELECT concat_ws(' / ', 'sweep', {label}) AS scenario, "
                f"'sweep' AS study, $formulas AS formulas, $model AS model, {', '.join(columns)}{dp} FROM {joined}",
                {"model": resolved, "formulas": rules.name, **lists},
            )
        except duckdb.Error as error:
            raise UsageError(f"sweep: {error}") from error
        return self.sql(
            f"SELECT p.*, {_SAID}, fits, max_batch, faults FROM {rules.relation('phase_roofline')} AS p "
            f"JOIN (SELECT scenario, {_SAID} FROM scenarios) AS s USING (scenario) "
            f"JOIN (SELECT scenario, fits, max_batch FROM {rules.relation('memory_per_gpu')}) AS m USING (scenario) "
            "LEFT JOIN (SELECT scenario, string_agg(fault, '; ' ORDER BY fault) AS faults "
            f"FROM {rules.relation('scenario_faults')} GROUP BY scenario) AS f USING (scenario) "
            f"WHERE study = 'sweep' ORDER BY {', '.join(AXES)}"
        )

    def sweep_map(self, x: str, y: str) -> duckdb.DuckDBPyRelation:
        """Return what limits the points of the sweep asked last, over two of its knobs: a row per pair of values.

        Args:
            x: a knob of the table knobs.
            y: another.

        Raises:
            UsageError: a knob is unknown.
        """
        known = [name for (name,) in self.rows("SELECT knob FROM knobs ORDER BY knob")]
        for knob in (x, y):
            if knob not in known:
                raise UsageError(f"{knob}: unknown knob. Known: {', '.join(known)}.")
        # Kept, since whoever shows it reads it more than once.
        regimes = self._formulas_of("study", "sweep").relation("regime_map")
        connection = self._ready([regimes])
        connection.execute(
            f"CREATE OR REPLACE TEMP TABLE sweep_map AS SELECT * FROM {regimes}('sweep', $x, $y)", {"x": x, "y": y}
        )
        return self.sql("SELECT * FROM temp.sweep_map ORDER BY ALL")

    def _check_axes(self, lists: dict[str, list[Any]]) -> None:
        """Check a sweep's axes and what is known of their values; of numbers the database says what is wrong."""
        if unknown := [name for name in lists if name not in (*AXES, "mla_mode")]:
            raise UsageError(f"{unknown[0]}: no axis of a sweep. Known: {', '.join(AXES)}.")
        if not lists.get("hardware"):
            raise UsageError("hardware: a sweep needs a chip. tracelake hardware list shows all.")
        if (points := math.prod(len(values) for values in lists.values())) > MOST_POINTS:
            raise UsageError(f"{points:,} scenarios; a sweep has at most {MOST_POINTS:,}.")
        types = [name for (name,) in self.rows("SELECT DISTINCT dtype FROM dtypes WHERE bytes > 0 ORDER BY ALL")]
        profiles = [name for (name,) in self.rows("SELECT execution FROM execution_profiles ORDER BY ALL")]
        for names, known in (
            (("phase",), ["decode", "prefill", "training"]), (("execution",), profiles),
            (("weight_dtype", "activation_dtype", "kv_dtype"), types),
        ):  # fmt: skip
            for name in names:
                if wrong := [value for value in lists.get(name, []) if value is not None and value not in known]:
                    raise UsageError(f"{name}={wrong[0]}: unknown. Known: {', '.join(known)}.")

    def _workload(
        self,
        model: str | os.PathLike[str],
        hardware: str | Sequence[str],
        formulas: str,
        executions: Sequence[str],
        work: dict[str, Any],
    ) -> Workload:
        from .workloads import Workload

        rules = find(formulas)
        chips = [self.resolve_hardware(chip) for chip in _listed(hardware)]
        if not chips:
            raise UsageError("hardware: the report needs a chip. tracelake hardware list shows all.")
        said = {key: value for key, value in work.items() if value is not None}
        if "kv_len" not in said and "seq_len" in said:
            said["kv_len"] = said["seq_len"]
        tp, ep = said.get("tp", 1), said.get("ep", 1)
        said.setdefault("dp", max(ep // tp, 1) if rules.tp_shares_experts else ep)
        try:
            return Workload(
                self.resolve_model(model), tuple(dict.fromkeys(chips)), rules,
                tuple(executions) or rules.profiles, **said,
            )  # fmt: skip
        except TypeError as error:
            raise UsageError(f"model report: {error}.") from error


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]


def _write_charts(drawn: Iterable[Any], target: Path) -> dict[str, str]:
    """Write charts beside a report; return the name of each one's file."""
    files = {}
    for chart in drawn:
        name = f"{target.stem}_{re.sub(r'[^a-z0-9_]+', '_', chart.name.lower())}.svg"
        write_text(target.with_name(name), chart.svg())
        files[chart.name] = name
    return files
