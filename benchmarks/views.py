"""Breakdown, regions and gaps of a large lake, against the time to scan the columns they read.

    python benchmarks/views.py [--events 10000000] [--keep FOLDER]

The first query of a lake computes the relations it depends on and stores them; that is measured once for each relation,
after the kernels. Later queries read the stored rows: the median of five in one process. The scan hashes every value of
the columns that the relation's rows are computed from, and stores nothing.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracelake.lake import Lake

GENERATOR = Path(__file__).resolve().parent / "generate.py"
_KERNELS = "trace_id, device, stream, kind, start_ns, end_ns, name, display_name, launch_id, launch_ns"
#: Relation -> its sources: kernels, and for regions the module calls around their launches.
VIEWS = {
    "time_breakdown": ["SELECT hash(trace_id, device, kind, start_ns, end_ns, launch_ns) AS h FROM kernels"],
    "gaps": [f"SELECT hash({_KERNELS}) AS h FROM kernels"],
    "regions": [
        f"SELECT hash({_KERNELS}, op_id) AS h FROM kernels",
        "SELECT hash(trace_id, pid, tid, name, start_ns, end_ns) AS h FROM events WHERE lane IN ('host', 'python')",
    ],
}


def timed(lake: Lake, query: str) -> float:
    """Return the seconds a query takes."""
    begun = time.perf_counter()
    lake.sql(query).fetchall()
    return time.perf_counter() - begun


def main() -> None:
    """Run as a script."""
    import tracelake

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--keep", type=Path, help="folder that keeps the trace and the lake for another run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tracelake-bench-") as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        trace = folder / f"views-{options.events}.json.gz"
        if not trace.exists():
            subprocess.run([sys.executable, GENERATOR, trace, "--events", str(options.events)], check=True)
        lake = tracelake.open(folder / "views.lake")
        lake.ingest(trace)
        [(events, kernels)] = lake.rows("SELECT sum(event_count), (SELECT count(*) FROM kernels) FROM traces")
        print(f"{events} events, {kernels} kernels")
        for view, sources in VIEWS.items():
            everything = f"SELECT bit_xor(hash(COLUMNS(*))) FROM {view}"
            first = timed(lake, everything)
            scan = f"SELECT bit_xor(h) FROM ({' UNION ALL '.join(sources)})"
            seconds, again = (statistics.median(timed(lake, query) for _ in range(5)) for query in (scan, everything))
            print(
                f"  {view:<16} {again * 1000:7.1f} ms   scan {seconds * 1000:6.1f} ms   ratio {again / seconds:5.2f}"
                f"   first question {first:5.1f} s, {first / seconds:5.0f} scans",
                flush=True,
            )


if __name__ == "__main__":
    main()
