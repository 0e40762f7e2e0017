"""Layers of compiled programs that have a loop for each kind of layer, one after the other, on made-up traces of a TPU.

Times are microseconds. Operations follow one another without a gap.
"""

import pytest

from ...lakes import in_one_lake
from .test_program_layers import LAYER, PARTS, PRODUCT, Program, forward

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


@pytest.mark.parametrize(("dense", "experts"), [(3, 12), (3, 58), (13, 12), (8, 8)])
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


AGAIN = BACK.replace("Model))/", "Model))/rematted_computation/")
SPLASH_AGAIN = AGAIN.replace("convolution fusion", "custom-call")


def found(lake, direction, columns="sum_us"):
    return [
        us for (us,) in lake.rows(f"SELECT {columns} FROM layers WHERE direction = '{direction}' ORDER BY layer_id")
    ]


@in_one_lake
def test_a_dense_layer_outside_of_the_loop_of_those_with_experts_is_a_layer(tmp_path):
    # Of a loop of one turn XLA leaves none. It computes the norm and product of the dense layer once, under the path of
    # their second computation, and its second attention with the forward layers.
    program = Program()
    program.add("gather_fusion.40", 7, "")
    for dense in (("add_fusion.1", 2, ""), ("fusion.2", 5, AGAIN), ("splash_mha_fwd.3", 9, ""),
                  ("splash_mha_fwd.4", 9, SPLASH_AGAIN), ("fusion.5", 8, PRODUCT)):  # fmt: skip
        program.add(*dense)
    program.loop("while.43", EXPERTS, 30)
    for head in (("fusion.44", 6, PRODUCT), ("fusion.45", 12, BACK)):
        program.add(*head)
    program.loop(
        "while.46", [(name, us, SPLASH_AGAIN if "_fwd" in name else args) for name, us, args in EXPERTS_BACK], 30
    )
    for dense in DENSE_BACK[2:]:
        program.add(*dense)
    program.add("adam_fusion.48", 20, "")
    program.modules.append(f"jit_step(4711) 0+{program.now}")
    lake = yield program.written(tmp_path)
    assert lake.rows("SELECT direction, complete, num_layers, layer_count FROM passes ORDER BY pass_id") == [
        ("forward", True, 31, 31), ("backward", True, 31, 31)
    ]  # fmt: skip
    # Experts as in the loops above; the dense layer takes 2 + 5 + 9 + 9 + 8 us, and 10 + 11 + 12 + 16 backward.
    assert found(lake, "forward") == [33.0, *[46.0] * 30]
    assert found(lake, "backward") == [49.0, *[74.0] * 30]


@in_one_lake
def test_turns_of_two_layers_with_other_fusions_are_two_layers_each(tmp_path):
    # lax.scan(unroll=2): the products of the second layer have the residual fused to them.
    first = [("add_fusion.1", 2, ""), ("fusion.2", 5, PRODUCT), ("splash_mha_fwd.3", 9, ""), ("fusion.4", 8, PRODUCT)]
    second = [("add_fusion.5", 2, ""), ("bitcast_add_fusion.6", 5, PRODUCT), ("splash_mha_fwd.7", 9, ""),
              ("add_multiply_fusion.8", 8, PRODUCT)]  # fmt: skip
    program = Program()
    program.add("gather_fusion.40", 7, "")
    program.loop("while.41", first + second, 6)
    program.add("fusion.42", 6, PRODUCT)
    program.modules.append(f"jit_step(4711) 0+{program.now}")
    lake = yield program.written(tmp_path)
    assert lake.rows("SELECT num_layers, layer_count FROM passes") == [(12, 12)]


@in_one_lake
def test_backward_turns_that_compute_attention_written_out_again_are_layers(tmp_path):
    # Nine products a layer: seven with weights, two of attention; 27 where they are computed again and backward.
    program = Program()
    program.add("gather_fusion.40", 7, "")
    program.loop("while.41", [(f"fusion.{nth}", 5, PRODUCT) for nth in range(9)], 8)
    program.add("fusion.45", 12, BACK)
    program.loop("while.46", [(f"fusion.{nth}", 5, BACK) for nth in range(50, 77)], 8)
    program.add("adam_fusion.48", 20, "")
    program.modules.append(f"jit_step(4711) 0+{program.now}")
    lake = yield program.written(tmp_path)
    assert lake.rows("SELECT direction, num_layers, layer_count FROM passes ORDER BY pass_id") == [
        ("forward", 8, 8), ("backward", 8, 8)
    ]  # fmt: skip
    assert found(lake, "backward", "DISTINCT kernel_count") == [27]


@in_one_lake
def test_layers_whose_weights_are_all_gathered_before_them_are_the_program(tmp_path):
    layer = [("add_fusion", 2, ""), ("fusion", 5, PRODUCT), ("splash_mha_fwd", 9, ""), ("fusion", 8, PRODUCT)]
    program = Program()
    program.run("jit_step", [("all-gather", 40, "")] * 12, *[layer] * 6)
    lake = yield program.written(tmp_path)
    assert lake.rows("SELECT num_layers, layer_count FROM passes") == [(6, 6)]


@pytest.mark.parametrize(("ahead", "value", "severity"), [(0, 0, "ok"), (18, 62.5, "warning")])
@in_one_lake
def test_a_layer_that_gathers_the_weights_of_all_is_told(tmp_path, ahead, value, severity):
    # Six layers reduce once each, and the first one gathers for all: it has 19 of 24 collectives, 15 more than 4.
    first = (*LAYER[:4], *[("all-gather", 20, "")] * ahead, *LAYER[4:])
    program = Program()
    program.run("jit_step", *forward(6, first=first))
    lake = yield program.written(tmp_path)
    found = lake.rows("SELECT round(value, 1), severity FROM layer_checks WHERE \"check\" = 'uneven_collectives'")
    assert found == [(value, severity)]


@in_one_lake
def test_layers_with_experts_exchange_more_than_others_in_their_own_right(tmp_path):
    # Every other layer runs experts, between two collectives of theirs: 3 collectives beside 1.
    expert = (*LAYER[:4], ("all-to-all", 20, ""), ("gmm", 6, ""), ("all-to-all", 20, ""), *LAYER[4:])
    program = Program()
    program.run("jit_step", [("gather_fusion", 7, "")], *[LAYER, expert] * 6)
    lake = yield program.written(tmp_path)
    assert lake.rows("SELECT layer_count FROM passes") == [(12,)]
    found = lake.rows("SELECT value, severity FROM layer_checks WHERE \"check\" = 'uneven_collectives'")
    assert found == [(0, "ok")]


@pytest.mark.parametrize(("asides", "layers"), [(3, 12), (0, 6)])
@in_one_lake
def test_every_attention_is_a_layer_of_alternating_kinds_if_it_has_the_products_of_one(tmp_path, asides, layers):
    # Dense layers and those with experts (Llama 4), of 53 and 136 us. Without the products that make its keys, values
    # and output, the second attention is one to another model's states, in the same layer.
    experts = [("pad_fusion", 2, ""), ("gather_fusion", 4, ""), *[("gmm", 30, "")] * 3, ("scatter", 6, "")]
    dense = [("add_fusion", 2, ""), *[("fusion", 5, PRODUCT)] * 3, ("splash_mha_fwd", 9, ""),
             *[("fusion", 8, PRODUCT)] * asides, ("tanh_fusion", 3, "")]  # fmt: skip
    second = [("add_fusion", 2, ""), *[("fusion", 5, PRODUCT)] * 3, ("splash_mha_fwd", 9, ""),
              ("fusion", 8, PRODUCT), *experts]  # fmt: skip
    program = Program()
    program.run("jit_step", [("while_fusion", 7, "")], *[dense, second] * 6, [("tanh_fusion", 1, "")])
    lake = yield program.written(tmp_path)
    assert lake.rows("SELECT num_layers, layer_count FROM passes") == [(layers, layers)]
    if layers == 12:
        assert lake.rows("SELECT layer_id % 2, sum_us FROM layers GROUP BY ALL ORDER BY ALL") == [(0, 53), (1, 136)]
