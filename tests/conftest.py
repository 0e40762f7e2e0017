"""Fixtures of several folders."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tracelake.engine import modules
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


@pytest.fixture(scope="session")
def s1_lake_folder(s1_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that holds the made-up trace, and every answer that is kept."""
    path = tmp_path_factory.mktemp("s1-lake") / "lake"
    with Lake(path) as made:
        made.ingest(s1_file)
        made.prepare(" ".join(entry.name for entry in modules.modules() if entry.materialised))
    return path


@pytest.fixture
def s1_lake(s1_lake_folder: Path, tmp_path: Path) -> Iterator[Lake]:
    """A lake of the test's own that holds the made-up trace."""
    with Lake(shutil.copytree(s1_lake_folder, tmp_path / "lake")) as opened:
        yield opened
