// The map of chunks: which are stored, how large they are; one of them decoded.
import * as api from "./api";
import { table } from "./colours";
import { button, check, colour, el, fill, select, sized } from "./dom";
import { bytes, count, product, show, times } from "./format";
import { go, state } from "./state";
import { percentile, range, real, stats } from "./stats";
import { layout, paint } from "./views/paint";
import { text } from "./views/table";

export async function chunks(host: HTMLElement, facts: api.Facts): Promise<void> {
  const ndim = facts.shape.length;
  let rows = ndim > 1 ? ndim - 2 : -1, columns = ndim - 1, slice = false, by = "bytes";
  if (state.rows >= 0 && state.columns >= 0 && state.rows !== state.columns && Math.max(state.rows, state.columns) < ndim) ({ rows, columns } = state);
  const tools = el("div", { className: "tools", role: "toolbar", "aria-label": "Chunk map" });
  const stage = el("div", { className: "stage" });
  const told = el("p", { className: "readout", role: "status", "aria-live": "polite" }, "\u00a0");
  const one = el("section", { className: "below", "aria-label": "One chunk" });
  fill(host, tools, told, stage, one);
  if (facts.shape.includes(0)) { fill(stage, el("p", { className: "note" }, "The array has no elements.")); return; }

  const load = async () => {
    const dims = facts.dims.map((d, i): [string, string] => [String(i), d.name ?? `dimension ${i}`]);
    const pick = (name: string, value: number, set: (n: number) => void) =>
      select(name, String(value), dims, (v) => { set(Number(v)); void load(); });
    fill(tools,
      select("Colour", by, [["bytes", "stored size"], ["ratio", "compression"], ["counts", "stored or missing"]], (v) => { by = v; void load(); }),
      ndim > 1 && pick("Rows", rows, (n) => { if (n === columns) columns = rows; rows = n; }),
      ndim > 1 && pick("Columns", columns, (n) => { if (n === rows) rows = columns; columns = n; }),
      ndim > 2 && check("Only the slice of the data view", slice, (v) => { slice = v; void load(); }));
    fill(stage, el("p", { className: "note" }, "listing the store …"));
    try {
      const unit = facts.shards ?? facts.chunks ?? [];
      const at = facts.shape.map((_, d) => (slice && d !== rows && d !== columns ? chunkAt(unit[d]!, state.at[d] ?? 0) : "*"));
      const map = await api.chunkMap(facts.path, rows, columns, at.join(","));
      draw(stage, map, by, told, (r, c) => {
        const index = facts.shape.map((_, d) => (d === rows ? r * map.per_cell[0]! : d === columns ? c * map.per_cell[1]! : chunkAt(unit[d]!, state.at[d] ?? 0)));
        void decode(one, facts, index, map);
      });
    } catch (error) {
      fill(stage, el("p", { className: "problem", role: "alert" }, (error as Error).message));
    }
  };
  await load();
}

/** Which chunk of a dimension has a position: all have one length, or each its own. */
function chunkAt(lengths: number | number[], position: number): number {
  if (!Array.isArray(lengths)) return Math.floor(position / (lengths || 1));
  let index = 0;
  for (let end = lengths[0]!; end <= position && index < lengths.length - 1; end += lengths[index]!) index++;
  return index;
}

function draw(
  stage: HTMLElement, map: api.ChunkMap, by: string, told: HTMLElement, chosen: (r: number, c: number) => void,
): void {
  const { height, width } = map;
  const possible = product(map.grid);
  const [listed, decoded] = [map.counts, map.decoded].map((of) => of.reduce((a, b) => a + b, 0)) as [number, number];
  const cellHas = map.folded * map.per_cell[0]! * map.per_cell[1]!;
  const amount = (i: number) => by === "counts" ? map.counts[i]! / cellHas
    : by === "ratio" ? (map.decoded[i] && map.bytes[i] ? map.decoded[i]! / map.bytes[i]! : NaN)
    : map.counts[i] ? map.bytes[i]! / map.counts[i]! : NaN;
  const amounts = Float64Array.from({ length: height * width }, (_, i) => (map.counts[i] ? amount(i) : NaN));
  const found = stats(amounts);
  const [low, high] = by === "counts" ? [0, 1] : [found.min, percentile(found.sorted, 1)];
  const colours = table("viridis");
  const cell = Math.max(3, Math.min(44, Math.floor(Math.min((stage.clientWidth - 250 > 200 ? stage.clientWidth - 250 : stage.clientWidth - 10) / width, 460 / height))));
  const canvas = el("canvas", {
    className: "map", tabIndex: 0, role: "application",
    "aria-label": `Map of ${map.unit}s, ${height} by ${width}; arrows move, Enter decodes one`,
  });
  let cursor: [number, number] | null = null;
  const paintAll = () => {
    const { context } = sized(canvas, width * cell + 1, height * cell + 1);
    const gap = cell > 5 ? 1 : 0;
    for (let r = 0; r < height; r++) for (let c = 0; c < width; c++) {
      const value = amounts[r * width + c]!;
      if (Number.isNaN(value)) {
        context.strokeStyle = colour("--line-strong");
        if (cell > 5) context.strokeRect(c * cell + 1.5, r * cell + 1.5, cell - 3, cell - 3);
        else { context.fillStyle = colour("--missing"); context.fillRect(c * cell, r * cell, cell, cell); }
        continue;
      }
      const k = Math.round((high > low ? Math.min(1, (value - low) / (high - low)) : 0.7) * 235) + 10;
      context.fillStyle = `rgb(${colours[k * 3]},${colours[k * 3 + 1]},${colours[k * 3 + 2]})`;
      context.fillRect(c * cell, r * cell, cell - gap, cell - gap);
    }
    // The chunks inside of shards, where they can be seen.
    const split = [map.rows, map.columns].map((d) => (d < 0 ? 1 : Number(map.lengths[d]) / map.inner[d]!));
    if (map.unit === "shard" && cell / Math.max(...split) >= 4 && map.per_cell.every((n) => n === 1)) {
      context.fillStyle = "rgba(255,255,255,.35)";
      for (let r = 0; r < height; r++) for (let i = 1; i < split[0]!; i++) context.fillRect(0, (r + i / split[0]!) * cell, width * cell, 0.7);
      for (let c = 0; c < width; c++) for (let i = 1; i < split[1]!; i++) context.fillRect((c + i / split[1]!) * cell, 0, 0.7, height * cell);
    }
    if (cursor) {
      context.lineWidth = 2; context.strokeStyle = colour("--text");
      context.strokeRect(cursor[1] * cell + 0.5, cursor[0] * cell + 0.5, cell - 1, cell - 1);
    }
  };
  const point = (r: number, c: number) => {
    cursor = [Math.max(0, Math.min(height - 1, r)), Math.max(0, Math.min(width - 1, c))];
    const i = cursor[0] * width + cursor[1];
    const name = (n: number, per: number) => (per > 1 ? `${n * per}–${n * per + per - 1}` : String(n));
    const where = [map.rows < 0 ? "" : name(cursor[0], map.per_cell[0]!), map.columns < 0 ? "" : name(cursor[1], map.per_cell[1]!)].filter(Boolean).join(", ");
    const ratio = map.decoded[i] && map.bytes[i] ? `, ${(map.decoded[i]! / map.bytes[i]!).toFixed(1)} : 1` : "";
    told.textContent = `${map.unit} ${where || "0"}: ` + (map.counts[i]
      ? `${cellHas > 1 ? `${count(map.counts[i]!)} of ${count(cellHas)}, ` : ""}${bytes(map.bytes[i]!)}${ratio}` : "none stored");
    paintAll();
  };
  canvas.addEventListener("pointermove", (e) => point(Math.floor(e.offsetY / cell), Math.floor(e.offsetX / cell)));
  canvas.addEventListener("click", (e) => { point(Math.floor(e.offsetY / cell), Math.floor(e.offsetX / cell)); chosen(...cursor!); });
  canvas.addEventListener("keydown", (e) => {
    const by_ = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[e.key];
    if (by_) point((cursor?.[0] ?? 0) + by_[0]!, (cursor?.[1] ?? 0) + by_[1]!);
    else if (e.key === "Enter" && cursor) chosen(...cursor);
    else return;
    e.preventDefault();
  });
  paintAll();
  const all = map.complete && map.counts.length && !map.problem;
  const about: [string, string][] = [
    ["grid", `${map.grid.join(" × ") || "one"} ${map.unit}s`], [`${map.unit} shape`, times(map.lengths)],
    ...(map.unit === "shard" ? [["chunks inside", map.inner.join(" × ")] as [string, string]] : []),
    ["stored", all ? `${count(map.listed)} of ${count(possible)}` : `${count(listed)} seen`],
    ["missing", all ? count(Math.max(0, possible - map.listed)) : "?"],
    ["bytes", bytes(map.total)],
    [`${map.lengths.some(Array.isArray) ? "largest" : "decoded"} ${map.unit}`, bytes(map.largest)],
    ["compression", decoded && map.total ? `${(decoded / map.total).toFixed(2)} : 1` : "?"],
  ];
  const scale = by === "counts" ? "empty to full" : by === "ratio" ? `${low.toFixed(1)} : 1 to ${high.toFixed(1)} : 1` : `${bytes(low)} to ${bytes(high)}`;
  const bar = el("canvas", { role: "img", "aria-label": `Colours: ${scale}` });
  const { context } = sized(bar, 208, 12);
  for (let i = 0; i < 208; i++) { const k = Math.floor((i / 208) * 235) + 10; context.fillStyle = `rgb(${colours[k * 3]},${colours[k * 3 + 1]},${colours[k * 3 + 2]})`; context.fillRect(i, 0, 1.5, 12); }
  const note = map.problem ? `The store cannot be listed: ${map.problem}` : map.complete ? "" : "There are more; listing was stopped.";
  fill(stage, el("div", { className: "mapbox" }, canvas),
    el("aside", { className: "legend", "aria-label": "Chunks in numbers" }, bar,
      el("p", { className: "units" }, found.sorted.length ? scale : "nothing stored"),
      el("dl", {}, ...about.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)])),
      cellHas > 1 && el("p", { className: "note" }, `A cell is ${count(cellHas)} ${map.unit}s.`),
      note && el("p", { className: "note" }, note)));
}

async function decode(host: HTMLElement, facts: api.Facts, index: number[], map: api.ChunkMap): Promise<void> {
  fill(host, el("p", { className: "note" }, "decoding …"));
  try {
    const chunk = await api.chunk(facts.path, index);
    const ndim = facts.shape.length;
    const rows = ndim > 1 ? map.rows : -1, { columns } = map;
    const s = chunk.selection.split(",").map((part, d) => (d === rows || d === columns || ndim === 0 ? part : part.split(":")[0]!)).join(",");
    const started = performance.now();
    const drawn = facts.type !== "text" && facts.type !== "record";
    const size = drawn ? [256, 256] : [20, 10];
    const values = await api.values(facts.path, s, ndim > 1 ? size : size.slice(0, ndim), false);
    const took = performance.now() - started;
    const shown = [rows, columns].filter((d) => d >= 0).sort((a, b) => a - b);
    const numbers = drawn ? real(values, "magnitude") : new Float64Array();
    const found = stats(numbers);
    const at = layout(values, shown, rows, columns, -1);
    const picture = drawn && ndim ? paint(numbers, at, range(found, "all", "", "", false), "viridis") : null;
    if (picture) {
      const scale = Math.max(1, Math.floor(220 / Math.max(at.height, at.width)));
      picture.style.width = `${Math.min(260, at.width * scale)}px`;
      picture.style.height = `${Math.max(12, Math.min(260, at.height * scale))}px`;
      picture.className = "chunk"; picture.setAttribute("role", "img");
      picture.setAttribute("aria-label", `Values of ${map.unit} ${index.join(", ")}`);
    }
    const about: [string, string][] = [
      ["values", `${chunk.shape.join(" × ") || 1}`], ["in the array", `[${chunk.selection.replace(/,/g, ", ")}]`],
      ...(drawn ? [["minimum", show(found.min)], ["maximum", show(found.max)], ["mean", show(found.mean)]] as [string, string][]
        : [["first", values.rows ? values.rows[0]!.join(", ") : text(values, 0)]] as [string, string][]),
      ["answered in", `${took.toFixed(0)} ms`],
    ];
    const jump = () => {
      const parts = chunk.selection.split(",").map((part) => part.split(":").map(Number));
      const of = (d: number) => (d < 0 ? [0, 1] : parts[d]!);
      go({ path: facts.path, rows, columns, at: parts.map((p) => p[0]!), window: [...of(rows), ...of(columns)] as [number, number, number, number] });
    };
    fill(host, el("h2", {}, `${map.unit} ${index.join(", ") || "0"}`), el("div", { className: "onechunk" }, picture,
      el("dl", {}, ...about.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)]))), ndim > 0 && button("Show it in the data view", jump));
    host.scrollIntoView({ block: "nearest" });
  } catch (error) {
    fill(host, el("p", { className: "problem", role: "alert" }, (error as Error).message));
  }
}
