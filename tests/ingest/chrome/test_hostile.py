"""A fuzzer that knows the structure of a trace: whatever is done to its text, no event is lost without a count.

Where Python's json reads the file, the lake holds what it reads. Where it does not, every event whose text survived is
stored, or is among the rejected, or in the bytes skipped; none is stored twice, nothing hangs, nothing but an
`InputError` is raised, and no sample shows what stands around the events.
"""

import json
import time
from collections import Counter
from typing import Any

import pytest

from tracelake.engine.errors import InputError
from tracelake.engine.storage.layout import Layout
from tracelake.ingest.one import Ingested

from ...support import Number, entry_of, ingest_bytes, new_lake, pieces_of, stored
from ..strange_traces import expected_rows, plain, row_of
from .hostile import KINDS, SECRET, Case, case

#: CPU seconds that no case needs.
LIMIT = 10
_COLUMNS = {"ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "args"}


def python_events(text: bytes) -> list[Any] | None:
    """Return the events of all arrays as Python's json reads them; None where the text is no JSON, or no trace."""
    numbers: dict[str, Any] = dict.fromkeys(("parse_int", "parse_float", "parse_constant"), Number)

    class Top(dict):
        pairs: Any = ()

    def kept(pairs: list[tuple[str, Any]]) -> Top:
        found = Top(pairs)
        found.pairs = pairs
        return found

    try:
        found = json.loads(text.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace"), strict=False,
                           object_pairs_hook=kept, **numbers)  # fmt: skip
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list):
        return found
    if not isinstance(found, dict):
        return None
    arrays = [value for key, value in found.pairs if key == "traceEvents" and isinstance(value, list)]
    return [event for array in arrays for event in array] if arrays else None


def extra_of(event: dict[str, Any]) -> Any:
    return plain({key: value for key, value in event.items() if key not in _COLUMNS})


def check_valid(events: list[Any], rows: list[dict[str, Any]], result: Ingested, made: Case) -> None:
    """Hold the rows against Python's reading of the file."""
    assert [row_of(row) for row in rows] == expected_rows(events)
    assert [plain(json.loads(row["extra"] or "{}", parse_constant=Number)) for row in rows] == [
        extra_of(events[row["event_id"]]) for row in rows
    ]
    assert result.rejected == len(events) - len(rows) - events.count({})
    assert result.skipped == 0
    assert result.truncated == (not made.whole)


def check_damaged(rows: list[dict[str, Any]], result: Ingested, made: Case) -> int:
    """Hold the rows against the text: what survived in it is stored or counted. Return how many events are missing."""
    ids = [row["event_id"] for row in rows]
    assert len(ids) == len(set(ids)) == result.events
    names = Counter(row["name"] for row in rows)
    # An array of another name holds no events. What a decompressor gives before it meets damage is its own choice.
    survived = b"" if made.flipped else made.text.split(b'"other": [')[0]
    missing = []
    for nth, text in enumerate(made.events):
        name = f"#{nth}#"
        assert names[name] <= made.text.count(name.encode()), f"{name} is stored twice"
        if text not in survived:
            continue
        if not names[name]:
            missing.append(len(text))
        elif made.text.count(name.encode()) == 1:
            [row] = [row for row in rows if row["name"] == name]
            event = json.loads(text, parse_int=Number, parse_float=Number)
            [wanted] = expected_rows([event])
            assert row_of(row) == wanted | {"event_id": row["event_id"]}
    # Each of those rejected may be one of the missing: the longest, for the sake of the argument.
    rest = sorted(missing)[: max(0, len(missing) - result.rejected)]
    assert sum(rest) <= result.skipped, f"{len(rest)} events are in {result.skipped} skipped bytes"
    return len(missing)


def try_case(lake: Layout, kind: str, seed: int) -> int:
    """Ingest a case and check what became of it; return how many events that survived in the text are not stored."""
    made = case(kind, seed)
    events = python_events(made.text)
    begun = time.process_time()
    try:
        with pieces_of(made.piece):
            result = ingest_bytes(lake, made.content, f"{kind}-{seed}.json")
    except InputError as error:
        if SECRET in str(error):
            raise AssertionError("the message shows a secret") from error
        if events is not None and not made.flipped:
            assert expected_rows(events) == []
        elif made.head in made.text and not made.flipped:
            # Without its head a text is no trace; with it, the events that are there must be read.
            assert not any(text in made.text for text in made.events)
        return 0
    finally:
        assert time.process_time() - begun < LIMIT
    rows = stored(lake, result.trace_id)
    (samples,) = entry_of(lake, result.trace_id, "samples")
    assert SECRET not in samples
    if events is None or made.flipped:
        return check_damaged(rows, result, made)
    check_valid(events, rows, result, made)
    return 0


def try_cases(folder: Any, kind: str, seeds: range) -> None:
    """Try cases of a class of damage; say of each that fails which it was."""
    lake = new_lake(folder / "lake")
    failed, missing = {}, 0
    for seed in seeds:
        try:
            missing += try_case(lake, kind, seed)
        except Exception as error:  # noqa: BLE001 - a case that fails is named with the others
            failed[seed] = f"{type(error).__name__}: {str(error)[:600]}"
    print(  # noqa: T201 - the figures of a run, shown with -s
        f"{kind}: {len(seeds)} tried, {len(seeds) - len(failed)} passed, {missing} whole events counted, not stored"
    )
    assert failed == {}
    # Damage costs what it stands in: of the events that survived in the text nearly all are stored.
    assert missing <= len(seeds)


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_done_to_a_trace_no_event_is_lost_without_a_count(tmp_path, kind):
    try_cases(tmp_path, kind, range(13))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_done_to_a_trace_no_event_is_lost_without_a_count_in_many_more_cases(tmp_path, kind):
    try_cases(tmp_path, kind, range(13, 153))
