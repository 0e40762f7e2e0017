"""FLOP and bytes of Ascend's attention by the layouts of CANN: 2 x queries x keys x heads x (dimension of a key + that
of a value), halved under a mask with as many queries as keys."""

import pytest

from tracelake.lake import Lake

from ...lakes import in_one_lake, ingest_at_once
from .counters import ask, product, write_table

FUSED, PROMPT, STEP = "FusedInferAttentionScore", "PromptFlashAttention", "IncreFlashAttention"
#: Type; queries, keys and values, result; mask, and tensors of lengths, by slot; FLOP, and whether half is masked.
PREFILL = 2 * 32 * 4096**2 * (128 + 128)
SERVED = {
    # 32 heads of 128 with 8 for the keys: widths of 4096 and 1024.
    "widths": (PROMPT, "1,4096,4096", "1,4096,1024", {}, PREFILL, False),
    "widths, masked": (FUSED, "1,4096,4096", "1,4096,1024", {4: "2048,2048"}, PREFILL / 2, True),
    "widths of equal heads": (FUSED, "2,64,4096", "2,64,4096", {}, 2 * 2 * 32 * 64**2 * 256, False),
    "a cache of each request": (STEP, "16,1,4096", "16,2048,1024", {}, 2 * 16 * 32 * 2048 * 256, False),
    "a cache in use in part": (STEP, "16,1,4096", "16,2048,1024", {5: "16"}, None, False),
    "padded sequences": (FUSED, "4,64,4096", "4,64,1024", {5: "4", 6: "4"}, None, False),
    "one sequence with its length": (FUSED, "1,64,4096", "1,64,1024", {5: "1", 6: "1"}, 2 * 32 * 64**2 * 256, False),
    "heads first": (FUSED, "1,32,4096,128", "1,8,4096,128", {4: "2048,2048"}, PREFILL / 2, True),
    "heads first, a step": (FUSED, "16,32,1,128", "16,8,2048,128", {}, 2 * 16 * 32 * 2048 * 256, False),
    "tokens first": (FUSED, "2,4096,32,128", "2,4096,8,128", {}, 2 * PREFILL, False),
    # 32 heads and 64 tokens, or the reverse.
    "heads or tokens": (FUSED, "4,32,64,128", "4,32,64,128", {}, None, False),
    # 64 tokens of 4 heads, or 64 sequences of 4 tokens.
    "together or a batch": (FUSED, "64,4,128", "64,4,128", {}, None, False),
    "one request": (FUSED, "64,4,128", "64,1,128", {4: "2048,2048", 5: "1", 6: "1"}, 4 * 64**2 * 256, True),
    "one request, no mask": (FUSED, "64,4,128", "64,1,128", {5: "1", 6: "1"}, 2 * 4 * 64**2 * 256, False),
    "three requests": (FUSED, "64,4,128", "64,1,128", {4: "2048,2048", 5: "3", 6: "3"}, None, None),
    # 16 requests of 32 blocks of 128 keys, in a pool of blocks.
    "paged": (FUSED, "16,32,128", "1000,128,1024", {5: "16", 6: "16", 14: "16,32"}, None, False),
    "paged, a batch": (FUSED, "16,1,4096", "1000,128,1024", {6: "16", 14: "16,32"}, None, False),
    "paged, a prefill": (FUSED, "1,32,1000,128", "99,8,128,128", {4: "9,9", 6: "1", 14: "1,8"}, None, None),
    # 16 requests of 128 heads, whose latent of 512 is key and value, with a rotary part of 64 apart.
    "latent": (
        FUSED, "16,128,1,512", "1000,1,128,512", {6: "16", 14: "16,32", 24: "16,128,1,64", 25: "1000,1,128,64"}, None,
        False,
    ),
    # Prompts of 8192 and of 4 x 2048 tokens; and 2 requests of 1000 new tokens each.
    "paged, a prompt": (FUSED, "8192,16,128", "2000,128,128", {4: "9,9", 5: "1", 6: "1", 14: "1,64"}, None, None),
    "paged, prompts": (FUSED, "8192,16,128", "2000,128,128", {4: "9,9", 5: "4", 6: "4", 14: "4,64"}, None, None),
    "paged, new tokens": (FUSED, "2000,16,128", "2000,128,128", {4: "9,9", 5: "2", 6: "2", 14: "2,64"}, None, None),
    "more new tokens than keys": (FUSED, "2,4096,4096", "2,4097,1024", {5: "2"}, None, False),
    "latent, slices": (
        FUSED, "16,128,1,512", "1000,1,32,128,16", {6: "16", 14: "16,32", 24: "16,128,1,64", 25: "1000,1,4,128,16"},
        None, False,
    ),
    "paged, slices": (FUSED, "16,32,1,128", "1000,8,8,128,16", {6: "16", 14: "16,32"}, None, False),
}  # fmt: skip
#: With 1000 keys in each cache: FLOP, and whether half is masked.
STEP_OF_1000 = 2 * 16 * 32 * 1000 * 256
WITH_LENGTH = {
    "paged": (STEP_OF_1000, False), "paged, a batch": (STEP_OF_1000, False), "paged, slices": (STEP_OF_1000, False),
    "latent": (2 * 16 * 128 * 1000 * (512 + 64 + 512), False),
    "latent, slices": (2 * 16 * 128 * 1000 * (512 + 64 + 512), False),
    "a cache in use in part": (STEP_OF_1000, False), "paged, a prefill": (32 * 1000 * 1000 * 256, True),
    "paged, new tokens": (2 * 16 * 1000 * 1000 * 256, True),
}  # fmt: skip

#: Layout: queries, keys and values, statistics of the softmax; FLOP without a mask, and why there are none.
TRAINED = {
    "a width as large as the length": ("4096,1,4096", "4096,1,1024", "1,32,4096,8", PREFILL, None),
    "the batch first": ("1,4096,4096", "1,4096,1024", "1,32,4096,8", PREFILL, None),
    "heads first": ("2,32,4096,128", "2,8,4096,128", "2,32,4096,8", 2 * PREFILL, None),
    "heads of the length": ("2,32,128,128", "2,8,128,128", "2,32,128,8", 2 * 2 * 32 * 128**2 * 256, None),
    # 32 tokens of 32 heads: 32 keys, or those of 8 heads.
    "as many heads as tokens": ("2,32,32,128", "2,8,32,128", "2,32,32,8", None, "lengths_unknown"),
    "sequences together": ("8192,32,128", "8192,8,128", "8192,32,8", None, "lengths_unknown"),
    "no such length": ("4096,1,4096", "4096,1,1024", "1,32,1000,8", None, "shape_inconsistent"),
}


def served(op_type, queries, keys, more):
    """Return the row of an attention of inference; `more` are the tensors of other slots."""
    slots = {0: queries, 1: keys, 2: keys, **more}
    kinds = dict.fromkeys(more, "INT64") | {0: "DT_BF16", 1: "DT_BF16", 2: "DT_BF16", 4: "INT8", 14: "INT32"}
    kinds |= {24: "DT_BF16", 25: "DT_BF16"}
    places = range(max(slots) + 1)
    return product(op_type, ";".join(slots.get(slot, "") for slot in places), queries) | {
        "Input Data Types": ";".join(kinds[slot] if slot in slots else "DT_UNDEFINED" for slot in places)
    }


@pytest.fixture(scope="module")
def attentions(tmp_path_factory):
    """FLOP, their upper bound and the mask of the attentions above: by their shapes, and with 1000 keys."""
    folder = tmp_path_factory.mktemp("attentions")
    table = [served(*row[:4]) for row in SERVED.values()]
    shapes = write_table(folder / "shapes.csv", *table)
    # The trace is another, by one more row.
    lengths = write_table(folder / "lengths.csv", *table, served(*SERVED["paged"][:4]))
    with Lake(folder / "lake") as lake:
        ingest_at_once(lake, {shapes: {}, lengths: {"kv_len": 1000}})
        columns = "flop, causal, flop_note, flop_bound, moved_bytes FROM ascend_operators JOIN traces USING (trace_id)"
        found = {}
        for trace in ("shapes", "lengths"):
            rows = ask(lake, f"SELECT {columns} WHERE trace = '{trace}' ORDER BY kernel_id LIMIT {len(SERVED)}")
            found[trace] = dict(zip(SERVED, rows, strict=True))
        yield found


@pytest.mark.parametrize("name", SERVED)
def test_a_layout_that_the_shapes_show_gives_the_length_and_one_that_they_do_not_none(attentions, name):
    flop, causal = SERVED[name][4:]
    assert attentions["shapes"][name][:3] == (flop, causal, None if flop else "lengths_unknown")


@pytest.mark.parametrize("name", SERVED)
def test_a_length_that_is_set_counts_where_there_is_a_cache(attentions, name):
    expected = WITH_LENGTH.get(name, SERVED[name][4:])
    assert attentions["lengths"][name][:2] == expected


def test_the_bound_of_a_paged_attention_is_every_block_full_whatever_the_layout_of_the_pool(attentions):
    bounds = {name: row[3] for name, row in attentions["shapes"].items()}
    assert {bounds[name] for name in ("paged", "paged, a batch", "paged, slices")} == {2 * 16 * 32 * 32 * 128 * 256}
    latent = 2 * 16 * 128 * 32 * 128 * (512 + 64 + 512)
    assert [bounds[name] for name in ("latent", "latent, slices")] == [latent, latent]


@in_one_lake
def test_the_length_of_training_is_no_width_and_unknown_where_sequences_are_together(tmp_path):
    rows = [
        product("FlashAttentionScore", f"{queries};{keys};{keys}", f"{stats};{stats};;{queries}", dtype="FLOAT")
        for queries, keys, stats, *_ in TRAINED.values()
    ]
    lake = yield write_table(tmp_path / "t.csv", *rows)
    found = ask(lake, "SELECT flop, flop_note FROM ascend_operators ORDER BY kernel_id")
    assert dict(zip(TRAINED, found, strict=True)) == {name: (flop, note) for name, (*_, flop, note) in TRAINED.items()}


def test_a_latent_that_is_key_and_value_is_read_once(attentions):
    # Queries with their rotary part and the result, lengths, block table; and 1000 keys of 512 + 64 for each request.
    rest = 2 * 16 * 128 * (512 + 64 + 512) + 16 * 8 + 16 * 32 * 4
    moved = rest + 2 * 16 * 1000 * (512 + 64)
    assert [attentions["lengths"][name][4] for name in ("latent", "latent, slices")] == [moved, moved]
    # Keys and values of 8 heads are two tensors.
    rest = 2 * 16 * 32 * (128 + 128) + 2 * 16 * 8 + 16 * 32 * 4
    assert attentions["lengths"]["paged"][4] == rest + 2 * 16 * 1000 * 2 * 1024
