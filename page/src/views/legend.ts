// The colour bar, the histogram and the numbers about what is shown.
import { table } from "../colours";
import { colour, el, sized } from "../dom";
import { among, clamp, count, logTicks, mark, show, ticks } from "../format";
import { histogram, placed, type Range, type Stats } from "../stats";

/** Without limits, values have no colours. */
export function legend(found: Stats, limits: Range | null, map: string, units: string, note: string): HTMLElement {
  const bins = el("canvas", { role: "img", "aria-label": `Histogram of ${count(found.sorted.length)} values` });
  const bar = limits ? el("canvas", { role: "img", "aria-label": `Colours from ${show(limits.low)} to ${show(limits.high)}` }) : null;
  drawBins(bins, found, limits);
  if (bar && limits) drawBar(bar, limits, map);
  const told = (value: number) => among(value, found.min, found.max);
  const facts: [string, string][] = [
    ["minimum", told(found.min)], ["maximum", told(found.max)], ["mean", told(found.mean)],
    ["deviation", show(found.deviation)], ["values", count(found.count)], ["missing", count(found.missing)],
  ];
  if (found.infinite) facts.push(["infinite", count(found.infinite)]);
  return el("aside", { className: "legend", "aria-label": "Statistics of what is shown" }, bins, bar,
    el("p", { className: "units" }, units),
    el("dl", {}, ...facts.flatMap(([k, v]) => [el("dt", {}, k), el("dd", {}, v)])),
    note && el("p", { className: "note" }, note));
}

const WIDTH = 208;

function drawBins(canvas: HTMLCanvasElement, found: Stats, limits: Range | null): void {
  const { context } = sized(canvas, WIDTH, 72);
  const bins = 64;
  const numbers = histogram(found.sorted, found.min, found.max, bins);
  const most = Math.max(1, ...numbers);
  context.fillStyle = colour("--bars");
  numbers.forEach((n, i) => {
    const h = n ? Math.max(1, (Math.sqrt(n / most)) * 66) : 0;
    context.fillRect((i * WIDTH) / bins, 70 - h, WIDTH / bins - 0.5, h);
  });
  context.fillStyle = colour("--accent");
  const span = found.max - found.min || 1;
  for (const v of limits ? [limits.low, limits.high] : []) context.fillRect(clamp(((v - found.min) / span) * WIDTH, 0, WIDTH - 2), 0, 2, 70);
  context.fillStyle = colour("--line-strong");
  context.fillRect(0, 70, WIDTH, 1);
}

function drawBar(canvas: HTMLCanvasElement, limits: Range, map: string): void {
  const { context } = sized(canvas, WIDTH, 30);
  const colours = table(map);
  for (let i = 0; i < WIDTH; i++) {
    const at = Math.floor((i / WIDTH) * 256) * 3;
    context.fillStyle = `rgb(${colours[at]},${colours[at + 1]},${colours[at + 2]})`;
    context.fillRect(i, 0, 1.5, 12);
  }
  context.fillStyle = colour("--text-soft");
  context.textBaseline = "top"; context.textAlign = "center";
  const marks = limits.log ? logTicks(limits.low, limits.high, 3) : ticks(limits.low, limits.high, 4);
  let last = -Infinity;
  for (const value of marks) {
    const x = placed(value, limits) * WIDTH, text = mark(value);
    if (x < -1 || x > WIDTH + 1) continue;
    const half = context.measureText(text).width / 2, middle = clamp(x, half, WIDTH - half);
    if (middle - half < last) continue;
    context.fillRect(clamp(x, 0, WIDTH - 1), 12, 1, 3);
    context.fillText(text, middle, 17);
    last = middle + half + 6;
  }
}
