"""The command line: each command parses its words, calls the method of its name, and prints what that returns."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .engine.errors import TracelakeError, UsageError
from .version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

    from .lake import Lake, Pass

_FORMATS = ("table", "csv", "json", "jsonl", "parquet", "markdown")
_EXAMPLES = "\b\nExamples:\n"


class _Group(click.Group):
    """Commands in the order in which one meets them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)


def _format_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option("--limit", default=200, show_default=True, help="Rows shown of a table; 0 for all.")(command)
    command = click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file.")(
        command
    )
    return click.option(
        "--format",
        "format_",
        type=click.Choice(_FORMATS),
        default="table",
        show_default=True,
        help="Format of the answer.",
    )(command)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--lake", envvar="TRACELAKE_LAKE", type=click.Path(path_type=Path), help="The lake's folder.")
@click.version_option(__version__, prog_name="tracelake")
@click.pass_context
def cli(ctx: click.Context, lake: Path | None) -> None:
    """Profiler traces of LLM training and serving as Parquet tables, and the SQL that explains them.

    The lake is the folder named by --lake or TRACELAKE_LAKE, else ./tracelake. Where a command takes a TRACE, it
    takes a trace's name, its id or the beginning of one, or the path of a file; a file that is not in the lake is
    ingested first, into a cache when there is no lake.

    \b
    Examples:
      tracelake demo
      tracelake layers trace.json.gz --help
    """
    ctx.obj = lake


@cli.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--run", help="The run the traces belong to.")
@click.option("--rank", type=click.IntRange(0), help="Rank in the job, where the file does not say.")
@click.option("--model", help="Model name, or the path of its config.json.")
@click.option("--profile", help="Profile that finds the layers; see the table `profiles`.")
@click.option("--anchor", help="Regular expression for the kernel that marks layers.")
@click.option("--anchor-role", type=click.Choice(["begin", "inside", "end"]), help="Where in its block the anchor is.")
@click.option("--num-layers", type=click.IntRange(1), help="Layers of the model.")
@click.option("--hardware", help="Key of the table `hardware`, where the file does not say.")
@click.option("--tp", type=click.IntRange(1), help="Degree of tensor parallelism.")
@click.option("--ep", type=click.IntRange(1), help="Degree of expert parallelism.")
@click.option("--dp", type=click.IntRange(1), help="Degree of data parallelism.")
@click.option("--pp", type=click.IntRange(1), help="Degree of pipeline parallelism.")
@click.option("--name", help="Name of the trace; the file's, when not given.")
@click.option("--set", "tags", multiple=True, metavar="KEY=VALUE", help="Any other setting or tag.")
@click.option("--jobs", type=click.IntRange(1), help="Files read at once.")
@click.pass_obj
def ingest(
    lake: Path | None, /, paths: tuple[str, ...], name: str | None, tags: tuple[str, ...], jobs: int | None, **said: Any
) -> None:
    """Read trace files, or folders of them, into the lake. `-` is standard input.

    Chrome traces of the PyTorch profiler (Kineto), of JAX and of Ascend, plain, gzip or Zstandard. A file whose
    content is in the lake already is not read into it again; what is said of it here is remembered all the same.

    \b
    Examples:
      tracelake ingest rank*.json.gz --run nightly --model config.json
      tracelake ingest decode.json.gz --anchor Rmsnorm2dFwd --num-layers 24
    """
    from .ingest.batch import Failed
    from .reports.progress import FileProgress

    opened = _open(lake, create=True)
    said |= _pairs(tags)
    with FileProgress() as progress:
        results = opened.ingest(*paths, progress=progress, jobs=jobs, trace=name, **said)
    failed = [result for result in results if isinstance(result, Failed)]
    for result in results:
        if isinstance(result, Failed):
            _say(result.reason)
        else:
            _say_ingested(result)
    if len(results) > 1:
        new = sum(1 for result in results if not isinstance(result, Failed) and result.new)
        _say(
            f"{len(results)} files: {new} new, {len(results) - new - len(failed)} known already, {len(failed)} failed."
        )
    if failed:
        raise SystemExit(3)


@cli.command()
@_format_options
@click.pass_obj
def traces(lake: Path | None, format_: str, output: Path | None, limit: int) -> None:
    """List the traces in the lake.

    \b
    Examples:
      tracelake traces
      tracelake traces --format csv -o traces.csv
    """
    _print("traces", _open(lake).traces(), format_, output, limit)


@cli.command("set")
@click.argument("trace")
@click.argument("settings", nargs=-1, required=True, metavar="KEY=VALUE…")
@click.pass_obj
def set_(lake: Path | None, trace: str, settings: tuple[str, ...]) -> None:
    """Say something of a trace: run, rank, model, profile, anchor, num_layers, hardware, tp, ep, dp, pp, or any tag.

    An empty value takes a word back.

    \b
    Examples:
      tracelake set decode num_layers=36 hardware=mi300x
      tracelake set decode anchor= build=2026-11-20
    """
    _open(lake).set(trace, **_pairs(settings))


@cli.command()
@click.argument("traces_", nargs=-1, required=True, metavar="TRACE…")
@click.pass_obj
def remove(lake: Path | None, traces_: tuple[str, ...]) -> None:
    """Remove traces from the lake. The files they were read from are not touched.

    \b
    Examples:
      tracelake remove decode
      tracelake remove 9b02 7cf3
    """
    opened = _open(lake)
    for trace in traces_:
        _say(f"removed {opened.remove(trace)}")


@cli.command()
@click.argument("query", required=False)
@click.option("-f", "--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Read the query.")
@_format_options
@click.pass_obj
def sql(lake: Path | None, query: str | None, file: Path | None, format_: str, output: Path | None, limit: int) -> None:
    """Answer an SQL question over all traces in the lake. `tracelake schema` lists the relations.

    \b
    Examples:
      tracelake sql "SELECT trace, count(*) AS kernels FROM kernels JOIN traces USING (trace_id) GROUP BY trace"
      tracelake sql -f question.sql --format parquet -o answer.parquet
    """
    if (query is None) == (file is None):
        raise UsageError('give a query, or a file with -f: tracelake sql "SELECT …"')
    text = query if query is not None else file.read_text(encoding="utf-8") if file else ""
    answer = _open(lake).sql(text)
    if answer is not None:
        _render(answer, format_, output, limit)


@cli.command()
@click.argument("relation", required=False)
@click.pass_obj
def schema(lake: Path | None, relation: str | None) -> None:  # noqa: ARG001
    """List the relations; of one, say what a row is, what every column means, and show its SQL.

    \b
    Examples:
      tracelake schema
      tracelake schema layers
    """
    from .reports.schema import describe, overview

    click.echo(describe(relation) if relation else overview())


@cli.command()
@click.argument("trace")
@_format_options
@click.pass_obj
def passes(lake: Path | None, trace: str, format_: str, output: Path | None, limit: int) -> None:
    """List the forward passes of a trace.

    \b
    Examples:
      tracelake passes decode
      tracelake passes decode.json.gz --format json
    """
    opened = _open(lake, trace=trace)
    _found_passes(opened, trace)
    _print("passes", opened.passes(trace), format_, output, limit)


@cli.command()
@click.argument("trace")
@click.option("--pass", "pass_", metavar="P", help="Pass to show, or all; the chosen one, when not given.")
@_format_options
@click.pass_obj
def layers(lake: Path | None, trace: str, pass_: str | None, format_: str, output: Path | None, limit: int) -> None:
    """List the layers of a pass, with their time.

    \b
    Examples:
      tracelake layers decode
      tracelake layers decode.json.gz --pass all --format csv
    """
    opened = _open(lake, trace=trace)
    chosen = _found_passes(opened, trace, pass_)
    _print("layers", opened.layers(trace, chosen), format_, output, limit)


@cli.command()
@click.argument("trace")
@click.option("--pass", "pass_", metavar="P", help="Pass to show, or all; with --layer the chosen one, when not given.")
@click.option("--layer", type=click.IntRange(0), help="Layer to show.")
@_format_options
@click.pass_obj
def kernels(
    lake: Path | None, trace: str, pass_: str | None, layer: int | None, format_: str, output: Path | None, limit: int
) -> None:
    """List the kernels of a layer, longest first; without --layer and --pass, all device operations in time order.

    \b
    Examples:
      tracelake kernels decode --layer 2
      tracelake kernels decode --format parquet -o kernels.parquet
    """
    opened = _open(lake, trace=trace)
    if layer is None and pass_ is None:
        _print("kernels", opened.kernels(trace), format_, output, limit)
        return
    chosen = _found_passes(opened, trace, pass_)
    _print("layer_kernels", opened.kernels(trace, chosen, layer), format_, output, limit)


@cli.command()
@click.argument("trace", required=False)
@_format_options
@click.pass_obj
def doctor(lake: Path | None, trace: str | None, format_: str, output: Path | None, limit: int) -> None:
    """Say what is noteworthy of a trace, or of all, and check that the lake keeps its own laws.

    Ends with 1 when a check finds an error or a law is broken.

    \b
    Examples:
      tracelake doctor
      tracelake doctor decode.json.gz
    """
    opened = _open(lake, trace=trace)
    answer = opened.doctor(trace)
    if format_ == "table" and output is None and not answer.limit(1).fetchall():
        _say("nothing noteworthy.")
    else:
        _render(answer, format_, output, limit)
    broken = opened.broken_invariants()
    for law, rows in broken:
        _say(f"broken: {law} ({rows} rows)")
    if broken or answer.filter("severity = 'error'").fetchall():
        raise SystemExit(1)


@cli.command()
@click.argument("relations", nargs=-1)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder, or the database's file.")
@click.option(
    "--format", "format_", type=click.Choice(["parquet", "csv", "duckdb"]), default="parquet", show_default=True
)
@click.pass_obj
def export(lake: Path | None, relations: tuple[str, ...], output: Path, format_: str) -> None:
    """Write relations for other tools: every public one but `events`, or those named.

    \b
    Examples:
      tracelake export -o tables
      tracelake export layers kernels --format duckdb -o layers.duckdb
    """
    for relation, rows in _open(lake).export(output, format_, relations):
        _say(f"{relation}: {rows} rows")


@cli.command()
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the demo's traces and lake in this folder.")
def demo(keep: Path | None) -> None:
    """Make a trace of a five-layer-type model, and a broken copy of it; ingest both and look at them.

    \b
    Examples:
      tracelake demo
      tracelake demo --keep playground
    """
    from .demo import run

    run(keep)


def main() -> None:
    """Run the command line; errors are told in a line, without a traceback."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as done:
        raise SystemExit(done.exit_code) from None
    except click.Abort:
        raise SystemExit(130) from None
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    except TracelakeError as error:
        _say(str(error))
        raise SystemExit(error.exit_code) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:
        # The reader of our output has gone, as `head` does; nothing is wrong.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except Exception as error:
        if os.environ.get("TRACELAKE_DEBUG"):
            raise
        _say(f"{type(error).__name__}: {error}\n  This should not happen. TRACELAKE_DEBUG=1 shows where it did.")
        raise SystemExit(1) from None


def _say(text: str) -> None:
    click.echo(f"tracelake: {text}", err=True)


def _open(lake: Path | None, *, create: bool = False, trace: str | None = None) -> Lake:
    """Open the lake that was named; without one the default, or for the path of a trace a cache."""
    from .lake import Lake

    if lake is not None:
        return Lake(lake, create=create or (trace is not None and Path(trace).is_file()))
    default = Path("tracelake")
    if not create and trace is not None and Path(trace).is_file() and not (default / "lake.json").is_file():
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tracelake" / "lake"
        return Lake(cache)
    return Lake(default, create=create)


def _pairs(settings: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"{setting}: expected KEY=VALUE, as in num_layers=36.")
        pairs[key.strip()] = value.strip()
    return pairs


def _found_passes(opened: Lake, trace: str, wanted: str | None = None) -> Pass:
    """Return the pass to show; end with 1, saying what to do, where no passes were found."""
    known = [row[0] for row in opened.passes(trace).select("pass_id").distinct().order("pass_id").fetchall()]
    if not known:
        _say(
            f"{trace}: no passes found: no anchor kernel marks its layers.\n"
            "  Name one: tracelake set TRACE anchor=REGEX num_layers=N. `tracelake doctor TRACE` says more."
        )
        raise SystemExit(1)
    if wanted is None:
        chosen = opened.chosen_pass(opened.locate(trace))
        if len(known) > 1:
            _say(f"pass {chosen} of {len(known)}, the chosen one; --pass P or --pass all for others.")
        return chosen
    if wanted == "all":
        return "all"
    if not wanted.isdecimal() or int(wanted) not in known:
        raise UsageError(f"--pass {wanted}: the trace has passes {known[0]} to {known[-1]}, or say all.")
    return int(wanted)


def _say_ingested(result: Any) -> None:
    about = f"{result.events} events"
    if result.rejected:
        about += f", {result.rejected} rejected"
    if result.repaired:
        about += f", {result.repaired} mended"
    if result.unmatched:
        about += f", {result.unmatched} begin or end events alone"
    if result.truncated:
        about += ", truncated"
    if result.reason:
        about += f" ({result.reason})"
    _say(f"{result.source}: {result.trace} ({result.trace_id}): {about if result.new else 'in the lake already'}")


def _print(name: str, answer: duckdb.DuckDBPyRelation, format_: str, output: Path | None, limit: int) -> None:
    from .reports.questions import for_people

    _render(for_people(name, answer) if format_ in ("table", "markdown") else answer, format_, output, limit)


def _render(answer: duckdb.DuckDBPyRelation, format_: str, output: Path | None, limit: int) -> None:
    from .reports.render import render

    render(answer, format_, output, limit=limit)
