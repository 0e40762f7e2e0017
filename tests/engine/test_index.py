"""The cache of parsed SQL modules: it never changes what is known of them, and nothing rests on its being there."""

import os

import pytest

from tracelake.engine.sql import index, module_files, modules

FIRST = "-- One row.\n--\n-- a  INTEGER  one\nCREATE VIEW first AS\nSELECT 1 AS a;\n"


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A folder with one file of SQL, and what asks for its modules; counts how often they were parsed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    root = tmp_path / "sql"
    root.mkdir()
    (root / "first.sql").write_text(FIRST)
    parsed = []

    def ask():
        def parse():
            parsed.append(1)
            return module_files.parsed(root)

        return index.cached(root, [], parse), len(parsed)

    return ask


def files(tmp_path):
    return list((tmp_path / "cache" / "tracelake" / "sql").iterdir())


def test_all_modules_come_back_as_they_were(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = index.cached(modules.SQL_ROOT, [], module_files.with_twins)
    assert index.cached(modules.SQL_ROOT, [], lambda: ()) == first == modules.relations()


def test_files_are_parsed_once(cached, tmp_path):
    (first, count), (second, again) = cached(), cached()
    assert (count, again) == (1, 1)
    assert first == second
    assert len(files(tmp_path)) == 1


@pytest.mark.parametrize("change", ["content", "time", "another file"])
def test_a_change_is_seen(cached, tmp_path, change):
    cached()
    path = tmp_path / "sql" / "first.sql"
    if change == "content":
        path.write_text(FIRST.replace("SELECT 1", "SELECT 12"))
    elif change == "time":
        os.utime(path, ns=(1, 1))
    else:
        path.with_name("second.sql").write_text(FIRST.replace("first", "second"))
    found, count = cached()
    assert count == 2
    assert len(found) == (2 if change == "another file" else 1)


@pytest.mark.parametrize("damage", [b"", b"[", b"{}", b"[1]", b'[{"path": 1}]', b"\xff", b"[{}]", b"null"])
def test_a_damaged_cache_is_parsed_anew(cached, tmp_path, damage):
    whole, _ = cached()
    [file] = files(tmp_path)
    file.write_bytes(damage)
    assert cached() == (whole, 2)
    assert cached() == (whole, 2)


def test_a_cache_that_is_cut_off_is_parsed_anew(cached, tmp_path):
    whole, _ = cached()
    [file] = files(tmp_path)
    file.write_bytes(file.read_bytes()[:-1])
    found, count = cached()
    assert (count, found, found[0].sql) == (2, whole, FIRST[FIRST.index("CREATE") :])


def test_where_nothing_can_be_stored_files_are_parsed(cached, tmp_path):
    (tmp_path / "cache").write_text("a file")
    assert cached()[1] == 1
    assert cached()[1] == 2


def test_a_user_without_a_home_has_answers(cached, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(index.Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    assert cached()[1] == 1


def test_states_out_of_use_are_removed(cached, tmp_path):
    cached()
    [old] = files(tmp_path)
    os.utime(old, (0, 0))
    (tmp_path / "sql" / "first.sql").write_text(FIRST + "\n")
    cached()
    assert old not in files(tmp_path)
