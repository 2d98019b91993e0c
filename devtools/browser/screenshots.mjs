// Makes the pictures of HTML reports in docs/images: light and dark, wide and narrow.
//
// Usage: node screenshots.mjs <program> <directory for packages and reports> <name>=<journal>[,<journal>]...
//
// `report-validate=a,b` writes report-validate-light-1280.png, report-validate-dark-390.png and so on.

import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { launch, open, report } from "./kit.mjs";

const images = fileURLToPath(new URL("../../docs/images", import.meta.url));
const reports = process.argv.slice(4).map((argument) => argument.split("="));
const browser = await launch();
for (const [name, journals] of reports) {
  const url = report(name, journals.split(","));
  for (const theme of ["light", "dark"]) {
    for (const width of [1280, 390]) {
      const { page } = await open(browser, url, () => true, { theme, width });
      await page.screenshot({ path: join(images, `${name}-${theme}-${width}.png`) });
      await page.close();
    }
  }
}
await browser.close();
