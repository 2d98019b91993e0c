// The messages of a case as a sequence diagram, with JSON that can be folded.

const WIDE = 4; // Values with more entries than this are folded below the first levels.
const EVENTS = {
  "(Opened)": "connection opened",
  "(ChildStarted)": "child process started",
  "(Bodiless)": "no body",
  "(ClosedByPeer)": "client closed its end",
  "(ClosedByServer)": "server closed the connection",
  "(Sigterm)": "server received SIGTERM",
  "(Exit)": "server exits",
};

const time = (us) => (us < 1e6 ? `${(us / 1000).toFixed(3)} ms` : `${(us / 1e6).toFixed(3)} s`);

const scalar = (value) =>
  typeof value === "string"
    ? element("span", { class: "string" }, JSON.stringify(value))
    : element("span", { class: "other" }, String(value));

// A JSON value as lines; objects and arrays can be folded.
const json = (value, prefix = [], suffix = "", depth = 0) => {
  if (value === null || typeof value !== "object" || Object.keys(value).length === 0) {
    const shown = value !== null && typeof value === "object" ? (Array.isArray(value) ? "[]" : "{}") : scalar(value);
    return element("span", { class: "row" }, ...prefix, shown, suffix);
  }
  const isArray = Array.isArray(value);
  const [open, close] = isArray ? ["[", "]"] : ["{", "}"];
  const entries = Object.entries(value);
  const isOpen = depth < 3 || (depth < 6 && entries.length <= WIDE);
  const folded = element("span", { class: "fold" }, `… ${close}${suffix} ${entries.length}`);
  const details = element("details", { open: isOpen }, element("summary", {}, ...prefix, open, folded));
  const fill = () => {
    if (details.childElementCount > 1) return;
    const lines = entries.map(([key, item], position) => {
      const name = isArray ? [] : [element("span", { class: "key" }, JSON.stringify(key)), ": "];
      return json(item, name, position + 1 < entries.length ? "," : "", depth + 1);
    });
    details.append(element("span", { class: "in" }, ...lines), element("span", { class: "mark" }, close, suffix));
  };
  if (isOpen) fill();
  details.addEventListener("toggle", fill);
  return details;
};

// What a frame is, in a few words: a name and what identifies it.
const heading = (frame, requests) => {
  const { body } = frame;
  if (typeof body === "string") return EVENTS[body] ? [EVENTS[body]] : [frame.truncated ? "truncated message" : "not JSON"];
  if (body === null) return ["no body"];
  if (Array.isArray(body)) return [`batch of ${body.length}`];
  const id = "id" in body ? `id ${JSON.stringify(body.id)}` : undefined;
  if ("method" in body) return [String(body.method), id || "notification"];
  const method = requests.get(JSON.stringify(body.id));
  const of = method ? ` of ${method}` : "";
  if ("error" in body) return [`error ${body.error?.code ?? ""}${of}`, id];
  if ("result" in body) return [`result${of}`, id];
  return ["JSON"];
};

const bodyOf = (frame) => {
  const headers = Object.entries(frame.headers);
  return element("div", { class: "body" },
    headers.length ? element("pre", { class: "headers" }, ...headers.flatMap(([name, value]) => [`${visible(name)}: ${visible(value)}`, document.createTextNode("\n")])) : undefined,
    typeof frame.body === "string"
      ? element("pre", {}, document.createTextNode(visibleLines(EVENTS[frame.body] ? "connection event" : frame.body)))
      : element("div", { class: "json" }, json(frame.body)),
    frame.truncated ? element("p", { class: "note" }, "Truncated when it was recorded.") : undefined);
};

// The checks that cite each frame, the most severe first.
const citations = (checks) => {
  const cited = new Map();
  for (const check of checks.filter((one) => one.severity > 1)) {
    for (const seq of check.frames) cited.set(seq, [...(cited.get(seq) || []), check]);
  }
  return cited;
};

const frameRow = (frame, lanes, cited, requests) => {
  const by = cited.get(frame.seq);
  const [name, ident] = heading(frame, requests);
  const isEvent = typeof frame.body === "string" && EVENTS[frame.body];
  const kinds = ["frame", frame.byClient ? "to-server" : "to-client", isEvent ? "event" : "", by ? `cited ${by[0].verdict}` : ""];
  const track = element("span", { class: "track" },
    ["client", ...lanes].map((_, lane) => {
      const line = element("span", { class: "life", "aria-hidden": "true" });
      line.style.setProperty("--at", `${(lane / lanes.length) * 100}%`);
      return line;
    }),
    element("span", { class: "label" },
      element("span", { class: "unseen" }, frame.byClient ? `client to ${visible(frame.server)}: ` : `${visible(frame.server)} to client: `),
      element("strong", {}, name),
      ident ? element("span", { class: "ident" }, ident) : undefined,
      frame.http ? element("span", { class: "http" }, frame.http) : undefined,
      by ? element("span", { class: "by" }, `${SIGNS[by[0].verdict]} ${by.map((check) => check.rule.check).join(", ")}`) : undefined),
    element("span", { class: "arrow", "aria-hidden": "true" }));
  track.style.setProperty("--to", `${((lanes.indexOf(frame.server) + 1) / lanes.length) * 100}%`);
  const details = element("details", { open: Boolean(by) && !isEvent },
    element("summary", {}, element("span", { class: "when" }, time(frame.at), element("small", {}, `#${frame.seq}`)), track));
  // Hundreds of closed messages should not cost time.
  const fill = () => details.childElementCount > 1 || details.append(bodyOf(frame));
  if (details.open) fill();
  details.addEventListener("toggle", fill);
  return element("li", { class: kinds.filter(Boolean).join(" ") }, details);
};

const sequence = ({ frames, checks }) => {
  const lanes = [...new Set(frames.map((frame) => frame.server))];
  const requests = new Map(frames.filter((frame) => frame.body?.method && "id" in frame.body).map((frame) => [JSON.stringify(frame.body.id), frame.body.method]));
  const names = element("span", { class: "names" }, ["client", ...lanes].map((name, lane) => {
    const head = element("span", {}, lane === 0 ? "client" : lanes.length === 1 ? `server “${visible(name)}”` : name);
    head.style.setProperty("--at", `${(lane / lanes.length) * 100}%`);
    return head;
  }));
  const cited = citations(checks);
  let last;
  const rows = frames.flatMap((frame) => {
    const omitted = last === undefined ? 0 : frame.seq - last - 1;
    last = frame.seq;
    const gap = omitted > 0 ? [element("li", { class: "gap" }, `… ${omitted} more ${omitted === 1 ? "frame" : "frames"}, in the journal`)] : [];
    return [...gap, frameRow(frame, lanes, cited, requests)];
  });
  return element("div", { class: "sequence" },
    element("div", { class: "lanes", "aria-hidden": "true" }, element("span", {}, ""), names),
    element("ol", { class: "frames", "aria-label": "Messages in order of time" }, rows));
};
