"""Jobs that rest on one another are done in an order that respects it, each once."""

import threading

import duckdb
import pytest

from tracelake.engine.computing.jobs import Job, do


@pytest.fixture
def connections():
    whole = duckdb.connect()
    return [whole.cursor(), whole.cursor()]


def noting(name: str, needed: list[str], begun: list[str]) -> Job:
    return Job(name, needed, lambda _: begun.append(name))


def jobs(needs: dict[str, list[str]], begun: list[str]) -> list[Job]:
    return [noting(name, needed, begun) for name, needed in needs.items()]


NEEDS = {"a": [], "b": [], "c": ["a"], "d": ["b", "c"], "e": ["d"], "f": ["a"]}


def test_one_at_a_time_jobs_are_done_in_their_order(connections):
    begun: list[str] = []
    assert list(do(jobs(NEEDS, begun), connections[:1])) == list(NEEDS)
    assert begun == list(NEEDS)


def test_each_is_done_once_after_what_it_needs(connections):
    begun: list[str] = []
    done = list(do(jobs(NEEDS, begun), connections))
    assert sorted(done) == sorted(begun) == sorted(NEEDS)
    for name, needed in NEEDS.items():
        assert all(begun.index(other) < begun.index(name) for other in needed)


def test_what_most_others_wait_for_is_begun_first(connections):
    begun: list[str] = []
    held = threading.Event()

    def hold(_):
        assert held.wait(10)

    # On it the longest chain rests: it holds one connection, so that the other has to choose.
    holds = Job("holds", [], hold)
    first, root, last = jobs({"first leaf": [], "root": [], "last leaf": []}, begun)
    frees = Job("frees", ["root"], lambda _: held.set())
    chain = jobs({"second": ["holds"], "third": ["second"]}, begun)
    list(do([first, root, holds, last, frees, *chain], connections))
    assert begun[0] == "root"
    assert set(begun) == {"first leaf", "last leaf", "root", "second", "third"}


def test_an_error_ends_all_and_is_the_jobs(connections):
    def fail(_):
        raise ValueError("of the job")

    with pytest.raises(ValueError, match="of the job"):
        list(do([Job("bad", [], fail), Job("after", ["bad"], fail)], connections))
