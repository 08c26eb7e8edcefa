// Values as a table: numbers, text, records; one page of rows and columns at a time.
import * as api from "../api";
import { type Axis, label } from "../axes";
import { button, el, fill } from "../dom";
import { count, exact } from "../format";

export const ROWS = 50, COLUMNS = 15;

/** The text of one value. */
export function text(values: api.Values, index: number): string {
  if (values.texts && values.type !== "number") return values.texts[index] ?? "";
  const { data } = values, single = data instanceof Float32Array;
  if (values.type === "complex") {
    const [re, im] = [Number(data[2 * index]), Number(data[2 * index + 1])];
    return `${exact(re, single)}${im < 0 || Object.is(im, -0) ? "−" : "+"}${exact(Math.abs(im), single)}i`;
  }
  const value = data[index]!;
  return values.type === "bool" ? (value ? "true" : "false") : exact(value, single);
}

/** A table of a 1-D or 2-D part; `swapped` if the first axis of the values runs to the right. */
export function table(
  values: api.Values, down: Axis | null, right: Axis | null, swapped: boolean, caption: string,
): HTMLElement {
  const records = values.type === "record";
  const height = !down ? 1 : values.shape[right && swapped ? 1 : 0] ?? 1;
  const width = records ? values.fields!.length : right ? values.shape[swapped ? 0 : down ? 1 : 0] ?? 1 : 1;
  const heads = records ? values.fields! : right
    ? Array.from({ length: width }, (_, i) => label(right, right.start + i * right.by)) : ["value"];
  const body = Array.from({ length: height }, (_, r) => {
    const index = down ? down.start + r * down.by : 0;
    const name = down ? label(down, index) : "";
    const cells = Array.from({ length: width }, (_, c) => {
      const shown = records ? values.rows![r]![c]! : text(values, swapped ? c * height + r : r * width + c);
      return el("td", {}, shown);
    });
    return el("tr", {}, el("th", { scope: "row" }, name === String(index) || !down ? String(index) : `${index} · ${name}`), ...cells);
  });
  return el("div", { className: "scroll", tabIndex: 0, role: "region", "aria-label": caption },
    el("table", { className: "values" }, el("caption", { className: "hidden" }, caption),
      el("thead", {}, el("tr", {}, el("td", {}), ...heads.map((h) => el("th", { scope: "col" }, h)))),
      el("tbody", {}, ...body)));
}

/** Buttons that turn the pages of one direction. */
export function pager(name: string, from: number, size: number, length: number, to: (start: number) => void): HTMLElement | null {
  if (length <= size) return null;
  const box = el("span", { className: "pager", role: "group", "aria-label": name });
  const move = (start: number) => to(Math.max(0, Math.min(Math.floor((length - 1) / size) * size, start)));
  const input = el("input", {
    type: "number", min: "0", max: String(length - 1), value: String(from), "aria-label": `First of ${name}`,
    onchange: () => move(Number(input.value) || 0),
  });
  fill(box, el("span", {}, name), button("‹", () => move(from - size), { "aria-label": `${name} before`, disabled: from <= 0 }),
    input, el("span", {}, `– ${count(Math.min(length, from + size) - 1)} of ${count(length)}`),
    button("›", () => move(from + size), { "aria-label": `${name} after`, disabled: from + size >= length }));
  return box;
}
