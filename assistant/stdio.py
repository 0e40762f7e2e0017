"""The protocol on stdin and stdout; while serving, all other output goes to stderr."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from mcp.server.lowlevel.server import Server


def serve(server: Server[Any]) -> None:
    """Serve until stdin ends."""

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(run)
