"""What reading a large export of Nsight Systems costs, beside SQLite's own scan of the same columns.

    python benchmarks/nsys.py EXPORT.sqlite --gigabytes 2

The export's rows of events are repeated, each time later by the length of the capture and with operators of later
numbers, until the file is that large.
The scan has SQLite look at every value of the columns that are read, and keep nothing; the fetch takes them into Python
row by row. Seconds are of CPU, of fresh processes, since other work on a machine lengthens the time of all three.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tracelake.ingest.databases.nsys_parts import PARTS

#: Approximate number of operators in a capture; and the numbers of one in its text.
_OPERATORS = 20_000
_NUMBER = re.compile("((?:op_id|seq) = )([0-9]+)")
READ = """
import sys
from tracelake.engine.storage.layout import open_layout
from tracelake.ingest.land import ingest_one
print(ingest_one(open_layout(sys.argv[2] + "/lake", create=True), sys.argv[1], threads=2).events)
"""
SCAN = """
import sqlite3, sys
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro&immutable=1", uri=True)
for query in sys.argv[3:]:
    connection.execute(query).fetchall()
"""
FETCH = """
import sqlite3, sys
connection = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro&immutable=1", uri=True)
for query in sys.argv[3:]:
    for row in connection.execute(query):
        pass
"""


def enlarge(export: Path, path: Path, size: int) -> None:
    """Copy an export and repeat its event rows until it has the given size."""
    shutil.copy(export, path)
    path.chmod(0o600)
    connection = sqlite3.connect(path)
    connection.create_function("renumbered", 2, _renumbered, deterministic=True)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    [(first, last)] = connection.execute("SELECT min(start), max(start) FROM CUPTI_ACTIVITY_KIND_KERNEL").fetchall()
    tables = {part.table: columns for part in PARTS if "start" in (columns := _columns(connection, part.table))}
    for name in tables:
        connection.execute(f"CREATE TEMP TABLE first_{name} AS SELECT * FROM {name}")
    nth = 0
    while path.stat().st_size < size:
        nth += 1
        later = nth * (last - first)
        for name, columns in tables.items():
            changed = {"start": f"start + {later}", "end": f'"end" + {later}', "text": f"renumbered(text, {nth})"}
            shifted = ", ".join(changed.get(one, f'"{one}"') for one in columns)
            connection.execute(f"INSERT INTO {name} SELECT {shifted} FROM first_{name}")
        connection.commit()
    connection.close()


def _renumbered(text: str | None, nth: int) -> str | None:
    """Return a range's text with the numbers that emit_nvtx would have written later."""
    return text and _NUMBER.sub(lambda found: f"{found[1]}{int(found[2]) + nth * _OPERATORS}", text)


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def queries(path: Path, each: str) -> list[str]:
    """Return a query for each table of events, over the columns that are read."""
    connection = sqlite3.connect(path)
    found = []
    for part in PARTS:
        there = set(_columns(connection, part.table))
        if columns := [name for name in part.columns if name in there]:
            chosen = ", ".join(each.format(f'"{name}"') for name in columns)
            found.append(f"SELECT {chosen} FROM {part.table}")
    connection.close()
    return found


def measure(program: str, *arguments: str) -> tuple[float, float, float]:
    """Return CPU seconds (user and system), elapsed seconds, and the peak in MB."""
    begun = time.perf_counter()
    child = subprocess.Popen([sys.executable, "-c", program, *arguments], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"a measurement failed with {child.returncode}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - begun, used.ru_maxrss / 1024


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("export", type=Path)
    parser.add_argument("--gigabytes", type=float, default=2)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="nsys-") as folder:
        path = Path(folder, "large.sqlite")
        enlarge(given.export, path, int(given.gigabytes * 1e9))
        scan = measure(SCAN, str(path), folder, *queries(path, "max({})"))
        fetch = measure(FETCH, str(path), folder, *queries(path, "{}"))
        read = measure(READ, str(path), folder)
        print(f"{path.stat().st_size / 1e6:.0f} MB")
        for name, (cpu, seconds, peak) in (("scan", scan), ("fetch", fetch), ("read", read)):
            print(f"{name:6} {cpu:7.1f} s of CPU  {seconds:7.1f} s  {peak:6.0f} MB  {cpu / scan[0]:5.1f} x the scan")


if __name__ == "__main__":
    main()
