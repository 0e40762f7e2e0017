"""The command that serves the lake to an assistant."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import click

from ..engine.errors import UsageError
from ..engine.storage.paths import Place
from .common import open_lake, say

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command()
@click.option("--http", is_flag=True, help="Serve streamable HTTP on 127.0.0.1 instead of stdin and stdout.")
@click.option("--port", default=8321, show_default=True, type=click.IntRange(0, 65535), help="Of --http; 0 for any.")
@click.option(
    "--token", envvar="TRACELAKE_MCP_TOKEN", help="What clients of --http must send; default: a new one, on stderr."
)
@click.option(
    "--allow-ingest", "folders", multiple=True, type=_FOLDER, metavar="FOLDER",
    help="Offer the tool ingest, for traces below this folder.",
)  # fmt: skip
@click.option(
    "--timeout", "seconds", default=60.0, show_default=True, type=click.FloatRange(0, min_open=True),
    help="Seconds that an answer may take.",
)  # fmt: skip
@click.pass_obj
def mcp(
    lake: Place | None, http: bool, port: int, token: str | None, folders: tuple[Path, ...], seconds: float
) -> None:
    """Serve the lake to an assistant, by the Model Context Protocol (MCP).

    The assistant gets tools for the questions of the command line, and SQL that reads the lake and nothing else. An
    answer is small, has units, says what it covers and what to ask next. Names from traces are marked as quoted text.
    Nothing is written, except by the tool ingest, which is there with --allow-ingest.

    Without --http a client starts the command and talks to its stdin and stdout. With --http it sends
    `Authorization: Bearer TOKEN`; better than --token is TRACELAKE_MCP_TOKEN, which no list of processes shows.

    \b
    Examples:
      tracelake mcp
      tracelake mcp --http --port 8321 --allow-ingest traces
    """
    if importlib.util.find_spec("mcp") is None:
        raise UsageError("the package mcp is not installed: pip install 'tracelake[mcp]'")
    from ..assistant.server import server

    # Report an unusable lake at start-up, not to the assistant.
    opened = open_lake(lake, create=bool(folders))
    opened.close()
    serving = server(opened.path, seconds=seconds, ingest_below=folders)
    if not http:
        from ..assistant import stdio

        if sys.stdin.isatty():
            say("waiting for a client's messages on stdin: a client starts this command. Ctrl-C ends it.")
        stdio.serve(serving)
        return
    from ..assistant import http as serve_http

    given = serve_http.check_token(token) if token else serve_http.new_token()
    with serve_http.listening(port) as listener:
        say(f"serving http://{serve_http.HOST}:{listener.getsockname()[1]}{serve_http.PATH}")
        if not token:
            # Not `say`, which redacts credentials.
            click.echo(f"tracelake: clients send  Authorization: Bearer {given}", err=True)
        serve_http.serve(serving, listener, given)
