"""What the tests of other tools read: exports of two traces, and the figures of the lake that they must find."""

import json
from pathlib import Path
from typing import NamedTuple

import pytest

from tracelake.lake import Lake

from .. import absurd_traces


class Exports(NamedTuple):
    """The files, and the time of each category of kernels, in ns."""

    star: Path
    database: Path
    plain: Path
    delta: Path
    figures: dict[str, int]


@pytest.fixture(scope="session")
def exports(s1_file, tmp_path_factory) -> Exports:
    """A star as Parquet files, as a database and as Delta tables, and a database of the ordinary relations."""
    folder = tmp_path_factory.mktemp("exports")
    (folder / "served.json").write_text(json.dumps(absurd_traces.kineto()))
    star, database, plain, delta = (folder / name for name in ("star", "star.duckdb", "plain.duckdb", "delta"))
    with Lake(folder / "lake", stored=True) as lake:
        lake.ingest(s1_file, folder / "served.json")
        for target, format in ((star, None), (database, None), (delta, "delta")):
            lake.export(target, format, star=True)
        lake.export(plain, relations=["traces", "passes", "layers", "kernels", "findings", "health"])
        figures = dict(lake.rows("SELECT category, CAST(sum(dur_ns) AS BIGINT) FROM kernels GROUP BY ALL"))
    return Exports(star, database, plain, delta, figures)
