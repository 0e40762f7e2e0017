"""The command for Perfetto: lists where passes and layers are, writes a trace file, or opens it in the browser."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import listed, open_at, open_lake, output_options, print_rows, say
from .which_pass import find_one_pass, find_pass

if TYPE_CHECKING:
    from ..lake import Lake
    from ..reports.perfetto.files import Written


def _numbers(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...]:  # noqa: ARG001
    words = listed(value)
    if not all(word.isdecimal() for word in words):
        raise click.BadParameter("expected numbers separated by commas, as in 2,3.")
    return tuple(int(word) for word in words)


def _places(ctx: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, int]:  # noqa: ARG001
    found = {}
    for word in listed(value):
        kind, _, number = word.partition("=")
        if not number.isdecimal():
            raise click.BadParameter(f"{word}: expected a place and its number, as in layer=3 or pass=2,layer=3.")
        found[kind.strip()] = int(number)
    return found


@click.command()
@click.argument("trace")
@click.option(
    "--pass", "pass_", metavar="P", help="This pass alone; default: all, in a table and in Chrome's format one."
)
@click.option("--layers", metavar="L,L…", callback=_numbers, help="These layers of the pass alone, as in 2,3.")
@click.option("--at", metavar="WHAT=N", callback=_places, help="Look at a pass, layer, step, gap or kernel: layer=3.")
@click.option("--kernel", metavar="ID", type=click.IntRange(0), help="Look at an operation: a kernel_id of any table.")
@click.option("--ranks", is_flag=True, help="All ranks of the run side by side; TRACE is a run, or one of its traces.")
@click.option("--open", "open_", is_flag=True, help="Show it at ui.perfetto.dev in the browser, at the right range.")
@output_options(
    "perfetto",
    "chrome",
    output="Write it to this file; gzipped when it ends in .gz. In Chrome's format if .json.",
    by_ending=False,
)
@click.pass_obj
def perfetto(
    lake: Place | None, trace: str, pass_: str | None, layers: tuple[int, ...], at: dict[str, int],
    kernel: int | None, ranks: bool, open_: bool, format_: str, output: Path | None, limit: int,
) -> None:  # fmt: skip
    """Show a trace in Perfetto with its passes, layers, steps, idle time and findings, or write it to a file.

    The file has all of the trace, or of a pass or layers what overlaps them, with the calls that launched it. Each
    device has tracks for passes with their layers and halves, steps, idle time by cause, achieved TFLOP/s and GB/s,
    queue depths and streams; arrows lead from launches to operations. Times are those of the original. With --open
    Perfetto's page fetches it from 127.0.0.1:9001: nothing is uploaded. --at and --kernel say where the page opens; a
    layer or its kernel comes with its pass. --format chrome is a small trace of one pass with its device operations
    only, without the host's calls, and so without shapes, FLOP and modules if tracelake reads it. Without --open and
    -o, lists where passes and layers are.

    \b
    Examples:
      tracelake perfetto decode --at layer=3 -o layer.pftrace
      tracelake perfetto decode --layers 2,3 -o layers.json
    """
    wanted = at | ({} if kernel is None else {"kernel": kernel})
    if output is None and not open_:
        if wanted or ranks or format_ in ("perfetto", "chrome"):
            raise UsageError("this needs a file or a browser: add -o FILE or --open.")
        opened = open_at(lake, trace)
        chosen = find_pass(opened, trace, pass_)
        print_rows(opened, "perfetto_ranges", opened.perfetto(trace, chosen, layers), format_, None, limit)
        return
    from ..reports.perfetto.files import format_of

    if format_ not in ("table", "perfetto", "chrome"):
        raise UsageError(f"--format {format_}: a file is of perfetto or chrome. For a table, redirect stdout.")
    file_format = format_ if format_ != "table" else format_of(output or "")
    opened = _of_run(lake, trace) if ranks else open_at(lake, trace)
    needs_pass = file_format == "chrome" or ((layers or "layer" in wanted) and "pass" not in wanted)
    one = find_one_pass(opened, trace, pass_) if needs_pass or pass_ not in (None, "all") else wanted.get("pass")
    given: dict[str, Any] = {"layers": layers, "at": wanted, "ranks": ranks, "format": file_format}
    if not open_ and output is not None:
        _say(opened.write_perfetto(trace, output, one, **given), one)
        return
    from ..reports.perfetto import browser

    with browser.Served() as served, _file(output, trace, file_format) as path:
        written = opened.write_perfetto(trace, path, one, **given)
        _say(written, one)
        address = served.offer(written)
        if browser.browse(address):
            say(f"Perfetto fetches it from this machine; Ctrl-C ends that. The page: {address}")
        else:
            say(f"no browser here. Open this page where 127.0.0.1:{browser.PORT} is this machine: {address}")
        served.wait()


def _of_run(lake: Place | None, trace: str) -> Lake:
    """Open the lake for queries about all traces of a run."""
    from ..analysis.ranks import find_run
    from ..ingest.inputs import names_input

    opened = open_lake(lake, trace=trace if names_input(trace) else None)
    run, trace_id = find_run(opened.store, trace)
    members = opened.rows("SELECT trace_id FROM traces WHERE run = $1", [run])
    opened.store.focus(trace_id, *(member for (member,) in members))
    return opened


@contextlib.contextmanager
def _file(output: Path | None, trace: str, format_: str) -> Iterator[Path]:
    """Yield the file to write: the given one, else a temporary one that lasts while it is served."""
    from ..engine.storage.scratch import scratch_folder

    if output is not None:
        yield output
        return
    with scratch_folder() as folder:
        # A name may be a path, or longer than a file name may be.
        name = Path(trace).name.split(".")[0][:100] or "trace"
        yield folder / (name + (".json" if format_ == "chrome" else ".pftrace"))


def _say(written: Written, pass_id: int | None) -> None:
    """Report what was written."""
    of_pass = "" if pass_id is None else f" of pass {pass_id}"
    size = written.path.stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.1f} kB"
    say(f"{written.path}: {written.events} events{of_pass}, {shown}.")
    if written.unaligned:
        say(
            f"{', '.join(written.unaligned)}: no collective in common with the others tells how far its clock is "
            "apart; it is drawn to start with the first rank."
        )
