// Every node of the stores that pages show, in every view and tab: node walk.mjs ENVIRONMENT PROGRAM URL…
// Prints one JSON document: for every URL what was seen of each node, and what went wrong.
import { createRequire } from "node:module";
import { join } from "node:path";

const [environment, program, ...urls] = process.argv.slice(2);
const { chromium } = createRequire(join(environment, "package.json"))("playwright-core");
const quiet = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
];
const browser = await chromium.launch({ executablePath: program, args: quiet });

async function nodes(url, path = "") {
  const { children } = await (await fetch(`${url}api/children?${new URLSearchParams({ path, limit: 1000 })}`)).json();
  const below = await Promise.all(children.filter((c) => c.kind === "group").map((c) => nodes(url, c.path)));
  return [path, ...children.filter((c) => c.kind !== "group").map((c) => c.path), ...below.flat()];
}

async function settled(page) {
  await page.waitForTimeout(30); // what a click starts is seen as busy
  await page.waitForSelector("#main h1, #main .problem");
  await page.waitForFunction(() => !document.querySelector("[aria-busy=true]") && !document.getElementById("busy").textContent.startsWith("reading"));
}

async function walked(url) {
  const page = await browser.newPage({ viewport: { width: 1200, height: 780 } });
  page.setDefaultTimeout(60_000);
  const seen = {}, problems = [];
  let where = "";
  const wrong = (text) => problems.push(`${where}: ${text}`);
  page.on("request", (r) => { if (!r.url().startsWith(url) && !/^(blob|data):/.test(r.url())) wrong(r.url()); });
  page.on("console", (m) => { if (["error", "warning"].includes(m.type())) wrong(m.text()); });
  page.on("pageerror", (e) => wrong(e.message));
  const look = async (name) => {
    await settled(page);
    for (const text of await page.locator(".problem").allTextContents()) wrong(`${name}: ${text}`);
    if (!await page.locator("#panel canvas, #panel table, #panel .scalar, #panel .note, #panel pre").count()) wrong(`${name}: nothing`);
    seen[where].push(name);
  };
  for (const path of await nodes(url)) {
    seen[(where = path || "/")] = [];
    await page.goto("about:blank"); // so that no view is kept from the node before
    await page.goto(`${url}#path=${encodeURIComponent(path)}`);
    await look("first");
    const views = page.locator(".views button");
    for (let i = 0; i < await views.count(); i++) {
      await views.nth(i).click();
      await look(await views.nth(i).textContent());
    }
    if (await views.count()) await views.first().click();
    await settled(page);
    if (await page.locator("canvas.picture").count()) {
      await page.locator("canvas.picture").focus();
      await page.keyboard.press("ArrowRight");
      await page.keyboard.press("Enter");
      await page.locator(".below canvas.line").waitFor();
      await look("point");
    }
    const tabs = page.getByRole("tab");
    for (let i = 1; i < await tabs.count(); i++) {
      await tabs.nth(i).click();
      await look((await tabs.nth(i).textContent()).split(" ")[0]);
      const map = page.locator("canvas.map");
      if (await map.count()) {
        await map.click({ position: { x: 3, y: 3 } });
        await page.waitForSelector(".onechunk");
        await look("chunk");
      }
    }
  }
  await page.close();
  return { seen, problems };
}

const found = {};
for (const url of urls) found[url] = await walked(url);
console.log(JSON.stringify(found));
await browser.close();
