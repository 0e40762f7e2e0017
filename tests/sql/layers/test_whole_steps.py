"""A single pass in a trace that shows no modules, whose head runs kernels that each layer runs, too.

By its kernels alone it may be the beginning of a longer pass. A step of the profiler or of an engine around all of it
shows that it is whole.
"""

import pytest

from ...kernel_traces import GEMM
from ...lakes import in_one_lake
from .test_model_turns import NORM, PASSES, Models

LAYERS = 6


def forward(models):
    """A pass whose last layer is followed by a norm and a product, as each of its layers is."""
    models.lookup()
    models.layers(LAYERS)
    models.run(NORM, "aten::native_layer_norm")
    models.run(GEMM, "aten::mm")


@pytest.mark.parametrize("name", ["ProfilerStep#2", "execute_context_1(64)_generation_0(0)"])
@in_one_lake
def test_a_step_of_the_host_around_a_single_pass_shows_that_it_is_whole(tmp_path, name):
    models = Models()
    forward(models)
    models.trace.note(name, -5.0, models.now + 10.0)
    lake = yield models.write(tmp_path)
    assert lake.rows(PASSES) == [("flash_fwd_kernel", LAYERS, LAYERS, True)]
    assert lake.rows("SELECT note, pass_source FROM passes") == [("single-pass", "anchor count")]


@pytest.mark.parametrize(("first", "last"), [(40.0, 0.0), (-5.0, 40.0)])
@in_one_lake
def test_a_step_that_began_later_or_ended_earlier_shows_nothing_of_it(tmp_path, first, last):
    models = Models()
    forward(models)
    models.trace.note("ProfilerStep#2", first, models.now - last - first)
    lake = yield models.write(tmp_path)
    assert lake.rows("SELECT count(*) FROM passes WHERE complete") == [(0,)]


@in_one_lake
def test_two_passes_in_one_step_remain_two(tmp_path):
    models = Models()
    forward(models)
    forward(models)
    models.trace.note("ProfilerStep#2", -5.0, models.now + 10.0)
    lake = yield models.write(tmp_path)
    assert lake.rows(PASSES) == [("flash_fwd_kernel", LAYERS, LAYERS, True)] * 2


@in_one_lake
def test_a_step_around_a_tower_and_its_shorter_model_shows_no_pass_of_as_many_layers_as_the_tower(tmp_path):
    models = Models()
    models.layers(LAYERS + 2)
    models.run(NORM, "aten::native_layer_norm")
    forward(models)
    models.trace.note("execute_context_1(64)_generation_0(0)", -5.0, models.now + 10.0)
    lake = yield models.write(tmp_path)
    assert lake.rows("SELECT count(*) FROM passes WHERE NOT complete") == [(0,)]
