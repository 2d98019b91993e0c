// The page of a tool: a form for its arguments, the result, and its definition for model providers.

const jsonView = (value) => element("div", { class: "json" }, json(value));

// A block of content; only text is shown as such.
const blockView = (block) =>
  block?.type === "text" && typeof block.text === "string" ? element("pre", {}, document.createTextNode(visibleLines(block.text))) : jsonView(block);

const resultView = ({ isError, content, result, limit }) => {
  const blocks = Array.isArray(result?.content) ? result.content : [content].flat();
  const isStructured = result?.structuredContent !== undefined;
  return element("section", { class: "content", id: "result", "aria-label": "Result" },
    element("p", {}, badge(isError ? "failed" : "passed", isError ? "the tool reported an error" : "result")),
    blocks.map(blockView),
    isStructured ? element("h3", {}, "Structured content") : undefined,
    isStructured ? jsonView(result.structuredContent) : undefined,
    element("details", {}, element("summary", {}, result ? "Result as received" : "Output limits"), jsonView(result ?? limit)));
};

const changeView = ({ at, keyword, became, why, effect }) =>
  element("li", {}, element("code", {}, `${at || "/"} ${keyword}`), ` ${became}: ${why}`, effect === "equal" ? "" : ` (accepts ${effect === "wider" ? "more" : "fewer"} values)`);

const conversionView = ({ provider, tools, rejected }) => {
  const [tool] = tools;
  if (!tool) return element("details", { class: "panel" }, element("summary", {}, provider, " ", badge("failed", "rejected")), element("p", {}, rejected[0]?.reason || ""));
  const differs = tool.wider + tool.narrower > 0;
  return element("details", { class: "panel" },
    element("summary", {}, provider, " ", badge(differs ? "warned" : "passed", differs ? `${tool.wider} wider, ${tool.narrower} narrower` : "equal"), tool.strict ? " strict" : ""),
    tool.notStrict ? element("p", { class: "note" }, `not strict: ${tool.notStrict}`) : undefined,
    tool.changes.length ? element("ul", { class: "end" }, tool.changes.map(changeView)) : undefined,
    tool.moreChanges ? element("p", { class: "note" }, `and ${tool.moreChanges} more changes`) : undefined,
    element("div", { class: "content" }, jsonView(tool.definition)));
};

const conversions = (server, name) => {
  const place = element("div", { id: "conversions" });
  const convert = button("Convert");
  act(convert, place, async () => {
    const all = await getJson(`${path("mcp", server)}/conversions?tool=${encodeURIComponent(name)}`);
    place.replaceChildren(...all.map(conversionView));
  });
  return [element("h2", {}, "Definition for model providers"), element("div", { class: "actions" }, convert), place];
};

// A request of the server to the user during a call: a form, or a page to visit. `redraw` shows the requests that are still open.
const requestView = ({ id, server, kind, message, schema, url }, redraw) => {
  const place = element("div", {});
  const { rows, read } = kind === "form" ? argumentFields(schema, `request-${id}`) : { rows: [] };
  // Sends what `body` returns, if it returns something.
  const responds = (control, body) => {
    act(control, place, async () => {
      const response = body();
      if (response) redraw(await postJson(path("requests", id), response));
    });
    return control;
  };
  const submit = () => {
    const content = read();
    return content && { action: "accept", content };
  };
  const visit = () => {
    open(url, "_blank", "noopener,noreferrer");
    return { action: "accept" };
  };
  const actions = [
    kind === "form" ? responds(button("Submit", "main"), submit) : responds(button("Open the page", "main"), visit),
    responds(button("Decline"), () => ({ action: "decline" })),
    responds(button("Close"), () => ({ action: "cancel" })),
  ];
  return element("section", { class: "panel request", "aria-label": `Request of ${server}` },
    element("p", {}, badge("warned", `${visible(server)} asks`), " ", document.createTextNode(visibleLines(message))),
    kind === "url" ? element("p", {}, element("strong", {}, new URL(url).host), " ", element("code", {}, visible(url))) : undefined,
    element("div", { class: "fields-form" }, rows),
    element("div", { class: "actions" }, actions), place);
};

// Shows the requests of the server while the page of its tool is open.
const showRequests = (server, place, signal) => {
  const redraw = (all) => place.replaceChildren(...all.filter((one) => one.server === server).map((one) => requestView(one, redraw)));
  const load = async () => redraw(await getJson("/requests", { signal }));
  const isOurs = (event, data) => (event === "user-request" || event === "call") && data.server === server;
  eachEvent("/events", signal, (event, data) => isOurs(event, data) && load().catch(() => {})).catch(() => {});
};

// Calls the tool. If a rule asks, the user can approve the call.
const callTool = async (call, place) => {
  try {
    place.replaceChildren(resultView(await postJson("/tools/call", call)));
  } catch (error) {
    place.replaceChildren(problem(error));
    if (error.kind === "denied" && !call.approve && /approve/.test(error.message)) {
      const approve = button("Approve and call");
      approve.addEventListener("click", () => callTool({ ...call, approve: true }, place));
      place.append(element("div", { class: "actions" }, approve));
    }
  }
};

const showTool = async (server, name, signal) => {
  const [{ tools }, all] = await Promise.all([getJson(`${path("mcp", server)}/tools`), getJson("/tools")]);
  const tool = tools.find((one) => one.name === name);
  if (!tool) throw new Error(`server ${server} has no tool ${name}`);
  const qualified = all.tools.find((one) => one.server === server && one.tool === name)?.name;
  const { rows, read } = argumentFields(tool.inputSchema);
  const place = element("div", { "aria-live": "polite" });
  const requests = element("div", { id: "requests", "aria-live": "polite" });
  showRequests(server, requests, signal);
  const call = element("button", { class: "main", id: "call" }, "Call");
  const form = element("form", { class: "fields-form", novalidate: true }, rows, element("div", { class: "actions" }, call));
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const given = read();
    if (given === undefined) return;
    call.disabled = true;
    place.replaceChildren(element("p", { class: "note" }, "Waiting for the result"));
    await callTool({ name: qualified, arguments: given }, place);
    call.disabled = false;
  });
  return [name,
    element("p", { class: "crumbs" }, element("a", { href: link("server", server) }, `← ${visible(server)}`)),
    element("p", { class: "lead" }, document.createTextNode(visibleLines(tool.description || tool.title || ""))),
    element("h2", {}, "Call"),
    qualified ? form : element("p", { class: "problem" }, "A rule of the configuration hides this tool."),
    requests, place, ...conversions(server, name),
    element("details", { class: "panel" }, element("summary", {}, "Definition of the server"), element("div", { class: "content" }, jsonView(tool)))];
};
