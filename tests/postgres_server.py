"""A PostgreSQL server of the tests' own, on a socket in a temporary folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

#: Characters that a URL has to encode.
PASSWORD = "s3cret/@%"
IN_URL = "s3cret%2F%40%25"


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Yield the address of a server with its password; skip where PostgreSQL, or a user to run it, is missing."""
    folders = [Path(found).parent for found in [shutil.which("postgres")] if found]
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    programs = next((folder for folder in folders if (folder / "initdb").exists()), None)
    if programs is None:
        pytest.skip("needs a PostgreSQL server: apt install postgresql")
    as_user: dict[str, Any] = {}
    if os.geteuid() == 0:
        if subprocess.run(["id", "postgres"], capture_output=True, check=False).returncode:
            pytest.skip("PostgreSQL refuses to run as root, and there is no user postgres")
        as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as name:
        folder = Path(name)
        (folder / "password").write_text(PASSWORD)
        if as_user:
            for path in (folder, folder / "password"):
                shutil.chown(path, "postgres", "postgres")

        def run(*words: str | Path) -> None:
            # Not to a pipe: the server would hold it open.
            with tempfile.TemporaryFile() as log:
                done = subprocess.run(words, cwd=folder, stdout=log, stderr=log, check=False, **as_user)
                log.seek(0)
                assert done.returncode == 0, log.read().decode(errors="replace")

        secret = f"--pwfile={folder / 'password'}"
        run(programs / "initdb", "-D", folder / "data", "-U", "tester", "-A", "scram-sha-256", secret, "-E", "UTF8",
            "--locale=C", "--no-sync")  # fmt: skip
        control = (programs / "pg_ctl", "-D", folder / "data", "-w", "-l", folder / "log")
        run(*control, "-o", f"-k {folder} -c listen_addresses='' -c fsync=off", "start")
        try:
            yield f"postgresql://tester:{IN_URL}@/postgres?host={folder}"
        finally:
            run(*control, "-m", "immediate", "stop")
