"""The command line: each command parses its arguments, calls the method of the same name, and prints the result."""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

import click

from .commands import common, failures, interrupts, line
from .commands.late import Commands
from .engine.storage.paths import Place
from .version import __version__

#: The commands in the order of the help, and the module of each.
_COMMANDS = {
    "ingest": "traces.ingest", "traces": "traces.traces", "set": "traces.set_", "remove": "traces.remove",
    "sql": "questions.sql", "schema": "questions.schema", "passes": "layers.passes", "layers": "layers.layers",
    "kernels": "layers.kernels", "summary": "summary.summary", "compare": "compare.compare", "check": "check.check",
    "ranks": "ranks.ranks", "history": "history.history", "perfetto": "perfetto.perfetto", "report": "reports.report",
    "extract": "extract.extract", "shapes": "simulators.shapes", "align": "simulators.align", "model": "models.model",
    "hardware": "models.hardware", "lookup": "lookup.lookup", "doctor": "questions.doctor",
    "export": "questions.export", "mcp": "mcp.mcp", "compute": "upkeep.compute", "compact": "upkeep.compact",
    "migrate": "upkeep.migrate",
}  # fmt: skip


class _Group(click.Group):
    """Lists commands in the order of definition, not alphabetically."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Accept --lake, --color, --format and --json anywhere on the line."""
        return super().parse_args(ctx, line.arranged(args))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Treat a trace in the place of a command as the argument of `summary`."""
        word = args[0]
        if self.get_command(ctx, word) is None and not (word.startswith("-") or ctx.resilient_parsing):
            if not line.is_trace(ctx.params.get("lake"), word):
                raise line.unknown(word, list(self.commands))
            args = ["summary", *args]
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> object:
        """Run the command. A closed pipe, as by `head`, is not an error; click would exit with 1."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise click.exceptions.Exit(0) from None
        return result


@click.group(cls=_Group, commands=Commands(_COMMANDS), context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--lake", envvar="TRACELAKE_LAKE", type=common.LAKE, help="The lake's folder, or s3://, gs://, az://.")
@common.color_option
@click.version_option(__version__, prog_name="tracelake")
@click.pass_context
def cli(ctx: click.Context, lake: Place | None) -> None:
    """Profiler traces of LLM training and serving as Parquet tables, and the SQL that explains them.

    `tracelake TRACE` is short for `tracelake summary TRACE`, --json for --format json; --lake and --format may stand
    anywhere on the line.

    The lake is the place named by --lake or TRACELAKE_LAKE, else ./tracelake. Where a command takes a TRACE, it
    takes a trace's name, its id or the beginning of one, or the path of a file; a file that is not in the lake is
    ingested first, into a cache when there is no lake. A query uses all cores, or TRACELAKE_THREADS of them.

    \b
    Examples:
      tracelake demo
      tracelake layers trace.json.gz --help
    """
    ctx.obj = lake


@cli.command()
@click.option("--keep", type=click.Path(path_type=Path), help="Store the demo's traces and lake in this folder.")
def demo(keep: Path | None) -> None:
    """Make a trace of a six-layer model, and a broken copy of it; ingest both and look at them.

    \b
    Examples:
      tracelake demo
      tracelake demo --keep playground
    """
    from .demo import run

    run(keep)


def _answer() -> None:
    """Run the command; run it again if it failed on a damaged file of the lake before any output."""
    while True:
        try:
            cli(standalone_mode=False)
        except Exception as error:
            if failures.is_of_a_query(error) and common.recovered(error):
                continue
            raise
        finally:
            common.close_lakes()
        return


def main() -> None:
    """Run the command line; errors are printed as one line, without a traceback."""
    # Modules and parsed SQL are never garbage; with default thresholds, scanning them takes a tenth of a small query.
    gc.set_threshold(50_000, 20, 50)
    failures.prepare()
    with interrupts.watched():
        try:
            _answer()
        except BaseException as error:
            if isinstance(error, SystemExit):
                raise
            raise SystemExit(failures.exit_code(error)) from None
