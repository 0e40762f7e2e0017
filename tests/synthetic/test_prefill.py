"""The made-up prefill: its kernels reach what they were made to reach, and the model says what its trace does."""

import pytest

from tracelake.lake import Lake
from tracelake.synthetic import prefill as made


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefill")
    made.write_prefill(folder / "prefill.json.gz")
    with Lake(folder / "lake") as opened:
        opened.ingest(folder / "prefill.json.gz", model=made.MODEL)
        yield opened


def test_every_part_reaches_what_it_was_made_for(lake):
    rows = lake.rows(
        "SELECT layer_kind, part, efficiency, bound, kernel_count FROM measured_vs_modelled WHERE state = 'mapped'"
    )
    found = {(kind, part): (efficiency, bound, kernels) for kind, part, efficiency, bound, kernels in rows}
    layers, products = made.LAYERS, ("qkv_proj", "o_proj", "gate_up_proj", "down_proj")
    expected = {
        **{("gqa+dense", op): (made.PRODUCTS, "compute", layers) for op in products},
        ("gqa+dense", "attention"): (made.ATTENTION, "compute", layers),
        ("gqa+dense", "norm"): (made.BYTES, "memory", 2 * layers),
        **{("gqa+dense", op): (made.BYTES, "memory", layers) for op in ("rope", "kv_store", "silu_mul")},
        ("ends", "embedding"): (made.BYTES, "memory", 1),
        ("ends", "norm"): (made.BYTES, "memory", 1),
        ("ends", "lm_head"): (made.BYTES, "memory", 1),
    }  # fmt: skip
    assert found.keys() == expected.keys()
    for key, (efficiency, bound, kernels) in expected.items():
        # Weights of a norm and rounding to whole nanoseconds: less than one in a thousand.
        assert found[key] == (pytest.approx(efficiency, rel=1e-3), bound, kernels), key


def test_the_template_is_what_the_trace_computes(lake):
    tokens = made.PROMPTS * made.PROMPT
    layer = 2 * tokens * made.HIDDEN * (6144 + 4096 + 3 * made.WIDTH) + 4 * made.PAIRS * made.HIDDEN
    whole = made.LAYERS * layer + 2 * made.PROMPTS * made.HIDDEN * made.VOCAB
    assert lake.rows("SELECT verdict, gemms, matched, template_flop, trace_flop FROM template_verdicts") == [
        ("PASS", 4 * made.LAYERS + 1, 4 * made.LAYERS + 1, whole, whole)
    ]


def test_idle_time_is_what_was_left_between_kernels(lake):
    [(idle, kernels)] = lake.rows(
        "SELECT (SELECT measured_ns FROM measured_vs_modelled WHERE state = 'idle'), sum(kernel_count) "
        "FROM measured_vs_modelled"
    )
    assert idle == 1000 * made.IDLE_US * (kernels - 1)


def test_what_the_chip_reaches_is_found_again(lake):
    rows = lake.rows("SELECT hardware, bound, fraction, residual_pct, low_fraction FROM calibrations ORDER BY bound")
    assert [(hardware, bound) for hardware, bound, *_ in rows] == [("h100_sxm", "compute"), ("h100_sxm", "memory")]
    # Of what is bound by compute, products take 96.351 ms at 0.6 and attention 5.561 ms at 0.4: 60.035 of 101.912 ms.
    assert rows[0][2] == pytest.approx(60.035 / 101.912, abs=1e-4)
    assert rows[0][4] == pytest.approx(made.PRODUCTS, rel=1e-3)
    assert rows[1][2] == pytest.approx(made.BYTES, rel=1e-3)
    assert rows[1][3] < 1
