"""The MCP server: lists tools and pages, and answers calls; an error is one line without traceback."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from ..engine.errors import TracelakeError, UsageError
from ..engine.sql.near import guess
from ..engine.storage.paths import Place
from ..version import __version__
from . import resources
from . import tools as answering
from .answers import Answer, error_text, text_of
from .catalogue import Tool, instructions, tools
from .requests import Requests

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from ..lake import Lake

_log = logging.getLogger("tracelake")


def server(place: Place, *, seconds: float, ingest_below: Sequence[Path] = ()) -> Server[Any]:
    """Return a server about one lake.

    Args:
        place: the lake.
        seconds: how long a request may take.
        ingest_below: the folders whose files may be ingested; if empty, the tool ingest is absent.
    """
    requests = Requests(place, seconds)
    below = tuple(folder.resolve() for folder in ingest_below)
    offered = {name: tool for name, tool in tools().items() if below or not tool.writes}

    async def list_tools(_: ServerRequestContext[Any], __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in offered.values()])

    async def call_tool(_: ServerRequestContext[Any], params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            tool = _find(offered, params.name)
            given = tool.checked(params.arguments or {})
            text = await requests.answer(_asked(tool, given, below), writes=tool.writes)
        except Exception as error:  # noqa: BLE001
            # Any error becomes an answer; cancellation is a BaseException and passes.
            return types.CallToolResult(content=[_text(error_text(described(error)))], is_error=True)
        return types.CallToolResult(content=[_text(text)])

    async def list_resources(_: ServerRequestContext[Any], __: object) -> types.ListResourcesResult:
        pages = [
            types.Resource(uri=page.uri, name=page.name, title=page.title, mime_type=page.kind)
            for page in resources.listed()
        ]
        return types.ListResourcesResult(resources=pages)

    async def list_templates(_: ServerRequestContext[Any], __: object) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=resources.RELATION, name="relation", mime_type="text/plain",
            description="What a row of a relation is, its key, its columns, and the SQL that computes it",
        )  # fmt: skip
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        _: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        try:
            kind, text = resources.read(str(params.uri))
        except UsageError as error:
            raise MCPError(code=types.INVALID_PARAMS, message=described(error)) from None
        contents = types.TextResourceContents(uri=params.uri, text=text, mime_type=kind)
        return types.ReadResourceResult(contents=[contents])

    return Server(
        "tracelake", version=__version__, title="tracelake", instructions=instructions(),
        on_list_tools=list_tools, on_call_tool=call_tool, on_list_resources=list_resources,
        on_list_resource_templates=list_templates, on_read_resource=read_resource,
    )  # fmt: skip


def _described(tool: Tool) -> types.Tool:
    hints = types.ToolAnnotations(
        read_only_hint=not tool.writes, destructive_hint=False, idempotent_hint=True, open_world_hint=False
    )
    return types.Tool(name=tool.name, description=tool.about, input_schema=tool.schema(), annotations=hints)


def _find(offered: Mapping[str, Tool], name: str) -> Tool:
    if name not in offered:
        raise UsageError(f"{name}: no such tool.{guess(name, offered)} There are {', '.join(offered)}.")
    return offered[name]


def _asked(tool: Tool, given: dict[str, Any], below: tuple[Path, ...]) -> Callable[[Lake], str]:
    def ask(lake: Lake) -> str:
        answer: Answer = (
            answering.ingest(lake, given, below) if tool.writes else answering.READING[tool.name](lake, given)
        )
        return text_of(tool, given, answer)

    return ask


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


def described(error: Exception) -> str:
    """Return an error in one line."""
    import duckdb

    if isinstance(error, TracelakeError):
        text = str(error)
    elif isinstance(error, duckdb.OutOfMemoryException):
        text = "the query needs more memory than a request may take: aggregate, or ask about one trace."
    elif isinstance(error, duckdb.Error):
        text = str(error)
    elif isinstance(error, OSError):
        text = f"a file cannot be used: {error.strerror or error}."
    else:
        _log.error("%s: %s", type(error).__name__, json.dumps(str(error))[:400])
        text = f"{type(error).__name__}: this should not happen; the server's stderr has more."
    # The database quotes the query after its message.
    return " ".join(text.partition("\n\nLINE ")[0].split())
