"""Databases of msprof, made to their documented tables: no real ones were at hand."""

import sqlite3
from typing import Any

import pytest

from tracelake.lake import Lake
from tracelake.synthetic.databases import MSPROF_NS, SECRETS, write_msprof

from ...support import ingest_into
from ..test_secrets import everything_in


@pytest.fixture(scope="module")
def msprof(tmp_path_factory: Any) -> Lake:
    """A lake with a database of Ascend's profiler."""
    folder = tmp_path_factory.mktemp("msprof")
    lake = Lake(folder / "lake")
    [result] = ingest_into(lake, write_msprof(folder / "ascend_pytorch_profiler_12.db"))
    # 5 tasks, a collective, an operator, a call, a range.
    assert (result.events, result.rejected) == (9, 0)
    return lake


def test_tasks_of_msprof_are_rows_as_the_table_of_kernels_has_them(msprof):
    assert msprof.rows("""
        SELECT device, name, op_type, core, kind, start_ns, dur_ns, input_dims FROM kernels ORDER BY start_ns""") == [
        (4, "MatMulV2_1", "MatMulV2", "AI_CORE", "compute", MSPROF_NS + 100_000, 10_000, "[[8,16],[16,4]]"),
        (4, "MatMulV2_1", "MatMulV2", "AI_CORE", "compute", MSPROF_NS + 120_000, 10_000, "[[8,16],[16,4]]"),
        (4, "hcom_allReduce__935_0_1", "hcom_allReduce_", "COMMUNICATION", "communication", MSPROF_NS + 140_000,
         20_000, None),
        (4, "MEMCPY_ASYNC", "MEMCPY_ASYNC", "MEMCPY_ASYNC", "memory", MSPROF_NS + 170_000, 3_000, None),
    ]  # fmt: skip
    assert msprof.rows("SELECT busy_us, exposed_communication_us FROM time_breakdown") == [(43, 20)]
    # The copy inside of the collective is an event, and no operation beside it.
    assert msprof.rows("SELECT name FROM events WHERE category = 'npu_task'") == [("SDMA_SQE",)]


def test_a_task_of_msprof_has_the_call_and_the_operator_of_its_connection(msprof):
    # Connection 500: CANN_API and CONNECTION_IDS of the operator as the tables document them.
    assert msprof.rows("""
        SELECT k.name, call.name, launch_ns, op_name
        FROM kernels AS k LEFT JOIN events AS call ON (call.trace_id, call.event_id) = (k.trace_id, k.launch_id)
        ORDER BY k.start_ns""") == [
        ("MatMulV2_1", "aclnnMatmul", MSPROF_NS + 91_000, "aten::mm"),
        ("MatMulV2_1", None, None, None),
        ("hcom_allReduce__935_0_1", None, None, None),
        ("MEMCPY_ASYNC", None, None, None),
    ]


def test_msprof_gives_rank_clock_device_and_sizes_and_none_of_its_environment(msprof):
    assert msprof.rows("""
        SELECT format, vendor, device_name, rank, rank_source, CAST(recorded_at AS VARCHAR) FROM traces""") == [
        ("ascend", "huawei", "Ascend910B3", 12, "RANK_DEVICE_MAP", "2026-05-26 08:00:00.00008")
    ]
    assert msprof.rows("SELECT kind, bytes, process_group FROM collectives") == [("all-reduce", 2048, "group0")]
    assert msprof.rows("SELECT name, input_dims FROM events WHERE category = 'cpu_op'") == [
        ("aten::mm", "[[8,16],[16,4]]")
    ]
    written = everything_in(msprof.path)
    assert [text for text in SECRETS if text.split()[0] in written] == []


#: In ns; a product's core time is 9 µs at 1800 MHz on 20 cores, 4.5 µs of it multiplying.
COUNTED = {"aic_total_time": 9000, "aic_total_cycles": 324_000, "aic_mac_time": 4500, "aic_mac_ratio_extra": 0.5}
WITH_SCHEDULE = f"""
    INSERT INTO STRING_IDS VALUES (91, 'KERNEL_AICPU'), (92, 'AI_CPU'), (93, 'hcom_allReduce_AicpuKernel');
    INSERT INTO TASK VALUES ({MSPROF_NS + 139_900}, {MSPROF_NS + 160_100}, 4, 700, 90, 77, 91, 0, 9, 9, 0);
    CREATE TABLE COMMUNICATION_SCHEDULE_TASK_INFO (name, globalTaskId, taskType, opType);
    INSERT INTO COMMUNICATION_SCHEDULE_TASK_INFO VALUES (93, 90, 92, 93)"""


def with_counters(rows: list[tuple], *columns: str) -> str:
    """Return the SQL that adds the counters of tasks, rows of an id, a counter, its value, and the additional columns.

    Another table has two rows that no query can use.
    """
    names = [f"({50 + place}, '{name}')" for place, name in enumerate(COUNTED)]
    values = [str((row[0], 50 + list(COUNTED).index(row[1]), *row[2:])) for row in rows]
    return f"""
        INSERT INTO STRING_IDS VALUES {", ".join(names)};
        CREATE TABLE TASK_PMU_INFO ({", ".join(("globalTaskId", "name", "value", *columns))});
        INSERT INTO TASK_PMU_INFO VALUES {", ".join(values)};
        CREATE TABLE SAMPLE_PMU_SUMMARY (deviceId, metric, value, coreId, coreType);
        INSERT INTO SAMPLE_PMU_SUMMARY VALUES (4, 1, 2, 3, 4), (4, 1, 2, 4, 4)"""


def scaled(factors: dict[str, float]) -> list[tuple[str, float]]:
    return [(name, value * factors.get(name, 1)) for name, value in COUNTED.items()]


VARIANTS = {
    "schedule": WITH_SCHEDULE,
    "ns": with_counters([(0, *counter) for counter in scaled({})]),
    "us": with_counters([(0, *counter) for counter in scaled({"aic_total_time": 0.001, "aic_mac_time": 0.001})]),
    # A writer that cuts shares off to whole numbers.
    "cut": with_counters([(0, *counter) for counter in scaled({"aic_mac_ratio_extra": 0})]),
    # A graph runs the same task twice, the second time with twice the time and cycles.
    "replayed": "UPDATE TASK SET globalTaskId = 0 WHERE globalTaskId = 1;" + with_counters(
        [(0, *counter, MSPROF_NS + 130_000)
         for counter in scaled(dict.fromkeys(COUNTED, 2) | {"aic_mac_ratio_extra": 1})]
        + [(0, *counter, MSPROF_NS + 105_000) for counter in scaled({})], "timestampNs"),
    # An operator launched both products, of which only the first shows all its shapes.
    "shaped": """
        INSERT INTO STRING_IDS VALUES (60, '8,4'), (61, 'FLOAT16'), (62, 'ND'), (63, 'N/A');
        UPDATE COMPUTE_TASK_INFO SET outputShapes = 60, outputDataTypes = 61, outputFormats = 62 WHERE globalTaskId = 0;
        UPDATE COMPUTE_TASK_INFO SET inputShapes = 63 WHERE globalTaskId = 1;
        INSERT INTO CONNECTION_IDS VALUES (1, 501);
        INSERT INTO CANN_API
        SELECT startNs + 2000, endNs + 2000, type, globalTid, 501, name FROM CANN_API WHERE connectionId = 500""",
    # Waits of 120 µs on streams of their own, by three names, the last of which no version of CANN has.
    "waits": f"""
        INSERT INTO STRING_IDS VALUES (91, 'DAVID_EVENT_WAIT'), (92, 'MEM_WAIT_VALUE'), (93, 'NEW_EVENT_WAIT');
        INSERT INTO TASK SELECT {MSPROF_NS + 90_000}, {MSPROF_NS + 210_000}, 4, 700 + id, id, 77, id, 0, id, 9, 0
        FROM STRING_IDS WHERE id > 90""",
    # As kernel_details.csv has them.
    "quoted": """UPDATE STRING_IDS SET value = '"' || value || '"' WHERE value = '8,16;16,4'""",
    "bracketed": "UPDATE STRING_IDS SET value = '[8,16];[16,4]' WHERE value = '8,16;16,4'",
    # Without the table that torch_npu adds, as msprof itself writes; then with tasks of another device.
    "one device": "DROP TABLE RANK_DEVICE_MAP",
    "two devices": """
        DROP TABLE RANK_DEVICE_MAP;
        ALTER TABLE COMMUNICATION_TASK_INFO ADD COLUMN opId INTEGER;
        UPDATE COMMUNICATION_TASK_INFO SET opId = 1;
        UPDATE TASK SET deviceId = 5 WHERE globalTaskId = 3""",
    "unclear": "UPDATE TASK SET globalTaskId = 0 WHERE globalTaskId = 1;" + with_counters(
        [(0, *counter) for counter in scaled({}) + scaled({})]),
}  # fmt: skip


@pytest.fixture(scope="module")
def variants(tmp_path_factory: Any) -> Lake:
    """A lake with databases of Ascend's profiler that have more tables."""
    folder = tmp_path_factory.mktemp("variants")
    lake = Lake(folder / "lake")
    for name, script in VARIANTS.items():
        connection = sqlite3.connect(write_msprof(folder / f"{name}.db"))
        connection.executescript(script)
        connection.close()
    ingest_into(lake, *(folder / f"{name}.db" for name in VARIANTS))
    return lake


def test_the_ai_cpus_part_of_a_collective_in_msprof_is_a_service_row_and_no_compute(variants):
    assert variants.rows("""
        SELECT name, op_type, core, comm_role, counted FROM ascend_kernels JOIN traces USING (trace_id)
        WHERE trace = 'schedule' AND kernel_id IN (SELECT event_id FROM events WHERE stream = 9)""") == [
        ("hcom_allReduce_AicpuKernel", "hcom_allReduce_AicpuKernel", "AI_CPU", "service", False)
    ]
    # As without that task.
    assert variants.rows("""
        SELECT busy_us, compute_us, exposed_communication_us FROM time_breakdown JOIN traces USING (trace_id)
        WHERE trace = 'schedule'""") == [(43, 20, 20)]


def test_waits_of_msprof_are_rows_and_no_kernels_whatever_their_task_type_is_called(variants):
    # From 100 to 173 µs, as without the waits: products of 10 + 10, the all-reduce of 20, a copy of 3.
    assert variants.rows("""
        SELECT window_us, compute_us, exposed_communication_us, busy_us FROM time_breakdown
        JOIN traces USING (trace_id) WHERE trace = 'waits'""") == [(73, 20, 20, 43)]
    assert variants.rows("""
        SELECT name, core_group FROM ascend_kernels JOIN traces USING (trace_id)
        WHERE trace = 'waits' AND dur_us = 120 ORDER BY name""") == [
        ("DAVID_EVENT_WAIT", "control"), ("MEM_WAIT_VALUE", "control"), ("NEW_EVENT_WAIT", "control"),
    ]  # fmt: skip


def test_a_collective_of_msprof_without_a_device_is_on_that_of_its_tasks(variants):
    # On device 4: products of 10 + 10, the all-reduce of 20; on 4 or 5 a copy of 3.
    assert variants.rows("""
        SELECT trace, device, compute_us, exposed_communication_us, busy_us FROM time_breakdown
        JOIN traces USING (trace_id) WHERE trace LIKE '% device%' ORDER BY ALL""") == [
        ("one device", 4, 20, 20, 43), ("two devices", 4, 20, 20, 40), ("two devices", 5, 0, 0, 3),
    ]  # fmt: skip


def test_counters_of_msprof_are_those_of_the_table_of_kernels(variants):
    found = variants.rows("""
        SELECT trace, cube_us, cube_mhz, mac_ratio, pmu_flop FROM kernel_pmu JOIN traces USING (trace_id)
        ORDER BY trace, kernel_id""")
    # 8192 FLOP in a core's cycle in FP16, in half of the cycles.
    once = (9, 1800, 0.5, 324_000 * 0.5 * 8192)
    twice = (18, 1800, 0.5, 2 * once[-1])
    assert found == [("cut", *once), ("ns", *once), ("replayed", *once), ("replayed", *twice), ("us", *once)]
    assert variants.rows("""
        SELECT counter, unit, value FROM pmu_counters JOIN traces USING (trace_id)
        WHERE trace = 'ns' ORDER BY counter""") == [
        ("aic_mac_ratio", None, 0.5), ("aic_mac_time", "us", 4.5), ("aic_total_cycles", None, 324_000),
        ("aicore_time", "us", 9),
    ]  # fmt: skip
    # The two products have one row; only one has counters.
    assert variants.rows("""
        SELECT op_type, calls, mac_pct FROM core_use JOIN traces USING (trace_id) WHERE trace = 'ns'""") == [
        ("MatMulV2", 1, 50)
    ]


def test_the_shapes_of_an_operator_give_no_flop_where_one_of_its_kernels_shows_its_own(variants):
    # 2 x 8 x 16 x 4, of the kernel and of its operator: counted once.
    assert variants.rows("""
        SELECT name, flop, flop_source, calls FROM ops JOIN traces USING (trace_id)
        WHERE trace = 'shaped' AND class = 'compute'""") == [("MatMulV2_1", 1024, "shapes", 2)]


def test_quotes_and_brackets_around_shapes_in_msprof_are_no_part_of_them(variants):
    # Of both products and of the operator of one.
    assert variants.rows("""
        SELECT trace, lane, input_dims, args ->> '$.input_shapes', count(*) FROM events JOIN traces USING (trace_id)
        WHERE trace IN ('quoted', 'bracketed') AND input_dims IS NOT NULL GROUP BY ALL ORDER BY ALL""") == [
        ("bracketed", "device", "[[8,16],[16,4]]", "[8,16];[16,4]", 2),
        ("bracketed", "host", "[[8,16],[16,4]]", None, 1),
        ("quoted", "device", "[[8,16],[16,4]]", "8,16;16,4", 2), ("quoted", "host", "[[8,16],[16,4]]", None, 1),
    ]  # fmt: skip


def test_tables_of_msprof_that_are_not_read_are_listed(variants):
    assert variants.rows("""
        SELECT json_extract_string(metadata, '$.files[0].not_read') FROM traces
        WHERE trace = 'ns'""") == [('{"SAMPLE_PMU_SUMMARY":2}',)]
