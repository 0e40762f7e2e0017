"""What tests of commands share."""

import pytest


@pytest.fixture
def run(lake, call):
    """Return what runs a command on the module's `lake`."""
    return lambda *words: call("--lake", lake, *words)
