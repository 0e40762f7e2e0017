"""Fixtures of several folders."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tracelake.lake import Lake
from tracelake.synthetic import write_s1


@pytest.fixture(scope="session")
def s1_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up trace of five passes and six layers: 696 events, 695 kernels, 310500 us of work."""
    path = tmp_path_factory.mktemp("s1") / "s1.json.gz"
    write_s1(path)
    return path


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """A new lake."""
    opened = Lake(tmp_path / "lake")
    yield opened
    opened.close()


@pytest.fixture
def s1_lake(lake: Lake, s1_file: Path) -> Lake:
    """A lake that holds the made-up trace."""
    lake.ingest(s1_file)
    return lake
