"""Which streams of an Ascend device run its layers, on made-up captures whose truth the generator knows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ...ascend_captures import HIDDEN, MAIN, OTHER, Capture, Model, Row
from ...lakes import Own, in_one_lake

#: Streams of captured graphs.
GRAPH, SMALL = 60, 61


def moved(row: Row, stream: int, *kinds: str) -> Row:
    """Return a row of the main stream on another one; with kinds, only if it is of one of these."""
    is_moved = row.stream == MAIN and (not kinds or row.kind.startswith(kinds))
    return replace(row, stream=stream) if is_moved else row


def misplaced(lake: Own, capture: Capture) -> list[tuple[object, ...]]:
    """Return kernels that are in another pass or layer than the generator put them, or in none."""
    found = lake.rows("SELECT name, start_ns, pass_id, layer_id FROM layer_kernels")
    truth = {
        (row.name, int(row.start * 1000), row.pass_no, row.layer)
        for row in capture.rows
        if row.layer is not None and "AivKernel" not in row.name
    }
    return sorted(truth.symmetric_difference(found))


@in_one_lake
def test_eager_prefills_and_graphs_of_each_batch_size_are_passes_though_each_has_a_stream_of_its_own(tmp_path):
    capture = Capture()
    for tokens, requests, stream in ((512, 1, MAIN), *((16, 16, GRAPH),) * 4, (8, 8, SMALL), (512, 1, MAIN)):
        begun = len(capture.rows)
        Model(4).run(capture, tokens, requests)
        capture.rows[begun:] = [moved(row, stream) for row in capture.rows[begun:]]
        capture.wait(300)
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    assert lake.rows("SELECT tokens, layer_count, complete FROM passes ORDER BY pass_id") == [
        (tokens, 4, True) for tokens in (512, 16, 16, 16, 16, 8, 512)
    ]
    assert misplaced(lake, capture) == []


@in_one_lake
def test_a_layer_has_the_norms_and_products_of_the_graph_pieces_around_its_attention(tmp_path):
    capture = Capture()
    for _ in range(3):
        piece, begun = GRAPH, len(capture.rows)
        Model(4).run(capture, 16, 16)
        for place, row in enumerate(capture.rows[begun:], begun):
            # What is between two attentions is one graph; the head and sampling are none.
            capture.rows[place] = row if row.kind.startswith(("Fused", "Reshape", "ArgMax")) else moved(row, piece)
            piece += row.kind.startswith("Fused")
        capture.wait(300)
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    assert lake.rows("SELECT DISTINCT layer_count, complete FROM passes") == [(4, True)]
    assert misplaced(lake, capture) == []


@in_one_lake
def test_attention_of_another_model_that_runs_beside_the_layers_is_none_of_theirs(tmp_path):
    capture = Capture()
    for _ in range(3):
        begun = len(capture.rows)
        Model(4).run(capture, 16, 16)
        *_, last = (row for row in capture.rows[begun:] if row.shapes.endswith(",3200"))
        for later in (2, 10, 18):
            # Within the 30 us of the product.
            capture.beside("AddRmsNorm", last, later)
            capture.beside("FusedInferAttentionScore", last, later + 4)
        capture.wait(300)
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    # By the attention of both streams, 7.
    assert lake.rows("SELECT layer_count, complete FROM passes") == [(4, True)] * 3
    assert misplaced(lake, capture) == []


def half(capture: Capture, stream: int, attentions: int) -> None:
    """One half of a layer of one of two micro-batches."""
    capture.add("AddRmsNorm", 4, f"16,{HIDDEN}", stream=stream)
    capture.add("MatMulV2", 8, f"16,{HIDDEN};{HIDDEN},640", stream=stream)
    for _ in range(attentions):
        capture.add("FusedInferAttentionScore", 20, "16,4,128;100,128,128;100,128,128;;;16;16", stream=stream)


@pytest.mark.parametrize("attentions", [1, 2])
@in_one_lake
def test_layers_of_two_micro_batches_that_alternate_between_two_streams_are_those_of_one(tmp_path, attentions):
    # Latent attention attends to the cache and to the prompt, both in each layer.
    capture = Capture()
    for _ in range(3):
        capture.begin_pass()
        for capture.layer in range(4):
            half(capture, MAIN, attentions)
            half(capture, OTHER, 0)
            half(capture, MAIN, 0)
            half(capture, OTHER, attentions)
        capture.layer = None
        capture.wait(3000)
    lake = yield capture.write(tmp_path / f"kernel_details_{attentions}.csv")
    # By the attention of both streams, 8.
    assert lake.rows("SELECT layer_count, complete FROM passes") == [(4, True)] * 3


@in_one_lake
def test_passes_of_two_streams_whose_norms_are_not_seen_do_not_alternate(tmp_path):
    capture = Capture()
    for stream in (MAIN, GRAPH, MAIN, GRAPH):
        capture.begin_pass()
        for capture.layer in range(4):
            # The norm is part of the product's kernel.
            capture.add("MatMulV2", 8, f"16,{HIDDEN};{HIDDEN},640", stream=stream)
            capture.add("FusedInferAttentionScore", 20, "16,4,128;100,128,128;100,128,128;;;16;16", stream=stream)
        capture.layer = None
        capture.wait(3000)
    lake = yield capture.write(tmp_path / "kernel_details.csv")
    assert lake.rows("SELECT layer_count FROM passes") == [(4,)] * 4
