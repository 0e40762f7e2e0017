"""The demo: a synthetic trace, a broken copy of it, and the first queries to ask."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import click

from .analysis.calibration import MEASURED_COLUMNS
from .engine.errors import UsageError
from .lake import Lake
from .reports.output.columns import for_people
from .reports.output.render import render, render_parts
from .reports.output.screen import screen_of
from .reports.trace.layers import parts
from .synthetic.gpu import gpu_config, write_gpu
from .synthetic.npu import write_npu
from .synthetic.prefill import MODEL, write_prefill
from .synthetic.ranks import write_fleet
from .synthetic.steps import write_change

_WHERE_TIME_GOES = """
SELECT
    category, count(*) AS kernels, sum(dur_us) AS sum_us,
    round(100 * sum(dur_us) / sum(sum(dur_us)) OVER (), 1) AS pct
FROM layer_kernels JOIN traces USING (trace_id) JOIN passes USING (trace_id, device, pass_id)
WHERE trace = 'demo' AND chosen
GROUP BY category
ORDER BY sum_us DESC
LIMIT 5
"""


def run(keep: Path | None = None) -> None:
    """Make the traces, ingest them and print the first answers.

    Args:
        keep: folder in which the traces and the lake stay; default: a temporary one.

    Raises:
        UsageError: the folder to keep them in is not empty.
    """
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="tracelake-demo-") as folder:
            _run(Path(folder))
        again = "tracelake demo --keep playground stores the traces and the lake."
    else:
        if keep.exists() and (not keep.is_dir() or any(keep.iterdir())):
            raise UsageError(f"{keep}: not an empty folder.")
        keep.mkdir(parents=True, exist_ok=True)
        _run(keep)
        _make_fleet(keep / "fleet")
        fleet = keep / "fleet" / "lake"
        again = (
            f'tracelake --lake {keep / "lake"} sql "FROM layers"\n'
            f"Which rank is slow: tracelake --lake {fleet} ranks eight-ranks -o ranks.html\n"
            f"What changed: tracelake --lake {fleet} compare monday tuesday -o comparison.html"
        )
    click.echo(f"Next: {again}\nWith a trace of yours: tracelake layers trace.json.gz")


def _run(folder: Path) -> None:
    whole, broken, config = (
        folder / "demo.json.gz",
        folder / "demo_cut_short.json",
        folder / "demo-model" / "config.json",
    )
    write_gpu(whole)
    write_gpu(broken, truncated=True)
    write_npu(folder / "demo_npu.csv")
    config.parent.mkdir()
    config.write_text(json.dumps(gpu_config()), encoding="utf-8")
    lake = Lake(folder / "lake")
    screen = screen_of(lake.store)
    _title("A trace of a DeepSeek-V4-like model, five passes of six layers; a copy that breaks off; one of Llama 3 8B")
    lake.ingest(whole, broken, model=config)
    write_prefill(folder / "demo_prefill.json.gz")
    lake.ingest(folder / "demo_prefill.json.gz", model=MODEL, trace="prefill")
    render(for_people(lake.store, "traces", lake.traces()), screen=screen)
    _title("What the lake noticed about them", "tracelake doctor")
    render(lake.doctor(), screen=screen)
    _title("Forward passes: the first warm the machine up, the chosen one is steady", "tracelake passes demo")
    render(for_people(lake.store, "passes", lake.passes("demo")), screen=screen)
    _title("Layers of the chosen pass, their types by the model's config.json", "tracelake layers demo")
    trace_id = lake.resolve("demo")
    render_parts(parts(lake.store, lake.layers("demo"), trace_id, lake.chosen_pass(trace_id)), screen=screen)
    _title("Where their time goes, in SQL over the same tables", f'tracelake sql "{_WHERE_TIME_GOES.strip()}"')
    render(lake.sql(_WHERE_TIME_GOES), screen=screen)
    _title("A prefill and the lower bound of its model", "tracelake model measured prefill")
    render(lake.measured_vs_modelled("prefill").rows.select(MEASURED_COLUMNS).limit(10), screen=screen)
    lake.close()


def _make_fleet(folder: Path) -> None:
    """Silently make a lake with a nightly history, the ranks of a run and two days that differ."""
    with Lake(folder / "lake") as lake:
        for run, paths in write_fleet(folder):
            lake.ingest(*paths, run=run, events_only=True)
        lake.ingest(*write_change(folder), events_only=True)
        lake.compute()


def _title(text: str, command: str = "") -> None:
    click.echo(f"\n{text}" + (f"\n$ {command}" if command else ""))
