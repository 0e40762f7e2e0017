"""The chip of an XSpace: a GPU by what its driver says of it, a TPU by its name; peaks and rooflines follow."""

import pytest

from tracelake.lake import Lake
from tracelake.synthetic.xspace import Event, Line, plane, space

from ...support import ingest_into

#: As CUDA's and ROCm's device properties have them: vendor, kHz, multiprocessors, memory, compute capability; and the
#: bandwidth that XLA's profiler works out of memory clock and bus, e.g. 2 x 2619 MHz x 5120 bits / 8.
GPUS = {
    "h100_sxm": ("Nvidia", 1980000, 132, 85017755648, 9, 0, 2 * 2_619_000_000 * 5120 // 8),
    "h100_pcie": ("Nvidia", 1755000, 114, 85028765696, 9, 0, 2 * 1_593_000_000 * 5120 // 8),
    "h200": ("Nvidia", 1980000, 132, 150109880320, 9, 0, 2 * 3_201_000_000 * 6144 // 8),
    # An H200 NVL: all as in the SXM module but its clock, and with it its peaks.
    None: ("Nvidia", 1785000, 132, 150109880320, 9, 0, 2 * 3_201_000_000 * 6144 // 8),
    "a100_sxm_40gb": ("Nvidia", 1410000, 108, 42505273344, 8, 0, 2 * 1_215_000_000 * 5120 // 8),
    "a100_sxm_80gb": ("Nvidia", 1410000, 108, 85175631872, 8, 0, 2 * 1_593_000_000 * 5120 // 8),
    "a100_pcie_80gb": ("Nvidia", 1410000, 108, 85094825984, 8, 0, 2 * 1_512_000_000 * 5120 // 8),
    "b200": ("Nvidia", 1965000, 148, 191510216704, 10, 0, 2 * 3_996_000_000 * 8192 // 8),
    "mi300x": ("AMD", 2100000, 304, 206141652992, 9, 4, 2662400000000),
}
# A device of JAX: half of a chip of TPU v2, v3 and 7x, a whole one of the others.
TPUS = {
    "TPU v2": ("tpu_v2", 23, 350), "TPU v3": ("tpu_v3", 61.5, 450), "TPU v4": ("tpu_v4", 275, 1228),
    "TPU v5 lite": ("tpu_v5e", 197, 819), "TPU v5": ("tpu_v5p", 459, 2765), "TPU v6 Lite": ("tpu_v6e", 918, 1638),
    "TPU7x": ("tpu_v7", 1153.5, 3690),
}  # fmt: skip
SHOWN = (
    "device_vendor", "clock_rate", "core_count", "memory_size", "compute_cap_major", "compute_cap_minor",
    "memory_bandwidth",
)  # fmt: skip


@pytest.fixture(scope="module")
def chips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chips")
    made = {f"gpu {name}": ("GPU", dict(zip(SHOWN, shown, strict=True))) for name, shown in GPUS.items()}
    made |= {name: ("TPU", {"device_type_string": name}) for name in TPUS}
    for name, (kind, stats) in made.items():
        operation = Event("fusion.1", 0, 10**8, {}, {"hlo_category": "loop fusion", "flops": 10**9, "program_id": 1})
        line = Line("Stream #14(Compute)" if kind == "GPU" else "XLA Ops", 14, [operation], len(name))
        (folder / f"{name}.xplane.pb").write_bytes(space(plane(f"/device:{kind}:0", [line], 1, stats)))
    lake = Lake(folder / "lake")
    ingest_into(lake, folder)
    yield lake
    lake.close()


def test_a_gpu_is_recognised_by_its_properties_where_they_are_of_one_model_alone(chips):
    found = chips.rows("SELECT trace, hardware, hardware_match FROM traces WHERE trace LIKE 'gpu %'")
    assert {trace: rest for trace, *rest in found} == {
        f"gpu {name}": [name, "properties" if name else "none"] for name in GPUS
    }


def test_a_tpu_s_generation_and_its_peaks_follow_from_its_name(chips):
    found = chips.rows("""
        SELECT trace, hardware, peak_bf16_tflops, hbm_gbps FROM traces JOIN hardware USING (hardware)
        WHERE trace LIKE 'TPU%'""")
    assert {trace: tuple(rest) for trace, *rest in found} == TPUS


def test_the_trace_of_the_network_is_no_chip(tmp_path):
    operations = [Line("XLA Ops", 1, [Event("fusion.1", 0, 10**8, {}, {"hlo_category": "loop fusion"})], 1)]
    network = plane("/device:CUSTOM:Megascale Trace", [Line("device_0", 1, [Event("all-reduce.3", 0, 10**8)], 1)], 9)
    for name, stats in {"v6e": {"device_type_string": "TPU v6 Lite"}, "unnamed": {}}.items():
        (tmp_path / f"{name}.xplane.pb").write_bytes(space(network, plane("/device:TPU:0", operations, 1, stats)))
    lake = Lake(tmp_path / "lake", stored=False)
    ingest_into(lake, *tmp_path.glob("*.pb"))
    assert lake.rows("SELECT trace, device_name, hardware FROM traces ORDER BY trace") == [
        ("unnamed", "TPU", None), ("v6e", "TPU v6 Lite", "tpu_v6e")
    ]  # fmt: skip
