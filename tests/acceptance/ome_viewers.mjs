// What ome-zarr.js and neuroglancer's own reader find in images:
//   node ome_viewers.mjs ENVIRONMENT FOLDER STORE…

import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [environment, folder, ...stores] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.resolve(environment, "node_modules", name)));
const { getMultiscaleWithArray } = await load("ome-zarr.js/dist/ome-zarr.js");
const FileSystemStore = (await load("@zarrita/storage/dist/src/fs.js")).default;
const zarrita = await load("zarrita/dist/src/index.js");
const { parseOmeMetadata } = await load("neuroglancer/lib/datasource/zarr/ome.js");
const { parseV2Metadata, parseV3Metadata } = await load(
  "neuroglancer/lib/datasource/zarr/metadata/parse.js",
);
for (const codec of ["blosc", "bytes", "crc32c", "gzip", "sharding_indexed", "transpose", "zstd"]) {
  await load(`neuroglancer/lib/datasource/zarr/codec/${codec}/resolve.js`);
}

const json = (...names) => {
  const file = path.join(folder, ...names);
  return existsSync(file) ? JSON.parse(readFileSync(file)) : undefined;
};

async function omeZarrJs(name) {
  const store = new FileSystemStore(path.resolve(folder, name));
  const found = await getMultiscaleWithArray(store, 1);
  // Its arrays are of a zarrita of its own.
  const place = zarrita.root(store).resolve(found.multiscale.datasets[1].path);
  const { data } = await zarrita.get(await zarrita.open(place, { kind: "array" }));
  return {
    axes: found.multiscale.axes.map((axis) => axis.name),
    scales: found.multiscale.datasets.map((item) => item.coordinateTransformations[0].scale),
    shape: found.arr.shape,
    sum: data.reduce((sum, value) => sum + Number(value), 0),
    channels: found.omero ? found.omero.channels.length : 0,
  };
}

// neuroglancer keeps the scale of the first level apart, in metres, and moves from the centres of
// voxels to their corners; a matrix is stored by columns.
function neuroglancer(name) {
  const group = json(name, "zarr.json");
  const version = group === undefined ? 2 : 3;
  const attributes = group === undefined ? json(name, ".zattrs") : group.attributes;
  // Colours are left out: they are parsed with a browser's canvas.
  const { multiscale } = parseOmeMetadata("", { ...attributes, omero: undefined }, version);
  const { coordinateSpace: space, scales } = multiscale;
  const rank = space.rank;
  const level = json(name, scales[1].url, version === 3 ? "zarr.json" : ".zarray");
  const array =
    version === 3
      ? parseV3Metadata(level, "array")
      : parseV2Metadata(level, json(name, scales[1].url, ".zattrs") ?? {}, undefined);
  return {
    axes: space.names.map((axis) => axis.replace("'", "")),
    units: Array.from(space.units),
    levels: scales.map(({ url, transform }) => ({
      path: url.slice(0, -1),
      scale: Array.from({ length: rank }, (_, i) => transform[i * (rank + 1) + i] * space.scales[i]),
      corner: Array.from({ length: rank }, (_, i) => transform[rank * (rank + 1) + i] * space.scales[i]),
    })),
    shape: array.shape,
    names: array.dimensionNames ?? [],
  };
}

const result = {};
for (const name of stores) {
  result[name] = { omeZarrJs: await omeZarrJs(name), neuroglancer: neuroglancer(name) };
}
console.log(JSON.stringify(result));
