"""Streamable HTTP on the loopback address, with one token, checked hosts and origins, and small bodies.

A page in a browser can send requests to any local port, also, by DNS rebinding, under its own host name: so host and
origin must be this server's, and no request is served without the token, which a page cannot have.
"""

from __future__ import annotations

import hmac
import secrets
import socket
from typing import TYPE_CHECKING, Any

from ..engine.errors import UsageError

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
PATH = "/mcp"
#: Maximum bytes of a request: a query has a few thousand.
LARGEST_REQUEST = 256 << 10
#: Maximum sessions, maximum connections, and the seconds that running requests have when the server stops.
_SESSIONS, _CONNECTIONS, _SECONDS = 64, 64, 2
#: Minimum characters of a token.
SHORTEST_TOKEN = 16


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(32)


def check_token(token: str) -> str:
    """Return a token after checking that it can be sent in a header and is hard to guess.

    Raises:
        UsageError: it is not.
    """
    if len(token) < SHORTEST_TOKEN or not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError(f"the token must be {SHORTEST_TOKEN} characters or more of ASCII, without spaces.")
    return token


def listening(port: int) -> socket.socket:
    """Return a listening socket on the loopback address; port 0 chooses a free port.

    Raises:
        UsageError: the port is not available.
    """
    try:
        return socket.create_server((HOST, port))
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"port {port} of {HOST}: {reason}. Give another with --port, or 0 for any.") from error


def application(server: Server[Any], port: int, token: str) -> ASGIApp:
    """Return a server as an ASGI application that requires the token."""
    from mcp.server.transport_security import TransportSecuritySettings

    hosts = [f"{HOST}:{port}", f"localhost:{port}"]
    inner = server.streamable_http_app(
        streamable_http_path=PATH, max_request_body_size=LARGEST_REQUEST, max_sessions=_SESSIONS,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )  # fmt: skip
    expected = token.encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or _has_token(scope, expected):
            await inner(scope, receive, send)
        else:
            await _refuse(send)

    return guarded


def _has_token(scope: Scope, expected: bytes) -> bool:
    given = [value for name, value in scope.get("headers", ()) if name == b"authorization"]
    if len(given) != 1:
        return False
    scheme, _, token = given[0].partition(b" ")
    return hmac.compare_digest(token.strip(), expected) and scheme.lower() == b"bearer"


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
    await send({"type": "http.response.start", "status": 401, "headers": headers})
    await send({"type": "http.response.body", "body": b"Authorization: Bearer TOKEN is missing or wrong.\n"})


def serve(server: Server[Any], listener: socket.socket, token: str) -> None:
    """Serve until the process is asked to stop."""
    import uvicorn

    port = listener.getsockname()[1]
    config = uvicorn.Config(
        application(server, port, token), log_level="warning", access_log=False, ws="none", server_header=False,
        proxy_headers=False, limit_concurrency=_CONNECTIONS, timeout_graceful_shutdown=_SECONDS,
    )  # fmt: skip
    uvicorn.Server(config).run(sockets=[listener])
