"""The part of a trace that is written to a file, and the region to look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, SupportsIndex

from ...analysis.passes import check_layers, find_one_pass, whole
from ...engine.errors import UsageError

if TYPE_CHECKING:
    from ...engine.store import Store

#: Places to look at, each with the relation that lists its numbers.
PLACES = {"pass": "passes", "layer": "layers", "step": "steps", "gap": "gaps", "kernel": "kernels"}


#: Before and after all times.
EVER = (-(1 << 63), (1 << 63) - 1)


class Part(NamedTuple):
    """A stretch of a trace's time, ns on the trace's clock; everything that overlaps it is written in full.

    Attributes:
        from_ns: its start.
        until_ns: its end.
        start_ns: start of the region to look at.
        end_ns: end of that.
    """

    from_ns: int
    until_ns: int
    start_ns: int
    end_ns: int

    def moved(self, by_ns: int) -> Part:
        """Return the same stretch on a clock that is ahead."""
        return Part(*(min(max(time_ns + by_ns, EVER[0]), EVER[1]) for time_ns in self))


def part_of(
    store: Store, trace_id: str, pass_id: SupportsIndex | None = None, layers: Sequence[int] = (),
    at: Mapping[str, int] | None = None,
) -> Part:  # fmt: skip
    """Return the part of a trace to show.

    Args:
        store: the lake.
        trace_id: the trace.
        pass_id: only this pass, with the calls that launched it.
        layers: only these layers of the pass; by default of the chosen one.
        at: the region to look at, as {"pass": 1, "layer": 3}, {"step": 2}, {"gap": 5} or {"kernel": 17}: in its
            enclosing pass or step, or in the whole trace.

    Raises:
        UsageError: the trace has no such pass or place, or the place is outside of the given pass or layers.
    """
    layers = [whole("layer", layer) for layer in layers]
    wanted = {kind: whole(kind, number) for kind, number in (at or {}).items()}
    asked = wanted.pop("pass", pass_id)
    if pass_id not in (None, asked):
        raise UsageError(f"pass {asked}: outside of pass {pass_id}, which the file was to have alone.")
    of_pass = None
    if layers or "layer" in wanted or asked is not None:
        of_pass = find_one_pass(store, trace_id, asked)
        check_layers(store, trace_id, of_pass, [*layers, *([wanted["layer"]] if "layer" in wanted else [])])
    window = look = None
    if layers:
        window = _span(store, trace_id, "perfetto_ranges", "pass_id = $2 AND layer_id IN $3", of_pass, list(layers))
    elif of_pass is not None:
        window = _of_pass(store, trace_id, of_pass)
    if len(wanted) > 1:
        raise UsageError(f"give one of {', '.join(wanted)} to look at.")
    for kind, number in wanted.items():
        look = _place(store, trace_id, kind, number, of_pass)
        if window is not None and not (look[0] < window[1] and max(look[1], look[0] + 1) > window[0]):
            of = f"layers {', '.join(map(str, layers))} of pass {of_pass}" if layers else f"pass {of_pass}"
            raise UsageError(f"{kind} {number}: outside of {of}, which the file was to have alone.")
        window = window or (look if kind == "step" else _around(store, trace_id, look[0]))
    if window is None:
        [trace_span] = store.rows(
            "SELECT coalesce(min(start_ns), 0), coalesce(max(end_ns), 0) + 1 FROM traces WHERE trace_id = $1",
            [trace_id],
        )
        return Part(*EVER, *(look or trace_span))
    [(launch_ns,)] = store.rows(
        "SELECT min(launch_ns) FROM kernels WHERE trace_id = $1 AND start_ns < $3 AND end_ns > $2", [trace_id, *window]
    )
    launched = window[0] if launch_ns is None else min(window[0], launch_ns)
    return Part(launched, window[1], *(look or window))


def _place(store: Store, trace_id: str, kind: str, number: int, pass_id: int | None) -> tuple[int, int]:
    """Return the span of a place."""
    if kind not in PLACES:
        raise UsageError(f"{kind}: expected one of {', '.join(PLACES)}.")
    if kind == "kernel":
        query = "SELECT start_ns, end_ns FROM kernels WHERE trace_id = $1 AND kernel_id = $2"
        found = next(iter(store.rows(query, [trace_id, number])), None)
    elif kind == "layer":
        found = _span(store, trace_id, "perfetto_ranges", "pass_id = $2 AND layer_id = $3", pass_id, number)
    elif kind == "step":
        found = _span(store, trace_id, "steps", "device >= 0 AND step_id = $2", number)
    else:
        found = _span(store, trace_id, "gaps", "gap_id = $2", number)
    if found is None:
        raise UsageError(
            f"{kind} {number}: the trace has none of this number on a device. "
            f'`tracelake sql "FROM {PLACES[kind]}"` lists {kind}s with their numbers.'
        )
    return found


def _around(store: Store, trace_id: str, at_ns: int) -> tuple[int, int] | None:
    """Return the span of the pass that runs at a time on some device, else of the step; None if there is neither."""
    [(pass_id,)] = store.rows(
        "SELECT min(pass_id) FROM perfetto_ranges WHERE trace_id = $1 AND range IN ('pass', 'prologue', 'epilogue') "
        "AND start_ns <= $2 AND end_ns > $2",
        [trace_id, at_ns],
    )
    if pass_id is not None:
        return _of_pass(store, trace_id, pass_id)
    return _span(store, trace_id, "steps", "device >= 0 AND start_ns <= $2 AND end_ns > $2", at_ns)


def _of_pass(store: Store, trace_id: str, pass_id: int) -> tuple[int, int] | None:
    """Return the span of a pass with what surrounds its layers."""
    return _span(store, trace_id, "perfetto_ranges", "pass_id = $2 AND range <> 'gap'", pass_id)


def _span(store: Store, trace_id: str, relation: str, condition: str, *parameters: object) -> tuple[int, int] | None:
    """Return the first start and the last end of some rows on all devices; None if there are none."""
    [(start_ns, end_ns)] = store.rows(
        f"SELECT min(start_ns), max(end_ns) FROM {relation} WHERE trace_id = $1 AND {condition}",
        [trace_id, *parameters],
    )
    return None if start_ns is None else (start_ns, end_ns)
