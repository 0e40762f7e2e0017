"""Environments of other tools: each a virtual environment, made once and found again in a cache folder."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import pytest

#: A run of the tests makes what is missing; later ones find it.
CACHE = Path(os.environ.get("TRACELAKE_TEST_TOOLS", Path.home() / ".cache" / "tracelake-tests"))


def python_with(*requirements: str) -> Path:
    """Return the Python of an environment with some packages; skip where they cannot be installed."""
    named = hashlib.sha256(" ".join((sys.version, *requirements)).encode()).hexdigest()[:12]
    folder = CACHE / f"{requirements[0].partition('=')[0].partition('[')[0]}-{named}"
    if not folder.exists():
        # Made under its final name, which its scripts contain, but complete only with this file.
        folder.mkdir(parents=True)
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        install = [folder / "bin" / "pip", "install", "--quiet", "--disable-pip-version-check", *requirements]
        done = subprocess.run(install, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = [line for line in done.stderr.splitlines() if line.lower().startswith("error")] or ["pip failed"]
            pytest.skip(f"{' '.join(requirements)} cannot be installed here: {reason[-1]}")
        (folder / "complete").write_text(uuid.uuid4().hex)
    return folder / "bin" / "python"


def run(python: Path, script: str, *words: str | Path, **environment: str) -> Any:
    """Run a script in an environment, and return what its last line of output says as JSON."""
    done = subprocess.run(
        [python, "-c", script, *words], capture_output=True, text=True, check=False, env=os.environ | environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
