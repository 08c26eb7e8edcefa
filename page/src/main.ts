// The page: the tree at the side, the chosen node beside it.
import * as api from "./api";
import { chunks } from "./chunks";
import { Data } from "./data";
import { button, byId, el, fill } from "./dom";
import { bytes, count, plain } from "./format";
import { attributes, contents, link, metadata, summary } from "./meta";
import { change, onState, state, type Tab } from "./state";
import * as tree from "./tree";

let store: api.Store;
let data: Data | null = null;
let shown = 0;

async function begin(): Promise<void> {
  theme();
  onState(() => { tree.mark(); void show(); });
  api.watch((t) => { byId("busy").textContent = `${t.open ? "reading … " : ""}${count(t.requests)} requests, ${bytes(t.bytes)}`; });
  byId("menu").addEventListener("click", () => {
    const open = document.body.classList.toggle(window.innerWidth < 760 ? "open" : "closed");
    byId("menu").setAttribute("aria-expanded", String(window.innerWidth < 760 ? open : !open));
  });
  byId("skip").addEventListener("click", (e) => { e.preventDefault(); byId("main").focus(); });
  if (window.innerWidth < 760) byId("menu").setAttribute("aria-expanded", "false");
  try {
    store = await api.store();
    byId("title").textContent = plain(store.title);
    document.title = `${plain(store.title)} – omnizarr`;
    await Promise.all([tree.start(store), show()]);
  } catch (error) { failed(error); }
}

/** The colours that were chosen; browsers that block cookies refuse to keep them for a frame in a notebook. */
function kept(theme?: string): string | null {
  try {
    if (theme) localStorage.setItem("omnizarr-theme", theme);
    return localStorage.getItem("omnizarr-theme");
  } catch { return null; }
}

function theme(): void {
  const root = document.documentElement, before = kept();
  if (before === "dark" || before === "light") root.dataset.theme = before;
  byId("theme").addEventListener("click", () => {
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    kept(root.dataset.theme);
    data?.redraw();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => data?.redraw());
}

function failed(error: unknown): void {
  const hint = error instanceof api.Refused ? error.hint : null;
  fill(byId("main"), el("div", { className: "problem", role: "alert" }, el("p", {}, (error as Error).message), hint && el("p", {}, hint)));
}

async function show(fresh = false): Promise<void> {
  const mine = ++shown;
  try {
    const facts = await api.node(state.path, fresh);
    if (mine === shown) draw(facts);
  } catch (error) {
    if (mine === shown) { data?.stop(); data = null; failed(error); }
  }
}

function crumbs(facts: api.Facts): HTMLElement {
  const parts = facts.path.split("/").filter(Boolean);
  const links = parts.slice(0, -1).map((name, i) => link(parts.slice(0, i + 1).join("/"), name));
  return el("h1", {}, ...[...(parts.length ? [link("", "/")] : []), ...links].flatMap((a) => [a, el("span", { "aria-hidden": "true" }, " › ")]),
    parts.length ? facts.name : store.title.split("/").pop() || store.title);
}

function draw(facts: api.Facts): void {
  data?.stop(); data = null;
  const panel = el("div", { className: "panel", role: "tabpanel", id: "panel", "aria-labelledby": `tab-${state.tab}` });
  const tabs: [Tab, string][] = facts.kind === "array"
    ? [["data", "Data"], ["chunks", "Chunks"], ["attributes", `Attributes (${Object.keys(facts.attributes).length})`], ["metadata", "Metadata"]]
    : [["contents", "Contents"], ["attributes", `Attributes (${Object.keys(facts.attributes).length})`], ["metadata", "Metadata"]];
  const wanted = tabs.some(([name]) => name === state.tab) ? state.tab : tabs[0]![0];
  const bar = el("div", { className: "tabs", role: "tablist", "aria-label": "What is shown" });
  const open = (tab: Tab) => {
    for (const each of bar.children) {
      const on = each.id === `tab-${tab}`;
      each.setAttribute("aria-selected", String(on));
      (each as HTMLElement).tabIndex = on ? 0 : -1;
    }
    panel.setAttribute("aria-labelledby", `tab-${tab}`);
    data?.stop(); data = null;
    fill(panel);
    if (tab === "data") data = new Data(panel, facts, store.line);
    else if (tab === "chunks") void chunks(panel, facts);
    else if (tab === "contents") void contents(panel, facts);
    else if (tab === "attributes") attributes(panel, facts);
    else metadata(panel, facts);
  };
  bar.append(...tabs.map(([name, text]) => button(text, () => { change({ tab: name }); open(name); }, {
    role: "tab", id: `tab-${name}`, "aria-controls": "panel", "aria-selected": "false",
  })));
  bar.addEventListener("keydown", (e) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!by) return;
    const all = [...bar.children] as HTMLElement[];
    const next = all[(all.indexOf(document.activeElement as HTMLElement) + by + all.length) % all.length]!;
    next.click(); next.focus();
  });
  const problems = (facts.problems ?? []).map((text) => el("p", { className: "problem", role: "alert" }, text));
  const again = button("↻", () => { api.forget(); void show(true); void tree.draw(); }, { "aria-label": "Read again", title: "Read again from the store" });
  fill(byId("main"), el("div", { className: "head" }, crumbs(facts), again), longName(facts), summary(facts), ...problems, bar, panel);
  open(wanted);
}

function longName(facts: api.Facts): HTMLElement | null {
  const found = facts.attributes["long_name"] ?? facts.attributes["title"];
  return typeof found === "string" ? el("p", { className: "long" }, found) : null;
}

void begin();
