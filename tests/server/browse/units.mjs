// What the page's functions give, as JSON: node units.mjs FOLDER-OF-THE-PAGE
import { createRequire } from "node:module";
import { join } from "node:path";

const folder = process.argv[2];
const { build } = createRequire(join(folder, "package.json"))("esbuild");
const lines = ["format", "stats", "axes", "views/table"].map((name) => `export * from "./src/${name}";`);
const made = await build({
  stdin: { contents: lines.join("\n"), resolveDir: folder, loader: "ts" },
  bundle: true, write: false, format: "esm", platform: "node",
});
const page = await import(`data:text/javascript;base64,${Buffer.from(made.outputFiles[0].contents).toString("base64")}`);

const cell = (data, type = "number") => page.text({ data, type, shape: [1] }, 0);
const axis = (values) => ({ dim: { name: "x" }, start: 0, by: 1, labels: { values, texts: null }, scale: null });
const onMap = { dim: { name: "y", centres: [4599995, -10] }, start: 0, by: 1, labels: null, scale: null };
const stats = page.stats(Float64Array.of(1, NaN, Infinity, -Infinity, 3));
console.log(JSON.stringify({
  doubles: [123456789.123456789, 4512345.67, 0.1, 1e-7, 1e300, -0, NaN, Infinity, 0.1 + 0.2].map((v) => cell(Float64Array.of(v))),
  singles: [0.1, 16777216, 123456.789, 1e-7, 3.4e38, -0].map((v) => cell(Float32Array.of(v))),
  integer: cell(BigInt64Array.of(2n ** 53n + 1n)),
  complex: cell(Float64Array.of(4512345.67, -0.1), "complex"),
  pointer: page.label(axis([4512345.67]), 0),
  stats: [stats.count, stats.missing, stats.infinite, stats.min, stats.max],
  among: [[4512345.67, 4512345.67, 4512390], [1e6, 1e6, 1000000.001], [1000000.001, 1e6, 1000000.001], [Math.fround(0.1), 0, 9], [Math.fround(0.1), Math.fround(0.1), Math.fround(0.1)],
    [4512345.67, 4512345.67, 4512345.67], [265.70642, 243, 296], [0, 0, 0], [NaN, NaN, NaN], [2 ** 63, 0, 2 ** 63]].map((v) => page.among(...v)),
  flat: [-Infinity, 7, 7.5, Infinity].map((v) => page.placed(v, { low: 7, high: 7, log: false })),
  map: [page.label(onMap, 20), page.axisTicks(onMap, 0, 100, 3).map(({ at, text }) => `${text} ${at}`)],
  falling: page.axisTicks(axis([3, 2, 1]), 0, 3, 3).map(({ at, text }) => `${text} ${at}`),
  marks: [page.axisTicks(axis([4600005, 4600015]), 0, 2, 3).map((tick) => tick.text), [0, -0.25, 5e7, 1e21, 1e-7, 4550000].map(page.mark)],
  sizes: [50.666666666666664, 1023.4, 2000].map(page.bytes),
  powers: [page.logTicks(0.5, 2e4, 3), page.logTicks(240, 300, 3), page.logTicks(1e-9, 1e9, 4)],
  turned: page.plain("a\u202eb\u2066c"), kept: page.plain("é\u200dمرحبا"), label: page.label({ ...axis(null), labels: { values: null, texts: ["\u202ex"] } }, 0),
}));
