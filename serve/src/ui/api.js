// Requests to the management API.

// The fragment of the URL that the program printed has the token. A cookie would be sent to every port of this machine
// (RFC 6265, section 8.5). The storage of a tab belongs to one port, and survives a reload.
const TOKEN = "token";
const takeToken = () => {
  const found = /^#token=([\x21-\x7e]+)$/.exec(location.hash);
  if (!found) return false;
  sessionStorage.setItem(TOKEN, decodeURIComponent(found[1]));
  history.replaceState(null, "", location.pathname);
  return true;
};

// An error response: what failed, and what to do.
class ApiError extends Error {
  constructor(status, { kind, message, help }) {
    super(help ? `${message}\nhelp: ${help}` : message);
    this.status = status;
    this.kind = kind;
  }
}

const path = (...segments) => `/${segments.map(encodeURIComponent).join("/")}`;

const respond = async (method, url, { body, signal } = {}) => {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(TOKEN) || ""}` };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(url, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
  if (response.ok) return response;
  const text = await response.text();
  let error = { kind: "unknown", message: `HTTP status ${response.status}` };
  try {
    error = JSON.parse(text).error;
  } catch {
    // Not an error of the API.
  }
  if (response.status === 401) error.help = "open the URL that `mcp-workbench ui` printed";
  throw new ApiError(response.status, error);
};

const getJson = async (url, options) => (await respond("GET", url, options)).json();
const postJson = async (url, body, options) => (await respond("POST", url, { ...options, body })).json();

// Server-sent events. `EventSource` cannot send the token.
const eachEvent = async (url, signal, handle) => {
  const response = await respond("GET", url, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let pending = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    pending += value;
    const events = pending.split("\n\n");
    pending = events.pop();
    for (const event of events) {
      const lines = event.split("\n");
      const field = (name) => lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2)).join("\n");
      if (field("data")) handle(field("event"), JSON.parse(field("data")));
    }
  }
};

// An element for an error, announced to assistive technology.
const problem = (error) => element("p", { class: "problem", role: "alert" }, document.createTextNode(visibleLines(error.message || error)));

// Does something for a button, and shows its error in `place`.
const act = (button, place, work) =>
  button.addEventListener("click", async () => {
    button.disabled = true;
    place.replaceChildren();
    try {
      await work();
    } catch (error) {
      place.replaceChildren(problem(error));
    } finally {
      button.disabled = false;
    }
  });
const button = (text, kind) => element("button", { type: "button", class: kind }, text);
