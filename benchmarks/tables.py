"""Ingest of a kernel_details.csv against DuckDB's own read_csv to Parquet, side by side in one run.

    python benchmarks/tables.py [--rows 1250000,5000000] [--keep FOLDER]

The yardstick lets DuckDB find the types and writes a Parquet file as compressed as ours. Both use all cores. Every
measurement runs in a process of its own, three times; the median counts, of memory the largest. Answers take minutes:
they are computed of the first size alone, once.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import EVENTS_ONLY, INGEST, measure  # type: ignore[import-not-found]

GENERATOR = Path(__file__).resolve().parent / "generate_kernels.py"

READ_CSV = """
import duckdb, sys, time
duckdb.execute("SET enable_progress_bar = false")
begun = time.perf_counter()
duckdb.execute(
    "COPY (SELECT * FROM read_csv($1)) TO '" + sys.argv[2] + "/whole.parquet' (FORMAT parquet, COMPRESSION zstd)",
    [sys.argv[1]],
).fetchall()
print(time.perf_counter() - begun)
"""


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", default="1250000,5000000", help="sizes of the table, separated by commas")
    parser.add_argument("--keep", type=Path, help="folder that keeps the tables for another run")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tracelake-bench-") as name:
        folder = Path(name)
        cache = options.keep or folder
        cache.mkdir(parents=True, exist_ok=True)
        peaks: list[float] = []
        for rows in map(int, options.rows.split(",")):
            table = cache / f"kernel_details-{rows}.csv"
            if not table.exists():
                subprocess.run([sys.executable, GENERATOR, table, "--rows", str(rows)], check=True)
            size = table.stat().st_size
            measured = []
            if not peaks:
                measured.append(("ingest with answers", *measure(INGEST, table, folder, repeats=1)))
            ingest, peak = measure(EVENTS_ONLY, table, folder)
            seconds, memory = measure(READ_CSV, table, folder)
            peaks.append(peak)
            parquet = sum(path.stat().st_size for path in (folder / "lake" / "events").rglob("*.parquet"))
            whole = (folder / "whole.parquet").stat().st_size
            print(f"{rows} rows, {size / 1e6:.0f} MB")
            measured += [("events alone", ingest, peak), ("read_csv to Parquet", seconds, memory)]
            for what, took, used in measured:
                print(f"  {what:<25} {took:6.2f} s   {size / took / 1e6:4.0f} MB/s   peak {used:5.0f} MB")
            print(f"  bytes per second / its    {seconds / ingest:6.2f}")
            print(f"  Parquet / its             {parquet / whole:6.2f}", flush=True)
    print(f"peak at the largest / peak at the smallest: {peaks[-1] / peaks[0]:.2f}")


if __name__ == "__main__":
    main()
