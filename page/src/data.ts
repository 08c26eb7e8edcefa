// The values of an array: which view, which part of it, and everything around the picture.
import * as api from "./api";
import { type Axis, label } from "./axes";
import { channelOf, complete, selection, viewsOf } from "./choice";
import { NAMES } from "./colours";
import { button, byId, check, el, fill, select } from "./dom";
import { clamp, count, exact, plain, short } from "./format";
import { exports } from "./exports";
import { change, state, type View, type Window } from "./state";
import { range, real, stats, type Stats } from "./stats";
import { legend } from "./views/legend";
import { line } from "./views/line";
import { type Layout, layout, paint, paintColours } from "./views/paint";
import { Picture } from "./views/picture";
import { COLUMNS, pager, ROWS, table, text } from "./views/table";

interface Read { values: api.Values; numbers: Float64Array; layout: Layout; stats: Stats; axes: [Axis, Axis]; factor: [number, number] }

export class Data {
  private view: View;
  private picture: Picture | null = null;
  private read: Read | null = null;
  private running = new AbortController();
  private waiting = 0;
  private readonly tools = el("div", { className: "tools", role: "toolbar", "aria-label": "View" });
  private readonly sliders = el("div", { className: "sliders" });
  private readonly stage = el("div", { className: "stage" });
  private readonly told = el("p", { className: "readout", role: "status", "aria-live": "polite" });
  private readonly below = el("div", { className: "below" });
  private redrawSeries: () => void = () => undefined;
  private readonly watcher = new ResizeObserver(() => this.resized());
  private space = 0;

  constructor(private readonly host: HTMLElement, private readonly facts: api.Facts, private readonly line: string) {
    this.view = complete(facts);
    fill(host, this.tools, this.sliders, this.told, this.stage, this.below);
    this.begin();
    this.watcher.observe(host);
  }

  stop(): void { this.running.abort(); this.watcher.disconnect(); clearTimeout(this.waiting); }

  /** Draw again with the colours of the page as they are now. */
  redraw(): void { this.draw(); this.redrawSeries(); }

  private get channel(): number { return this.view === "rgb" ? channelOf(this.facts) : -1; }
  private get shown(): number[] {
    return [state.rows, state.columns, this.channel].filter((dim) => dim >= 0).sort((a, b) => a - b);
  }
  private get units(): string { const { units } = this.facts.attributes; return typeof units === "string" ? units : ""; }

  private begin(): void {
    this.picture = null; this.read = null;
    fill(this.stage); fill(this.below);
    this.told.textContent = "\u00a0";
    this.drawTools(); this.drawSliders();
    if (this.view === "heat" || this.view === "rgb") this.makePicture();
    this.load(0);
  }

  private set(changes: Parameters<typeof change>[0], anew = false): void {
    change(changes);
    if (anew) { this.view = complete(this.facts); this.begin(); } else { this.drawTools(); this.redraw(); }
  }

  // -- controls -----------------------------------------------------------------------------------

  private drawTools(): void {
    const { facts } = this, views = viewsOf(facts);
    const dims = facts.dims.map((dim, i): [string, string] => [String(i), dim.name ?? `dimension ${i}`]);
    const drawn = this.view === "heat" || this.view === "rgb";
    const free = dims.filter(([i]) => Number(i) !== this.channel);
    const pick = (name: string, key: "rows" | "columns") => select(name, String(state[key]), free, (v) => {
      const other = key === "rows" ? "columns" : "rows";
      const swap = Number(v) === state[other] ? { [other]: state[key] } : {};
      this.set({ [key]: Number(v), ...swap, window: null, point: null }, true);
    });
    const group = el("span", { className: "views", role: "group", "aria-label": "Kind of view" },
      ...views.map(([name, title]) => button(title, () => this.set({ view: name, window: null, rows: -1, columns: -1 }, true),
        { "aria-pressed": String(name === this.view) })));
    const numeric = facts.type === "number" || facts.type === "bool" || facts.type === "complex" || facts.type === "duration";
    fill(this.tools,
      views.length > 1 && group,
      facts.shape.length > 1 && this.view === "line" && pick("Along", "columns"),
      facts.shape.length > 1 && this.view !== "line" && facts.type !== "record" && pick("Rows", "rows"),
      facts.shape.length > 1 && this.view !== "line" && facts.type !== "record" && pick("Columns", "columns"),
      facts.type === "complex" && this.view !== "table" && select("Part", state.part,
        ["magnitude", "phase", "real", "imaginary"].map((p) => [p, p]),
        (part) => this.set({ part, map: part === "phase" ? "cyclic" : state.map === "cyclic" ? "viridis" : state.map }, true)),
      this.view === "heat" && select("Colours", state.map, NAMES.map((n) => [n, n]), (map) => this.set({ map })),
      this.view === "heat" && numeric && select("Range", state.stretch,
        [["all", "all"], ["98", "1–99 %"], ["90", "5–95 %"], ["hand", "by hand"]], (stretch) => this.stretched(stretch)),
      this.view === "heat" && state.stretch === "hand" && this.limit("low"),
      this.view === "heat" && state.stretch === "hand" && this.limit("high"),
      (this.view === "heat" || this.view === "line") && numeric && check("Log", state.log, (log) => this.set({ log })),
      facts.packed && check("As stored", state.raw, (raw) => this.set({ raw }, true)),
      drawn && facts.multiscale && select("Level", state.level,
        [["", "by zoom"], ...facts.multiscale.levels.map((l, i): [string, string] => [String(i), `${i}: ${l.shape.join("×")}`])],
        (level) => { this.set({ level }); this.load(0); }),
      drawn && button("Flip", () => this.flip(), { "aria-pressed": String(!!this.picture?.flip), title: "Turn the rows upside down" }),
      drawn && el("span", { className: "zoom", role: "group", "aria-label": "Zoom" },
        button("−", () => this.picture?.zoom(1.5), { "aria-label": "Zoom out" }),
        button("+", () => this.picture?.zoom(0.66), { "aria-label": "Zoom in" }),
        button("All", () => this.picture?.reset(), { title: "Show all (0, or double click)" })),
      exports(facts, this.line, () => this.selection(), drawn ? () => this.picture!.canvas : null));
  }

  private limit(key: "low" | "high"): HTMLElement {
    const box = el("input", { type: "number", step: "any", value: state[key], onchange: () => this.set({ [key]: box.value }) });
    return el("label", { className: "field" }, el("span", {}, key === "low" ? "from" : "to"), box);
  }

  private stretched(stretch: string): void {
    const now = this.read ? range(this.read.stats, state.stretch, state.low, state.high, state.log) : null;
    this.set({ stretch, ...(stretch === "hand" && now ? { low: String(+now.low.toPrecision(5)), high: String(+now.high.toPrecision(5)) } : {}) });
  }

  private flip(): void {
    if (!this.picture) return;
    this.picture.flip = !this.picture.flip;
    this.set({ flip: this.picture.flip ? "1" : "0" });
  }

  private drawSliders(): void {
    fill(this.sliders, ...this.facts.dims.map((dim, i) => (this.shown.includes(i) || dim.length < 1 ? null : this.slider(dim, i))));
  }

  private slider(dim: api.Dim, i: number): HTMLElement {
    const name = dim.name ?? `dimension ${i}`;
    const out = el("output", {});
    const tell = async (at: number) => {
      number.value = bar.value = String(at);
      if (!dim.coordinates) { out.textContent = `of ${count(dim.length)}`; return; }
      const few = dim.length <= 1000;
      const found = await api.labels(this.facts.path, i, few ? `0:${dim.length}` : `${at}:${at + 1}`);
      const text = label({ dim, start: few ? 0 : at, by: 1, labels: found, scale: null }, at);
      out.textContent = dim.type === "time" || !dim.units ? text : plain(`${text} ${dim.units}`);
      bar.setAttribute("aria-valuetext", out.textContent);
    };
    const moved = (value: number) => {
      const at = clamp(Math.round(value) || 0, 0, dim.length - 1);
      const all = [...state.at]; all[i] = at;
      change({ at: all });
      void tell(at); this.load(60);
    };
    const bar = el("input", { type: "range", min: "0", max: String(dim.length - 1), "aria-label": name, oninput: () => moved(Number(bar.value)) });
    const number = el("input", {
      type: "number", min: "0", max: String(dim.length - 1), "aria-label": `Position in ${name}`,
      onchange: () => moved(Number(number.value)),
    });
    void tell(state.at[i] ?? 0);
    return el("div", { className: "slider" }, el("span", { className: "dim" }, name), bar, number, out);
  }

  // -- reading ------------------------------------------------------------------------------------

  private makePicture(): void {
    const { facts } = this;
    const picture = new Picture({
      rows: facts.shape[state.rows]!, columns: facts.shape[state.columns]!,
      label: `Picture of ${facts.name}; arrows move the cursor, plus and minus zoom, Enter shows a line at the cursor`,
      moved: (window) => { change({ window: this.whole(window) ? null : window }); this.load(120); },
      pointed: (r, c) => { this.told.textContent = plain(this.describe(r, c)); },
      chosen: (r, c) => { change({ point: [r, c] }); picture.mark = [r, c]; picture.draw(); void this.series(); },
    }, state.window);
    picture.flip = state.flip === "1";
    picture.mark = state.point;
    this.picture = picture;
    fill(this.stage, picture.canvas);
    picture.fit(this.room(), this.height());
    if (state.flip === "") void this.northUp(picture);
  }

  private whole([r0, r1, c0, c1]: Window): boolean {
    const { shape } = this.facts;
    return r0 <= 0 && c0 <= 0 && r1 >= shape[state.rows]! && c1 >= shape[state.columns]!;
  }

  /** Latitudes that grow with the rows are drawn from below. */
  private async northUp(picture: Picture): Promise<void> {
    const dim = this.facts.dims[state.rows]!;
    const north = /degrees?_?n/i.test(dim.units ?? "") || /^lat/i.test(dim.name ?? "");
    if (!north || dim.length < 2) return;
    const ends = await api.labels(this.facts.path, state.rows, `0:${dim.length}:${dim.length - 1}`);
    const [first, last] = ends.values ?? [];
    if (typeof first === "number" && typeof last === "number" && last > first) { picture.flip = true; picture.draw(); this.drawTools(); }
  }

  private room(): number {
    this.space = this.host.clientWidth;
    return this.space > 720 ? this.space - 236 : this.space - 4;
  }
  /** What is left of the window below the controls. */
  private height(): number { return clamp(window.innerHeight - byId("main").offsetTop - this.stage.offsetTop - 12, 300, 720); }

  private resized(): void {
    if (Math.abs(this.host.clientWidth - this.space) < 2) return;
    this.picture?.fit(this.room(), this.height());
    this.redraw();
  }

  private load(delay: number): void {
    clearTimeout(this.waiting);
    this.waiting = window.setTimeout(() => void this.fetch(), delay);
  }

  private selection(): string {
    const parts = new Map<number, [number, number]>();
    const { shape } = this.facts, w = this.picture?.window ?? state.window;
    if (state.rows >= 0) parts.set(state.rows, w ? [w[0], w[1]] : [0, shape[state.rows]!]);
    if (state.columns >= 0) parts.set(state.columns, w ? [w[2], w[3]] : [0, shape[state.columns]!]);
    if (this.channel >= 0) parts.set(this.channel, [0, shape[this.channel]!]);
    if (this.view === "table") {
      for (const [dim, from, size] of this.pages()) parts.set(dim, [from, Math.min(shape[dim]!, from + size)]);
    }
    return selection(this.facts, parts, state.at);
  }

  /** Which rows and columns a table shows. */
  private pages(): [number, number, number][] {
    const w = state.window ?? [0, 0, 0, 0];
    const found: [number, number, number][] = [];
    if (state.rows >= 0) found.push([state.rows, Math.min(w[0], this.facts.shape[state.rows]! - 1), ROWS]);
    if (state.columns >= 0) found.push([state.columns, Math.min(w[2], this.facts.shape[state.columns]! - 1), COLUMNS]);
    return found.map(([dim, from, size]) => [dim, Math.max(0, Math.floor(from)), size]);
  }

  /** The level of the pyramid that has about one value per pixel. */
  private level(): { path: string; shape: number[]; number: number } {
    const { facts, picture } = this, own = { path: facts.path, shape: facts.shape, number: -1 };
    const levels = facts.multiscale?.levels;
    if (!levels || !picture) return own;
    if (state.level !== "" && levels[Number(state.level)]) return { ...levels[Number(state.level)]!, number: Number(state.level) };
    const [r0, r1, c0, c1] = picture.window;
    const dense = Math.max((r1 - r0) / picture.height, (c1 - c0) / picture.width) * 1.01;
    const factor = (shape: number[]) => Math.max(facts.shape[state.rows]! / shape[state.rows]!, facts.shape[state.columns]! / shape[state.columns]!);
    let best = -1;
    levels.forEach((l, i) => { if (factor(l.shape) <= dense && (best < 0 || factor(l.shape) > factor(levels[best]!.shape))) best = i; });
    if (best < 0) levels.forEach((l, i) => { if (best < 0 || factor(l.shape) < factor(levels[best]!.shape)) best = i; });
    return { ...levels[best]!, number: best };
  }

  private async fetch(): Promise<void> {
    this.running.abort();
    const { signal } = (this.running = new AbortController());
    this.host.setAttribute("aria-busy", "true");
    try {
      if (this.facts.shape.includes(0)) { fill(this.stage, el("p", { className: "note" }, "The array has no elements.")); return; }
      await this.fetchNow(signal);
    } catch (error) {
      if (signal.aborted) return;
      const hint = error instanceof api.Refused ? error.hint : null;
      const told = el("p", { className: "problem", role: "alert" }, (error as Error).message, hint && el("small", {}, hint));
      if (this.picture && this.read) fill(this.below, told); else fill(this.stage, told);
    } finally {
      if (!signal.aborted) this.host.removeAttribute("aria-busy");
    }
  }

  private async fetchNow(signal: AbortSignal): Promise<void> {
    const { facts, picture } = this, { rows, columns } = state;
    const level = this.level();
    const ratio = (dim: number) => (dim < 0 ? 1 : facts.shape[dim]! / level.shape[dim]!);
    const dots = 1.5; // values per pixel, so that a picture a little larger than its place is whole
    const wide = picture ? picture.width * dots : this.view === "line" ? 4000 : ROWS;
    const limits = new Map([[rows, picture ? picture.height * dots : ROWS], [columns, wide]]);
    const sizes = this.shown.map((dim) => limits.get(dim) ?? 4);
    let chosen = this.selection();
    if (picture && level.path !== facts.path) {
      const w = picture.window, parts = new Map<number, [number, number]>([
        [rows, [w[0] / ratio(rows), w[1] / ratio(rows)]], [columns, [w[2] / ratio(columns), w[3] / ratio(columns)]],
      ]);
      if (this.channel >= 0) parts.set(this.channel, [0, level.shape[this.channel]!]);
      chosen = selection(facts, parts, state.at.map((at, dim) => at / ratio(dim)), level.shape);
    }
    const values = await api.values(level.path, chosen, this.shown.length ? sizes : [], !state.raw, signal);
    const parts = (dim: number): [number, number, number] => (dim < 0 ? [0, 1, 1] : values.parts[dim] as [number, number, number]);
    const axes = await Promise.all([rows, columns].map((dim) => this.axis(dim, parts(dim), ratio(dim))));
    if (signal.aborted) return;
    const drawn = values.type !== "text" && values.type !== "record";
    const numbers = drawn ? real(values, state.part) : new Float64Array();
    this.read = {
      values, numbers, stats: stats(numbers), layout: layout(values, this.shown, rows, columns, this.channel),
      axes: axes as [Axis, Axis], factor: [ratio(rows), ratio(columns)],
    };
    this.draw(level.number);
    if (state.point && picture && !this.below.childElementCount) void this.series();
  }

  private async axis(dim: number, [start, number, by]: [number, number, number], ratio: number): Promise<Axis> {
    if (dim < 0) return { dim: { name: "", length: 1, type: null, units: null, coordinates: null, centres: null }, start: 0, by: 1, labels: null, scale: null };
    const own = this.facts.dims[dim]!, levels = this.facts.multiscale;
    const [from, step] = [Math.round(start * ratio), Math.max(1, Math.round(by * ratio))];
    const labels = own.coordinates && number <= 4900
      ? await api.labels(this.facts.path, dim, `${from}:${Math.min(own.length, from + number * step)}:${step}`) : null;
    const mine = levels ? levels.levels.findIndex((l) => l.path === this.facts.path) : -1;
    const scale = mine >= 0 ? levels!.scales[mine]?.[dim] ?? null : null;
    return { dim: own, start: from, by: step, labels, scale: scale === 1 ? null : scale };
  }

  // -- drawing ------------------------------------------------------------------------------------

  private lastLevel = -1;
  private draw(level = this.lastLevel): void {
    this.lastLevel = level;
    const { read, facts } = this;
    if (!read) return;
    if (this.picture) this.drawPicture(read, level);
    else if (!facts.shape.length) {
      const shown = read.values.type === "record" ? table(read.values, null, null, false, facts.name) : el("p", { className: "scalar" }, `${text(read.values, 0)} `, el("small", {}, this.units));
      fill(this.stage, shown);
    } else if (this.view === "line") this.drawLine(read);
    else this.drawTable(read);
  }

  private drawPicture(read: Read, level: number): void {
    const { values, numbers, layout: at, stats: found } = read, picture = this.picture!;
    const bytes = this.view === "rgb";
    const limits = bytes ? { low: 0, high: 255, log: false } : range(found, state.stretch, state.low, state.high, state.log);
    const image = bytes ? paintColours(numbers, at, limits) : paint(numbers, at, limits, state.map);
    const span = (dim: number, ratio: number): [number, number] => {
      const [start, number, by] = values.parts[dim] as [number, number, number];
      return [start * ratio, (start + number * by) * ratio];
    };
    picture.axes = read.axes;
    picture.show(image, [...span(state.rows, read.factor[0]), ...span(state.columns, read.factor[1])], bytes && at.width > picture.width);
    const steps = [state.rows, state.columns].map((dim) => (values.parts[dim] as number[])[2]!);
    const notes = [
      steps.some((s) => s > 1) ? `one of ${steps.join(" × ")} values is shown; zoom in for more` : "",
      level >= 0 && this.facts.multiscale ? `level ${level} of the pyramid` : "",
    ].filter(Boolean).join("; ");
    const side = legend(found, limits, bytes ? "grey" : state.map, this.units, notes);
    const old = this.stage.querySelector(".legend");
    if (old) old.replaceWith(side); else this.stage.append(side);
    if (picture.cursor) this.told.textContent = plain(this.describe(...picture.cursor));
  }

  private describe(row: number, column: number): string {
    const { read, facts } = this;
    if (!read) return "";
    const { values, layout: at } = read;
    const place = (dim: number, index: number, ratio: number, length: number) => {
      const [start, , by] = values.parts[dim] as [number, number, number];
      return clamp(Math.floor((index / ratio - start) / by), 0, length - 1);
    };
    const r = place(state.rows, row, read.factor[0], at.height), c = place(state.columns, column, read.factor[1], at.width);
    const base = r * at.row + c * at.column;
    const shown = at.channels > 1
      ? Array.from({ length: at.channels }, (_, i) => text(values, base + i * at.channel)).join(", ") : text(values, base);
    const part = values.type === "complex" ? ` (${state.part} ${short(read.numbers[base]!)})` : "";
    const where = [[state.rows, row, read.axes[0]], [state.columns, column, read.axes[1]]] as const;
    const names = where.map(([dim, i, axis]) => {
      const told = label(axis, i);
      return `${facts.dims[dim]!.name ?? `dimension ${dim}`} ${told}${told === String(i) ? "" : ` [${i}]`}`;
    });
    return `${names.join(", ")}: ${shown}${part} ${this.units}`;
  }

  /** What is told of each value; of complex ones the chosen part. */
  private texts(values: api.Values, numbers: Float64Array): (index: number) => string {
    return (i) => (values.type === "complex" ? exact(numbers[i]!) : text(values, i));
  }

  private drawLine(read: Read): void {
    const part = read.values.parts[state.columns] as [number, number, number];
    const canvas = line(this.room(), clamp(this.height(), 240, 420), {
      axis: read.axes[1], values: read.numbers, text: this.texts(read.values, read.numbers), start: part[0], by: part[2], units: this.units, log: state.log,
      label: `Line of ${this.facts.name}; arrows move the cursor`, told: (t) => { this.told.textContent = plain(t); },
    });
    const note = part[2] > 1 ? `one of ${part[2]} values is shown` : "";
    fill(this.stage, canvas, legend(read.stats, null, "", this.units, note));
  }

  private drawTable(read: Read): void {
    const { shape } = this.facts, { rows, columns } = state;
    const turn = (dim: number, start: number) => {
      const w: Window = state.window ? [...state.window] : [0, 0, 0, 0];
      w[dim === rows ? 0 : 2] = start;
      change({ window: w }); this.load(0);
    };
    const pages = this.pages().map(([dim, from, size]) =>
      pager(this.facts.dims[dim]!.name ?? (dim === rows ? "rows" : "columns"), from, size, shape[dim]!, (start) => turn(dim, start)));
    const [down, right] = [rows >= 0 ? read.axes[0] : null, columns >= 0 ? read.axes[1] : null];
    fill(this.stage, el("div", { className: "pages" }, ...pages),
      table(read.values, down, right, rows > columns, `Values of ${this.facts.name}`));
  }

  /** The line through the chosen point, along another dimension. */
  private async series(): Promise<void> {
    const { facts } = this, { point } = state;
    if (!point || !this.picture) return;
    const dims = facts.dims.map((_, i) => i).filter((i) => i !== this.channel && facts.shape[i]! > 1);
    const others = dims.filter((i) => i !== state.rows && i !== state.columns);
    const along = dims.includes(state.along) ? state.along : others.find((i) => facts.dims[i]!.type === "time") ?? others[0] ?? state.columns;
    const at = [...state.at];
    [at[state.rows], at[state.columns]] = point;
    if (this.channel >= 0) at[this.channel] = 0;
    const chosen = selection(facts, new Map([[along, [0, facts.shape[along]!]]]), at);
    try {
      const values = await api.values(facts.path, chosen, [2000], !state.raw);
      const part = values.parts[along] as [number, number, number];
      const axis = await this.axis(along, part, 1);
      const shifting = others.includes(along);
      const numbers = real(values, state.part);
      const drawn = () => line(this.room(), 220, {
        axis, values: numbers, text: this.texts(values, numbers), start: part[0], by: part[2], units: this.units, log: state.log,
        label: `Line at the chosen point along ${facts.dims[along]!.name ?? along}`,
        told: (t) => { this.told.textContent = plain(t); }, at: shifting ? state.at[along] : null,
        chosen: shifting ? (i) => { const to = [...state.at]; to[along] = i; change({ at: to }); this.drawSliders(); this.load(0); void this.series(); } : undefined,
      });
      let canvas = drawn();
      this.redrawSeries = () => { const before = canvas; before.replaceWith(canvas = drawn()); };
      const names = dims.map((i): [string, string] => [String(i), facts.dims[i]!.name ?? `dimension ${i}`]);
      fill(this.below, el("div", { className: "tools" }, el("h2", {}, `At ${this.describe(...point).split(": ")[0]}`),
        select("Along", String(along), names, (v) => { change({ along: Number(v) }); void this.series(); }),
        button("Close", () => { change({ point: null }); this.picture!.mark = null; this.picture!.draw(); fill(this.below); })), canvas);
    } catch (error) {
      fill(this.below, el("p", { className: "problem", role: "alert" }, (error as Error).message));
    }
  }
}
