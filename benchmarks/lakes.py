"""What a question costs in a lake of many traces, beside a lake of one: ratios of one run on one machine.

    python benchmarks/lakes.py --traces 300 --times 34

The traces are made up: small, all different. Those that are ingested are there so many times, under other ids, with the
same files of events. Every figure is the median of three fresh processes; where seconds of CPU are compared, both sides
are measured one after the other, three times.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from tracelake.engine.storage.table_types import statistics as statistics_of
from tracelake.engine.storage.tables import Tables
from tracelake.lake import Lake
from tracelake.synthetic.gpu import gpu_trace

AGGREGATE = "SELECT layer_type, avg(wall_us) FROM layers GROUP BY ALL"


def write_traces(folder: Path, count: int) -> list[Path]:
    """Write small traces of distinct content: their clocks and the duration of one kernel differ."""
    folder.mkdir(parents=True, exist_ok=True)
    made = gpu_trace()
    paths = []
    for nth in range(count):
        made["baseTimeNanoseconds"] = 1_700_000_000_000_000_000 + nth
        made["traceEvents"][-1]["dur"] = 5 + nth % 7
        path = folder / f"t{nth:05}.json"
        path.write_text(json.dumps(made))
        paths.append(path)
    return paths


def multiply(lake: Path, times: int) -> None:
    """Multiply each trace of a lake with compacted tables."""
    tables = Tables(lake / "tables")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(
            "CREATE TABLE copies AS SELECT trace_id, nth, "
            "if(nth = 0, trace_id, substr(md5(trace_id || nth), 1, 16)) AS copy_id, "
            "if(nth = 0, trace, trace || 'x' || nth) AS name FROM read_parquet($1), range($2) AS copy (nth)",
            [[str(file.path) for file in tables.files("traces")], times],
        )
        for table in tables.names():
            files = tables.files(table)
            if not files:
                continue
            renamed = "copy_id AS trace_id" + (", name AS trace" if table == "traces" else "")
            path = lake / f"{table}.parquet"
            connection.execute(
                f"COPY (SELECT r.* REPLACE ({renamed}) FROM read_parquet($1) AS r JOIN copies USING (trace_id) "
                f"ORDER BY copy_id) TO '{path}' (FORMAT parquet, COMPRESSION zstd, PARQUET_VERSION v2)",
                [[str(file.path) for file in files]],
            )
            batch = "batch_id" if table not in ("traces", "settings") else "NULL"
            [(rows, *bounds)] = connection.execute(
                f"SELECT count(*), min(trace_id), max(trace_id), min({batch}), max({batch}) FROM '{path}'"
            ).fetchall()
            found = statistics_of(rows, bounds[:2], bounds[2:] if bounds[2] else [])
            tables.rewrite(table, [(path, found)], files)
        copies = connection.execute("SELECT trace_id, copy_id FROM copies WHERE nth > 0").fetchall()
    tables.vacuum(0)
    for trace_id, copy_id in copies:
        source = lake / "events" / f"trace_id={trace_id}"
        for file in source.rglob("*.parquet"):
            target = lake / "events" / f"trace_id={copy_id}" / file.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.link(file, target)


def cpu(*words: object) -> float:
    """Return the seconds of CPU of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def ratio(of: list[object], to: list[object]) -> tuple[float, float]:
    """Return the ratio of the CPU of two processes, and the seconds of the first."""
    pairs = [(cpu(*of), cpu(*to)) for _ in range(3)]
    return statistics.median(one / other for one, other in pairs), statistics.median(one for one, _ in pairs)


def command(lake: Path, *words: str) -> list[object]:
    """Return the words of a command line."""
    return ["-m", "tracelake", "--lake", lake, *words]


def timed(lake: Lake, query: str) -> float:
    """Return the milliseconds of a query's third run."""
    for _ in range(3):
        begun = time.perf_counter()
        lake.sql(query).fetchall()
        took = 1000 * (time.perf_counter() - begun)
    return took


def main() -> None:
    """Make the lakes, and print a line per measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--traces", type=int, default=300)
    parser.add_argument("--times", type=int, default=34)
    parser.add_argument("--folder", type=Path, help="Where to; a temporary folder if not given.")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp())
    many, one = folder / "many", folder / "one"
    traces = write_traces(folder / "traces", given.traces)
    begun = time.perf_counter()
    with Lake(many) as lake:
        lake.ingest(*traces)
        print(f"ingest with answers, ms a trace: {1000 * (time.perf_counter() - begun) / len(traces):.0f}")
        lake.compact()
    multiply(many, given.times)
    with Lake(many) as lake:
        [(count,)] = lake.rows("SELECT count(*) FROM traces")
        files = sum(path.is_file() for path in many.rglob("*"))
        events = sum(1 for _ in (many / "events").rglob("*.parquet"))
        print(f"traces: {count}, files: {files}, without events {files - events}")
        rows = folder / "layers.parquet"
        lake.sql("FROM layers").pl().write_parquet(rows)
        took = timed(lake, AGGREGATE)
    with duckdb.connect() as plain:
        query = AGGREGATE.replace("FROM layers", f"FROM '{rows}'")
        for _ in range(3):
            begun = time.perf_counter()
            plain.execute(query).fetchall()
            alone = 1000 * (time.perf_counter() - begun)
    print(f"an average over all layers: {took:.0f} ms, / of one Parquet file: {took / alone:.1f}")
    with Lake(one) as lake:
        lake.ingest(traces[0])
    least: list[object] = ["-c", "import duckdb; duckdb.sql('select 1').fetchall()"]
    for words in (("layers", "t00000"), ("summary", "t00000"), ("sql", "select 1")):
        between, _ = ratio(command(many, *words), command(one, *words))
        to_least, seconds = ratio(command(many, *words), least)
        print(
            f"{' '.join(words)}: {seconds:.2f} s of CPU, / in a lake of one: {between:.2f}, / select 1: {to_least:.1f}"
        )
    if given.folder is None:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
