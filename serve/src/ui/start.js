// Links within the page, the theme, and the start.

const link = (...segments) => `#${segments.map(encodeURIComponent).join("/")}`;
const main = byId("main");
let leave = new AbortController();

const show = (title, ...content) => {
  const heading = element("h1", { tabindex: "-1" }, title);
  document.title = `${visible(title)} – mcp-workbench`;
  main.replaceChildren(heading, ...content);
  scrollTo(0, 0);
  heading.focus({ preventScroll: true });
};

const showProblem = (error) => show("mcp-workbench", problem(error));

const PAGES = { "": showServers, server: showServer, tool: showTool, runs: showRuns, run: showRun, case: showCase };

const decoded = (hash) => {
  try {
    return hash.slice(1).split("/").map(decodeURIComponent);
  } catch {
    return ["invalid link"];
  }
};

const route = async () => {
  if (takeToken()) return start();
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  redrawServers = () => {};
  const [name, ...rest] = decoded(location.hash);
  if (!Object.hasOwn(PAGES, name)) return showProblem("No such page.");
  try {
    const content = await PAGES[name](...rest, signal);
    if (!signal.aborted) show(...content);
  } catch (error) {
    if (!signal.aborted) showProblem(error);
  }
};

let isFollowing = false;
const start = () => {
  if (!sessionStorage.getItem(TOKEN)) return showProblem("Open the URL that `mcp-workbench ui` printed: it has the token.");
  if (!isFollowing) followServers().finally(() => (isFollowing = false));
  isFollowing = true;
  return route();
};

const THEMES = ["system", "light", "dark"];
const setTheme = (theme) => {
  byId("theme").textContent = `Theme: ${theme}`;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
};
let theme = "system";
byId("theme").addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  setTheme(theme);
});

addEventListener("hashchange", route);
takeToken();
start();
