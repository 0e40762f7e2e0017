"""The headline of reports in five lines: what a trace is, its step time, where the time goes, what to do, and trust."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from ...engine.text import printable
from ..output.grid import bar_of_parts, cut_middle
from ..output.screen import Screen, painted

if TYPE_CHECKING:
    from ...engine.store import Store

#: Parts of the devices' time, by their columns of headlines, and their names for people.
_PARTS = {
    "compute_pct": "compute", "exposed_communication_pct": "communication alone", "exposed_memory_pct": "copies alone",
    "host_bound_pct": "no launch", "other_idle_pct": "idle",
}  # fmt: skip
#: Their fills in one bar, distinguishable without colours.
_FILLS = dict(zip(_PARTS.values(), "█▓▒░·", strict=True))
#: A name in the evidence is shortened to this many characters: a kernel's may have hundreds.
_LONGEST_NAME = 40
#: A bracket; the > of an arrow is not one.
_BRACKET = re.compile(r"[<(\[{)\]}]|(?<!-)>")

#: A time in a sentence.
_MICROSECONDS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?) µs")


@dataclass(frozen=True)
class Headline:
    """A trace at a glance.

    Attributes:
        trace: its name.
        trace_id: its id.
        what: what the trace is of.
        step: the step time.
        parts: parts of the devices' time in percent, which sum to 100; empty without device operations.
        lead: the main finding, and its effect.
        todo: the same with its evidence and what to try.
        trust: how far to trust the answers.
        mood: ok, warning or error: the worst finding of the checks.
    """

    trace: str
    trace_id: str
    what: str
    step: str
    parts: tuple[tuple[str, float], ...]
    lead: str
    todo: str
    trust: str
    mood: str

    def where_with(self, fills: Mapping[str, str]) -> str:
        """Return where the time goes as text, each part after its fill in a bar."""
        named = (f"{fills.get(name, '')} {name} {pct:.1f} %".lstrip() for name, pct in self.parts if pct >= 0.05)
        return ", ".join(named) or "no device operation takes time"

    def lines(self) -> list[tuple[str, str]]:
        """Return the five lines, each with its label."""
        texts = (self.what, self.step, self.where_with({}), self.todo, self.trust)
        return list(zip(("what", "step", "time", "first", "trust"), texts, strict=True))


#: A check that found something: its severity (error or warning), its name and its message.
Alarm = tuple[str, str, str]


def alarms(store: Store, trace_id: str | None = None) -> dict[str, list[Alarm]]:
    """Return the health checks that found something in one trace, or in all, errors first, by trace."""
    of_one = "" if trace_id is None else "AND trace_id = $1"
    rows = store.rows(
        "SELECT trace_id, severity, \"check\", if(unit = 'percent', format('{:.1f} % ', value), '') || message "
        f"FROM health WHERE severity IN ('error', 'warning') {of_one} "
        'ORDER BY trace_id, severity, "check"',
        [] if trace_id is None else [trace_id],
    )
    found: dict[str, list[Alarm]] = {}
    for trace, *alarm in rows:
        found.setdefault(trace, []).append((alarm[0], alarm[1], alarm[2]))
    return found


def headline(store: Store, trace_id: str, found: Sequence[Alarm] | None = None) -> Headline:
    """Return the headline of a trace.

    Args:
        store: the lake.
        trace_id: the trace.
        found: its alarms, if known: they take longer than the rest.
    """
    known = alarms(store, trace_id) if found is None else {trace_id: list(found)}
    return _headlines(store, trace_id, known)[0]


def headlines(store: Store) -> list[Headline]:
    """Return the headlines of all traces, the latest ingested first."""
    return _headlines(store, None, alarms(store))


def _headlines(store: Store, trace_id: str | None, found: Mapping[str, list[Alarm]]) -> list[Headline]:
    of_one = "" if trace_id is None else "WHERE trace_id = $trace_id"
    rows = store.objects(
        f"SELECT * FROM headlines {of_one} ORDER BY ingested_at DESC, trace, trace_id",
        **({} if trace_id is None else {"trace_id": trace_id}),
    )
    return [_headline(row, found.get(row["trace_id"], [])) for row in rows]


def _headline(row: dict[str, Any], found: Sequence[Alarm]) -> Headline:
    return Headline(
        trace=row["trace"], trace_id=row["trace_id"], what=_what(row), step=_step(row),
        parts=tuple((name, row[key]) for key, name in _PARTS.items() if row[key] is not None),
        lead=_lead(row), todo=_todo(row), trust=_trust(row, found),
        mood=found[0][0] if found else "warning" if row["truncated"] else "ok",
    )  # fmt: skip


def _what(row: dict[str, Any]) -> str:
    model = row["model"] or "unknown model"
    hardware = row["hardware"]
    device = row["device_name"] or hardware or "unknown device"
    chip = f" ({hardware})" if hardware and row["device_name"] else ""
    of = f"{row['phase']} of {model}" if row["phase"] else model
    return f"{of} on {_count(row['devices'], 'device')}: {device}{chip}; {_count(row['passes'], 'pass', 'passes')}"


def _step(row: dict[str, Any]) -> str:
    if row["step_median_us"] is None:
        if row["window_us"] is None:
            return "no steps are marked, and no device operation takes time"
        return f"no steps are marked; {duration(row['window_us'])} from the first operation to the last"
    steps = f"median of {row['steps']}" if row["steps"] > 1 else "the only one"
    spread = f", 9 of 10 within {duration(row['step_p90_us'])}" if row["steps"] > 1 else ""
    tokens = f", {row['step_tokens']:g} tokens" if row["step_tokens"] else ""
    every = f", one every {duration(row['step_period_us'])}: they overlap" if row["steps_overlap"] else ""
    where = "" if row["devices"] else " on the host"
    return f"{duration(row['step_median_us'])} a step{where}{every} ({row['step_source']}; {steps}{spread}{tokens})"


def _lead(row: dict[str, Any]) -> str:
    if row["finding"] is None:
        return "nothing stands out" if row["window_us"] else "the trace holds too little to judge"
    return f"{row['title']}: at most {duration(row['gain_us'])} of device time, {row['gain_pct']:.1f} %, to gain"


def _todo(row: dict[str, Any]) -> str:
    if row["finding"] is None:
        return _lead(row)
    return f"{_lead(row)}. {shortened(row['evidence'])}. {row['advice'] or ''}".rstrip()


def shortened(evidence: str) -> str:
    """Shorten names of kernels in a sentence in the middle, and its times to three digits."""
    times = _MICROSECONDS.sub(lambda time: duration(float(time[1])), evidence)
    return " ".join(cut_middle(name, _LONGEST_NAME) for name in _names(times.split(" ")))


def _names(words: Sequence[str]) -> Iterator[str]:
    """Yield words; those within brackets, as of a C++ name with arguments, are one with the word before them."""
    first = 0
    while first < len(words):
        after, depth = first, 0
        while after < len(words) and (after == first or depth > 0):
            depth += sum(1 if bracket in "<([{" else -1 for bracket in _BRACKET.findall(words[after]))
            after += 1
        if depth > 0:
            after = first + 1  # A bracket that is never closed, as of operator<, holds nothing.
        yield " ".join(words[first:after])
        first = after


def _trust(row: dict[str, Any], found: Sequence[Alarm]) -> str:
    held = "no layers were found"
    if row["passes"]:
        held = f"layers hold {row['coverage_pct'] or 0.0:.1f} % of the busy time"
    read = _count(row["rejected_count"], "rejected event") + (", cut short" if row["truncated"] else "")
    if not found:
        return f"{held}; {read}; no warnings"
    counts = {kind: sum(severity == kind for severity, *_ in found) for kind in ("error", "warning")}
    noted = ", ".join(_count(number, kind) for kind, number in counts.items() if number)
    _, check, message = found[0]
    return f"{held}; {read}; {noted}: {check}: {message}"


def _count(number: int, one: str, several: str | None = None) -> str:
    return f"{number} {one if number == 1 else several or one + 's'}"


def duration(us: float) -> str:
    """Return a time with three digits, in a suitable unit."""
    unit, size = ("s", 1e6) if us >= 1e6 else ("ms", 1e3) if us >= 1e3 else ("µs", 1.0)
    value = us / size
    return f"{value:.{max(0, 2 - len(str(int(value))) + 1)}f} {unit}"


def write_headline(found: Headline, out: IO[str], screen: Screen) -> None:
    """Write the five lines; below the one of the times, a stacked bar of them."""
    width = screen.width or 100
    out.write(painted(printable(found.trace), "bold", screen) + "\n")
    for label, text in found.lines():
        shown = found.where_with(_FILLS) if label == "time" else text
        mood = found.mood if label == "trust" else ""
        for place, line in enumerate(textwrap.wrap(printable(shown), width - 8, break_on_hyphens=False) or [""]):
            head = painted(f"{label:<7}", "dim", screen) if place == 0 else " " * 7
            out.write(f" {head}{painted(line, mood, screen)}\n")
        if label == "time" and found.parts:
            pieces = bar_of_parts([(pct, _FILLS[name]) for name, pct in found.parts], min(width - 9, 100))
            bar = (painted(piece, name, screen) for piece, (name, _) in zip(pieces, found.parts, strict=True))
            out.write(f"        {''.join(bar)}\n")
