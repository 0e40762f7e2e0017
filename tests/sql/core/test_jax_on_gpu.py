"""JAX on a GPU: the profiler draws the operations of XLA over the kernels of the streams; only these count."""

import pytest

from tracelake.lake import Lake

from ...summary_cases import CASE_G, write_case

DRAWN = {
    "XLA Modules": "jit_train 10+290",
    "XLA Ops": "fusion_1 10+100; gemm_fusion_dot_3 120+80; all-gather.1 150+50; reduce-scatter.2 260+40",
    "Framework Ops": "train 10+190",
    "Source code": "train.py:7 10+190",
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpu")
    (pid, process, streams), *host = CASE_G
    with Lake(folder / "lake") as made:
        drawn = [(pid, process, {**DRAWN, **streams}), *host]
        made.ingest(write_case(folder / "streams.json", CASE_G), write_case(folder / "drawn.json", drawn))
        yield made


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name, kind, category, start_ns, dur_ns FROM kernels",
        "SELECT compute_us, communication_us, exposed_communication_us, memory_us, idle_us FROM time_breakdown",
        "SELECT name, calls, self_us FROM ops",
        "SELECT path, inclusive_us, busy_us FROM regions",
    ],
)
def test_operations_drawn_over_kernels_count_once(lake, query):
    alone, drawn = (
        lake.rows(f"{query} WHERE trace_id = $1 ORDER BY ALL", [lake.resolve(trace)]) for trace in ("streams", "drawn")
    )
    assert alone == drawn != []


def test_the_lines_say_what_they_are(lake):
    rows = lake.rows("SELECT thread, role FROM lines WHERE trace_id = $1 AND device = 0", [lake.resolve("drawn")])
    assert dict(rows) == {
        "XLA Modules": "module", "XLA Ops": "annotation", "Framework Ops": "annotation", "Source code": "annotation",
        "Stream #0(compute)": "operation", "Stream #1(nccl)": "operation",
    }  # fmt: skip
