"""Commands for your own queries, and for export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ..engine.errors import UsageError
from ..engine.sql.guard import refusals
from ..engine.storage.paths import Place, readable
from .common import format_options, open_at, open_lake, render_rows, say


@click.command()
@click.argument("query", required=False)
@click.option("-f", "--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="File with the query.")
@click.option("--unsafe", is_flag=True, help="Allow all of DuckDB: any file, COPY, ATTACH, settings, extensions.")
@format_options
@click.pass_obj
def sql(
    lake: Place | None,
    query: str | None,
    file: Path | None,
    unsafe: bool,
    format_: str,
    output: Path | None,
    limit: int,
) -> None:
    """Run an SQL query over all traces in the lake. `tracelake schema` lists the relations.

    A query reads the lake and nothing else, unless --unsafe is given; -o writes its result to a file.

    \b
    Examples:
      tracelake sql "SELECT trace, count(*) AS kernels FROM kernels JOIN traces USING (trace_id) GROUP BY trace"
      tracelake sql -f question.sql --format parquet -o answer.parquet
    """
    if (query is None) == (file is None):
        raise UsageError('give a query, or a file with -f: tracelake sql "SELECT …"')
    text = query if query is not None else file.read_text(encoding="utf-8") if file else ""
    if text != readable(text):
        raise UsageError("the query is not UTF-8.")
    if not text.strip(" \t\r\n;"):
        raise UsageError('the query is empty: tracelake sql "SELECT …"')
    answer = open_lake(lake, unsafe=unsafe).sql(text)
    # With --unsafe, a statement may have no result.
    if answer is not None:
        with refusals():
            render_rows(answer, format_, output, limit)


@click.command()
@click.argument("relation", required=False)
@click.option("--tree", is_flag=True, help="Show the relations it depends on instead.")
@click.option("-g", "--grep", "word", metavar="WORD", help="Search names, columns and their sentences for a word.")
@click.option("--all", "everything", is_flag=True, help="List all relations instead of the ten to know.")
@click.pass_obj
def schema(lake: Place | None, relation: str | None, tree: bool, word: str | None, everything: bool) -> None:  # noqa: ARG001
    """List the relations to know; for one, show what a row is, its key, its columns and its SQL.

    \b
    Examples:
      tracelake schema
      tracelake schema layers
      tracelake schema -g bandwidth
    """
    from ..reports.output import schema as pages

    if tree and relation is None:
        raise UsageError("--tree needs the name of a relation.")
    if (relation is not None) + (word is not None) + everything > 1:
        raise UsageError("a relation, --grep and --all exclude each other: give one.")
    if relation is not None:
        click.echo(pages.tree(relation) if tree else pages.describe(relation))
        return
    found = pages.matches(word) if word is not None else pages.overview() if everything else pages.to_know()
    click.echo("\n".join(pages.fitted(found)))


@click.command()
@click.argument("trace", required=False)
@format_options
@click.pass_obj
def doctor(lake: Place | None, trace: str | None, format_: str, output: Path | None, limit: int) -> None:
    """Check one trace and its invariants, or all traces and the lake's files.

    Exits with 1 if a check finds an error, an invariant is violated, or, where
    no trace is given, a file is not what the lake's tables and catalog name.

    \b
    Examples:
      tracelake doctor
      tracelake doctor decode.json.gz
    """
    opened = open_at(lake, trace) if trace else open_lake(lake)
    faults = [] if trace else opened.file_faults()
    answer = opened.doctor(trace)
    if format_ == "table" and output is None and not answer.limit(1).fetchall():
        say("nothing noteworthy.")
    else:
        render_rows(answer, format_, output, limit)
    broken = opened.broken_invariants(trace)
    for law, rows in broken:
        say(f"violated: {law} ({rows} rows)")
    for fault in faults:
        say(f"damaged: {fault}")
    if broken or faults or answer.filter("severity = 'error'").fetchall():
        raise SystemExit(1)


#: Endings of files that people expect of -o, as other commands write them.
_FILES = {".csv", ".json", ".jsonl", ".md", ".parquet"}
#: Endings of files that no command writes.
_OTHER_FILES = {
    ".arrow", ".avro", ".feather", ".html", ".ndjson", ".orc", ".sqlite", ".tsv", ".txt", ".xls", ".xlsx", ".zip",
}  # fmt: skip


class _Target(click.Path):
    """A folder, a file, or the address of a PostgreSQL server."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from ..reports.export.postgres import is_postgres

        return value if is_postgres(value) else super().convert(value, param, ctx)


@click.command()
@click.argument("relations", nargs=-1)
@click.option(
    "-o", "--output", required=True, type=_Target(path_type=Path),
    help="Folder, file of the database, or with --star a PostgreSQL server: postgresql://USER@HOST/DATABASE.",
)  # fmt: skip
@click.option(
    "--format", "format_", type=click.Choice(["parquet", "csv", "duckdb", "delta"]),
    help="Default: duckdb where the output's name ends in .duckdb or .db, else parquet. delta: Delta tables.",
)  # fmt: skip
@click.option("--star", is_flag=True, help="Write a star schema instead: facts and dimensions with integer keys.")
@click.option(
    "--schema", default="tracelake", show_default=True, metavar="NAME",
    help="Schema in PostgreSQL; the star's tables in it are replaced, all at once.",
)  # fmt: skip
@click.pass_obj
def export(
    lake: Place | None, relations: tuple[str, ...], output: Path | str, format_: str | None, star: bool, schema: str
) -> None:
    """Write relations for other tools: the given ones, default: every public one but `events` and those of the star.

    A star schema is what BI tools expect: a few wide tables of facts, and dimensions that they refer to. Databases
    declare its keys, and all formats but CSV carry what each table and column means. A password for PostgreSQL belongs
    into PGPASSWORD or ~/.pgpass, where no other user of the machine sees it.

    \b
    Examples:
      tracelake export traces layers layer_kernels -o tables
      tracelake export layers kernels -o layers.duckdb
      tracelake export --star -o star.duckdb
    """
    from ..reports.output.progress import CountProgress

    if isinstance(output, str) and format_:
        raise UsageError(f"--format {format_}: a PostgreSQL server has its own.")
    is_file = isinstance(output, Path) and output.suffix.lower() in _FILES | _OTHER_FILES
    if isinstance(output, Path) and is_file and format_ != "duckdb" and not output.is_dir():
        as_csv = " --format csv" * (output.suffix.lower() == ".csv")
        advice = f"Give a folder: -o {output.with_suffix('')}{as_csv}"
        if not star and len(relations) < 2:
            file = output if output.suffix in _FILES else output.with_suffix(".csv")
            advice += f"; or for one relation: `tracelake sql 'FROM {(*relations, 'layers')[0]}' -o {file}`"
        raise UsageError(f"{output}: export writes a folder with a file per relation. {advice}.")
    opened = open_lake(lake)
    with CountProgress("relations") as done:
        written = opened.export(output, format_, relations, star=star, schema=schema, done=done)
    for relation, rows in written:
        say(f"{relation}: {rows} rows")
