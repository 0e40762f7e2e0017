"""Fixtures of several folders."""

import gc
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tracelake.cli import main
from tracelake.engine import store
from tracelake.engine.storage.files import exclusive
from tracelake.lake import Lake
from tracelake.synthetic.gpu import write_gpu

from .lakes import SharedLake, takes_fixtures
from .support import data_file

# Commands that tests start in processes of their own would compile the package's source each time: half of their CPU.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Tests make millions of small objects, hardly any of them in a cycle: to look for those took a tenth of the CPU.
gc.set_threshold(20_000)
if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers share the cores: a question takes one.
    os.environ.setdefault("TRACELAKE_THREADS", "1")


#: Tests of these folders are about what is stored; those of others compute in memory what they ask for, which is the
#: same (see engine/test_stored.py) and takes a fraction of the time.
_OF_WHAT_IS_STORED = ("engine", "cli", "assistant", "reports/export")
#: Folders of many files whose tests share a lake.
_SHARING = ("sql/ascend", "sql/core", "sql/layers", "sql/match", "sql/timeline")


@pytest.fixture(scope="module", autouse=True)
def computed_in_memory(request: pytest.FixtureRequest) -> Iterator[None]:
    """Open lakes without what is stored, where a test is not about that."""
    path = request.path.relative_to(Path(__file__).parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "STORED", any(map(path.is_relative_to, _OF_WHAT_IS_STORED)))
        yield


@pytest.fixture(scope="session")
def s1_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The made-up trace of five passes and six layers: 696 events, 695 kernels, 310500 us of work."""
    path = tmp_path_factory.mktemp("s1") / "s1.json.gz"
    write_gpu(path)
    return path


@pytest.fixture
def call(monkeypatch, capsys):
    """Return what runs a command in this process: its exit code, stdout and stderr."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["tracelake", *map(str, words)])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def run_cli(call, monkeypatch):
    """Return what `support.run_cli` does, stored answers included, in this process: for tests not about processes."""
    monkeypatch.setattr(store, "STORED", True)

    def run_cli(*words, lake):
        code, out, err = call("--lake", lake, *words)
        return subprocess.CompletedProcess(words, code or 0, out, err)

    return run_cli


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """A new lake."""
    opened = Lake(tmp_path / "lake")
    yield opened
    opened.close()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Have one worker run all files of a folder that share a lake; the largest folders come first."""
    from xdist.scheduler import LoadFileScheduling

    class ByFolder(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            folder = file.rpartition("/")[0]
            return folder if folder.endswith(_SHARING) else file

    return ByFolder(config, log) if config.option.dist == "loadfile" else None


@pytest.fixture(scope="session")
def shared_lakes() -> Iterator[dict[Path, SharedLake]]:
    """The lakes that `shared_lake` has opened, by the folder or the module of their tests."""
    opened: dict[Path, SharedLake] = {}
    yield opened
    for shared in opened.values():
        shared.close()


@pytest.fixture(scope="module")
def shared_lake(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shared_lakes: dict[Path, SharedLake]
) -> SharedLake:
    """The lake of the folder's tests that are marked `in_one_lake`; of those of the module, if they take fixtures."""
    tests = (item for item in request.session.items if isinstance(item, pytest.Function))
    of_modules: dict[Path, list[pytest.Function]] = {}
    for item in tests:
        if "shared_lake" in item.fixturenames and item.path.parent == request.path.parent:
            of_modules.setdefault(item.path, []).append(item)
    own = {path: items for path, items in of_modules.items() if any(map(takes_fixtures, items))}
    place = request.path if request.path in own else request.path.parent
    if place not in shared_lakes:
        asking = own.get(place) or [item for path, items in of_modules.items() if path not in own for item in items]
        shared_lakes[place] = SharedLake(tmp_path_factory.mktemp("shared"), asking, request.getfixturevalue)
    return shared_lakes[place]


@pytest.fixture(scope="session")
def s1_lake_folder(s1_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that holds the made-up trace, and its answers."""
    path = tmp_path_factory.mktemp("s1-lake") / "lake"
    with Lake(path, stored=True) as made:
        made.ingest(s1_file)
    return path


@pytest.fixture
def s1_lake(s1_lake_folder: Path, tmp_path: Path) -> Iterator[Lake]:
    """A lake of the test's own that holds the made-up trace."""
    with Lake(shutil.copytree(s1_lake_folder, tmp_path / "lake"), stored=True) as opened:
        yield opened


@pytest.fixture(scope="session")
def real_lake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Lake]]:
    """Return what opens the lake of one trace of the shared data, by its path there. Only for reading.

    A trace is read, and its answers computed, once for all tests: the workers of a run share the folder, as processes
    may share a lake.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "real-lakes"
    folder.mkdir(exist_ok=True)
    opened: dict[str, Lake] = {}

    def open_lake(name: str) -> Lake:
        trace = data_file(name)
        if name not in opened:
            path = folder / name.replace("/", "-")
            # A worker waits for the other that makes it.
            with exclusive(path.with_name(f"{path.name}.lock")):
                if not path.exists():
                    beside = folder / uuid.uuid4().hex
                    with Lake(beside, stored=True) as made:
                        made.ingest(trace)
                    beside.rename(path)
            opened[name] = Lake(path, stored=True)
        return opened[name]

    yield open_lake
    for lake in opened.values():
        lake.close()
