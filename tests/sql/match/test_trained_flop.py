"""A training step beside its model: backward products are no part of the template, and frozen weights have none."""

import json

import pytest

import tracelake

from ...kernel_traces import GEMM, Trace, one_layer_model, tiny_config

ENGINE = "autograd::engine::evaluate_function: MmBackward0"
#: FLOP of the forward pass of two layers and the head: 64 tokens, 64 x 65 / 2 pairs, four heads of 64.
PRODUCTS = 2 * 64 * (2 * 256 * (512 + 256 + 2 * 512 + 512) + 256 * 1000)
ATTENTION = 2 * 4 * 4 * 64 * 64 * 65 // 2
#: Gradients that a product's backward function computes: of its input, and of weights that are not frozen.
GRADIENTS = {"trained": ("dx", "dw"), "frozen": ("dx",), "cut": ()}


def write_step(folder, name, gradients):
    """Write a forward pass, and for each of its products, the last first, a backward function of these gradients."""
    path = one_layer_model(folder, name, head_rows=(64,))
    forward = json.loads(path.read_text())["traceEvents"]
    # With modules the backward pass would be a pass of its own.
    forward = [event for event in forward if event["cat"] != "python_function"]
    products = [event for event in forward if event["name"] == "aten::mm"]
    trace = Trace()
    trace._ids = 10_000
    trace.events = forward
    device = max(event["ts"] + event["dur"] for event in forward if event["cat"] == "kernel")
    host = 2000.0
    for number, product in reversed(list(enumerate(products))):
        product["args"]["Sequence number"] = number
        product["args"]["Fwd thread id"] = 0
        (m, k), (_, n) = product["args"]["Input Dims"]
        sequence = {"Sequence number": number, "Fwd thread id": 1}
        trace.op(ENGINE, host, 38, tid=2, **sequence)
        trace.op("MmBackward0", host + 1, 36, tid=2, **sequence)
        for begin, gradient in enumerate(gradients):
            dims = [[m, n], [n, k]] if gradient == "dx" else [[n, m], [m, k]]
            launched = host + 2 + 15 * begin
            said = trace.op("aten::mm", launched, 10, dims, tid=2)
            trace.kernel(GEMM, launched + 2, device + 2, 9, said, tid=2)
            device += 11
        host += 40
    return trace.write(path)


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained")
    with tracelake.Lake(folder / "lake", stored=False) as opened:
        files = [write_step(folder, name, gradients) for name, gradients in GRADIENTS.items()]
        opened.ingest(*files, model=str(tiny_config(folder)), anchor="flash_fwd")
        yield opened


def test_backward_products_are_not_held_against_the_template_of_a_forward_pass(lake):
    query = "SELECT trace, verdict, gemms, matched, extra, trace_flop FROM template_verdicts"
    assert lake.rows(f"{query} JOIN traces USING (trace_id) ORDER BY trace") == [
        (name, "PASS", 9, 9, 0, PRODUCTS + ATTENTION) for name in sorted(GRADIENTS)
    ]


def test_the_model_flop_of_a_step_leave_out_gradients_that_frozen_weights_and_a_cut_lack(lake):
    found = dict(
        lake.rows(
            "SELECT trace, {'run': flop, 'model': model_flop} FROM pass_mfu JOIN traces USING (trace_id) "
            "WHERE time_basis = 'wall'"
        )
    )
    # Attention runs no backward kernel here: 2.5 times its FLOP are 1.1 % of the step's, so all is trained.
    assert found["trained"] == {"run": 3 * PRODUCTS + ATTENTION, "model": 3 * PRODUCTS + 3.5 * ATTENTION}
    for name, products in (("frozen", 2 * PRODUCTS), ("cut", PRODUCTS)):
        flop = products + ATTENTION
        assert found[name] == {"run": flop, "model": pytest.approx(flop)}
