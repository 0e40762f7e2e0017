"""The charts of differences: waterfalls, levels over time, maps of rank and step. Text always accompanies colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..charts.vega import Chart, Row, altair_module, chart, data

#: Kinds of bars, and colours that are visible on white and on black.
KINDS = {"step": "#5f86b8", "slower": "#d0562f", "faster": "#2fa07c", "not certain": "#98a3ae"}
#: Why others wait for a rank.
CAUSES = {"late start": "#c9a227", "slow compute": "#d0562f", "slow link": "#8e5fc0", "earlier call": "#3f8fd0"}
#: Why the time of work changed.
REASONS = {"amount of work": "#3f8fd0", "speed of work": "#d0562f", "idle or waiting": "#98a3ae"}
_BAND, _CELL = 24, 22
#: Maximum pixels of a plot on a phone.
_PHONE = 400
#: A waterfall's axis begins at 0 unless the changes are a smaller share of it than this.
_ZOOMED = 0.5


def _scale(colours: dict[str, str], rows: Sequence[Row], column: str) -> Any:
    shown = [name for name in colours if any(row[column] == name for row in rows)]
    return altair_module().Scale(domain=shown, range=[colours[name] for name in shown])


def _below(columns: int = 4) -> Any:
    return altair_module().Legend(orient="bottom", columns=columns)


def _sized(drawn: Any, height: int) -> Any:
    return drawn.properties(width="container", height=height)


def waterfall(name: str, title: str, rows: Sequence[Row]) -> Chart:
    """Return a step, what is added to it and subtracted from it, and the resulting step.

    Rows: label, unique; start_ms, end_ms; kind, one of KINDS; said, the text at the bar; brief, the
    same in fewer characters.
    """
    alt = altair_module()
    ends = [row["end_ms"] for row in rows]
    low, high = min(ends), max(ends)
    begin = 0.0 if low < _ZOOMED * high else max(0.0, low - max(high - low, 0.02 * high))
    # The text, shortened on a phone, is right of its bar.
    end = alt.expr(f"{begin} + {high - begin} * width / (width - (width < {_PHONE} ? 70 : 135))")
    text = alt.expr(f"width < {_PHONE} ? datum.brief : datum.said")
    shown = [
        row | {"from_ms": max(row["start_ms"], begin), "right_ms": max(row["start_ms"], row["end_ms"])} for row in rows
    ]
    base = alt.Chart(data(shown)).encode(
        y=alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
        tooltip=[
            alt.Tooltip("label:N", title="part"), alt.Tooltip("said:N", title="ms"), alt.Tooltip("kind:N"),
            alt.Tooltip("end_ms:Q", title="up to, ms", format=",.4f"),
        ],
    )  # fmt: skip
    bars = base.mark_bar(clip=True, minBandSize=1).encode(
        x=alt.X("from_ms:Q", title="ms in a step", scale=alt.Scale(domainMin=begin, domainMax=end, nice=False)),
        x2="end_ms:Q",
        color=alt.Color("kind:N", title=None, scale=_scale(KINDS, rows, "kind"), legend=_below()),
    )  # fmt: skip
    words = base.mark_text(align="left", dx=5, fontSize=11, text=text).encode(x="right_ms:Q")
    title += f"; the axis begins at {begin:.4g} ms" if begin else ""
    return chart(name, title, _sized(alt.layer(bars, words), _BAND * len(rows)))


def intervals(name: str, title: str, rows: Sequence[Row]) -> Chart:
    """Return sides compared with their baseline; rows: side, change_pct, ci_low_pct, ci_high_pct, kind, verdict."""
    alt = altair_module()
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("side:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
        tooltip=[
            alt.Tooltip("side:N"), alt.Tooltip("change_pct:Q", title="difference, %", format="+.2f"),
            alt.Tooltip("ci_low_pct:Q", title="from, %", format="+.2f"),
            alt.Tooltip("ci_high_pct:Q", title="to, %", format="+.2f"), alt.Tooltip("verdict:N"),
        ],
    )  # fmt: skip
    colour = alt.Color("kind:N", title=None, scale=_scale(KINDS, rows, "kind"), legend=_below())
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("change_pct:Q", title="step beside the baseline's, %"), color=colour
    )
    known = "isValid(datum.ci_low_pct)"
    lines = base.transform_filter(known).mark_rule(strokeWidth=2).encode(
        x="ci_low_pct:Q", x2="ci_high_pct:Q", color=colour
    )  # fmt: skip
    zero = alt.Chart(data([{"at": 0}])).mark_rule(strokeDash=[3, 3], color="#98a3ae").encode(x="at:Q")
    return chart(name, title, _sized(alt.layer(zero, lines, points), _BAND * len(rows)))


def differences(name: str, title: str, rows: Sequence[Row]) -> Chart:
    """Return increases to the right and decreases to the left; rows: label, why, change_ms."""
    alt = altair_module()
    drawn = (
        alt.Chart(data(rows))
        .mark_bar()
        .encode(
            x=alt.X("change_ms:Q", title="ms in a step, after minus before"),
            y=alt.Y("label:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
            color=alt.Color("why:N", title=None, scale=_scale(REASONS, rows, "why"), legend=_below(3)),
            tooltip=[alt.Tooltip("label:N"), alt.Tooltip("why:N"), alt.Tooltip("change_ms:Q", format="+,.4f")],
        )
    )
    return chart(name, title, _sized(drawn, _BAND * len({row["label"] for row in rows})))


def shares(name: str, title: str, rows: Sequence[Row]) -> Chart:
    """Return parts of bars that make up 100 %; rows: bar, part, pct."""
    alt = altair_module()
    drawn = (
        alt.Chart(data(rows))
        .mark_bar()
        .encode(
            x=alt.X("sum(pct):Q", title="%", scale=alt.Scale(domain=[0, 100])),
            y=alt.Y("bar:N", title=None, sort=None, axis=alt.Axis(labelLimit=260)),
            color=alt.Color("part:N", title=None, sort=None, legend=_below(3)),
            tooltip=[alt.Tooltip("bar:N"), alt.Tooltip("part:N"), alt.Tooltip("pct:Q", format=".1f")],
        )
    )
    return chart(name, title, _sized(drawn, _BAND * len({row["bar"] for row in rows})))


def levels(name: str, title: str, rows: Sequence[Row], steps: Sequence[Row], unit: str, *, by_time: bool) -> Chart:
    """Return values over time, their levels, and the shifts between them.

    Args:
        name: its id in the page.
        title: what it shows.
        rows: points, in order: at (a time as text, or a number), run, value, low, high.
        steps: levels: since, until (like at), level, and said, the text of its beginning; None for the first.
        unit: of the values.
        by_time: place points by time, else one after the other.
    """
    alt = altair_module()
    kind, heading = ("T", None) if by_time else ("O", "point")
    days = {"format": "%Y-%m-%d"} if by_time and len({str(row["at"])[:10] for row in rows}) > 2 else {}
    axis = alt.Axis(labelOverlap="greedy", labelSeparation=12, labelAngle=0, tickCount=8, **days)
    x = alt.X(f"at:{kind}", title=heading, axis=axis)
    y = alt.Y("value:Q", title=unit, scale=alt.Scale(zero=False))
    points = alt.Chart(data(rows))
    spans = points.mark_rule(opacity=0.5, strokeWidth=1, color="#98a3ae").encode(x=x, y="low:Q", y2="high:Q")
    dots = points.mark_point(filled=True, size=45, opacity=0.9, color=KINDS["step"]).encode(
        x=x, y=y,
        tooltip=[
            alt.Tooltip("run:N"), alt.Tooltip("recorded_at:N"), alt.Tooltip("value:Q", title=unit, format=",.4~f"),
            alt.Tooltip("traces:Q"),
        ],
    )  # fmt: skip
    level = alt.Chart(data(steps))
    lines = level.mark_rule(strokeWidth=2.5, color=KINDS["slower"]).encode(
        x=alt.X(f"since:{kind}"), x2="until", y="level:Q", tooltip=[alt.Tooltip("level:Q", format=",.4~f")]
    )
    began = level.transform_filter("datum.said !== null")
    bounds = began.mark_rule(strokeDash=[4, 3], color="#98a3ae").encode(x=f"since:{kind}")
    words = began.mark_text(align="right", dx=-6, fontSize=11).encode(x=f"since:{kind}", y=alt.value(8), text="said:N")
    return chart(name, title, _sized(alt.layer(bounds, spans, lines, dots, words), 300))


def cause_map(name: str, title: str, rows: Sequence[Row]) -> Chart:
    """Return which rank the others wait for in which step, and why; rows: rank, step, waited_ms, cause."""
    alt = altair_module()
    base = alt.Chart(data(rows)).encode(**_places(), tooltip=_tips("waited_ms", "others wait, ms"))
    paper = base.mark_rect(color="#98a3ae", opacity=0.13)
    cells = base.transform_filter("datum.cause !== null").mark_rect().encode(
        color=alt.Color("cause:N", title=None, scale=_scale(CAUSES, rows, "cause"), legend=_below()),
        opacity=alt.Opacity("waited_ms:Q", title=None, legend=None, scale=alt.Scale(range=[0.25, 1], zero=True)),
    )  # fmt: skip
    return chart(name, title, _sized(alt.layer(paper, cells), _CELL * len({row["rank"] for row in rows})))


def heat_map(name: str, title: str, rows: Sequence[Row], value: str, unit: str) -> Chart:
    """Return a value of each rank in each step; rows: rank, step and the value."""
    alt = altair_module()
    drawn = (
        alt.Chart(data(rows))
        .mark_rect()
        .encode(
            **_places(),
            color=alt.Color(f"{value}:Q", title=unit, scale=alt.Scale(scheme="viridis")),
            tooltip=_tips(value, unit),
        )
    )
    return chart(name, title, _sized(drawn, _CELL * len({row["rank"] for row in rows})))


def _places() -> dict[str, Any]:
    alt = altair_module()
    return {
        "x": alt.X("step:O", title="step", axis=alt.Axis(labelOverlap="greedy", labelSeparation=6, labelAngle=0)),
        "y": alt.Y("rank:N", title=None, sort=None, axis=alt.Axis(labelOverlap="greedy")),
    }


def _tips(value: str, unit: str) -> list[Any]:
    alt = altair_module()
    return [
        alt.Tooltip("rank:N"), alt.Tooltip("step:O"), alt.Tooltip(f"{value}:Q", title=unit, format=",.3f"),
        alt.Tooltip("cause:N"),
    ]  # fmt: skip
