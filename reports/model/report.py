"""A model report from the request to the files: Markdown with charts beside it, or one HTML page, and its tables."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from ...analysis import studies, workloads
from ...analysis.models import study_remarks
from ...analysis.studies import PRINTED, SCHEMA
from ...analysis.workloads import Workload
from ...engine.errors import InputError
from ...engine.sql import guard
from ...engine.storage.table_types import for_parquet
from ...engine.store import Store
from ..output.files import check_target, checked_suffix, write_text
from .facts import find_facts
from .render import Report, as_html, as_markdown
from .sections import sections

_COPY = {"csv": "FORMAT csv, HEADER", "parquet": "FORMAT parquet, COMPRESSION zstd"}


@dataclass(frozen=True)
class ModelReport:
    """A report on a model's modelled cost.

    Attributes:
        text: the report, Markdown or HTML.
        faults: the reasons why its scenarios are impossible; empty if they are possible.
        remarks: what its costs omit from the model's config.json, and oddities of its chips' figures.
    """

    text: str
    faults: tuple[str, ...]
    remarks: tuple[str, ...] = ()


def model_report(
    store: Store,
    model: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    hardware: str | Sequence[str],
    formulas: str = "physical",
    executions: Sequence[str] = (),
    csv: str | os.PathLike[str] | None = None,
    parquet: str | os.PathLike[str] | None = None,
    **work: Any,
) -> ModelReport:
    """Return a report on a model's modelled cost, as Markdown or HTML; write it and its charts to a file.

    Its scenarios stay in the open lake as studies whose name begins with `report `, until the next report.

    Args:
        store: the lake.
        model: a name, or the path of a config.json.
        output: the file, .md or .html; charts of Markdown go beside it as SVG.
        hardware: chips; the first is the subject, the others are shown beside it.
        formulas: a set of formulas known to `analysis.formulas`.
        executions: execution profiles; figures use the last, the first is shown beside it as the base.
        csv: folder for the relations behind the tables, as CSV.
        parquet: the same as Parquet.
        work: batch, seq_len, kv_len, tp, ep, dp, pp, weight_dtype, activation_dtype, kv_dtype; see `Workload`.

    Raises:
        UsageError: the model, a chip, a profile or a type is unknown, or the file's suffix is neither.
        InputError: a file cannot be read or written.
    """
    suffix = checked_suffix(output, "a model report", {".md": "Markdown", ".html": "HTML"})
    if output is not None:
        check_target(output)
    workload = workloads.workload(store, model, hardware, formulas, executions, **work)
    connection = store.prepare(" ".join(studies.needs(workload)))
    workloads.check(connection, workload)
    studies.ask(connection, workload)
    studies.take(connection, workload)
    facts = find_facts(connection, workload)
    report = Report(
        f"Model Report: {facts['model_name']} on {facts['chip_name']}",
        f"Formulas: **{workload.formulas.name}**. Execution profile: **{workload.main}**. Made "
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC by tracelake.",
        tuple(sections(connection, workload, facts)),
    )
    for folder, format in ((csv, "csv"), (parquet, "parquet")):
        if folder is not None:
            write_tables(connection, workload, Path(folder), format)
    if suffix == ".html":
        text = as_html(report)
    else:
        target = Path(output) if output is not None else None
        text = as_markdown(report, _write_charts(report.charts, target) if target else {})
    if output is not None:
        write_text(output, text)
    hindrances = store.rows("SELECT words FROM report_facts WHERE fact = 'hindrances'")
    faults = tuple(reason for (reasons,) in hindrances for reason in reasons.split("; "))
    return ModelReport(text, faults, tuple(study_remarks(store, "report %")))


def write_tables(connection: duckdb.DuckDBPyConnection, work: Workload, folder: Path, format: str) -> list[Path]:
    """Write every relation of the report to a folder, a file for each; return the files.

    Args:
        connection: the lake's, with the report's relations ready.
        work: the subject of the report.
        folder: the folder to write to; created if missing.
        format: csv or parquet.

    Raises:
        InputError: a file cannot be written.
    """
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in (*PRINTED, "report_facts", "report_advice"):
            path = folder / f"{name}.{format}"
            source = f"{SCHEMA}.{name}"
            if name in ("report_facts", "report_advice"):
                source = work.formulas.relation(name)
            shown = connection.sql(f"FROM {source}")
            columns = for_parquet(zip(shown.columns, map(str, shown.types), strict=True))
            guard.write_query(connection, f"SELECT {columns} FROM {source} ORDER BY ALL", path, _COPY[format])
            written.append(path)
    except (OSError, duckdb.IOException) as error:
        raise InputError(f"{folder}: cannot be written: {error}") from error
    return written


def _write_charts(drawn: Iterable[Any], target: Path) -> dict[str, str]:
    """Write charts beside a report; return the name of each one's file."""
    files = {}
    for chart in drawn:
        name = f"{target.stem}_{re.sub(r'[^a-z0-9_]+', '_', chart.name.lower())}.svg"
        write_text(target.with_name(name), chart.svg())
        files[chart.name] = name
    return files
