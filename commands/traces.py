"""Commands that put traces into the lake, list them, and say things of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..engine.errors import UsageError
from .common import RANKS, format_options, open_lake, print_rows, say

if TYPE_CHECKING:
    from ..lake import Lake


@click.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--run", help="The run the traces belong to.")
@click.option("--rank", type=click.IntRange(0), help="Rank in the job, where the file does not say.")
@click.option("--model", help="Model name, or the path of its config.json.")
@click.option("--profile", help="Profile that finds the layers; see the table `profiles`.")
@click.option("--anchor", help="Regular expression for the kernel that marks layers.")
@click.option("--anchor-role", type=click.Choice(["begin", "inside", "end"]), help="Where in its block the anchor is.")
@click.option("--num-layers", type=click.IntRange(1), help="Layers of the model.")
@click.option("--hardware", help="Key of the table `hardware`, where the file does not say.")
@click.option("--tp", type=RANKS, help="Degree of tensor parallelism.")
@click.option("--ep", type=RANKS, help="Degree of expert parallelism.")
@click.option("--dp", type=RANKS, help="Degree of data parallelism.")
@click.option("--pp", type=RANKS, help="Degree of pipeline parallelism.")
@click.option(
    "--dedup", type=click.Choice(["tracelake", "seed", "none"]), help="Which of an Ascend collective's rows count."
)
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
    from ..ingest.batch import Failed
    from ..reports.progress import FileProgress

    opened = open_lake(lake, create=True)
    said |= _pairs(tags)
    with FileProgress() as progress:
        results = opened.ingest(*paths, progress=progress, jobs=jobs, trace=name, **said)
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
    if said.get("model") and read:
        _say_of_model(opened, *read)
    if failed:
        raise SystemExit(3)


@click.command()
@format_options
@click.pass_obj
def traces(lake: Path | None, format_: str, output: Path | None, limit: int) -> None:
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
def set_(lake: Path | None, trace: str, settings: tuple[str, ...]) -> None:
    """Say something of a trace: run, rank, model, profile, anchor, num_layers, hardware, tp, ep, dp, pp, or any tag.

    An empty value takes a word back. For Ascend, dedup says which of several rows of one collective count: tracelake
    (the default: paired by role, kind and time), seed (the rule of published figures) or none (all count).

    \b
    Examples:
      tracelake set decode num_layers=36 hardware=mi300x
      tracelake set decode anchor= build=2026-11-20
      tracelake set decode dedup=seed
    """
    opened = open_lake(lake, trace=trace)
    said = _pairs(settings)
    opened.set(trace, **said)
    if said.get("model"):
        _say_of_model(opened, opened.locate(trace))


@click.command()
@click.argument("traces_", nargs=-1, required=True, metavar="TRACE…")
@click.pass_obj
def remove(lake: Path | None, traces_: tuple[str, ...]) -> None:
    """Remove traces from the lake. The files they were read from are not touched.

    \b
    Examples:
      tracelake remove decode
      tracelake remove 9b02 7cf3
    """
    opened = open_lake(lake)
    for trace in traces_:
        say(f"removed {opened.remove(trace)}")


def _pairs(settings: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals:
            raise UsageError(f"{setting}: expected KEY=VALUE, as in num_layers=36.")
        pairs[key.strip()] = value.strip()
    return pairs


def _say_of_model(opened: Lake, *trace_ids: str) -> None:
    """Say that the model of traces, which may be any word, is not known by its dimensions, or cannot be theirs."""
    fault = opened.model_fault(trace_ids[0])
    if fault:
        lost = "model validate, model measured, FLOP where there are no shapes"
        say(f"{fault}; kept, but what needs its dimensions has no answer: {lost}.")
        return
    for trace_id in trace_ids:
        for line in opened.model_doubts(trace_id):
            say(f"{trace_id}: {line}")


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
    say(f"{result.source}: {result.trace} ({result.trace_id}): {about if result.new else 'in the lake already'}")
