"""Pages of comparisons, histories and ranks: what was planted is on the first screen, and bars add up exactly."""

import re

import pytest
from click.testing import CliRunner

from tracelake.cli import cli
from tracelake.engine.errors import UsageError

from ..conftest import KERNELS, SHIFTED
from ..page.parts import assert_stands_alone, charts_of

SECTIONS = {
    "pair": ["terms", "ops", "measures", "matches", "trust"],
    "sides": ["sides", "terms", "ops", "matches", "trust"],
    "history": ["levels", "shift-1", "shift-1-ops", "trust"],
    "ranks": ["map", "ranks", "calls", "clocks"],
}


@pytest.fixture(scope="module")
def pages(fleet, tmp_path_factory):
    folder = tmp_path_factory.mktemp("answers")
    return {name: fleet.lake.write_page(answer(), folder / "x.html") for name, answer in fleet.answers().items()}


def lines(page):
    """Return the five lines of a page by their labels."""
    [five] = re.findall(r'<dl class="five">(.*?)</dl>', page, flags=re.DOTALL)
    return {
        label: re.sub(r"<.*?>|\s+", " ", text)
        for label, text in re.findall(r"<dt>(.*?)</dt><dd.*?>(.*?)</dd>", five, flags=re.DOTALL)
    }


@pytest.mark.parametrize("name", SECTIONS)
def test_each_page_stands_alone(pages, name):
    assert_stands_alone(pages[name], SECTIONS[name])


def test_a_comparison_opens_with_the_change_its_place_and_its_worth(pages):
    five = lines(pages["pair"])
    assert list(five) == ["what", "change", "where", "most", "trust"]
    assert "night-7 (1 trace, llama-3-8b, h100_sxm) beside night-0 (1 trace, llama-3-8b, h100_sxm)" in five["what"]
    # 440 µs in the kernels of a step; the second product takes 220 µs instead of 200.
    assert re.search(r": \+(19|20)\.\d µs, \+4\.\d % \(95 % interval .*\): slower", five["change"])
    assert re.search(r"compute \+(19|20)\.\d µs \(slower\)", five["where"])
    assert "compute / gemm / Mlp_# / aten::mm: +" in five["most"]
    assert "matched is 100.0 % of the work&#39;s time before, 100.0 % after" in five["trust"]


def test_the_bars_of_a_waterfall_lead_from_the_step_before_to_the_step_after(fleet, pages):
    fleet.answers()["pair"]()
    bars = fleet.lake.rows("SELECT bar, start_ns, end_ns, change_ns FROM comparison_waterfall ORDER BY place")
    means = dict(fleet.lake.rows(
        "SELECT trace, CAST(round(avg(dur_us) * 1000) AS BIGINT) FROM step_states JOIN traces USING (trace_id) "
        "WHERE is_steady AND dur_us > 0 GROUP BY trace"
    ))  # fmt: skip
    assert bars[0] == ("before", 0, means["night-0"], means["night-0"])
    assert bars[-1] == ("after", 0, means["night-7"], means["night-7"])
    at = means["night-0"]
    for bar, start, end, delta in bars[1:-1]:
        assert (bar, start, end) == ("term", at, at + delta)
        at = end
    assert at == means["night-7"]
    [data] = [layer["data"] for layer in charts_of(pages["pair"])["terms-0"]["layer"][:1] if "data" in layer] or [
        charts_of(pages["pair"])["terms-0"]["data"]
    ]
    drawn = [(round(row["start_ms"] * 1e6), round(row["end_ms"] * 1e6)) for row in data["values"]]
    assert drawn == [(start, end) for _, start, end, _ in bars]


def test_the_rest_of_many_terms_is_one_bar(fleet):
    fleet.lake.compare_sides("many", "more")
    [(terms, rest, deltas)] = fleet.lake.rows(
        "SELECT count(*) FILTER (bar = 'term'), any_value(terms) FILTER (bar = 'rest'), "
        "sum(change_ns) FILTER (bar IN ('term', 'rest')) FROM comparison_waterfall"
    )
    [(changed,)] = fleet.lake.rows("SELECT count(*) FROM comparison_terms WHERE level = 'category' AND change_ns <> 0")
    assert (terms, rest) == (12, changed - 12)
    # The n-th kernel takes n µs longer.
    assert deltas == 1000 * sum(range(len(KERNELS)))


def test_what_leads_is_the_planted_change_with_its_split(fleet):
    fleet.answers()["pair"]()
    [lead] = fleet.lake.rows(
        "SELECT part, category, module, operator, verdict, before_calls, after_calls, more_work_ns, slower_work_ns "
        "FROM comparison_leads"
    )
    assert lead[:8] == ("compute", "gemm", "Mlp_#", "aten::mm", "slower", 1, 1, 0)
    assert lead[8] == pytest.approx(20_000, abs=600)


def test_a_history_shows_its_shift_and_what_changed(pages):
    five = lines(pages["history"])
    assert f"slower from night-{SHIFTED} on" in five["change"]
    assert "compute / gemm / Mlp_# / aten::mm: +" in five["most"]
    layers = charts_of(pages["history"])["levels"]["layer"]
    levels = [row for layer in layers for row in layer.get("data", {}).get("values", []) if "until" in row][:2]
    assert [row["said"] is None for row in levels] == [True, False]
    assert levels[0]["until"] == levels[1]["since"]


def test_ranks_show_the_planted_link_in_every_step(pages):
    assert "rank 1: slow link. The others wait longest for it in 4 of 4 steps" in lines(pages["ranks"])["first"]
    cells = charts_of(pages["ranks"])["map-waited"]["data"]["values"]
    assert {cell["step"] for cell in cells if (cell["rank"], cell["cause"]) == ("rank 1", "slow link")} == {0, 1, 2, 3}
    assert len(cells) == 12


def test_a_history_warns_of_points_that_may_be_of_several_programs(fleet):
    assert fleet.answers()["history"]().doubts == ()
    # Nights and ranks have no kernel of one module in common; the model of the ranks is not known.
    where = "trace LIKE 'night%' OR rank = 0"
    assert fleet.lake.history("step_ms", by="trace", where=where).doubts == (
        "hardware: h100_sxm (8), h200 (1)",
        "work: at 1 of 9 points less than half of the work is also in the point before: at night-0 0 % is in rank0",
    )


def test_the_terminal_and_the_page_have_the_warning(fleet, tmp_path, monkeypatch):
    # A lake of the command's own would compute everything again.
    monkeypatch.setattr("tracelake.commands.history.open_lake", lambda _: fleet.lake)
    words = ["history", "step_ms", "--by", "trace", "--where", "trace LIKE 'night%' OR rank = 0"]
    ended = CliRunner().invoke(cli, [*words, "-o", str(tmp_path / "h.html")])
    assert ended.exit_code == 0, ended.output
    assert "are these runs of one program? hardware: h100_sxm (8), h200 (1); work: at 1 of 9 points" in ended.stderr
    page = (tmp_path / "h.html").read_text(encoding="utf-8")
    assert "not of one program? work: at 1 of 9 points" in lines(page)["trust"]


def test_what_is_no_page_is_said_in_words(fleet, tmp_path):
    with pytest.raises(UsageError, match=r"a page is HTML \(.html\)"):
        fleet.lake.write_page(fleet.lake.ranks("three"), tmp_path / "r.txt")
    words = ["compare", "night-0", "night-7", "--ops", "-o", str(tmp_path / "c.html")]
    ended = CliRunner().invoke(cli, ["--lake", str(fleet.lake.path), *words])
    assert "a page has the whole comparison: omit --ops" in str(ended.exception)


def test_parts_nest_from_modules_to_operators_to_kernels(fleet):
    rows = fleet.lake.rows(
        "SELECT path, kind, calls, self_us FROM nested_parts JOIN traces USING (trace_id) WHERE trace = 'night-0'"
    )
    parts = {tuple(path): (kind, calls, us) for path, kind, calls, us in rows}
    kinds = {len(path): kind for path, (kind, *_) in parts.items()}
    assert kinds == {1: "module", 2: "operator", 3: "kernel"}
    for path, (_, calls, us) in parts.items():
        inside = [part for other, part in parts.items() if other[:-1] == path]
        if inside:
            assert sum(part[1] for part in inside) == calls
            assert sum(part[2] for part in inside) == pytest.approx(us)
    [(whole,)] = fleet.lake.rows("SELECT sum(dur_us) FROM kernels JOIN traces USING (trace_id) WHERE trace = 'night-0'")
    assert sum(us for path, (_, _, us) in parts.items() if len(path) == 1) == pytest.approx(whole)
    # 8 steps of 200 µs, and no other product in the module.
    assert parts["Mlp_#", "aten::mm"][1:] == (8, pytest.approx(1600, rel=0.01))


def test_an_answer_that_has_no_page_says_which_have(fleet, tmp_path):
    with pytest.raises(UsageError, match="compare_sides, history or ranks"):
        fleet.lake.write_page("monday", tmp_path / "t.html")
