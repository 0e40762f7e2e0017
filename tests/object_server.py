"""An S3 server on the loopback address: it counts what it is asked for, and fails or waits where a test wants it to."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

BUCKET = "lakes"
#: What the next request is to be answered with, as in "503 Slow Down"; None for what the store says.
Fault = Callable[[str, str], str | None]


@dataclass
class Request:
    """What a client asked for.

    Attributes:
        method: GET, PUT, …
        path: the object, without its bucket; with what is listed, of a listing.
        length: bytes of the answer.
    """

    method: str
    path: str
    length: int = 0


class ObjectServer:
    """The server, in a thread of this process, with a bucket `BUCKET`."""

    def __init__(self) -> None:
        """Start serving."""
        # Here: they take long to import, and every worker of a run collects all tests.
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.make_bucket(BUCKET)
        self._app = DomainDispatcherApplication(create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self._fault: Fault = lambda method, path: None
        #: A store looks whether an object is there and writes it in one step, which moto's threads do not.
        self._writing = threading.Lock()
        #: Whether conditions of a put are kept, as every store should.
        self.conditional = True
        #: All requests, in order.
        self.requests: list[Request] = []

    def make_bucket(self, name: str, *empty: str) -> None:
        """Make a bucket, with some empty objects in it."""
        from moto.s3.models import s3_backends

        s3_backends["123456789012"]["aws"].create_bucket(name, "us-east-1")
        for key in empty:
            s3_backends["123456789012"]["aws"].put_object(name, key, b"")

    @property
    def environment(self) -> dict[str, str]:
        """What a client needs to know."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self._server.server_port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "key-of-nobody",
            "AWS_SECRET_ACCESS_KEY": "secret-of-nobody",
        }

    @contextmanager
    def failing(self, fault: Fault) -> Iterator[None]:
        """Answer as a function of method and path says."""
        self._fault = fault
        try:
            yield
        finally:
            self._fault = lambda method, path: None

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._thread.join()

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        asked = Request(environ["REQUEST_METHOD"], environ["PATH_INFO"].removeprefix(f"/{BUCKET}/"))
        if asked.path == f"/{BUCKET}":
            asked.path = f"?{environ['QUERY_STRING']}"
        self.requests.append(asked)
        if status := self._fault(asked.method, asked.path):
            start(status, [("Content-Type", "application/xml")])
            return [b"<Error><Code>Injected</Code></Error>"]

        if not self.conditional:
            environ.pop("HTTP_IF_NONE_MATCH", None)

        def begin(status: str, headers: list[tuple[str, str]], *rest: Any) -> Any:
            asked.length = int(dict(headers).get("Content-Length", 0))
            return start(status, headers, *rest)

        with self._writing if asked.method in ("PUT", "POST") else nullcontext():
            return self._app(environ, begin)
