// Taking values away: files, a picture, the line of Python that gives them.
import * as api from "./api";
import { button, byId, el, fill } from "./dom";
import { state } from "./state";

/** Pixels of the menu, as the style sheet has them. */
const WIDEST = 420;

/** The selection as Python writes it; the whole array is `[...]`. Packed values are read by the group, as they are meant. */
export function python(facts: api.Facts, line: string, chosen: string, raw: boolean): string {
  const top = line || "root", quoted = (path: string) => `[${JSON.stringify(path)}]`;
  const parts = chosen.split(",").map((part, dim) => (part === `0:${facts.shape[dim]}` ? ":" : part));
  const inner = !facts.shape.length ? "()" : parts.every((part) => part === ":") ? "..." : parts.join(", ");
  if (facts.packed && !raw && facts.path) {
    const above = facts.path.split("/").slice(0, -1).join("/");
    const group = above ? top + quoted(above) : top;
    return `import numpy\nimport omnizarr\nvalues = ${group}.netcdf${quoted(facts.name)}.read(numpy.s_[${inner}])\n`;
  }
  const note = facts.packed && !raw ? "  # as stored" : "";
  return `import omnizarr\nvalues = ${facts.path ? top + quoted(facts.path) : top}[${inner}]${note}\n`;
}

export function exports(
  facts: api.Facts, line: string, chosen: () => string, canvas: (() => HTMLCanvasElement) | null,
): HTMLElement {
  const menu = el("div", { className: "menu" });
  const box = el("details", { className: "exports" }, el("summary", {}, "Take"), menu);
  const decode = () => (state.raw ? 0 : 1);
  const file = (kind: string, text: string) => {
    const link = el("a", { href: "#", download: "" }, text);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      void save(api.address("download", { path: facts.path, s: chosen(), as: kind, decode: decode() }), kind);
    });
    return link;
  };
  const told = el("p", { className: "note", role: "status" });
  const save = async (url: string, kind: string) => {
    told.textContent = "reading …";
    const response = await fetch(url);
    if (!response.ok) { fill(told, ((await response.json()) as { error: string }).error); return; }
    keep(await response.blob(), kind);
    told.textContent = "";
  };
  const keep = (blob: Blob, kind: string) => {
    const url = URL.createObjectURL(blob);
    el("a", { href: url, download: `${facts.name || "values"}.${kind}` }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
  };
  const copy = async () => {
    const text = python(facts, line, chosen(), state.raw);
    fill(shown, text); shown.hidden = false;
    try { await navigator.clipboard.writeText(text); told.textContent = "copied"; } catch { told.textContent = "select and copy it"; }
  };
  const shown = el("pre", { hidden: true, tabIndex: 0 });
  // To the left, where there is room beside the tree.
  box.addEventListener("toggle", () => menu.classList.toggle("right", box.getBoundingClientRect().right - WIDEST < byId("main").getBoundingClientRect().left));
  fill(menu, el("p", { className: "note" }, "What is shown, at full resolution:"),
    file("npy", ".npy"), file("csv", ".csv"), file("nc", ".nc (NetCDF)"),
    canvas && button("picture (.png)", () => canvas().toBlob((blob) => { if (blob) keep(blob, "png"); })),
    button("Python", () => void copy()), shown, told);
  return box;
}
