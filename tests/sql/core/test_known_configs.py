"""Which model a trace is of, where several config.json are known in a lake."""

import hashlib
import json

import pytest

from tracelake.engine.errors import InputError, UsageError
from tracelake.ingest.model import config_name
from tracelake.lake import Lake

from ...kernel_traces import one_layer_model
from ...support import trace_bytes


def config_of(layers, hidden, **said):
    return {
        "model_type": "llama", "num_hidden_layers": layers, "hidden_size": hidden, "intermediate_size": 2 * hidden,
        "num_attention_heads": hidden // 64, "vocab_size": 1000, **said,
    }  # fmt: skip


def write(folder, config):
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    return folder / "config.json"


def traces(lake, folder, **models):
    """Ingest a trace for each model, and say which that is."""
    for nth, name in enumerate(models):
        (folder / f"{name}.json").write_bytes(
            trace_bytes([{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": nth, "dur": 1,
                          "args": {"device": 0, "stream": 7}}])
        )  # fmt: skip
    lake.ingest(*(folder / f"{name}.json" for name in models))
    for name, model in models.items():
        lake.set(name, model=model)


def dimensions(lake):
    return dict(
        lake.rows(
            "SELECT t.trace, (a.num_layers, a.hidden_size) FROM traces AS t JOIN _trace_models AS m USING (trace_id)"
            " JOIN of_passes.architectures AS a ON a.model = m.model"
        )
    )


def with_digest(name, config):
    return f"{name}-{hashlib.sha256(json.dumps(config).encode()).hexdigest()[:6]}"


def dimensions_of(lake, model):
    [found] = lake.rows("SELECT num_layers, hidden_size FROM architectures WHERE model = $1", [model])
    return found


def test_two_sizes_under_one_name_are_two_models(lake, tmp_path):
    small, large = (write(tmp_path / side / "llama", config_of(*size)) for side, size in
                    (("a", (2, 128)), ("b", (3, 256))))  # fmt: skip
    traces(lake, tmp_path, one=small, two=large, again=small)
    assert dimensions(lake) == {"one": (2, 128), "two": (3, 256), "again": (2, 128)}
    name = with_digest("llama", config_of(3, 256))
    assert lake.rows("SELECT num_layers FROM of_passes.architectures WHERE model = $1", [name]) == [(3,)]
    # The name alone is neither, and which there are is said.
    with pytest.raises(UsageError, match=rf"llama: 2 models have configs of this name.*{name}"):
        lake.resolve_model("llama")
    lake.set("one", model=name)
    assert dimensions(lake) == {"one": (3, 256), "two": (3, 256), "again": (2, 128)}


def test_one_content_is_one_model_whoever_says_it(lake, tmp_path):
    config = config_of(2, 128)
    traces(lake, tmp_path, one=write(tmp_path / "a" / "toy", config), two=write(tmp_path / "b" / "toy", config))
    assert lake.rows("SELECT DISTINCT model FROM _trace_models") == [(with_digest("toy", config),)]
    # There is one, so that its name is enough, however it is spelled.
    assert lake.resolve_model("org/Toy") == with_digest("toy", config)
    assert lake.resolve_model(write(tmp_path / "c" / "toy", config)) == "toy"
    assert lake.rows("SELECT DISTINCT model FROM _trace_models") == [("toy",)]


def test_what_is_told_last_has_the_name_and_leaves_traces_as_they_are(lake, tmp_path):
    traces(lake, tmp_path, one=write(tmp_path / "a" / "toy", config_of(2, 128)))
    assert lake.resolve_model(write(tmp_path / "b" / "toy", config_of(3, 256))) == "toy"
    assert dimensions(lake) == {"one": (2, 128)}
    assert lake.rows("SELECT num_layers FROM architectures WHERE model = 'toy'") == [(3,)]


def test_a_name_said_after_a_config_counts(lake, tmp_path):
    traces(lake, tmp_path, one=write(tmp_path / "a" / "toy", config_of(2, 128)))
    lake.set("one", model="Qwen/Qwen3-8B")
    assert dimensions(lake) == {"one": (36, 4096)}
    lake.set("one", model=tmp_path / "a" / "toy" / "config.json")
    lake.set("one", model=None)
    assert lake.rows("SELECT model, config FROM traces") == [(None, None)]


def test_a_trace_s_config_does_not_speak_for_another_trace(lake, tmp_path):
    """Neither by a name that only it has, nor by one of the table models, in whatever order and spelling."""
    traces(
        lake, tmp_path, before="Qwen3-8B", early="Toy",
        own=write(tmp_path / "Qwen3-8B", config_of(2, 128)), other=write(tmp_path / "toy", config_of(3, 256)),
        after="Qwen3-8B", key="qwen3-8b",
    )  # fmt: skip
    published = dict.fromkeys(("before", "after", "key"), (36, 4096))
    assert dimensions(lake) == published | {"own": (2, 128), "other": (3, 256)}
    for spelled in ("Qwen3-8B", "qwen3-8b", "QWEN3_8B", "Qwen/Qwen3-8B"):
        assert lake.resolve_model(spelled) == "qwen3-8b"
    with pytest.raises(UsageError, match=r"known only from another trace's config\.json.*set early model=Toy"):
        lake.check_modelled("early")
    # Once it is known the name brings the config with it.
    lake.set("early", model="Toy")
    assert dimensions(lake)["early"] == (3, 256)


def test_what_is_told_here_counts_for_kept_answers_while_the_lake_is_open(tmp_path):
    """Answers are kept in files, and a model told on a connection is not in them."""
    size = {"num_key_value_heads": 2, "head_dim": 64, "torch_dtype": "bfloat16"}
    wide, slim = (write(tmp_path / side / "toy", config_of(2, 256, **size, intermediate_size=inner))
                  for side, inner in (("a", 512), ("b", 256)))  # fmt: skip
    flop = "SELECT flop FROM kernel_roofline WHERE unit = 'down_proj' AND layer_id = 0"
    with Lake(tmp_path / "lake") as lake:
        lake.ingest(one_layer_model(tmp_path, "bare", with_shapes=False), model="toy")
        assert lake.rows(flop) == []
        lake.resolve_model(wide)
        assert lake.rows(flop) == [(2 * 64 * 512 * 256,)]
        lake.resolve_model(slim)
        assert lake.rows(flop) == [(2 * 64 * 256 * 256,)]
    with Lake(tmp_path / "lake") as lake:
        assert lake.rows(flop) == []
        lake.set("bare", model=wide)
        assert lake.rows(flop) == [(2 * 64 * 512 * 256,)]


def test_own_rows_are_read_again_when_their_file_changes(lake, tmp_path):
    """Else answers by old rows would be kept as those by the new ones."""

    def own(inner):
        lake.layout.lookup.mkdir(exist_ok=True)
        (lake.layout.lookup / "models.csv").write_text(
            "model,num_layers,hidden_size,num_heads,num_kv_heads,head_dim,intermediate_size,vocab_size,weight_dtype\n"
            f"mine,2,256,4,2,64,{inner},1000,bf16\n"
        )

    flop = "SELECT flop FROM kernel_roofline WHERE unit = 'down_proj' AND layer_id = 0"
    own(512)
    lake.ingest(one_layer_model(tmp_path, "bare", with_shapes=False), model="mine")
    assert lake.rows(flop) == [(2 * 64 * 512 * 256,)]
    own(256)
    assert lake.rows(flop) == [(2 * 64 * 256 * 256,)]
    (lake.layout.lookup / "models.csv").write_text("model,num_layers\nmine,two\n")
    for _ in range(2):
        with pytest.raises(InputError, match=r"models\.csv: cannot be read as rows of models"):
            lake.rows(flop)
    own(512)
    assert lake.rows(flop) == [(2 * 64 * 512 * 256,)]
    with Lake(lake.path) as again:
        assert again.rows(flop) == [(2 * 64 * 512 * 256,)]


def test_a_config_that_explains_a_trace_is_kept_with_it(lake, tmp_path):
    lake.ingest(one_layer_model(tmp_path, "bare", with_shapes=False))
    config = write(tmp_path / "toy", config_of(2, 256, num_key_value_heads=2, head_dim=64, torch_dtype="bfloat16"))
    assert (
        lake.explain("bare", config) == lake.resolve_model("toy") == with_digest("toy", json.loads(config.read_text()))
    )
    assert lake.rows("SELECT count(*) FROM kernel_roofline WHERE flop_source = 'template'") != [(0,)]
    assert lake.rows("SELECT count(*) > 0 FROM _kernel_maps") == [(True,)]
    assert lake.rows("SELECT model FROM model_configs") == []
    # What was told before stays told.
    lake.know_model(config, name="mine")
    assert lake.explain("bare", "mine") == "mine"
    assert lake.rows("SELECT model FROM model_configs") == [("mine",)]


def test_a_config_that_cannot_be_used_changes_nothing(lake, tmp_path):
    good, bad = write(tmp_path / "a" / "toy", config_of(2, 128)), write(tmp_path / "b" / "toy", config_of(2, -1))
    traces(lake, tmp_path, one=good)
    lake.know_model(good)
    for refused in (lambda: lake.know_model(bad), lambda: lake.explain("one", bad)):
        with pytest.raises(UsageError, match="hidden_size is -1"):
            refused()
    assert dimensions(lake) == {"one": (2, 128)}
    assert dimensions_of(lake, "toy") == (2, 128)


def test_a_config_said_beside_a_name_is_kept(lake, tmp_path):
    text = json.dumps(config_of(2, 128))
    traces(lake, tmp_path, one="nothing")
    lake.set("one", model="toy", config=text)
    assert lake.rows("SELECT model, config FROM traces") == [("toy", text)]
    assert dimensions(lake) == {"one": (2, 128)}


def test_an_answer_that_was_asked_before_a_model_was_told_can_still_be_read(lake, tmp_path):
    lake.ingest(one_layer_model(tmp_path, "bare", with_shapes=False), model="toy")
    asked = lake.sql("SELECT count(*) FROM kernel_roofline")
    lake.know_model(write(tmp_path / "toy", config_of(2, 256, num_key_value_heads=2, head_dim=64)))
    assert asked.fetchall() == lake.rows("SELECT count(*) FROM kernel_roofline") != [(0,)]


def test_answers_of_a_trace_do_not_depend_on_another_s_config(tmp_path):
    """A whole trace beside one of another size whose config has the same name."""
    answers = []
    for beside in (False, True):
        with Lake(tmp_path / f"lake-{beside}") as lake:
            folder = tmp_path / f"files-{beside}"
            size = {"num_key_value_heads": 2, "head_dim": 64, "intermediate_size": 512, "torch_dtype": "bfloat16"}
            path = write(folder / "toy", config_of(2, 256, **size))
            lake.ingest(one_layer_model(folder, "whole", with_shapes=False), model=path)
            if beside:
                traces(lake, folder, other=write(folder / "b" / "toy", config_of(4, 512)))
            answers.append(
                lake.rows(
                    "SELECT kernel_id, unit, map_rule, flop, flop_source FROM kernel_roofline WHERE trace_id = $1"
                    " ORDER BY kernel_id",
                    [lake.resolve("whole")],
                )
            )
    assert answers[0] == answers[1]
    assert ("o_proj", "position", 2 * 64 * 256 * 256, "template") in [row[1:] for row in answers[0]]


def test_the_name_of_a_config_is_the_file_s_word_else_its_place(tmp_path):
    cache = tmp_path / "models--Qwen--Qwen3-8B" / "snapshots" / "9c925d64d72725edaf899c6cb9c377fd0709d9c5"
    assert config_name(cache / "config.json", {"model_type": "qwen3"}) == "Qwen3-8B"
    assert config_name(tmp_path / "toy" / "config.json", {"_name_or_path": "org/Name-7B/"}) == "Name-7B"
    assert config_name(tmp_path / "toy" / "config.json", {"_name_or_path": ""}) == "toy"
    assert config_name(tmp_path / "toy" / "mine.json", {}) == "mine"
    assert config_name(tmp_path / "toy" / "config.json", {"_name_or_path": str(cache)}) == "Qwen3-8B"
    for nothing in (".", "./", "../.."):
        assert config_name(tmp_path / "toy" / "config.json", {"_name_or_path": nothing}) == "toy"
    assert config_name(tmp_path / "toy" / "config.json", {"_name_or_path": r"C:\models\Toy-1B"}) == "Toy-1B"
