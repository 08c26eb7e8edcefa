// Numbers about what is shown: range, mean, percentiles, histogram.
import type { Values } from "./api";

export interface Stats {
  count: number; missing: number; infinite: number; min: number; max: number; mean: number; deviation: number;
  sorted: Float64Array;
}

/** Values as plain numbers; of complex ones the chosen part. */
export function real(values: Values, part: string): Float64Array {
  const { data } = values;
  if (values.type !== "complex") {
    const missing = values.type === "time" || values.type === "duration" ? -(2n ** 63n) : null;
    return Float64Array.from(data as ArrayLike<number>, (v: number | bigint) => (v === missing ? NaN : Number(v)));
  }
  const out = new Float64Array(data.length / 2);
  for (let i = 0; i < out.length; i++) {
    const [re, im] = [Number(data[2 * i]), Number(data[2 * i + 1])];
    out[i] = part === "phase" ? Math.atan2(im, re) : part === "real" ? re : part === "imaginary" ? im : Math.hypot(re, im);
  }
  return out;
}

export function stats(values: Float64Array): Stats {
  const missing = values.reduce((n, v) => n + Number(Number.isNaN(v)), 0);
  const sorted = values.filter((v) => Number.isFinite(v)).sort();
  let sum = 0;
  for (const v of sorted) sum += v;
  const mean = sum / sorted.length;
  let squares = 0;
  for (const v of sorted) squares += (v - mean) ** 2;
  return {
    count: values.length, missing, infinite: values.length - sorted.length - missing,
    min: sorted[0] ?? NaN, max: sorted[sorted.length - 1] ?? NaN,
    mean, deviation: Math.sqrt(squares / sorted.length), sorted,
  };
}

export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.round((sorted.length - 1) * share)] ?? NaN;
}

export function histogram(sorted: Float64Array, low: number, high: number, bins: number): number[] {
  const found = new Array<number>(bins).fill(0);
  const scale = bins / (high - low || 1);
  for (const v of sorted) if (v >= low && v <= high) found[Math.min(bins - 1, Math.floor((v - low) * scale))]!++;
  return found;
}

export interface Range { low: number; high: number; log: boolean }

export function range(found: Stats, stretch: string, low: string, high: string, log: boolean): Range {
  const share = stretch === "98" ? 0.01 : stretch === "90" ? 0.05 : 0;
  let [from, to] = [percentile(found.sorted, share), percentile(found.sorted, 1 - share)];
  if (stretch === "hand") {
    if (low !== "" && Number.isFinite(Number(low))) from = Number(low);
    if (high !== "" && Number.isFinite(Number(high))) to = Number(high);
  }
  if (log) {
    if (!(from > 0)) from = found.sorted.find((v) => v > 0) ?? 1;
    if (!(to > from)) to = from * 10;
  }
  return { low: from, high: to, log };
}

/** Where a value is between low (0) and high (1). */
export function placed(value: number, r: Range): number {
  if (r.log) return Math.log(value / r.low) / Math.log(r.high / r.low);
  return r.high > r.low ? (value - r.low) / (r.high - r.low) : value > r.high ? 1 : value < r.low ? 0 : 0.5;
}
