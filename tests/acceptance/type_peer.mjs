// Runs with Node.js inside the environment of zarrita.js: reads and writes arrays as a list of jobs
// says, like `type_peer.py`.
//
//     node type_peer.mjs FOLDER JOBS RESULTS
//
// FOLDER holds node_modules. A job is {"do": "read" | "write", "store": folder, "format": 2 | 3,
// "metadata": …, "regions": [{"selection": [[start, stop], …], "shape": […], "bits": hex | "items": […]}]}.
// RESULTS becomes {"versions": …, "outcomes": [{"error": text} | {"found": dump} | {}]}.

import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, jobsFile, resultsFile] = process.argv.slice(2);
const modules = path.resolve(folder, "node_modules");
const load = (name) => import(pathToFileURL(path.join(modules, name)));
const zarr = await load("zarrita/dist/src/index.js");
const FileSystemStore = (await load("@zarrita/storage/dist/src/fs.js")).default;

function bytesOf(data) {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

/** A value as `type_values.plain` writes it. */
function plain(item) {
  if (item === undefined) return { undefined: true };
  if (item === null || typeof item === "string" || typeof item === "boolean") return item;
  if (typeof item === "number") {
    if (Number.isInteger(item) && !Object.is(item, -0)) return item;
    const data = Buffer.alloc(8);
    data.writeDoubleBE(item);
    return { float: data.toString("hex") };
  }
  if (Array.isArray(item)) return { list: item.map(plain) };
  return { dict: Object.keys(item).sort().map((key) => [key, plain(item[key])]) };
}

async function read(job) {
  const location = zarr.root(new FileSystemStore(job.store));
  const open = job.format === 2 ? zarr.open.v2 : zarr.open.v3;
  const array = await open(location, { kind: "array" });
  const { data, shape } = await zarr.get(array);
  // Text is given element by element; numbers are their bytes.
  const text = Array.isArray(data) || data.chars !== undefined;
  const found = text ? { items: Array.from(data, plain) } : { bits: bytesOf(data).toString("hex") };
  return { found: { shape, ...found } };
}

const VIEWS = {
  bool: (data) => new zarr.BoolArray(data),
  int8: (data) => new Int8Array(data),
  int16: (data) => new Int16Array(data),
  int32: (data) => new Int32Array(data),
  int64: (data) => new BigInt64Array(data),
  uint8: (data) => new Uint8Array(data),
  uint16: (data) => new Uint16Array(data),
  uint32: (data) => new Uint32Array(data),
  uint64: (data) => new BigUint64Array(data),
  float16: (data) => new globalThis.Float16Array(data),
  float32: (data) => new Float32Array(data),
  float64: (data) => new Float64Array(data),
};

function fillOf(metadata) {
  const value = metadata.fill_value;
  const special = { NaN, Infinity, "-Infinity": -Infinity };
  const float = String(metadata.data_type).startsWith("float");
  return float && typeof value === "string" && value in special ? special[value] : value;
}

async function write(job) {
  const { metadata } = job;
  const array = await zarr.create(zarr.root(new FileSystemStore(job.store)), {
    shape: metadata.shape,
    chunkShape: metadata.chunk_grid.configuration.chunk_shape,
    dtype: metadata.data_type,
    codecs: metadata.codecs,
    fillValue: fillOf(metadata),
  });
  for (const region of job.regions) {
    const stride = region.shape.map((_, axis) =>
      region.shape.slice(axis + 1).reduce((product, length) => product * length, 1),
    );
    const selection = region.selection.map(([start, stop]) => zarr.slice(start, stop));
    const data = region.items ?? VIEWS[metadata.data_type](new Uint8Array(Buffer.from(region.bits, "hex")).buffer);
    await zarr.set(array, selection, { data, shape: region.shape, stride });
  }
  return {};
}

const outcomes = [];
for (const job of JSON.parse(readFileSync(jobsFile, "utf8"))) {
  try {
    outcomes.push(await (job.do === "read" ? read(job) : write(job)));
  } catch (error) {
    const cause = error.cause instanceof Error ? ` (${error.cause.message})` : "";
    outcomes.push({ error: `${error.name}: ${error.message}${cause}`.slice(0, 500) });
  }
}
const { version } = createRequire(import.meta.url)(path.join(modules, "zarrita/package.json"));
const versions = { zarrita: version, node: process.versions.node };
writeFileSync(resultsFile, JSON.stringify({ versions, outcomes }));
