// The JSON API of the server, typed.

export interface Child { path: string; name: string; kind: "array" | "group" | "damaged"; shape?: number[]; dtype?: string }
export interface Children { path: string; total: number; offset: number; children: Child[] }
export interface Dim {
  name: string | null; length: number; type: string | null; units: string | null; coordinates: string | null;
  /** On a map: the first centre of a cell, and the step to the next one. */
  centres: [number, number] | null;
}
/** Of codecs inside another one, such as a shard's, the configuration is as stored: it may be absent. */
export interface Codec { name: string; configuration?: Record<string, unknown> }
export interface Pyramid {
  levels: { path: string; shape: number[] }[];
  axes: { name: string; type: string | null; unit: string | null }[];
  scales: number[][];
  convention: string;
}
export type Kind = "number" | "bool" | "complex" | "time" | "duration" | "record" | "text";
export interface Facts {
  path: string; name: string; kind: "array" | "group"; format: string;
  attributes: Record<string, unknown>; document: Record<string, unknown>;
  multiscale: Pyramid | null;
  shape: number[]; dtype: string; type: Kind; fields: string[]; size: number | string; bytes: number | string | null;
  order: string; packed: boolean; fill_value: unknown;
  chunks?: (number | number[])[]; shards?: (number | number[])[] | null; grid?: number[]; codecs?: Codec[];
  dims: Dim[]; map: { crs?: string; code?: string; problem?: string } | null; problems: string[];
}
export type Part = number | [number, number, number];
export interface Values {
  shape: number[]; selection: string; parts: Part[]; type: Kind; dtype?: string;
  texts?: string[]; fields?: string[]; rows?: string[][];
  data: Numbers;
}
export type Numbers = ArrayLike<number | bigint>;
export interface Labels { values: (number | string)[] | null; texts: string[] | null }
export interface ChunkMap {
  grid: number[]; unit: string; rows: number; columns: number; height: number; width: number;
  per_cell: number[]; folded: number; lengths: (number | number[])[]; inner: number[];
  /** Bytes of the largest chunk when it is decoded, where values have a fixed length. */
  largest: number | null;
  counts: number[]; bytes: number[]; decoded: number[]; listed: number; total: number; complete: boolean; problem: string | null;
}
export interface Store { title: string; line: string; kind: "array" | "group"; version: string }

export class Refused extends Error {
  constructor(message: string, readonly hint: string | null) { super(message); }
}

type Query = Record<string, string | number | undefined>;
const traffic = { requests: 0, bytes: 0, open: 0 };
let told: (t: typeof traffic) => void = () => undefined;
export function watch(function_: (t: typeof traffic) => void): void { told = function_; }

export function address(name: string, query: Query): string {
  const given = Object.entries(query).filter(([, v]) => v !== undefined).map(([k, v]) => [k, String(v)]);
  return `api/${name}?${new URLSearchParams(given)}`;
}

async function ask(name: string, query: Query, signal?: AbortSignal): Promise<ArrayBuffer> {
  traffic.requests++; traffic.open++; told(traffic);
  try {
    const response = await fetch(address(name, query), { signal });
    const body = await response.arrayBuffer();
    traffic.bytes += body.byteLength;
    if (!response.ok) {
      let error = `the server answered ${response.status}`, hint: string | null = null;
      try { ({ error, hint } = JSON.parse(new TextDecoder().decode(body))); } catch { /* not ours */ }
      throw new Refused(error, hint);
    }
    return body;
  } finally {
    traffic.open--; told(traffic);
  }
}

async function json<T>(name: string, query: Query, signal?: AbortSignal): Promise<T> {
  return JSON.parse(new TextDecoder().decode(await ask(name, query, signal))) as T;
}

export const store = () => json<Store>("store", {});
export const children = (path: string, offset = 0) => json<Children>("children", { path, offset });
export const search = (q: string, signal: AbortSignal) =>
  json<{ hits: Child[]; looked: number; complete: boolean }>("search", { q }, signal);
export const node = (path: string, fresh?: boolean) => json<Facts>("node", { path, fresh: fresh ? 1 : undefined });
export const chunkMap = (path: string, rows: number, columns: number, at: string) =>
  json<ChunkMap>("chunks", { path, rows, columns, at });
export const chunk = (path: string, index: number[]) =>
  json<{ index: number[]; selection: string; shape: number[] }>("chunk", { path, index: index.join(",") });

export async function values(
  path: string, s: string, size: number[], decode: boolean, signal?: AbortSignal,
): Promise<Values> {
  const query = { path, s, size: size.map((n) => Math.max(1, Math.round(n))).join(",") || undefined };
  const body = await ask("values", { ...query, decode: decode ? 1 : 0 }, signal);
  const length = new DataView(body).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(body, 4, length))) as Values;
  header.data = numbers(header.dtype ?? "u1", body, 4 + length);
  return header;
}

function numbers(dtype: string, body: ArrayBuffer, start: number): Numbers {
  switch (dtype) {
    case "u1": return new Uint8Array(body, start);
    case "i1": return new Int8Array(body, start);
    case "u2": return new Uint16Array(body, start);
    case "i2": return new Int16Array(body, start);
    case "u4": return new Uint32Array(body, start);
    case "i4": return new Int32Array(body, start);
    case "u8": return new BigUint64Array(body, start);
    case "i8": return new BigInt64Array(body, start);
    case "f4": return new Float32Array(body, start);
    default: return new Float64Array(body, start);
  }
}

const labelled = new Map<string, Promise<Labels>>();
export function labels(path: string, dim: number, s: string): Promise<Labels> {
  const key = `${path}|${dim}|${s}`;
  let found = labelled.get(key);
  if (!found) {
    if (labelled.size > 500) labelled.clear();
    found = json<Labels>("labels", { path, dim, s }).catch(() => ({ values: null, texts: null }));
    labelled.set(key, found);
  }
  return found;
}
export function forget(): void { labelled.clear(); }
