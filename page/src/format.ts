// Numbers and sizes as people read them.

export function show(value: number | bigint): string {
  if (typeof value === "bigint") return value.toString();
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "-∞";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return String(value);
  const size = Math.abs(value);
  if (size >= 1e12 || size < 1e-3) return value.toExponential(4).replace(/\.?0+e/, "e");
  return String(+value.toPrecision(7));
}

/** A value of a range, with digits enough to tell its ends apart: 4512345.67, where seven digits of it are another value. */
export function among(value: number, low: number, high: number): string {
  const size = Math.abs(value), span = high - low;
  if (!(size >= 1e-3 && size < 1e12)) return show(value);
  const digits = span > 0 ? Math.ceil(Math.log10(size / span)) + 5 : Math.fround(+value.toPrecision(7)) === value ? 7 : 15;
  return String(+value.toPrecision(clamp(digits, 7, 15)));
}

/** The shortest text that gives the value back, of a number of 64 bits or of 32. */
export function exact(value: number | bigint, single = false): string {
  if (typeof value === "bigint" || !Number.isFinite(value)) return show(value);
  if (Object.is(value, -0)) return "-0";
  for (let digits = 1; single && digits < 10; digits++) {
    const found = Number(value.toPrecision(digits));
    if (Math.fround(found) === value) return String(found);
  }
  return String(value);
}

/** Text with the characters that turn its direction as escapes. */
export function plain(text: string): string {
  return text.replace(/[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function short(value: number): string {
  if (!Number.isFinite(value)) return show(value);
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(1).replace(".0e", "e").replace("e+", "e");
  return String(+value.toPrecision(4));
}

/** A tick as text, with all of its digits: rounded ones would be alike, or wrong. */
export function mark(value: number): string {
  const [text, power] = [String(value), value.toExponential()].map((t) => t.replace("e+", "e")) as [string, string];
  return text.length < 9 || text.length <= power.length ? text : power;
}

export function bytes(value: number | string | null): string {
  if (value === null || typeof value === "string") return value ?? "?";
  let size = value;
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (size < 1024 || unit === "TiB") return unit === "B" ? `${Math.round(size)} B` : `${size.toPrecision(3)} ${unit}`;
    size /= 1024;
  }
  return "";
}

export const count = (value: number): string => value.toLocaleString("en");
export const product = (list: number[]): number => list.reduce((a, b) => a * b, 1);
export const clamp = (value: number, low: number, high: number): number => Math.max(low, Math.min(high, value));
export const times = (list: (number | number[])[]): string =>
  list.map((n) => (Array.isArray(n) ? `(${n.slice(0, 4).join(", ")}${n.length > 4 ? ", …" : ""})` : n)).join(" × ") || "scalar";

/** Steps that are easy to read: 1, 2, 5, 10 … */
export function step(span: number, wanted: number): number {
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const found = [1, 2, 5, 10].find((n) => n * power >= rough) ?? 10;
  return found * power;
}

export function ticks(low: number, high: number, wanted: number): number[] {
  if (!(high > low) || !Number.isFinite(high - low)) return [low].filter(Number.isFinite);
  const by = step(high - low, wanted);
  const found: number[] = [];
  for (let n = Math.ceil(low / by); n * by <= high + by * 1e-9 && found.length < 50; n++) found.push(+(n * by).toPrecision(12));
  return found;
}

/** Powers of ten; of less than two of them, values that are evenly spaced. */
export function logTicks(low: number, high: number, wanted: number): number[] {
  if (!(low > 0) || high / low < 100) return ticks(low, high, wanted);
  return ticks(Math.log10(low), Math.log10(high), wanted).filter(Number.isInteger).map((v) => Number(`1e${v}`));
}
