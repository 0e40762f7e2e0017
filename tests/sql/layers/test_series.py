"""Several models in one trace: each has passes of its own, and answers say what part of the work they speak of.

The traces are made up: the host launches in program order, each kernel takes 5 microseconds more than the one before
it leaves free. What belongs to which layer is known from the way they are written.
"""

import gzip
import json
from collections import Counter
from decimal import Decimal

import pytest
from click.testing import CliRunner

from tracelake.cli import cli
from tracelake.lake import Lake

from ...support import data_file
from ..captures import Capture, open_lake, rows

LAYER = ("rms_norm_kernel", "nvjet_qkv", "flash_fwd_kernel", "nvjet_o", "rms_norm_kernel", "nvjet_ffn")


class Host:
    """One thread that launches kernels, inside calls of modules; one stream runs them in order, 5 us each."""

    def __init__(self):
        self.events, self.now, self.launches = [], 0, 0

    def run(self, *names):
        for name in names:
            self.launches += 1
            ids = {"correlation": self.launches}
            self.events += [
                {"cat": "cuda_runtime", "name": "launch", "pid": 1, "tid": 7, "ts": self.now, "dur": 1, "args": ids},
                {"cat": "kernel", "name": name, "pid": 0, "tid": 1, "ts": self.now + 1000, "dur": 5,
                 "args": {"device": 0, "stream": 1, **ids}},
            ]  # fmt: skip
            self.now += 10

    def graph(self, *names):
        """Launch kernels with one call."""
        self.launches += 1
        ids = {"correlation": self.launches}
        self.events.append(
            {"cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 1, "tid": 7, "ts": self.now, "dur": 1,
             "args": ids}
        )  # fmt: skip
        for name in names:
            self.events.append(
                {"cat": "kernel", "name": name, "pid": 0, "tid": 1, "ts": self.now + 1000, "dur": 5,
                 "args": {"device": 0, "stream": 1, **ids}}
            )  # fmt: skip
            self.now += 10

    def step(self, *names):
        """Launch a kernel, then a graph, in an annotation of a step."""
        start = self.now
        self.run("embedding_kernel")
        self.graph(*names)
        self.events.append(
            {"cat": "user_annotation", "name": "step[DECODE bs=1]", "pid": 1, "tid": 7, "ts": start,
             "dur": self.now - start, "args": {}}
        )  # fmt: skip
        self.now += 10

    def call(self, module, *bodies):
        start = self.now
        self.now += 1
        for body in bodies:
            body()
        self.now += 1
        self.events.append(
            {"cat": "python_function", "name": f"nn.Module: {module}", "pid": 1, "tid": 7, "ts": start,
             "dur": self.now - start, "args": {}}
        )  # fmt: skip
        self.now += 1

    def layers(self, model, kind, numbers, kernels=LAYER, inner=True):
        """Call a model: an embedding, its layers, each of which calls a module, and a head."""

        def layer(number):
            within = (lambda: self.call("Attention_0", lambda: self.run(*kernels))) if inner else (
                lambda: self.run(*kernels)
            )  # fmt: skip
            return lambda: self.call(f"{kind}_{number}", within)

        self.call(
            model, lambda: self.run("embedding_kernel"), *(layer(n) for n in numbers), lambda: self.run("nvjet_head")
        )


def pipeline():
    """Two text encoders of one class, a compiled transformer that is called three times, an image decoder."""
    host = Host()
    host.run("set_up_kernel")
    host.layers("Encoder_0", "EncoderLayer", range(3))
    host.layers("Encoder_1", "EncoderLayer", range(3, 8))
    for _ in range(3):
        host.call("Transformer_0", lambda: host.run("embedding_kernel", *LAYER * 6, "nvjet_head", "sampling_kernel"))
    host.layers("Decoder_0", "UpBlock2D", range(4), ("conv_kernel",) * 5)
    return host.events


def nested():
    """Stages of blocks, each of two linear maps; the head repeats a plain function."""
    host = Host()

    def stage(number):
        blocks = [
            lambda block=block: host.call(
                f"Bottleneck_{block}",
                lambda: host.call(f"Linear_{2 * block}", lambda: host.run("nvjet_a")),
                lambda: host.call(f"Linear_{2 * block + 1}", lambda: host.run("nvjet_b", "flash_fwd_kernel")),
            )
            for block in range(2 * number, 2 * number + 2)
        ]
        return lambda: host.call(f"Stage_{number}", *blocks)

    linears = [lambda n=n: host.call(f"Linear_{n}", lambda: host.run("nvjet_head")) for n in range(8, 11)]
    host.call("Backbone_0", *(stage(number) for number in range(4)))
    host.call("Head_0", *linears)
    return host.events


def graphs(draft_layers):
    """A model of six layers at two batch sizes, which share a norm, and one of others with kernels of the first."""
    host = Host()
    other = ("rms_norm_kernel", "nvjet_qkv_small", "flash_fwd_kernel", "nvjet_o_small", "rms_norm_kernel", "nvjet_n")
    for layer, layers in ((LAYER, 6), (LAYER, draft_layers), (other, 6), (LAYER, draft_layers), (LAYER, 6)):
        host.step(*layer * layers)
    return host.events


#: Layers of the prefill of the same model: another tile of each product, the same norms.
PREFILL = (
    "rms_norm_kernel",
    "nvjet_qkv_big",
    "flash_fwd_prefill_kernel",
    "nvjet_o_big",
    "rms_norm_kernel",
    "nvjet_big",
)


def speculation():
    """A target of six layers prefills without a graph; then a draft of four layers and it decode with graphs."""
    host = Host()
    host.run("embedding_kernel", *PREFILL * 6, "nvjet_head", "argmax_kernel")
    for _ in range(5):
        for body in (LAYER * 4, LAYER * 6):
            host.run("embedding_kernel")
            host.graph(*body)
            host.run("nvjet_head", "argmax_kernel")
    return host.events


def seeing():
    """As `speculation`, with an encoder of six layers before each prefill, which has the same attention."""
    host = Host()
    for _ in range(4):
        host.run(*("layer_norm_kernel", "nvjet_see", "flash_fwd_prefill_kernel", "nvjet_up") * 6)
        host.run(*PREFILL * 6, "nvjet_head", "argmax_kernel")
        for body in (LAYER * 4, LAYER * 6):
            host.run("index_select_kernel")
            host.graph(*body)
            host.run("nvjet_head", "argmax_kernel")
    return host.events


def cut_decodes(first, last):
    """Graphs of six layers around a prefill without one; the capture has the last or first kernels of some replays."""
    host = Host()
    if first:
        host.graph(*(LAYER * 6)[-first:])
        host.run("nvjet_head", "argmax_kernel")
    for nth in range(4):
        host.run("embedding_kernel")
        host.graph(*LAYER * 6)
        host.run("nvjet_head", "argmax_kernel")
        if nth == 1:
            host.run("embedding_kernel", *PREFILL * 6, "nvjet_head", "argmax_kernel")
    if last:
        host.run("embedding_kernel")
        host.graph(*(LAYER * 6)[:last])
    return host.events


def cut_model():
    """Three passes of six layers by graphs, and one by a graph of another model that the capture cuts."""
    host = Host()
    for _ in range(3):
        host.graph("embedding_kernel", *LAYER * 6, "nvjet_head", "argmax_kernel")
    other = ("rms_norm_kernel", "nvjet_a", "flash_fwd_kernel", "nvjet_b", "rms_norm_kernel", "nvjet_c")
    host.graph("embedding_kernel", *other * 5, "rms_norm_kernel")
    return host.events


@pytest.fixture(scope="module")
def lake():
    return open_lake(
        [
            Capture("speculation", speculation()),
            Capture("seeing", seeing()),
            Capture("begun", cut_decodes(27, 0)),
            Capture("ended", cut_decodes(0, 27)),
            Capture("both", cut_decodes(21, 27)),
            Capture("other", cut_model()),
            Capture("given", cut_model(), {"num_layers": 6}),
            Capture("pipeline", pipeline()),
            Capture("nested", nested()),
            Capture("graphs", graphs(4)),
            Capture("batches", graphs(6)),
            Capture(
                "fits", pipeline(), {"num_layers": 6, "config": json.dumps({"layer_types": ["full_attention"] * 6})}
            ),
        ]
    )


def passes(lake, trace):
    return rows(
        lake,
        "SELECT pass_id, series, num_layers, layer_count, complete, note, chosen, main_series FROM passes "
        f"WHERE trace_id = ${trace} ORDER BY pass_id",
    )


def test_each_model_of_a_trace_has_passes_of_its_own(lake):
    # Of the two encoders' one class the second begins at instance 3. Three calls of the transformer are of equal
    # length: the second is the first within 5 % of the one before it.
    assert passes(lake, "pipeline") == [
        (0, "Encoder_0", 3, 3, True, "single-pass", True, False),
        (1, "Encoder_1", 5, 5, True, "single-pass", True, False),
        (2, "Transformer_0", 6, 6, True, "steady", False, True),
        (3, "Transformer_0", 6, 6, True, "steady", True, True),
        (4, "Transformer_0", 6, 6, True, "steady", False, True),
        (5, "Decoder_0", 4, 4, True, "single-pass", True, False),
    ]


def test_layers_of_each_model_hold_what_they_launched(lake):
    found = rows(
        lake,
        "SELECT series, layer_id, kernel_count FROM layers WHERE trace_id = $pipeline AND pass_id IN (0, 1, 5) "
        "ORDER BY pass_id, layer_id",
    )
    expected = [("Encoder_0", n, 6) for n in range(3)] + [("Encoder_1", n, 6) for n in range(5)]
    assert found == expected + [("Decoder_0", n, 5) for n in range(4)]


def test_layers_of_a_compiled_model_are_found_by_its_kernels_alone(lake):
    found = rows(
        lake,
        "SELECT pass_id, layer_id, list(name ORDER BY position) FROM layer_kernels "
        "WHERE trace_id = $pipeline AND pass_id BETWEEN 2 AND 4 GROUP BY ALL ORDER BY ALL",
    )
    assert found == [(p, n, list(LAYER)) for p in (2, 3, 4) for n in range(6)]


def test_layers_of_an_unknown_class_are_found_by_structure_and_the_outermost_repetition_wins(lake):
    # Four stages of two blocks; the head's three linear maps call no module and are no layers.
    assert passes(lake, "nested") == [(0, "Backbone_0", 4, 4, True, "single-pass", True, True)]
    assert rows(lake, "SELECT kernel_count FROM layers WHERE trace_id = $nested") == [(6,)] * 4


def test_graphs_of_several_models_are_several_series(lake):
    columns = "pass_id, series, num_layers, layer_count, complete"
    found = rows(lake, f"SELECT {columns} FROM passes WHERE trace_id = $graphs ORDER BY 1")
    # Of the first model six layers at either batch size, of the second four.
    assert found == [
        (0, "graph 1", 6, 6, True), (1, "graph 2", 4, 4, True), (2, "graph 1", 6, 6, True),
        (3, "graph 2", 4, 4, True), (4, "graph 1", 6, 6, True),
    ]  # fmt: skip
    assert rows(lake, "SELECT DISTINCT kernel_count FROM layers WHERE trace_id = $graphs") == [(6,)]


def test_graphs_of_one_model_at_several_batch_sizes_are_one_series(lake):
    found = rows(lake, "SELECT count(DISTINCT series), count(*) FROM passes WHERE trace_id = $batches AND complete")
    assert found == [(1, 5)]


def counted(lake, trace):
    return rows(
        lake,
        "SELECT series, num_layers, layer_count, complete, count(*) FROM passes "
        f"WHERE trace_id = ${trace} GROUP BY ALL ORDER BY ALL",
    )


def test_a_prefill_without_a_graph_is_of_the_model_whose_graphs_have_its_layers(lake):
    # Twelve norms, as in the target's graphs; the draft's have eight.
    assert counted(lake, "speculation") == [("graph 1", 4, 4, True, 5), ("graph 2", 6, 6, True, 6)]
    found = rows(lake, "SELECT kernel_count, count(*) FROM layers WHERE trace_id = $speculation GROUP BY ALL")
    assert found == [(6, 5 * 4 + 6 * 6)]


def test_an_encoder_and_a_prefill_are_not_one_pass_of_the_model_that_decodes(lake):
    assert counted(lake, "seeing") == [("graph 1", 4, 4, True, 4), ("graph 2", 6, 6, True, 4)]


@pytest.mark.parametrize(("trace", "partial"), [("begun", [5]), ("ended", [5]), ("both", [4, 5])])
def test_a_replay_that_the_capture_cuts_is_of_the_graphs_model(lake, trace, partial):
    # Of 27 kernels of a replay, six a layer, four layers are whole and the fifth has three; of 21 the fourth has three.
    # Four whole replays, and the prefill between them.
    found = counted(lake, trace)
    assert len({row[0] for row in found}) == 1
    assert [row[1:] for row in found] == [*((6, count, False, 1) for count in partial), (6, 6, True, 5)]


def test_the_users_number_of_layers_makes_no_cut_pass_of_another_model_complete(lake):
    # Of the other model the capture has five layers and the first kernel of the sixth, a norm as at the end of a pass.
    for trace in ("other", "given"):
        assert counted(lake, trace) == [("graph 1", 6, 6, True, 3), ("graph 2", 5, 5, False, 1)]


def test_types_by_the_config_are_those_of_the_series_with_as_many_layers(lake):
    found = rows(
        lake,
        "SELECT DISTINCT series, layer_type FROM layers WHERE trace_id = $fits AND layer_type IS NOT NULL",
    )
    assert found == [("Transformer_0", "FULL_ATTN")]
    assert passes(lake, "fits") == passes(lake, "pipeline")


def test_coverage_sums_to_the_busy_time_and_names_what_holds_the_rest(lake):
    found = rows(
        lake,
        "SELECT series, part, holder, name, kernel_count, busy_us FROM pass_coverage WHERE trace_id = $pipeline "
        "ORDER BY busy_us DESC, series, part",
    )
    # 5 us a kernel: 3 * 36 of the transformer's layers, and so on; the first kernel is of no module.
    assert found == [
        ("Transformer_0", "layers", None, None, 108, 540.0),
        ("Encoder_1", "layers", None, None, 30, 150.0),
        ("Decoder_0", "layers", None, None, 20, 100.0),
        ("Encoder_0", "layers", None, None, 18, 90.0),
        ("Transformer_0", "epilogue", None, None, 6, 30.0),
        ("Transformer_0", "prologue", None, None, 3, 15.0),
        *(sorted((f"{name}", part, None, None, 1, 5.0) for name in ("Decoder_0", "Encoder_0", "Encoder_1")
                 for part in ("epilogue", "prologue"))),
        (None, None, "category", "other", 1, 5.0),
    ]  # fmt: skip
    assert sum(row[5] for row in found) == 5 * sum(row[4] for row in found) == 960.0


def read(name):
    with gzip.open(data_file(f"kineto/{name}.json.gz")) as file:
        return json.load(file, parse_float=Decimal)["traceEvents"]


def test_the_layers_of_a_diffusion_pipeline_are_those_of_its_frames(real_lake):
    """Of each frame of a layer's module, the kernels that it launched, by plain Python over the file."""
    events = [event for event in read("xdit_sd3.5_mi300x") if event.get("ph") == "X"]
    frames = sorted(
        (event["ts"], event["ts"] + event["dur"], event["name"].split(": ")[1].rsplit("_", 1)[0])
        for event in events
        if event["name"].startswith(
            ("nn.Module: CLIPEncoderLayer_", "nn.Module: T5Block_", "nn.Module: SD3Transformer2D")
        )
    )
    launches = {
        event["args"]["correlation"]: event["ts"]
        for event in events
        if event.get("cat") == "cuda_runtime" and "correlation" in event["args"]
    }
    kernels: Counter[str] = Counter()
    spent: Counter[str] = Counter()
    attentions = 0
    for event in events:
        if event.get("cat") == "kernel":
            launched = launches[event["args"]["correlation"]]
            owner = next((kind for start, end, kind in frames if start <= launched < end), "no frame")
            kernels[owner] += 1
            spent[owner] += event["dur"]
            attentions += owner == "SD3Transformer2DModel" and event["name"].startswith("attn_fwd")
    lake = real_lake("kineto/xdit_sd3.5_mi300x.json.gz")
    found = {
        series: (passes, layers, count, Decimal(str(us)))
        for series, passes, layers, count, us in lake.sql(
            "SELECT series, count(DISTINCT pass_id), count(*), sum(kernel_count), round(sum(sum_us), 3) "
            "FROM layers GROUP BY series"
        ).fetchall()
    }
    clip = [found[name] for name in ("CLIPEncoder_0", "CLIPEncoder_1")]
    assert [row[:2] for row in clip] == [(2, 24), (2, 64)]
    assert sum(row[2] for row in clip) == kernels["CLIPEncoderLayer"]
    assert sum(row[3] for row in clip) == spent["CLIPEncoderLayer"]
    assert found["T5Stack_0"] == (2, 48, kernels["T5Block"], spent["T5Block"])
    # Compiled, the transformer shows no layer: one attention each, and all but the ends of its calls in layers.
    passes, layers, _, us = found["SD3Transformer2DModel_0"]
    assert (passes, layers) == (4, attentions) == (4, 152)
    assert Decimal("0.99") < us / spent["SD3Transformer2DModel"] < 1


def test_an_answer_about_a_small_part_says_so_first(lake_of_two):
    def answer(*words):
        found = CliRunner().invoke(cli, ["--lake", str(lake_of_two), "layers", "two", *words])
        return found.stdout.strip().splitlines()

    lines = answer("--pass", "0")
    assert lines[0].startswith(
        "Only 20.0 % of the device's busy time is in the layers of 1 pass of Encoder_0. The rest: "
    )
    assert "layers of Encoder_1 60.0 %" in lines[0]
    assert not any(line.startswith("Bottleneck") for line in lines)
    assert any(line.startswith("Within these layers, 20.0 % of the device's busy time") for line in lines)
    # Without --pass the series with most time is shown; its coverage stands below.
    lines = answer()
    assert "Coverage: 60.0 % of the device's busy time is in the layers of 1 pass of Encoder_1. The rest: " in lines[-3]


@pytest.fixture
def lake_of_two(tmp_path):
    """Two models of 2 and 6 layers of 2 kernels, and 4 kernels of nothing: of 20 kernels alike 4, 12 and 4."""
    host = Host()
    for model, numbers in (("Encoder_0", range(2)), ("Encoder_1", range(2, 8))):
        calls = [
            lambda n=n: host.call(f"EncoderLayer_{n}", lambda: host.run("flash_fwd_kernel", "nvjet_o")) for n in numbers
        ]
        host.call(model, *calls)
    host.run(*["set_up_kernel"] * 4)
    path = tmp_path / "two.json"
    path.write_text(json.dumps({"traceEvents": [{"ph": "X", **event} for event in host.events]}))
    with Lake(tmp_path / "lake") as made:
        made.ingest(path)
    return tmp_path / "lake"
