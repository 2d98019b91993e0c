// Opens HTML reports in headless Chromium, from disk: no errors, no network, inert text of servers, links, filters, keys,
// accessibility, and the time to open 10,000 cases.
//
// Usage: node check.mjs <program> <directory for packages and reports>
//
// Exit codes: 0 passed or skipped, because Chromium or the packages cannot be had; 1 failed.

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { HOSTILE, axeViolations, check, directory, finish, launch, open as openPage, report } from "./kit.mjs";

// A quiet machine needs a fraction of a second.
const MAX_OPEN_MS = 3000;
const header = (subject, planned) => ({
  line: "run",
  format: 1,
  header: { run_id: "run", kind: "conformance", workbench: "0.1.0", started: "2026-07-28T10:11:12Z", subject, seed: 7, planned },
});

const aCheck = (verdict, text) => ({
  id: `check ${text}`, verdict, expected: text, observed: text, frames: [1],
  requirement: { id: `tools/${text}`, level: verdict === "warned" ? "SHOULD" : "MUST", text, url: text.startsWith("java") ? text : "https://modelcontextprotocol.io/specification/2025-11-25/server/tools" },
});

const aCase = (number, verdict, text) => {
  const [transport, revision] = [["stdio", "streamable-http"][number % 2], ["2025-06-18", "2025-11-25", "2026-07-28"][number % 3]];
  const scenario = `${["tools", "http", "authorization", "prompts"][number % 4]}/case-${number}`;
  const frame = (seq, from_client, body) => ({ seq, at_us: 900 * seq, from_client, server: text, http: from_client ? "POST /mcp" : undefined, headers: { [text]: text }, body });
  return {
    id: `${scenario}@${transport}@${revision}`, scenario, transport, revision, title: text, verdict, elapsed_ms: number,
    checks: [aCheck(verdict, text), aCheck("passed", text)],
    frames: [
      frame(0, true, { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: text, arguments: { [text]: [text, 1, null] } } }),
      frame(1, false, { jsonrpc: "2.0", id: 1, result: { content: [{ type: "text", text }] } }),
      frame(4, false, text),
    ],
    stderr: text,
    end: { connections: [{ at_us: 5000, server: text, event: "exit" }], process: { code: 1 }, descendants: [{ pid: 7, command: text, left: true }] },
  };
};

const VERDICTS = ["passed", "passed", "passed", "skipped", "passed", "warned", "passed", "failed"];

// Writes a journal with this many cases and returns its path.
const journal = (name, count, text) => {
  const cases = Array.from({ length: count }, (_, number) => ({ line: "case", index: number, evidence: null, result: aCase(number, VERDICTS[number % 8], text) }));
  const lines = [header(text, count), ...cases, { line: "end", elapsed_ms: 1234 }];
  const path = join(directory, `${name}.jsonl`);
  writeFileSync(path, lines.map((line) => JSON.stringify(line)).join("\n") + "\n");
  return path;
};

// Opens a report, which requests nothing but itself, and measures the time until it is painted.
const open = async (browser, url, options) => {
  const [file] = url.split("#");
  const opened = await openPage(browser, url, (other) => other.split("#")[0] === file, options);
  // Two frames later the page is painted.
  await opened.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return { ...opened, ms: performance.now() - opened.began };
};

const text = (page, selector) => page.$eval(selector, (found) => found.textContent);
const settle = (page) => page.evaluate(() => new Promise((done) => setTimeout(done)));

const hostilePages = async (browser) => {
  const url = report("hostile", [journal("hostile", 24, HOSTILE)]);
  const { page, problems } = await open(browser, url);
  await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
  for (const id of ["http/case-5@streamable-http@2026-07-28", "prompts/case-7@streamable-http@2025-11-25"]) {
    await page.evaluate((hash) => (location.hash = hash), `#case/${id}`);
    await page.waitForSelector("#case h1");
    await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));
    await settle(page);
  }
  check((await page.title()).startsWith("prompts/case-7"), "a link opens a case of hostile servers");
  check((await page.$$eval("img, iframe, main svg[onload], #case a[href^=java]", (found) => found.length)) === 0, "text of servers adds no elements");
  check((await text(page, "#case")).includes("<img src=x onerror"), "text of servers is shown as text");
  check(!/[\u202a-\u202e\u2066-\u2069\u2028\u2029\u0000]/.test(await text(page, "#case")), "control characters are visible");
  check(problems.length === 0, `hostile servers: no errors, scripts and requests ${problems.join("; ")}`);
  await page.close();
};

const navigation = async (browser, url) => {
  const { page, problems } = await open(browser, `${url}#case/http/case-5@streamable-http@2026-07-28`);
  check((await text(page, "#case h1")) === "http/case-5", "a link from outside opens its case");
  check((await page.$$(".frame.cited")).length === 1, "the frame that the failed check cites is marked");
  await page.keyboard.press("Escape");
  await page.waitForSelector("#overview:not([hidden])");
  check((await text(page, "#shown")) === "10,000 cases", "Escape returns to the list");
  await page.keyboard.press("/");
  await page.waitForFunction(() => document.activeElement.id === "q");
  await page.keyboard.type("case-77");
  check(/ of 10,000$/.test(await text(page, "#shown")), "the search filters the list");
  await page.$eval("#filters button[type=reset]", (button) => button.click());
  await settle(page);
  await page.select("#verdict", "failed");
  await page.select("#area", "prompts");
  check((await text(page, "#shown")) === "1,250 cases of 10,000", `filters apply: ${await text(page, "#shown")}`);
  await page.keyboard.press("Tab");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  const row = await page.evaluate(() => document.activeElement.querySelector(".id")?.textContent);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#case:not([hidden]) h1");
  check(row !== undefined && row === (await text(page, "#case h1")), "j selects a row and Enter opens it");
  await page.keyboard.press("k");
  await page.waitForFunction((before) => document.querySelector("#case h1").textContent !== before, {}, row);
  check((await text(page, "#case .at")) === "1 of 1250", "k opens the case before it");
  await page.goto("about:blank");
  await page.goto(`${url}#cases?area=http&transport=streamable-http&revision=2025-11-25`);
  const cell = await page.$eval('a.cell[aria-label^="http, streamable-http 2025-11-25"]', (found) => found.getAttribute("aria-label"));
  const counted = [...cell.split(": ")[1].matchAll(/\d+/g)].reduce((sum, [count]) => sum + Number(count), 0);
  check((await text(page, "#shown")) === `${counted} cases of 10,000`, "a cell of the matrix selects the cases that it counts");
  check(problems.length === 0, `navigation: no errors and requests ${problems.join("; ")}`);
  await page.close();
};

const speed = async (browser, url) => {
  const times = [];
  for (let run = 0; run < 3; run += 1) {
    const { page, ms } = await open(browser, url);
    check((await text(page, "#shown")) === "10,000 cases", "10,000 cases are listed");
    times.push(ms);
    await page.close();
  }
  const best = Math.min(...times);
  const size = readFileSync(new URL(url)).length / 1e6;
  check(best < MAX_OPEN_MS, `10,000 cases (${size.toFixed(1)} MB) open in ${best.toFixed(0)} ms`);
};

const accessibility = async (browser, url) => {
  for (const theme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      for (const hash of ["", "#case/http/case-5@streamable-http@2026-07-28"]) {
        const { page } = await open(browser, url + hash, { theme, width });
        const severe = await axeViolations(page);
        check(severe.length === 0, `axe: nothing serious in ${theme} at ${width} px ${hash} ${severe.join("; ")}`);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        check(wide <= width, `the page is not wider than ${width} px ${hash}`);
        await page.close();
      }
    }
  }
};

const combined = async (browser) => {
  const url = report("combined", [journal("first", 16, "first client"), journal("second", 8, "second client")]);
  const { page, problems } = await open(browser, `${url}#case/tools/case-0@stdio@2025-06-18?run=1`);
  check((await text(page, "#case .facts")).includes("second client"), "a link names the run of a case");
  await page.goto("about:blank");
  await page.goto(`${url}#cases?run=0&verdict=failed`);
  check((await text(page, "#shown")) === "2 cases of 24", "cases are filtered by subject");
  check(problems.length === 0, `several runs: no errors and requests ${problems.join("; ")}`);
  await page.close();
};

const browser = await launch();
try {
  await hostilePages(browser);
  await combined(browser);
  const large = report("large", [journal("large", 10_000, "A tool is called by its name")]);
  await speed(browser, large);
  await navigation(browser, large);
  await accessibility(browser, report("small", [journal("small", 40, "A tool is called by its name")]));
} finally {
  await browser.close();
}
finish();
