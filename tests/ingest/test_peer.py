"""TraceLens, another reader of the same traces, keeps its own sums beside two of them: ours must agree."""

import csv
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import pytest

from tracelake.lake import Lake

from ..support import data_file

TRACE = "kineto/hf_qwen1.5-0.5b_h100.json.gz"


@pytest.fixture(scope="module")
def qwen(tmp_path_factory):
    path = data_file(TRACE)
    lake = Lake(tmp_path_factory.mktemp("peer") / "lake")
    lake.ingest(path)
    return lake


def peer(table: str) -> list[dict[str, str]]:
    with data_file(f"peer-golden/{Path(TRACE).name.removesuffix('.json.gz')}/{table}.csv").open(
        encoding="utf-8"
    ) as file:
        return list(csv.DictReader(file))


def test_number_and_time_of_every_kernel_name_equal_those_of_tracelens(qwen):
    # It splits a name by the operator that launched it, and counts kernels only: no copies and fills, which `kernels`
    # has as well. Its sums are of doubles, in microseconds.
    theirs = defaultdict(lambda: (0, Decimal(0)))
    for row in peer("kernel_summary"):
        key = row["Kernel name"], int(row["Kernel stream"])
        count, total = theirs[key]
        theirs[key] = (
            count + int(row["Kernel duration (µs)_count"]),
            total + Decimal(row["Kernel duration (µs)_sum"]).quantize(Decimal("0.001")),
        )
    ours = qwen.sql(
        "SELECT name, stream, count(*), sum(dur_ns) FROM kernels WHERE kind <> 'memory' GROUP BY ALL"
    ).fetchall()
    assert {(name, stream): (count, Decimal(int(total)) / 1000) for name, stream, count, total in ours} == theirs
    assert (len(theirs), sum(count for count, _ in theirs.values())) == (26, 1465)


def test_what_tracelens_leaves_out_are_one_copy_and_241_fills(qwen):
    memory = "SELECT name, count(*), sum(dur_ns)::BIGINT FROM kernels WHERE kind = 'memory' GROUP BY ALL ORDER BY ALL"
    # Counted in the file with Python.
    assert qwen.sql(memory).fetchall() == [
        ("Memcpy DtoH (Device -> Pinned)", 1, 2368),
        ("Memset (Device)", 241, 212234),
    ]


def test_the_device_is_busy_as_long_as_tracelens_finds_it_to_be(qwen):
    # Time in which at least one operation runs, and from the first start to the last end. TraceLens takes only what a
    # launch in the file caused; this capture begins inside a pass, and 509 of its 1707 operations have none. What is
    # left differs by 10 ns: its times are doubles near 1.4e12 µs.
    stretches = """
        WITH ends AS (
            SELECT
                start_ns, end_ns,
                max(end_ns) OVER (ORDER BY start_ns, kernel_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS last
            FROM kernels
            WHERE launch_id IS NOT NULL
        )
        SELECT
            count(*),
            sum(greatest(0, end_ns - greatest(start_ns, coalesce(last, start_ns))))::BIGINT,
            max(end_ns) - min(start_ns)
        FROM ends
    """
    assert qwen.sql(stretches).fetchall() == [(1707 - 509, 31_905_473, 34_892_419)]
    theirs = {row["type"]: float(row["time ms"]) for row in peer("gpu_timeline")}
    assert theirs["busy_time"] * 1e6 == pytest.approx(31_905_473, abs=50)
    assert theirs["total_time"] * 1e6 == pytest.approx(34_892_419, abs=50)
