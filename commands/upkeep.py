"""Commands that keep a lake in order: compute its answers, compact its tables, migrate it."""

from __future__ import annotations

from pathlib import Path

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import open_lake, pairs, ray_options, say


@click.command()
@click.argument("traces", nargs=-1, metavar="[TRACE…]")
@click.option("--jobs", type=click.IntRange(1), help="How many are computed at once; with --ray, tasks.")
@ray_options
@click.pass_obj
def compute(
    lake: Place | None, traces: tuple[str, ...], jobs: int | None, ray: str | None, ray_options: tuple[str, ...]
) -> None:
    """Compute the answers of traces again: of those that are named, or of all whose answers are missing or out of date.

    An ingest computes them, unless --events-only is given. They are out of date after an upgrade with other rules, or
    when the lake's own rows of a lookup table have changed.

    \b
    Examples:
      tracelake compute
      tracelake compute decode --jobs 4
      tracelake compute --ray auto
    """
    from ..engine.computing.memory import share_heaps
    from ..reports.output.progress import CountProgress

    share_heaps()
    opened = open_lake(lake)
    with CountProgress("traces") as progress:
        count = opened.compute(*traces, jobs=jobs, done=progress, ray=ray, ray_options=pairs(ray_options))
    say(f"computed the answers of {count} traces." if count else "nothing to compute.")


#: How long removed files stay on the disk by default.
_GRACE_HOURS = 24


@click.command()
@click.option("--vacuum", is_flag=True, help="Also remove from the disk what is no longer in the tables.")
@click.option(
    "--grace", type=click.IntRange(0), metavar="HOURS",
    help="With --vacuum: leave what was taken out in the last hours, which a reader may still have open; "
    f"default: {_GRACE_HOURS}.",
)  # fmt: skip
@click.pass_obj
def compact(lake: Place | None, vacuum: bool, grace: int | None) -> None:
    """Merge the files of the lake's tables, and drop rows that newer ones have replaced.

    After it, other tools that read the tables see exactly the current rows.

    \b
    Examples:
      tracelake compact
      tracelake compact --vacuum --grace 1
    """
    if grace is not None and not vacuum:
        raise UsageError("--grace: only --vacuum removes files.")
    hours = _GRACE_HOURS if grace is None else grace
    done = open_lake(lake).compact(vacuum_hours=hours if vacuum else None)
    before, after = (sum(counts[place] for counts in done.values()) for place in (0, 1))
    say(f"{len(done)} tables: {before} files before, {after} after.")


@click.command()
@click.option("--jobs", type=click.IntRange(1), help="How many traces are computed at once.")
@click.pass_obj
def migrate(lake: Place | None, jobs: int | None) -> None:
    """Bring a lake of format 1 to the present format: events stay, answers are computed.

    \b
    Examples:
      tracelake migrate
      tracelake migrate --jobs 4
    """
    from ..engine import migrate as former
    from ..reports.output.progress import CountProgress

    path = lake or Path("tracelake")
    if not isinstance(path, Path):
        raise UsageError(f"{path}: only a lake in a folder can be of format 1.")
    count = former.migrate(path)
    say(f"{path}: {count} traces migrated; computing their answers." if count else f"{path}: nothing to migrate.")
    if count:
        with CountProgress("traces") as progress:
            open_lake(lake).compute(jobs=jobs, done=progress)
