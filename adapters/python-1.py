"""A client on the Python SDK 1.x (`mcp`) as a subject of `mcp-workbench conformance`."""

from contextlib import asynccontextmanager
from datetime import timedelta

import httpx
from mcp import ClientSession, StdioServerParameters, stdio_client, types
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.exceptions import McpError

from authorization import provider
from contract import considered, filled_form, notice, notified, plain, run, servers, setup, user


def transport(endpoint):
    if endpoint["transport"] == "stdio":
        program, *arguments = endpoint["command"]
        return stdio_client(StdioServerParameters(command=program, args=arguments))
    client = sse_client if endpoint["transport"] == "sse" else streamablehttp_client
    authorization = provider(endpoint["url"], lambda code, state, _: (code, state))
    return client(endpoint["url"], headers=setup.get("headers"), auth=authorization)


async def elicited(_, params):
    await considered()
    if getattr(params, "mode", "form") == "url":
        return types.ElicitResult(action=user["url"])
    action, content = filled_form(params.requestedSchema)
    return types.ElicitResult(action=action, content=content)


async def sampled(_, params):
    await considered()
    content = types.TextContent(type="text", text=user["sampling"])
    return types.CreateMessageResult(role="assistant", model="model", stopReason="endTurn", content=content)


async def rooted(_):
    return types.ListRootsResult(roots=[types.Root(**root) for root in user["roots"]])


class Sdk:
    @asynccontextmanager
    async def connection(self, server):
        async def handle(message):
            notified(server, message)

        async with (
            transport(servers[server]) as (read, write, *_),
            ClientSession(
                read,
                write,
                elicitation_callback=elicited if user.get("form") or user.get("url") else None,
                sampling_callback=sampled if "sampling" in user else None,
                list_roots_callback=rooted if "roots" in user else None,
                message_handler=handle,
                client_info=types.Implementation(name="python-sdk-1", version="1.0.0"),
            ) as session,
        ):
            result = plain(await session.initialize())
            yield session, {
                "revision": result["protocolVersion"],
                "server_info": result["serverInfo"],
                "capabilities": result["capabilities"],
                "instructions": result.get("instructions"),
            }

    def declared(self, session):
        return plain(session.get_server_capabilities())

    def reference(self, options):
        if "prompt" in options:
            return types.PromptReference(type="ref/prompt", name=options["prompt"])
        return types.ResourceTemplateReference(type="ref/resource", uri=options["template"])

    async def call(self, session, server, tool, arguments, timeout):
        async def progress(value, total, message):
            notice("progress", server, {"progress": value, "total": total, "message": message})

        limit = timedelta(seconds=timeout) if timeout else None
        result = await session.call_tool(tool, arguments, limit, progress)
        return plain(result)

    def kind(self, error):
        if isinstance(error, McpError):
            return {408: "timed-out", types.CONNECTION_CLOSED: "closed"}.get(error.error.code, "rpc-error")
        return getattr(error, "kind", "closed" if isinstance(error, httpx.TransportError) else "rejected")


run(Sdk())
