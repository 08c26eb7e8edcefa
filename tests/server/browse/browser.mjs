// What a browser makes of the page: node browser.mjs ENVIRONMENT PROGRAM URL FOLDER
// Prints one JSON document: for every view what went wrong, and what was measured.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const [environment, program, url, folder] = process.argv.slice(2);
const require = createRequire(join(environment, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const quiet = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
];
const browser = await chromium.launch({ executablePath: program, args: quiet });
const found = { problems: [], elsewhere: [], accessibility: [], texts: {} };
const PHONE = { viewport: { width: 390, height: 780 } };

// `bypassCSP` lets axe-core in; the views that look for scripts keep the policy.
async function opened(hash, { storage = true, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 780 }, ...options });
  const page = await context.newPage();
  if (!storage) await page.addInitScript(() => Object.defineProperty(window, "localStorage", { get() { throw new DOMException("denied", "SecurityError"); } }));
  page.setDefaultTimeout(60_000);
  page.on("request", (r) => { if (!r.url().startsWith(url) && !/^(blob|data):/.test(r.url())) found.elsewhere.push(r.url()); });
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) found.problems.push(`${hash}: ${m.text()}`); });
  page.on("pageerror", (e) => found.problems.push(`${hash}: ${e.message}`));
  await page.goto(url + hash);
  await settled(page);
  return page;
}

async function settled(page) {
  await page.waitForSelector("#main h1, #main .problem");
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]") && !document.getElementById("busy").textContent.startsWith("reading"));
  await page.waitForLoadState("networkidle");
}

async function look(name, page) {
  await page.evaluate(axe);
  const report = await page.evaluate(() => window.axe.run());
  for (const v of report.violations) {
    if (["serious", "critical"].includes(v.impact)) found.accessibility.push(`${name}: ${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).join(" | ")}`);
  }
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

const VIEWS = {
  top: ["#", "#panel a"], heat: ["#path=air/temperature", "canvas.picture"], line: ["#path=counts", "canvas.line"],
  table: ["#path=air/packed&view=table", "table.values"], colours: ["#path=rgb", "canvas.picture"],
  complex: ["#path=wave", "canvas.picture"], mask: ["#path=mask", "canvas.picture"], scalar: ["#path=answer", ".scalar"],
  words: ["#path=words", "table.values"], people: ["#path=people", "table.values"], days: ["#path=days", "table.values"],
  pyramid: ["#path=image/0", "canvas.picture"], chunks: ["#path=sharded&tab=chunks", "canvas.map"],
  attributes: ["#path=air/temperature&tab=attributes", "table.attributes"],
  metadata: ["#path=air/temperature&tab=metadata", "pre.document"], point: ["#path=air/temperature&point=40,90", "canvas.line"],
};
for (const [name, [hash, selector]] of Object.entries(VIEWS)) {
  const page = await opened(hash, { bypassCSP: true });
  if (!(await page.locator(selector).first().isVisible())) found.problems.push(`${name}: no ${selector}`);
  if (await page.locator(".problem").count()) found.problems.push(`${name}: ${await page.locator(".problem").first().textContent()}`);
  await look(name, page);
  if (name === "scalar") found.texts.scalar = await page.locator(".scalar").textContent();
  if (name === "words") found.texts.words = await page.locator("td").allTextContents();
  await page.context().close();
}
for (const [name, options] of [["dark", { colorScheme: "dark" }], ["phone", PHONE]]) {
  const page = await opened("#path=air/temperature", { bypassCSP: true, ...options });
  await look(name, page);
  found.texts[`${name} width`] = await page.evaluate(() => document.documentElement.scrollWidth);
  if (name === "phone") {
    await page.click("#menu");
    await page.getByRole("treeitem", { name: "rgb" }).locator(".row").click();
    await page.waitForFunction(() => location.hash.startsWith("#path=rgb"));
    found.texts["phone tree"] = await page.locator("#side").isVisible();
  }
  await page.context().close();
}

{
  const page = await opened("#path=hostile/long");
  await page.locator("canvas.picture").waitFor();
  found.texts.wider = await page.locator("#main").evaluate((main) => main.scrollWidth - main.clientWidth);
  found.texts.long = await page.locator(".long").textContent();
  await page.context().close();
}

// The pointer, the keyboard, the slider, the address.
{
  const page = await opened("#path=air/temperature");
  const box = await page.locator("canvas.picture").boundingBox();
  await page.mouse.move(box.x + 300, box.y + 150);
  found.texts.readout = await page.locator(".readout").textContent();
  await page.locator("canvas.picture").focus();
  await page.keyboard.press("+");
  await page.waitForFunction(() => location.hash.includes("window="));
  await page.keyboard.press("0");
  await page.waitForFunction(() => !location.hash.includes("window="));
  await page.getByRole("slider", { name: "time" }).focus();
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => location.hash.includes("at=1,0,0"));
  await settled(page);
  found.texts.slider = await page.locator(".slider output").textContent();
  await page.getByRole("treeitem", { name: /^temperature/ }).focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash.includes("path=air/time"));
  await page.goBack();
  await page.waitForFunction(() => location.hash.includes("path=air/temperature"));
  await settled(page);
  await page.locator("summary", { hasText: "Take" }).click();
  await page.getByRole("button", { name: "Python" }).click();
  found.texts.python = await page.locator(".menu pre").textContent();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: ".csv" }).click()]);
  found.texts.file = file.suggestedFilename();
  await page.getByRole("searchbox").fill("temp");
  await page.waitForFunction(() => document.getElementById("tree").textContent.includes("1 found"));
  await page.route("**/api/search*", (route) => route.fulfill({ status: 200, body: "cut" }));
  await page.getByRole("searchbox").fill("tempe");
  await page.waitForFunction(() => document.getElementById("tree").textContent.includes("JSON"));
  await page.context().close();
}
{
  // Controls are drawn anew when they are used; the focus stays where it was.
  const page = await opened("#path=air/temperature&point=40,90");
  const focused = () => page.evaluate(() => document.activeElement.ariaLabel ?? document.activeElement.closest("label")?.textContent);
  const line = () => page.locator(".below canvas.line").evaluate((canvas) => canvas.toDataURL());
  const before = await line();
  await page.getByLabel("Colours", { exact: true }).focus();
  await page.keyboard.press("ArrowDown");
  found.texts.focus = [await focused()];
  await page.getByLabel("Log").focus();
  await page.keyboard.press(" ");
  found.texts.focus.push(await focused());
  found.texts.log = (await line()) !== before;
  await page.getByRole("button", { name: "Table" }).click();
  await page.getByRole("button", { name: "lon after" }).focus();
  for (const start of [15, 30]) {
    await page.keyboard.press("Enter");
    await page.waitForFunction((at) => location.hash.includes(`window=0,0,${at},0`), start);
    await settled(page);
  }
  found.texts.focus.push(await focused());
  await page.context().close();
}
for (const [name, hash] of [["colours", "#path=rgb"], ["line", "#path=counts"]]) {
  const page = await opened(hash);
  found.texts[`${name} legend`] = await page.locator(".legend canvas").evaluateAll((all) => all.map((canvas) => canvas.ariaLabel));
  await page.context().close();
}
{
  const page = await opened("#path=sharded&tab=chunks");
  await page.locator("canvas.map").click({ position: { x: 5, y: 5 } });
  await page.waitForSelector(".onechunk");
  found.texts.chunk = await page.locator(".onechunk").textContent();
  await page.getByRole("button", { name: "Show it" }).click();
  await page.waitForSelector("canvas.picture");
  await page.context().close();
}
{
  const page = await opened("#path=uneven&tab=chunks&at=5,0,0");
  await page.locator("canvas.map").click({ position: { x: 5, y: 5 } });
  await page.waitForSelector(".onechunk");
  found.texts.uneven = await page.locator(".onechunk").textContent();
  await page.context().close();
}
{
  const page = await opened("#path=words");
  await page.locator("summary", { hasText: "Take" }).click();
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: ".csv" }).click()]);
  found.texts.words_file = file.suggestedFilename();
  await page.context().close();
}
{
  const page = await opened("#path=air/packed&at=3,0,0");
  await page.locator("summary", { hasText: "Take" }).click();
  await page.getByRole("button", { name: "Python" }).click();
  found.texts.packed = await page.locator(".menu pre").textContent();
  const [picture] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: ".png" }).click()]);
  found.texts.png = picture.suggestedFilename();
  await page.context().close();
}
// Addresses that somebody wrote, and a frame that may keep nothing.
for (const rest of ["map=__proto__", "point=99999,3", "point=-1,-5", "rows=7&columns=9&tab=chunks", "window=9,1,5,2", "at=1e30,-4,x", "view=x&tab=x"]) {
  const page = await opened(`#path=air/temperature&${rest}`);
  if (await page.locator(".problem").count()) found.problems.push(`${rest}: ${await page.locator(".problem").first().textContent()}`);
  await page.context().close();
}
{
  const page = await opened("#path=counts", { storage: false });
  await page.locator("#theme").click();
  found.texts.theme = await page.evaluate(() => document.documentElement.dataset.theme);
  await page.context().close();
}
{
  const page = await opened("#path=nothing/here");
  found.texts.missing = await page.locator(".problem").first().textContent();
  found.problems = found.problems.filter((text) => !text.includes("404"));
  await page.context().close();
}
{
  // The hostile group: whatever ran would have changed the title.
  const page = await opened("#path=hostile&tab=attributes");
  await page.getByRole("tab", { name: "Metadata" }).click();
  await page.waitForSelector("pre.document");
  found.texts.title = await page.title();
  found.texts.images = await page.locator("img").count();
  await page.context().close();
}
{
  const page = await opened("#path=many");
  found.texts.paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
  found.texts.rows = await page.getByRole("treeitem").count();
  await page.context().close();
}
console.log(JSON.stringify(found));
await browser.close();
