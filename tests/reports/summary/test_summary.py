"""The profile summary: its sections in order, its shares, its JSON as published, and the reference's own."""

import json
import re

import pytest

import tracelake
from tracelake.engine.errors import UsageError
from tracelake.reports.summary import document as reports

from ... import summary_cases as cases
from ...support import DATA, ROOT, data_files, trace_bytes

SECTIONS = [
    "Run Metadata", "Trace Provenance", "Trace Overview", "Step Time (Steady State)", "Step Classes", "Time Breakdown",
    "Hierarchical Regions", "Top Ops", "Semantic Families", "Communication Collectives", "Pre-Op Gaps",
    "Gap Context (Region-First)", "Optimization Candidates",
]  # fmt: skip
TYPES = {
    "string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict,
    "null": type(None),
}  # fmt: skip


def faults(value, schema, at="$"):
    """Yield what is wrong with a value by a JSON schema, as far as the published ones use the language."""
    if "const" in schema and value != schema["const"]:
        yield f"{at}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: {value!r} is none of {schema['enum']}"
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(
        isinstance(value, TYPES[kind]) and not (isinstance(value, bool) and kind in ("integer", "number"))
        for kind in kinds
    ):
        yield f"{at}: {value!r} is no {' or '.join(kinds)}"
        return
    if isinstance(value, int | float) and value > schema.get("maximum", value):
        yield f"{at}: {value} is above {schema['maximum']}"
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from faults(item, schema.get("items", {}), f"{at}[{place}]")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        yield from (f"{at}: lacks {key}" for key in schema.get("required", []) if key not in value)
        for key, item in value.items():
            if key in known:
                yield from faults(item, known[key], f"{at}.{key}")
            elif schema.get("additionalProperties") is False:
                yield f"{at}: {key} is not in the schema"


def published(name):
    [path] = (ROOT / "reports").rglob(f"{name}.json")
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_check_of_schemas_finds_faults():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
              "additionalProperties": False}  # fmt: skip
    assert list(faults({"a": 1}, schema)) == []
    for wrong in ({}, {"a": "1"}, {"a": True}, {"a": 1, "b": 2}, []):
        assert list(faults(wrong, schema))


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Cases A, B, C and G, a name with a bar, a trace without kernels, and real traces where they are."""
    folder = tmp_path_factory.mktemp("summary")
    lake = tracelake.open(folder / "lake")
    barred = [(1, "/device:TPU:0", {"XLA Ops": "a|b 0+10; c 10+5"})]
    written = {name: getattr(cases, f"CASE_{name}") for name in "ABCG"} | {"bar": barred}
    files = [cases.write_case(folder / f"{name}.json", case) for name, case in written.items()]
    (folder / "empty.json").write_bytes(trace_bytes([
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 5},
    ]))  # fmt: skip
    names = data_files("jax/tpu_inference_k1*", "kineto/vllm*b200*", "kineto/hta_trace_filter*0*")
    files += [DATA / parameter.values[0] for parameter in names if parameter.values[0]]
    lake.ingest(folder / "empty.json", *files)
    return lake


@pytest.fixture(scope="module")
def summaries(lake):
    traces = [name for (name,) in lake.rows("SELECT trace FROM traces ORDER BY trace")]
    return {name: json.loads(lake.summary(name, "json")) for name in traces}


def of(summaries, name):
    if name not in summaries:
        pytest.skip(f"needs the trace {name}")
    return summaries[name]


def test_the_page_has_the_sections_in_order(lake, summaries):
    for summary in summaries.values():
        page = reports.as_markdown(summary)
        assert re.findall(r"^## (.*)$", page, re.MULTILINE) == SECTIONS


def test_every_summary_is_as_published(summaries):
    schema = published("tracelake.profile_summary.v1")
    for name, summary in summaries.items():
        assert list(faults(summary, schema)) == [], name


def test_no_share_exceeds_the_whole(summaries):
    for name, summary in summaries.items():
        for key, section in summary.items():
            for row in section.get("rows", []) if isinstance(section, dict) else []:
                for column, value in row.items():
                    if column.endswith("_pct") and value is not None:
                        assert -1e-9 <= value <= 100 + 1e-9, (name, key, row)


def test_parts_sum_to_their_wholes(summaries):
    for name, summary in summaries.items():
        parts = summary["time_breakdown"]["rows"]
        if not parts:
            assert name == "empty"
            continue
        # The breakdown is its total, and families, and regions of depth 1, are all own times.
        assert sum(row["total_us"] for row in parts) == pytest.approx(summary["overview"]["device_time_us"])
        assert sum(row["share_pct"] for row in parts) == pytest.approx(100)
        assert sum(row["share_pct"] for row in summary["op_families"]["rows"]) == pytest.approx(100)
        own = sum(row["self_us"] for row in summary["ops"]["rows"])
        assert sum(row["self_us"] for row in summary["op_families"]["rows"]) == pytest.approx(own)
        roots = [row for row in summary["regions"]["rows"] if row["depth"] == 1]
        assert sum(row["inclusive_us"] for row in roots) == pytest.approx(own)
        assert sum(row["inclusive_pct"] for row in roots) == pytest.approx(100)
        # Each share is its figure by that whole, and each mean its sum by the calls.
        for row in summary["op_families"]["rows"]:
            assert row["share_pct"] == pytest.approx(100 * row["self_us"] / own)
            assert row["mean_us"] * row["calls"] == pytest.approx(row["self_us"])
        # Collectives have the basis of the breakdown: exposed times are its row.
        [exposed] = [row["total_us"] for row in parts if row["part"] == "exposed communication"]
        collectives = summary["collectives"]["rows"]
        assert sum(row["exposed_us"] for row in collectives) == pytest.approx(exposed)
        assert all(row["avg_us"] * row["calls"] == pytest.approx(row["total_us"]) for row in collectives)
        # Gaps by operation and by region are the same gaps, and no longer than the idle time.
        gaps = sum(row["total_us"] for row in summary["gaps"]["rows"])
        assert sum(row["total_us"] for row in summary["gap_regions"]["rows"]) == pytest.approx(gaps)
        assert gaps <= sum(row["idle_us"] for row in summary["idle_causes"]["rows"]) + 1e-6


def test_two_devices_share_one_whole(summaries):
    # Case B: of 2 · 200 µs compute 315, exposed communication 35, idle 50.
    parts = {row["part"]: (row["total_us"], row["share_pct"]) for row in summaries["B"]["time_breakdown"]["rows"]}
    assert parts["compute"] == (315, 78.75)
    assert parts["exposed communication"] == (35, 8.75)
    assert parts["wait"][0] + parts["other idle"][0] == 50
    top = summaries["B"]["ops"]["rows"][0]
    assert (top["op"], top["self_us"], top["share_pct"]) == ("fusion.1", 160, 40)


def test_long_tables_are_cut_and_say_so(summaries):
    summary = of(summaries, "tpu_inference_k1")
    page = reports.as_markdown(summary, top=3)
    total = len(summary["ops"]["rows"])
    assert f"The first 3 of {total} rows." in page
    assert f"The first 3 of {total} rows." not in reports.as_markdown(summary, top=0)


def test_a_bar_in_a_name_does_not_break_a_table(summaries):
    page = reports.as_markdown(summaries["bar"])
    [row] = [line for line in page.splitlines() if line.startswith("| a")]
    assert row.startswith(r"| a\|b |")


def test_what_a_trace_lacks_is_said(summaries):
    page = reports.as_markdown(summaries["empty"])
    for words in ("No steps are marked", "No device operations.", "No collectives.", "insufficient-data"):
        assert words in page


@pytest.mark.parametrize("mode", ["exclusive_per_track", pytest.param("exclusive_global", marks=pytest.mark.slow)])
def test_the_reference_s_summary_has_its_keys(lake, mode):
    schema = published("profile_summary.v1")
    for name in "ABCG":
        found = json.loads(lake.compat.summary(name, breakdown_mode=mode, warmup_steps=1))
        assert list(faults(found, schema)) == [], name
        assert json.dumps(found, sort_keys=True) == json.dumps(found)


def test_the_reference_s_summary_of_case_b(lake):
    found = json.loads(lake.compat.summary("B", breakdown_mode="exclusive_global", warmup_steps=5))
    breakdown = found["time_breakdown"]
    # A counter of 1 ps that is rounded away here makes 110.000001 and 109.999999 there.
    assert breakdown["total_duration"] == pytest.approx(300)
    assert breakdown["compute"]["total_duration"] == pytest.approx(110, abs=0.001)
    assert breakdown["communication"]["total_duration"] == 80
    assert (found["step_time"]["steady_state_steps"]["median"], found["step_time"]["steady_state_steps"]["p90"]) == (
        100, pytest.approx(101.6),
    )  # fmt: skip
    assert found["hot_ops"][0]["name"] == "fusion.1"
    assert found["hot_ops"][0]["exclusive_duration"] == 160
    assert found["communication_ops"][0] == {
        "collective": "all-gather", "count": 2, "total_duration": 70, "avg_duration": 35,
    }  # fmt: skip
    first = found["gap_before_ops"][0]
    assert (first["name"], first["count"], first["total_gap_duration"], first["max_gap_duration"]) == (
        "fusion.1", 2, 32, 20,
    )  # fmt: skip
    assert [candidate["candidate_id"] for candidate in found["optimization_candidates"]] == [
        "communication-heavy", "stall-heavy", "single-hot-op", "pre-op-gap",
    ]  # fmt: skip
    assert found["trace_overview"]["num_complete_events"] == 21


def test_the_reference_s_report_has_its_sections(lake):
    page = lake.compat.summary("A", "md", warmup_steps=1)
    headings = re.findall(r"^## (.*)$", page, re.MULTILINE)
    assert [heading.split(" (exclusive")[0] for heading in headings] == SECTIONS


def test_a_format_that_is_none_is_refused(lake):
    with pytest.raises(UsageError, match="html"):
        lake.summary("A", "html")
