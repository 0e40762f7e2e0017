"""The charts of a model report as they are drawn: words stand apart, near what they name, and need no colour.

Places are read from the drawn pictures, widths of characters from Adobe's metrics of Helvetica, so that what is
checked is what a reader sees, not what the program reckoned with.
"""

import itertools
import json
import math
import re
from xml.etree import ElementTree

import pytest

import tracelake
from tracelake.reports.charts import bars, sweeps, vega
from tracelake.reports.charts.labels import Frame, together
from tracelake.reports.model.format import written

#: From the space to the tilde, in thousandths of the size.
HELVETICA = [int(width) for width in """
278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 584
584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278
278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500
500 334 260 334 584
""".split()]  # fmt: skip
SIZE = 10
H200, BF16 = vega.Roof("h200", "fp8", 1979.0, 4800.0), vega.Roof("h200", "bf16", 989.5, 4800.0)
OTHERS = [
    vega.Roof("b200", "fp8", 4500.0, 8000.0, 1), vega.Roof("b200", "bf16", 2250.0, 8000.0, 1),
    vega.Roof("h100", "fp8", 1979.0, 3350.0, 2), vega.Roof("h100", "bf16", 989.5, 3350.0, 2),
]  # fmt: skip
PROFILES = ["naive", "physical"]


def drawn(svg):
    """Return a picture's words as text and box, and the places of its shapes, all in pixels of the whole."""
    words, shapes = [], []

    def walk(node, across, down):
        place = re.search(r"translate\(([-\d.e]+),\s*([-\d.e]+)\)", node.get("transform", ""))
        if place:
            across, down = across + float(place[1]), down + float(place[2])
        kind = node.tag.rsplit("}", 1)[-1]
        if kind == "text" and (node.text or "").strip():
            width = SIZE * sum(HELVETICA[ord(one) - 32] if one < "\x7f" else 584 for one in node.text) / 1000
            size = float(node.get("font-size", "10px").removesuffix("px"))
            width *= size / SIZE
            turned = "rotate(270" in node.get("transform", "") or "rotate(-90" in node.get("transform", "")
            left = {"start": 0, "middle": -width / 2, "end": -width}[node.get("text-anchor", "start")]
            # Capitals reach 0.72 of the size above the base line, tails 0.21 below it.
            box = (left, -0.72 * size, left + width, 0.21 * size)
            if turned:
                # Half the height below the middle is said in the turned frame.
                aside = float(node.get("transform").rsplit(",", 1)[1].rstrip(")"))
                box = (box[1] + aside, -box[2], box[3] + aside, -box[0])
            words.append(
                (node.text, (box[0] + across, box[1] + down, box[2] + across, box[3] + down), node.get("fill"))
            )
        if kind == "path" and place and node.get("aria-roledescription") in ("point", "circle"):
            shapes.append((across, down))
        for child in node:
            walk(child, across, down)

    walk(ElementTree.fromstring(svg), 0.0, 0.0)
    return words, shapes


def same(words, others):
    """Return whether two pictures have the same words in the same places, whatever the order and the last bits."""
    return len(words) == len(others) and all(
        any(text == other and math.dist(box, place) < 1 for other, place, _ in others) for text, box, _ in words
    )


def meeting(boxes):
    """Return pairs of words of which one is on the other; the white seam below words does not count as words."""
    shown = [(text, box) for text, box, fill in boxes if fill != "white"]
    return [
        (one, other) for (one, a), (other, b) in itertools.combinations(shown, 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]  # fmt: skip


def box_of(words, text):
    """Return the one box of a text."""
    [box] = [box for each, box, fill in words if each == text and fill != "white"]
    return box


def distance(box, point):
    """Return how far a point is from a box, 0 within it."""
    return math.hypot(*(max(box[side] - point[side], 0, point[side] - box[side + 2]) for side in (0, 1)))


def swept(marks, *, largest=1024, fits=1024):
    """Return a sweep in which memory takes its time below a batch of 200 and compute above it."""
    rows = [
        {
            "execution": execution, "value": batch, "intensity": 4.0 * batch, "tflops": min(19.2 * batch, 989.5),
            "T_comp": 0.05 * batch, "T_hbm": 5 + 0.025 * batch, "T_net": 0.04 * batch,
            "fits": "yes" if batch <= fits else "no",
        }
        for execution in PROFILES for batch in (2**power for power in range(11)) if batch <= largest
    ]  # fmt: skip
    return sweeps.sweep("s", "Sweep", rows, [H200, BF16], PROFILES, "B (sequences)", marks)


def test_the_drawn_words_that_meet_are_found():
    first, second = ("abc", (0, 0, 20, 10), "#333"), ("def", (15, 5, 40, 15), "#333")
    assert meeting([first, second, ("abc", (0, 0, 20, 10), "white")]) == [("abc", "def")]
    assert meeting([first, ("def", (21, 0, 40, 10), "#333")]) == []


@pytest.mark.parametrize("critical", [2.5, 80.73, 300.0, 900.0])
@pytest.mark.parametrize("room", [3, 120, 387, 1000])
def test_marks_of_a_sweep_stand_beside_their_own_line_and_on_no_other(critical, room):
    words, _ = drawn(swept([("B_crit", critical), ("memory is full", room)]).svg())
    assert meeting(words) == []
    frame = 400
    # The axis of batches ends at 1.1 times the least and the most.
    at = {name: frame * math.log(1.1 * value) / math.log(1.21 * 1024) for name, value in (("c", critical), ("r", room))}
    # The 1 below the right-hand frame.
    tick = box_of([word for word in words if word[1][0] > 500 and word[1][1] > 360], "1")
    start = (tick[0] + tick[2]) / 2 - frame * math.log(1.1) / math.log(1.21 * 1024)
    lines = {name: start + place for name, place in at.items()}
    for name, text in (("c", f"B_crit: {critical:.0f}"), ("r", f"memory is full: {room:,}")):
        box = box_of(words, text)
        own, other = lines[name], lines["r" if name == "c" else "c"]
        assert not box[0] < own < box[2]
        assert min(abs(box[0] - own), abs(box[2] - own)) < 12
        if abs(own - other) > 14:
            assert not box[0] < other < box[2], (text, "is crossed by the other line")


def test_times_are_told_by_dashes_that_the_legend_shows_as_lines():
    [_, right] = swept([]).spec["hconcat"]
    line = next(layer for layer in right["layer"] if layer["mark"]["type"] == "line")
    assert line["encoding"]["strokeDash"]["legend"]["symbolType"] == "stroke"
    dashes = line["encoding"]["strokeDash"]["scale"]
    assert dashes["domain"] == ["T_comp", "T_hbm", "T_net"]
    assert len({tuple(dash) for dash in dashes["range"]}) == 3
    # No dash goes around a point.
    points = [layer for layer in right["layer"] if layer["mark"]["type"] == "point"]
    assert points
    assert not any("strokeDash" in layer["encoding"] for layer in points)


def test_what_does_not_fit_has_a_cross_and_a_legend_only_where_there_is_any():
    assert "does not fit" in swept([], fits=64).svg()
    assert "does not fit" not in swept([]).svg()


def categories(points, roofs):
    """Return a chart of categories, which with both profiles are at the same points, and what is drawn."""
    rows = [
        {"phase": "prefill", "execution": execution, "category": name, "intensity": intensity, "tflops": tflops}
        for execution in PROFILES for name, intensity, tflops in points
    ]  # fmt: skip
    chart = vega.category_roofline("prefill", rows, roofs, PROFILES, [name for name, *_ in points])
    return drawn(chart.svg())


CROWDS = {
    "on the roof": [("attention", 1500, 989.5), ("attention_core", 1640, 989.5), ("mlp", 3050, 989.5), ("head", 8, 38)],
    "in a row": [("attention", 1780, 1979), ("moe", 2080, 1979), ("mlp", 2480, 1979), ("router", 245, 989)],
    "on the slope": [
        ("moe", 31, 150),
        ("attention", 35, 168),
        ("mlp", 40, 192),
        ("head", 46, 220),
        ("router", 53, 254),
    ],
    "at the edge": [("attention_core", 9000, 989.5), ("head", 0.2, 0.96), ("elementwise", 9500, 1979)],
}


@pytest.mark.parametrize("roofs", [[BF16], [H200, BF16], [H200, BF16, *OTHERS]], ids=len)
@pytest.mark.parametrize("crowd", CROWDS)
def test_names_of_categories_are_on_nothing_and_near_their_points(crowd, roofs):
    points = CROWDS[crowd]
    words, shapes = categories(points, roofs)
    assert meeting(words) == []
    assert all(f"{roof.label}: {roof.peak_tflops:,.0f}" in [text for text, *_ in words] for roof in roofs)
    for name, *_ in points:
        # In the chart, not in the legend beside it.
        [box] = [
            box for text, box, fill in words if name in text.split(", ") and fill != "white" and box[2] < 690
        ]  # fmt: skip
        near = sorted(distance(box, shape) for shape in shapes)
        assert 2 < near[0] < 60, (name, near[:3])


def test_points_are_named_together_only_where_they_lie_on_each_other():
    frame = Frame(600, 300, (1.0, 1000.0), (1.0, 1000.0))
    # 200 pixels across for a decade: 1.05 is 4 of them, 1.3 is 23.
    found = together([("a", 10.0, 10.0), ("b", 10.5, 10.0), ("c", 13.0, 10.0), ("d", 10.0, 20.0)], frame)
    assert [name for name, *_ in found] == ["a, b", "d", "c"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("deepseek-v3", {"hardware": ["h200", "b200"], "ep": 64}),
        ("qwen3-8b", {"hardware": "h200"}),
        ("qwen3-235b-a22b", {"hardware": ["h200", "mi300x", "h100"], "ep": 8}),
        ("deepseek-v3", {"hardware": "h200", "formulas": "compat", "batch": 8, "seq_len": 255}),
    ],
    ids=lambda value: value if isinstance(value, str) else value.get("formulas", "physical"),
)
def test_no_words_meet_in_any_chart_of_a_report_and_the_page_has_the_same_charts(tmp_path, model, asked):
    with tracelake.Lake(tmp_path / "lake") as lake:
        text = lake.model_report(model, tmp_path / "r.md", **asked).text
        page = lake.model_report(model, tmp_path / "r.html", **asked).text
    files = re.findall(r"!\[[^]]*\]\(([^)]+\.svg)\)", text)
    specs = json.loads(re.search(r"const charts = (\{.*\});", page).group(1))
    assert sorted(files) == sorted(f"r_{name}.svg" for name in specs)
    for name, spec in specs.items():
        words, _ = drawn((tmp_path / f"r_{name}.svg").read_text())
        assert meeting(words) == [], name
        # The picture of the page's own specification is the one beside the Markdown; sums differ in their last bits.
        again, _ = drawn(vega.Chart(name, "", spec).svg())
        assert same(again, words), name


def test_shares_have_their_category_in_words_or_by_its_number():
    shares = {"attention": 0.6, "moe": 0.35, "elementwise": 0.04, "norm": 0.01}
    rows = [
        {"phase": "decode", "category": category, "measure": "F_theory", "share": share, "place": place}
        for place, (category, share) in enumerate(shares.items())
    ]  # fmt: skip
    chart = bars.shares("s", "Shares", rows, list(shares))
    texts = [text for text, *_ in drawn(chart.svg())[0]]
    assert {"attention", "moe", "3", "1  attention", "3  elementwise", "4  norm"} <= set(texts)
    assert "4" not in texts, "one per cent has no room"


@pytest.mark.parametrize(
    ("value", "unit", "said"),
    [
        (80.7312, "sequences", "81 sequences"), (1234.5678, "tokens", "1,235 tokens"), (2.5, "tokens", "2.500 tokens"),
        (7.7017, "FLOP/byte", "7.70 FLOP/byte"), (1360.678, "FLOP/byte", "1,360.68 FLOP/byte"), (8, "ranks", "8 ranks"),
        (16.1274, "ms", "16.13 ms"), (97.84, "%", "97.8 %"),
    ],
)  # fmt: skip
def test_in_sentences_counts_are_whole_and_intensities_have_two_decimals(value, unit, said):
    assert written(value, unit) == said
