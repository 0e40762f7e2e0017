"""Places the labels of a chart without overlap with each other and with points, and mostly without overlap with lines.

Each label gets the candidate place with the lowest cost; one far from its point gets a thin leader
line to it. Computations are in pixels, from the top left; what is drawn is in the units of the axes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

FONT, TALL = 10, 12
#: The cost of a place for each thing that it overlaps.
_WORDS, _POINT, LINE, _RULE, _LEADER, _ASTRAY = 1000.0, 60.0, 12.0, 2.0, 3.0, 30.0
_SIDES = ((1, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (-1, 0), (0, 1), (0, -1))
_AWAY = (8, 14, 22, 32, 44, 58, 74, 92, 112)
#: Below the first distance a label gets no leader, above the second always.
_NEAR, _FAR = 10, 20
#: Widths of characters in ems, from Adobe's metrics of Helvetica; default: that of a digit, 0.556.
_WIDTHS = {
    one: each
    for each, those in (
        (0.222, "ijl"), (0.278, "ft.,:;/ I"), (0.333, "r-()"), (0.5, "cksvxyzJ"),
        (0.584, "=+<>\N{MULTIPLICATION SIGN}"), (0.611, "FTZ"), (0.667, "ABEKPSVXY"), (0.722, "CDHNRUw"),
        (0.778, "GOQ"), (0.833, "mM"), (0.889, "%"), (0.944, "W"),
    ) for one in those
}  # fmt: skip

Box = tuple[float, float, float, float]
Segment = tuple[float, float, float, float]


@dataclass(frozen=True)
class Spot:
    """A candidate place of a label: its left end, at half its height, and its own cost."""

    left: float
    middle: float
    cost: float
    leader: bool = False
    upwards: bool = False

    def box(self, width: float) -> Box:
        """Return the box of a label of this width."""
        if self.upwards:
            return (self.left - TALL / 2, self.middle - width, self.left + TALL / 2, self.middle)
        return (self.left, self.middle - TALL / 2, self.left + width, self.middle + TALL / 2)


@dataclass(frozen=True)
class Frame:
    """A chart's area with two logarithmic axes: its size in pixels and the limits of its axes."""

    width: float
    height: float
    across: tuple[float, float]
    up: tuple[float, float]

    def pixels(self, x: float, y: float) -> tuple[float, float]:
        """Return the position of values in pixels."""
        return (
            self.width * math.log(x / self.across[0]) / math.log(self.across[1] / self.across[0]),
            self.height * (1 - math.log(y / self.up[0]) / math.log(self.up[1] / self.up[0])),
        )

    def values(self, left: float, top: float) -> tuple[float, float]:
        """Return the values at a position."""
        return (
            self.across[0] * (self.across[1] / self.across[0]) ** (left / self.width),
            self.up[0] * (self.up[1] / self.up[0]) ** (1 - top / self.height),
        )


def wide(words: str, size: float = FONT) -> float:
    """Return the width in pixels of a text in Helvetica, or in Arial, which has the same widths."""
    return size * sum(_WIDTHS.get(one, 0.556) for one in words) + 1


class Words:
    """The labels of a chart, placed one after the other."""

    def __init__(self, frame: Frame, fields: tuple[str, str]) -> None:
        """Start with an empty frame.

        Args:
            frame: the area.
            fields: names of the two values in the chart's rows.
        """
        self.frame = frame
        self.fields = fields
        self._taken: list[Box] = []
        self._points: list[Box] = []
        self._rivals: list[tuple[float, float]] = []
        self._led: list[Segment] = []
        self._lines: list[tuple[Segment, float]] = []
        self._rows: list[dict[str, Any]] = []
        self._leaders: list[dict[str, Any]] = []

    def avoid_point(self, x: float, y: float, radius: float = 6) -> None:
        """Keep labels off a point."""
        across, down = self.frame.pixels(x, y)
        self._points.append((across - radius, down - radius, across + radius, down + radius))

    def avoid_path(self, values: Sequence[tuple[float, float]], cost: float = LINE) -> None:
        """Keep labels off a line through points."""
        for start, end in itertools.pairwise(values):
            self._lines.append(((*self.frame.pixels(*start), *self.frame.pixels(*end)), cost))

    def avoid_upright(self, x: float, cost: float = _RULE) -> None:
        """Keep labels off a vertical line."""
        across, _ = self.frame.pixels(x, self.frame.up[0])
        self._lines.append(((across, 0, across, self.frame.height), cost))

    def beside(
        self, named: Sequence[tuple[str, float, float]], rivals: Sequence[tuple[float, float]] = (),
        ink: str = "#333333",
    ) -> None:  # fmt: skip
        """Label points; coinciding points share one label.

        Args:
            named: each point's label and its two values.
            rivals: unlabelled points, which might be confused with labelled ones.
            ink: colour of the labels.
        """
        groups = together(named, self.frame)
        points = [self.frame.pixels(*values) for _, *values in groups]
        self._rivals = [*points, *(self.frame.pixels(*rival) for rival in rivals)]
        for (words, *_), point in zip(groups, points, strict=True):
            self._put(words, point, _around(words, *point), ink)

    def at_upright(self, words: str, x: float, ink: str = "#333333") -> None:
        """Label a vertical line: beside it, near the bottom, or along it if that is too narrow."""
        across, _ = self.frame.pixels(x, self.frame.up[0])
        width = wide(words)
        spots = [
            spot
            for nth, middle in enumerate(range(round(self.frame.height) - 10, 10, -14)) for left in (True, False)
            for spot in (
                Spot(across - 5 - width if left else across + 5, middle, 0.6 * nth + (0 if left else 0.3)),
                Spot(across - 8 if left else across + 8, middle, 8 + 0.6 * nth + (0 if left else 0.3), upwards=True),
            )
        ]  # fmt: skip
        self._put(words, None, spots, ink)

    def at_level(self, words: str, start: float, y: float, ink: str = "#333333", *, above: bool = False) -> None:
        """Label a horizontal line from a value to the right edge: at the right, above or below it."""
        first, down = self.frame.pixels(start, y)
        last = self.frame.width - 4 - wide(words)
        spots = (
            Spot(left, down + (-9 if over else 10), nth + (1.5 if over != above else 0))
            for nth, left in enumerate(itertools.takewhile(lambda left: left >= first, itertools.count(last, -16)))
            for over in (False, True)
        )  # fmt: skip
        # If the line is too short, its label is at the edge.
        self._put(words, None, itertools.chain(spots, [Spot(last, down + 10, 50), Spot(last, down - 9, 50)]), ink)

    def layers(self, x: Any, y: Any) -> list[Any]:
        """Return the layers to draw on top; labels have a white halo that separates them from lines."""
        import altair

        alt: Any = altair
        drawn = []
        for upwards in sorted({row["upwards"] for row in self._rows}):
            rows = [row for row in self._rows if row["upwards"] == upwards]
            base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, text="words:N")
            text = {"align": "left", "baseline": "middle", "fontSize": FONT, "angle": 270 if upwards else 0}
            seam = {"stroke": "white", "strokeWidth": 3, "strokeJoin": "round", "color": "white", "opacity": 0.9}
            drawn += [
                base.mark_text(**text, **seam),
                base.mark_text(**text).encode(color=alt.Color("ink:N", scale=None)),
            ]
        if self._leaders:
            leaders = alt.Chart(alt.Data(values=self._leaders))
            drawn.insert(0, leaders.mark_line(color="#777777", strokeWidth=0.8).encode(x=x, y=y, detail="words:N"))
        return drawn

    def _put(self, words: str, point: tuple[float, float] | None, spots: Iterable[Spot], ink: str) -> None:
        width = wide(words)
        best = min(spots, key=lambda spot: self._cost(spot, width, point))
        box = best.box(width)
        self._taken.append(box)
        x, y = self.frame.values(best.left, best.middle)
        row = {"words": words, "ink": ink, "upwards": best.upwards, self.fields[0]: x, self.fields[1]: y}
        self._rows.append(row)
        if best.leader and point:
            end = _nearest(box, point)
            self._lines.append(((*point, *end), LINE))
            self._led.append((*point, *end))
            for at in (point, end):
                x, y = self.frame.values(*at)
                self._leaders.append({"words": words, self.fields[0]: x, self.fields[1]: y})

    def _cost(self, spot: Spot, width: float, point: tuple[float, float] | None) -> float:
        box = spot.box(width)
        if box[0] < 0 or box[1] < 0 or box[2] > self.frame.width or box[3] > self.frame.height:
            return 5 * _WORDS + spot.cost
        cost = spot.cost
        cost += _WORDS * sum(_meet(box, other) for other in self._taken)
        cost += _POINT * sum(_meet(box, other) for other in self._points)
        seam = (box[0] - 1.5, box[1] - 1.5, box[2] + 1.5, box[3] + 1.5)
        cost += sum(each for segment, each in self._lines if _crosses(segment, seam))
        if spot.leader and point:
            leader = (*point, *_nearest(box, point))
            mine = [other for other in self._points if not _meet((*point, *point), other)]
            cost += _LEADER + _POINT * sum(_crosses(leader, other) for other in self._taken)
            cost += _LEADER * sum(_crosses(leader, other) for other in mine)
            # Crossing leaders are hard to follow.
            cost += _POINT * sum(_cut(leader, other) for other in self._led)
        if point:
            # A label nearer to another point, or beyond a line, might be attributed wrongly; with a leader less so.
            way = (*point, *_nearest(box, point))
            own = math.dist(point, way[2:])
            near = [of for of in self._rivals if math.dist(of, _nearest(box, of)) < own and math.dist(of, point) > 1]
            beyond = [line for line, each in self._lines if each >= LINE and _cut(way, line)]
            cost += (_ASTRAY / 5 if spot.leader else _ASTRAY) * (len(near) + len(beyond))
        return cost


def together(
    points: Sequence[tuple[str, float, float]], frame: Frame, near: float = 7
) -> list[tuple[str, float, float]]:
    """Return points to label, with coinciding ones merged.

    Args:
        points: each point's name and its two values.
        frame: the area.
        near: pixels, horizontally and vertically, within which two coincide.
    """
    groups: list[list[tuple[str, float, float]]] = []
    for point in sorted(points, key=lambda point: point[1:]):
        across, down = frame.pixels(*point[1:])
        for group in groups:
            left, top = frame.pixels(*group[0][1:])
            if abs(across - left) <= near and abs(down - top) <= near:
                group.append(point)
                break
        else:
            groups.append([point])
    return [(", ".join(name for name, *_ in group), *group[0][1:]) for group in groups]


def _around(words: str, across: float, down: float) -> Iterator[Spot]:
    width, half = wide(words), TALL / 2
    for away in _AWAY:
        for nth, (right, below) in enumerate(_SIDES):
            # Diagonally, the corner is as far away as an edge otherwise.
            part = away * (0.75 if right and below else 1)
            left = across + part if right > 0 else across - part - width if right < 0 else across - width / 2
            middle = down + below * (part + half if below else 0)
            if away < _FAR:
                yield Spot(left, middle, away / 4 + 0.4 * nth)
            if away > _NEAR:
                yield Spot(left, middle, away / 4 + 0.4 * nth, leader=True)


def _meet(one: Box, other: Box) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


def _nearest(box: Box, point: tuple[float, float]) -> tuple[float, float]:
    return min(max(point[0], box[0]), box[2]), min(max(point[1], box[1]), box[3])


def _crosses(segment: Segment, box: Box) -> bool:
    """Return whether any part of a line is in a box, by clipping it at each side (Liang and Barsky)."""
    x, y, over, down = segment[0], segment[1], segment[2] - segment[0], segment[3] - segment[1]
    first, last = 0.0, 1.0
    for step, room in ((-over, x - box[0]), (over, box[2] - x), (-down, y - box[1]), (down, box[3] - y)):
        if step == 0:
            if room < 0:
                return False
        elif step < 0:
            first = max(first, room / step)
        else:
            last = min(last, room / step)
    return first <= last


def _cut(one: Segment, other: Segment) -> bool:
    """Return whether two lines cross: the ends of each are on both sides of the other."""

    def side(line: Segment, x: float, y: float) -> float:
        return (line[2] - line[0]) * (y - line[1]) - (line[3] - line[1]) * (x - line[0])

    apart = side(one, *other[:2]) * side(one, *other[2:])
    # An end on the other line does not cross it.
    return apart < -1e-3 and side(other, *one[:2]) * side(other, *one[2:]) < -1e-3
