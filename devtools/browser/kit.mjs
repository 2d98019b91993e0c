// What the browser checks share: Chromium, packages, results, and hostile text.
//
// Usage of each check: node <check>.mjs <program> <directory for packages and reports>
//
// Exit codes: 0 passed or skipped, because Chromium or the packages cannot be had; 1 failed.

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const PACKAGES = { "puppeteer-core": "24.43.1", "axe-core": "4.14.1" };

export const HOSTILE = [
  "</script><script>document.title='owned'</script>",
  "<img src=x onerror=\"document.title='owned'\">",
  "<!--<script>",
  "<svg onload=\"document.title='owned'\">",
  "javascript:document.title='owned'",
  "user\u202enimda\u2066",
  "a\u0000b\u2028c\u2029",
].join(" ");

export const [program, directory] = process.argv.slice(2).map((path) => resolve(path));

// Renders journals with the program and returns the URL of the page.
export const report = (name, journals) => {
  const output = join(directory, name);
  const rendered = spawnSync(program, ["report", ...journals, "--format", "html", "--output", output, "--quiet"], { encoding: "utf8" });
  if (![0, 1].includes(rendered.status)) throw new Error(`report failed: ${rendered.stderr}`);
  return pathToFileURL(join(output, "report.html")).href;
};

const failures = [];
export const check = (passes, what) => {
  if (!passes) failures.push(what);
  console.log(`${passes ? "ok    " : "FAILED"} ${what}`);
};

const skip = (reason) => {
  console.log(`skipped: ${reason}`);
  process.exit(0);
};

const which = (names) =>
  (process.env.PATH || "").split(delimiter).flatMap((path) => names.map((name) => join(path, name))).find(existsSync);

// The packages, installed once into the directory.
const packages = () => {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "package.json"), JSON.stringify({ private: true, dependencies: PACKAGES }));
  const installed = spawnSync("npm", ["install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts"], { cwd: directory, stdio: "inherit" });
  if (installed.status !== 0) skip("npm cannot install puppeteer-core and axe-core here");
  return createRequire(join(directory, "package.json"));
};

let axe;

// A headless Chromium.
export const launch = async () => {
  const executablePath = which(["chromium", "chromium-browser", "google-chrome"]);
  if (!executablePath) skip("there is no Chromium: the package chromium brings it");
  if (!which(["npm"])) skip("there is no npm");
  const require = packages();
  const loaded = require("puppeteer-core");
  axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
  // Root has no sandbox.
  return (loaded.default ?? loaded).launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
};

// Opens a page and records what it must not do. `isAllowed` decides about the URLs that it requests. `began` is when
// the navigation began.
export const open = async (browser, url, isAllowed, { theme = "light", width = 1280, timeout = 30_000 } = {}) => {
  const page = await browser.newPage();
  page.setDefaultTimeout(timeout);
  await page.setViewport({ width, height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  const problems = [];
  page.on("console", (message) => problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => problems.push(`dialog: ${dialog.message()}`));
  page.on("request", (request) => isAllowed(request.url()) || problems.push(`request: ${request.url()}`));
  const began = performance.now();
  await page.goto(url);
  return { page, problems, began };
};

// The serious violations that axe-core finds in a page.
export const axeViolations = async (page) => {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const severe = found.violations.filter((one) => ["serious", "critical"].includes(one.impact));
  return severe.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 120)} ${node.failureSummary}`).join(", ")}`);
};

export const finish = () => {
  console.log(failures.length === 0 ? "passed" : `${failures.length} checks failed`);
  process.exitCode = failures.length === 0 ? 0 : 1;
};
