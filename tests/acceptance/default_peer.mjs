// Like `default_peer.py`, for zarrita.js:  node default_peer.mjs FOLDER ENVIRONMENT

import { readdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder, environment] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.resolve(environment, "node_modules", name)));
const zarr = await load("zarrita/dist/src/index.js");
const FileSystemStore = (await load("@zarrita/storage/dist/src/fs.js")).default;

const found = {};
for (const name of readdirSync(folder).sort()) {
  try {
    const store = new FileSystemStore(path.resolve(folder, name));
    const array = await zarr.open(zarr.root(store), { kind: "array" });
    const { data } = await zarr.get(array);
    const same = data.length === 64 * 48 && data.every((value, i) => Number(value) === i % 251);
    found[name] = same ? null : "other values";
  } catch (error) {
    found[name] = String(error);
  }
}
console.log(JSON.stringify({ zarrita: found }));
