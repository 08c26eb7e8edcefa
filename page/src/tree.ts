// The tree of groups and arrays: opened lazily, in pages, by mouse and by keyboard.
import * as api from "./api";
import { button, byId, el, fill } from "./dom";
import { count, times } from "./format";
import { go, state } from "./state";

const tree = () => byId("tree");
let top: api.Store;

export async function start(store: api.Store): Promise<void> {
  top = store;
  const search = byId("search") as HTMLInputElement;
  let waiting = 0, running = new AbortController();
  search.addEventListener("input", () => {
    clearTimeout(waiting); running.abort(); running = new AbortController();
    const { signal } = running;
    waiting = window.setTimeout(() => { void find(search.value.trim(), signal); }, 200);
  });
  search.addEventListener("keydown", (event) => { if (event.key === "ArrowDown") { items()[0]?.focus(); event.preventDefault(); } });
  tree().addEventListener("keydown", keyed);
  await draw();
}

export async function draw(): Promise<void> {
  const list = el("ul", { role: "tree", "aria-label": "Groups and arrays" });
  const root: api.Child = { path: "", name: top.title.split("/").pop() || top.title, kind: top.kind };
  const item = row(root, 1);
  list.append(item);
  fill(tree(), list);
  if (top.kind === "group") {
    await open(item, root);
    let at = "";
    for (const part of state.path.split("/").filter(Boolean)) {
      at = at ? `${at}/${part}` : part;
      const found = itemOf(at);
      if (!found?.hasAttribute("aria-expanded")) break;
      await open(found, { path: at, name: part, kind: "group" });
    }
  }
  mark();
}

/** Show which node is selected. */
export function mark(): void {
  const own = itemOf(state.path);
  for (const item of tree().querySelectorAll<HTMLElement>("[role=treeitem]")) {
    item.setAttribute("aria-selected", String(item === own));
    item.tabIndex = -1;
  }
  const first = own ?? items()[0];
  if (first) first.tabIndex = 0;
  own?.querySelector(".row")?.scrollIntoView({ block: "nearest" });
}

const itemOf = (path: string): HTMLElement | null =>
  [...tree().querySelectorAll<HTMLElement>("[role=treeitem]")].find((item) => item.dataset.path === path) ?? null;
const items = (): HTMLElement[] =>
  [...tree().querySelectorAll<HTMLElement>("[role=treeitem]")].filter((item) => item.offsetParent !== null);

function row(child: api.Child, level: number): HTMLElement {
  const group = child.kind === "group";
  const size = child.shape ? `${times(child.shape).replace(/ /g, "")} ${child.dtype}` : child.kind === "damaged" ? "damaged" : "";
  const line = el("div", { className: "row" },
    el("span", { className: "twist", "aria-hidden": "true" }, group ? "▸" : ""),
    el("span", { className: `icon ${child.kind}`, "aria-hidden": "true" }),
    el("span", { className: "name" }, child.name), el("span", { className: "about" }, size));
  const item = el("li", {
    role: "treeitem", tabIndex: -1, "aria-level": level, "aria-label": `${child.name}, ${group ? "group" : size}`,
    "aria-selected": "false", "aria-expanded": group ? "false" : undefined,
  }, line);
  item.dataset.path = child.path;
  line.style.paddingLeft = `${8 + (level - 1) * 14}px`;
  line.addEventListener("click", (event) => {
    if (group && (event.target as HTMLElement).className === "twist") { void toggle(item, child); return; }
    choose(item, child);
  });
  return item;
}

function choose(item: HTMLElement, child: api.Child): void {
  if (child.kind === "group" && item.getAttribute("aria-expanded") === "false") void open(item, child);
  go({ path: child.path });
  document.body.classList.remove("open");
  byId("menu").setAttribute("aria-expanded", "false");
}

async function toggle(item: HTMLElement, child: api.Child): Promise<void> {
  if (item.getAttribute("aria-expanded") === "true") {
    item.setAttribute("aria-expanded", "false");
    item.querySelector("ul")?.remove();
  } else await open(item, child);
}

async function open(item: HTMLElement, child: api.Child): Promise<void> {
  if (item.getAttribute("aria-expanded") === "true") return;
  item.setAttribute("aria-expanded", "true");
  const list = el("ul", { role: "group" });
  item.append(list);
  await more(list, child.path, 0, Number(item.getAttribute("aria-level")) + 1);
}

async function more(list: HTMLElement, path: string, offset: number, level: number): Promise<void> {
  try {
    const found = await api.children(path, offset);
    list.append(...found.children.map((child) => row(child, level)));
    const shown = offset + found.children.length;
    if (shown < found.total) {
      const next = button(`${count(shown)} of ${count(found.total)}: show more`, () => {
        holder.remove(); void more(list, path, shown, level);
      }, { className: "more" });
      const holder = el("li", { role: "none" }, next);
      list.append(holder);
    } else if (!found.total) list.append(el("li", { role: "none", className: "empty" }, "empty"));
    mark();
  } catch (error) {
    list.append(el("li", { role: "none", className: "empty" }, String((error as Error).message)));
  }
}

async function find(text: string, signal: AbortSignal): Promise<void> {
  if (!text) { await draw(); return; }
  try {
    const found = await api.search(text, signal);
    const list = el("ul", { role: "tree", "aria-label": "Found" }, ...found.hits.map((hit) => row(hit, 1)));
    const end = found.complete ? "" : ", and perhaps more";
    const said = found.hits.length ? `${found.hits.length} found${end}` : `none of ${count(found.looked)} names has it`;
    fill(tree(), el("p", { className: "empty", role: "status" }, said), found.hits.length ? list : null);
    mark();
  } catch (error) {
    if (!signal.aborted) fill(tree(), el("p", { className: "empty", role: "status" }, (error as Error).message));
  }
}

function keyed(event: KeyboardEvent): void {
  const item = (event.target as HTMLElement).closest<HTMLElement>("[role=treeitem]");
  if (!item || event.ctrlKey || event.metaKey || event.altKey || event.target !== item) return;
  const all = items(), at = all.indexOf(item), expanded = item.getAttribute("aria-expanded");
  const child: api.Child = {
    path: item.dataset.path ?? "", name: item.querySelector(".name")!.textContent ?? "",
    kind: expanded === null ? "array" : "group",
  };
  const to = (next: HTMLElement | null | undefined) => {
    if (next) { for (const each of all) each.tabIndex = -1; next.tabIndex = 0; next.focus(); }
  };
  switch (event.key) {
    case "ArrowDown": to(all[at + 1]); break;
    case "ArrowUp": to(all[at - 1]); break;
    case "Home": to(all[0]); break;
    case "End": to(all[all.length - 1]); break;
    case "ArrowRight": if (expanded === "false") void open(item, child); else if (expanded) to(all[at + 1]); break;
    case "ArrowLeft":
      if (expanded === "true") void toggle(item, child);
      else to(item.parentElement?.closest<HTMLElement>("[role=treeitem]"));
      break;
    case "Enter": case " ": choose(item, child); break;
    default: return;
  }
  event.preventDefault();
}
