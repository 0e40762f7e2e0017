"""Layers of compiled programs that have a loop for each kind of layer, one after the other, on made-up traces of a TPU.

Times are microseconds. Operations follow one another without a gap.
"""

import pytest

from ...lakes import in_one_lake
from .test_program_layers import PARTS, PRODUCT, Program

BACK = '{"hlo_category": "convolution fusion", "tf_op": "jit(step)/transpose(jvp(Model))/dot_general:"}'
DENSE = [("add_fusion.1", 2, ""), ("fusion.2", 5, PRODUCT), ("splash_mha_fwd.3", 9, ""), ("fusion.4", 8, PRODUCT)]
EXPERTS = [("all-gather.11", 4, ""), ("add_fusion.12", 2, ""), ("fusion.13", 5, PRODUCT),
           ("splash_mha_fwd.14", 9, ""), ("all-to-all.15", 3, ""), ("gmm.16", 20, ""),
           ("all-to-all.17", 3, "")]  # fmt: skip
# Each computes its attention again.
DENSE_BACK = [("add_fusion.21", 2, ""), ("splash_mha_fwd.22", 9, ""), ("fusion.23", 10, BACK),
              ("splash_mha_dq.24", 11, ""), ("splash_mha_dkv.25", 12, ""), ("fusion.26", 16, BACK)]  # fmt: skip
EXPERTS_BACK = [("all-gather.30", 4, ""), ("add_fusion.31", 2, ""), ("splash_mha_fwd.32", 9, ""),
                ("gmm.33", 20, ""), ("fusion.34", 10, BACK), ("splash_mha_dq.35", 11, ""),
                ("splash_mha_dkv.36", 12, ""), ("reduce-scatter.37", 6, "")]  # fmt: skip


@pytest.mark.parametrize(("dense", "experts"), [(3, 12), (3, 58), (13, 12)])
@in_one_lake
def test_the_turns_of_loops_of_dense_layers_and_of_those_with_experts_are_all_layers(tmp_path, dense, experts):
    program = Program()
    program.add("gather_fusion.40", 7, "")
    program.loop("while.41", DENSE, dense)
    program.add("copy.42", 1, "")
    program.loop("while.43", EXPERTS, experts)
    for head in (("fusion.44", 6, PRODUCT), ("fusion.45", 12, BACK)):
        program.add(*head)
    program.loop("while.46", EXPERTS_BACK, experts)
    program.loop("while.47", DENSE_BACK, dense)
    program.add("adam_fusion.48", 20, "")
    program.modules.append(f"jit_step(4711) 0+{program.now}")
    lake = yield program.written(tmp_path)
    layers = dense + experts
    assert lake.rows("SELECT direction, complete, num_layers, layer_count FROM passes ORDER BY pass_id") == [
        ("forward", True, layers, layers), ("backward", True, layers, layers)
    ]  # fmt: skip
    # Dense layers of 24 us and 60 backward, the last one forward with the copy behind it; those with experts 46 and 74.
    for direction, last, few, many in [("forward", 25, 24, 46), ("backward", 60, 60, 74)]:
        found = lake.rows(f"SELECT sum_us FROM layers WHERE direction = '{direction}' ORDER BY layer_id")
        assert found == [(float(us),) for us in [few] * (dense - 1) + [last] + [many] * experts]
    assert lake.rows(PARTS) == [
        (0, "prologue", 1, 7.0), (0, "epilogue", 1, 6.0), (1, "prologue", 1, 12.0), (1, "epilogue", 1, 20.0),
    ]  # fmt: skip


@in_one_lake
def test_loops_of_two_models_with_a_product_between_them_are_not_layers_of_one(tmp_path):
    program = Program()
    program.add("gather_fusion.40", 7, "")
    program.loop("while.41", DENSE, 3)
    program.add("fusion.42", 9, PRODUCT)  # projects the images
    program.loop("while.43", EXPERTS, 12)
    program.modules.append(f"jit_step(4711) 0+{program.now}")
    lake = yield program.written(tmp_path)
    assert lake.rows("SELECT num_layers, layer_count FROM passes") == [(12, 12)]
