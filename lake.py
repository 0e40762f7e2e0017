"""A lake of traces: the methods that the commands of the command line are twins of."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from .analysis.calibration import Calibrations
from .analysis.mfu import Timings
from .analysis.model_report import ModelReports
from .analysis.model_traces import ModelTraces
from .analysis.simulations import Simulations
from .analysis.summaries import Summaries
from .engine import export, keys, modules, replicas
from .engine.catalog import check_settings
from .engine.errors import InputError, UsageError
from .engine.paths import readable
from .engine.secrets import redact
from .ingest.batch import Failed, expand, ingest_many
from .ingest.inputs import input_of, names_input
from .ingest.one import Ingested, Progress

if TYPE_CHECKING:
    import duckdb

    from .reports.compat import Compat

Pass = int | Literal["all"] | None


class Lake(ModelReports, ModelTraces, Timings, Summaries, Calibrations, Simulations):
    """A folder of ingested traces and the SQL that explains them."""

    def ingest(
        self,
        *paths: str | os.PathLike[str],
        model: str | os.PathLike[str] | None = None,
        progress: Callable[[str], Progress] | None = None,
        jobs: int | None = None,
        **settings: str | int | None,
    ) -> list[Ingested | Failed]:
        """Read trace files into the lake. A file whose content is there already is not stored again.

        Args:
            paths: files, folders of files, or `-` for standard input.
            model: the model's name, or the path of its config.json.
            progress: called with a file's path, gives the callback told of bytes and events read.
            jobs: files read at once.
            settings: what to remember of the traces: run, rank, profile, anchor, anchor_role, blocks_per_layer,
                num_layers, hardware, tp, ep, dp, pp, dedup, or any tag.

        Returns:
            What became of each file, in order.

        Raises:
            UsageError: a setting's value is not of its type.
            InputError: the model's config.json cannot be read.
        """
        files = expand(paths)
        said = self._checked({key: value for key, value in settings.items() if value is not None})
        said = (self.said_of_model(model) if model is not None else {}) | said
        if said.get("trace") and len(files) > 1:
            raise UsageError(f"trace={said['trace']}: one name for {len(files)} files.")
        results: list[Ingested | Failed] = []
        for result in ingest_many(self.layout, files, progress=progress, jobs=jobs):
            if isinstance(result, Ingested):
                self.write_settings(result.trace_id, said)
                results.append(replace(result, trace=said.get("trace") or result.trace))
            else:
                results.append(result)
        self.refresh()
        return results

    def set(self, trace: str, /, **settings: str | int | None) -> None:
        """Say something of a trace: its model, hardware, parallelism, anchor, or any tag. None takes a word back.

        Raises:
            UsageError: the trace or the hardware is unknown, or a value is not of its setting's type.
            InputError: the model's config.json cannot be read.
        """
        trace_id = self.locate(trace)
        said = self._checked(settings)
        if model := said.pop("model", None):
            said = self.said_of_model(model) | said
        elif "model" in settings:
            said |= {"model": None, "config": None}
        self.write_settings(trace_id, said)
        self.refresh()

    def traces(self) -> duckdb.DuckDBPyRelation:
        """Return the catalog: a row per trace."""
        return self.sql("SELECT * FROM traces ORDER BY trace, trace_id")

    def passes(self, trace: str) -> duckdb.DuckDBPyRelation:
        """Return the forward passes of a trace, in time order."""
        return self._of_trace("passes", trace, order="rank, device, pass_id")

    def layers(self, trace: str, pass_id: Pass = None) -> duckdb.DuckDBPyRelation:
        """Return the layers of one pass: of the chosen one, when none is named; of every pass for "all".

        The last column is their coverage: the share of the device's busy time in the layers of the pass's series.
        """
        covered = (
            "(SELECT layers.*, coverage_pct FROM layers JOIN passes ON passes.trace_id = layers.trace_id "
            "AND passes.device = layers.device AND passes.pass_id = layers.pass_id)"
        )
        return self._of_pass(covered, trace, pass_id, order="rank, device, pass_id, layer_id")

    def kernels(self, trace: str, pass_id: Pass = None, layer: int | None = None) -> duckdb.DuckDBPyRelation:
        """Return device operations: of the whole trace, or of a layer, longest first."""
        if layer is None and pass_id is None:
            return self._of_trace("kernels", trace, order="start_ns, kernel_id")
        condition = "true" if layer is None else f"layer_id = {int(layer)}"
        order = "rank, device, pass_id, layer_id, hot_rank"
        return self._of_pass("layer_kernels", trace, pass_id, order=order, condition=condition)

    def layer_types(self, trace: str, pass_id: Pass = None) -> duckdb.DuckDBPyRelation:
        """Return the types of layers of one pass, or of every pass for "all", beside each other."""
        return self._of_pass("layer_types", trace, pass_id, order="rank, device, pass_id, layer_ids")

    def layer_diff(
        self, trace: str, pass_id: int, layer: int, other_pass: int, other_layer: int
    ) -> duckdb.DuckDBPyRelation:
        """Return the kernels of two layers of a trace beside each other; what only one of them runs comes first."""
        sides = ", ".join(str(int(number)) for number in (pass_id, layer, other_pass, other_layer))
        return self.sql(
            f"SELECT * FROM layer_diff({modules.quoted(self.locate(trace))}, {sides}) "
            "ORDER BY rank, device, list_position(['a', 'b', 'both'], side), abs(diff_us) DESC, a_us DESC, name"
        )

    @property
    def compat(self) -> Compat:
        """Other tools' figures, their errors included: to compare with those tools.

        Raises:
            UsageError: the folders with the replicas were taken out.
        """
        if (found := replicas.of("reports")) is None:
            raise UsageError("compat: this tracelake has no replicas of other tools' figures.")
        answer: Compat = found.Compat(self)
        return answer

    def perfetto(self, trace: str, pass_id: Pass = None, layers: Sequence[int] = ()) -> duckdb.DuckDBPyRelation:
        """Return where a pass and its layers, or some of them, are on Perfetto's time line."""
        chosen = ", ".join(str(int(layer)) for layer in layers)
        condition = f"(range = 'pass' OR layer_id IN ({chosen}))" if chosen else "true"
        order = "rank, device, pass_id, range <> 'pass', start_ns"
        return self._of_pass("perfetto_ranges", trace, pass_id, order=order, condition=condition)

    def write_perfetto(
        self, trace: str, path: str | os.PathLike[str], pass_id: int | None = None, layers: Sequence[int] = ()
    ) -> int:
        """Write a pass, or some of its layers, as a small Chrome trace and return the number of its events.

        Args:
            trace: the trace.
            path: the file; gzipped when its name ends in .gz.
            pass_id: the pass; the chosen one when none is named.
            layers: the layers; the whole pass with what surrounds its layers when none is named.

        Raises:
            UsageError: the trace has no such pass or layer.
            InputError: the file cannot be written.
        """
        from .reports.trace.chrome import write_chrome

        trace_id = self.locate(trace)
        one = self.chosen_pass(trace_id) if pass_id is None else pass_id
        if one is None or one not in self.pass_ids(trace):
            raise UsageError(f"{trace}: has no pass {'' if one is None else one}".rstrip() + ".")
        self.check_layers(trace, one, layers)
        return write_chrome(self, trace_id, Path(path), one, layers)

    def extract(
        self,
        trace: str,
        path: str | os.PathLike[str],
        *,
        pass_id: int | None = None,
        window: Literal["anchor", "extended", "monotonic", "whole"] | str = "extended",
        device: int | None = None,
        duplicates: bool = True,
        spreadsheet: bool = True,
    ) -> dict[str, Any]:
        """Cut a pass out of an Ascend table of kernels: its rows as CSV, and what they are as JSON beside it.

        Args:
            trace: the trace.
            path: the CSV file; the JSON has its name with the ending .json.
            pass_id: the pass, from 0; the chosen one when none is named. The window whole takes none.
            window: anchor, extended, monotonic or whole: see the relation pass_windows.
            device: the device; the first that has the pass when not given.
            duplicates: write rows that do not count, too.
            spreadsheet: keep text of the CSV file from running as a formula.

        Returns:
            What the JSON holds.

        Raises:
            UsageError: the trace is no table of kernels, or has no such pass or window.
            InputError: a file cannot be written.
        """
        from .reports.ascend.extract import WINDOWS, write_pass

        if window not in WINDOWS:
            raise UsageError(f"window={window}: unknown. Known: {', '.join(WINDOWS)}.")
        trace_id = self.locate(trace)
        if pass_id is None and window != "whole":
            pass_id = self.chosen_pass(trace_id)
        return write_pass(
            self, trace_id, Path(path), window=window, pass_id=pass_id, device=device, duplicates=duplicates,
            spreadsheet=spreadsheet,
        )  # fmt: skip

    def report(self, trace: str, output: str | os.PathLike[str] | None = None, pass_id: int | None = None) -> str:
        """Return what is known of a trace as Markdown, or as JSON for a file of that suffix; write it to the file.

        Raises:
            UsageError: the file's suffix is neither .md nor .json, or the trace has no such pass.
            InputError: the file cannot be written.
        """
        from .reports.output.files import check_target, checked_suffix, write_text
        from .reports.trace.report import as_text, build

        suffix = checked_suffix(output, "a report", {".md": "Markdown", ".json": "JSON"})
        if output is not None:
            check_target(output)
        trace_id = self.locate(trace)
        if pass_id is not None and pass_id not in (known := self.pass_ids(trace)):
            raise UsageError(f"{trace}: has no pass {pass_id}; it has {len(known)}.")
        one = self.chosen_pass(trace_id) if pass_id is None else pass_id
        text = as_text(build(self, trace_id, one), suffix)
        if output is not None:
            write_text(output, text)
        return text

    def doctor(self, trace: str | None = None) -> duckdb.DuckDBPyRelation:
        """Return what is noteworthy of one trace, or of all: a row per check that has something to say."""
        condition = f"trace_id = {modules.quoted(self.locate(trace))}" if trace else "true"
        return self.sql(
            "SELECT trace, health.* FROM health LEFT JOIN traces USING (trace_id) "
            f"WHERE {condition} AND severity <> 'ok' "
            "ORDER BY trace, list_position(['error', 'warning', 'info'], severity), \"check\""
        )

    def broken_invariants(self) -> list[tuple[str, int]]:
        """Return the laws that this lake breaks, each with the number of rows that break it. Empty when all hold.

        Laws are those of `sql/invariants`, and the keys of the relations whose rows are stored.
        """
        broken = []
        for entry in keys.keyed():
            if entry.materialised:
                [(rows,)] = self.rows(keys.breaches(entry))
                if rows:
                    broken.append((f"{entry.name} has one row for each {', '.join(entry.key)}.", rows))
        for entry in modules.modules():
            if entry.folder == "invariants":
                [(rows,)] = self.rows(f"SELECT count(*) FROM {entry.name}")
                if rows:
                    broken.append((entry.doc.splitlines()[0], rows))
        return broken

    def export(
        self, target: str | os.PathLike[str], format: str = "parquet", relations: Sequence[str] = ()
    ) -> list[tuple[str, int]]:
        """Write relations to files, or to one DuckDB database, and return the rows of each.

        Args:
            target: a folder for parquet and csv, a database file for duckdb.
            format: parquet, csv or duckdb.
            relations: which; every public one but `events` when none is named.

        Raises:
            UsageError: a relation or the format is unknown, or the target exists and is not what is needed.
        """
        names = export.checked(Path(target), format, relations)
        return export.export(self.unguarded.prepare(" ".join(names)), Path(target), format, names)

    def locate(self, trace: str) -> str:
        """Return the id of a trace given by name, id, or path; a file not yet in the lake is ingested first.

        Raises:
            UsageError: nothing is so named.
            InputError: the file cannot be ingested.
        """
        if not names_input(trace):
            return self.resolve(trace)
        path = Path(trace)
        what = input_of(path)
        files = [Path(file).stat() for file in what.files]
        known = self.rows(
            "SELECT trace_id FROM _catalog WHERE source_path = $1 AND source_bytes = $2 AND source_mtime_ns = $3",
            [
                redact(readable(path.absolute())),
                sum(file.st_size for file in files),
                max(file.st_mtime_ns for file in files),
            ],
        )
        if known:
            return str(known[0][0])
        result = self.ingest(path)[0]
        if isinstance(result, Failed):
            raise InputError(result.reason)
        return result.trace_id

    def chosen_pass(self, trace_id: str) -> int | None:
        """Return the pass that best stands for those of the model with most time, None when no pass was found."""
        [(chosen,)] = self.rows(
            "SELECT arg_min(pass_id, (NOT (chosen AND main_series), coalesce(direction, 'forward') <> 'forward', "
            "pass_id)) "
            "FROM passes WHERE trace_id = $1",
            [trace_id],
        )
        return None if chosen is None else int(chosen)

    def pass_ids(self, trace: str) -> list[int]:
        """Return the numbers of a trace's passes, empty when none was found."""
        found = self.passes(trace).select("pass_id").distinct().order("pass_id").fetchall()
        return [int(number) for (number,) in found]

    def check_layers(self, trace: str, pass_id: Pass, layers: Sequence[int]) -> None:
        """Check that a pass has these layers.

        Raises:
            UsageError: it has not.
        """
        known = {number for (number,) in self.layers(trace, pass_id).select("layer_id").distinct().fetchall()}
        for layer in layers:
            if layer not in known:
                raise UsageError(f"layer {layer}: the pass has layers {min(known)} to {max(known)}.")

    def anchor_candidates(self, trace: str) -> duckdb.DuckDBPyRelation:
        """Return kernels that mark the layers of a trace, or might, with the evidence; the best first."""
        return self._of_trace("anchor_candidates", trace, order="rank, device, score DESC, occurrences DESC, pattern")

    def _of_trace(self, relation: str, trace: str, *, order: str) -> duckdb.DuckDBPyRelation:
        trace_id = self.locate(trace)
        answer = self.sql(f"SELECT * FROM {relation} WHERE trace_id = {modules.quoted(trace_id)} ORDER BY {order}")
        self.check_answerable(trace_id, relation)
        return answer

    def _of_pass(
        self, relation: str, trace: str, pass_id: Pass, *, order: str, condition: str = "true"
    ) -> duckdb.DuckDBPyRelation:
        trace_id = self.locate(trace)
        if pass_id is None:
            pass_id = self.chosen_pass(trace_id)
        of_pass = f"pass_id = {pass_id}" if isinstance(pass_id, int) else "true"
        answer = self.sql(
            f"SELECT * FROM {relation} WHERE trace_id = {modules.quoted(trace_id)} AND {of_pass} AND {condition} "
            f"ORDER BY {order}"
        )
        self.check_answerable(trace_id, relation)
        return answer

    def _checked(self, settings: dict[str, Any]) -> dict[str, str | None]:
        checked = check_settings(settings)
        if hardware := checked.get("hardware"):
            checked["hardware"] = self.resolve_hardware(hardware)
        if profile := checked.get("profile"):
            known = [name for (name,) in self.rows("SELECT DISTINCT profile FROM profiles")]
            if profile not in known:
                raise UsageError(f"profile={profile}: unknown. Known: {', '.join(sorted(known))}.")
        return checked
