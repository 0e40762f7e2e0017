"""The groups of the collectives of XLA, in each form in which its instructions write them."""

import json

import pytest

from ... import summary_cases as cases
from ...lakes import in_one_lake

#: replica_groups as XLA prints them, and the ranks in a group.
GROUPS = {
    "{{0,1,2},{3,4,5}}": 3,
    "[2,4]<=[8]": 4,
    "[2,2]<=[2,2]T(1,0)": 2,
    "mesh['axis_0'=4] {'axis_0'}": 4,
    "mesh['axis_0'=2,'axis_1'=8] {'axis_1'}": 8,
    "mesh['data'=2,'tensor'=8,'data_2'=3] {'data','data_2'}": 6,
    "mesh['a'=8,'b'=3] {'a':(2)4}": 4,
    "mesh['a'=2,'b'=4], device_ids=(3,1,2,0,7,5,6,4) {'b'}": 4,
    "mesh[a=8,b=3], device_ids=([8,3]T(1,0)) {a:(2)2,b}": 6,
    # Nothing shows these.
    "{}": None,
    "mesh['a'=2] {}": None,
    "mesh['a'=2] {'b'}": None,
    f"mesh['a'={2**62},'b'={2**62}] {{'a','b'}}": None,
}


@in_one_lake
def test_the_size_of_a_group_is_read_in_each_form_that_xla_writes(tmp_path):
    operations = []
    for number, groups in enumerate(GROUPS):
        said = f"%all-reduce.{number} = f32[250000]{{0}} all-reduce(f32[250000]{{0}} %c), channel_id=1, "
        said += f"replica_groups={groups}, use_global_device_ids=true, to_apply=%add"
        args = json.dumps({"long_name": said, "hlo_category": "all-reduce", "shape_with_layout": "f32[250000]{0}"})
        operations.append(f"all-reduce.{number} {1000 * number}+100 {args}")
    lines = {"XLA Modules": f"jit_step(1) 0+{1000 * len(GROUPS)}", "XLA Ops": "; ".join(operations)}
    lake = yield cases.write_case(tmp_path / "t.json", [(1, "/device:TPU:0", lines)])
    found = lake.rows("SELECT process_group, group_size, bus_gbps FROM collectives ORDER BY start_ns")
    # A ring sends 2 (n - 1) / n of the 1 MB, in 100 us.
    expected = [(said, n, n and pytest.approx(2 * (n - 1) / n * 10)) for said, n in GROUPS.items()]
    assert found == expected


@in_one_lake
def test_a_scalar_is_one_element_but_no_part_of_an_array_and_each_array_has_its_type(tmp_path):
    operations = []
    for nth, (name, kind, shape) in enumerate((
        ("all-reduce.1", "all-reduce", "f32[]{:T(128)}"),
        ("all-reduce.2", "all-reduce", "(f32[]{:T(128)}, f32[]{:T(128)})"),
        ("recv-done.3", "recv-done", "(bf16[250,8]{1,0}, token[])"),
        # One for weights of FP8 and their scales: each array has its own type. Of an unknown one nothing is known.
        ("all-gather.4", "all-gather", "(f8e4m3fn[250,8]{1,0}, f32[250]{0}, pred[])"),
        ("all-gather.5", "all-gather", "(bf16[250,8]{1,0}, f9e9m9[250]{0})"),
        ("all-gather-start.6", "all-gather-start", "(s8[500]{0}, f32[10]{0}, s8[2000]{0}, f32[40]{0})"),
        # Its buffer has room for all tokens of all devices.
        ("ragged-all-to-all.7", "ragged-all-to-all", "bf16[8192,2048]{1,0}"),
    )):  # fmt: skip
        said = f"%{name} = {shape} {kind}(%loss), channel_id=1, replica_groups={{{{0,1,2,3}}}}"
        args = json.dumps({"long_name": said, "hlo_category": kind, "shape_with_layout": shape})
        operations.append(f"{name} {100 * nth}+10 {args}")
    lines = {"XLA Modules": "jit_step(1) 0+1000", "XLA Ops": "; ".join(operations)}
    lake = yield cases.write_case(tmp_path / "t.json", [(1, "/device:TPU:0", lines)])
    assert lake.rows("SELECT bytes FROM collectives ORDER BY start_ns") == [
        (4,), (8,), (4000,), (3000,), (None,), (2000,), (None,)
    ]  # fmt: skip
