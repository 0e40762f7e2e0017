"""Tests that share a lake: the traces that the tests of a folder ask about are ingested at once, and computed at once.

Such a test is a generator. It writes its trace into `tmp_path`, yields the path, and is given what answers questions
about that trace alone:

    @in_one_lake
    def test_a_device_is_the_one_of_its_label(tmp_path):
        lake = yield write_timeline(tmp_path / "trace_view.json", timeline(task("Add", "100.000", 5.0), npu="NPU 3"))
        assert lake.rows("SELECT device, stream FROM kernels") == [(3, 2)]

It yields `Files` where there are several traces, or settings. Its other arguments are those that it is parametrised
by, and fixtures of the module or the session; with fixtures, the tests of its module have a lake apart. Traces of other
tests may have the same name: functions are asked about `lake.id`. A test that changes its lake, or asks what is no
trace's, has a lake of its own.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tracelake.engine.sql import modules
from tracelake.ingest.batch import Failed
from tracelake.ingest.model import model_settings
from tracelake.lake import Lake

_SOURCE = re.compile(r"\b(?:FROM|JOIN)\s+([a-z_][a-z0-9_]*)\b(?!\s*[(.])")
_WITH = re.compile(r"\s*WITH\b")


def ingest_at_once(lake: Lake, files: Mapping[Path, Any]) -> list[str]:
    """Ingest files in one call, then store the settings of each as they are; return the traces' ids."""
    ids = []
    for result in lake.ingest(*files):
        assert not isinstance(result, Failed), result
        ids.append(result.trace_id)
    set_at_once(lake, dict(zip(ids, files.values(), strict=True)))
    return ids


def set_at_once(lake: Lake, settings: Mapping[str, Mapping[str, Any]]) -> None:
    """Store settings of traces, by their ids, as they are: in one step, where `set` takes one for each trace."""
    lake.store.catalog.append_settings({
        trace_id: {key: None if value is None else str(value) for key, value in given.items()}
        for trace_id, given in settings.items()
    })  # fmt: skip
    lake.refresh()
    lake.store.renew(settings)


def compute_once(lake: Lake, *relations: str) -> None:
    """Compute relations into tables of this connection, `once_NAME`, for many questions that would each plan them."""
    for name in relations:
        lake.rows(f"CREATE OR REPLACE TEMP TABLE once_{name} AS FROM {name}")


def apart(path: Path, *of: object) -> Path:
    """Make a trace of JSON another one than those of the same events: a key of it says what it is of."""
    path.write_text(path.read_text().replace("{", f"{{{json.dumps('of')}: {json.dumps(str(of))}, ", 1))
    return path


class Files:
    """The files of a test's traces, and settings of all of them, stored as they are; a model may be a config.json."""

    def __init__(self, *paths: Path, **settings: Any) -> None:
        self.paths = paths
        model = settings.get("model")
        self.settings = settings | (model_settings(model) if isinstance(model, Path) else {})


class Own:
    """The traces of a test in a lake that holds others beside them."""

    def __init__(self, lake: Lake, ids: dict[str, str]) -> None:
        """Name the traces, by their files' names without suffix, and their ids."""
        self.lake = lake
        self.ids = ids

    @property
    def id(self) -> str:
        """The id of the only one."""
        [one] = self.ids.values()
        return one

    def rows(self, query: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
        """Return all rows of a question about these traces."""
        return self.lake.rows(self._narrowed(query), parameters)

    def sql(self, query: str, **parameters: Any) -> Any:
        """Return the answer to a question about these traces as a DuckDB relation."""
        return self.lake.sql(self._narrowed(query), **parameters)

    def _narrowed(self, query: str) -> str:
        """Return a question in which each relation has the rows of these traces, and no others."""
        listed = ", ".join(map(modules.quoted, self.ids.values()))
        narrow = ", ".join(
            f"{name} AS (SELECT * FROM main.{name} WHERE trace_id IN ({listed}))"
            for name in sorted(set(_SOURCE.findall(query)))
            if _is_by_trace(name)
        )
        if not narrow:
            return query
        begins = _WITH.match(query)
        return f"WITH {narrow}, {query[begins.end() :]}" if begins else f"WITH {narrow} {query}"


@functools.cache
def _is_by_trace(name: str) -> bool:
    entry = modules.module(name)
    if entry is None or entry.kind != "VIEW":
        return False
    columns = [column.name for column in entry.columns] or re.findall(r"\w+", entry.sql)
    return "trace_id" in columns


Test = Generator["Path | Files", Own, None]


def in_one_lake(test: Callable[..., Test]) -> Callable[..., None]:
    """Have a test share the lake of its folder; see above."""

    def run(shared_lake: SharedLake, request: pytest.FixtureRequest, **_: Any) -> None:
        shared_lake.go_on(request.node)

    functools.update_wrapper(run, test, assigned=("__module__", "__name__", "__qualname__", "__doc__"))
    taken = [name for name in inspect.signature(test).parameters if name != "tmp_path"]
    run.__signature__ = inspect.Signature(
        [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY) for name in ("shared_lake", "request", *taken)]
    )
    return run


def takes_fixtures(item: pytest.Function) -> bool:
    """Whether a test that shares a lake has arguments besides those that it is parametrised by."""
    given = {"tmp_path"} | (item.callspec.params.keys() if hasattr(item, "callspec") else set())
    return not inspect.signature(inspect.unwrap(item.function)).parameters.keys() <= given


class SharedLake:
    """The lake of a folder's tests, which are begun, all of them, before their files are ingested."""

    def __init__(self, folder: Path, items: Iterable[pytest.Function], fixture: Callable[[str], Any]) -> None:
        """Begin the tests; `fixture` gets the value of one by its name."""
        self._fixture = fixture
        self._begun: dict[str, tuple[Test, Files] | BaseException] = {}
        for nth, item in enumerate(items):
            (folder / str(nth)).mkdir()
            try:
                self._begun[item.nodeid] = self._begin(item, folder / str(nth))
            except (Exception, pytest.skip.Exception) as error:  # noqa: BLE001
                # The test's own: raised when it runs.
                self._begun[item.nodeid] = error
        self._lake = Lake(folder / "lake")
        self._ids = self._ingest([begun[1] for begun in self._begun.values() if isinstance(begun, tuple)])

    def _begin(self, item: pytest.Function, folder: Path) -> tuple[Test, Files]:
        test = inspect.unwrap(item.function)
        given = {"tmp_path": folder} | (item.callspec.params if hasattr(item, "callspec") else {})
        names = inspect.signature(test).parameters
        started = test(**{name: given[name] if name in given else self._fixture(name) for name in names})
        yielded = next(started)
        return started, yielded if isinstance(yielded, Files) else Files(yielded)

    def _ingest(self, wanted: list[Files]) -> dict[Path, str | Failed]:
        """Ingest all files in one call, and store their settings; return the trace of each."""
        paths = dict.fromkeys(path for files in wanted for path in files.paths)
        results = self._lake.ingest(*paths)
        found = {
            path: result if isinstance(result, Failed) else result.trace_id
            for path, result in zip(paths, results, strict=True)
        }
        given: dict[str, Files] = {}
        for files in wanted:
            for trace_id in (found[path] for path in files.paths if isinstance(found[path], str)):
                other = given.setdefault(trace_id, files)
                assert other.settings == files.settings, (
                    f"{files.paths} has the content of {other.paths}, so it is the same trace and cannot have other "
                    "settings: write it with apart()."
                )
        set_at_once(self._lake, {trace_id: files.settings for trace_id, files in given.items()})
        return found

    def go_on(self, item: pytest.Function) -> None:
        """Have a test ask its questions."""
        begun = self._begun[item.nodeid]
        if isinstance(begun, BaseException):
            raise begun
        test, files = begun
        ids = {}
        for path in files.paths:
            found = self._ids[path]
            assert not isinstance(found, Failed), found
            ids[path.name.split(".")[0]] = found
        with pytest.raises(StopIteration):
            test.send(Own(self._lake, ids))

    def close(self) -> None:
        """Close the lake."""
        self._lake.close()
