"""Can a model be the trace's? What the trace shows of layers and widths beside what the model has."""

import json

import pytest

from tracelake.lake import Lake

from ...ascend_captures import Capture, Model, latent
from ...kernel_traces import one_layer_model
from ...lakes import Files, apart, in_one_lake
from ...support import data_file

DECODE = "vllm_gpt-oss_decode_mi300x"
#: gpt-oss by its config.json: 120b has 36 layers and 128 experts, 20b 24 and 32; both have 64 heads of 64 and are 2880
#: wide.
FIT = "SELECT property, seen, expected, fits FROM model_fit JOIN traces USING (trace_id) WHERE trace = $1 ORDER BY ALL"


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    with Lake(tmp_path_factory.mktemp("fit") / "lake") as opened:
        names = (DECODE, "vllm_gpt-oss_decode_capture_mi300x")
        opened.ingest(*(data_file(f"kineto/{name}.json.gz") for name in names))
        yield opened


def test_a_model_of_more_layers_and_experts_than_the_trace_shows_does_not_fit(real):
    real.set(DECODE, model="gpt-oss-120b")
    assert real.rows(FIT, [DECODE]) == [
        ("attention_width", "4096", "4096", True),
        ("experts", "32", "128", False),
        ("hidden_size", "2880", "2880", True),
        ("layers", "24", "36", False),
        ("vocabulary", "201088", "201088", True),
    ]
    [line] = real.model_doubts(DECODE)
    assert line == (
        "2 properties do not fit the trace's model gpt-oss-120b: experts 32, not 128; layers 24, not 36 (fewer layers "
        "may also be one pipeline stage, or a model cut short). Published models that fit: gpt-oss-20b."
    )
    doctor = "SELECT severity, message FROM health JOIN traces USING (trace_id) WHERE \"check\" = 'model_differs'"
    assert real.rows(doctor) == [("warning", line.removeprefix("2 properties "))]
    assert "Published models that fit: gpt-oss-20b." in real.trace_mfu(DECODE, format="markdown")


def test_the_model_of_the_trace_fits_in_all(real):
    real.set(DECODE, model="gpt-oss-20b")
    assert [fits for *_, fits in real.rows(FIT, [DECODE])] == [True] * 5
    assert real.model_doubts(DECODE) == []
    candidates = """
        SELECT c.model, fitting, judged, fits, is_set
        FROM model_candidates AS c
        JOIN traces USING (trace_id)
        WHERE trace = $1
        ORDER BY ALL
    """
    assert real.rows(candidates, [DECODE]) == [
        ("gpt-oss-120b", 3, 5, False, False), ("gpt-oss-20b", 5, 5, True, True),
    ]  # fmt: skip


def test_attention_over_a_window_is_not_counted_over_all_keys(real):
    real.set(DECODE, model="gpt-oss-20b")
    rows = real.rows(
        "SELECT layer_id % 2, group_flop, count(DISTINCT group_id) FROM kernel_roofline JOIN traces USING (trace_id)"
        " WHERE trace = $1 AND category = 'attention' AND layer_id IS NOT NULL AND group_flop > 0 GROUP BY ALL"
        " ORDER BY ALL",
        [DECODE],
    )
    # 32 requests have 55 086 pairs, each of 64 heads of 64; every other layer sees their last 128 keys alone.
    assert rows == [(0, 4 * 64 * 64 * 32 * 128, 12), (1, 4 * 64 * 64 * 55_086, 12)]


def config(**changes):
    """Return the config.json of the made-up model, with changes: 3 layers of 256 wide, 8 heads of 64, MLP of 768."""
    return json.dumps({
        "model_type": "llama", "num_hidden_layers": 3, "hidden_size": 256, "num_attention_heads": 8,
        "num_key_value_heads": 2, "head_dim": 64, "intermediate_size": 768, "vocab_size": 1000, **changes,
    })  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "settings", "misfits"),
    [
        ({}, {}, {}),
        ({"num_hidden_layers": 2}, {}, {"layers": ("3", "2")}),
        ({"hidden_size": 512}, {}, {"hidden_size": ("256", "512")}),
        # Each rank of two has half of the heads, and of the MLP: without a degree any power of two may be it.
        ({"num_attention_heads": 16, "intermediate_size": 1536}, {}, {}),
        ({"num_attention_heads": 16, "intermediate_size": 1536}, {"tp": 2}, {}),
        ({"num_attention_heads": 16}, {"tp": 4}, {"attention_width": ("512, 768", "1024")}),
        # The head has 1000 columns, but no product writes from there.
        ({"intermediate_size": 1000}, {}, {"intermediate_size": ("512, 768, 1000, 1536", "1000")}),
        ({"intermediate_size": 900}, {}, {"intermediate_size": ("512, 768, 1000, 1536", "900")}),
    ],
)
@in_one_lake
def test_what_does_not_fit_is_named_with_what_is_seen(tmp_path, changes, settings, misfits):
    path = apart(one_layer_model(tmp_path, layers=3, heads=8, ffn=768), tmp_path)
    lake = yield Files(path, model="toy", config=config(**changes), **settings)
    found = {name: (seen, expected) for name, seen, expected, fits in lake.rows(FIT, ["tiny"]) if fits is False}
    assert {name: found.get(name) for name in misfits} == misfits
    assert found.keys() - misfits.keys() <= set()


def test_layers_that_draft_tokens_are_none_of_the_model_s(tmp_path):
    capture = Capture()
    for _ in range(3):
        Model(5, latent, drafts=2).run(capture, 16, 16)
    path = capture.write(tmp_path / "drafts.csv")
    with Lake(tmp_path / "lake") as lake:
        # A draft model of its own, and no layers of multi-token prediction in the config: five layers, then two.
        lake.ingest(path, model="toy", config=config(num_hidden_layers=5))
        assert lake.rows("SELECT DISTINCT layer_count FROM passes WHERE complete") == [(7,)]
        assert lake.rows("SELECT seen, expected, fits FROM model_fit WHERE property = 'layers'") == [("5", "5", True)]
        assert lake.model_doubts("drafts") == []
