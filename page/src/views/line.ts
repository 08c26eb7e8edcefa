// A line of numbers with axes; the value under the pointer is told.
import { type Axis, axisTicks, label, title } from "../axes";
import { colour, el, sized } from "../dom";
import { clamp, logTicks, mark, ticks } from "../format";
import { placed, range, stats } from "../stats";

export interface Line {
  axis: Axis; values: Float64Array; text: (index: number) => string; start: number; by: number;
  units: string; log: boolean; label: string;
  told: (text: string) => void;
  chosen?: (index: number) => void;
  at?: number | null;
}

const LEFT = 62, BOTTOM = 40, TOP = 10, RIGHT = 14;

export function line(space: number, height: number, given: Line): HTMLCanvasElement {
  const canvas = el("canvas", { className: "line", tabIndex: 0, role: "application", "aria-label": given.label });
  const { values, axis } = given;
  const found = stats(values);
  const limits = range(found, "all", "", "", given.log);
  if (!given.log && limits.high > limits.low) {
    const room = (limits.high - limits.low) * 0.04;
    limits.low -= room; limits.high += room;
  }
  const width = Math.max(60, space - LEFT - RIGHT), tall = height - TOP - BOTTOM;
  const end = given.start + values.length * given.by;
  const x = (i: number) => LEFT + ((i + 0.5) / Math.max(1, values.length)) * width;
  const y = (v: number) => TOP + (1 - clamp(placed(v, limits), -0.01, 1.01)) * tall;
  let cursor = given.at === undefined || given.at === null ? -1 : Math.round((given.at - given.start) / given.by);

  const draw = () => {
    const { context } = sized(canvas, space, height);
    context.strokeStyle = colour("--line"); context.fillStyle = colour("--text-soft");
    context.textAlign = "right"; context.textBaseline = "middle";
    const marks = given.log ? logTicks(limits.low, limits.high, 5) : ticks(limits.low, limits.high, tall / 45);
    for (const value of found.sorted.length ? marks : []) {
      context.fillRect(LEFT, Math.round(y(value)), width, 0.5);
      context.fillText(mark(value), LEFT - 6, y(value), LEFT - 8);
    }
    context.textAlign = "center"; context.textBaseline = "top";
    let last = -Infinity;
    for (const tick of axisTicks(axis, given.start, end, width / 90)) {
      const at = LEFT + ((tick.at - 0.5 - given.start) / given.by + 0.5) / Math.max(1, values.length) * width;
      const half = context.measureText(tick.text).width / 2;
      if (at < LEFT - 1 || at > LEFT + width + 1 || at - half < last) continue;
      context.fillRect(Math.round(at), TOP + tall, 1, 4);
      context.fillText(tick.text, clamp(at, half + 2, space - half - 2), TOP + tall + 6);
      last = at + half + 6;
    }
    context.fillText(title(axis), LEFT + width / 2, TOP + tall + 22);
    context.strokeRect(LEFT - 0.5, TOP - 0.5, width + 1, tall + 1);
    context.save();
    context.beginPath(); context.rect(LEFT, TOP, width, tall); context.clip();
    context.strokeStyle = colour("--accent"); context.lineWidth = 1.5; context.lineJoin = "round";
    context.beginPath();
    let drawing = false;
    values.forEach((value, i) => {
      if (!Number.isFinite(value)) { drawing = false; return; }
      if (drawing) context.lineTo(x(i), y(value)); else context.moveTo(x(i), y(value));
      drawing = true;
    });
    context.stroke();
    context.fillStyle = colour("--accent");
    if (values.length <= width / 8) {
      values.forEach((value, i) => { if (Number.isFinite(value)) { context.beginPath(); context.arc(x(i), y(value), 2.5, 0, 7); context.fill(); } });
    }
    if (cursor >= 0 && cursor < values.length) {
      context.fillStyle = colour("--text");
      context.fillRect(x(cursor), TOP, 1, tall);
      if (Number.isFinite(values[cursor]!)) { context.beginPath(); context.arc(x(cursor), y(values[cursor]!), 4, 0, 7); context.fill(); }
    }
    context.restore();
  };
  const point = (i: number) => {
    cursor = clamp(i, 0, values.length - 1);
    const index = given.start + cursor * given.by;
    const where = label(axis, index), name = axis.dim.name ?? "index";
    given.told(`${name} ${where}${where === String(index) ? "" : ` [${index}]`}: ${given.text(cursor)} ${given.units}`);
    draw();
  };
  canvas.addEventListener("pointermove", (e) => point(Math.floor(((e.offsetX - LEFT) / width) * values.length)));
  canvas.addEventListener("click", () => given.chosen?.(given.start + cursor * given.by));
  canvas.addEventListener("keydown", (e) => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20 }[e.key];
    if (by) point(cursor + by);
    else if (e.key === "Home") point(0);
    else if (e.key === "End") point(values.length - 1);
    else if (e.key === "Enter" && cursor >= 0) given.chosen?.(given.start + cursor * given.by);
    else return;
    e.preventDefault();
  });
  draw();
  return canvas;
}
