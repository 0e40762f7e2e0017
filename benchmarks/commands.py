"""CPU of commands that ask a small query, compared with a Python that asks DuckDB for 1.

    python benchmarks/commands.py [FOLDER]

Runs commands on the lake of `tracelake demo`, each in fresh processes alternating with the yardstick, and prints the
median CPU of both and their ratio. The first run of each is not counted: it writes bytecode and the SQL cache. FOLDER
is the folder of the demo's lake, which is made there if missing; default: a temporary one.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

YARDSTICK = [sys.executable, "-c", "import duckdb; duckdb.sql('select 1').fetchall()"]
COMMANDS = ("--help", "sql 'SELECT 1'", "traces", "passes demo", "kernels demo", "layers demo", "summary demo")
REPEATS = 7


def cpu(command: list[str]) -> float:
    """Return the seconds of CPU that a command takes."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}: ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def main(folder: Path) -> None:
    """Print the table."""
    tracelake = [sys.executable, "-m", "tracelake"]
    if not (folder / "lake").is_dir():
        subprocess.run([*tracelake, "demo", "--keep", str(folder)], stdout=subprocess.DEVNULL, check=True)
    print(f"{'command':<16} {'CPU, s':>7} {'yardstick, s':>13} {'ratio':>6}")
    for words in COMMANDS:
        command = [*tracelake, "--lake", str(folder / "lake"), *(word.strip("'") for word in words.split(" ", 1))]
        pairs = [(cpu(command), cpu(YARDSTICK)) for _ in range(REPEATS + 1)][1:]
        own, yardstick = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"{words:<16} {own:>7.2f} {yardstick:>13.2f} {own / yardstick:>6.1f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:]:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made) / "demo")
