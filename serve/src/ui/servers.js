// The servers: their live statuses, and the page of one server.

const servers = new Map();
let redrawServers = () => {};

// Follows the statuses until the page is closed.
const followServers = async () => {
  for (;;) {
    try {
      await eachEvent("/mcp/events", undefined, (event, { server, ...view }) => {
        if (event !== "status") return;
        servers.set(server, view);
        byId("connection").textContent = "";
        redrawServers();
      });
    } catch (error) {
      if (error.status === 401) return showProblem(error);
    }
    byId("connection").textContent = "The program does not respond. Is it still running?";
    await new Promise((done) => setTimeout(done, 1000));
  }
};

const statusBadge = (view) => element("span", { class: `badge status ${view.status}` }, view.status.replaceAll("_", " "));

const serverRow = ([name, view]) =>
  element("li", { class: "plain-row" },
    statusBadge(view),
    element("a", { href: link("server", name) }, name),
    view.error ? element("span", { class: "sub" }, view.error) : undefined);

// A command line as its words; quotes group words.
const words = (line) => [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, plain]) => double ?? single ?? plain);

const addForm = () => {
  const name = element("input", { id: "new-name", required: true, autocomplete: "off", spellcheck: "false" });
  const line = element("input", { id: "new-line", required: true, autocomplete: "off", spellcheck: "false", placeholder: "npx -y my-server, or https://…" });
  const place = element("div", {});
  const form = element("form", { class: "fields-form" },
    element("div", {}, element("label", { for: "new-name" }, "Name"), name),
    element("div", {}, element("label", { for: "new-line" }, "Command or URL"), line),
    element("div", { class: "actions" }, element("button", { class: "main" }, "Add")), place);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [command, ...args] = words(line.value);
    const config = /^https?:/.test(command) ? { url: command } : { command, args };
    try {
      await postJson("/mcp", { name: name.value, config });
      location.hash = link("server", name.value);
    } catch (error) {
      place.replaceChildren(problem(error));
    }
  });
  return element("details", { class: "panel" }, element("summary", {}, "Add a server"),
    element("p", { class: "note" }, "Until the program stops; configuration files do not change."), form);
};

const showServers = () => {
  const list = element("ul", { class: "list", id: "servers", "aria-label": "Servers" });
  const none = element("p", { class: "note" }, "No server is configured.");
  redrawServers = () => {
    const sorted = [...servers].sort(([one], [other]) => one.localeCompare(other));
    list.replaceChildren(...sorted.map(serverRow));
    none.hidden = sorted.length > 0;
  };
  redrawServers();
  return ["Servers", list, none, addForm()];
};

const validateForm = (name) => {
  const quick = element("input", { type: "checkbox", id: "quick", checked: true });
  const only = element("input", { id: "only", autocomplete: "off", spellcheck: "false", "aria-describedby": "only-hint" });
  const tools = element("input", { id: "call-tools", autocomplete: "off", spellcheck: "false", "aria-describedby": "tools-hint" });
  const place = element("div", {});
  const form = element("form", { class: "fields-form" },
    element("div", {}, element("label", { class: "check-line" }, quick, "Only the newest revision of each era")),
    element("div", {}, element("label", { for: "only" }, "Only"), only,
      element("p", { class: "hint", id: "only-hint" }, "Checks or scenarios, separated by spaces: unknown-tool-*. Empty: all.")),
    element("div", {}, element("label", { for: "call-tools" }, "Call tools"), tools,
      element("p", { class: "hint", id: "tools-hint" }, "In addition to read-only tools: all, or names with *. Calls can have effects.")),
    element("div", { class: "actions" }, element("button", { class: "main", id: "validate" }, "Validate")), place);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await startRun({ server: name, quick: quick.checked, only: words(only.value), callTools: words(tools.value) });
    } catch (error) {
      place.replaceChildren(problem(error));
    }
  });
  return form;
};

const toolList = (name) => {
  const place = element("div", { "aria-live": "polite" }, element("p", { class: "note" }, "Tools are read when the server is connected."));
  const load = async () => {
    try {
      const { tools, rejected } = await getJson(`${path("mcp", name)}/tools`);
      const rows = tools.map((tool) => element("li", { class: "plain-row" },
        element("a", { href: link("tool", name, tool.name) }, tool.name),
        element("span", { class: "sub" }, tool.title || tool.description || "")));
      const wrong = rejected.map((one) => element("li", { class: "plain-row" },
        element("span", { class: "badge failed" }, "rejected"), element("strong", {}, one.name || "a tool"), element("span", { class: "sub" }, one.reason)));
      place.replaceChildren(element("ul", { class: "list", id: "tools", "aria-label": "Tools" }, rows, wrong),
        ...(tools.length + rejected.length ? [] : [element("p", { class: "note" }, "The server has no tools.")]));
    } catch (error) {
      place.replaceChildren(problem(error));
    }
  };
  return { place, load };
};

const showServer = (name) => {
  const state = element("p", { role: "status" });
  const place = element("div", {});
  const connect = button("Connect");
  const disconnect = button("Disconnect");
  const login = button("Log in");
  act(connect, place, () => postJson(`${path("mcp", name)}/connect`));
  act(disconnect, place, () => postJson(`${path("mcp", name)}/disconnect`));
  act(login, place, () => postJson(`${path("mcp", name)}/auth/authenticate`));
  const tools = toolList(name);
  let before;
  redrawServers = () => {
    const view = servers.get(name);
    const status = view?.status;
    state.replaceChildren(view ? statusBadge(view) : "unknown server", ...(view?.error ? [element("span", { class: "problem" }, document.createTextNode(visibleLines(view.error)))] : []));
    connect.hidden = status === "connected" || status === "excluded";
    disconnect.hidden = status !== "connected";
    login.hidden = status !== "needs_auth";
    if (status === "connected" && before !== status) tools.load();
    before = status;
  };
  redrawServers();
  return [name, state, element("div", { class: "actions" }, connect, disconnect, login), place,
    element("h2", {}, "Validate"), validateForm(name), element("h2", {}, "Tools"), tools.place];
};
