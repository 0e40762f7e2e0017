"""A stretch between two breaks whose length no other has, among passes of one length."""

import pytest

from ...lakes import in_one_lake
from .test_model_turns import Models


@pytest.mark.parametrize(
    ("towers", "expected"), [([6], [4] * 5), ([6, 6], [4, 4, 6, 4, 6, 4, 4, 4]), ([6, 5], []), ([8], [4] * 7)]
)
@in_one_lake
def test_a_single_image_between_texts_hides_no_pass_of_theirs(tmp_path, towers, expected):
    """Nor is its tower a model. Two that differ may be one pass that something divides, twice the length two passes."""
    models = Models()
    for tower in [0, 0, *towers, 0, 0]:
        if tower:
            models.patches()
            models.layers(tower)
        models.lookup()
        models.layers(4)
        models.draw()
    lake = yield models.write(tmp_path)
    assert lake.rows("SELECT num_layers FROM passes WHERE complete ORDER BY start_ns") == [(n,) for n in expected]
