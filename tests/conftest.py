"""Fixtures of several folders."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tracelake.engine import modules
from tracelake.lake import Lake
from tracelake.synthetic.gpu import write_gpu

from .lakes import SharedLake
from .support import data_file

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers share the cores: a question takes one.
    os.environ.setdefault("TRACELAKE_THREADS", "1")


@pytest.fixture(scope="session")
def s1_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up trace of five passes and six layers: 696 events, 695 kernels, 310500 us of work."""
    path = tmp_path_factory.mktemp("s1") / "s1.json.gz"
    write_gpu(path)
    return path


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """A new lake."""
    opened = Lake(tmp_path / "lake")
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared_lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedLake]:
    """The lake of the module's tests that are marked `in_one_lake`."""
    tests = (item for item in request.session.items if isinstance(item, pytest.Function))
    asking = [item for item in tests if item.module is request.module and "shared_lake" in item.fixturenames]
    shared = SharedLake(tmp_path_factory.mktemp("shared"), asking, request.getfixturevalue)
    yield shared
    shared.close()


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


@pytest.fixture(scope="session")
def real_lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Lake]]:
    """Return what opens the lake of one trace of the shared data, by its path there. Only for reading.

    A trace is read once for all tests, and its answers are computed when the first test asks for them: the workers of
    a run share the folder, as processes may share a lake.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "real-lakes"
    folder.mkdir(exist_ok=True)
    opened: dict[str, Lake] = {}

    def open_lake(name: str) -> Lake:
        trace = data_file(name)
        if name not in opened:
            path = folder / name.replace("/", "-")
            if not path.exists():
                beside = folder / uuid.uuid4().hex
                with Lake(beside) as made:
                    made.ingest(trace)
                try:
                    beside.rename(path)
                except OSError:  # the other worker was first
                    shutil.rmtree(beside)
            opened[name] = Lake(path)
        return opened[name]

    yield open_lake
    for lake in opened.values():
        lake.close()
