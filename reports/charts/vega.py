"""The charts of a model report, as Vega-Lite: rendered offline to SVG or PNG, interactive in HTML.

Every chart is readable without colour: what matters has its own shape, dash or label.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .labels import Frame, Words

if TYPE_CHECKING:
    import altair as alt

Row = dict[str, Any]

WIDTH, HEIGHT = 620, 360
#: From dark to light and with distinct hues, so that they also differ in grey.
COLOURS = (
    "#1b3a5c", "#c2571a", "#2a8f6d", "#8a3b78", "#5a9bd4", "#d9a514", "#6b6b6b", "#a6321f", "#7fb069", "#3f3f8f",
    "#b08fc7",
)  # fmt: skip
#: Those of them on which black is more readable than white.
PALE = ("#5a9bd4", "#d9a514", "#7fb069", "#b08fc7", "#2a8f6d", "#c2571a")
PHASES = ["training", "prefill", "decode"]
#: Dash patterns to distinguish lines.
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
_SHAPES = ["circle", "square", "triangle-up"]
#: A ring around a disc: its hole runs in the opposite direction.
_RING = "M1.6,0A1.6,1.6,0,1,1,-1.6,0A1.6,1.6,0,1,1,1.6,0ZM1.3,0A1.3,1.3,0,1,0,-1.3,0A1.3,1.3,0,1,0,1.3,0Z"
_SMALL = 50
INTENSITY = "AI_hbm (FLOP/byte)"
SPEED = "TF_est (TFLOP/s)"
_NUMBER = "datum.value >= 1 ? format(datum.value, ',d') : format(datum.value, '~g')"
_CONFIG = {
    "font": "Helvetica, Arial, sans-serif",
    "background": "white",
    "axis": {"labelFontSize": 11, "titleFontSize": 12, "gridColor": "#e6e6e6", "titleFontWeight": "normal"},
    "legend": {
        "labelFontSize": 11,
        "titleFontSize": 11,
        "symbolSize": 90,
        "titleFontWeight": "normal",
        "labelLimit": 260,
    },
    "header": {"labelFontSize": 12, "titleFontSize": 12},
    "title": {"fontSize": 13, "anchor": "start", "fontWeight": "normal"},
    "view": {"stroke": "#cccccc"},
}


@dataclass(frozen=True)
class Chart:
    """A chart: its file's name, what it shows, and its Vega-Lite specification."""

    name: str
    title: str
    spec: dict[str, Any]

    def svg(self) -> str:
        """Return the chart as SVG."""
        import vl_convert

        return str(vl_convert.vegalite_to_svg(self.spec, vl_version=_version()))

    def png(self, scale: float = 2.0) -> bytes:
        """Return the chart as PNG."""
        import vl_convert

        return bytes(vl_convert.vegalite_to_png(self.spec, vl_version=_version(), scale=scale))


@dataclass(frozen=True)
class Roof:
    """One chip with one peak: the limit of its points.

    Attributes:
        chip: the chip.
        dtype: type that the peak is for; empty if one peak applies to all.
        peak_tflops: the peak, TFLOP/s.
        hbm_gbps: its memory's bandwidth, GB/s.
        place: 0 for the chip of the points, then the others.
    """

    chip: str
    dtype: str
    peak_tflops: float
    hbm_gbps: float
    place: int = 0

    @property
    def label(self) -> str:
        """Its name in a chart."""
        return f"{self.chip} {self.dtype}".strip()

    @property
    def ink(self) -> str:
        """Colour of its lines and its name: paler for chips other than the first."""
        return "#444444" if self.place == 0 else "#767676"

    @property
    def knee(self) -> float:
        """FLOP per byte where the slope meets the peak."""
        return 1e3 * self.peak_tflops / self.hbm_gbps


def scripts() -> str:
    """Return the JavaScript that makes the charts of a page interactive, without network access."""
    import vl_convert

    # Its stub does not declare that the snippet is optional.
    return str(vl_convert.javascript_bundle(vl_version=_version()))  # type: ignore[call-arg]


@functools.cache
def _version() -> str:
    import altair

    return ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])


def altair_module() -> Any:
    """Return altair, imported when the first chart is drawn."""
    import altair

    return altair


def chart(name: str, title: str, drawn: alt.TopLevelMixin) -> Chart:
    """Return a drawing as a chart."""
    # Validated by the tests: a report need not wait for it.
    spec = drawn.to_dict(validate=False)
    spec["config"] = _CONFIG
    return Chart(name, title, spec)


def data(rows: Sequence[Row]) -> Any:
    """Return rows as chart data."""
    return altair_module().Data(values=list(rows))


def _ticks(low: float, high: float) -> list[float]:
    """Return round values for a logarithmic axis: powers of ten, with 2 and 5 if those are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if math.log10(high / low) < 3 else (1,)
    values = (float(f"{step}e{power}") for power in decades for step in steps)
    return [value for value in values if low <= value <= high]


def log_axis(field: str, title: str, limits: tuple[float, float], axis: str = "X", ticks: Sequence[float] = ()) -> Any:
    """Return a logarithmic axis with its title and limits; ticks; default: round values."""
    alt = altair_module()
    channel = alt.X if axis == "X" else alt.Y
    shown = alt.Axis(values=list(ticks) or _ticks(*limits), format="~r", labelExpr=_NUMBER, labelOverlap="greedy")
    scale = alt.Scale(type="log", nice=False, domain=list(limits))
    return channel(f"{field}:Q", title=title, scale=scale, axis=shown)


def limits(values: Sequence[float], low: float, high: float) -> tuple[float, float]:
    """Return the limits of an axis: a factor below the minimum and a factor above the maximum."""
    known = [value for value in values if value and value > 0] or [1.0]
    return min(known) / low, max(known) * high


def _across(rows: Sequence[Row], roofs: Sequence[Roof]) -> tuple[float, float]:
    return limits([row["intensity"] for row in rows] + [roof.knee for roof in roofs], 3, 6)


def under_roofs(
    points: Sequence[Any], rows: Sequence[Row], roofs: Sequence[Roof], width: int,
    names: Sequence[tuple[str, float, float]] = (), paths: Sequence[Sequence[tuple[float, float]]] = (),
    rivals: Sequence[tuple[float, float]] = (),
) -> Any:  # fmt: skip
    """Return points with the roofs above them; the axes include all knees.

    Args:
        points: the layers that draw the points.
        rows: the coordinates of the points: intensity, tflops.
        roofs: the limits of the points.
        width: pixels across.
        names: labels for some of the points, with their intensity and TFLOP/s.
        paths: lines between points.
        rivals: unlabelled points, from which labelled ones must be distinguished.
    """
    alt = altair_module()
    across = _across(rows, roofs)
    lowest = min([row["tflops"] for row in rows if row["tflops"]] + [roof.peak_tflops for roof in roofs]) / 3
    frame = Frame(width, HEIGHT, across, (lowest, 2 * max(roof.peak_tflops for roof in roofs)))
    words = Words(frame, ("intensity", "tflops"))
    lines, knees = [], []
    for roof in roofs:
        start = max(across[0], frame.up[0] * 1e3 / roof.hbm_gbps)
        way = [
            (start, start * roof.hbm_gbps / 1e3), (roof.knee, roof.peak_tflops), (across[1], roof.peak_tflops)
        ]  # fmt: skip
        same = {"roof": roof.label, "dtype": roof.dtype, "ink": roof.ink}
        lines += [same | {"intensity": intensity, "tflops": tflops} for intensity, tflops in way]
        knees.append({"ink": roof.ink, "intensity": roof.knee, "tflops": roof.peak_tflops})
        words.avoid_path(way)
        words.avoid_upright(roof.knee)
    for path in paths:
        words.avoid_path(path)
    for row in rows:
        if row["intensity"] and row["tflops"]:
            words.avoid_point(row["intensity"], row["tflops"])
    for roof in roofs:
        # Below the line for the points' chip, above it for others, so that close ones do not collide.
        words.at_level(
            f"{roof.label}: {roof.peak_tflops:,.0f}", roof.knee, roof.peak_tflops, roof.ink, above=roof.place > 0
        )
    words.beside(names, rivals)
    x, y = log_axis("intensity", INTENSITY, across), log_axis("tflops", SPEED, frame.up, "Y")
    ink = alt.Color("ink:N", scale=None)
    # Solid for the highest peak, then dashed.
    types = [roof.dtype for roof in sorted(roofs, key=lambda roof: -roof.peak_tflops) if roof.place == 0]
    dash = alt.StrokeDash("dtype:N", legend=None, scale=alt.Scale(domain=types, range=list(DASHES[: len(types)])))
    walls = alt.Chart(data(lines)).mark_line(clip=True, strokeWidth=1.6).encode(
        x=x, y=y, detail="roof:N", strokeDash=dash, color=ink
    )  # fmt: skip
    dots = alt.Chart(data(knees)).mark_point(filled=True, size=35).encode(x=x, y=y, color=ink)
    rules = alt.Chart(data(knees)).mark_rule(strokeDash=[1, 3]).encode(x=x, color=ink)
    drawn = [part.encode(x=x, y=y) for part in points]
    whole = alt.layer(walls, rules, dots, *drawn, *words.layers(x, y)).properties(width=width, height=HEIGHT)
    return whole.resolve_scale(color="independent", shape="independent")


def profile_colour(executions: Sequence[str]) -> Any:
    """Return the colours of the execution profiles."""
    names = list(dict.fromkeys(executions))
    return altair_module().Color(
        "execution:N", title="profile", sort=names, scale=altair_module().Scale(domain=names, range=list(COLOURS)),
        legend=altair_module().Legend(symbolSize=_SMALL),
    )  # fmt: skip


def profile_shape(executions: Sequence[str]) -> Any:
    """Return the shapes of the execution profiles: a disc for the last, a ring around it for the first."""
    alt = altair_module()
    names = list(dict.fromkeys(executions))
    return alt.Shape(
        "execution:N", title="profile", sort=names, legend=alt.Legend(symbolSize=_SMALL),
        scale=alt.Scale(domain=names, range=[_RING, "circle"][-len(names) :]),
    )  # fmt: skip


def roofline(rows: Sequence[Row], roofs: Sequence[Roof], executions: Sequence[str]) -> Chart:
    """Return each phase with each profile under the roofs; rows: phase, execution, intensity, tflops, mfu."""
    alt = altair_module()
    tips = [
        alt.Tooltip("phase:N"), alt.Tooltip("execution:N", title="profile"),
        alt.Tooltip("intensity:Q", title=INTENSITY, format=",.4~g"),
        alt.Tooltip("tflops:Q", title=SPEED, format=",.4~g"), alt.Tooltip("mfu:Q", title="MFU_est", format=".1%"),
    ]  # fmt: skip
    shape = alt.Shape("phase:N", title="phase", scale=alt.Scale(domain=PHASES, range=_SHAPES))
    points = (
        alt.Chart(data(rows))
        .mark_point(size=110, filled=True, opacity=0.9)
        .encode(color=profile_colour(executions), shape=shape, tooltip=tips)
    )
    names = [
        (f"{row['phase']} {row['execution']}", row["intensity"], row["tflops"])
        for row in rows if row["intensity"] and row["tflops"]
    ]  # fmt: skip
    return chart("roofline", "Phases under the roofline", under_roofs([points], rows, roofs, WIDTH, names))


def category_roofline(
    phase: str, rows: Sequence[Row], roofs: Sequence[Roof], executions: Sequence[str], categories: Sequence[str]
) -> Chart | None:
    """Return the categories of a phase under the roofs, None if none has FLOP and bytes."""
    alt = altair_module()
    shown = [row for row in rows if row["intensity"] and row["tflops"]]
    if not shown:
        return None
    present = [category for category in categories if any(row["category"] == category for row in shown)]
    tips = [
        alt.Tooltip("category:N"), alt.Tooltip("execution:N", title="profile"),
        alt.Tooltip("intensity:Q", title=INTENSITY, format=",.4~g"),
        alt.Tooltip("tflops:Q", title=SPEED, format=",.4~g"),
    ]  # fmt: skip
    base = alt.Chart(data(shown)).encode(color=category_colour(present, categories))
    points = base.mark_point(size=55, filled=True, opacity=0.9).encode(shape=profile_shape(executions), tooltip=tips)
    # Connects one category's points of both profiles: only the last has its name.
    links = base.mark_line(strokeWidth=1).encode(
        detail="category:N", color=category_colour(present, categories).legend(None)
    )
    at = {(row["category"], row["execution"]): (row["intensity"], row["tflops"]) for row in shown}
    last = [(category, *at[category, executions[-1]]) for category in present if (category, executions[-1]) in at]
    paths = [[at[category, each] for each in executions if (category, each) in at] for category in present]
    drawn = under_roofs([links, points], shown, roofs, WIDTH, last, paths)
    return chart(f"{phase}_category_roofline", f"{phase}: categories under the roofline", drawn)


def category_colour(present: Sequence[str], categories: Sequence[str]) -> Any:
    """Return the colours of some categories, the same in every chart of a report."""
    colours = [COLOURS[categories.index(category) % len(COLOURS)] for category in present]
    return altair_module().Color(
        "category:N",
        title="category",
        sort=list(present),
        scale=altair_module().Scale(domain=list(present), range=colours),
    )
