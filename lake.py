"""A lake of traces: the methods that the commands of the command line are twins of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack, cast

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
    from .engine.export import Written
    from .ingest.batch import Failed
    from .ingest.one import Ingested, Progress
    from .reports.compat import Compat
    from .reports.model.report import ModelReport
    from .reports.notebook.trace import Trace
    from .reports.perfetto.files import Written as Timeline

    Relation = duckdb.DuckDBPyRelation

_Path = str | os.PathLike[str]


@shows_itself
class Lake:
    """A folder of ingested traces and the SQL that explains them.

    Each method calls the function that it names, whose documentation has the arguments: `help(lake.ask)` shows the
    signature, `help(tracelake.analysis.models.ask)` all of it. What a caller can change is a UsageError, a file that
    cannot be used an InputError.
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
        """Return the answer to an SQL query as a DuckDB relation (`.pl()`, `.arrow()`, `.df()`, `.fetchall()`)."""
        return self.store.sql(query, **parameters)

    def rows(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a small query."""
        return self.store.rows(query, parameters)

    def prepare(self, query: str) -> duckdb.DuckDBPyConnection:
        """Make the relations that a query names ready; return the connection that has them."""
        return self.store.prepare(query)

    def refresh(self) -> None:
        """See what other processes have published or removed since the last look."""
        self.store.refresh()

    def export(self, target: _Path, format: str | None = None, relations: Sequence[str] = (), **given: Any) -> Written:
        """Write relations, or with `star=True` a star schema, to files or a database; return the rows of each."""
        return engine.export.export(self.store, target, format, relations, **given)

    def broken_invariants(self) -> list[tuple[str, int]]:
        """Return the laws that this lake breaks, each with the number of rows that break it. Empty when all hold."""
        return engine.invariants.broken(self.store)

    def file_faults(self) -> list[str]:
        """Return what is wrong with the lake's files, a sentence each: all of its tables are read. Empty when sound."""
        return engine.checks.faults(self.store.layout)

    # Traces
    def __getitem__(self, trace: str) -> Trace:
        """Return one trace, given by name, id or path: it shows itself, and has methods of its own and charts."""
        from .reports.notebook.trace import Trace

        return Trace(self, self.locate(trace))

    def ingest(
        self, *paths: _Path, model: _Path | None = None, progress: Callable[[str], Progress] | None = None,
        jobs: int | None = None, events_only: bool = False, ray: str | None = None,
        ray_options: Mapping[str, Any] | None = None, **settings: str | int | None,
    ) -> list[Ingested | Failed]:  # fmt: skip
        """Read trace files into the lake and compute their answers. Content that is there already is not read again."""
        return analysis.traces.ingest(
            self.store, paths, model=model, progress=progress, jobs=jobs, events_only=events_only, ray=ray,
            ray_options=ray_options, settings=settings,
        )  # fmt: skip

    def compute(
        self, *named: str, jobs: int | None = None, done: Callable[[int, int], None] | None = None,
        ray: str | None = None, ray_options: Mapping[str, Any] | None = None,
    ) -> int:  # fmt: skip
        """Compute the answers of traces again, of those that are stale if none is named; return how many."""
        return engine.changes.compute(self.store, named, jobs, done, ray, ray_options)

    def compact(self, *, vacuum_hours: float | None = None) -> dict[str, tuple[int, int]]:
        """Merge the files of the tables, drop replaced rows; return the files of each table before and after."""
        return engine.changes.compact(self.store, vacuum_hours)

    def set(self, trace: str, /, **settings: str | int | None) -> None:
        """Set a trace's model, hardware, parallelism, anchor, or any tag. None removes a setting."""
        analysis.traces.write_settings(self.store, trace, settings)

    def explain(self, trace: str, model: _Path) -> str:
        """Set the model of a trace, as the lake knows it; return its name."""
        return analysis.model_traces.explain(self.store, trace, model)

    def remove(self, trace: str) -> str:
        """Remove a trace from the lake and return its id. Its source file is not touched."""
        return engine.changes.remove(self.store, trace)

    def resolve(self, trace: str) -> str:
        """Return the id of the trace that `trace` names: a name, an id, or the beginning of an id."""
        return self.store.resolve(trace)

    def locate(self, trace: str) -> str:
        """Return the id of a trace given by name, id, or path; a file not yet in the lake is ingested first."""
        return analysis.traces.locate(self.store, trace)

    def traces(self) -> Relation:
        """Return the catalog: a row per trace."""
        return analysis.traces.traces(self.store)

    def doctor(self, trace: str | None = None) -> Relation:
        """Return what is noteworthy of one trace, or of all: a row per check that has something to say."""
        return analysis.traces.doctor(self.store, trace)

    # Passes, layers, kernels
    def passes(self, trace: str) -> Relation:
        """Return the forward passes of a trace, in time order."""
        return analysis.passes.passes(self.store, trace)

    def layers(self, trace: str, pass_id: Pass = None) -> Relation:
        """Return the layers of one pass, with their coverage: the chosen one if none is given; of all for "all"."""
        return analysis.passes.layers(self.store, trace, pass_id)

    def kernels(self, trace: str, pass_id: Pass = None, layer: int | None = None) -> Relation:
        """Return device operations: of the whole trace, or of a layer, longest first."""
        return analysis.passes.kernels(self.store, trace, pass_id, layer)

    def layer_types(self, trace: str, pass_id: Pass = None) -> Relation:
        """Return the types of layers of one pass, or of every pass for "all", beside each other."""
        return analysis.passes.layer_types(self.store, trace, pass_id)

    def layer_diff(self, trace: str, pass_id: int, layer: int, other_pass: int, other_layer: int) -> Relation:
        """Return the kernels of two layers of a trace beside each other; what only one of them runs comes first."""
        return analysis.passes.layer_diff(self.store, trace, pass_id, layer, other_pass, other_layer)

    def perfetto(self, trace: str, pass_id: Pass = None, layers: Sequence[int] = ()) -> Relation:
        """Return where a pass and its layers, or some of them, are on Perfetto's time line."""
        return analysis.passes.perfetto(self.store, trace, pass_id, layers)

    def anchor_candidates(self, trace: str) -> Relation:
        """Return kernels that mark the layers of a trace, or might, with the evidence; the best first."""
        return analysis.passes.anchor_candidates(self.store, trace)

    def chosen_pass(self, trace_id: str) -> int | None:
        """Return the pass that best stands for those of the model with most time, None when no pass was found."""
        return analysis.passes.chosen_pass(self.store, trace_id)

    def check_layers(self, trace: str, pass_id: Pass, layers: Sequence[int]) -> None:
        """Check that a pass has these layers; a UsageError if not."""
        analysis.passes.check_layers(self.store, trace, pass_id, layers)

    # The work of a trace
    def trace_ops(self, trace: str) -> Relation:
        """Return the framework operators of a trace with a rule for their FLOP, each call once, in time order."""
        return analysis.model_traces.trace_ops(self.store, trace)

    def roofline_of(self, trace: str, pass_id: int | None = None) -> Relation:
        """Return what the operators of a trace compute and move beside the peaks of its chip, longest time first."""
        return analysis.model_traces.roofline_of(self.store, trace, pass_id)

    def validate(self, trace: str, pass_id: int | None = None) -> Relation:
        """Return for each complete pass whether the trace computes what its model's template has: PASS, WARN, FAIL."""
        return analysis.model_traces.validate(self.store, trace, pass_id)

    def template_vs_trace(self, trace: str, pass_id: int | None = None) -> Relation:
        """Return the operators of each complete pass, layer by layer: the template's FLOP beside the trace's."""
        return analysis.model_traces.template_vs_trace(self.store, trace, pass_id)

    def check_modelled(self, trace: str) -> None:
        """Check that a trace's model is set and known, and that it is known what a complete pass computes."""
        analysis.model_traces.check_modelled(self.store, trace)

    def model_doubts(self, trace: str) -> list[str]:
        """Return what a trace shows that its model does not have, and which published models fit."""
        return analysis.model_traces.model_doubts(self.store, self.locate(trace))

    def measured_vs_modelled(self, trace: str) -> analysis.calibration.Measured:
        """Return the parts of a trace's forward passes, measured and by its model: `.rows`, `.faults`."""
        return analysis.calibration.measured_vs_modelled(self.store, trace)

    def calibrations(self) -> Relation:
        """Return which part of their chip's peak and bandwidth the kernels of the lake reach, and its faults."""
        return analysis.calibration.calibrations(self.store)

    def calibrate(self, name: str, hardware: str) -> list[str]:
        """Store the share of its peaks that a chip's kernels reach, as an execution profile for scenarios."""
        return analysis.calibration.calibrate(self.store, name, hardware)

    def attach(self, folder: _Path) -> analysis.latencies.Attached:
        """Read latency tables of matrix products: best times for kernel_roofline to compare with."""
        return analysis.latencies.attach(self.store, Path(folder))

    # Models and chips, without a trace
    def models(self) -> Relation:
        """Return the models known, with their dimensions and whether their active parameters are as published."""
        return analysis.models.models(self.store)

    def model(self, model: _Path, *, tall: bool = False) -> Relation:
        """Return a model's dimensions, the kinds of its layers and its active parameters: a row, or `tall` many."""
        return analysis.models.model(self.store, model, tall=tall)

    def resolve_model(self, text: _Path) -> str:
        """Return the model that a text names: a name, an alias, an id of Hugging Face, or a path of a config.json."""
        return analysis.models.resolve_model(self.store, text)

    def resolve_hardware(self, text: str) -> str:
        """Return the chip that a text names: a key of the table hardware, an alias, or a device's name in a trace."""
        return analysis.models.resolve_hardware(self.store, text)

    def know_model(self, path: _Path, name: str | None = None) -> str:
        """Read a config.json so that queries can name its model; return the name."""
        return analysis.models.know_model(self.store, path, name)

    def add_scenarios(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Put scenarios to the analytical model: each row has columns of the table scenarios, the others default."""
        analysis.models.add_scenarios(self.store, rows)

    def ask(self, model: _Path, hardware: str | None = None, *, name: str | None = None, **work: Any) -> str:
        """Put a scenario to the model and return its name."""
        return analysis.models.ask(self.store, model, hardware, name=name, **work)

    def faults(self, scenario: str) -> list[str]:
        """Return the reasons why nothing can run as a scenario says; none where it can."""
        return analysis.models.faults(self.store, scenario)

    def operators(self, scenario: str) -> Relation:
        """Return what each operator of a scenario should cost, layer kind by layer kind."""
        return analysis.models.operators(self.store, scenario)

    def model_roofline(self, scenario: str, *, modules: bool = False) -> Relation:
        """Return what a scenario costs: a row, or with `modules` a row for each module, the longest first."""
        return analysis.sweeps.model_roofline(self.store, scenario, modules=modules)

    def model_sweep(self, model: _Path, **axes: Any) -> analysis.sweeps.Sweep:
        """Put a scenario to the model for each combination of values: `.rows`, `.map(x, y)`."""
        return analysis.sweeps.sweep(self.store, model, **axes)

    def add_times(self, scenario: str, times: Times | None = None, **totals: float | None) -> None:
        """Store how long a scenario took: times of a layer's kernels, and measured_ms and per_layer_ms."""
        analysis.mfu.add_times(self.store, scenario, times, **totals)

    # Reports
    def summary(self, trace: str, format: str = "md", *, top: int = 10) -> str:
        """Return where the time of a trace goes, section by section, and what to look at next: md or json."""
        from .reports.summary import document

        return document.summary(self.store, trace, format, top)

    def report(self, trace: str, output: _Path | None = None, pass_id: int | None = None) -> str:
        """Return what is known of a trace as Markdown, or HTML or JSON for a file of that suffix; write it there."""
        from .reports.trace import report

        return report.report(self.store, trace, output, pass_id)

    def index(self, output: _Path) -> str:
        """Return all traces as a page, the newest first, written to a file."""
        from .reports.page import index

        return index.write_index(self.store, output)

    def compare(
        self, before: str, after: str, *, strict: bool = False, anyway: bool = False
    ) -> analysis.comparison.Comparison:
        """Return the measures, the operations and their families of two traces beside each other, and a verdict."""
        return analysis.comparison.compare(self.store, before, after, strict=strict, anyway=anyway)

    def compare_sides(self, *words: str, anyway: bool = False, **split: str | None) -> analysis.sides.SideComparison:
        """Put traces, runs or filters beside a baseline: `.sides`, `.terms` (the waterfall), `.ops`, `.matches`."""
        return analysis.sides.compare(self.store, analysis.sides.resolve(self.store, words, **split), anyway=anyway)

    def check(self, *files: _Path, **given: Any) -> duckdb.DuckDBPyRelation:
        """Return a row per budget of some files and thing judged: budget, item, value, threshold, noise, verdict."""
        return analysis.budgets.check(self.store, files, **given)

    def history(self, metric: str, by: str = "run", where: str | None = None) -> analysis.history.History:
        """Return a metric over time, and the runs at which its level shifts: `.rows`, `.shifts`, `.verdicts`."""
        return analysis.history.history(self.store, metric, by, where)

    def ranks(self, run: str, by: str = "rank") -> analysis.ranks.Ranks:
        """Return which rank of a run the others wait for, in how many steps and why: `.rows`, `.verdicts`."""
        return analysis.ranks.ranks(self.store, run, by)

    def write_page(
        self,
        answer: analysis.sides.SideComparison | analysis.history.History | analysis.ranks.Ranks,
        output: _Path,
    ) -> str:
        """Return what `compare_sides`, `history` or `ranks` answered as a page, written to a file (.html)."""
        from .reports.answers import write

        return write.write_page(self.store, answer, output)

    def mfu(self, model: _Path, *, format: str = "table", **given: Unpack[Workload]) -> str:
        """Return what a model's forward pass should cost, and how near the measured times come to it."""
        from .reports.mfu import report

        return report.of_model(self.store, model, format, **given)

    def trace_mfu(self, trace: str, pass_id: int | None = None, *, format: str = "table") -> str:
        """Return what share of its chip's peak a trace reaches, by its own kernels: one pass, or all."""
        from .reports.mfu import report

        return report.of_trace(self.store, self.locate(trace), pass_id, format)

    def model_report(self, model: _Path, output: _Path | None = None, **given: Any) -> ModelReport:
        """Return a report on what a model should cost, written to a file if given: `.text`, `.faults`."""
        from .reports.model import report

        return report.model_report(self.store, model, output, **given)

    def write_perfetto(self, trace: str, path: _Path, pass_id: int | None = None, **given: Any) -> Timeline:
        """Write a trace, a part of it, or the ranks of a run for Perfetto: `.events`, and where to look."""
        from .reports.perfetto import files

        return files.write_perfetto(self.store, trace, path, pass_id, **given)

    def extract(
        self, trace: str, path: _Path, *, pass_id: int | None = None, window: str = "extended",
        device: int | None = None, duplicates: bool = True, spreadsheet: bool = True,
    ) -> dict[str, Any]:  # fmt: skip
        """Cut a pass out of an Ascend table of kernels: its rows as CSV, and what they are as JSON beside it."""
        from .reports.ascend import extract

        return extract.write_pass(
            self.store, trace, Path(path), window=window, pass_id=pass_id, device=device, duplicates=duplicates,
            spreadsheet=spreadsheet,
        )  # fmt: skip

    # Simulators
    def shapes(self, trace: str) -> Relation:
        """Return how long each distinct work of a trace's kernels takes, what takes most first."""
        return analysis.alignment.shapes(self.store, trace)

    def write_shapes(self, trace: str, folder: _Path, *, spreadsheet: bool = True) -> list[tuple[Path, int]]:
        """Write a profiling database, a table per type of operation; return each file with its number of rows."""
        from .reports.ascend import shapes

        return shapes.write_database(self.store, self.locate(trace), Path(folder), spreadsheet=spreadsheet)

    def align(
        self, simulated: str, measured: str, by: str = "type", pass_id: int | None = None, window: str = "anchor",
        dedup: str = "tracelake",
    ) -> Relation:  # fmt: skip
        """Return a simulated forward pass beside a measured one, by type, shape, summary or metrics."""
        return analysis.alignment.align(self.store, simulated, measured, by, pass_id, window, dedup)

    @property
    def compat(self) -> Compat:
        """Other tools' figures, their errors included; a UsageError where the folders with them were taken out."""
        return cast("Compat", replicas.find("reports").Compat(self.store))
