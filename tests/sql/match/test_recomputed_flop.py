"""FLOP that compute activations again: counted in the MFU of their pass, and shown."""

from tracelake.reports.mfu.trace import facts, report

from ...lakes import Files, in_one_lake
from ...summary_cases import write_case
from ..layers.test_checkpointed_layers import LAYERS, Checkpointed

PRODUCT = {"Input Dims": [[64, 32], [32, 16]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}


class Shaped(Checkpointed):
    """Writes a checkpointed step whose forward products, run once and once again, have shapes."""

    def event(self, cat, name, start, tid, **args):
        super().event(cat, name, start, tid, **args, **(PRODUCT if name == "aten::mm" else {}))


@in_one_lake
def test_the_bytes_of_a_pass_carry_the_share_of_its_time_in_which_they_are_known(tmp_path):
    lake = yield Files(Shaped().write(tmp_path / "step.json"), hardware="h100_sxm")
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


@in_one_lake
def test_flop_that_compute_activations_again_are_counted_and_said(tmp_path):
    lake = yield Files(Shaped().write(tmp_path / "step.json"), hardware="h100_sxm")
    # One product in each layer; the gradients' have no shapes.
    flop = LAYERS * 2 * 64 * 32 * 16
    found = lake.rows(
        "SELECT direction, flop, recomputed_flop FROM pass_mfu JOIN passes USING (trace_id, device, pass_id) "
        "WHERE time_basis = 'wall' ORDER BY pass_id"
    )
    assert found == [("forward", flop, None), ("backward", flop, flop)]
    said = report(facts(lake.lake.store, lake.id, None))
    [caveat] = [part for part in said if isinstance(part, str) and "HFU" in part]
    assert "(pass 1: 196.608 KFLOP, 100.0 %)" in caveat


@in_one_lake
def test_flop_that_a_compiled_program_computes_again_are_counted_and_said_once_for_all_devices(tmp_path):
    # Products of 1 MFLOP: forward two a layer; backward one of them again, and two gradients. The head's is outside.
    # The other one runs once, under the path of the computation again that it saves.
    paths = {"": "jvp(Model)", "again": "transpose(jvp(Model))/rematted_computation", "back": "transpose(jvp(Model))"}
    made, at = [], 0

    def run(name, path, us, category="convolution fusion"):
        nonlocal at
        args = f'"hlo_category": "{category}", "tf_op": "jit(step)/{paths[path]}/{name}:"'
        flop = ', "model_flops": "1000000", "bytes_accessed": "9"' if category == "convolution fusion" else ""
        made.append(f"{name} {at}+{us} {{{args}{flop}}}")
        at += us

    for _ in range(4):
        run("fusion.1", "", 5)
        run("splash_mha_fwd.2", "", 9, "custom-call")
        run("fusion.3", "again", 8)
    run("fusion.4", "", 6)
    run("fusion.5", "back", 12)
    for _ in range(4):
        run("fusion.11", "again", 5)
        run("splash_mha_dkv.12", "back", 12, "custom-call")
        run("fusion.13", "back", 10)
        run("fusion.14", "back", 16)
    made.append(f'fusion.20 {at}+20 {{"hlo_category": "loop fusion", "tf_op": "jit(step)/mul:"}}')
    lines = {"XLA Modules": f"jit_step(1) 0+{at + 20}", "XLA Ops": "; ".join(made)}
    case = [(3 + nth, f"/device:TPU:{nth}", lines) for nth in range(2)]
    lake = yield Files(write_case(tmp_path / "step.json", case), hardware="tpu_v5p")
    found = lake.rows(
        "SELECT DISTINCT direction, phase, flop, recomputed_flop FROM pass_mfu "
        "JOIN passes USING (trace_id, device, pass_id) ORDER BY direction DESC"
    )
    assert found == [("forward", "training", 9e6, None), ("backward", "training", 13e6, 4e6)]
    # The head's products and their gradients are of the two passes; the optimizer's work is of neither.
    phases = lake.rows("SELECT DISTINCT phase, kernel_count, busy_us FROM training_phases ORDER BY phase")
    assert phases == [("backward", 17, 4 * 43 + 12), ("forward", 13, 4 * 22 + 6), ("optimizer", 1, 20)]
    said = report(facts(lake.lake.store, lake.id, 1))
    [caveat] = [part for part in said if isinstance(part, str) and "HFU" in part]
    assert "(pass 1: 4.000 MFLOP, 30.8 %)" in caveat
