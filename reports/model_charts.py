"""The charts of a model report, as Vega-Lite: drawn offline to SVG or PNG, alive in HTML.

Every chart can be read without colour: what matters has a shape, a dash or a label of its own.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair as alt

Row = dict[str, Any]

WIDTH, HEIGHT = 620, 360
#: Dark to light and apart in hue, so that they differ in grey too.
COLOURS = (
    "#1b3a5c", "#c2571a", "#2a8f6d", "#8a3b78", "#5a9bd4", "#d9a514", "#6b6b6b", "#a6321f", "#7fb069", "#3f3f8f",
    "#b08fc7",
)  # fmt: skip
PHASES = ["training", "prefill", "decode"]
_SHAPES = ["circle", "square", "triangle-up"]
_INTENSITY = "AI_hbm (FLOP/byte)"
_SPEED = "TF_est (TFLOP/s)"
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
    """A chart: its file's name, what it shows, and its specification in Vega-Lite."""

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
    """One chip with one peak: what bounds its points.

    Attributes:
        chip: the chip.
        dtype: type that the peak is of; empty where one counts for all.
        peak_tflops: the peak, TFLOP/s.
        hbm_gbps: its memory's bandwidth, GB/s.
        place: 0 for the chip that the points are of, then the others.
    """

    chip: str
    dtype: str
    peak_tflops: float
    hbm_gbps: float
    place: int = 0

    @property
    def label(self) -> str:
        """What a chart calls it."""
        return f"{self.chip} {self.dtype}".strip()

    @property
    def knee(self) -> float:
        """FLOP per byte where the slope meets the peak."""
        return 1e3 * self.peak_tflops / self.hbm_gbps


def scripts() -> str:
    """Return the JavaScript that makes the charts alive in a page, without any network."""
    import vl_convert

    # Its stub does not know that the snippet may be left out.
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
    """Return what was drawn as a chart."""
    # Checked by the tests: a report need not wait for it.
    spec = drawn.to_dict(validate=False)
    spec["config"] = _CONFIG
    return Chart(name, title, spec)


def data(rows: Sequence[Row]) -> Any:
    """Return rows as a chart takes them."""
    return altair_module().Data(values=list(rows))


def _ticks(low: float, high: float) -> list[float]:
    """Return round values for a logarithmic axis: powers of ten, with 2 and 5 where those are few."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if math.log10(high / low) < 3 else (1,)
    values = (float(f"{step}e{power}") for power in decades for step in steps)
    return [value for value in values if low <= value <= high]


def _log(field: str, title: str, limits: tuple[float, float], axis: str = "X", ticks: Sequence[float] = ()) -> Any:
    alt = altair_module()
    channel = alt.X if axis == "X" else alt.Y
    shown = alt.Axis(values=list(ticks) or _ticks(*limits), format="~r", labelExpr=_NUMBER, labelOverlap="greedy")
    scale = alt.Scale(type="log", nice=False, domain=list(limits))
    return channel(f"{field}:Q", title=title, scale=scale, axis=shown)


def _limits(values: Sequence[float], low: float, high: float) -> tuple[float, float]:
    known = [value for value in values if value and value > 0] or [1.0]
    return min(known) / low, max(known) * high


def _across(rows: Sequence[Row], roofs: Sequence[Roof]) -> tuple[float, float]:
    return _limits([row["intensity"] for row in rows] + [roof.knee for roof in roofs], 3, 6)


def _under_roofs(points: Sequence[Any], rows: Sequence[Row], roofs: Sequence[Roof], width: int) -> Any:
    """Return points with the roofs above them; the axes have room for all knees."""
    alt = altair_module()
    across = _across(rows, roofs)
    lowest = min([row["tflops"] for row in rows if row["tflops"]] + [roof.peak_tflops for roof in roofs]) / 3
    up = (lowest, 2 * max(roof.peak_tflops for roof in roofs))
    lines, knees, labels = [], [], []
    for roof in roofs:
        ink = "#444444" if roof.place == 0 else "#9a9a9a"
        start = max(across[0], up[0] * 1e3 / roof.hbm_gbps)
        for intensity, tflops in (
            (start, start * roof.hbm_gbps / 1e3), (roof.knee, roof.peak_tflops), (across[1], roof.peak_tflops)
        ):  # fmt: skip
            lines.append(
                {"roof": roof.label, "dtype": roof.dtype, "ink": ink, "intensity": intensity, "tflops": tflops}
            )
        knees.append({"ink": ink, "intensity": roof.knee, "tflops": roof.peak_tflops})
        labels.append({
            "words": f"{roof.label}: {roof.peak_tflops:,.0f}", "ink": ink, "place": roof.place,
            "intensity": across[1], "tflops": roof.peak_tflops,
        })  # fmt: skip
    x, y = _log("intensity", _INTENSITY, across), _log("tflops", _SPEED, up, "Y")
    ink = alt.Color("ink:N", scale=None)
    # Solid for the highest peak, then dashed.
    types = [roof.dtype for roof in sorted(roofs, key=lambda roof: -roof.peak_tflops) if roof.place == 0]
    dash = alt.StrokeDash(
        "dtype:N",
        legend=None,
        scale=alt.Scale(domain=types, range=[[1, 0], [6, 3], [2, 2], [8, 3, 2, 3]][: len(types)]),
    )
    walls = alt.Chart(data(lines)).mark_line(clip=True, strokeWidth=1.6).encode(
        x=x, y=y, detail="roof:N", strokeDash=dash, color=ink
    )  # fmt: skip
    dots = alt.Chart(data(knees)).mark_point(filled=True, size=35).encode(x=x, y=y, color=ink)
    rules = alt.Chart(data(knees)).mark_rule(strokeDash=[1, 3]).encode(x=x, color=ink)
    layers = [walls, rules, dots]
    for place in sorted({roof.place for roof in roofs}):
        # Below the line for the chip of the points, above it for others, so that near ones do not meet.
        named = [label for label in labels if label["place"] == place]
        text = alt.Chart(data(named)).mark_text(
            align="right", dy=10 if place == 0 else -7, dx=-4 - 110 * max(place - 1, 0), fontSize=10
        )
        layers.append(text.encode(x=x, y=y, text="words:N", color=ink))
    drawn = [part.encode(x=x, y=y) for part in points]
    return alt.layer(*layers, *drawn).properties(width=width, height=HEIGHT).resolve_scale(color="independent")


def _profile_colour(executions: Sequence[str], title: str = "profile") -> Any:
    return altair_module().Color(
        "execution:N",
        title=title,
        sort=list(executions),
        scale=altair_module().Scale(domain=list(executions), range=list(COLOURS)),
    )


def _phase_shape() -> Any:
    return altair_module().Shape("phase:N", title="phase", scale=altair_module().Scale(domain=PHASES, range=_SHAPES))


def roofline(rows: Sequence[Row], roofs: Sequence[Roof], executions: Sequence[str]) -> Chart:
    """Return each phase with each profile under the roofs; rows: phase, execution, intensity, tflops, mfu."""
    alt = altair_module()
    tips = [
        alt.Tooltip("phase:N"), alt.Tooltip("execution:N", title="profile"),
        alt.Tooltip("intensity:Q", title=_INTENSITY, format=",.4~g"),
        alt.Tooltip("tflops:Q", title=_SPEED, format=",.4~g"), alt.Tooltip("mfu:Q", title="MFU_est", format=".1%"),
    ]  # fmt: skip
    points = (
        alt.Chart(data(rows))
        .mark_point(size=130, filled=True, opacity=0.9)
        .encode(color=_profile_colour(executions), shape=_phase_shape(), tooltip=tips)
    )
    return chart("roofline", "Phases under the roofline", _under_roofs([points], rows, roofs, WIDTH))


def sweep(
    name: str, title: str, rows: Sequence[Row], roofs: Sequence[Roof], executions: Sequence[str], axis: str,
    marks: Sequence[tuple[str, float | None]] = (),
) -> Chart:  # fmt: skip
    """Return a sweep: on the left its way under the roofs, on the right its times.

    Args:
        name: the file's name.
        title: what it shows.
        rows: execution, value, intensity, tflops, fits and a time in ms for each of T_comp, T_hbm, T_net, T_est.
        roofs: what bounds the points.
        executions: profiles; times are those of the last.
        axis: title of the swept quantity, with its unit.
        marks: values of it to mark, with their labels.
    """
    alt = altair_module()
    fits = alt.Shape("fits:N", title="fits memory", scale=alt.Scale(domain=["yes", "no"], range=["circle", "cross"]))
    base = alt.Chart(data(rows))
    tips = [
        alt.Tooltip("execution:N", title="profile"), alt.Tooltip("value:Q", title=axis, format=",d"),
        alt.Tooltip("intensity:Q", title=_INTENSITY, format=",.4~g"),
        alt.Tooltip("tflops:Q", title=_SPEED, format=",.4~g"), alt.Tooltip("fits:N", title="fits memory"),
    ]  # fmt: skip
    way = base.mark_point(filled=True, size=55).encode(color=_profile_colour(executions), shape=fits, tooltip=tips)
    path = base.mark_line(strokeWidth=1, opacity=0.5).encode(
        color=_profile_colour(executions).legend(None), order=alt.Order("value:Q")
    )
    left = _under_roofs([path, way], rows, roofs, 400)
    times = [time for time in ("T_comp", "T_hbm", "T_net") if any(row[time] for row in rows)]
    long = [
        {"value": row["value"], "time": time, "ms": row[time], "fits": row["fits"]}
        for row in rows if row["execution"] == executions[-1] for time in times if row[time]
    ]  # fmt: skip
    values = sorted({row["value"] for row in rows})
    low, high = float(values[0]), float(values[-1])
    x = _log("value", axis, (low / 1.1, high * 1.1), ticks=values)
    y = _log("ms", f"time with {executions[-1]} kernels (ms)", _limits([row["ms"] for row in long], 1.5, 1.5), "Y")
    colour = alt.Color("time:N", title="time", sort=times, scale=alt.Scale(domain=times, range=list(COLOURS[2:5])))
    dash = alt.StrokeDash("time:N", sort=times, title="time", scale=alt.Scale(domain=times))
    lines = alt.Chart(data(long)).mark_line().encode(x=x, y=y, color=colour, strokeDash=dash)
    dots = alt.Chart(data(long)).mark_point(filled=True, size=45).encode(x=x, y=y, color=colour, shape=fits)
    layers = [lines, dots]
    for nth, (label, value) in enumerate((label, value) for label, value in marks if value and low <= value <= high):
        at = alt.Chart(data([{"value": value, "label": label}]))
        # At the foot, on the side that has room.
        right = math.log(value / low) > 0.6 * math.log(high / low)
        words = at.mark_text(align="right" if right else "left", dx=-4 if right else 4, fontSize=10, color="#333333")
        layers.append(at.mark_rule(color="#555555", strokeDash=[4, 3]).encode(x=x))
        layers.append(words.encode(x=x, y=alt.value(HEIGHT - 10 - 14 * nth), text="label:N"))
    right = alt.layer(*layers).properties(width=400, height=HEIGHT)
    return chart(
        name,
        title,
        alt.hconcat(left, right).resolve_scale(color="independent", shape="shared", strokeDash="independent"),
    )


def category_roofline(
    phase: str, rows: Sequence[Row], roofs: Sequence[Roof], executions: Sequence[str], categories: Sequence[str]
) -> Chart | None:
    """Return the categories of a phase under the roofs, None where none has FLOP and bytes."""
    alt = altair_module()
    shown = [row for row in rows if row["intensity"] and row["tflops"]]
    if not shown:
        return None
    present = [category for category in categories if any(row["category"] == category for row in shown)]
    tips = [
        alt.Tooltip("category:N"), alt.Tooltip("execution:N", title="profile"),
        alt.Tooltip("intensity:Q", title=_INTENSITY, format=",.4~g"),
        alt.Tooltip("tflops:Q", title=_SPEED, format=",.4~g"),
    ]  # fmt: skip
    points = (
        alt.Chart(data(shown))
        .mark_point(size=110, filled=True, opacity=0.85)
        .encode(
            color=category_colour(present, categories),
            shape=alt.Shape(
                "execution:N", title="profile", sort=list(executions),
                scale=alt.Scale(domain=list(executions), range=["diamond", "circle", "square", "triangle-up"]),
            ),
            tooltip=tips,
        )
    )  # fmt: skip
    names = _near(shown, executions[-1], _across(shown, roofs))
    drawn = _under_roofs([points, *names], shown, roofs, WIDTH)
    return chart(f"{phase}_category_roofline", f"{phase}: categories under the roofline", drawn)


def _near(rows: Sequence[Row], execution: str, limits: tuple[float, float]) -> list[Any]:
    """Return the names beside a profile's points, those of points that lie on each other together."""
    across = WIDTH / math.log(limits[1] / limits[0])
    groups: list[list[Row]] = []
    for row in sorted((row for row in rows if row["execution"] == execution), key=lambda row: row["intensity"]):
        for group in groups:
            room = 16 + sum(6.5 * len(of["category"]) + 8 for of in group)
            ahead = across * math.log(row["intensity"] / group[0]["intensity"])
            if ahead < room and abs(math.log(row["tflops"] / group[0]["tflops"])) < 0.2:
                group.append(row)
                break
        else:
            groups.append([row])
    named = [
        {
            "intensity": group[0]["intensity"],
            "tflops": group[0]["tflops"],
            "words": ", ".join(row["category"] for row in group),
        }
        for group in groups
    ]
    # On the right, where the roofs have their names, they stand on the other side and lower.
    middle = limits[0] * (limits[1] / limits[0]) ** 0.7
    base = altair_module().Chart(data(named)).encode(text="words:N")
    return [
        base.transform_filter(f"datum.intensity < {middle}").mark_text(
            align="left", dx=8, dy=11, fontSize=10, color="#333333"
        ),
        base.transform_filter(f"datum.intensity >= {middle}").mark_text(
            align="right", dx=8, dy=25, fontSize=10, color="#333333"
        ),
    ]


def category_colour(present: Sequence[str], categories: Sequence[str]) -> Any:
    """Return the colours of some categories, the same in every chart of a report."""
    colours = [COLOURS[categories.index(category) % len(COLOURS)] for category in present]
    return altair_module().Color(
        "category:N",
        title="category",
        sort=list(present),
        scale=altair_module().Scale(domain=list(present), range=colours),
    )
