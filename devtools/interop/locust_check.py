"""Workers of mcp-workbench against a Locust master, with a server that counts calls.

    python locust_check.py MCP_WORKBENCH DIRECTORY

Prints one JSON object per check: name, passed and details. Everything listens on 127.0.0.1.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PROGRAM, DIRECTORY = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LOCUSTFILE = os.path.join(DIRECTORY, "locustfile.py")
LOCUST = [sys.executable, "-m", "locust", "-f", LOCUSTFILE, "--master", "--master-bind-host", "127.0.0.1"]
TOOL = {"name": "echo", "inputSchema": {"type": "object"}}
REVISION = "2025-11-25"


class Counter(ThreadingHTTPServer):
    """An MCP server with one tool, which counts its calls."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, delay):
        super().__init__(("127.0.0.1", 0), Handler)
        self.delay, self.calls, self.lock = delay, 0, threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """A killed worker breaks its connections."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/mcp"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            return self.answer(202, None)
        method, result = message["method"], None
        if method == "initialize":
            info = {"name": "counter", "version": "1"}
            result = {"protocolVersion": REVISION, "capabilities": {"tools": {}}, "serverInfo": info}
        elif method == "tools/list":
            result = {"tools": [TOOL]}
        elif method == "tools/call":
            with self.server.lock:
                self.server.calls += 1
            time.sleep(self.server.delay)
            result = {"content": [{"type": "text", "text": "hello"}]}
        if result is None:
            error = {"code": -32601, "message": "unknown method"}
            return self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "error": error})
        self.answer(200, {"jsonrpc": "2.0", "id": message["id"], "result": result})

    def do_GET(self):
        self.answer(405, None)

    def do_DELETE(self):
        self.answer(405, None)

    def answer(self, status, body):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Run:
    """A master and its workers. Leaving it stops them."""

    def __init__(self, name):
        self.directory = os.path.join(DIRECTORY, name)
        os.makedirs(self.directory, exist_ok=True)
        self.histograms = os.path.join(self.directory, "latency.hlog")
        self.json = os.path.join(self.directory, "stats")
        self.port, self.web = free_port(), free_port()
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()

    def start(self, name, command):
        with open(os.path.join(self.directory, f"{name}.log"), "a", encoding="utf-8") as log:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.directory)
        self.processes.append(process)
        return process

    def master(self, *arguments):
        return self.start(
            "master",
            [*LOCUST, "--master-bind-port", str(self.port), "--mcp-histograms", self.histograms, *arguments],
        )

    def headless(self, users, seconds, *arguments):
        return self.master(
            "--headless", "--users", str(users), "--spawn-rate", str(users), "--run-time", f"{seconds}s",
            "--expect-workers", "2", "--json-file", self.json, *arguments,
        )  # fmt: skip

    def workers(self, server, *arguments):
        command = [PROGRAM, "bench", "worker", "--locust", f"127.0.0.1:{self.port}", "--tool", "echo", "--url", server.url]
        return [self.start(f"worker-{number}", [*command, *arguments]) for number in (1, 2)]

    def total(self):
        """Requests and failures in the JSON file of Locust."""
        path = self.json if os.path.exists(self.json) else f"{self.json}.json"
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)
        return sum(entry["num_requests"] for entry in entries), sum(entry["num_failures"] for entry in entries)

    def merged(self):
        command = [PROGRAM, "bench", "merge-histograms", "--json", self.histograms]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)

    def get(self, path, data=None):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.web}{path}", data, timeout=10) as response:
            return json.loads(response.read() or b"null")

    def wait_for(self, what, probe, seconds=30):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                if probe():
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise AssertionError(f"{what} did not happen within {seconds} s")


def equal(**values):
    assert len(set(values.values())) == 1, f"not equal: {values}"


def exact_counts(run):
    """Two workers: calls of the server, statistics and histograms are equal, and both workers end."""
    server = Counter(0.002)
    master = run.headless(12, 4)
    workers = run.workers(server, "--expect-text", "hello")
    code = master.wait(60)
    ends = [worker.wait(5) for worker in workers]
    (requests, failures), merged = run.total(), run.merged()
    shares = [worker["count"] for worker in merged["workers"].values()]
    equal(server=server.calls, locust=requests, histograms=merged["total"]["count"], workers=sum(shares))
    assert (failures, code, ends, len(shares)) == (0, 0, [0, 0], 2), (failures, code, ends, shares)
    assert merged["total"]["latency"]["p50_us"] >= 2_000, merged
    return f"{server.calls} calls, {' + '.join(map(str, shares))}; p99 {merged['total']['latency']['p99_us']} us"


def constant_rate(run):
    """A rate per user: ten users with 20 calls per second each."""
    server = Counter(0)
    master = run.headless(10, 4)
    run.workers(server, "--rate-per-user", "20")
    code = master.wait(60)
    requests, failures = run.total()
    equal(server=server.calls, locust=requests)
    assert (failures, code) == (0, 0) and 600 <= requests <= 820, (requests, failures, code)
    return f"{requests} calls at 200 per second"


def slow_calls(run):
    """Calls that are open at the end are waited for, so that they are not failures."""
    server = Counter(1.2)
    master = run.headless(6, 2)
    run.workers(server)
    code = master.wait(60)
    requests, failures = run.total()
    equal(server=server.calls, locust=requests)
    assert failures == 0 and code == 0 and requests >= 12, (requests, failures, code)
    return f"{requests} calls of 1.2 s"


def stuck_calls(run):
    """Calls without a response are counted once, as failures."""
    server = Counter(60)
    master = run.headless(6, 2, "--mcp-drain", "0.5")
    run.workers(server)
    code = master.wait(60)
    requests, failures = run.total()
    equal(server=server.calls, locust=requests, failures=failures, users=6)
    assert code == 1, code
    return f"{failures} unfinished calls"


def lost_worker(run):
    """The master fails if a worker was killed."""
    server = Counter(0.002)
    master = run.headless(8, 8)
    victim, other = run.workers(server)
    run.wait_for("load", lambda: server.calls > 200)
    victim.kill()
    code = master.wait(60)
    assert code == 3, f"exit code {code}"
    assert other.wait(5) == 0
    requests, _ = run.total()
    assert 0 < requests <= server.calls, (requests, server.calls)
    return f"{requests} of {server.calls} calls were reported; exit code 3"


def restarted_master(run):
    """A master is killed: the users stop, and the workers register at the next one, which starts and stops them twice."""
    server = Counter(0.002)
    web = ["--web-host", "127.0.0.1", "--web-port", str(run.web)]

    def ready(count):
        workers = run.get("/stats/requests")["workers"]
        return len([worker for worker in workers if worker["state"] == "ready"]) == count

    def requests():
        return {entry["name"]: entry["num_requests"] for entry in run.get("/stats/requests")["stats"]}["Aggregated"]

    def start(users):
        return run.get("/swarm", f"user_count={users}&spawn_rate=50".encode())["success"]

    first = run.master(*web)
    run.workers(server)
    run.wait_for("two workers", lambda: ready(2))
    assert start(6)
    run.wait_for("load", lambda: server.calls > 100)
    first.kill()
    first.wait()
    time.sleep(2.5)
    before = server.calls
    time.sleep(0.5)
    assert server.calls == before, "the users go on without a master"
    run.master(*web)
    run.wait_for("two workers at the next master", lambda: ready(2))
    counts = []
    for users in (4, 9):
        before = server.calls
        assert start(users)
        run.wait_for("load", lambda: server.calls > before + 200)
        run.get("/stop", b"")
        run.wait_for("two workers after the stop", lambda: ready(2))
        calls = server.calls - before
        # The page has the statistics of some seconds ago.
        run.wait_for(f"statistics of {calls} calls", lambda: requests() == calls, 10)
        equal(server=server.calls - before, histograms=run.merged()["total"]["count"])
        counts.append(calls)
    return f"{counts[0]} and {counts[1]} calls after the restart"


CHECKS = [exact_counts, constant_rate, slow_calls, stuck_calls, lost_worker, restarted_master]


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    os.makedirs(DIRECTORY, exist_ok=True)
    written = subprocess.run([PROGRAM, "bench", "locustfile"], capture_output=True, check=True).stdout
    with open(LOCUSTFILE, "wb") as file:
        file.write(written)
    for check in CHECKS if len(sys.argv) < 4 else [check for check in CHECKS if check.__name__ in sys.argv[3:]]:
        started = time.monotonic()
        with Run(check.__name__) as run:
            try:
                result = {"passed": True, "details": check(run)}
            except Exception as error:  # every failure is a result
                result = {"passed": False, "details": f"{type(error).__name__}: {error}"}
        seconds = round(time.monotonic() - started, 1)
        print(json.dumps({"name": check.__name__.replace("_", "-"), **result, "seconds": seconds}), flush=True)


if __name__ == "__main__":
    main()
