"""Databases of rocprofiler-sdk (rocpd), made to their documented tables: no real ones were at hand."""

import sqlite3
from typing import Any

import pytest

from tracelake.ingest.batch import expand
from tracelake.ingest.one import Ingested
from tracelake.lake import Lake
from tracelake.synthetic.databases import GUID, SECRETS, write_rocpd

from ...support import ingest_into
from ..test_secrets import everything_in


@pytest.fixture(scope="module", params=[3, 4], ids=["schema 3", "schema 4"])
def rocpd(request: Any, tmp_path_factory: Any) -> Lake:
    """A lake with a database of rocprofiler-sdk."""
    folder = tmp_path_factory.mktemp("rocpd")
    lake = Lake(folder / "lake")
    [result] = ingest_into(lake, write_rocpd(folder / "77_results.db", request.param))
    # 4 kernels, a copy, 5 calls, 2 markers.
    assert (result.events, result.rejected, result.trace) == (12, 0, "77_results")
    return lake


def test_kernels_of_rocpd_have_their_device_their_launch_and_its_operator(rocpd):
    assert rocpd.rows("""
        SELECT device, name, start_ns, dur_ns, category, launch_ns, op_name, input_dims FROM kernels
        ORDER BY device, start_ns""") == [
        (0, "Cijk_Ailk_Bljk_BBS_MT128x128", 20000, 10000, "gemm", 10000, "aten::mm", "[[8,16],[16,4]]"),
        (0, "Cijk_Ailk_Bljk_BBS_MT128x128", 40000, 10000, "gemm", 14000, None, None),
        (0, "_Z3actv.kd", 55000, 4000, "other", 17000, None, None),
        (0, "Memcpy HtoD", 70000, 2000, "memcpy", 60000, None, None),
        (1, "_Z3actv.kd", 20000, 6000, "other", 18500, None, None),
    ]
    assert rocpd.rows("SELECT device, busy_us FROM time_breakdown ORDER BY 1") == [(0, 26), (1, 6)]
    assert rocpd.rows("SELECT DISTINCT args ->> '$.grid', stream FROM events WHERE category = 'kernel'") == [
        ("[100,2,1]", 5)
    ]


def test_markers_of_rocpd_are_steps_and_the_agents_name_the_hardware(rocpd):
    assert rocpd.rows("SELECT device, step_number FROM steps ORDER BY 1") == [(0, 0), (1, 0)]
    assert rocpd.rows("SELECT format, vendor, hardware FROM traces") == [("rocpd", "amd", "mi300x")]
    written = everything_in(rocpd.path)
    assert [text for text in SECRETS if text.split()[0] in written] == []


#: Of a copy between the GPUs 0 and 1, agents 2 and 3: its source, its target, its device, and what the database of
#: `write_rocpd`, in which kernels of stream 5 run on both and the copy is on stream 5, is changed to.
OTHER_STREAM = {
    3: "UPDATE rocpd_kernel_dispatch_u SET stream_id = 6 WHERE agent_id = 2",
    4: "UPDATE rocpd_track_u SET stream_id = 6 WHERE id = 2; UPDATE rocpd_memory_copy_u SET track_id = 3",
}
PEERS = {
    "to an idle GPU": (2, 3, 0, "DELETE FROM rocpd_kernel_dispatch_u WHERE id = 4"),
    "from an idle GPU": (3, 2, 0, "DELETE FROM rocpd_kernel_dispatch_u WHERE id = 4"),
    "on the target's stream": (2, 3, 1, OTHER_STREAM),
    "on a stream without kernels, to an idle GPU": (2, 3, 0, {
        schema: f"{text}; DELETE FROM rocpd_kernel_dispatch_u WHERE id = 4" for schema, text in OTHER_STREAM.items()}),
    "on a stream of both": (3, 2, 1, ""),
}  # fmt: skip


def test_a_copy_between_gpus_is_on_that_whose_kernels_share_its_stream_or_process_else_on_its_source(tmp_path):
    expected, paths = [], []
    for schema in (3, 4):
        for name, (source, target, device, change) in PEERS.items():
            paths.append(write_rocpd(tmp_path / f"{name} {schema}.db", schema))
            connection = sqlite3.connect(paths[-1])
            connection.execute("UPDATE rocpd_memory_copy_u SET src_agent_id = ?, dst_agent_id = ?", (source, target))
            connection.executescript(change[schema] if isinstance(change, dict) else change)
            connection.close()
            expected.append((f"{name} {schema}", device))
    lake = Lake(tmp_path / "lake")
    ingest_into(lake, *paths)
    assert sorted(expected) == lake.rows("""
        SELECT trace, device FROM events JOIN traces USING (trace_id) WHERE category = 'gpu_memcpy' ORDER BY trace""")


#: Calls of RCCL as name, start and end in ns, around launches at 10, 14, 17 and 18.5 µs: one that sends and receives, a
#: group that launches twice, one of two kinds.
RCCL = (
    ("ncclAllToAll", 9_800, 12_500), ("ncclGroupStart", 9_810, 9_820), ("ncclSend", 9_830, 9_840),
    ("ncclRecv", 9_850, 9_860), ("ncclGroupEnd", 9_900, 12_400),
    ("ncclGroupStart", 13_000, 13_010), ("ncclBcast", 13_020, 13_030), ("ncclCommCount", 13_040, 13_050),
    ("ncclBcast", 13_060, 13_070), ("ncclGroupEnd", 13_900, 18_100),
    ("ncclGroupStart", 18_200, 18_210), ("ncclAllGather", 18_220, 18_230), ("ncclAllReduce", 18_240, 18_250),
    ("ncclGroupEnd", 18_300, 19_100),
)  # fmt: skip


def test_rccl_s_calls_show_the_kind_of_a_collective_whose_kernel_shows_none(tmp_path):
    path = write_rocpd(tmp_path / "rccl.db")
    connection = sqlite3.connect(path)
    connection.executescript("""
        UPDATE rocpd_info_kernel_symbol_u SET display_name = 'ncclDevKernel_Generic_1';
        INSERT INTO rocpd_string_u (id, string) VALUES (20, 'RCCL_API');
        INSERT INTO rocpd_event_u (id, category_id, stack_id) VALUES (50, 20, 99)""")
    for name, start, end in RCCL:
        string = connection.execute("INSERT INTO rocpd_string_u (string) VALUES (?)", [name]).lastrowid
        connection.execute(
            'INSERT INTO rocpd_region_u (pid, tid, "start", "end", name_id, event_id) VALUES (1, 1, ?, ?, ?, 50)',
            (start, end, string),
        )
    connection.commit()
    connection.close()
    lake = Lake(tmp_path / "lake")
    ingest_into(lake, path)
    assert lake.rows("SELECT issued_ns, collectives.kind FROM collectives JOIN kernels ON kernel_id = collective_id "
                     "AND kernels.trace_id = collectives.trace_id ORDER BY issued_ns") == [
        (10_000, "all-to-all"), (14_000, "broadcast"), (17_000, "broadcast"), (18_500, "other-collective"),
    ]  # fmt: skip


def merged(path, nodes, schema, hosts=()):
    """Merge runs as `rocpd merge` does, one on each node given; those of the second begin 1 µs later.

    With names of hosts, the nodes are containers of one image, which have one machine id.
    """
    path.unlink(missing_ok=True)
    merged, tables = sqlite3.connect(path), dict[str, list[str]]()
    for place, node in enumerate(nodes):
        own = write_rocpd(path.with_name("run.db"), schema)
        connection = sqlite3.connect(own)
        run = f"run-{place}"
        for name, sql in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'").fetchall():
            new = f"{name.removesuffix('u')}{place}"
            merged.execute(sql.replace(name, new).replace(GUID, run))
            for row in connection.execute(f"SELECT * FROM {name}"):
                values = [run if value == GUID else value for value in row]
                merged.execute(f"INSERT INTO {new} VALUES ({', '.join('?' * len(row))})", values)
            tables.setdefault(name.removesuffix("_u"), []).append(new)
        merged.execute(f"UPDATE rocpd_info_process_{place} SET nid = ?", [node])
        if schema == 4:
            merged.execute(f"UPDATE rocpd_timestamp_{place} SET value = value + ?", [1000 * place])
        for name in ("kernel_dispatch", "memory_copy", "region") if schema == 3 else ():
            merged.execute(
                f'UPDATE rocpd_{name}_{place} SET "start" = "start" + ?, "end" = "end" + ?', [1000 * place] * 2
            )
        if hosts:
            merged.execute(f"ALTER TABLE rocpd_info_node_{place} ADD COLUMN hash")
            merged.execute(f"ALTER TABLE rocpd_info_node_{place} ADD COLUMN machine_id")
            merged.execute(
                f"UPDATE rocpd_info_node_{place} SET id = ?, hash = 6142509188972423790, machine_id = '', hostname = ?",
                [node, hosts[place]],
            )
        connection.close()
    for name, parts in tables.items():
        merged.execute(f"CREATE VIEW {name} AS {' UNION ALL '.join(f'SELECT * FROM {part}' for part in parts)}")
    merged.commit()
    merged.close()
    return path


@pytest.mark.parametrize("schema", [3, 4])
def test_merged_runs_of_two_nodes_have_their_own_gpus_and_those_of_one_node_share_them(tmp_path, schema):
    """Both runs are of process 77. Each kernel starts in the run of its launch, 0 or 1 µs after `write_rocpd`'s."""
    nodes, node = merged(tmp_path / "nodes.db", (11, 22), schema), merged(tmp_path / "node.db", (11, 11), schema)
    pods = merged(tmp_path / "pods.db", (11, 11), schema, ("pod-0", "pod-1"))
    lake = Lake(tmp_path / "lake")
    ingest_into(lake, nodes, node, pods)
    kernels = """
        SELECT k.start_ns, launch_ns, launch_kernels, op_name FROM kernels AS k JOIN traces USING (trace_id)
        WHERE trace = '{}' AND kind <> 'memory' AND k.device = {} ORDER BY ALL"""
    first = [(20_000, 10_000, 1, "aten::mm"), (40_000, 14_000, 1, None), (55_000, 17_000, 1, None)]
    second = [(start + 1000, launch + 1000, kernels, op) for start, launch, kernels, op in first]
    assert [lake.rows(kernels.format("nodes", device)) for device in (0, 2)] == [first, second]
    assert lake.rows(kernels.format("node", 0)) == sorted(first + second)
    # 10 + 10 + 4 + 2 µs and 6; on one node the runs' operations overlap but for 1 µs each.
    assert lake.rows("SELECT trace, device, busy_us FROM time_breakdown JOIN traces USING (trace_id) ORDER BY ALL") == [
        ("node", 0, 30), ("node", 1, 7), ("nodes", 0, 26), ("nodes", 1, 6), ("nodes", 2, 26), ("nodes", 3, 6),
        ("pods", 0, 26), ("pods", 1, 6), ("pods", 2, 26), ("pods", 3, 6),
    ]  # fmt: skip
    assert lake.rows("SELECT trace, json_extract(metadata, '$.deviceProperties[*].id') FROM traces ORDER BY 1") == [
        ("node", ["0", "1"]), ("nodes", ["0", "1", "2", "3"]), ("pods", ["0", "1", "2", "3"]),
    ]  # fmt: skip


#: Names of categories that ROCm Systems Profiler writes.
SYSTEMS = {
    "HIP_RUNTIME_API_EXT": "rocm_hip_api", "KERNEL_DISPATCH": "rocm_kernel_dispatch",
    "MEMORY_COPY": "rocm_memory_copy", "MARKER_CORE_API": "rocm_marker_api",
}  # fmt: skip


def test_categories_of_rocm_systems_profiler_are_those_of_rocprofv3(tmp_path):
    path = write_rocpd(tmp_path / "systems.db")
    connection = sqlite3.connect(path)
    connection.executemany(
        "UPDATE rocpd_string_u SET string = ? WHERE string = ?", [(b, a) for a, b in SYSTEMS.items()]
    )
    # A call of RCCL, and tables of later schemas that are not read.
    connection.executescript("""
        INSERT INTO rocpd_string_u (id, string) VALUES (20, 'rocm_rccl_api'), (21, 'ncclAllReduce');
        INSERT INTO rocpd_event_u (id, category_id, stack_id) VALUES (50, 20, 99);
        INSERT INTO rocpd_region_u (pid, tid, "start", "end", name_id, event_id) VALUES (1, 1, 9800, 12500, 21, 50);
        CREATE TABLE rocpd_graph_launch_u (id INTEGER PRIMARY KEY, "start" BIGINT, "end" BIGINT);
        CREATE VIEW rocpd_graph_launch AS SELECT * FROM rocpd_graph_launch_u;
        INSERT INTO rocpd_graph_launch_u VALUES (1, 10, 20), (2, 30, 40)""")
    connection.close()
    lake = Lake(tmp_path / "lake")
    ingest_into(lake, path)
    assert lake.rows("SELECT category, count(*) FROM events WHERE lane = 'host' GROUP BY 1 ORDER BY 1") == [
        ("cpu_op", 1), ("cuda_runtime", 5), ("nccl", 1), ("user_annotation", 1),
    ]  # fmt: skip
    assert lake.rows("SELECT device, step_number FROM steps ORDER BY 1") == [(0, 0), (1, 0)]
    assert lake.rows("SELECT json_extract_string(metadata, '$.files[0].not_read') FROM traces") == [
        ('{"rocpd_graph_launch":2}',)
    ]


#: Changes to the database of `write_rocpd`, with the events read and rejected, and the first reason.
LACKING = {
    "another name": ("ALTER TABLE rocpd_info_kernel_symbol_u DROP COLUMN display_name", 12, 0, None),
    "no size": ("ALTER TABLE rocpd_kernel_dispatch_u DROP COLUMN workgroup_size_y", 12, 0, None),
    "no target": ("ALTER TABLE rocpd_memory_copy_u DROP COLUMN dst_agent_id", 12, 0, None),
    "no text": ("ALTER TABLE rocpd_event_u DROP COLUMN extdata", 12, 0, None),
    "no start": (
        "ALTER TABLE rocpd_memory_copy_u DROP COLUMN start", 11, 1,
        "copies of rocpd: its rows from here on cannot be read: no such column: r.start",
    ),
    "no symbols": (
        "DROP TABLE rocpd_info_kernel_symbol_u", 8, 1,
        "kernels of rocpd: its rows from here on cannot be read: no such table: main.rocpd_info_kernel_symbol_u",
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", list(LACKING))
def test_rows_are_read_without_a_column_and_a_table_that_cannot_be_read_is_counted(tmp_path, change):
    path = write_rocpd(tmp_path / "other.db")
    query, events, rejected, reason = LACKING[change]
    connection = sqlite3.connect(path)
    connection.execute(query)
    connection.close()
    [result] = Lake(tmp_path / "lake").ingest(path, events_only=True)
    assert isinstance(result, Ingested)
    assert (result.events, result.rejected, result.reason or None) == (events, rejected, reason)


def test_the_json_of_rocprofv3_beside_its_database_is_left_out(tmp_path, caplog):
    folder = tmp_path / "node-1"
    folder.mkdir()
    database = write_rocpd(folder / "77_results.db")
    for name in ("77_results.json", "78_results.json"):
        (folder / name).write_text('{"rocprofiler-sdk-tool": [{"metadata": {"pid": 77}}]}')
    # The second has no database beside it: to read it is what is asked for.
    assert expand([tmp_path]) == [str(database), str(folder / "78_results.json")]
    assert caplog.messages == [f"{folder / '77_results.json'}: left out: 77_results.db is the same capture."]
