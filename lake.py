"""A lake of traces: each command of the command line is the twin of a method here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, SupportsIndex, Unpack, cast

from . import analysis, engine
from .engine import replicas
from .engine.storage.layout import Layout
from .engine.storage.objects import ObjectPath
from .engine.storage.paths import Place
from .engine.store import Store
from .reports.notebook.lake import shows_itself

if TYPE_CHECKING:
    import duckdb

    from .analysis.mfu import Workload
    from .analysis.passes import Pass
    from .analysis.timings import Times
    from .ingest.batch import Failed
    from .ingest.one import Ingested, Progress
    from .reports.compat import Compat
    from .reports.export.export import Written
    from .reports.model.report import ModelReport
    from .reports.notebook.trace import Trace
    from .reports.perfetto.files import Written as Timeline

    Relation = duckdb.DuckDBPyRelation

_Path = str | os.PathLike[str]


@shows_itself
class Lake:
    """A folder of ingested traces and the SQL that explains them.

    Each method calls one function, whose documentation has the arguments: `help(lake.ask)` shows the
    signature, `help(tracelake.analysis.models.ask)` all of it. A mistake of the caller raises UsageError, an unusable
    file InputError.
    """

    def __init__(
        self, path: _Path | ObjectPath, *, create: bool = True, memory_limit: str | None = None,
        unsafe: bool = False, stored: bool | None = None,
    ) -> None:  # fmt: skip
        """Open the lake at `path`; see `tracelake.engine.store.Store`."""
        self.store = Store(path, create=create, memory_limit=memory_limit, unsafe=unsafe, stored=stored)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self.store.close()

    @property
    def path(self) -> Place:
        """The lake's folder, or its address in an object store."""
        return self.store.path

    @property
    def layout(self) -> Layout:
        """The paths of the lake's files."""
        return self.store.layout

    # SQL
    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """A DuckDB connection that may do all that DuckDB can, with all relations created, commented and up to date."""
        return self.store.connection

    def sql(self, query: str, **parameters: Any) -> Relation:
        """Return the result of SQL as a DuckDB relation (`.pl()`, `.to_arrow_table()`, `.df()`, `.fetchall()`)."""
        return self.store.sql(query, **parameters)

    def rows(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a small query."""
        return self.store.rows(query, parameters)

    def prepare(self, query: str) -> duckdb.DuckDBPyConnection:
        """Make the relations that a query names ready; return the connection that has them."""
        return self.store.prepare(query)

    def refresh(self) -> None:
        """Pick up what other processes have published or removed."""
        self.store.refresh()

    def export(self, target: _Path, format: str | None = None, relations: Sequence[str] = (), **given: Any) -> Written:
        """Write relations, or with `star=True` a star schema, to files or a database; return the row count of each."""
        from .reports.export import export

        return export.export(self.store, target, format, relations, **given)

    def broken_invariants(self, trace: str | None = None) -> list[tuple[str, int]]:
        """Return the invariants that one trace, or any, violates, each with the number of violating rows."""
        return engine.invariants.broken(self.store, analysis.traces.of_trace(self.store, trace) if trace else "true")

    def file_faults(self) -> list[str]:
        """Return the faults of the lake's files, a sentence each; all tables are read. Empty if there are none."""
        return engine.checks.faults(self.store.layout)

    # Traces
    def __getitem__(self, trace: str) -> Trace:
        """Return one trace, given by name, id or path, as an object with its own display, methods and charts."""
        from .reports.notebook.trace import Trace

        return Trace(self, self.locate(trace))

    def ingest(
        self, *paths: _Path, model: _Path | None = None, progress: Callable[[str], Progress] | None = None,
        jobs: int | None = None, events_only: bool = False, ray: str | None = None,
        ray_options: Mapping[str, Any] | None = None, **settings: str | int | None,
    ) -> list[Ingested | Failed]:  # fmt: skip
        """Read trace files into the lake and compute their answers. Content already in the lake is skipped."""
        return analysis.traces.ingest(
            self.store, paths, model=model, progress=progress, jobs=jobs, events_only=events_only, ray=ray,
            ray_options=ray_options, settings=settings,
        )  # fmt: skip

    def compute(
        self, *named: str, jobs: int | None = None, done: Callable[[int, int], None] | None = None,
        ray: str | None = None, ray_options: Mapping[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Recompute the answers of traces, or of all stale ones if none is named; return their number."""
        return engine.changes.compute(self.store, named, jobs, done, ray, ray_options)

    def compact(self, *, vacuum_hours: float | None = None) -> dict[str, tuple[int, int]]:
        """Merge the files of the tables and drop superseded rows; return each table's file counts before and after."""
        return engine.changes.compact(self.store, vacuum_hours)

    def set(self, trace: str, /, **settings: str | int | None) -> None:
        """Set a trace's model, hardware, parallelism, anchor, or any tag. None removes a setting."""
        analysis.traces.write_settings(self.store, trace, settings)

    def explain(self, trace: str, model: _Path) -> str:
        """Set the model of a trace, resolved to the lake's name for it; return that name."""
        return analysis.model_traces.explain(self.store, trace, model)

    def remove(self, trace: str) -> str:
        """Remove a trace from the lake and return its id. Its source file is not touched."""
        return engine.changes.remove(self.store, trace)

    def resolve(self, trace: str) -> str:
        """Return the id of the trace that `trace` names: a name, an id, or a prefix of either."""
        return self.store.resolve(trace)

    def locate(self, trace: str) -> str:
        """Return the id of a trace given by name, id, or path; a file not yet in the lake is ingested first."""
        return analysis.traces.locate(self.store, trace)

    def traces(self) -> Relation:
        """Return the catalog: a row per trace."""
        return analysis.traces.traces(self.store)

    def doctor(self, trace: str | None = None) -> Relation:
        """Return the findings of all checks on one trace, or on all traces: a row per finding."""
        return analysis.traces.doctor(self.store, trace)

    # Passes, layers, kernels
    def passes(self, trace: str) -> Relation:
        """Return the forward passes of a trace, in time order."""
        return analysis.passes.passes(self.store, trace)

    def layers(self, trace: str, pass_id: Pass = None) -> Relation:
        """Return the layers of one pass, with their coverage; default: the chosen pass; "all": every pass."""
        return analysis.passes.layers(self.store, trace, pass_id)

    def kernels(self, trace: str, pass_id: Pass = None, layer: int | None = None) -> Relation:
        """Return device operations: of the whole trace, or of a layer, longest first."""
        return analysis.passes.kernels(self.store, trace, pass_id, layer)

    def layer_types(self, trace: str, pass_id: Pass = None) -> Relation:
        """Return the types of layers of one pass, or of every pass for "all", side by side."""
        return analysis.passes.layer_types(self.store, trace, pass_id)

    def layer_diff(self, trace: str, pass_id: Pass, layer: int, other_pass: Pass, other_layer: int) -> Relation:
        """Return the kernels of two layers of a trace side by side, the largest difference first."""
        return analysis.passes.layer_diff(self.store, trace, pass_id, layer, other_pass, other_layer)

    def perfetto(self, trace: str, pass_id: Pass = None, layers: Sequence[int] = ()) -> Relation:
        """Return where a pass and its layers, or some of them, are on Perfetto's timeline."""
        return analysis.passes.perfetto(self.store, trace, pass_id, layers)

    def anchor_candidates(self, trace: str) -> Relation:
        """Return kernels that mark, or might mark, the layers of a trace, with the evidence; the best first."""
        return analysis.passes.anchor_candidates(self.store, trace)

    def chosen_pass(self, trace: str) -> int | None:
        """Return the most representative pass of the model with most time, None if no pass was found."""
        return analysis.passes.chosen_pass(self.store, trace)

    def check_layers(self, trace: str, pass_id: Pass, layers: Sequence[int]) -> None:
        """Check that a pass has these layers; raises UsageError if not."""
        analysis.passes.check_layers(self.store, trace, pass_id, layers)

    # The work of a trace
    def trace_ops(self, trace: str) -> Relation:
        """Return the framework operators of a trace that have a FLOP rule, each call once, in time order."""
        return analysis.model_traces.trace_ops(self.store, trace)

    def roofline_of(self, trace: str, pass_id: SupportsIndex | None = None) -> Relation:
        """Return the FLOP and bytes of a trace's operators beside the peaks of its chip, longest time first."""
        return analysis.model_traces.roofline_of(self.store, trace, pass_id)

    def validate(self, trace: str, pass_id: SupportsIndex | None = None) -> Relation:
        """Return for each complete pass whether the trace's work matches its model's template: PASS, WARN, FAIL."""
        return analysis.model_traces.validate(self.store, trace, pass_id)

    def template_vs_trace(self, trace: str, pass_id: SupportsIndex | None = None) -> Relation:
        """Return the operators of each complete pass, layer by layer: the template's FLOP beside the trace's."""
        return analysis.model_traces.template_vs_trace(self.store, trace, pass_id)

    def check_modelled(self, trace: str) -> None:
        """Check that a trace's model is set and known, and that the work of a complete pass is known."""
        analysis.model_traces.check_modelled(self.store, trace)

    def model_doubts(self, trace: str) -> list[str]:
        """Return what a trace shows but its model lacks, and which published models fit."""
        return analysis.model_traces.model_doubts(self.store, self.locate(trace))

    def measured_vs_modelled(self, trace: str) -> analysis.calibration.Measured:
        """Return the parts of a trace's forward passes, measured and modelled: `.rows`, `.faults`."""
        return analysis.calibration.measured_vs_modelled(self.store, trace)

    def calibrations(self) -> Relation:
        """Return the share of their chip's peak and bandwidth that the lake's kernels reach, with any faults."""
        return analysis.calibration.calibrations(self.store)

    def calibrate(self, name: str, hardware: str) -> list[str]:
        """Store the share of a chip's peaks that its kernels reach, as an execution profile for scenarios."""
        return analysis.calibration.calibrate(self.store, name, hardware)

    def attach(self, folder: _Path) -> analysis.latencies.Attached:
        """Read latency tables of matrix products, whose best times kernel_roofline compares with."""
        return analysis.latencies.attach(self.store, Path(folder))

    # Models and chips, without a trace
    def models(self) -> Relation:
        """Return the known models, with their dimensions and whether their active parameters match published ones."""
        return analysis.models.models(self.store)

    def model(self, model: _Path, *, tall: bool = False) -> Relation:
        """Return a model's dimensions, layer kinds and active parameters: one row, or with `tall` a row for each."""
        return analysis.models.model(self.store, model, tall=tall)

    def resolve_model(self, text: _Path) -> str:
        """Return the model that a text names: a name, an alias, a Hugging Face id, or the path of a config.json."""
        return analysis.models.resolve_model(self.store, text)

    def resolve_hardware(self, text: str) -> str:
        """Return the chip that a text names: a key of the table hardware, an alias, or a device's name in a trace."""
        return analysis.models.resolve_hardware(self.store, text)

    def know_model(self, path: _Path, name: str | None = None) -> str:
        """Read a config.json, so that queries can use its model; return the model's name."""
        return analysis.models.know_model(self.store, path, name)

    def add_scenarios(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add scenarios to the analytical model: each row has columns of the table scenarios; missing ones default."""
        analysis.models.add_scenarios(self.store, rows)

    def ask(self, model: _Path, hardware: str | None = None, *, name: str | None = None, **work: Any) -> str:
        """Add one scenario to the analytical model and return its name."""
        return analysis.models.ask(self.store, model, hardware, name=name, **work)

    def faults(self, scenario: str) -> list[str]:
        """Return the reasons why a scenario is impossible; empty if it is possible."""
        return analysis.models.faults(self.store, scenario)

    def operators(self, scenario: str) -> Relation:
        """Return the modelled cost of each operator of a scenario, by layer kind."""
        return analysis.models.operators(self.store, scenario)

    def model_roofline(self, scenario: str, *, modules: bool = False) -> Relation:
        """Return the cost of a scenario: one row, or with `modules` a row for each module, the longest first."""
        return analysis.sweeps.model_roofline(self.store, scenario, modules=modules)

    def model_sweep(self, model: _Path, **axes: Any) -> analysis.sweeps.Sweep:
        """Model a scenario for each combination of values: `.rows`, `.map(x, y)`."""
        return analysis.sweeps.sweep(self.store, model, **axes)

    def add_times(self, scenario: str, times: Times | None = None, **totals: float | None) -> None:
        """Store measured times of a scenario: of a layer's kernels, or the totals measured_ms and per_layer_ms."""
        analysis.mfu.add_times(self.store, scenario, times, **totals)

    # Reports
    def summary(self, trace: str, format: str = "md", *, top: int = 10) -> str:
        """Return where the time of a trace goes, section by section, and what to look at next: md or json."""
        from .reports.summary import document

        return document.summary(self.store, trace, format, top)

    def report(self, trace: str, output: _Path | None = None, pass_id: SupportsIndex | None = None) -> str:
        """Return a report on a trace: Markdown, or HTML or JSON by the suffix of `output`, to which it is written."""
        from .reports.trace import report

        return report.report(self.store, trace, output, pass_id)

    def index(self, output: _Path) -> str:
        """Write a page of all traces, newest first, to a file, and return it."""
        from .reports.page import index

        return index.write_index(self.store, output)

    def compare(
        self, before: str, after: str, *, strict: bool = False, anyway: bool = False
    ) -> analysis.comparison.Comparison:
        """Return measures, operations and operation families of two traces side by side, and a verdict."""
        return analysis.comparison.compare(self.store, before, after, strict=strict, anyway=anyway)

    def compare_sides(self, *words: str, **given: Any) -> analysis.sides.SideComparison:
        """Compare traces, runs or filters with a baseline: `.sides`, `.terms` (the waterfall), `.ops`, `.matches`."""
        return analysis.sides.between(self.store, words, **given)

    def check(self, *files: _Path, **given: Any) -> duckdb.DuckDBPyRelation:
        """Check budgets; return a row per budget and item: budget, item, value, threshold, noise, verdict."""
        return analysis.budgets.check(self.store, files, **given)

    def history(self, metric: str, by: str = "run", where: str | None = None) -> analysis.history.History:
        """Return a metric over time, and the runs where its level shifts: `.rows`, `.shifts`, `.verdicts`."""
        return analysis.history.history(self.store, metric, by, where)

    def ranks(self, run: str, by: str = "rank") -> analysis.ranks.Ranks:
        """Return which rank of a run the others wait for, in how many steps and why: `.rows`, `.verdicts`."""
        return analysis.ranks.ranks(self.store, run, by)

    def write_page(
        self, answer: analysis.sides.SideComparison | analysis.history.History | analysis.ranks.Ranks, output: _Path
    ) -> str:
        """Write the result of `compare_sides`, `history` or `ranks` as a page to a file (.html), and return it."""
        from .reports.answers import write

        return write.write_page(self.store, answer, output)

    def mfu(self, model: _Path, *, format: str = "table", **given: Unpack[Workload]) -> str:
        """Return the modelled cost of a model's forward pass, and how close the measured times are to it."""
        from .reports.mfu import report

        return report.of_model(self.store, model, format, **given)

    def trace_mfu(self, trace: str, pass_id: SupportsIndex | None = None, *, format: str = "table") -> str:
        """Return the share of its chip's peak that a trace reaches, from its own kernels: one pass, or all."""
        from .reports.mfu import report

        return report.of_trace(self.store, self.locate(trace), pass_id, format)

    def model_report(self, model: _Path, output: _Path | None = None, **given: Any) -> ModelReport:
        """Return a report on a model's modelled cost, written to a file if given: `.text`, `.faults`."""
        from .reports.model import report

        return report.model_report(self.store, model, output, **given)

    def write_perfetto(self, trace: str, path: _Path, pass_id: SupportsIndex | None = None, **given: Any) -> Timeline:
        """Write a trace, a part of it, or the ranks of a run for Perfetto: `.events`, and where to look."""
        from .reports.perfetto import files

        return files.write_perfetto(self.store, trace, path, pass_id, **given)

    def extract(
        self, trace: str, path: _Path, *, pass_id: SupportsIndex | None = None, window: str = "extended",
        device: int | None = None, duplicates: bool = True, spreadsheet: bool = True,
    ) -> dict[str, Any]:  # fmt: skip
        """Write a pass of an Ascend kernel table: its rows as CSV, and a description as JSON beside it."""
        from .reports.ascend import extract

        return extract.write_pass(
            self.store, trace, Path(path), window=window, pass_id=pass_id, device=device, duplicates=duplicates,
            spreadsheet=spreadsheet,
        )  # fmt: skip

    # Simulators
    def shapes(self, trace: str) -> Relation:
        """Return the time of each distinct shape of a trace's kernels, largest total first."""
        return analysis.alignment.shapes(self.store, trace)

    def write_shapes(self, trace: str, folder: _Path, *, spreadsheet: bool = True) -> list[tuple[Path, int]]:
        """Write a profiling database, a table per type of operation; return each file with its number of rows."""
        from .reports.ascend import shapes

        return shapes.write_database(self.store, self.locate(trace), Path(folder), spreadsheet=spreadsheet)

    def align(
        self, simulated: str, measured: str, by: str = "type", pass_id: SupportsIndex | None = None,
        window: str = "anchor", dedup: str = "tracelake",
    ) -> Relation:  # fmt: skip
        """Return a simulated forward pass beside a measured one, by type, shape, summary or metrics."""
        return analysis.alignment.align(self.store, simulated, measured, by, pass_id, window, dedup)

    @property
    def compat(self) -> Compat:
        """Other tools' figures, including their errors; a UsageError if the folders with them were removed."""
        return cast("Compat", replicas.find("reports").Compat(self.store))
