"""Locust master for workers of mcp-workbench, which make the calls.

    locust -f locustfile.py --master --headless --users 100 --spawn-rate 10 --run-time 1m --expect-workers 2
    mcp-workbench bench worker --locust 127.0.0.1:5557 --tool echo --url http://127.0.0.1:8080/mcp   # on each machine
    mcp-workbench bench merge-histograms latency.hlog                                                 # percentiles
"""

import logging
import time

import gevent
from locust import User, constant, events, task
from locust.runners import STATE_MISSING, MasterRunner

ACTIVE = ("ready", "spawning", "running")


class McpUser(User):
    """Names the users. A worker of mcp-workbench does not execute this class."""

    wait_time = constant(1)

    @task
    def call(self):
        raise NotImplementedError("start workers with `mcp-workbench bench worker`, not with `locust --worker`")


@events.init_command_line_parser.add_listener
def add_arguments(parser):
    # Not on the web page: its visitors must not choose files of the master.
    parser.add_argument(
        "--mcp-histograms",
        metavar="FILE",
        default="latency.hlog",
        include_in_web_ui=False,
        help="File for the latencies of all workers, as a log of HdrHistogram. Each test replaces it.",
    )
    parser.add_argument(
        "--mcp-drain",
        metavar="SECONDS",
        type=float,
        default=10.0,
        include_in_web_ui=False,
        help="How long calls in flight may take when a test ends [default: 10]. Others fail as `unfinished`. "
        "--stop-timeout replaces it if longer.",
    )
    parser.add_argument(
        "--mcp-lost-worker-exit-code",
        metavar="CODE",
        type=int,
        default=3,
        include_in_web_ui=False,
        help="Exit code if a worker was lost during a test [default: 3]. Its last seconds are missing in the statistics.",
    )


class Collector:
    """What Locust itself does not collect: histograms, ends of calls, lost workers."""

    def __init__(self, environment):
        self.environment = environment
        self.options = environment.parsed_options
        self.started = time.time()
        self.testing = False
        self.members = set()
        self.lost = set()
        self.draining = set()

    def start(self, **_):
        runner = self.environment.runner
        self.started = time.time()
        self.lost = set()
        self.members = {client.id for client in runner.clients.all if client.state in ACTIVE}
        self.testing = True
        self.write_header()

    def write_header(self, **_):
        with open(self.options.mcp_histograms, "w", encoding="ascii") as log:
            log.write("#[Histogram log format version 1.3]\n")
            log.write(f"#[StartTime: {self.started:.3f} (seconds since epoch)]\n")
            log.write("#latencies in microseconds, from the scheduled time of each call; one tag per worker\n")
            log.write('"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n')

    def add_histogram(self, environment, msg):
        data = msg.data
        tag = "".join(c if c.isalnum() or c in "-_." else "_" for c in msg.node_id)
        start = max(data["start"] - self.started, 0.0)
        line = f"Tag={tag},{start:.3f},{data['duration']:.3f},{data['max_us']:.3f},{data['histogram']}\n"
        with open(self.options.mcp_histograms, "a", encoding="ascii") as log:
            log.write(line)
        if data["unsent"]:
            logging.warning("worker %s could not send %d calls that were due", msg.node_id, data["unsent"])

    def joined(self, client_id, **_):
        if self.testing:
            self.members.add(client_id)

    def watch(self):
        while True:
            gevent.sleep(0.5)
            if self.testing:
                self.find_lost()

    def find_lost(self):
        clients = {client.id: client.state for client in self.environment.runner.clients.all}
        missing = {id for id in self.members if clients.get(id, STATE_MISSING) == STATE_MISSING} - self.lost
        for id in sorted(missing):
            self.lost.add(id)
            logging.error("lost worker %s: the statistics are incomplete", id)
            self.environment.process_exit_code = self.options.mcp_lost_worker_exit_code

    def stop(self, **_):
        """Before a test ends: the workers stop sending, and finish their calls."""
        self.find_lost()
        self.testing = False
        runner = self.environment.runner
        grace = max(self.options.mcp_drain, self.environment.stop_timeout or 0.0)
        self.draining = {client.id for client in runner.clients.all if client.state in ("spawning", "running")}
        for id in self.draining:
            runner.send_message("mcp_drain", grace, id)
        deadline = time.monotonic() + grace + 1
        while self.draining and time.monotonic() < deadline:
            gevent.sleep(0.02)
            self.draining &= {client.id for client in runner.clients.all if client.state != STATE_MISSING}

    def drained(self, environment, msg):
        self.draining.discard(msg.node_id)


@events.init.add_listener
def init(environment, runner, **_):
    if not isinstance(runner, MasterRunner):
        return
    collector = Collector(environment)
    runner.register_message("mcp_histogram", collector.add_histogram)
    runner.register_message("mcp_drained", collector.drained)
    events.worker_connect.add_listener(collector.joined)
    events.test_start.add_listener(collector.start)
    events.test_stopping.add_listener(collector.stop)
    if environment.reset_stats:
        events.spawning_complete.add_listener(collector.write_header)
    gevent.spawn(collector.watch)
