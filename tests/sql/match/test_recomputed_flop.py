"""FLOP that compute activations again: counted in the MFU of their pass, and shown."""

import tracelake
from tracelake.reports.mfu.trace import facts, report

from ..layers.test_checkpointed_layers import LAYERS, Checkpointed

PRODUCT = {"Input Dims": [[64, 32], [32, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}


class Shaped(Checkpointed):
    """Writes a checkpointed step whose forward products, run once and once again, have shapes."""

    def event(self, cat, name, start, tid, **args):
        super().event(cat, name, start, tid, **args, **(PRODUCT if name == "aten::mm" else {}))


def test_the_bytes_of_a_pass_carry_the_share_of_its_time_in_which_they_are_known(tmp_path):
    lake = tracelake.Lake(tmp_path / "lake", stored=False)
    lake.ingest(Shaped().write(tmp_path / "step.json"), hardware="h100")
    found = lake.rows(
        "SELECT DISTINCT direction, bytes, kernel_count, bytes_covered_pct FROM pass_mfu "
        "JOIN passes USING (trace_id, device, pass_id) ORDER BY direction DESC"
    )
    # Kernels take equally long, and of each layer's one has shapes: of two, or of five on the way back. One kernel
    # follows the layers; that of the loss's gradient begins the way back.
    moved = LAYERS * 2 * (64 * 32 + 32 * 16 + 64 * 16)
    assert found == [
        ("forward", moved, 2 * LAYERS + 1, 100 * LAYERS / (2 * LAYERS + 1)),
        ("backward", moved, 5 * LAYERS + 2, 100 * LAYERS / (5 * LAYERS + 2)),
    ]


def test_flop_that_compute_activations_again_are_counted_and_said(tmp_path):
    lake = tracelake.Lake(tmp_path / "lake", stored=False)
    lake.ingest(Shaped().write(tmp_path / "step.json"), hardware="h100")
    # One product in each layer; the gradients' have no shapes.
    flop = LAYERS * 2 * 64 * 32 * 16
    found = lake.rows(
        "SELECT direction, flop, recomputed_flop FROM pass_mfu JOIN passes USING (trace_id, device, pass_id) "
        "WHERE time_basis = 'wall' ORDER BY pass_id"
    )
    assert found == [("forward", flop, None), ("backward", flop, flop)]
    said = report(facts(lake.store, lake.resolve("step"), None))
    [caveat] = [part for part in said if isinstance(part, str) and "HFU" in part]
    assert "(pass 1: 196.608 KFLOP, 100.0 %)" in caveat
