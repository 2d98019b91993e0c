"""The Python SDK as a client: every feature that it has, once, over one transport, in either era."""

import asyncio
import json
import sys
import traceback
import warnings

import mcp_types as types
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters

LIMIT = 15
"""Seconds that one step may take: one that is never answered must not keep the others from being tried."""

USAGE = "usage: python.py stdio|http|sse legacy|modern <url | command [arguments...]>"

# What 2026-07-28 deprecates is still to be tried.
warnings.simplefilter("ignore")

logged: list[object] = []


# What the user types, by the names of the fields.
TYPED = {"username": "ada", "email": "ada@example.com", "name": "Ada", "color": "teal"}


async def elicited(context, params):
    content = {field: TYPED[field] for field in params.requested_schema["properties"]}
    return types.ElicitResult(action="accept", content=content)


async def sampled(context, params):
    content = types.TextContent(type="text", text="sampled by interop")
    return types.CreateMessageResult(role="assistant", model="interop-model", stop_reason="endTurn", content=content)


async def rooted(context):
    return types.ListRootsResult(roots=[types.Root(uri="file:///interop", name="interop")])


async def log(params):
    logged.append(params.data)


class Steps:
    """One method for each step; its value is what the client saw."""

    def __init__(self, client: Client, modern: bool):
        self.client, self.modern = client, modern

    async def call(self, name, arguments=None, **options):
        return (await self.client.call_tool(name, arguments or {}, **options)).content[0].text

    async def every(self, listing, key):
        """All pages of a list."""
        items, cursor = [], None
        while True:
            page = await listing(cursor=cursor)
            items += getattr(page, key)
            cursor = page.next_cursor
            if cursor is None:
                return items

    async def read(self, uri):
        return (await self.client.read_resource(uri)).contents[0]

    async def list_tools(self):
        return [tool.name for tool in await self.every(self.client.list_tools, "tools")]

    async def call_text(self):
        return await self.call("test_simple_text")

    async def call_structured(self):
        return (await self.client.call_tool("test_structured_content", {"city": "Oslo"})).structured_content

    async def call_error(self):
        result = await self.client.call_tool("test_error_handling", {})
        return {"isError": result.is_error, "text": result.content[0].text}

    async def list_resources(self):
        return [str(resource.uri) for resource in await self.every(self.client.list_resources, "resources")]

    async def read_resource(self):
        return (await self.read("test://static-text")).text

    async def read_blob(self):
        return (await self.read("test://static-binary")).mime_type

    async def list_templates(self):
        templates = await self.every(self.client.list_resource_templates, "resource_templates")
        return [template.uri_template for template in templates]

    async def read_template(self):
        return (await self.read("test://template/7/data")).text

    async def list_prompts(self):
        return [prompt.name for prompt in await self.every(self.client.list_prompts, "prompts")]

    async def get_prompt(self):
        arguments = {"arg1": "hello", "arg2": "world"}
        prompt = await self.client.get_prompt("test_prompt_with_arguments", arguments)
        return prompt.messages[0].content.text

    async def complete(self):
        ref = types.PromptReference(type="ref/prompt", name="test_prompt_with_arguments")
        return (await self.client.complete(ref, {"name": "arg1", "value": "par"})).completion.values

    async def progress(self):
        steps = []

        async def seen(progress, total, message):
            steps.append(progress)

        await self.client.call_tool("test_tool_with_progress", {}, progress_callback=seen)
        return steps

    async def elicitation(self):
        if self.modern:
            return await self.call("test_input_required_result_elicitation")
        return await self.call("test_elicitation", {"message": "Who are you?"})

    async def sampling(self):
        if self.modern:
            return await self.call("test_input_required_result_sampling")
        return await self.call("test_sampling", {"prompt": "Say something"})

    async def roots(self):
        return await self.call("test_input_required_result_list_roots" if self.modern else "test_list_roots")

    async def several_inputs(self):
        return await self.call("test_input_required_result_multiple_inputs")

    async def several_rounds(self):
        return await self.call("test_input_required_result_multi_round")

    async def logging(self):
        if self.modern:
            meta = {"io.modelcontextprotocol/logLevel": "debug"}
            await self.call("test_tool_with_logging", meta=meta)
        else:
            await self.client.set_logging_level("debug")
            await self.call("test_tool_with_logging")
        return [data for data in logged if str(data).startswith("Tool ")]

    async def list_changed(self):
        async with self.client.listen(tools_list_changed=True) as subscription:
            await self.call("test_trigger_tool_change")
            async for _ in subscription:
                return "told"

    async def ping(self):
        await self.client.send_ping()
        return {}


def reason(error):
    """What went wrong, in a line or two; where it did goes to standard error."""
    traceback.print_exception(error)
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return "".join(traceback.format_exception_only(error)).strip()


COMMON = (
    "list-tools call-text call-structured call-error list-resources read-resource read-blob list-templates "
    "read-template list-prompts get-prompt complete progress elicitation sampling roots logging"
).split()
OF_MODERN = ["several-inputs", "several-rounds", "list-changed"]
OF_LEGACY = ["ping"]


async def run(transport, modern, target):
    servers = {
        "stdio": lambda: StdioServerParameters(command=target[0], args=target[1:]),
        "http": lambda: target[0],
        "sse": lambda: sse_client(target[0]),
    }
    seen, failed = {}, {}
    try:
        async with Client(
            servers[transport](),
            mode="auto" if modern else "legacy",
            elicitation_callback=elicited,
            sampling_callback=sampled,
            list_roots_callback=rooted,
            logging_callback=log,
        ) as client:
            seen["connect"] = client.protocol_version
            steps = Steps(client, modern)
            for name in COMMON + (OF_MODERN if modern else OF_LEGACY):
                try:
                    seen[name] = await asyncio.wait_for(getattr(steps, name.replace("-", "_"))(), LIMIT)
                except Exception as error:
                    failed[name] = reason(error)
        seen["close"] = None
    except BaseException as error:
        failed["close" if seen else "connect"] = reason(error)
    print(json.dumps({"sdk": "python", "seen": seen, "failed": failed}), flush=True)
    return 1 if failed else 0


def main():
    arguments = sys.argv[1:]
    if len(arguments) < 3 or arguments[0] not in ("stdio", "http", "sse") or arguments[1] not in ("legacy", "modern"):
        sys.exit(USAGE)
    sys.exit(asyncio.run(run(arguments[0], arguments[1] == "modern", arguments[2:])))


if __name__ == "__main__":
    main()
