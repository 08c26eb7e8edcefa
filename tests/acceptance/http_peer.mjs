// Runs with Node.js inside the environment of zarrita.js: reads arrays over HTTP with its
// FetchStore, and writes one to disk.
//
//     node http_peer.mjs FOLDER read URL OUT PATH…
//     node http_peer.mjs FOLDER write STORE
//
// FOLDER holds node_modules. OUT becomes {path: {"shape", "sum", "part"}}.

import { writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, action, place, ...rest] = process.argv.slice(2);
const modules = path.resolve(folder, "node_modules");
const load = (name) => import(pathToFileURL(path.join(modules, name)));
const zarr = await load("zarrita/dist/src/index.js");

if (action === "read") {
  const FetchStore = (await load("@zarrita/storage/dist/src/fetch.js")).default;
  const [out, ...names] = rest;
  const found = {};
  const root = zarr.root(new FetchStore(place));
  for (const name of names) {
    const array = await zarr.open(root.resolve(name), { kind: "array" });
    const whole = await zarr.get(array);
    const part = await zarr.get(array, [zarr.slice(1, 3), zarr.slice(1, 3)]);
    let sum = 0;
    for (const value of whole.data) sum += value;
    found[name] = { shape: array.shape, sum, part: Array.from(part.data) };
  }
  writeFileSync(out, JSON.stringify(found));
} else {
  const FileSystemStore = (await load("@zarrita/storage/dist/src/fs.js")).default;
  const array = await zarr.create(new FileSystemStore(place), {
    shape: [10, 20],
    chunkShape: [4, 6],
    dtype: "float64",
  });
  const data = Float64Array.from({ length: 200 }, (_, index) => index);
  await zarr.set(array, null, { data, shape: [10, 20], stride: [20, 1] });
}
