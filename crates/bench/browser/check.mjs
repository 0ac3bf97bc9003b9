// Opens the page of benchmarks in Chromium at two widths, fails on anything the console reports as an
// error and on content wider than the window, and writes a screenshot.
//
//   node check.mjs PAGE.html SCREENSHOT.png

import { chromium } from "playwright-core";
import { pathToFileURL } from "node:url";

const [page_file, screenshot] = process.argv.slice(2);
const widths = [400, 1600];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
});
const faults = [];
let checks = 0;
const expect = (holds, what) => {
  checks += 1;
  if (!holds) faults.push(what);
};
for (const scheme of ["light", "dark"]) {
  for (const width of widths) {
    const page = await browser.newPage({ viewport: { width, height: 1000 }, colorScheme: scheme });
    const at = `${width} px, ${scheme}`;
    page.on("console", (message) => {
      if (message.type() === "error") faults.push(`${at}: console: ${message.text()}`);
    });
    page.on("pageerror", (error) => faults.push(`${at}: ${error}`));
    page.on("request", (request) => {
      const scheme_of = new URL(request.url()).protocol;
      if (scheme_of !== "file:" && scheme_of !== "data:") {
        faults.push(`${at}: asks for ${request.url()}`);
      }
    });
    await page.goto(pathToFileURL(page_file).href);
    const seen = await page.evaluate(() => ({
      charts: document.querySelectorAll("svg").length,
      tables: document.querySelectorAll("table").length,
      overflow: document.documentElement.scrollWidth - window.innerWidth,
      size: parseFloat(getComputedStyle(document.body).fontSize),
      ink: getComputedStyle(document.body).color,
      paper: getComputedStyle(document.body).backgroundColor,
    }));
    expect(seen.charts >= 5, `${at}: ${seen.charts} charts`);
    expect(seen.tables >= 15, `${at}: ${seen.tables} tables`);
    expect(seen.overflow <= 0, `${at}: ${seen.overflow} px wider than the window`);
    expect(seen.size >= 14, `${at}: letters of ${seen.size} px`);
    expect(seen.ink !== seen.paper, `${at}: ink and paper are one colour`);
    if (scheme === "light" && width === 1600) await page.screenshot({ path: screenshot });
    await page.close();
  }
}
await browser.close();
faults.forEach((fault) => console.error(fault));
console.log(`${checks - faults.length} passed, ${faults.length} failed`);
process.exit(faults.length === 0 ? 0 : 1);
