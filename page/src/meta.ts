// Metadata as understood and as stored, and attributes.
import { type Child, children, type Facts } from "./api";
import { button, el, fill } from "./dom";
import { bytes, count, times } from "./format";
import { go } from "./state";

export function summary(facts: Facts): HTMLElement {
  const rows: [string, string | Node][] = [["format", facts.format]];
  if (facts.kind === "array") {
    rows.push(["shape", times(facts.shape)], ["type", facts.dtype]);
    if (facts.chunks) rows.push(["chunks", times(facts.chunks)]);
    if (facts.shards) rows.push(["shards", times(facts.shards)]);
    if (facts.bytes !== null) rows.push(["size", bytes(facts.bytes)]);
    if (facts.codecs) rows.push(["codecs", codecs(facts.codecs) || "none"]);
    rows.push(["fill value", facts.fill_value === null || facts.fill_value === undefined ? "none" : JSON.stringify(facts.fill_value)]);
    if (facts.map?.crs) rows.push(["reference system", `${facts.map.crs}${facts.map.code && facts.map.code.length < 30 ? ` (${facts.map.code})` : ""}`]);
  }
  if (facts.multiscale) {
    rows.push(["pyramid", el("span", {}, `${facts.multiscale.convention}: `, ...facts.multiscale.levels.flatMap((level, i) => [
      link(level.path, level.shape.join("×")), i < facts.multiscale!.levels.length - 1 ? " · " : ""]))]);
  }
  return el("dl", { className: "facts" }, ...rows.map(([k, v]) => el("div", {}, el("dt", {}, k), el("dd", {}, v))));
}

export function codecs(list: NonNullable<Facts["codecs"]>): string {
  return list.map(({ name, configuration = {} }) => {
    const inner = configuration["codecs"];
    if (Array.isArray(inner)) return `${name} [${codecs(inner as NonNullable<Facts["codecs"]>)}]`;
    const words = Object.entries(configuration)
      .filter(([, v]) => ["string", "number", "boolean"].includes(typeof v)).map(([k, v]) => `${k}=${String(v)}`);
    return name.replace(/^numcodecs\./, "") + (words.length ? ` (${words.join(", ")})` : "");
  }).join(" → ");
}

export function link(path: string, text: string): HTMLElement {
  return el("a", { href: `#path=${encodeURIComponent(path)}`, onclick: (e: Event) => { e.preventDefault(); go({ path }); } }, text);
}

export function attributes(host: HTMLElement, facts: Facts): void {
  const found = Object.entries(facts.attributes);
  if (!found.length) { fill(host, el("p", { className: "note" }, "There are no attributes.")); return; }
  fill(host, el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Attributes" }, el("table", { className: "attributes" },
    el("caption", { className: "hidden" }, `Attributes of ${facts.name || "the top"}`),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "attribute"), el("th", { scope: "col" }, "value"))),
    el("tbody", {}, ...found.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, shown(value))))))));
}

function shown(value: unknown): HTMLElement {
  if (typeof value === "string") {
    // Only addresses of the web become links, and they tell nobody where they are from.
    if (/^https?:\/\/[^\s"'<>]+$/.test(value)) return el("a", { href: value, rel: "noopener noreferrer", target: "_blank" }, value);
    return el("span", {}, value);
  }
  if (value === null || typeof value !== "object") return el("code", {}, JSON.stringify(value));
  const flat = JSON.stringify(value);
  if (flat.length < 120) return el("code", {}, flat);
  return el("details", {}, el("summary", {}, Array.isArray(value) ? `${count(value.length)} items` : `${count(Object.keys(value).length)} members`),
    el("pre", { tabIndex: 0 }, JSON.stringify(value, null, 2)));
}

export function metadata(host: HTMLElement, facts: Facts): void {
  const dims = facts.kind === "array" && facts.dims.length ? el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Dimensions" },
    el("table", { className: "attributes" }, el("caption", {}, "Dimensions"),
      el("thead", {}, el("tr", {}, ...["name", "length", "chunk", "coordinates", "units"].map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, ...facts.dims.map((dim, i) => el("tr", {},
        el("th", { scope: "row" }, dim.name ?? String(i)), el("td", {}, count(dim.length)),
        el("td", {}, facts.chunks ? times([facts.chunks[i]!]) : "?"),
        el("td", {}, dim.coordinates ? link(dim.coordinates, dim.coordinates) : "none"), el("td", {}, dim.units ?? "")))))) : null;
  fill(host, dims, el("h2", {}, "As it is stored"), el("pre", { className: "document", tabIndex: 0 }, JSON.stringify(facts.document, null, 2)));
}

/** The members of a group, a page at a time. */
export async function contents(host: HTMLElement, facts: Facts, offset = 0): Promise<void> {
  try {
    const found = await children(facts.path, offset);
    if (!found.total) { fill(host, el("p", { className: "note" }, "The group is empty.")); return; }
    const end = offset + found.children.length;
    const turn = (to: number) => () => void contents(host, facts, to);
    fill(host,
      el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": "Contents" }, el("table", { className: "attributes" },
        el("caption", { className: "hidden" }, `Contents of ${facts.name || "the top"}`),
        el("thead", {}, el("tr", {}, ...["name", "shape", "type"].map((h) => el("th", { scope: "col" }, h)))),
        el("tbody", {}, ...found.children.map(member)))),
      found.total > found.children.length && el("div", { className: "pages" },
        button("‹", turn(Math.max(0, offset - 200)), { disabled: !offset, "aria-label": "Members before" }),
        el("span", {}, `${count(offset + 1)}–${count(end)} of ${count(found.total)}`),
        button("›", turn(end), { disabled: end >= found.total, "aria-label": "Members after" })));
  } catch (error) {
    fill(host, el("p", { className: "problem", role: "alert" }, (error as Error).message));
  }
}

function member(child: Child): HTMLElement {
  return el("tr", {}, el("th", { scope: "row" }, link(child.path, child.name)),
    el("td", {}, child.shape ? times(child.shape) : ""), el("td", {}, child.dtype ?? child.kind));
}
