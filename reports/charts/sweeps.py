"""The chart of a sweep: its path under the roofs, and its times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import vega as charts
from .labels import LINE, Frame, Words, wide
from .vega import INTENSITY, SPEED, Chart, Roof, Row

_WIDTH = 400
_CROSS = "M-1,-1L1,1M-1,1L1,-1"
_TIMES = ("T_comp", "T_hbm", "T_net")


def sweep(
    name: str, title: str, rows: Sequence[Row], roofs: Sequence[Roof], executions: Sequence[str], axis: str,
    marks: Sequence[tuple[str, float | None]] = (),
) -> Chart:  # fmt: skip
    """Return a sweep: on the left its path under the roofs, on the right its times.

    Args:
        name: the file's name.
        title: what it shows.
        rows: execution, value, intensity, tflops, fits and a time in ms for each of T_comp, T_hbm, T_net, T_est.
        roofs: the limits of the points.
        executions: profiles; times are those of the last.
        axis: title of the swept quantity, with its unit.
        marks: values of it to mark, with their labels.
    """
    alt = charts.altair_module()
    drawn = alt.hconcat(_way(rows, roofs, executions, axis), _times(rows, executions[-1], axis, marks))
    # One legend explains the crosses; profiles and times have their own.
    scales = {"color": "independent", "shape": "independent", "strokeDash": "independent", "stroke": "shared"}
    return charts.chart(name, title, drawn.resolve_scale(**scales))


def _unfit(base: Any) -> Any:
    """Return crosses on the points that do not fit in memory."""
    alt = charts.altair_module()
    words = alt.Legend(
        symbolType=_CROSS, labelExpr="'does not fit'", symbolStrokeWidth=1.4, symbolFillColor="transparent"
    )
    stroke = alt.Stroke("fits:N", title="memory", scale=alt.Scale(domain=["no"], range=["#000000"]), legend=words)
    crosses = base.transform_filter("datum.fits == 'no'").mark_point(shape=_CROSS, size=70, strokeWidth=1.4)
    return crosses.encode(stroke=stroke)


def _way(rows: Sequence[Row], roofs: Sequence[Roof], executions: Sequence[str], axis: str) -> Any:
    alt = charts.altair_module()
    base = alt.Chart(charts.data(rows))
    tips = [
        alt.Tooltip("execution:N", title="profile"), alt.Tooltip("value:Q", title=axis, format=",d"),
        alt.Tooltip("intensity:Q", title=INTENSITY, format=",.4~g"),
        alt.Tooltip("tflops:Q", title=SPEED, format=",.4~g"), alt.Tooltip("fits:N", title="fits memory"),
    ]  # fmt: skip
    points = base.mark_point(filled=True, size=32).encode(
        color=charts.profile_colour(executions), shape=charts.profile_shape(executions), tooltip=tips
    )
    path = base.mark_line(strokeWidth=1, opacity=0.5).encode(
        color=charts.profile_colour(executions).legend(None), order=alt.Order("value:Q")
    )
    paths = {
        execution: sorted((row for row in rows if row["execution"] == execution), key=lambda row: row["value"])
        for execution in dict.fromkeys(executions)
    }
    places = [[(row["intensity"], row["tflops"]) for row in path] for path in paths.values()]
    letter = axis.split(maxsplit=1)[0]
    # The ends of the path are labelled to show its direction.
    main = paths[executions[-1]]
    ends = [(f"{letter} = {row['value']:,}", row["intensity"], row["tflops"]) for row in (main[0], main[-1])]
    crosses = [_unfit(base)] if any(row["fits"] == "no" for row in rows) else []
    return charts.under_roofs([path, points, *crosses], rows, roofs, _WIDTH, ends, places, places[-1])


def _times(rows: Sequence[Row], execution: str, axis: str, marks: Sequence[tuple[str, float | None]]) -> Any:
    alt = charts.altair_module()
    times = [time for time in _TIMES if any(row[time] for row in rows)]
    long = [
        {"value": row["value"], "time": time, "ms": row[time], "fits": row["fits"]}
        for row in rows if row["execution"] == execution for time in times if row[time]
    ]  # fmt: skip
    values = sorted({row["value"] for row in rows})
    low, high = float(values[0]), float(values[-1])
    frame = Frame(_WIDTH, charts.HEIGHT, (low / 1.1, high * 1.1), charts.limits([row["ms"] for row in long], 1.5, 1.5))
    x = charts.log_axis("value", axis, frame.across, ticks=_apart(values, frame))
    y = charts.log_axis("ms", f"time with {execution} kernels (ms)", frame.up, "Y")
    # Line symbols like the lines: dashes around a disc would not be visible.
    legend = alt.Legend(symbolType="stroke", symbolSize=400, symbolStrokeWidth=2)
    colour = alt.Color(
        "time:N",
        title="time",
        sort=times,
        scale=alt.Scale(domain=times, range=list(charts.COLOURS[2:5])),
        legend=legend,
    )
    dash = alt.StrokeDash(
        "time:N", title="time", sort=times, legend=legend,
        scale=alt.Scale(domain=times, range=list(charts.DASHES[: len(times)])),
    )  # fmt: skip
    base = alt.Chart(charts.data(long)).encode(x=x, y=y)
    layers = [
        base.mark_line().encode(color=colour, strokeDash=dash),
        base.mark_point(filled=True, size=40).encode(color=colour.legend(None)),
    ]
    if any(row["fits"] == "no" for row in long):
        layers.append(_unfit(base))
    words = Words(frame, ("value", "ms"))
    for time in times:
        path = sorted((row["value"], row["ms"]) for row in long if row["time"] == time)
        words.avoid_path(path, LINE)
        for point in path:
            words.avoid_point(*point, radius=4)
    shown = [(label, value) for label, value in marks if value and low <= value <= high]
    for _, value in shown:
        words.avoid_upright(value, 5 * LINE)
    for label, value in shown:
        words.at_upright(f"{label}: {value:,.0f}", value)
    if shown:
        uprights = alt.Chart(charts.data([{"value": value} for _, value in shown]))
        layers.insert(0, uprights.mark_rule(color="#555555", strokeDash=[4, 3]).encode(x=x))
    return alt.layer(*layers, *words.layers(x, y)).properties(width=_WIDTH, height=charts.HEIGHT)


def _apart(values: Sequence[int], frame: Frame) -> list[float]:
    """Return the values whose labels fit side by side on the axis: of close ones a power of two."""
    kept: list[int] = []
    for value in sorted(values, key=lambda value: (value & (value - 1) != 0, value)):
        at, _ = frame.pixels(value, frame.up[0])
        others = [(frame.pixels(other, frame.up[0])[0], wide(f"{other:,}", 11)) for other in kept]
        if all(abs(at - place) > (wide(f"{value:,}", 11) + width) / 2 + 3 for place, width in others):
            kept.append(value)
    return [float(value) for value in sorted(kept)]
