"""A client on the Python SDK 2.x (`mcp`) as a subject of `mcp-workbench conformance`."""

import warnings
from contextlib import asynccontextmanager

import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult
from mcp.shared.exceptions import MCPError

from authorization import provider
from contract import considered, filled_form, notice, notified, plain, revision, run, servers, setup, user

warnings.simplefilter("ignore")


def target(endpoint):
    if endpoint["transport"] == "stdio":
        program, *arguments = endpoint["command"]
        return StdioServerParameters(command=program, args=arguments)
    result = lambda code, state, issuer: AuthorizationCodeResult(code=code, state=state, iss=issuer)
    options = {"headers": setup.get("headers"), "auth": provider(endpoint["url"], result)}
    if endpoint["transport"] == "sse":
        return sse_client(endpoint["url"], **options)
    return streamable_http_client(endpoint["url"], http_client=create_mcp_http_client(**options))


async def elicited(_, params):
    await considered()
    if getattr(params, "mode", "form") == "url":
        return types.ElicitResult(action=user["url"])
    action, content = filled_form(params.requested_schema)
    return types.ElicitResult(action=action, content=content)


async def sampled(_, params):
    await considered()
    content = types.TextContent(type="text", text=user["sampling"])
    return types.CreateMessageResult(role="assistant", model="model", stop_reason="endTurn", content=content)


async def rooted(_):
    return types.ListRootsResult(roots=[types.Root(**root) for root in user["roots"]])


class Sdk:
    # The metadata of calls: the log level.
    meta = None

    @asynccontextmanager
    async def connection(self, server):
        async def handle(message):
            notified(server, message)

        async with Client(
            target(servers[server]),
            mode="auto" if revision >= "2026-07-28" else "legacy",
            elicitation_callback=elicited if user.get("form") or user.get("url") else None,
            sampling_callback=sampled if "sampling" in user else None,
            list_roots_callback=rooted if "roots" in user else None,
            message_handler=handle,
            client_info=types.Implementation(name="python-sdk-2", version="1.0.0"),
        ) as client:
            yield client, {
                "revision": client.protocol_version,
                "server_info": plain(client.server_info),
                "capabilities": plain(client.server_capabilities),
                "instructions": client.instructions,
            }

    def declared(self, client):
        return plain(client.server_capabilities)

    def subscription(self, client, uri):
        return client.listen(resource_subscriptions=[uri])

    def reference(self, options):
        if "prompt" in options:
            return types.PromptReference(type="ref/prompt", name=options["prompt"])
        return types.ResourceTemplateReference(type="ref/resource", uri=options["template"])

    async def call(self, client, server, tool, arguments, timeout):
        async def progress(value, total, message):
            notice("progress", server, {"progress": value, "total": total, "message": message})

        return plain(await client.call_tool(tool, arguments, timeout, progress, meta=self.meta))

    def kind(self, error):
        if isinstance(error, MCPError):
            return {types.REQUEST_TIMEOUT: "timed-out", types.CONNECTION_CLOSED: "closed"}.get(error.code, "rpc-error")
        return getattr(error, "kind", "closed" if isinstance(error, httpx2.TransportError) else "rejected")


run(Sdk())
