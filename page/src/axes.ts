// Axes of pictures and lines: which ticks there are, and what stands at them.
import type { Dim, Labels } from "./api";
import { exact, mark, plain, show, step, ticks } from "./format";

/** Labels of every n-th position of a dimension. */
export interface Axis { dim: Dim; start: number; by: number; labels: Labels | null; scale: number | null }
export interface Tick { at: number; text: string }

export function title(axis: Axis): string {
  const { name, units, type } = axis.dim;
  return plain((name ?? "index") + (units && type !== "time" ? ` (${units})` : ""));
}

/** What a position is called; only its number if it has no coordinate. */
export function label(axis: Axis, index: number): string {
  const at = Math.round((index - axis.start) / axis.by);
  const { labels } = axis;
  const text = labels?.texts?.[at];
  if (text !== undefined) return plain(text);
  const value = labels?.values?.[at];
  if (value !== undefined) return typeof value === "number" ? exact(value) : value;
  const line = straight(axis);
  return line ? exact(+(line[0] + index * line[1]).toPrecision(12)) : String(index);
}

/** The first value and the step of an axis without labels whose values are evenly spaced. */
function straight({ dim, scale }: Axis): [number, number] | null {
  return dim.centres ?? (scale ? [0, scale] : null);
}

/** Ticks between two positions in their order, each in the middle of its element. */
export function axisTicks(axis: Axis, from: number, to: number, wanted: number): Tick[] {
  return anyOrder(axis, from, to, wanted).sort((a, b) => a.at - b.at);
}

/** Of falling coordinates the last tick comes first. */
function anyOrder(axis: Axis, from: number, to: number, wanted: number): Tick[] {
  const values = axis.labels?.values;
  if (!axis.labels?.texts && values && values.length > 1 && values.every((v) => typeof v === "number")) {
    const found = ofValues(axis, values as number[], from, to, wanted);
    if (found) return found;
  }
  if (axis.scale && !axis.labels?.texts) {
    return ticks(from * axis.scale, to * axis.scale, wanted).map((v) => ({ at: v / axis.scale! , text: mark(v) }));
  }
  if (axis.dim.centres && !axis.labels) {
    const [first, by] = axis.dim.centres;
    const [a, b] = [from, to].map((at) => first + (at - 0.5) * by) as [number, number];
    return ticks(Math.min(a, b), Math.max(a, b), wanted).map((v) => ({ at: (v - first) / by + 0.5, text: mark(v) }));
  }
  const by = Math.max(1, Math.round(step(to - from, wanted)));
  const found: Tick[] = [];
  for (let i = Math.ceil(Math.ceil(from) / by) * by; i < to && found.length < 50; i += by) {
    const value = axis.labels?.texts ? null : axis.labels?.values?.[Math.round((i - axis.start) / axis.by)];
    found.push({ at: i + 0.5, text: typeof value === "number" ? show(value) : label(axis, i) });
  }
  return found;
}

function ofValues(axis: Axis, values: number[], from: number, to: number, wanted: number): Tick[] | null {
  const up = values[values.length - 1]! > values[0]!;
  for (let i = 1; i < values.length; i++) if (values[i]! > values[i - 1]! !== up || values[i] === values[i - 1]) return null;
  const place = (index: number) => {
    const at = (index - 0.5 - axis.start) / axis.by;
    const i = Math.max(0, Math.min(values.length - 2, Math.floor(at)));
    return values[i]! + (values[i + 1]! - values[i]!) * (at - i);
  };
  const [a, b] = [place(from), place(to)];
  return ticks(Math.min(a, b), Math.max(a, b), wanted).flatMap((value) => {
    let i = 0;
    while (i < values.length - 2 && (up ? values[i + 1]! < value : values[i + 1]! > value)) i++;
    const at = axis.start + (i + (value - values[i]!) / (values[i + 1]! - values[i]!)) * axis.by + 0.5;
    return at >= from - 0.5 && at <= to + 0.5 ? [{ at, text: mark(value) }] : [];
  });
}
