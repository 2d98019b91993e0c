"""The notebook on the Python SDK, over one transport, in both eras: the same small server as `notebook.mjs`."""

import socket
import sys
from typing import Annotated

import anyio
import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.types import Completion, PromptReference
from pydantic import BaseModel

USAGE = "usage: server_python.py stdio|http|sse"

server = MCPServer("notebook-python", version="1.0.0", log_level="ERROR")


class Sum(BaseModel):
    sum: float


class Visitor(BaseModel):
    name: str


def visitor() -> Elicit[Visitor]:
    return Elicit("Who is there?", Visitor)


@server.tool(description="Adds two numbers")
def add(a: float, b: float) -> Sum:
    return Sum(sum=a + b)


@server.tool(description="Fails", structured_output=False)
def fail(city: str) -> str:
    raise ToolError(f"nothing is known of {city}")


@server.tool(description="Counts aloud", structured_output=False)
async def count(to: int, ctx: Context) -> str:
    for progress in range(1, to + 1):
        await ctx.report_progress(progress, to)
    return f"counted to {to}"


@server.tool(description="Greets by the name that it asks for", structured_output=False)
async def greet(who: Annotated[Visitor, Resolve(visitor)]) -> str:
    return f"Hello, {who.name}!"


@server.tool(description="Adds a tool", structured_output=False)
async def grow(ctx: Context) -> str:
    server.add_tool(lambda: "I am new", name="grown", description="Is new", structured_output=False)
    await ctx.notify_tools_changed()
    return "there is one more"


@server.resource("note://today", mime_type="text/plain")
def today() -> str:
    return "Nothing on this day"


@server.resource("note://day/{day}", mime_type="text/plain")
def of_a_day(day: str) -> str:
    return f"Nothing on {day}"


@server.prompt()
def letter(to: str) -> str:
    return f"Write a letter to {to}"


@server.completion()
async def complete(ref, argument, context):
    known = ["ada", "adam", "eve"] if isinstance(ref, PromptReference) else ["monday", "tuesday", "wednesday"]
    return Completion(values=[value for value in known if value.startswith(argument.value)])


def main():
    transport = sys.argv[1] if len(sys.argv) == 2 else ""
    if transport == "stdio":
        return server.run()
    apps = {"http": (server.streamable_http_app, "/mcp"), "sse": (server.sse_app, "/sse")}
    if transport not in apps:
        sys.exit(USAGE)
    app, path = apps[transport]
    listener = socket.create_server(("127.0.0.1", 0))
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}{path}", flush=True)
    config = uvicorn.Config(app(), log_level="error")
    anyio.run(lambda: uvicorn.Server(config).serve(sockets=[listener]))


if __name__ == "__main__":
    main()
