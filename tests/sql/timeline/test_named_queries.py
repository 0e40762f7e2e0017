"""Questions with a name: table macros over the relations of a summary, by hand. Times in microseconds."""

import json

import pytest

import tracelake

from ...lakes import in_one_lake
from ...summary_cases import CASE_A, CASE_B, CASE_C, CASE_G, write_case

CASES = {"A": CASE_A, "B": CASE_B, "C": CASE_C, "G": CASE_G}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("named")
    lake = tracelake.open(folder / "lake")
    lake.ingest(*(write_case(folder / f"{name}.json", case) for name, case in CASES.items()))
    return lake


def test_top_operations_are_those_of_all_devices(lake):
    columns = "place, program, op, class, calls, devices, self_us, mean_us, round(busy_pct, 4)"
    # Own times are 190 + 195 and what communicates, 20 + 15; programs are apart.
    assert lake.rows(f"SELECT {columns} FROM top_ops('B', how_many := 2)") == [
        (1, "jit_train_step", "fusion.1", "compute", 4, 2, 160, 40, 45.7143),
        (2, "jit_train_step", "fusion.2", "compute", 4, 2, 155, 38.75, 44.2857),
    ]
    assert [row[0] for row in lake.rows("SELECT op FROM top_ops('A')")] == [
        "fusion.2", "fusion.1", "all-reduce.1", "psum.9", "barrier-wait.3", "while.7",
    ]  # fmt: skip
    [(trace_id,)] = lake.rows("SELECT trace_id FROM traces WHERE trace = 'A'")
    assert lake.rows("SELECT count(*), min(trace_id) FROM top_ops($1, how_many := 3)", [trace_id]) == [(3, trace_id)]


@in_one_lake
def test_copies_of_an_operation_are_one_where_the_compiler_says_so(tmp_path):
    said = json.dumps({"deduplicated_name": "dot.1", "hlo_category": "dot", "model_flops": "3000000"})
    first = json.dumps({"hlo_category": "dot", "model_flops": "3000000"})
    unsaid = json.dumps({"hlo_category": "dot", "long_name": "%dot.3 = f32[100,100]{1,0} dot(f32[100,50]{1,0} %a, "
                         "f32[50,100]{1,0} %b), lhs_contracting_dims={1}"})  # fmt: skip
    # The first copy bears the name and is not marked; dot.3 differs in more than its number.
    text = f"dot.1 0+10 {first}; dot.2 10+20 {said}; dot.3 40+5 {unsaid}; add.1 50+1; add.2 60+1"
    lake = yield write_case(tmp_path / "copies.json", [(1, "/device:TPU:0", {"XLA Ops": text})])
    rows = lake.rows("SELECT op, calls, self_us, flop, flop_source, tflops FROM top_ops($1)", [lake.id])
    assert rows == [
        ("dot.1", 2, 30, 6e6, "model_flops", pytest.approx(0.2)),
        ("dot.3", 1, 5, 1e6, "shapes", pytest.approx(0.2)),
        ("add.1", 1, 1, None, "none", None),
        ("add.2", 1, 1, None, "none", None),
    ]


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        # Devices, computing, exposed, hidden, idle of the devices' windows, which is more, what is hidden of all.
        ("A", (1, 63.3333, 13.3333, 0, 23.3333, "compute", 0, "all-reduce", None, 40)),
        ("B", (2, 78.75, 8.75, 15, 12.5, "compute", 63.1579, "all-reduce", "jit_train_step", 35)),
        ("G", (1, 62.069, 13.7931, 17.2414, 20.6897, "compute", 55.5556, "reduce-scatter", None, 40)),
    ],
)
def test_compute_against_communication(lake, case, expected):
    [(_, *found)] = lake.rows(f"SELECT * FROM compute_and_communication('{case}')")
    assert found == [pytest.approx(value, abs=1e-4) if isinstance(value, float) else value for value in expected]


@in_one_lake
def test_communication_dominates_where_more_of_it_is_exposed_than_is_computed(tmp_path):
    lake = yield write_case(tmp_path / "t.json", [(1, "/device:TPU:0", {"XLA Ops": "a 0+10; all-reduce.1 10+11"})])
    assert lake.rows("SELECT dominant FROM compute_and_communication($1)", [lake.id]) == [("communication",)]


def test_collectives_by_kind(lake):
    columns = "kind, calls, calls_per_device, sum_us, mean_us, exposed_us, hidden_us, exposed_pct"
    assert lake.rows(f"SELECT {columns} FROM collective_breakdown('B')") == [
        ("all-reduce", 2, 1, 35, 17.5, 35, 0, 8.75),
        ("all-gather", 2, 1, 70, 35, 0, 60, 0),
    ]
    assert lake.rows("SELECT count(*) FROM collective_breakdown('C')") == [(0,)]


def test_gaps_before_an_operation_by_its_name_else_by_a_part_of_it(lake):
    query = "SELECT payload_name, marker_name, gaps, devices, sum_us, max_us, between_us FROM gaps_before('B', $1)"
    assert lake.rows(query, ["Fusion.1 "]) == [("fusion.1", "fusion.1", 2, 2, 32, 20, 32)]
    assert lake.rows(query, ["fusion"]) == [
        ("fusion.1", "fusion.1", 2, 2, 32, 20, 32),
        ("fusion.2", "fusion.2", 2, 2, 8, 5, 0),
    ]
    assert lake.rows(query, ["dot"]) == []
    # A transfer's end is no work: it marks the gap before what comes next.
    found = lake.rows("SELECT payload_name, marker_name, sum_us FROM gaps_before('C', 'copy-done.9')")
    assert found == [("fusion.13", "copy-done.9", 10)]


def test_where_in_the_program_gaps_are(lake):
    rows = lake.rows("SELECT payload_name, region, phase, gaps, sum_us FROM gap_context('C', 'fusion')")
    assert rows == [
        # It has no path itself, but its other call has.
        ("fusion.10", "_train_step=>Transformer=>layer_0=>attn", "forward", 1, 10),
        ("fusion.13", "_train_step=>rematted_computation=>layer_0=>mlp", "recompute", 1, 10),
    ]
    whole = dict(lake.rows("SELECT region, sum_us FROM gap_regions JOIN traces USING (trace_id) WHERE trace = 'C'"))
    assert [whole[region] for _, region, *_ in rows] == [10, 10]
