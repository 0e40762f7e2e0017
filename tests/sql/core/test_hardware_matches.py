"""The hardware of a trace: by the device's name, unless its properties show that it is a part of a chip."""

import pytest

from tracelake.lake import Lake

from ...kernel_traces import Trace
from ...support import ingest_into

#: Name, multiprocessors and memory in bytes as traces have them, and the hardware.
DEVICES = [
    ("NVIDIA H100 80GB HBM3", 132, 85045870592, "h100_sxm"),
    ("NVIDIA H100 80GB HBM3", 128, 84945870592, "h100_sxm"),  # a few less are no other part
    ("NVIDIA H100 80GB HBM3", 0, 0, "h100_sxm"),  # not known to the profiler
    ("NVIDIA H100 80GB HBM3", None, None, "h100_sxm"),
    ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 16, 10200547328, None),
    ("NVIDIA H100 80GB HBM3 MIG 7g.80gb", 132, 84945870592, None),
    ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", None, None, None),
    ("NVIDIA A100-SXM4-80GB MIG 3g.40gb", 42, 42297786368, None),
    ("NVIDIA A100-SXM4-80GB", 42, 42297786368, None),  # of MIG too, and a name that does not show it
    ("NVIDIA A100-SXM4-80GB", 108, 42297786368, None),
    ("AMD Instinct MI300X", 304, 206141652992, "mi300x"),
    ("AMD Instinct MI300X", 38, 206141652992, None),  # one of eight partitions (CPX)
    # One name for two parts: one die has 104 compute units in an MI250, 110 in an MI250X.
    ("AMD Instinct MI250X / MI250", 104, 68702699520, "mi250"),
    ("AMD Instinct MI250X / MI250", 110, 68702699520, "mi250x"),
    ("AMD Instinct MI250X / MI250", None, None, None),
    ("AMD Instinct MI250X", 110, 68702699520, "mi250x"),
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("devices")
    for nth, (name, sms, memory, _) in enumerate(DEVICES):
        device = {"id": 0, "name": name, "numSms": sms, "totalGlobalMem": memory}
        trace = Trace(deviceProperties=[{key: value for key, value in device.items() if value is not None}])
        trace.kernel("kernel", 10, 20 + nth, 10)
        trace.write(folder / f"{nth}.json")
    lake = Lake(folder / "lake")
    ingest_into(lake, folder)
    yield lake
    lake.close()


def test_a_part_of_a_chip_has_no_hardware_and_a_name_for_two_chips_has_that_of_its_cores(lake):
    found = dict(lake.rows("SELECT CAST(trace AS INTEGER), hardware FROM traces"))
    assert [(*device, found[nth]) for nth, (*device, _) in enumerate(DEVICES)] == DEVICES


def test_the_check_of_unknown_hardware_reports_a_part_of_a_chip(lake):
    unknown = dict(
        lake.rows("SELECT CAST(trace AS INTEGER), value FROM health JOIN traces USING (trace_id) "
                  "WHERE \"check\" = 'unknown_hardware'")
    )  # fmt: skip
    assert unknown == {nth: float(key is None) for nth, (*_, key) in enumerate(DEVICES)}
    [(message,)] = lake.rows("SELECT message FROM check_rules WHERE \"check\" = 'unknown_hardware'")
    assert "a part of a chip" in message


def test_a_row_of_its_own_for_an_instance_of_mig_is_found_by_its_name(tmp_path):
    lookup = tmp_path / "lake" / "lookup"
    lookup.mkdir(parents=True)
    (lookup / "hardware.csv").write_text(
        "hardware,vendor,name,device_pattern,num_sms,peak_bf16_tflops,hbm_gbps\n"
        "a100_3g,nvidia,three sevenths of an A100,a100-sxm4-80gb mig 3g,42,121,1020\n"
    )
    trace = Trace(deviceProperties=[{"id": 0, "name": "NVIDIA A100-SXM4-80GB MIG 3g.40gb", "numSms": 42}])
    trace.kernel("kernel", 10, 20, 10)
    with Lake(tmp_path / "lake", stored=False) as lake:
        lake.ingest(trace.write(tmp_path / "mig.json"))
        assert lake.rows("SELECT hardware, hardware_match FROM traces") == [("a100_3g", "name")]
