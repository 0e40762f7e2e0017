"""A file shown at ui.perfetto.dev, which fetches it from this machine: nothing is uploaded.

The page may only fetch from one local address, that of Perfetto's own tools: http://127.0.0.1:9001, with headers that
allow its origin. So one file is served there, under an unguessable path, until it was fetched.
"""

from __future__ import annotations

import http.server
import re
import secrets
import shutil
import threading
import webbrowser
from http import HTTPStatus
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from ...engine.errors import InputError
from .files import Written

UI = "https://ui.perfetto.dev"
HOST, PORT = "127.0.0.1", 9001


class _Server(http.server.ThreadingHTTPServer):
    # A browser opens connections that it does not use: each has a thread, and none is waited for.
    daemon_threads = True
    block_on_close = False
    #: The file and the path of its URL, once it is written.
    file: Path | None = None
    address = "/"

    def __init__(self, port: int) -> None:
        super().__init__((HOST, port), _Handler)
        self.fetched = threading.Event()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore connections closed by the browser: it may fetch again."""


class _Handler(http.server.BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Send the file."""
        if self.server.file is None or self.path != self.server.address:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        with self.server.file.open("rb") as file:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(self.server.file.stat().st_size))
            self.end_headers()
            shutil.copyfileobj(file, self.wfile)
        self.wfile.flush()
        self.server.fetched.set()

    def do_OPTIONS(self) -> None:
        """Answer the browser's preflight request for access to this machine."""
        self.send_response(HTTPStatus.NO_CONTENT)
        self.send_header("Access-Control-Allow-Methods", "GET")
        self.send_header("Access-Control-Allow-Private-Network", "true")
        self.end_headers()

    def end_headers(self) -> None:
        """Allow only the page to read the answer."""
        self.send_header("Access-Control-Allow-Origin", UI)
        self.send_header("Cache-Control", "no-store")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: stderr is for people."""


class Served:
    """A server from which Perfetto can fetch a file, opened before a long computation starts."""

    def __init__(self, port: int = PORT) -> None:
        """Bind the port.

        Raises:
            InputError: the port is in use.
        """
        try:
            self._server = _Server(port)
        except OSError as error:
            raise InputError(
                f"{HOST}:{port}: cannot serve the trace there: {error.strerror}. ui.perfetto.dev fetches from no other "
                "port: end what has it (a trace_processor, or another --open), or write a file with -o and open that."
            ) from error

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    def offer(self, written: Written) -> str:
        """Serve a file from now on; return the URL of the page that shows it.

        The region to look at gets a margin of a tenth of its time on each side.
        """
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", written.path.name).strip("-.") or "trace.pftrace"
        self._server.address = f"/{secrets.token_hex(8)}/{name}"
        self._server.file = written.path
        margin = (written.end_ns - written.start_ns) // 10 + 1
        url = quote(f"http://{HOST}:{self._server.server_port}{self._server.address}", safe=":/")
        start_ns, end_ns = max(written.start_ns - margin, 0), written.end_ns + margin
        return f"{UI}/#!/?url={url}&visStart={start_ns}&visEnd={end_ns}"

    def wait(self) -> None:
        """Wait until the file was fetched completely."""
        self._server.fetched.wait()


def browse(address: str) -> bool:
    """Open a page in the user's browser, the one in BROWSER if it is set; return whether there is one."""
    return webbrowser.open(address)
