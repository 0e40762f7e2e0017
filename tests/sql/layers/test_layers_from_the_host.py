"""Layers from what the host shows: frames of modules and cycles of annotations, on made-up traces.

A model of three layers: each launches two norms, attention and two products. Times are microseconds.
"""

import pytest

from ...lakes import in_one_lake
from ..captures import Capture, captured, rows

KERNELS = ("rms_norm_kernel", "flash_fwd_kernel", "nvjet_o", "rms_norm_kernel", "nvjet_ffn")


class Model:
    """Writes a trace: the host at its own time, the device 1000 later and one stream after another."""

    def __init__(self, tid=7, launch_tid=7):
        self.events, self.now, self.ends = [], 0, []
        self.tid, self.launch_tid, self.correlation = tid, launch_tid, 0

    def launch(self, name, stream=1):
        self.correlation += 1
        ids = {"correlation": self.correlation}
        self.events += [
            {"cat": "cuda_runtime", "name": "launch", "pid": 1, "tid": self.launch_tid, "ts": self.now, "dur": 1,
             "args": ids},
            {"cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": self.now + 1000, "dur": 5,
             "args": {"device": 0, "stream": stream, **ids}},
        ]  # fmt: skip
        self.now += 10

    def within(self, name, body, cat="python_function"):
        start = self.now
        self.now += 2
        body()
        self.now += 2
        self.events.append(
            {"cat": cat, "name": name, "pid": 1, "tid": self.tid, "ts": start, "dur": self.now - start, "args": {}}
        )
        self.now += 1

    def layer(self):
        for name in KERNELS:
            self.launch(name)

    def call(self, classes=("ToyDecoderLayer_0", "ToyDecoderLayer_1", "ToyDecoderLayer_2")):
        self.launch("embedding_kernel")
        for name in classes:
            self.within(f"nn.Module: {name}", self.layer)
        self.launch("nvjet_head")

    def written(self, folder, **settings):
        return captured(folder, Capture("toy", self.events, settings))


def passes(lake):
    return rows(lake, "SELECT pass_id, pass_source, num_layers, layer_count, complete FROM passes ORDER BY pass_id")


def counts(lake):
    return rows(lake, "SELECT pass_id, layer_id, kernel_count FROM layers ORDER BY pass_id, layer_id")


def series(lake):
    return [name for (name,) in rows(lake, "SELECT series FROM passes ORDER BY pass_id")]


WHOLE = [(number, "module scopes", 3, 3, True) for number in range(2)]
ALL_LAYERS = [(number, layer, 5) for number in range(2) for layer in range(3)]


@in_one_lake
def test_each_run_of_instances_from_0_is_a_pass(tmp_path):
    model = Model()
    model.call()
    model.call()
    lake = yield model.written(tmp_path)
    assert passes(lake) == WHOLE
    assert counts(lake) == ALL_LAYERS


@in_one_lake
def test_launches_match_by_time_where_frames_are_on_threads_numbered_apart(tmp_path):
    model = Model(tid=0, launch_tid=4711)
    model.call()
    model.call()
    lake = yield model.written(tmp_path)
    assert counts(lake) == ALL_LAYERS


@in_one_lake
def test_frames_inside_a_layers_frame_are_parts_of_it(tmp_path):
    model = Model()
    original = model.layer
    model.layer = lambda: model.within("nn.Module: ExpertDecoderLayer_0", original)
    model.call()
    model.call()
    lake = yield model.written(tmp_path)
    assert counts(lake) == ALL_LAYERS


@in_one_lake
def test_what_a_layer_calls_is_no_model_where_it_is_called_without_the_layer(tmp_path):
    # As a checkpoint computes a layer's function again, not its module, and keeps what its attention gave: projections
    # are no layers.
    model = Model()

    def product():
        model.launch("nvjet_qkv")

    def attention(nth, kernels=()):
        def body():
            for part in range(3 * nth, 3 * nth + 3):
                base = f"nn.Module: Linear_{part}"
                model.within(f"nn.Module: Adapted_{part}", lambda name=base: model.within(name, product))
            for name in kernels:
                model.launch(name)

        model.within(f"nn.Module: ToyAttention_{nth}", body)

    def call():
        for nth in range(3):
            model.within(f"nn.Module: ToyDecoderLayer_{nth}", lambda layer=nth: attention(layer, KERNELS))

    for _ in range(2):
        model.within("nn.Module: ToyModel_0", call)
        for nth in reversed(range(3)):
            attention(nth)
    lake = yield model.written(tmp_path)
    assert passes(lake) == WHOLE
    assert series(lake) == ["ToyModel_0", "ToyModel_0"]


@in_one_lake
def test_layers_of_two_classes_that_do_not_take_turns_are_two_models(tmp_path):
    model = Model()
    model.call(("ToyLayer_0", "ToyLayer_1", "ToyLayer_2"))
    model.call()
    lake = yield model.written(tmp_path)
    assert passes(lake) == WHOLE
    assert counts(lake) == ALL_LAYERS
    assert series(lake) == ["ToyLayer", "ToyDecoderLayer"]


@in_one_lake
def test_classes_that_take_turns_are_numbered_by_place(tmp_path):
    model = Model()
    for _ in range(2):
        model.call(("LinearDecoderLayer_0", "FullDecoderLayer_0", "LinearDecoderLayer_1"))
    lake = yield model.written(tmp_path)
    assert passes(lake) == WHOLE
    assert counts(lake) == ALL_LAYERS


@in_one_lake
def test_instances_with_a_hole_are_no_call_of_the_model(tmp_path):
    model = Model()
    model.call(("ToyDecoderLayer_0", "ToyDecoderLayer_2", "ToyDecoderLayer_5"))
    lake = yield model.written(tmp_path)
    found = rows(lake, "SELECT pass_source FROM passes")
    assert ("module scopes",) not in found


@in_one_lake
def test_the_first_call_may_have_begun_before_the_capture(tmp_path):
    model = Model()
    model.call(("ToyDecoderLayer_1", "ToyDecoderLayer_2"))
    model.call()
    lake = yield model.written(tmp_path)
    assert passes(lake) == [(0, "module scopes", 3, 2, False), (1, "module scopes", 3, 3, True)]


@in_one_lake
def test_a_layer_whose_last_kernels_a_truncated_file_lacks_is_not_whole(tmp_path):
    model = Model()
    model.call()
    model.call()
    # The host's events first, as profilers write them; the second call's kernels lack its last two products.
    model.events.sort(key=lambda event: event["cat"] == "kernel")
    files = model.written(tmp_path)
    file = tmp_path / "toy.json"
    text = file.read_text()
    file.write_text(text[: text.rindex("nvjet_ffn")])
    lake = yield files
    assert rows(lake, "SELECT pass_id, layer_id, kernel_count FROM layers WHERE NOT is_whole") == [(1, 2, 4)]
    assert passes(lake)[1] == (1, "module scopes", 3, 3, False)


@in_one_lake
def test_a_kernel_of_another_stream_belongs_to_the_layer_that_launched_it(tmp_path):
    model = Model()
    original = model.layer

    def layer():
        original()
        model.launch("side_kernel", stream=2)

    model.layer = layer
    model.call()
    lake = yield model.written(tmp_path)
    assert counts(lake) == [(0, layer, 6) for layer in range(3)]
    assert rows(lake, "SELECT DISTINCT stream FROM layers") == [(1,)]


@in_one_lake
def test_the_users_anchor_stands_over_what_the_host_shows(tmp_path):
    model = Model()
    model.call()
    model.call()
    lake = yield model.written(tmp_path, anchor="flash_fwd_kernel", num_layers=2)
    assert {row[1] for row in passes(lake)} == {"anchor count"}
    assert [row[2] for row in passes(lake)] == [2, 2, 2]


def annotated(model, names, turns):
    def body():
        for _ in range(turns):
            for name in names:
                body_of = model.layer if name == names[0] else lambda: model.launch("nvjet_ffn")
                model.within(name, body_of, "user_annotation")

    model.within("chunk", body, "user_annotation")


@pytest.mark.parametrize(
    ("names", "turns", "layers"),
    [
        (("attn", "mlp"), 4, 4),
        (("a", "b", "c"), 2, 2),
        (("attn", "mlp"), 1, 0),  # no turn but the first
        (("attn",), 4, 0),  # no cycle
        (("attn", "mlp", "attn"), 4, 0),  # one name at two places
    ],
)
@in_one_lake
def test_annotations_in_a_fixed_cycle_are_layers(tmp_path, names, turns, layers):
    model = Model()
    annotated(model, names, turns)
    lake = yield model.written(tmp_path)
    found = rows(
        lake,
        "SELECT layer_id, count(DISTINCT component) FROM layer_components GROUP BY layer_id ORDER BY layer_id",
    )
    assert found == [(layer, len(names)) for layer in range(layers)]


@in_one_lake
def test_steps_of_a_training_loop_are_a_cycle_but_no_layers(tmp_path):
    # Forward of six layers, backward, optimizer, over and over: a cycle whose turns have six attentions.
    model = Model()

    def forward():
        for _ in range(6):
            model.layer()

    def epoch():
        for _ in range(3):
            model.within("forward", forward, "user_annotation")
            model.within("optimizer", lambda: model.launch("adam"), "user_annotation")

    model.within("epoch", epoch, "user_annotation")
    lake = yield model.written(tmp_path)
    assert rows(lake, "SELECT 1 FROM passes WHERE pass_source = 'annotations'") == []
