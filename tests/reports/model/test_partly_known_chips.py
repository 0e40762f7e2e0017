"""Reports and sweeps for a user's chip whose memory has no known size or no known bandwidth."""

import re

import pytest

import tracelake
from tracelake.engine.errors import UsageError

HEADER = "hardware,vendor,name,peak_bf16_tflops,vector_fp32_tflops,hbm_gbps,hbm_gb"
CHIPS = ("no_size,nvidia,No size,1000,50,4000,", "no_bandwidth,nvidia,No bandwidth,1000,50,,100")


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chips") / "lake"
    with tracelake.Lake(folder):
        (folder / "lookup").mkdir()
    (folder / "lookup" / "hardware.csv").write_text("\n".join([HEADER, *CHIPS]) + "\n")
    with tracelake.Lake(folder) as opened:
        yield opened


def test_without_a_size_of_the_memory_nothing_is_known_to_fit_or_not(lake):
    rows = lake.model_sweep("qwen3-8b", hardware="no_size", batch=[1, 100_000], kv_len=1024).rows
    assert rows.select("fits, max_batch, faults, time_ms > 0").fetchall() == [(None, None, None, True)] * 2


def test_a_report_says_once_that_it_is_unknown_whether_it_fits(lake):
    text = lake.model_report("qwen3-8b", hardware="no_size", seq_len=256).text
    # 8.19 billion parameters of two bytes, and for 8 x 257 tokens 36 layers of keys and values of 8 x 128.
    held = 2 * 8.19 + 8 * 257 * 36 * 2 * 8 * 128 * 2 / 1e9
    verdict = (
        "**Whether it fits is unknown**, since the memory of the chip is: at TP = 1, EP = 1, DP = 1, PP = 1, "
        f"decode holds {held:.2f} GB on a chip and a training step "
    )
    assert text.count(verdict) == 1
    assert not re.search(r"; it fits|\*It (fits|does not fit)\.|Choose a layout|points of the grid fit", text)


def test_without_a_bandwidth_of_the_memory_a_scenario_has_a_fault_and_no_time(lake):
    rows = lake.model_sweep("qwen3-8b", hardware="no_bandwidth", batch=8, kv_len=1024).rows
    [found] = rows.select("fits, compute_ms > 0, time_ms, serial_ms, faults").fetchall()
    assert found == (True, True, None, None, "no bandwidth of the chip's memory is known")


def test_a_report_needs_the_bandwidth_of_the_memory(lake):
    with pytest.raises(UsageError, match=r"no_bandwidth: the bandwidth of its memory is not known.*hbm_gbps"):
        lake.model_report("qwen3-8b", hardware="no_bandwidth", seq_len=256)
