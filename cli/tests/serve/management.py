"""Drives the management API with the standard library: login, call, events, a form of a server, and removal.

Usage: management.py API_URL TOKEN SERVER_URL WORKBENCH
"""

import json
import sys
import threading
import urllib.error
import urllib.request

api, token, server, workbench = sys.argv[1:]
TIMEOUT = 60


def open_url(method, path, body=None):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(
        urllib.request.Request(api + path, data=data, headers=headers, method=method), timeout=TIMEOUT
    )


def request(method, path, body=None):
    """Returns the HTTP status and the JSON body, also of an error."""
    try:
        with open_url(method, path, body) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def check(condition, found):
    if not condition:
        sys.exit(f"unexpected: {found}")


events = []
changed = threading.Condition()


def follow(stream):
    name = None
    for line in stream:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text[len("event: ") :]
        elif text.startswith("data: "):
            with changed:
                events.append((name, json.loads(text[len("data: ") :])))
                changed.notify_all()


def wait_for(wanted):
    with changed:
        check(changed.wait_for(lambda: any(wanted(*event) for event in events), TIMEOUT), events)


def has_status(status):
    return lambda name, data: name == "status" and data["server"] == "notes" and data["status"] == status


stream = open_url("GET", "/events")
threading.Thread(target=follow, args=(stream,), daemon=True).start()

entry = {"url": server, "permissions": {"deny": ["reverse"]}, "scopes": ["read"], "startupTimeoutMs": 20000}
status, servers = request("POST", "/mcp", {"name": "notes", "config": entry})
check(status == 200 and servers["notes"]["status"] == "needs_auth", servers)
wait_for(has_status("needs_auth"))
status, error = request("POST", "/mcp/notes/connect")
check(status == 502 and error["error"]["kind"] == "login-required", error)

# The mock user consents at once, and the redirect ends at the API.
status, login = request("POST", "/mcp/notes/auth")
check(status == 200, login)
with urllib.request.urlopen(login["authorizationUrl"], timeout=TIMEOUT) as page:
    text = page.read().decode()
check("You can close this window" in text, text)
wait_for(has_status("connected"))

status, tools = request("GET", "/tools")
names = [tool["name"] for tool in tools["tools"]]
check("mcp__notes__echo" in names, tools)
status, called = request("POST", "/tools/call", {"name": "mcp__notes__echo", "arguments": {"text": "hello"}})
check(status == 200 and called["content"][0]["text"] == "hello", called)
status, denied = request("POST", "/tools/call", {"name": "mcp__notes__reverse", "arguments": {}, "approve": True})
check(status == 403 and denied["error"]["kind"] == "denied", denied)
wait_for(lambda name, data: name == "call" and data["name"] == "mcp__notes__echo" and data["outcome"] == "ok")
wait_for(lambda name, data: name == "call" and data["name"] == "mcp__notes__reverse" and data["outcome"] == "denied")

# A server asks the user during a call.
config = {"command": workbench, "args": ["mock", "stdio", "everything"]}
status, servers = request("POST", "/mcp", {"name": "asking", "config": config})
check(status == 200 and servers["asking"]["status"] == "connected", servers)
results = []


def call_asking():
    results.append(request("POST", "/tools/call", {"name": "mcp__asking__test_elicitation", "arguments": {"message": "Who?"}}))


call = threading.Thread(target=call_asking)
call.start()
wait_for(lambda name, data: name == "user-request" and data["server"] == "asking")
status, asked = request("GET", "/requests")
check(status == 200 and len(asked) == 1 and asked[0]["kind"] == "form" and asked[0]["message"] == "Who?", asked)
path = f"/requests/{asked[0]['id']}"
status, error = request("POST", path, {"action": "accept", "content": {"username": 5}})
check(status == 400 and error["error"]["kind"] == "invalid-response", error)
content = {name: "x@example.com" for name in asked[0]["schema"]["properties"]}
status, asked = request("POST", path, {"action": "accept", "content": content})
check(status == 200 and asked == [], asked)
call.join(TIMEOUT)
status, called = results[0]
check(status == 200 and "x@example.com" in called["content"][0]["text"], called)
status, error = request("POST", path, {"action": "decline"})
check(status == 404 and error["error"]["kind"] == "unknown-request", error)

status, removed = request("DELETE", "/mcp/notes/auth")
check(status == 200 and removed == {"success": True, "removed": True, "revocation": "done"}, removed)
status, servers = request("DELETE", "/mcp/notes")
check(status == 200 and "notes" not in servers, servers)
status, error = request("POST", "/tools/call", {"name": "mcp__notes__echo", "arguments": {}})
check(status == 404 and error["error"]["kind"] == "unknown-tool", error)
print("done")
