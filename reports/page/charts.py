"""The charts of a page, as Vega-Lite, with the page's width and colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..charts.vega import Chart, Row, altair_module, chart, data

#: Colours of the groups of kernels, of layers and idle time, visible on white and on black.
_COLOURS = {
    "attention": "#3f8fd0", "moe": "#d0742f", "gemm": "#2fa07c", "communication": "#a4569a", "norm": "#c2a02c",
    "activation": "#6fa83f", "quant": "#7768c0", "memory": "#4fa3a8", "mhc": "#c05a78", "other": "#7f8a95",
    "layers": "#6d7fa0", "idle": "#b3bac2",
}  # fmt: skip


#: Colours that white text is readable on.
_UNDER_WHITE = (
    "#24795d",
    "#a84a16",
    "#3561a0",
    "#7d3a6e",
    "#7a5d0c",
    "#5b6670",
    "#8f2c1b",
    "#39766d",
    "#5a4890",
    "#4f7630",
)


#: The wheel alone scrolls the page; a pinch on a touchpad is the wheel with Ctrl.
_ZOOM = "wheel![event.ctrlKey || event.metaKey]"


def _of_categories(rows: Sequence[Row], column: str = "category") -> Any:
    held = {row[column] for row in rows}
    # Types of layers, A and B or from a config, are shades of one colour.
    types = sorted(held - set(_COLOURS))
    shades = ("#6d7fa0", "#a9b4c8", "#4c5b78", "#8796b5")
    colours = _COLOURS | {name: shades[place % len(shades)] for place, name in enumerate(types)}
    shown = [*types, *(name for name in _COLOURS if name in held)]
    return altair_module().Scale(domain=shown, range=[colours[name] for name in shown])


def _wide(drawn: Any, height: int) -> Any:
    return drawn.properties(width="container", height=height)


def _high(rows: Sequence[Row], column: str, step: int) -> int:
    """Return the height of a chart with a band for each value of a column."""
    return step * len({row[column] for row in rows})


def time_line(name: str, title: str, rows: Sequence[Row], lanes: Sequence[str]) -> Chart:
    """Return a device's timeline; rows: lane, rel_us, dur_us, label, category. Ctrl and wheel zooms along the time."""
    alt = altair_module()
    shown = [{**row, "start_ms": row["rel_us"] / 1e3, "end_ms": (row["rel_us"] + row["dur_us"]) / 1e3} for row in rows]
    for row in shown:
        del row["rel_us"]
    drawn = (
        alt.Chart(data(shown))
        .mark_bar(clip=True, minBandSize=1)
        .encode(
            x=alt.X("start_ms:Q", title="ms", scale=alt.Scale(nice=False)),
            x2="end_ms:Q",
            y=alt.Y("lane:N", title=None, sort=list(lanes), scale=alt.Scale(domain=list(lanes))),
            color=alt.Color(
                "category:N", title=None, scale=_of_categories(shown), legend=alt.Legend(orient="bottom", columns=6)
            ),
            tooltip=[
                alt.Tooltip("label:N"), alt.Tooltip("category:N"), alt.Tooltip("start_ms:Q", format=",.3f"),
                alt.Tooltip("dur_us:Q", format=",.3f"),
            ],
        )
        .add_params(alt.selection_interval(bind="scales", encodings=["x"], zoom=_ZOOM, name="zoom"))
    )  # fmt: skip
    return chart(name, title, _wide(drawn, 34 * len(lanes)))


def layer_strip(name: str, title: str, rows: Sequence[Row]) -> Chart:
    """Return layers side by side, a row per group of categories; rows: layer_id, category_group, sum_us."""
    alt = altair_module()
    drawn = (
        alt.Chart(data(rows))
        .mark_rect()
        .encode(
            x=alt.X("layer_id:O", title="layer", axis=alt.Axis(labelOverlap="greedy", labelSeparation=6, labelAngle=0)),
            y=alt.Y("category_group:N", title=None, sort=alt.EncodingSortField("sum_us", op="sum", order="descending")),
            color=alt.Color("sum_us:Q", title="µs", scale=alt.Scale(scheme="viridis")),
            tooltip=[
                alt.Tooltip("layer_id:O"), alt.Tooltip("category_group:N"), alt.Tooltip("sum_us:Q", format=",.1f"),
                alt.Tooltip("layer_pct:Q", format=".1f"),
            ],
        )
    )  # fmt: skip
    return chart(name, title, _wide(drawn, _high(rows, "category_group", 20)))


def icicle(name: str, title: str, rows: Sequence[Row]) -> Chart:
    """Return nested parts of the time, each below its parent; rows: depth, start_pct, end_pct, label, path, us."""
    alt = altair_module()
    base = alt.Chart(data(rows)).encode(
        x=alt.X("start_pct:Q", title="% of the time of all operations", scale=alt.Scale(domain=[0, 100])),
        y=alt.Y("depth:O", title="depth"),
    )  # fmt: skip
    bars = base.mark_bar(stroke="white", strokeWidth=0.5, clip=True).encode(
        x2="end_pct:Q",
        color=alt.Color("kind:N", legend=None, scale=alt.Scale(range=list(_UNDER_WHITE))),
        tooltip=[
            alt.Tooltip("path:N"), alt.Tooltip("us:Q", title="µs", format=",.1f"),
            alt.Tooltip("pct:Q", title="%", format=".2f"),
        ],
    )  # fmt: skip
    # Pixels of a part.
    wide = "(datum.end_pct - datum.start_pct) / 100 * width"
    words = (
        base.transform_filter(f"{wide} > 30")
        .mark_text(align="left", dx=4, fontSize=11, color="white", clip=True, limit=alt.expr(f"{wide} - 8"))
        .encode(text="label:N")
    )
    return chart(name, title, _wide(alt.layer(bars, words), _high(rows, "depth", 26)))


def roofline(name: str, title: str, rows: Sequence[Row]) -> Chart:
    """Return kernels under their roofs; rows as in roofline_points."""
    alt = altair_module()
    x = alt.X("intensity:Q", title="FLOP per byte", scale=alt.Scale(type="log"))
    y = alt.Y("tflops:Q", title="TFLOP/s", scale=alt.Scale(type="log"))
    roofs = []
    reach = [row["intensity"] for row in rows]
    for peak, gbps in sorted({(row["peak_tflops"], row["peak_gbps"]) for row in rows if row["peak_tflops"]}):
        knee = 1e3 * peak / gbps
        ends = (min([*reach, knee]) / 2, knee, max([*reach, knee]) * 2)
        roofs += [
            {"roof": f"{peak:g} TFLOP/s", "intensity": end, "tflops": min(peak, end * gbps / 1e3)} for end in ends
        ]
    lines = alt.Chart(data(roofs)).mark_line(strokeWidth=1.5, color="#8d99a6").encode(
        x=x, y=y, detail="roof:N", tooltip=["roof:N"]
    )  # fmt: skip
    points = (
        alt.Chart(data(rows))
        .mark_circle(opacity=0.85)
        .encode(
            x=x, y=y,
            size=alt.Size("sum_us:Q", title="µs", scale=alt.Scale(range=[40, 700]), legend=None),
            color=alt.Color("category_group:N", title=None, scale=_of_categories(rows, "category_group")),
            tooltip=[
                alt.Tooltip("display_name:N", title="kernel"), alt.Tooltip("category:N"), alt.Tooltip("shape:N"),
                alt.Tooltip("bound:N"),
                alt.Tooltip("roof_pct:Q", title="% of peak", format=".1f"),
                alt.Tooltip("attainable_pct:Q", title="% of best", format=".1f"),
                alt.Tooltip("sum_us:Q", title="µs", format=",.1f"), alt.Tooltip("calls:Q"),
            ],
        )
    )  # fmt: skip
    return chart(name, title, _wide(alt.layer(lines, points), 380))


def bars(
    name: str, title: str, rows: Sequence[Row], label: str, value: str, colour: str, unit: str,
    colours: Mapping[str, str] | None = None,
) -> Chart:  # fmt: skip
    """Return bars, the longest first; a row has a label, a value, and the value its colour represents.

    A single colour needs no legend; `colours` maps these values if other charts share them.
    """
    alt = altair_module()
    held = {row[colour] for row in rows}
    shown = [key for key in colours or () if key in held]
    scale = alt.Scale(domain=shown, range=[(colours or {})[key] for key in shown]) if colours else alt.Undefined
    legend = alt.Legend(orient="bottom", columns=3) if len(held) > 1 or colours else None
    drawn = (
        alt.Chart(data(rows))
        .mark_bar()
        .encode(
            x=alt.X(f"sum({value}):Q", title=unit),
            y=alt.Y(f"{label}:N", title=None, sort="-x", axis=alt.Axis(labelLimit=220)),
            color=alt.Color(f"{colour}:N", title=None, scale=scale, legend=legend),
            tooltip=[alt.Tooltip(f"{label}:N"), alt.Tooltip(f"{colour}:N"), alt.Tooltip(f"{value}:Q", format=",.1f")],
        )
    )
    return chart(name, title, _wide(drawn, _high(rows, label, 24)))


def collectives(name: str, title: str, rows: Sequence[Row]) -> Chart:
    """Return calls of collectives by size and speed; rows: kind, bytes, bus_gbps, dur_us."""
    alt = altair_module()
    drawn = (
        alt.Chart(data(rows))
        .mark_circle(opacity=0.75, size=60)
        .encode(
            x=alt.X("bytes:Q", title="bytes", scale=alt.Scale(type="log"), axis=alt.Axis(format="~s")),
            y=alt.Y("bus_gbps:Q", title="bus bandwidth, GB/s"),
            color=alt.Color("kind:N", title=None),
            tooltip=[
                alt.Tooltip("kind:N"), alt.Tooltip("bytes:Q", format=",.0f"),
                alt.Tooltip("bus_gbps:Q", format=",.1f"), alt.Tooltip("dur_us:Q", format=",.1f"),
            ],
        )
    )  # fmt: skip
    return chart(name, title, _wide(drawn, 300))
