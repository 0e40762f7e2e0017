"""What the reference report says is resident on a chip, and what dispatch sends: its figures of 10.10."""

import pytest

from ..studies import named_rows, near
from .report_cases import with_report

GIB = 1024**3
# Bytes, EP 1 and EP 64, as printed.
WEIGHTS = {1: 671_026_404_352, 64: 27_334_958_080}
EXPERTS = {1: 653_908_770_816, 64: 10_217_324_544}
OPTIMIZER = {1: 8_052_316_852_224, 64: 328_019_496_960}
INFERENCE = {1: 671_098_081_792, 64: 27_406_635_520}
TRAINING = {1: 9_403_289_520_128, 64: 391_609_272_320}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """The anchor at both degrees of expert parallelism."""
    opened = with_report(
        tmp_path_factory.mktemp("memory"),
        *(f"anchor_phases('deepseek-v3', of_study := 'EP{ep}', of_ep := {ep})" for ep in (1, 64)),
    )
    yield opened
    opened.close()


def resident(lake, ep, phase):
    """Return the row of a phase; both executions hold the same."""
    rows = named_rows(lake, f"SELECT * FROM compat.memory_per_gpu WHERE study = 'EP{ep}' AND phase = '{phase}'")
    assert len(rows) == 2
    first, second = ({key: row[key] for key in row if key not in ("scenario", "execution")} for row in rows)
    assert first == second
    return rows[0]


@pytest.mark.parametrize("ep", [1, 64])
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_inference_holds_weights_and_cache(lake, ep, phase):
    row = resident(lake, ep, phase)
    assert row["weight_bytes"] == WEIGHTS[ep]
    assert (row["other_weight_bytes"], row["expert_bytes"]) == (17_117_633_536, EXPERTS[ep])
    assert row["kv_bytes"] == 71_677_440
    assert row["total_bytes"] == INFERENCE[ep]
    assert (row["budget_bytes"], row["fits"]) == (141 * GIB, ep == 64)
    assert (row["gradient_bytes"], row["optimizer_bytes"], row["activation_bytes"]) == (0, 0, 0)


@pytest.mark.parametrize("ep", [1, 64])
def test_training_holds_gradients_moments_and_activations_too(lake, ep):
    row = resident(lake, ep, "training")
    assert row["gradient_bytes"] == WEIGHTS[ep]
    assert row["optimizer_bytes"] == OPTIMIZER[ep]
    assert row["activation_bytes"] == 8_919_859_200
    assert (row["total_bytes"], row["fits"]) == (TRAINING[ep], False)


def test_one_more_sequence_than_the_most_that_fit_does_not_fit(lake):
    row = resident(lake, 64, "decode")
    assert row["sequence_bytes"] == 71_677_440 / 8
    free = row["budget_bytes"] - row["weight_bytes"]
    assert row["max_batch"] * row["sequence_bytes"] <= free < (row["max_batch"] + 1) * row["sequence_bytes"]
    assert resident(lake, 1, "decode")["max_batch"] == 0


def test_tensor_parallelism_divides_weights_and_not_the_cache(tmp_path):
    lake = with_report(
        tmp_path,
        "decode_sweep('deepseek-v3', of_study := 'TP8', of_batches := [8], of_tp := 8, of_eps := [64])",
    )
    row = named_rows(lake, "SELECT * FROM compat.memory_per_gpu")[0]
    assert row["other_weight_bytes"] == 17_117_633_536 / 8
    assert row["expert_bytes"] == EXPERTS[64] / 8
    assert row["kv_bytes"] == 71_677_440
    lake.close()


def test_dispatch_leaves_the_chip_only_with_expert_parallelism(lake):
    rows = named_rows(lake, "SELECT * FROM compat.communication_envelope")
    assert len(rows) == 12
    for row in rows:
        decode = row["phase"] == "decode"
        assert row["moved_bytes"] == (53_215_232 if decode else 13_569_884_160)
        if row["ep"] == 1:
            assert (row["net_bytes"], row["net_ms"]) == (0, 0)
        else:
            assert row["net_bytes"] == (52_383_744 if decode else 13_357_854_720)
            assert row["net_ms"] == near("0.058204" if decode else "14.842061")
