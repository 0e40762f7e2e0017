"""A gradient that is differentiated itself (`create_graph=True`, as for a gradient penalty), in two layers.

The first backward pass runs an operator in each function; these take numbers of the backward thread, from 0 on, which
the forward pass has too. The second one goes back through them, then through the forward pass.
"""

from ...lakes import in_one_lake
from .test_training import Step

ENGINE = "autograd::engine::evaluate_function: "


class Penalty(Step):
    """Writes the operators and functions of a step with a penalty on the gradient."""

    def call(self, name, kernel, number, tid, made_by=0, inner=None):
        start = self.now
        self.now += 1
        if kernel:
            self.launch(kernel, tid)
        if inner:
            op, launched, numbered = inner
            self.call(op, launched, numbered, 2)
        self.event("cpu_op", name, start, tid, **{"Sequence number": number, "Fwd thread id": made_by})

    def goes_back(self, name, number, made_by, kernel=None, inner=None):
        start = self.now
        self.now += 1
        self.call(name, kernel, number, 2, made_by, inner)
        self.event("cpu_op", ENGINE + name, start, 2, **{"Sequence number": number, "Fwd thread id": made_by})

    def step(self):
        model = self.now
        for layer, name in enumerate(["aten::mm", "aten::addmm"]):
            start = self.now
            self.call(name, f"forward_{layer}", layer, 1)
            self.event("python_function", f"nn.Module: ToyDecoderLayer_{layer}", start, 1)
            self.now += 1
        self.call("aten::sum", "loss", 2, 1)
        self.event("python_function", "nn.Module: ToyModel_0", model, 1)
        self.goes_back("SumBackward0", 2, 1, inner=("aten::expand", "spread", 0))
        self.goes_back("AddmmBackward0", 1, 1, inner=("aten::mul", "first_1", 1))
        self.goes_back("MmBackward0", 0, 1, inner=("aten::div", "first_0", 2))
        self.call("aten::norm", "penalty", 3, 1)
        self.call("aten::add", "loss", 4, 1)
        self.goes_back("NormBackward0", 3, 1, "penalty")
        self.goes_back("MulBackward0", 1, 2, "second_1")
        self.goes_back("ExpandBackward0", 0, 2, "gathered")
        self.goes_back("MmBackward0", 0, 1, "third_0")


@in_one_lake
def test_a_backward_of_a_backward_goes_back_to_the_operator_that_a_function_ran(tmp_path):
    lake = yield Penalty().write(tmp_path / "penalty.json")
    found = lake.rows(
        "SELECT f.name, o.name, w.name FROM autograd_links JOIN events AS f ON f.event_id = function_id "
        "JOIN events AS o ON o.event_id = op_id JOIN events AS w ON w.event_id = forward_op_id "
        f"WHERE NOT starts_with(f.name, '{ENGINE}') ORDER BY f.start_ns"
    )
    assert found == [
        ("SumBackward0", "aten::sum", "aten::sum"), ("AddmmBackward0", "aten::addmm", "aten::addmm"),
        ("MmBackward0", "aten::mm", "aten::mm"), ("NormBackward0", "aten::norm", "aten::norm"),
        ("MulBackward0", "aten::mul", "aten::addmm"), ("ExpandBackward0", "aten::expand", "aten::sum"),
        ("MmBackward0", "aten::mm", "aten::mm"),
    ]  # fmt: skip
    # By their layers: what goes back through the gradient of layer 1 is of layer 1. The loss is of no layer.
    layers = lake.rows(
        "SELECT layer_id, list(name ORDER BY position) FROM layer_kernels JOIN passes "
        "USING (trace_id, device, pass_id) WHERE direction = 'backward' GROUP BY 1 ORDER BY 1"
    )
    assert layers == [(0, ["first_0", "third_0"]), (1, ["first_1", "second_1"])]
