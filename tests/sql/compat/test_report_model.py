"""The reference report's formulas, figure by figure: phases, modules, sweeps over batch and prompt, and laws."""

import pytest

from ..studies import named_rows, near
from .report_cases import REGIMES, golden, with_report

EPS = (1, 64)
LENGTHS = [64, 128, 255, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 163840, 163841]
PHASE_COLUMNS = {
    "flop": "F_theory", "tensor_flop": "F_tensorcore", "realizable_flop": "F_realizable",
    "weight_bytes": "bytes_weights", "activation_bytes": "bytes_activations", "kv_bytes": "bytes_kv",
    "temporary_bytes": "bytes_temporary", "hbm_bytes": "bytes_hbm", "net_bytes": "bytes_net",
    "intensity_weights": "AI_weights_only", "intensity": "AI_hbm", "intensity_total": "AI_total",
    "compute_ms": "T_comp_ms", "hbm_ms": "T_hbm_ms", "net_ms": "T_net_ms", "time_ms": "T_est_ms",
    "mfu": "MFU_est", "effective_tflops": "P_effective_TF", "tokens_per_s": "tokens_per_s",
}  # fmt: skip
MODULE_COLUMNS = {
    "flop": "F_theory", "tensor_efficiency": "eta_tc", "realizable_flop": "F_realizable",
    "weight_bytes": "bytes_weights", "activation_bytes": "bytes_activations", "kv_bytes": "bytes_kv",
    "temporary_bytes": "bytes_temporary", "net_bytes": "bytes_net",
}  # fmt: skip
SUMS = (
    "flop", "tensor_flop", "realizable_flop", "weight_bytes", "activation_bytes", "kv_bytes", "temporary_bytes",
    "hbm_bytes", "net_bytes", "compute_ms", "hbm_ms", "net_ms",
)  # fmt: skip


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """The anchor at both degrees of expert parallelism and on another chip, and sweeps over batch and prompt."""
    studies = [
        *(f"anchor_phases('deepseek-v3', of_study := 'EP{ep}', of_ep := {ep})" for ep in EPS),
        *(
            f"anchor_phases('deepseek-v3', of_study := 'B200 EP{ep}', of_ep := {ep}, of_hardware := 'b200')"
            for ep in EPS
        ),
        "anchor_phases('deepseek-v3', of_study := 'S512', of_length := 512)",
        "decode_sweep('deepseek-v3', of_eps := [1, 64])",
        f"prefill_sweep('deepseek-v3', of_eps := [1, 64], of_lengths := {LENGTHS})",
    ]
    opened = with_report(tmp_path_factory.mktemp("report"), *studies)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def phases(lake):
    """All rows of phase_roofline."""
    return named_rows(lake, "SELECT * FROM compat.phase_roofline ORDER BY scenario")


@pytest.fixture(scope="module")
def modules(lake):
    """All rows of module_roofline."""
    return named_rows(lake, "SELECT * FROM compat.module_roofline ORDER BY scenario, module")


def only(rows, **said):
    """Return the one row that says so."""
    found = [row for row in rows if all(row[key] == value for key, value in said.items())]
    assert len(found) == 1, f"{len(found)} rows of {said}"
    return found[0]


@pytest.mark.parametrize("case", golden("phases"), ids=lambda case: f"EP{case['ep']}-{case['exec']}-{case['phase']}")
def test_every_total_of_a_phase_is_the_reports(phases, case):
    row = only(phases, study=f"EP{case['ep']}", execution=case["exec"], phase=case["phase"])
    assert {name: row[name] for name in PHASE_COLUMNS} == {
        name: near(case[theirs]) for name, theirs in PHASE_COLUMNS.items()
    }
    assert row["bound"] == REGIMES[case["regime"]]


def test_the_reports_own_headline_figures(phases):
    # As the post prints them: AI_hbm 652.03, 319.1, 434.68 and 7.70; all of them without expert parallelism.
    shown = {(row["phase"], row["execution"]): f"{row['intensity']:.2f}" for row in phases if row["study"] == "EP1"}
    assert shown["training", "efficient"] == "652.03"
    assert shown["training", "naive"] == "319.05"
    assert shown["prefill", "efficient"] == "434.68"
    assert shown["decode", "efficient"] == "7.70"


@pytest.mark.parametrize(
    "case", golden("modules"), ids=lambda case: f"EP{case['ep']}-{case['exec']}-{case['phase']}-{case['module']}"
)
def test_every_entry_of_a_module_is_the_reports(modules, case):
    row = only(modules, study=f"EP{case['ep']}", execution=case["exec"], phase=case["phase"], module=case["module"])
    assert {name: row[name] for name in MODULE_COLUMNS} == {
        name: near(case[theirs]) for name, theirs in MODULE_COLUMNS.items()
    }


def test_the_modules_of_a_pass_are_the_reports_and_no_others(modules):
    names = {(row["study"], row["module"]) for row in modules if row["study"] in ("EP1", "EP64")}
    assert names == {
        *((f"EP{case['ep']}", case["module"]) for case in golden("modules")),
        *(("EP64", case["module"]) for case in golden("modules")),
    }


@pytest.mark.parametrize("case", golden("decode"), ids=lambda case: f"EP{case['ep']}-B{case['B']}")
def test_decode_over_the_batch_is_the_reports(phases, case):
    said = {"study": "decode_sweep", "ep": int(case["ep"]), "batch": int(case["B"])}
    naive, efficient = (only(phases, execution=name, **said) for name in ("naive", "efficient"))
    assert naive["intensity"] == near(case["AI_naive"])
    assert efficient["intensity"] == near(case["AI_eff"])
    assert naive["compute_ms"] == efficient["compute_ms"] == near(case["T_comp_ms"])
    assert naive["hbm_ms"] == near(case["T_hbm_naive_ms"])
    assert efficient["hbm_ms"] == near(case["T_hbm_eff_ms"])
    assert naive["net_ms"] == near(case["T_net_ms"])
    assert (naive["time_ms"], efficient["time_ms"]) == (near(case["T_est_naive_ms"]), near(case["T_est_eff_ms"]))
    assert (naive["tflops"], efficient["tflops"]) == (
        near(case["TF_est_naive"]), near(case["TF_est_eff"]),
    )  # fmt: skip
    assert (naive["bound"], efficient["bound"]) == (REGIMES[case["regime_naive"]], REGIMES[case["regime_eff"]])


@pytest.mark.parametrize("case", golden("prefill"), ids=lambda case: f"EP{case['ep']}-S{case['S']}")
def test_prefill_over_the_prompt_is_the_reports(phases, case):
    said = {"study": "prefill_sweep", "ep": int(case["ep"]), "seq_len": int(case["S"])}
    for name, short in (("naive", "naive"), ("efficient", "eff")):
        row = only(phases, execution=name, **said)
        assert row["flop"] == near(case["F_theory"])
        assert row["intensity"] == near(case[f"AI_{short}"])
        assert row["time_ms"] == near(case[f"T_est_{short}_ms"])
        assert row["tflops"] == near(case[f"TF_est_{short}"])
        assert row["bound"] == REGIMES[case[f"regime_{short}"]]


def test_a_prompt_longer_than_the_models_context_is_no_point_of_the_sweep(phases):
    lengths = {row["seq_len"] for row in phases if row["study"] == "prefill_sweep"}
    assert max(lengths) == 163840
    assert len(lengths) == 12


def test_a_faster_chip_binds_prefill_by_memory(phases):
    # Figures of 10.10: 4500 TFLOP/s and 8000 GB/s, bytes and intensity as before.
    prefill = only(phases, study="B200 EP1", execution="efficient", phase="prefill")
    assert (prefill["compute_ms"], prefill["hbm_ms"]) == (near("35.648518"), near("43.719145"))
    assert (prefill["bound"], prefill["intensity"]) == ("memory", near("434.68352122270613"))
    training = only(phases, study="B200 EP1", execution="efficient", phase="training")
    assert (training["time_ms"], training["bound"]) == (near("106.945554"), "compute")
    assert only(phases, study="B200 EP1", execution="efficient", phase="decode")["hbm_ms"] == near("9.676453")
    decode = only(phases, study="B200 EP64", execution="efficient", phase="decode")
    assert (decode["compute_ms"], decode["hbm_ms"]) == (near("0.739240"), near("1.274779"))


def test_one_module_after_the_other_takes_longer_than_all_at_once(phases):
    # 9.4, W35: 103.28 ms against 81.06, and 381.6 against 297.8.
    prefill = only(phases, study="EP1", execution="efficient", phase="prefill")
    assert (prefill["time_ms"], prefill["serial_ms"]) == (near("81.06"), near("103.28"))
    training = only(phases, study="EP1", execution="naive", phase="training")
    assert (training["time_ms"], training["serial_ms"]) == (near("297.8"), near("381.6"))


def test_entries_sum_to_the_pass_and_the_four_parts_to_the_bytes(phases, modules):
    for row in phases:
        entries = [entry for entry in modules if entry["scenario"] == row["scenario"]]
        for name in SUMS:
            assert row[name] == pytest.approx(sum(entry[name] for entry in entries), rel=1e-12)
    for row in [*phases, *modules]:
        parts = ("weight_bytes", "activation_bytes", "kv_bytes", "temporary_bytes")
        assert row["hbm_bytes"] == pytest.approx(sum(row[part] for part in parts), rel=1e-12)


def test_realizable_flop_are_never_fewer_and_at_saturation_those_of_the_ceiling(modules):
    # Saturated, 98 % of a product runs at full speed and the rest at 0.35 of it: 0.96419 of the peak.
    ceiling = 1 / (0.98 + 0.02 / 0.35)
    assert ceiling == pytest.approx(0.96419, abs=5e-6)
    for row in modules:
        assert row["realizable_flop"] >= row["flop"]
        if row["module_kind"] == "linear" and row["m_eff"] >= 64:
            assert row["flop"] / row["realizable_flop"] == pytest.approx(ceiling, rel=1e-12)


def test_more_rows_never_make_a_flop_dearer(modules):
    dense = sorted(
        (row["m_eff"], row["realizable_flop"] / row["flop"])
        for row in modules
        if row["study"] == "decode_sweep" and row["module"] == "blocks.*.ffn.dense"
    )
    costs = [cost for _, cost in dense]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > 10 * costs[-1]


def test_the_bound_is_the_largest_of_the_three_times(phases, modules):
    for row in [*phases, *modules]:
        times = {"compute": row["compute_ms"], "memory": row["hbm_ms"], "network": row["net_ms"]}
        assert row["time_ms"] == max(times.values()) == times[row["bound"]]


def test_prefill_flop_are_those_of_as_many_decode_steps(phases):
    # F_prefill(B, S) = S * F_decode(B, L = S): every token is counted with S keys, whatever its place.
    for study, length in (("EP1", 255), ("EP64", 255), ("S512", 512)):
        prefill = only(phases, study=study, execution="naive", phase="prefill")
        decode = only(phases, study=study, execution="naive", phase="decode")
        assert prefill["flop"] == pytest.approx(length * decode["flop"], rel=1e-12)
        # And the closed form of 2.1.
        assert decode["flop"] == 8 * (73_249_201_152 + 5_004_928 * length)


def test_training_is_prefill_three_times_in_flop_and_twice_in_bytes(phases):
    for study in ("EP1", "EP64", "B200 EP1", "S512"):
        for execution in ("naive", "efficient"):
            prefill, training = (
                only(phases, study=study, execution=execution, phase=phase) for phase in ("prefill", "training")
            )
            for name, factor in (("flop", 3), ("realizable_flop", 3), ("hbm_bytes", 2), ("kv_bytes", 2)):
                assert training[name] == pytest.approx(factor * prefill[name], rel=1e-12)
            assert training["net_bytes"] == prefill["net_bytes"]


def test_expert_parallelism_changes_nothing_but_experts_and_the_network(modules):
    alone, spread = ([row for row in modules if row["study"] == study] for study in ("EP1", "EP64"))
    unchanged = ("flop", "m_eff", "weight_bytes", "activation_bytes", "kv_bytes", "temporary_bytes", "net_bytes")
    for row in alone:
        twin = only(spread, execution=row["execution"], phase=row["phase"], module=row["module"])
        differ = {name for name in unchanged if row[name] != twin[name]}
        assert differ <= ({"weight_bytes", "m_eff"} if row["module"] == "blocks.*.ffn.moe" else set())
        assert row["net_bytes"] == 0
    new = {row["module"] for row in spread} - {row["module"] for row in alone}
    assert new == {"moe.dispatch.interconnect"}


def test_decode_alone_has_the_figures_that_it_has_beside_the_other_phases(lake, phases):
    beside = only(phases, study="EP64", execution="naive", phase="decode")
    alone = named_rows(lake, f"SELECT * FROM compat.phase_roofline WHERE scenario = '{beside['scenario']}'")
    assert len(alone) == 1
    for name, value in alone[0].items():
        same = pytest.approx(beside[name], rel=1e-12) if isinstance(value, float) else beside[name]
        assert value == same
