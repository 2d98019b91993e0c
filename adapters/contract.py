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
    """Reports an event: `tools-changed`, `disconnected`, `progress` or `garbage`."""
    write({"event": {"at_us": now(), "event": event, "server": server, "detail": detail or {}}})
    noticed.append((event, server, detail or {}))
    changed.set()


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
        self.sdk, self.sessions, self.closing, self.started = sdk, {}, {}, {}

    def one(self, options):
        return options.get("server") or next(iter(servers))

    async def open(self, server, timeout=None):
        opened, close = asyncio.get_running_loop().create_future(), asyncio.Event()

        async def live():
            try:
                async with self.sdk.connection(server) as (session, value):
                    self.sessions[server] = session
                    opened.set_result(value)
                    await close.wait()
            except Exception as error:
                if not opened.done():
                    opened.set_exception(error)

        task = asyncio.create_task(live())
        try:
            value = await asyncio.wait_for(asyncio.shield(opened), seconds(timeout or setup.get("startup_timeout")))
        except TimeoutError:
            task.cancel()
            raise TimedOut("no response to the handshake") from None
        self.closing[server] = (close, task)
        return {"server": server, "transport": servers[server]["transport"], **value}

    async def close(self, server):
        close, task = self.closing.pop(server)
        self.sessions.pop(server, None)
        close.set()
        await asyncio.wait([task], timeout=10)
        return {"ended": task.done()}

    async def connect(self, options):
        if options.get("server") or len(servers) == 1:
            return await self.open(self.one(options), options.get("timeout"))
        results = await asyncio.gather(*(self.open(name, options.get("timeout")) for name in servers), return_exceptions=True)
        failed = [
            {"server": server, "kind": self.sdk.kind(error), "message": str(error)}
            for server, error in zip(servers, results)
            if isinstance(error, Exception)
        ]
        return {"connected": list(self.sessions), "failed": failed}

    async def list(self, options):
        tools = []
        for server in [options["server"]] if options.get("server") else list(self.sessions):
            try:
                listed = await asyncio.wait_for(self.pages(self.sessions[server]), seconds(setup.get("call_timeout")))
            except TimeoutError:
                raise TimedOut("no response to `tools/list`") from None
            tools += [{**tool, "server": server} for tool in listed]
        return {"tools": tools, "rejected": []}

    async def pages(self, session):
        tools, cursor = [], None
        for _ in range(setup.get("max_pages", 1_000) if self.sdk.has_tools(session) else 0):
            page, cursor = await self.sdk.tools(session, cursor)
            tools += page
            if cursor is None:
                break
        if cursor is not None:
            raise RuntimeError("the list has too many pages")
        return tools

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
        for session in self.sessions.values():
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
