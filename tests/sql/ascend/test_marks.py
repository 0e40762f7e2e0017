"""What kernels of an Ascend device mark in a forward pass, on made-up captures whose truth the generator knows."""

from __future__ import annotations

from dataclasses import replace

from ...ascend_captures import Capture, Model, paged
from ...lakes import Own, in_one_lake


def ask(lake: Own, query: str) -> list:
    return lake.rows(query)


def masked(capture: Capture, tokens: int, requests: int, layer: int) -> None:
    """Decode attention under a mask; the first layer also makes the mask, which is no attention."""
    if layer == 0:
        capture.add("GenAttentionMaskNdKernel", 3)
        capture.add("attention_mask", 3)
    paged(capture, tokens, requests, layer)
    capture.rows[-2] = replace(capture.rows[-2], kind="PagedAttentionMaskNdKernel", name="PagedAttentionMaskNdKernel")


@in_one_lake
def test_attention_with_a_mask_is_attention_and_what_makes_the_mask_is_not(tmp_path):
    capture = Capture()
    for attention in (paged, masked, masked):
        Model(4, attention).run(capture, 16, 16)
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    # Three passes of four layers; where the masked kernels were no anchors, one.
    assert ask(lake, "SELECT pass_id, layer_count, complete FROM passes ORDER BY pass_id") == [
        (0, 4, True), (1, 4, True), (2, 4, True),
    ]  # fmt: skip
    query = "SELECT count(*), count(DISTINCT layer_id) FROM layer_kernels WHERE pass_id = 1 AND name ILIKE '%mask%'"
    assert ask(lake, query) == [(6, 4)]
