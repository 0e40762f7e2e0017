"""One thing has one name in all public relations."""

import pytest

from tracelake.engine import modules

#: Names of what many relations have, with words that other tools have for it and no relation of ours may take.
GLOSSARY = {
    "trace_id": {"trace_key", "file_id"},
    "rank": {"rank_id", "global_rank"},
    "device": {"gpu", "gpu_id", "device_id", "npu"},
    "stream": {"stream_id", "queue"},
    "pass_id": {"pass", "pass_num", "forward_id"},
    "layer_id": {"layer", "layer_num", "layer_index"},
    "kernel_id": {"kernel", "kernel_index"},
    "start_ns": {"ts", "ts_ns", "start", "begin_ns"},
    "end_ns": {"end", "finish_ns", "stop_ns"},
    "dur_ns": {"duration_ns", "time_ns"},
    "dur_us": {"dur", "duration", "duration_us"},
    "wall_us": {"wall_time_us", "wall_clock_us"},
    "input_dims": {"input_shapes", "dims_in"},
    "kernel_count": {"num_kernels", "n_kernels"},
    "category": {"cat", "kernel_type_name"},
}
#: Replicas have the names of the tools that they replicate.
PUBLIC = [entry for entry in modules.modules() if entry.public and entry.folder not in ("compat", "invariants")]


@pytest.mark.parametrize("name", GLOSSARY)
def test_no_relation_has_another_name_for_it(name):
    # A star's surrogate keys are no other names of ids: dim_trace has both.
    columns = {
        (entry.name, column.name)
        for entry in PUBLIC
        for column in entry.columns
        if entry.folder != "star" or not column.name.endswith("_key")
    }
    assert {column for _, column in columns} >= {name}
    assert {(relation, column) for relation, column in columns if column in GLOSSARY[name]} == set()


def test_every_duration_is_there_in_microseconds():
    named = [{column.name for column in entry.columns} for entry in PUBLIC]
    assert [names for names in named if "dur_ns" in names and "dur_us" not in names] == []
