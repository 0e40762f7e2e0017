"""The model report: its sections, figures, units, charts, and that its files are the relations.

Figures of the reference report (formulas compat) are those printed in lastweek/nano-train's stored reports and in the
article about it, at DeepSeek-V3 on an H200 with B = 8, S = L = 255 and one byte for everything.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import altair
import pytest

import tracelake
from tracelake.analysis import studies
from tracelake.engine.errors import InputError, UsageError
from tracelake.reports.charts import diagrams, vega
from tracelake.reports.model import facts as facts_of_report
from tracelake.reports.model.format import cell, figures, written
from tracelake.reports.model.prose import sentences

#: Each report takes seconds.
pytestmark = pytest.mark.slow

SECTIONS = """
1 How to Read This Report|1.1 Goal|1.2 Workflow (3 Steps)|1.3 Common Gotchas|2 Key Terms and Units|3 Executive Summary
3.1 Conclusions|3.2 Next Optimisations|4 Architecture Overview|4.1 Model Fingerprint|4.2 Architecture Diagrams
4.3 Parameter & Memory Summary|4.4 Module Size Breakdown|4.5 Weight Statistics
5 Analytical Model (FLOPs, Bytes, Time)|5.1 Modeling Intent and Scope|5.2 Notation
5.3 Execution / Kernel Assumptions|5.3.1 Knob Semantics and Rationale|5.4 Per-Module Formulas|5.5 Tensor Core Mapping
5.6 Byte Accounting|5.7 Byte Dominance Test|5.8 Mode Byte Decomposition (naive and efficient)|6 Roofline Analysis
6.1 Reading a Roofline Point|6.2 Configuration & Assumptions|6.3 Roofline Overview|6.4 Derivation Notes
6.5 Why Regimes Differ across Training, Prefill and Decode|6.6 Execution Models (naive and efficient)
6.6.1 Regime KPI Matrix|6.6.2 Category Delta Overview|6.6.3 Cross-Mode Summary|6.6.4 Decode Batch Sweep
6.6.5 Prefill Sequence Sweep|6.6.6 Mode Share Overview|6.6.7 Category Roofline (Per Mode)
6.7 Decode Compute-Bound Exploration (EP \N{MULTIPLICATION SIGN} L)|6.8 Memory Feasibility|6.9 Communication Envelope
7 Sensitivity Analysis|7.1 Knob Ranking (Decode Grid)|7.2 One Knob at a Time|8 Architectural Limits
9 Appendix A: Assumptions|10 Appendix B: Sources and Checks|10.1 Model Dimensions|10.2 Chip Figures
10.3 Debugging Checklist
"""
TERMS = (
    "F_theory F_tensorcore F_realizable eta_tc(B) P_peak P_effective bytes_weights bytes_activations bytes_kv "
    "bytes_temporary bytes_hbm bytes_net AI_hbm AI_total OI_knee T_comp T_hbm T_net T_est"
).split()
COMPAT = {"formulas": "compat", "batch": 8, "seq_len": 255, "hardware": "h200"}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    with tracelake.Lake(tmp_path_factory.mktemp("lake")) as opened:
        yield opened


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def compat(lake, folder):
    """The reference report's own run."""
    return lake.model_report("deepseek-v3", folder / "compat.md", **COMPAT).text


@pytest.fixture(scope="module")
def asked(folder):
    """The lake of the report below: it still has that report's scenarios, and may read the report's files."""
    with tracelake.Lake(folder / "asked", unsafe=True) as opened:
        yield opened


@pytest.fixture(scope="module")
def physical(asked, folder):
    """A report on a layout that fits, with its tables as files of both kinds."""
    return asked.model_report(
        "deepseek-v3",
        folder / "v3.md",
        hardware=["h200", "b200"],
        ep=64,
        csv=folder / "csv",
        parquet=folder / "parquet",
    ).text


@pytest.fixture(scope="module")
def dense(folder):
    """A report on a dense model, as a page."""
    with tracelake.Lake(folder / "dense") as opened:
        return opened.model_report("qwen3-8b", folder / "dense.html", hardware="mi300x", batch=16, seq_len=1024).text


def section(text, number):
    """Return what a Markdown report has in a section, without those below it."""
    body = re.split(rf"(?m)^#+ {re.escape(number)}\. .*\n", text)[1]
    return re.split(r"(?m)^#{2,5} ", body)[0]


def tables(text):
    """Return the tables of a Markdown text as headings and rows."""
    for block in re.findall(r"(?m)(?:^\|.*\n)+", text + "\n"):
        lines = [[part.strip() for part in re.split(r"(?<!\\)\|", line)[1:-1]] for line in block.splitlines()]
        yield lines[0], lines[2:]


def row(text, **wanted):
    """Return the one row of a table whose cells are as wanted, by heading."""
    for headings, rows in tables(text):
        found = [dict(zip(headings, cells, strict=True)) for cells in rows]
        found = [cells for cells in found if all(cells.get(key) == value for key, value in wanted.items())]
        if len(found) == 1:
            return found[0]
    raise AssertionError(f"no single row with {wanted}")


def test_sections_are_those_of_the_reference_report_in_its_order(compat):
    wanted = [line for part in SECTIONS.strip().splitlines() for line in part.split("|")]
    found = [f"{number} {title}" for number, title in re.findall(r"(?m)^#{2,4} ([\d.]+)\. (.*)$", compat)]
    assert found == wanted


def test_headings_are_as_deep_as_their_numbers(physical):
    for marks, number in re.findall(r"(?m)^(#{2,5}) ([\d.]+)\. ", physical):
        assert len(marks) == 2 + number.count(".")


def test_every_section_opens_with_prose(compat, physical):
    for text in (compat, physical):
        for heading, first in re.findall(r"(?m)^#{2,4} ([\d.]+)\. .*\n+(.*)$", text):
            assert re.match(r"[A-Z`].{15,}", first), heading


def test_the_terms_are_defined_with_units_before_the_first_figures(compat):
    before = compat[: compat.index("6.6.1. Regime KPI Matrix")]
    [(_, terms)] = tables(section(before, "2"))
    defined = {cells[0]: cells for cells in terms}
    assert set(TERMS) <= set(defined)
    assert all(cells[1] and cells[2] and cells[3] for cells in terms)
    assert "F_theory -> F_tensorcore -> F_realizable -> AI -> roofline/time limits" in before


def test_intensities_of_the_reference_report_are_reproduced(compat):
    overview = section(compat, "6.3")
    for figure in ("training does 652.03 FLOP/byte", "prefill 434.68 FLOP/byte", "decode 7.70 FLOP/byte"):
        assert figure in overview
    assert "412.29 FLOP/byte" in section(compat, "6.1")
    kpi = section(compat, "6.6.1")
    assert row(kpi, Mode="training", Exec="naive")["AI_hbm (FLOP/byte)"] == "319.1"
    assert row(kpi, Mode="training", Exec="naive")["Bound by"] == "memory"
    assert row(kpi, Mode="training", Exec="efficient")["Bound by"] == "compute"
    # 297.818, 148.909 and 16.127 ms in its table of modes.
    assert row(kpi, Mode="training", Exec="naive")["T_est (ms)"] == "297.8"
    assert row(kpi, Mode="decode", Exec="efficient")["T_est (ms)"] == "16.13"


def test_the_ranking_of_the_reference_report_is_reproduced(compat):
    [(headings, rows)] = tables(section(compat, "7.1"))
    found = [(cells[0], cells[headings.index("Effect size (%)")]) for cells in rows]
    assert found == [
        ("top-k experts", "189.4"), ("hidden scale", "153.4"), ("KV length (L)", "9.4"), ("KV rank scale", "6.5"),
        ("KV dtype bytes", "3.3"),
    ]  # fmt: skip
    assert rows[0][3] == "2: 5.73, 4: 9.52, 8: 16.59"


def test_the_worked_example_of_the_reference_report_is_reproduced(compat):
    worked = section(compat, "6.6.4")
    assert "Worked example: B = 128 sequences" in worked
    assert "29.06 FLOP/byte" in row(worked, What="AI_hbm")["With numbers, and unit"]
    assert row(worked, What="Slope at AI_hbm")["With numbers, and unit"] == "139.5 TFLOP/s"
    assert "68.38 ms" in row(worked, What="T_hbm")["With numbers, and unit"]


def test_what_does_not_fit_is_said_first_and_marked(compat):
    # 671 GB of weights on a chip of 151.4 (141 · 1024³ bytes, as the reference counts).
    assert section(compat, "3.1").split("1. ", 1)[1].startswith("**It does not fit.**")
    assert section(compat, "3.2").split("1. ", 1)[1].startswith("**Choose a layout that fits**")
    assert row(section(compat, "6.6.1"), Mode="decode", Exec="efficient")["Fits"] == "**no**"
    assert "None of the 216 points of the grid fits" in section(compat, "7")


def test_the_frontier_of_the_reference_report_is_reproduced(compat):
    frontier = section(compat, "6.7")
    at = {key: row(frontier, **{"EP (ranks)": ep, "L (tokens)": length}) for key, ep, length in (
        ("small", "64", "2,048"), ("long", "64", "16,384"), ("one", "1", "4,096"))}  # fmt: skip
    assert at["small"]["Least B for compute (sequences)"] == "2,048"
    assert at["long"]["Least B for compute (sequences)"] == "\N{EN DASH}"
    assert (at["one"]["Least B for compute (sequences)"], at["one"]["OI_inf_hbm (FLOP/byte)"]) == ("8,192", "586.4")


def test_with_experts_spread_the_reference_report_says_otherwise(lake):
    text = lake.model_report("deepseek-v3", **COMPAT, ep=64).text
    assert "61.93" in section(text, "6.6.4")
    assert [cells[1] for _, rows in tables(section(text, "7.1")) for cells in rows] == [
        "121.3", "90.0", "45.2", "6.1", "0.9"
    ]  # fmt: skip
    # 0, 23, 42 and 48 of 54 points compute-bound: more of them with more cached tokens.
    assert "L = 4096: 23 compute-, 31 memory-" in section(text, "7")
    assert "L = 16384: 48 compute-" in section(text, "7")


def test_physical_figures_are_those_worked_out_from_the_corrected_formulas(lake):
    # FLOP of decode with the absorbed form and of causal prefill, from the dimensions alone.
    work = {"batch": 8, "dp": 64, "ep": 64, "hardware": "h200"}
    decode = lake.model_roofline(lake.ask("deepseek-v3", kv_len=255, **work))
    assert decode.select("flop").fetchall() == [(620_789_497_856,)]
    prefill = lake.model_roofline(lake.ask("deepseek-v3", seq_len=255, **work))
    assert prefill.select("phase, flop").fetchall() == [("prefill", 146_967_180_083_200)]


def test_modules_sum_to_the_pass(lake):
    work = {"batch": 8, "kv_len": 4096, "hardware": "h100"}
    asked = lake.ask("qwen3-8b", **work)
    [(flop, size)] = lake.model_roofline(asked).select("flop, hbm_bytes").fetchall()
    modules = lake.model_roofline(asked, modules=True).aggregate("sum(flop), sum(hbm_bytes)").fetchall()
    assert modules == [(pytest.approx(flop), pytest.approx(size))]


def numbers_without_unit(headings, rows):
    """Return what of a table has numbers and neither a unit in its heading nor in its cells."""
    for nth, heading in enumerate(headings):
        cells = [cells[nth] for cells in rows]
        if re.search(r"\([^()]+\)$", heading) or heading in ("Property", "Metric", "What", "Term", "Formula"):
            continue
        for text in cells:
            if heading.startswith(("Value and unit", "With numbers")):
                bare = re.fullmatch(r"[\d,.]+", text)
            else:
                bare = re.fullmatch(r"-?[\d,.]+(e-?\d+)?", text) and heading not in ("Where used", "Which", "Unit")
            if bare:
                yield heading, text


def test_no_number_is_without_its_unit(compat, physical):
    for text in (compat, physical):
        found = list(tables(text))
        assert len(found) > 25
        assert [bare for table in found for bare in numbers_without_unit(*table)] == []
    # The check sees one that is.
    assert list(numbers_without_unit(["Mode", "T_est"], [["decode", "16.13"]])) == [("T_est", "16.13")]
    assert list(numbers_without_unit(["Property", "Value and unit"], [["layers", "61"]])) == [("Value and unit", "61")]


def test_every_column_of_numbers_has_a_unit(lake):
    words = "('words', 'flag', 'yes_no')"
    assert lake.rows(f"SELECT column_name FROM report_columns WHERE format NOT IN {words} AND unit IS NULL") == []


def test_files_have_the_rows_of_the_relations(asked, physical, folder):
    study = {"byte_shares": "report anchor", "critical_batch": "report batch", "decode_frontier": "report frontier"}
    study |= dict.fromkeys(("knob_medians", "sensitivity", "regime_transitions"), "report grid")
    study |= dict.fromkeys(("module_roofline", "communication_envelope"), "report anchor")
    for name in (*study, "phase_roofline", "memory_per_gpu"):
        condition = f"study = '{study[name]}'" if name in study else "study LIKE 'report %'"
        mine = asked.rows(f"SELECT count(*) FROM {name} WHERE {condition}")
        file = f"read_parquet('{folder / 'parquet' / name}.parquet')"
        assert mine == asked.rows(f"SELECT count(*) FROM {file}") != [(0,)]
        described = asked.rows(f"SELECT column_name, column_type FROM (DESCRIBE {name})")
        words = ", ".join(column for column, type_ in described if type_ == "VARCHAR")
        of_words = f"SELECT {words} FROM {{}}"
        ours, theirs = of_words.format(f"{name} WHERE {condition}"), of_words.format(file)
        assert asked.rows(f"SELECT * FROM ({ours} EXCEPT ALL {theirs})") == []
        sums = ", ".join(f"coalesce(sum({column}), -1)" for column, type_ in described if type_ in ("DOUBLE", "BIGINT"))
        [ours] = asked.rows(f"SELECT {sums} FROM {name} WHERE {condition}")
        # The last bits of a sum depend on the order of the rows.
        assert asked.rows(f"SELECT {sums} FROM {file}") == [pytest.approx(ours, rel=1e-12)], name


def test_csv_and_parquet_hold_the_same(asked, physical, folder):
    names = {path.stem for path in (folder / "parquet").iterdir()}
    assert names == {path.stem for path in (folder / "csv").iterdir()} == {
        *studies.PRINTED, "report_facts", "report_advice"
    }  # fmt: skip
    for name in ("phase_roofline", "sensitivity", "memory_per_gpu"):
        counts = [
            asked.rows(f"SELECT count(*), count(DISTINCT COLUMNS(*)) FROM '{folder / kind / name}.{kind}'")
            for kind in ("csv", "parquet")
        ]  # fmt: skip
        assert counts[0] == counts[1]


def test_tables_of_the_report_are_slices_of_those_relations(asked, physical):
    kpi = row(section(physical, "6.6.1"), Mode="decode", Exec="physical")
    [(time, size, bound)] = asked.rows(
        "SELECT time_ms, hbm_bytes, bound FROM phase_roofline "
        "WHERE study = 'report anchor' AND phase = 'decode' AND execution = 'physical'"
    )
    assert kpi["T_est (ms)"] == figures(time)
    assert kpi["bytes_hbm (GB)"] == figures(size / 1e9)
    assert kpi["Bound by"] == bound


def test_what_if_steps_turn_one_knob_each(asked, physical):
    rows = asked.rows(
        "SELECT scenario, batch, kv_len, tp, ep, kv_dtype, execution FROM scenarios "
        "WHERE study = 'report knobs' AND phase = 'decode'"
    )
    by_step = {name.removeprefix("report knobs / decode / "): cells for name, *cells in rows}
    assert by_step["batch / high"] == [16, 4096, 1, 64, None, "physical"]
    assert by_step["ep / low"] == [8, 4096, 1, 32, None, "physical"]
    assert by_step["kv_dtype / low"] == [8, 4096, 1, 64, "fp8", "physical"]
    assert by_step["hbm / high"][-1] == "report hbm high"
    assert "tp / low" not in by_step, "half of one rank"
    assert "weight_dtype / low" not in by_step, "the weights are fp8 as published"
    [(at, twice)] = asked.rows(
        "SELECT max(hbm_ms) FILTER (study = 'report anchor'), max(hbm_ms) FILTER (study = 'report knobs') "
        "FROM phase_roofline WHERE scenario IN ('report anchor / decode / physical / h200', "
        "'report knobs / decode / hbm / high')"
    )
    assert twice == pytest.approx(at / 2)


def test_sentences_rest_on_facts_that_the_report_has(asked, physical):
    facts = {name for (name,) in asked.rows("SELECT fact FROM report_facts")}
    said = asked.rows("SELECT rule, text FROM report_advice")
    assert len(said) > 10
    for rule, text in said:
        assert set(re.findall(r"\{([a-z0-9_]+)\}", text)) <= facts, rule
    assert "unknown" not in physical.replace("spread are unknown", "")


def test_every_rule_has_a_condition_and_every_condition_a_rule(lake):
    assert lake.rows("SELECT rule FROM report_rules WHERE rule NOT IN (SELECT rule FROM report_conditions)") == []
    assert lake.rows("SELECT rule FROM report_conditions WHERE rule NOT IN (SELECT rule FROM report_rules)") == []


def test_every_rule_has_a_sentence_and_every_sentence_a_rule(lake):
    assert {rule for (rule,) in lake.rows("SELECT rule FROM report_rules")} == sentences().keys()


def test_a_rule_of_ones_own_has_its_sentence_beside_it(tmp_path):
    (tmp_path / "lookup").mkdir()
    own = "rule,place,priority,text\nmine,conclusion,90,It is {hindrances}.\n"
    (tmp_path / "lookup" / "report_rules.csv").write_text(own)
    (tmp_path / "lookup" / "report_conditions.csv").write_text("rule,fact,above,at_most,words\nmine,hindrances,,,\n")
    with tracelake.Lake(tmp_path) as opened:
        opened.rows("INSERT INTO report_facts VALUES ('hindrances', NULL, 'too small', NULL)")
        assert opened.rows("SELECT rule, text FROM report_advice") == [("mine", "It is {hindrances}.")]


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"decode_fits": "no", "smallest_layout": "none"}, "fits none"),
        ({"decode_fits": "no", "smallest_layout": "TP = 1, EP = 8"}, "fits elsewhere"),
        ({"decode_fits": "unknown", "training_fits": "unknown", "smallest_layout": "unknown"}, "fits unknown"),
        ({"decode_fits": "yes", "training_fits": "no"}, "fits inference"),
        ({"decode_fits": "yes", "training_fits": "yes", "faults": "more stages than layers"}, "cannot run"),
        ({"decode_fits": "no", "faults": "more stages than layers"}, "choose what can run"),
        ({"decode_time_batch": 55.0, "crossing_fits": "yes", "sweep_compute_bound_pct": 40.0}, "decode crosses"),
        ({"sweep_compute_bound_pct": 0.0}, "decode never compute"),
        ({"sweep_compute_bound_pct": 100.0}, "decode always compute"),
        ({"decode_kv_dtype_low_gain_pct": 12.0}, "8-bit cache"),
        ({"floor_over_knee": 1.17, "formulas": "physical"}, "limit floor above"),
        ({"floor_over_knee": 0.3, "formulas": "physical"}, "limit floor below"),
        ({"active_agrees": "no"}, "active differs"),
    ],
)
def test_rules_hold_by_their_conditions(tmp_path, facts, said):
    with tracelake.Lake(tmp_path) as opened:
        assert opened.rows("SELECT rule FROM report_advice") == []
        for fact, value in facts.items():
            number, words = (value, None) if isinstance(value, float) else (None, value)
            opened.rows("INSERT INTO report_facts VALUES ($1, $2, $3, NULL)", [fact, number, words])
        assert said in [rule for (rule,) in opened.rows("SELECT rule FROM report_advice")]


def test_no_layout_and_no_step_is_proposed_that_cannot_run(tmp_path):
    """Mixtral's 93.4 GB are 31.1 on each of three chips of 40 GB, which would hold them: but 3 does not divide 32."""
    with tracelake.Lake(tmp_path) as opened:
        uneven = opened.model_report("mixtral-8x7b", hardware="a100-sxm-40gb", tp=3, batch=1, seq_len=512)
        facts = dict(opened.rows("SELECT fact, words FROM report_facts"))
        assert uneven.faults == ("tp does not divide the heads",)
        even = opened.model_report("mixtral-8x7b", hardware="a100-sxm-40gb", tp=4, batch=1, seq_len=512)
        assert even.faults == ()
    assert facts["decode_fits"] == "yes"
    assert "(4 chips)" in facts["smallest_layout"]
    assert facts["decode_batch_high_runs"] == "no"


def test_an_unmet_gain_is_not_promised(asked, physical):
    # V3's weights are in 8 bits already.
    assert "Take weights of 8 bits" not in physical
    gains = [gain for (gain,) in asked.rows("SELECT gain_pct FROM report_advice WHERE place = 'next'")]
    assert gains
    assert all(gain is None or gain > 1 for gain in gains)


def test_a_dense_model_has_no_words_of_experts(folder, dense):
    assert "The MLPs hold" in dense
    assert "Spread the experts" not in dense
    assert "The mixture of experts" not in dense


def test_a_page_needs_no_network_and_its_charts_are_in_it(dense):
    page = re.sub(r"(?s)<script>.*?</script>", "", dense)
    assert re.findall(r"<(?:script|link|img|iframe|object|embed)\b[^>]*\b(?:src|href|data)\s*=", page) == []
    assert re.findall(r"@import|url\(\s*['\"]?http|<script\b", page) == []
    assert "vegaEmbed" in dense
    specs = json.loads(re.search(r"const charts = (\{.*\});", dense).group(1))
    assert {"roofline", "decode_batch", "prefill_prompt", "parameters", "decode_knobs"} <= set(specs)
    for name in specs:
        assert f'id="chart-{name}"><svg' in dense
    assert not re.search(r'"url": *"http', json.dumps(specs).replace("$schema", ""))


def test_charts_are_valid_and_have_units_on_their_axes(dense):
    specs = json.loads(re.search(r"const charts = (\{.*\});", dense).group(1))
    for name, spec in specs.items():
        altair.Chart.from_dict(spec, validate=True)
        text = json.dumps(spec)
        assert re.search(r'"title": "[^"]*\((FLOP/byte|TFLOP/s|%|tokens|sequences|ms|ranks)\)"', text), name


def test_charts_of_markdown_are_pictures_beside_it(physical, folder):
    files = re.findall(r"!\[[^]]*\]\(([^)]+\.svg)\)", physical)
    assert len(files) == len(set(files)) >= 12
    for file in files:
        assert (folder / file).read_text().startswith("<svg")
    roofline = (folder / "v3_roofline.svg").read_text()
    assert "h200 fp8: 1,979" in roofline
    assert "AI_hbm (FLOP/byte)" in roofline


def test_a_roof_meets_its_slope_at_the_knee():
    roof = vega.Roof("h200", "fp8", 1979.0, 4800.0)
    points = [{"phase": "decode", "execution": "naive", "intensity": 4.0, "tflops": 19.2, "mfu": 0.01}]
    spec = vega.roofline(points, [roof], ["naive"]).spec
    [line] = [
        layer["data"]["values"] for layer in spec["layer"]
        if layer["mark"].get("type") == "line" and "values" in layer["data"]
    ]  # fmt: skip
    start, knee, end = line
    assert knee["intensity"] == pytest.approx(412.2916667)
    assert start["tflops"] == pytest.approx(4.8 * start["intensity"])
    assert knee["tflops"] == end["tflops"] == 1979
    assert start["intensity"] < 4 < knee["intensity"] < end["intensity"]


def all_diagrams(lake):
    for model, *_ in lake.rows("SELECT model FROM architectures WHERE fault IS NULL ORDER BY model"):
        answer = lake.sql(f"SELECT * FROM architectures WHERE model = '{model}'")
        dims = dict(zip(answer.columns, answer.fetchall()[0], strict=True))
        kinds = lake.rows(
            "SELECT layer_kind, count(*) FROM model_layers WHERE model = $1 GROUP BY layer_kind ORDER BY min(layer_id)",
            [model],
        )
        yield model, diagrams.diagrams(dims, kinds)


def test_diagrams_of_every_model_are_whole(lake):
    seen = set()
    for model, found in all_diagrams(lake):
        [(kinds, has_experts)] = lake.rows(
            "SELECT count(DISTINCT layer_kind), bool_or(mlp_kind = 'moe') FROM model_layers WHERE model = $1", [model]
        )
        assert len(found) == 1 + kinds + has_experts, model
        for diagram in found:
            ids = [node.id for node in diagram.nodes]
            assert len(ids) == len(set(ids))
            assert {end for edge in diagram.edges for end in (edge.start, edge.end)} == set(ids)
            text = diagram.mermaid()
            assert text.startswith("flowchart TD\n")
            for line in text.splitlines()[1:]:
                box = re.fullmatch(r'    \w+(\["|\(\["|\[\(")[^"]+("\]|"\]\)|"\)\])', line)
                arrow = re.fullmatch(r'    \w+ (-->|-\.->)(\|"[^"]+"\|)? \w+', line)
                assert box or arrow, line
            assert "None" not in text
            assert diagram.svg().count("<rect") == len(ids)
            seen.add(diagram.title.split(" (")[0])
    assert {"A layer of kind mla+moe", "A layer of kind gqa+dense", "A layer of kind dsa+moe", "The stack"} <= seen
    assert any("v4_top" in title for title in seen)


def test_labels_that_mermaid_would_read_as_markup_are_escaped():
    node = diagrams.Node("a", ('say "x" <b> #1 & [y]',), 0)
    text = diagrams.Diagram("t", (node,), ()).mermaid()
    assert '["say #quot;x#quot; #lt;b#gt; #35;1 #amp; [y]"]' in text


def node_modules():
    """Return a folder that has mermaid and jsdom; skip the test where there is none."""
    if not (node := shutil.which("node")):
        pytest.skip("needs node")
    npm = shutil.which("npm")
    root = subprocess.run([npm, "root", "-g"], capture_output=True, text=True, check=False).stdout if npm else ""
    for folder in (os.environ.get("TRACELAKE_NODE_MODULES", ""), root.strip()):
        if folder and (Path(folder) / "mermaid").is_dir() and (Path(folder) / "jsdom").is_dir():
            return node, folder
    pytest.skip("needs npm's mermaid and jsdom, installed globally or in the folder TRACELAKE_NODE_MODULES")


def test_mermaid_itself_reads_every_diagram(lake, tmp_path):
    node, folder = node_modules()
    files = []
    for model, found in all_diagrams(lake):
        for nth, diagram in enumerate(found):
            files.append(tmp_path / f"{model}-{nth}.mmd")
            files[-1].write_text(diagram.mermaid())
    script = Path(__file__).with_name("mermaid_parse.mjs")
    done = subprocess.run([node, script, folder, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("flowchart") == len(files)


def test_a_config_json_is_reported_on(tmp_path):
    config = {
        "model_type": "llama", "hidden_size": 512, "num_hidden_layers": 4, "num_attention_heads": 8,
        "num_key_value_heads": 2, "intermediate_size": 1408, "vocab_size": 32000, "torch_dtype": "bfloat16",
    }  # fmt: skip
    (tmp_path / "mini").mkdir()
    (tmp_path / "mini" / "config.json").write_text(json.dumps(config))
    with tracelake.Lake(tmp_path / "lake") as opened:
        text = opened.model_report(tmp_path / "mini" / "config.json", hardware="a100", batch=2, seq_len=128).text
        # 4 · (2 · 512² + 2 · 512 · 128 + 3 · 512 · 1408 + 2 · 512) + 2 · 32000 · 512 + 512, by hand
        assert "44,044,800 parameters" in section(text, "4.3")
        assert "the check could not be made" in text
        with pytest.raises(InputError, match="config"):
            opened.model_report(tmp_path / "none" / "config.json", hardware="a100")


def test_a_sweep_has_a_row_for_each_combination(lake):
    swept = lake.model_sweep("deepseek-v3", hardware=["h200", "b200"], batch=[1, 8], kv_len=[255, 4096], ep=[8, 64])
    rows = swept.rows.select("hardware, batch, kv_len, ep, dp, flop, fits").fetchall()
    assert len(rows) == len({cells[:4] for cells in rows}) == 16
    # The absorbed form's FLOP at 4096 cached tokens, from the dimensions alone.
    assert ("h200", 8, 4096, 64, 64, 1_142_864_609_280.0, True) in rows
    assert {cells[-1] for cells in rows if cells[3] == 64} == {True}


def test_context_parallel_ranks_of_a_sweep_share_experts_as_those_of_a_scenario_do(lake):
    work = {"hardware": "h200", "phase": "training", "seq_len": 4096}
    swept = lake.model_sweep("deepseek-v3", **work, tp=[1, 2, 16], cp=[1, 2], ep=16).rows
    # 16 ranks of experts over the tp * cp ranks of a replica; one replica at least.
    assert sorted(swept.select("tp, cp, dp").fetchall()) == [
        (1, 1, 16), (1, 2, 8), (2, 1, 8), (2, 2, 4), (16, 1, 1), (16, 2, 1),
    ]  # fmt: skip
    [asked] = lake.model_roofline(lake.ask("deepseek-v3", **work, cp=2, ep=16)).select("dp, time_ms").fetchall()
    [found] = swept.filter("tp = 1 AND cp = 2").select("dp, time_ms").fetchall()
    assert found == pytest.approx(asked)


def test_a_second_report_or_sweep_takes_the_place_of_the_first(tmp_path):
    with tracelake.Lake(tmp_path) as opened:
        first, second = (opened.model_sweep("qwen3-8b", hardware=chip, batch=[1, 2]) for chip in ("h200", "h100"))
        assert len(second.rows.fetchall()) == 2
        for answer in (lambda: first.rows, lambda: first.map("batch", "kv_len")):
            with pytest.raises(UsageError, match="another sweep"):
                answer()
        assert opened.rows("SELECT DISTINCT hardware FROM scenarios WHERE study = 'sweep'") == [("h100_sxm",)]
        for batch in (4, 2):
            opened.model_report("qwen3-8b", hardware="h200", batch=batch, seq_len=256)
        assert opened.rows("SELECT DISTINCT batch FROM scenarios WHERE study = 'report anchor'") == [(2,)]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"hardware": "h2000"}, "unknown hardware"),
        ({"hardware": []}, "needs a chip"),
        ({"hardware": "h200", "formulas": "guess"}, "formulas=guess: unknown"),
        ({"hardware": "h200", "executions": ["fast"]}, "unknown execution profile"),
        ({"hardware": "h200", "ep": 2}, "no routed experts"),
        ({"hardware": "h200", "kv_dtype": "fp7"}, "unknown type"),
        ({"hardware": "h200", "output": "x.pdf"}, r"\.md.*\.html"),
        ({"hardware": "h200", "colour": "red"}, "colour"),
        ({"hardware": "v100_sxm2_16gb"}, "its peak in bf16 is not known; known: fp16, fp32"),
        ({"hardware": ["h200", "mi308x"]}, "mi308x: its peak in .* known: none"),
        ({"hardware": ["h200", "l40s"], "tp": 2}, "l40s: the bandwidth of its links is not known, and with tp 2, ep 1"),
        ({"hardware": "l40s", "dp": 2}, "l40s: the bandwidth of its links is not known, and with tp 1, ep 1, dp 2"),
    ],
)
def test_what_cannot_be_asked_is_said(lake, words, said):
    with pytest.raises(UsageError, match=said):
        lake.model_report("qwen3-8b", **words)


def test_a_sweep_says_which_axis_or_value_is_unknown(lake):
    for axes, said in (
        ({"hardware": "h200", "colour": [1]}, "no axis"), ({}, "needs a chip"),
        ({"hardware": "h200", "phase": ["sleep"]}, "phase=sleep"), ({"hardware": "h200", "batch": []}, "needs a value"),
        ({"hardware": "h200", "batch": list(range(1, 1001)), "kv_len": list(range(300))}, "at most"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=said):
            lake.model_sweep("qwen3-8b", **axes)


def test_numbers_are_written_with_four_figures_and_their_unit():
    assert [figures(value) for value in (0, 7.7017, 319.05, 1234.5, 0.012345, 4.2e-5, 99.996)] == [
        "0", "7.702", "319.1", "1,234", "0.01235", "4.200e-05", "100.0"
    ]  # fmt: skip
    assert written(31.6e9, "bytes") == "31.60 GB"
    assert written(1, "sequences") == "1 sequence"
    assert written(1.0, "ms") == "1 ms"
    assert written(None, "ms") == "none"
    assert cell(0.0187, "per_cent") == "1.9"
    assert cell(None, "number") == "\N{EN DASH}"


def test_facts_fill_texts_and_what_is_missing_is_called_unknown():
    assert facts_of_report.filled("{a} of {b}", {"a": "1 ms"}) == "1 ms of unknown"
