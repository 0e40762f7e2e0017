"""Commands that ingest, list, configure and remove traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine.storage.paths import Place
from .common import RANKS, format_options, open_lake, pairs, print_rows, ray_options, say

if TYPE_CHECKING:
    from ..lake import Lake


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--run", help="The run the traces belong to.")
@click.option("--rank", type=click.IntRange(0), help="Rank in the job, if the file has none.")
@click.option("--model", help="Model name, or the path of its config.json.")
@click.option("--profile", help="Profile that finds the layers; see the table `profiles`.")
@click.option("--anchor", help="Regular expression for the kernel that marks layers.")
@click.option("--anchor-role", type=click.Choice(["begin", "inside", "end"]), help="Where in its block the anchor is.")
@click.option("--num-layers", type=click.IntRange(1), help="Layers of the model.")
@click.option("--hardware", help="Key of the table `hardware`, if the file has none.")
@click.option("--tp", type=RANKS, help="Degree of tensor parallelism.")
@click.option("--ep", type=RANKS, help="Degree of expert parallelism.")
@click.option("--dp", type=RANKS, help="Degree of data parallelism.")
@click.option("--pp", type=RANKS, help="Degree of pipeline parallelism.")
@click.option("--dedup", metavar="tracelake|compat|none", help="Which of an Ascend collective's rows count.")
@click.option("--name", help="Name of the trace; default: from the file's name.")
@click.option("--set", "tags", multiple=True, metavar="KEY=VALUE", help="Any other setting or tag.")
@click.option("--jobs", type=click.IntRange(1), help="Files read at once; with --ray, tasks.")
@click.option("--events-only", is_flag=True, help="Leave the answers to `tracelake compute`.")
@ray_options
@click.pass_obj
def ingest(
    lake: Place | None,
    /,
    paths: tuple[str, ...],
    name: str | None,
    tags: tuple[str, ...],
    jobs: int | None,
    events_only: bool,
    ray: str | None,
    ray_options: tuple[str, ...],
    **settings: Any,
) -> None:
    """Read trace files, or folders of them, into the lake, and compute their answers. `-` is standard input.

    Chrome traces of the PyTorch profiler (Kineto), of JAX and of Ascend, and XSpace files (.xplane.pb), plain, gzip
    or Zstandard; exports of Nsight Systems (SQLite or folders of tables), databases of rocprofiler-sdk and msprof. A
    file whose content is in the lake already is not read again; settings given here are stored anyway. Run, rank, phase
    and parallelism are taken from names of files and folders where the files do not say them.

    \b
    Examples:
      tracelake ingest rank*.json.gz --run nightly --model config.json
      tracelake ingest decode.json.gz --anchor Rmsnorm2dFwd --num-layers 24
      tracelake ingest traces/ --ray auto --ray-option num_cpus=4
    """
    from ..ingest.batch import Failed
    from ..reports.output.progress import FileProgress

    opened = open_lake(lake, create=True)
    settings = {"trace": name} | settings | pairs(tags)
    with FileProgress() as progress:
        results = opened.ingest(
            *paths, progress=progress, jobs=jobs, events_only=events_only, ray=ray, ray_options=pairs(ray_options),
            **settings,
        )  # fmt: skip
    failed = [result for result in results if isinstance(result, Failed)]
    read = [result.trace_id for result in results if not isinstance(result, Failed)]
    for result in results:
        if isinstance(result, Failed):
            say(result.reason)
        else:
            _say_ingested(result)
    if len(results) > 1:
        new = sum(1 for result in results if not isinstance(result, Failed) and result.new)
        say(f"{len(results)} files: {new} new, {len(results) - new - len(failed)} known already, {len(failed)} failed.")
    if settings.get("model") and read:
        _say_of_model(opened, *read)
    if failed:
        raise SystemExit(3)


@click.command()
@format_options
@click.pass_obj
def traces(lake: Place | None, format_: str, output: Path | None, limit: int) -> None:
    """List the traces in the lake.

    \b
    Examples:
      tracelake traces
      tracelake traces --format csv -o traces.csv
    """
    opened = open_lake(lake)
    print_rows(opened, "traces", opened.traces(), format_, output, limit)


@click.command("set")
@click.argument("trace")
@click.argument("settings", nargs=-1, required=True, metavar="KEY=VALUE…")
@click.pass_obj
def set_(lake: Place | None, trace: str, settings: tuple[str, ...]) -> None:
    """Set properties of a trace: run, rank, model, profile, anchor, num_layers, hardware, tp, ep, dp, pp, or any tag.

    An empty value removes a setting; trace is the trace's name. For Ascend, dedup sets which of several rows of one
    collective count: tracelake (the default: paired by role, kind and time), compat (the rule of published figures) or
    none (all count).

    \b
    Examples:
      tracelake set decode num_layers=36 hardware=mi300x
      tracelake set decode anchor= build=2026-11-20
      tracelake set decode dedup=compat
    """
    opened = open_lake(lake, trace=trace)
    given = pairs(settings)
    opened.set(trace, **given)
    if given.get("model"):
        _say_of_model(opened, opened.locate(trace))


@click.command()
@click.argument("traces_", nargs=-1, required=True, metavar="TRACE…")
@click.pass_obj
def remove(lake: Place | None, traces_: tuple[str, ...]) -> None:
    """Remove traces from the lake. The files they were read from are not touched.

    \b
    Examples:
      tracelake remove decode
      tracelake remove 9b02 7cf3
    """
    opened = open_lake(lake)
    for trace in traces_:
        say(f"removed {opened.remove(trace)}")


def _say_of_model(opened: Lake, *trace_ids: str) -> None:
    """Warn if the dimensions of the traces' model are unknown, or do not fit the traces."""
    from ..analysis.model_traces import model_fault

    fault = model_fault(opened.store, trace_ids[0])
    if fault:
        lost = "model validate, model measured, FLOP without shapes"
        say(f"{fault}; stored, but what needs its dimensions is unavailable: {lost}.")
        return
    for trace_id in trace_ids:
        for line in opened.model_doubts(trace_id):
            say(f"{trace_id}: {line}")


def _say_ingested(result: Any) -> None:
    about = f"{result.events} events"
    if result.rejected:
        about += f", {result.rejected} rejected"
    if result.repaired:
        about += f", {result.repaired} repaired"
    if result.skipped:
        about += f", {result.skipped} bytes skipped"
    if result.redacted:
        about += f", {result.redacted} credentials redacted"
    if result.unmatched:
        about += f", {result.unmatched} unpaired begin or end events"
    if result.truncated:
        about += ", truncated"
    if result.reason:
        about += f" ({result.reason})"
    if result.places:
        about += f"; {result.places}"
    if not result.new:
        about = f"in the lake already; {result.places}" if result.places else "in the lake already"
    say(f"{result.source}: {result.trace} ({result.trace_id}): {about}")
