// Uses the page of `mcp-workbench ui` in headless Chromium: statuses, a live validation, a case, a repeated check, a call with
// a form, a question of a server, conversions, the report and a comparison; inert text of a hostile server; keys, accessibility, and no other host.
//
// Usage: node ui.mjs <program> <directory for packages and runs>
//
// Exit codes: 0 passed or skipped, because Chromium or the packages cannot be had; 1 failed.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { HOSTILE, axeViolations, check, directory, finish, launch, open as openPage, program } from "./kit.mjs";

const TIMEOUT = 60_000;

// A script of a mock server with one tool, whose text is `text`.
const script = (text) => ({
  name: text,
  tools: [
    {
      name: "form",
      title: text,
      description: text,
      annotations: { readOnlyHint: true },
      input_schema: {
        type: "object",
        properties: {
          text: { type: "string", description: text },
          count: { type: "integer", default: 3 },
          ratio: { type: "number" },
          exact: { type: "boolean" },
          unit: { enum: ["kg", text] },
          tags: { type: "array", items: { type: "string" } },
          nested: { type: "object", properties: { [text]: { type: "string" } } },
        },
        required: ["text", "tags"],
      },
      reply: { text },
    },
  ],
});

const configuration = (directory) => {
  const server = (name, text) => {
    const path = join(directory, `${name}.json`);
    writeFileSync(path, JSON.stringify(script(text)));
    return { command: program, args: ["mock", "stdio", path] };
  };
  const path = join(directory, "servers.json");
  const mcpServers = { plain: server("plain", "A plain text"), hostile: server("hostile", HOSTILE), asking: { command: program, args: ["mock", "stdio", "everything"] }, broken: { command: join(directory, "missing") } };
  writeFileSync(path, JSON.stringify({ mcpServers }));
  return path;
};

// Starts the program and returns its URLs.
const start = async (directory) => {
  const args = ["ui", "--json", "--address", "127.0.0.1:0", "--config", configuration(directory), "--runs", join(directory, "runs")];
  const child = spawn(program, args, { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) return { child, ...JSON.parse(line) };
  throw new Error("the program printed no URL");
};

// Opens the page, which requests only what is of its own origin.
const open = async (browser, url, options) => {
  const { origin } = new URL(url);
  const isOwn = (other) => other.startsWith(`${origin}/`) || other.startsWith("data:") || other.startsWith(`blob:${origin}/`);
  return openPage(browser, url, isOwn, { timeout: TIMEOUT, ...options });
};

const text = (page, selector) => page.$eval(selector, (found) => found.textContent);
const go = (page, hash, selector) => page.evaluate((to) => (location.hash = to), hash).then(() => page.waitForSelector(selector));
const press = (page, label) => page.evaluate((wanted) => [...document.querySelectorAll("button")].find((one) => one.textContent === wanted).click(), label);
const runEnds = (page) => page.waitForFunction(() => document.querySelector("progress")?.hidden);

const statuses = async (page) => {
  await page.waitForFunction(() => document.querySelectorAll("#servers .connected").length === 3 && document.querySelectorAll("#servers .failed").length === 1);
  check(!page.url().includes("token"), "the page removes the token from its URL");
  check((await text(page, "#servers")).includes("missing"), "a server that cannot start has its reason");
};

const validation = async (page) => {
  await go(page, "#server/plain", "#tools a");
  await page.type("#only", "server/handshake server/tools");
  await page.focus("#validate");
  await page.keyboard.press("Enter");
  await page.waitForSelector("#cases li");
  await runEnds(page);
  const [counted, rows] = [await text(page, ".counted"), (await page.$$("#cases li")).length];
  const total = [...counted.matchAll(/\d+/g)].reduce((sum, [count]) => sum + Number(count), 0);
  check(rows > 1 && total === rows, `every case is listed and counted: ${rows}, ${counted}`);
  check((await text(page, "#state")).includes(`${rows} cases`), "the run ends with its result");
  const first = await page.evaluate(() => location.hash);
  await page.$eval("#cases a", (link) => link.click());
  await page.waitForSelector(".frame");
  check((await page.$$(".frame .track")).length > 1, "a case shows its messages");
  await page.waitForSelector(".check button");
  const id = await page.$eval(".check h3 > span:last-child", (found) => found.textContent);
  await page.$eval(".check button", (found) => found.click());
  await page.waitForSelector("#cases li");
  await runEnds(page);
  check((await page.evaluate(() => location.hash)) !== first, `a check is repeated in a run of its own: ${id}`);
  const repeated = (await page.$$("#cases li")).length;
  check(repeated > 0 && repeated <= rows, `only the cases of the check run: ${repeated} of ${rows}`);
  await page.waitForSelector("#older");
  await press(page, "Compare");
  await page.waitForSelector("#comparison");
  check(/\d+ unchanged/.test(await text(page, "#comparison")), `two runs are compared: ${(await text(page, "#comparison p"))}`);
};

const report = async (browser, page) => {
  const opened = browser.waitForTarget((target) => target.url().startsWith("blob:"), { timeout: TIMEOUT });
  await press(page, "Report");
  const tab = await (await opened).page();
  await tab.waitForSelector("#list li");
  check((await text(tab, "#shown")) === "1 case", "the HTML report opens, and its script lists the cases");
  check((await tab.evaluate(() => sessionStorage.getItem("token"))) === null, "the report has no token");
  await tab.close();
};

const call = async (page) => {
  const bodies = [];
  page.on("request", (request) => request.url().endsWith("/tools/call") && bodies.push(JSON.parse(request.postData())));
  await go(page, "#tool/plain/form", "#call");
  await page.$eval("#call", (found) => found.click());
  check((await page.$$("[aria-invalid=true]")).length === 1, "a required value that is missing is marked");
  const invalid = await page.evaluate(() => document.activeElement.id);
  check(invalid === "argument-5" && bodies.length === 0, `the first invalid value has the focus, and nothing is called: ${invalid}`);
  await page.type("#argument-0", "Bern");
  await page.type("#argument-2", "0.5");
  await page.select("#argument-3", "1");
  await page.select("#argument-4", "0");
  await page.type("#argument-5", '["a", "b"]');
  await page.keyboard.press("Tab");
  await page.type("#argument-6", "{");
  await page.$eval("#call", (found) => found.click());
  check((await text(page, "#argument-6-error")).includes("not JSON") && bodies.length === 0, "a value that is not JSON is marked");
  await page.type("#argument-6", '"a": 1}');
  await page.$eval("#call", (found) => found.click());
  await page.waitForSelector("#result");
  const expected = { text: "Bern", count: 3, ratio: 0.5, exact: false, unit: "kg", tags: ["a", "b"], nested: { a: 1 } };
  check(JSON.stringify(bodies[0]?.arguments) === JSON.stringify(expected), `the form sends typed values: ${JSON.stringify(bodies[0]?.arguments)}`);
  check((await text(page, "#result pre")) === "A plain text", "the result is shown");
  await press(page, "Convert");
  await page.waitForFunction(() => document.querySelectorAll("#conversions > details").length === 5);
  check((await text(page, "#conversions")).includes("gemini-json-schema"), "the tool is converted for five providers");
};

// A server asks the user during a call.
const asked = async (page) => {
  await go(page, "#tool/asking/test_elicitation", "#call");
  await page.type("#argument-0", "Who are you?");
  await page.$eval("#call", (found) => found.click());
  await page.waitForSelector("#requests .request");
  check((await text(page, "#requests")).includes("Who are you?"), "a question of the server is shown");
  await page.$$eval("#requests input", (inputs) => inputs.forEach((input) => (input.value = "x@example.com")));
  await press(page, "Submit");
  await page.waitForSelector("#result");
  check((await text(page, "#result")).includes("x@example.com"), `the server gets the form: ${await text(page, "#result")}`);
  await page.waitForFunction(() => document.querySelectorAll("#requests .request").length === 0);
  await page.$eval("#call", (found) => found.click());
  await page.waitForSelector("#requests .request");
  await press(page, "Decline");
  await page.waitForFunction(() => document.querySelector("#result")?.textContent.includes("decline"));
  check(true, "a question can be declined");
};

const hostile = async (page) => {
  const inert = async (where) => {
    const added = await page.$$eval("main img, main svg, main script, main iframe, main a[href^=java]", (found) => found.length);
    const shown = await text(page, "main");
    check(added === 0 && shown.includes("<img src=x onerror"), `hostile text is shown as text: ${where}`);
    check(!/[\u202a-\u202e\u2066-\u2069\u2028\u2029\u0000]/.test(shown), `control characters are visible: ${where}`);
    check(!(await page.title()).startsWith("owned"), `nothing of the server is executed: ${where}`);
  };
  await go(page, "#server/hostile", "#tools a");
  await inert("list of tools");
  await page.type("#only", "server/tools");
  await page.$eval("#validate", (found) => found.click());
  await page.waitForSelector("#cases li");
  await runEnds(page);
  await page.$eval("#cases a", (link) => link.click());
  await page.waitForSelector(".frame");
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  await page.waitForFunction(() => document.querySelector("main").textContent.includes("<img src=x"));
  await inert("case");
  await go(page, "#tool/hostile/form", "#call");
  await page.type("#argument-0", "x");
  await page.type("#argument-5", "[]");
  await page.$eval("#call", (found) => found.click());
  await page.waitForSelector("#result");
  await press(page, "Convert");
  await page.waitForSelector("#conversions details");
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  await inert("tool");
};

const accessibility = async (browser, url, hashes) => {
  for (const theme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const { page } = await open(browser, url, { theme, width });
      await page.waitForSelector("#servers a");
      for (const [hash, selector] of hashes) {
        await go(page, hash, selector);
        const severe = await axeViolations(page);
        check(severe.length === 0, `axe: nothing serious in ${theme} at ${width} px ${hash} ${severe.join("; ")}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        check(wide <= width, `the page is not wider than ${width} px ${hash}: ${wide}`);
      }
      await page.close();
    }
  }
};

const withoutToken = async (browser, url) => {
  const context = await browser.createBrowserContext();
  const { page } = await open(context, url);
  await page.waitForSelector("[role=alert]");
  check((await text(page, "main")).includes("it has the token"), "without the token the page says where it is");
  await context.close();
};

const browser = await launch();
const work = mkdtempSync(join(directory, "ui-"));
const { child, url, page: address } = await start(work);
let shown;
try {
  const { page, problems } = await open(browser, address);
  shown = page;
  await statuses(page);
  await validation(page);
  await report(browser, page);
  await call(page);
  await asked(page);
  await hostile(page);
  check(problems.length === 0, `no errors, and no requests to other hosts ${problems.join("; ")}`);
  await withoutToken(browser, url);
  const { page: last } = await open(browser, address);
  await last.waitForSelector("#servers a");
  await go(last, "#run/1", "#cases a");
  const one = await last.$eval("#cases a", (found) => found.getAttribute("href"));
  await accessibility(browser, address, [["#", "#servers a"], ["#server/plain", "#tools a"], ["#tool/plain/form", "#call"], ["#runs", "#runs a"], ["#run/1", "#older"], [one, ".frame"]]);
} catch (error) {
  // What the page shows says more than the selector that was awaited.
  if (shown) console.log(shown.url(), await text(shown, "main"));
  throw error;
} finally {
  const exited = new Promise((done) => child.once("exit", done));
  child.kill("SIGINT");
  // The page still reads events.
  check((await exited) === 0, "an interrupt stops the program while the page is open");
  await browser.close();
  rmSync(work, { recursive: true });
}
finish();
