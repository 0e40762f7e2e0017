"""The page that shows a trace: a browser, which here is a script, finds one file and nothing else."""

import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tracelake.engine.errors import InputError
from tracelake.reports.perfetto.browser import HOST, PORT, UI, Served
from tracelake.reports.perfetto.files import Written

from ...perfetto_files import read

#: What a browser does: it takes the address apart, asks first, and fetches as the page does.
BROWSER = """\
import sys, urllib.parse, urllib.request
page, _, query = sys.argv[1].partition("#!/?")
url = urllib.parse.parse_qs(query)["url"][0]
origin = {"Origin": "https://ui.perfetto.dev", "Access-Control-Request-Private-Network": "true"}
asked = urllib.request.urlopen(urllib.request.Request(url, headers=origin, method="OPTIONS"))
assert asked.headers["Access-Control-Allow-Private-Network"] == "true"
found = urllib.request.urlopen(urllib.request.Request(url, headers=origin))
assert found.headers["Access-Control-Allow-Origin"] == page.rstrip("/") == origin["Origin"]
open(FETCHED, "wb").write(found.read())
open(FETCHED + ".address", "w").write(sys.argv[1])
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        return one.getsockname()[1]


def status(url: str, **given) -> int:
    try:
        return urllib.request.urlopen(urllib.request.Request(url, **given)).status
    except urllib.error.HTTPError as error:
        return error.code


def test_one_file_is_served_and_nothing_else_and_the_end_is_when_it_was_fetched(tmp_path):
    path = tmp_path / "odd name & ../x<y>.pftrace".replace("/", "-")
    # More than what waits between two sockets.
    path.write_bytes(b"x" * 40_000_000)
    (tmp_path / "secret").write_text("secret")
    with Served(free_port()) as served:
        address = served.offer(Written(path, 1, 1_000_000, 2_000_000))
        query = parse_qs(address.removeprefix(f"{UI}/#!/?"))
        # A tenth of the time on each side.
        assert (query["visStart"], query["visEnd"]) == (["899999"], ["2100001"])
        [url] = query["url"]
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[0-9a-f]{16}/[A-Za-z0-9._-]+\.pftrace", url)
        root = url.rsplit("/", 2)[0]
        for other in ("/", "/status", "/secret", "/../secret", f"/{path.name.replace(' ', '%20')}", "/trace.pftrace"):
            assert status(root + other) == 404
        assert status(url, method="POST", data=b"") == 501
        # A browser that goes away in the midst may come again.
        with socket.create_connection((HOST, int(root.rsplit(":")[-1]))) as gone:
            gone.sendall(f"GET {url.removeprefix(root)} HTTP/1.0\r\n\r\n".encode())
            gone.recv(10)
        waiting = threading.Thread(target=served.wait, daemon=True)
        waiting.start()
        waiting.join(0.2)
        assert waiting.is_alive()
        assert len(urllib.request.urlopen(url).read()) == 40_000_000
        waiting.join(5)
        assert not waiting.is_alive()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url)


def test_a_port_that_is_taken_is_said_in_one_line():
    port = free_port()
    with Served(port), pytest.raises(InputError, match=f"127.0.0.1:{port}: cannot serve the trace there") as caught:
        Served(port)
    assert "\n" not in str(caught.value)


@pytest.fixture
def command(tmp_path, s1_lake_folder):
    """Return what runs `tracelake perfetto s1 --open` with a script for a browser."""

    def run(*words: str) -> subprocess.CompletedProcess:
        script = tmp_path / "browser.py"
        script.write_text(BROWSER.replace("FETCHED", repr(str(tmp_path / "fetched"))))
        return subprocess.run(
            [sys.executable, "-m", "tracelake", "--lake", s1_lake_folder, "perfetto", "s1", "--open", *words],
            env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TMPDIR": str(tmp_path),
                 "BROWSER": f"{sys.executable} {script} %s"},
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((HOST, PORT))
        except OSError:
            pytest.skip(f"something else has {HOST}:{PORT}")
    return run


def test_the_browser_opens_at_the_range_and_gets_the_trace(command, tmp_path):
    ended = command("--pass", "3")
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    address = (tmp_path / "fetched.address").read_text()
    assert address in ended.stderr
    shown = {one.name: one for one in read(tmp_path / "fetched").on("device 0", "passes") if one.category == "pass"}
    assert list(shown) == ["pass 3"]
    query = parse_qs(address)
    assert 0 < int(query["visStart"][0]) < shown["pass 3"].start_ns < shown["pass 3"].end_ns < int(query["visEnd"][0])
    assert not list(Path(tmp_path).glob("tracelake-*/*"))


def test_open_says_that_the_port_is_busy_before_anything_is_computed(command):
    with Served():
        ended = command()
    assert (ended.returncode, ended.stdout) == (3, "")
    assert len(ended.stderr.splitlines()) == 1
    assert "127.0.0.1:9001: cannot serve the trace there: Address already in use" in ended.stderr
