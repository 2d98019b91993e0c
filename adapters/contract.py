"""The contract of mcp-workbench for clients in Python (docs/clients.md): runs the steps of a case and reports them.

An SDK's adapter implements `Sdk`, and calls `notice` for what it observes.
"""

import asyncio
import json
import os
import re
import time

context = json.loads(os.environ["MCP_CONFORMANCE_CONTEXT"])
servers, setup, revision = context["servers"], context["client"], context["revision"]
user = setup.get("user") or {}
noticed = []
changed = asyncio.Event()

UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


# The lists: the method of the SDK, the member of its result, and the capability.
LISTS = {
    "tools": ("list_tools", "tools", "tools"),
    "resources": ("list_resources", "resources", "resources"),
    "resource-templates": ("list_resource_templates", "resourceTemplates", "resources"),
    "prompts": ("list_prompts", "prompts", "prompts"),
}

# Notifications of servers, with the events that they are.
EVENTS = {
    "notifications/tools/list_changed": "tools-changed",
    "notifications/prompts/list_changed": "prompts-changed",
    "notifications/resources/list_changed": "resources-changed",
    "notifications/resources/updated": "resource-updated",
    "notifications/message": "log",
}


# Requests that 2026-07-28 has replaced: by a subscription, or by the level in each call.
REMOVED = {"subscribe_resource", "unsubscribe_resource", "set_logging_level"}
FEATURES = {"resources", "resource-templates", "prompts", "read", "subscribe", "unsubscribe", "prompt", "complete", "log-level"}


class Skipped(Exception):
    """The SDK has no such step."""


class TimedOut(Exception):
    kind = "timed-out"


class Cancelled(Exception):
    kind = "cancelled"


def seconds(text):
    """Seconds of a duration such as `1s 500ms`; `None` without one."""
    return sum(int(count) * UNITS[unit] for count, unit in re.findall(r"(\d+)\s*([a-z]+)", text)) if text else None


def write(line):
    with open(context["report"], "a") as file:
        file.write(json.dumps(line) + "\n")


def now():
    return time.monotonic_ns() // 1000


def notice(event, server, detail=None):
    """Reports an event: one of `EVENTS`, `disconnected`, `progress` or `garbage`."""
    write({"event": {"at_us": now(), "event": event, "server": server, "detail": detail or {}}})
    noticed.append((event, server, detail or {}))
    changed.set()


def plain(value):
    return value.model_dump(mode="json", by_alias=True, exclude_none=True)


def notified(server, message):
    """Reports a message of the SDK's handler."""
    if isinstance(message, Exception):
        return notice("garbage", server, {"reason": str(message)})
    message = getattr(message, "root", message)
    if event := EVENTS.get(getattr(message, "method", None)):
        notice(event, server, plain(message).get("params"))


async def considered():
    """Waits for the user to respond."""
    await asyncio.sleep(seconds(user.get("delay")) or 0)


def filled_form(schema):
    """The user's answer to a form: an action, and the content."""
    form = user["form"]
    if not isinstance(form, dict):
        # Nobody answers if the user is absent.
        return "cancel" if form == "absent" else form, None
    defaults = {name: field["default"] for name, field in schema["properties"].items() if "default" in field}
    return "accept", {**defaults, **form["accept"]}


class Runner:
    """Runs the steps. Each connection is opened and closed in a task of its own, as task groups require."""

    def __init__(self, sdk):
        self.sdk, self.sessions, self.closing, self.started, self.subscriptions = sdk, {}, {}, {}, {}

    def one(self, options):
        return options.get("server") or next(iter(servers))

    async def held(self, context, timeout=None):
        """Enters a context in a task of its own. Returns its value, and what leaves it."""
        opened, close = asyncio.get_running_loop().create_future(), asyncio.Event()

        async def live():
            try:
                async with context as value:
                    opened.set_result(value)
                    await close.wait()
            except Exception as error:
                if not opened.done():
                    opened.set_exception(error)

        task = asyncio.create_task(live())
        try:
            value = await asyncio.wait_for(asyncio.shield(opened), timeout)
        except TimeoutError:
            task.cancel()
            raise TimedOut("no response in time") from None
        return value, (close, task)

    async def leave(self, close, task):
        close.set()
        await asyncio.wait([task], timeout=10)
        return {"ended": task.done()}

    async def open(self, server, timeout=None):
        timeout = seconds(timeout or setup.get("startup_timeout"))
        (session, value), self.closing[server] = await self.held(self.sdk.connection(server), timeout)
        self.sessions[server] = session
        return {"server": server, "transport": servers[server]["transport"], **value}

    async def close(self, server):
        for key in [key for key in self.subscriptions if key[0] == server]:
            await self.leave(*self.subscriptions.pop(key))
        self.sessions.pop(server, None)
        return await self.leave(*self.closing.pop(server))

    async def connect(self, options):
        if options.get("server") or len(servers) == 1:
            return await self.open(self.one(options), options.get("timeout"))
        results = await asyncio.gather(*(self.open(name, options.get("timeout")) for name in servers), return_exceptions=True)
        failed = [
            {"server": server, "kind": self.sdk.kind(error), "message": str(error)}
            for server, error in zip(servers, results)
            if isinstance(error, Exception)
        ]
        return {"connected": [{"server": server} for server in self.sessions], "failed": failed}

    async def list(self, options):
        tools = []
        for server in [options["server"]] if options.get("server") else list(self.sessions):
            listed = await self.in_time(self.pages(self.sessions[server], "tools"))
            tools += [{**tool, "server": server} for tool in listed]
        return {"tools": tools, "rejected": []}

    async def pages(self, session, kind):
        method, member, capability = LISTS[kind]
        items, cursor = [], None
        for _ in range(setup.get("max_pages", 1_000) if capability in self.sdk.declared(session) else 0):
            page = plain(await getattr(session, method)(cursor=cursor))
            items, cursor = items + page[member], page.get("nextCursor")
            if cursor is None:
                break
        if cursor is not None:
            raise RuntimeError("the list has too many pages")
        return items

    async def in_time(self, request):
        try:
            return await asyncio.wait_for(request, seconds(setup.get("call_timeout")))
        except TimeoutError:
            raise TimedOut("no response in time") from None

    async def feature(self, kind, options):
        """The steps for resources, prompts, completion and logging."""
        session = self.sessions[self.one(options)]
        if kind in LISTS:
            return {LISTS[kind][1]: await self.in_time(self.pages(session, kind))}
        method, arguments, capability = self.request(kind, options)
        feature, _, part = capability.partition(".")
        found = self.sdk.declared(session).get(feature)
        if found is None or (part and not found.get(part)):
            raise RuntimeError(f"the server does not declare {capability}")
        if method in REMOVED and revision >= "2026-07-28":
            return await self.replaced(kind, session, options)
        result = await self.in_time(getattr(session, method)(*arguments))
        return None if method in REMOVED else plain(result)

    async def replaced(self, kind, session, options):
        """The steps that are no requests in 2026-07-28."""
        if kind == "log-level":
            self.sdk.meta = {"io.modelcontextprotocol/logLevel": options["level"]}
            return
        key = self.one(options), options["uri"]
        if kind == "subscribe":
            _, self.subscriptions[key] = await self.held(self.sdk.subscription(session, options["uri"]))
        else:
            await self.leave(*self.subscriptions.pop(key))

    def request(self, kind, options):
        """The method of the SDK for a step, its arguments, and the capability."""
        match kind:
            case "read":
                return "read_resource", [options["uri"]], "resources"
            case "subscribe" | "unsubscribe":
                return f"{kind}_resource", [options["uri"]], "resources.subscribe"
            case "prompt":
                return "get_prompt", [options["name"], options.get("arguments")], "prompts"
            case "log-level":
                return "set_logging_level", [options["level"]], "logging"
        argument = {"name": options["argument"], "value": options["value"]}
        return "complete", [self.sdk.reference(options), argument, options.get("context")], "completions"

    async def call(self, options):
        server, timeout = self.one(options), seconds(options.get("timeout") or setup.get("call_timeout"))
        return await self.sdk.call(self.sessions[server], server, options["tool"], options.get("arguments"), timeout)

    async def start(self, options):
        self.started[options["as"]] = asyncio.create_task(self.call(options))
        await asyncio.sleep(0)

    async def finish(self, options):
        try:
            return await self.started[options["call"]]
        except asyncio.CancelledError:
            raise Cancelled("the call was cancelled") from None

    async def cancel(self, options):
        self.started[options["call"]].cancel()
        return await self.finish(options)

    async def wait(self, options):
        deadline = time.monotonic() + (seconds(options.get("within")) or 2)
        while True:
            for found in noticed:
                if found[0] == options["event"] and options.get("server") in (None, found[1]):
                    noticed.remove(found)
                    return found[2]
            changed.clear()
            try:
                await asyncio.wait_for(changed.wait(), deadline - time.monotonic())
            except TimeoutError:
                raise TimedOut(f"no {options['event']}") from None

    async def disconnect(self, options):
        for server in [options["server"]] if options.get("server") else list(self.closing):
            await self.close(server)
        return {"ended": True}

    async def reconnect(self, options):
        if self.one(options) in self.closing:
            await self.close(self.one(options))
        return await self.open(self.one(options))

    async def roots(self, options):
        user["roots"] = options["roots"]
        # Servers of 2026-07-28 are not notified: they request the roots when they need them.
        for session in self.sessions.values() if revision < "2026-07-28" else []:
            await session.send_roots_list_changed()

    async def perform(self, step, server, action):
        began = now()
        try:
            outcome = {"value": await action()}
        except Skipped as error:
            outcome = {"skipped": str(error)}
        except Exception as error:
            outcome = {"error": {"kind": self.sdk.kind(error), "message": str(error)}}
            code = getattr(getattr(error, "error", None), "code", None)
            if isinstance(code, int):
                outcome["error"]["code"] = code
        write({"step": {"step": step, "server": server, "began_us": began, "ended_us": now(), "outcome": outcome}})

    async def step(self, kind, options):
        if kind in FEATURES:
            return await self.feature(kind, options)
        action = {"await": self.wait}.get(kind) or getattr(self, kind, None)
        if action is None or options.get("qualified"):
            raise Skipped(f"an SDK has no `{kind}`")
        return await action(options)

    async def run(self):
        only = next(iter(servers)) if len(servers) == 1 else None
        if not any("connect" in step for step in context["steps"]):
            for server in servers:
                await self.perform(None, server, lambda server=server: self.open(server))
        for index, step in enumerate(context["steps"]):
            (kind, options), = step.items()
            server = options.get("server") or only
            await self.perform(index, server, lambda kind=kind, options=options: self.step(kind, options))
        for server in list(self.closing):
            await self.perform(None, server, lambda server=server: self.close(server))


def run(sdk):
    asyncio.run(Runner(sdk).run())
    os._exit(0)
