"""The bar and cell charts of a model report: shares, parameters, knobs, the frontier."""

from __future__ import annotations

from collections.abc import Sequence

from .labels import FONT, wide
from .vega import COLOURS, PALE, PHASES, WIDTH, Chart, Row, altair_module, category_colour, chart, data

_SHARES = 520
#: The most knobs in one chart.
_KNOBS = 12


def shares(name: str, title: str, rows: Sequence[Row], categories: Sequence[str]) -> Chart:
    """Return the categories' shares of FLOP, bytes and time; rows: phase, category, measure, share, place."""
    alt = altair_module()
    measures = ["F_theory", "bytes_hbm", "T_serial"]
    present = [category for category in categories if any(row["category"] == category and row["share"] for row in rows)]
    # Parts too narrow for a name show the number.
    legend = alt.Legend(labelExpr="(datum.index + 1) + '  ' + datum.label")
    tips = [
        alt.Tooltip("phase:N"), alt.Tooltip("category:N"), alt.Tooltip("measure:N"),
        alt.Tooltip("share:Q", format=".1%"),
    ]  # fmt: skip
    x = alt.X("start:Q", title="share (%)", scale=alt.Scale(domain=[0, 100]), axis=alt.Axis(labelFlush=False))
    bars = alt.Chart().mark_bar(stroke="white", strokeWidth=0.7)
    bars = bars.encode(x=x, x2="end:Q", color=category_colour(present, categories).legend(legend), tooltip=tips)
    words = alt.Chart().mark_text(fontSize=FONT).encode(x="middle:Q", text="words:N")
    layers = [bars, *(
        words.transform_filter(f"datum.ink == '{ink}'").encode(color=alt.value(ink)) for ink in ("black", "white")
    )]  # fmt: skip
    row = alt.Row("measure:N", sort=measures, title=None, header=alt.Header(labelAngle=0, labelAlign="left"))
    drawn = alt.layer(*layers, data=data(_side_by_side([row for row in rows if row["share"]], present)))
    drawn = drawn.encode(y=alt.Y("phase:N", sort=PHASES, title=None)).properties(width=_SHARES, height=105)
    return chart(name, title, drawn.facet(row=row))


def _side_by_side(rows: Sequence[Row], present: Sequence[str]) -> list[Row]:
    """Return the parts of each bar: their start and end in %, and their labels."""
    found: list[Row] = []
    reached: dict[tuple[str, str], float] = {}
    for row in sorted(rows, key=lambda row: row["place"]):
        bar = (row["phase"], row["measure"])
        start = reached.get(bar, 0.0)
        reached[bar] = end = start + 100 * row["share"]
        number = str(present.index(row["category"]) + 1)
        room = _SHARES * row["share"] - 2
        words = next((words for words in (row["category"], number) if wide(words) <= room), "")
        ink = "black" if COLOURS[row["place"] % len(COLOURS)] in PALE else "white"
        found.append(row | {"start": start, "end": end, "middle": (start + end) / 2, "words": words, "ink": ink})
    return found


def parameters(rows: Sequence[Row]) -> Chart:
    """Return the distribution of the parameters; rows: part, parameters, share in %."""
    alt = altair_module()
    base = alt.Chart(data(rows)).encode(y=alt.Y("part:N", sort="-x", title=None))
    axis = alt.Axis(values=list(range(0, 101, 20)), labelFlush=False, grid=False)
    x = alt.X("share:Q", title="share of all parameters (%)", scale=alt.Scale(domain=[0, 112]), axis=axis)
    bars = base.mark_bar(color=COLOURS[0]).encode(x=x)
    words = base.mark_text(align="left", dx=4, fontSize=11).encode(x="share:Q", text="label:N")
    return chart(
        "parameters", "Where the parameters are", alt.layer(bars, words).properties(width=WIDTH, height=alt.Step(24))
    )


def tornado(phase: str, rows: Sequence[Row]) -> Chart | None:
    """Return how each knob moves a phase; rows: title, side, setting, change in %, fits; the widest on top."""
    alt = altair_module()
    # A chip without a peak for a type has no time with it.
    rows = [row for row in rows if row["change"] is not None]
    rows.sort(key=lambda row: (row["title"], row["side"]))
    swings = {row["title"]: 0.0 for row in rows}
    for row in rows:
        swings[row["title"]] = max(swings[row["title"]], abs(row["change"]))
    order = sorted((title for title in swings if swings[title] > 0.5), key=lambda title: -swings[title])[:_KNOBS]
    shown = [row for row in rows if row["title"] in order]
    if not shown:
        return None
    some_fit = any(row["fits"] for row in shown)
    for row in shown:
        row["label"] = f"{row['setting']}{' (does not fit)' if some_fit and row['fits'] is False else ''}"
    lowest = min([0.0, *(row["change"] for row in shown)])
    highest = max([0.0, *(row["change"] for row in shown)])
    room = 0.16 * (highest - lowest) * (2 if some_fit and not all(row["fits"] for row in shown) else 1)
    domain = [lowest - room, highest + room]
    base = alt.Chart(data(shown)).encode(y=alt.Y("title:N", sort=order, title=None, axis=alt.Axis(labelLimit=230)))
    bars = base.mark_bar(height=9).encode(
        x=alt.X("change:Q", title="T_est changes by (%)", scale=alt.Scale(domain=domain),
                axis=alt.Axis(labelFlush=False)),
        yOffset=alt.YOffset("side:N", sort=["low", "high"]),
        color=alt.Color("side:N", title="knob turned", sort=["low", "high"],
                        scale=alt.Scale(domain=["low", "high"], range=[COLOURS[4], COLOURS[1]])),
        tooltip=[alt.Tooltip("title:N", title="knob"), alt.Tooltip("setting:N"),
                 alt.Tooltip("change:Q", title="T_est changes by (%)", format="+.1f")],
    )  # fmt: skip
    words = []
    for side, condition in (("left", "datum.change < 0"), ("right", "datum.change >= 0")):
        align, dx = ("right", -4) if side == "left" else ("left", 4)
        words.append(
            base.transform_filter(condition)
            .mark_text(align=align, dx=dx, fontSize=9, color="#333333")
            .encode(x="change:Q", yOffset=alt.YOffset("side:N", sort=["low", "high"]), text="label:N")
        )
    zero = alt.Chart(data([{"change": 0}])).mark_rule(color="#333333").encode(x="change:Q")
    return chart(f"{phase}_knobs", f"{phase}: what moves the time",
                  alt.layer(bars, *words, zero).properties(width=WIDTH - 80, height=alt.Step(16)))  # fmt: skip


def frontier(rows: Sequence[Row]) -> Chart:
    """Return the smallest compute-bound batch; rows: ep, kv_len, batch or None, label."""
    alt = altair_module()
    base = alt.Chart(data(rows)).encode(
        x=alt.X("kv_len:O", title="L (tokens)", axis=alt.Axis(labelAngle=0, format=",d")),
        y=alt.Y("ep:O", title="EP (ranks)", sort="descending"),
    )
    none = base.transform_filter("datum.batch == null").mark_rect(color="#d9d9d9", stroke="white")
    colours = alt.Scale(type="log", range=["#e3f0e8", "#2a8f6d"])
    some = (
        base.transform_filter("datum.batch != null")
        .mark_rect(stroke="white")
        .encode(color=alt.Color("batch:Q", title="least B (sequences)", scale=colours))
    )
    words = base.mark_text(fontSize=11).encode(text="label:N")
    return chart("frontier", "Least batch per chip at which decode is bound by compute",
                  alt.layer(none, some, words).properties(width=520, height=alt.Step(30)))  # fmt: skip
