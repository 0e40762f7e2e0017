"""CUDA names no kernel that it captures: replays are paired with as many launches, by what their operators do."""

import pytest

from ...graph_traces import Host

GEMM, ATTENTION, OTHER = "nvjet_tst_128x64_64x8", "flash_fwd_kernel<64>", "vectorized_elementwise_kernel<4>"
OPERATORS = {GEMM: "aten::mm", ATTENTION: "aten::_flash_attention_forward", OTHER: "aten::add"}
STEP = (OTHER, GEMM, ATTENTION, GEMM, OTHER, GEMM)


class Cuda(Host):
    """Writes what CUDA's profiler writes: launches without names."""

    def launch(self, name):
        return self.add("cuda_driver" if name == GEMM else "cuda_runtime", "cudaLaunchKernel")

    def begin(self):
        self.add("cuda_runtime", "cudaStreamBeginCapture")

    def end(self):
        self.add("cuda_runtime", "cudaStreamEndCapture")

    def captured(self, *names):
        """Capture kernels, each inside an operator that launches such, and calls that launch none."""
        self.begin()
        for number, name in enumerate(names):
            self.add("cuda_runtime", "cudaStreamIsCapturing")
            self.within("cpu_op", OPERATORS[name], lambda name=name: self.launch(name), **{"Input Dims": [[number, 2]]})
        self.end()
        return self


KNOWN = """
    SELECT name, c.op_name, c.input_dims, is_renamed
    FROM captured_kernels AS c JOIN kernels USING (trace_id, kernel_id) ORDER BY start_ns
"""


def test_the_nth_kernel_of_a_replay_is_the_nth_launch_of_its_capture(lake, tmp_path):
    lake.ingest(Cuda().captured(*STEP).replay(*STEP).replay(*STEP).write(tmp_path / "trace.json"))
    expected = [(name, OPERATORS[name], f"[[{number},2]]", None) for number, name in enumerate(STEP)]
    assert lake.rows(KNOWN) == expected * 2
    pairs = lake.rows(
        "SELECT kernel_count, captured_kernels, renamed_kernels, named_pct, aligned_pct FROM graph_captures"
    )
    assert pairs == [(6, 6, None, None, 100.0)] * 2
    [(text,), _] = lake.rows("SELECT provenance FROM graph_captures")
    assert text.startswith(
        "as many launches, 6, without names, in the same order after cudaStreamBeginCapture (event 0"
    )


@pytest.mark.parametrize(
    "replayed",
    [STEP[:-1], (*STEP, OTHER), (OTHER, ATTENTION, GEMM, GEMM, OTHER, GEMM), (OTHER,) * 6],
    ids=["one less", "one more", "other work in their places", "no work that a name tells"],
)
def test_other_counts_or_other_work_are_no_pair(lake, tmp_path, replayed):
    lake.ingest(Cuda().captured(*STEP).replay(*replayed).write(tmp_path / "trace.json"))
    assert lake.rows("FROM graph_captures") == []


def test_copies_do_not_count_and_a_capture_with_the_names_goes_first(lake, tmp_path):
    host = Cuda().captured(*STEP)
    host.begin()
    for name in STEP:
        host.add("cuda_runtime", "hipLaunchKernel", kernel=name)
    host.end()
    lake.ingest(host.replay("Memcpy DtoD", *STEP, "Memcpy DtoD").write(tmp_path / "trace.json"))
    assert lake.rows("SELECT kernel_count, renamed_kernels, named_pct, captures FROM graph_captures") == [
        (6, 0, 100.0, 1)
    ]
