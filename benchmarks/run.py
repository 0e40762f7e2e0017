"""Ingest against the parsers it is built on, side by side in one run: time, memory, bytes on disk.

    python benchmarks/run.py [--sizes 1,4,16] [--keep FOLDER]

Size 1 is a trace of some 526 MB of JSON, 45 MB gzipped, 1.93 million events. Every measurement runs in a process of
its own, three times; the median counts. Time is taken inside the process, after its imports; peak memory is the
kernel's figure for the whole process. The yardstick is the time to decompress the file with isal and to parse the
bytes with simdjson, keeping nothing: near the least that any reader can need on one core.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import INGEST, measure  # type: ignore[import-not-found]

GENERATOR = Path(__file__).resolve().parent / "generate.py"
EVENTS = 1_930_000
#: simdjson refuses documents of 4 GiB or more; orjson and DuckDB need 7 times the JSON's size in memory.
YARDSTICK_LIMIT = 4
OTHERS_LIMIT = 1

YARDSTICK = """
import isal.igzip, simdjson, sys, time
begun = time.perf_counter()
data = isal.igzip.decompress(open(sys.argv[1], "rb").read())
simdjson.Parser().parse(data)
print(time.perf_counter() - begun)
"""
#: From file to published events, without computing answers.
EVENTS_ALONE = """
import os, shutil, sys, time
import tracelake
from tracelake.ingest.land import ingest_one
threads = {threads}
if threads == 1 and hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
shutil.rmtree(sys.argv[2] + "/events", ignore_errors=True)
layout = tracelake.open(sys.argv[2] + "/events").store.layout
begun = time.perf_counter()
ingest_one(layout, sys.argv[1], threads=threads)
print(time.perf_counter() - begun)
"""
ORJSON = """
import gc, isal.igzip, orjson, sys, time
gc.disable()
begun = time.perf_counter()
orjson.loads(isal.igzip.decompress(open(sys.argv[1], "rb").read()))
print(time.perf_counter() - begun)
"""
WHOLE_OBJECT = """
import duckdb, sys, time
duckdb.execute("SET enable_progress_bar = false")
begun = time.perf_counter()
duckdb.execute(
    "COPY (SELECT unnest(traceEvents, max_depth := 2) FROM read_json($1, maximum_object_size = 2000000000, columns = "
    "{traceEvents: 'STRUCT(ph VARCHAR, cat VARCHAR, name VARCHAR, pid VARCHAR, tid VARCHAR, ts VARCHAR, dur VARCHAR, "
    "id VARCHAR, args JSON)[]'})) TO '" + sys.argv[2] + "/whole.parquet' (FORMAT parquet, COMPRESSION zstd)",
    [sys.argv[1]],
).fetchall()
print(time.perf_counter() - begun)
"""
QUERY = """
import sys, time
import tracelake
lake = tracelake.open(sys.argv[2] + "/lake")
question = "SELECT category, count(*), sum(dur_ns), max(end_ns) FROM kernels GROUP BY category ORDER BY ALL"
lake.sql(question).fetchall()
begun = time.perf_counter()
lake.sql(question).fetchall()
print(time.perf_counter() - begun)
"""


def bench(size: int, folder: Path, cache: Path) -> dict[str, float]:
    """Measure one size and print its lines."""
    trace = cache / f"synthetic-{size}.json.gz"
    if not trace.exists():
        print(f"size {size}: writing the trace", flush=True)
        subprocess.run([sys.executable, GENERATOR, trace, "--events", str(size * EVENTS)], check=True)
    print(f"size {size}: {trace.stat().st_size / 1e6:.0f} MB gz", flush=True)
    ingest, peak = measure(INGEST, trace, folder)
    results = {"size": size, "gz_bytes": trace.stat().st_size, "ingest_s": ingest, "ingest_peak_mb": peak}
    parquet = sum(path.stat().st_size for path in (folder / "lake" / "events").rglob("*.parquet"))
    results["parquet_per_gz_byte"] = parquet / trace.stat().st_size
    print(f"  ingest                      {ingest:6.2f} s   peak {peak:5.0f} MB")
    print(f"  Parquet per byte of gz      {results['parquet_per_gz_byte']:6.2f}")
    for key, threads in (("events_s", None), ("events_one_core_s", 1)):
        results[key], _ = measure(EVENTS_ALONE.format(threads=threads), trace, folder)
    shutil.rmtree(folder / "events")
    query, _ = measure(QUERY, trace, folder)
    results["warm_query_s"] = query
    print(f"  warm SELECT over kernels    {query * 1000:6.1f} ms")
    others = [("isal + simdjson", YARDSTICK, YARDSTICK_LIMIT), ("isal + orjson.loads", ORJSON, OTHERS_LIMIT)]
    others.append(("read_json, whole object", WHOLE_OBJECT, OTHERS_LIMIT))
    for name, program, limit in others:
        if size > limit:
            print(f"  / {name:<25}      -     (does not take this size)")
            continue
        seconds, memory = measure(program, trace, folder)
        results[f"ingest / {name}"] = ingest / seconds
        print(f"  / {name:<25} {ingest / seconds:6.2f} x   ({seconds:.2f} s, peak {memory:.0f} MB)", flush=True)
        if program is YARDSTICK:
            for key, words in (("events_s", "events alone"), ("events_one_core_s", "events alone, one core")):
                results[f"{words} / {name}"] = results[key] / seconds
                print(f"    {words:<25} {results[key] / seconds:6.2f} x   ({results[key]:.2f} s)")
    return results


def main() -> None:
    """Run as a script."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", default="1,4,16", help="multiples of the basic size, separated by commas")
    parser.add_argument("--keep", type=Path, help="folder that keeps the traces for another run")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tracelake-bench-") as name:
        folder = Path(name)
        cache = options.keep or folder
        cache.mkdir(parents=True, exist_ok=True)
        results = []
        for size in map(int, options.sizes.split(",")):
            results.append(bench(size, folder, cache))
            shutil.rmtree(folder / "lake", ignore_errors=True)
    smallest = results[0]
    for other in results[1:]:
        growth = other["ingest_peak_mb"] / smallest["ingest_peak_mb"]
        print(f"peak at size {other['size']:.0f} / peak at size {smallest['size']:.0f}: {growth:.2f}")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
