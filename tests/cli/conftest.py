"""What tests of commands share."""

import sys

import pytest

from tracelake.cli import main


@pytest.fixture
def run(lake, monkeypatch, capsys):
    """Return what runs a command in this process on the module's `lake`: its exit code, stdout and stderr."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["tracelake", "--lake", str(lake), *map(str, words)])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run
