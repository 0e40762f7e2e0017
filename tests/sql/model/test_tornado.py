"""One knob at a time around a scenario."""

from tracelake.lake import Lake

from ..studies import named_rows


def test_the_anchor_is_the_scenario_in_every_column_and_so_are_its_neighbours_but_for_a_knob(tmp_path):
    """A column that scenarios gain must not fall back to its default around them."""
    said = {
        "scenario": "around", "model": "deepseek-v3", "phase": "training", "batch": 2, "seq_len": 4096, "tp": 2,
        "ep": 8, "dp": 4, "pp": 4, "cp": 2, "head_tp": 1, "microbatches": 8, "virtual_stages": 2, "zero_stage": 1,
        "recompute": True, "logit_rows": 10, "hardware": "h200", "execution": "tiled", "weight_dtype": "bf16",
        "activation_dtype": "bf16", "kv_dtype": "bf16", "gemm_dtype": "fp8", "head_dtype": "fp32",
        "mla_mode": "expanded", "mtp_layers": 1, "top_k": 4, "hidden_scale": 1.5, "kv_rank_scale": 2.0,
        "expert_imbalance": 1.25, "kv_len": 16,
    }  # fmt: skip
    with Lake(tmp_path / "lake") as lake:
        lake.add_scenarios([said])
        lake.prepare("one_at_a_time")
        lake.rows("INSERT INTO scenarios BY NAME SELECT * FROM one_at_a_time('around', of_study := 'turned')")
        rows = named_rows(lake, "SELECT * FROM scenarios WHERE scenario = 'around' OR study = 'turned'")
    by_name = {row.pop("scenario"): {key: value for key, value in row.items() if key != "study"} for row in rows}
    whole = by_name.pop("around")
    assert {key for key, value in whole.items() if said.get(key) == value} == whole.keys() - {"formulas"}
    assert by_name.pop("turned/anchor") == whole
    for name, row in by_name.items():
        changed = {key for key in whole if row[key] != whole[key]}
        assert changed <= {name.removeprefix("turned/").split()[0], "dp"}, name
