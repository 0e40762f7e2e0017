"""What tests of commands share."""

import sys

import pytest

from tracelake.cli import main


@pytest.fixture
def call(monkeypatch, capsys):
    """Return what runs a command in this process: its exit code, stdout and stderr."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["tracelake", *map(str, words)])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def run(lake, call):
    """Return what runs a command on the module's `lake`."""
    return lambda *words: call("--lake", lake, *words)
