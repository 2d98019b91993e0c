// Makes the pictures of HTML reports in docs/images: light and dark, wide and narrow.
//
// Usage: node screenshots.mjs <program> <directory for packages and reports> <name>=<journal>[,<journal>]...
//
// `report-validate=a,b` writes report-validate-light-1280.png, report-validate-dark-390.png and so on.

import { spawnSync } from "node:child_process";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { directory, launch, open, program } from "./kit.mjs";

const images = fileURLToPath(new URL("../../docs/images", import.meta.url));
const reports = process.argv.slice(4).map((argument) => argument.split("="));
const browser = await launch();
for (const [name, journals] of reports) {
  const output = join(directory, name);
  const paths = journals.split(",").map((path) => resolve(path));
  const rendered = spawnSync(program, ["report", ...paths, "--format", "html", "--output", output, "--quiet"], { encoding: "utf8" });
  if (![0, 1].includes(rendered.status)) throw new Error(`report failed: ${rendered.stderr}`);
  for (const theme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const { page } = await open(browser, pathToFileURL(join(output, "report.html")).href, () => true, { theme, width });
      await page.screenshot({ path: join(images, `${name}-${theme}-${width}.png`), optimizeForSpeed: false });
      await page.close();
    }
  }
}
await browser.close();
