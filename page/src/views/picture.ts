// A picture with axes that is moved and zoomed; it knows positions, not what the values mean.
import { type Axis, axisTicks, title } from "../axes";
import { colour, el, type Sheet, sized } from "../dom";
import { clamp } from "../format";
import type { Window } from "../state";

export interface Settings {
  rows: number; columns: number;
  label: string;
  moved: (window: Window) => void;
  pointed: (row: number, column: number) => void;
  chosen: (row: number, column: number) => void;
}

const LEFT = 92, BOTTOM = 40, TOP = 8, RIGHT = 10;

/** Text in a space: whole, or the day above the time, or cut at its end. */
function lines(context: CanvasRenderingContext2D, text: string, space: number): [string, string] {
  const fits = (part: string) => context.measureText(part).width <= space;
  const cut = (part: string) => {
    let end = part.length;
    while (end > 1 && !fits(`${part.slice(0, end)}…`)) end--;
    return fits(part) ? part : `${part.slice(0, end)}…`;
  };
  const at = fits(text.slice(0, 200)) ? -1 : text.indexOf(" ");
  return at < 0 ? [cut(text.slice(0, 200)), ""] : [cut(text.slice(0, at)), cut(text.slice(at + 1, 200))];
}

export class Picture {
  readonly canvas: HTMLCanvasElement;
  window: Window;
  flip = false;
  axes: [Axis | null, Axis | null] = [null, null];
  cursor: [number, number] | null = null;
  mark: [number, number] | null = null;
  width = 300;
  height = 200;
  private image: HTMLCanvasElement | null = null;
  private cover: Window = [0, 1, 0, 1];
  private held = new Map<number, { x: number; y: number }>();
  private travelled = 0;
  private smooth = false;

  constructor(readonly settings: Settings, window: Window | null) {
    this.window = window ?? [0, settings.rows, 0, settings.columns];
    this.canvas = el("canvas", { className: "picture", tabIndex: 0, role: "application", "aria-label": settings.label });
    this.canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(e.deltaY > 0 ? 1.25 : 0.8, ...this.place(e)); }, { passive: false });
    this.canvas.addEventListener("pointerdown", (e) => this.down(e));
    this.canvas.addEventListener("pointermove", (e) => this.move(e));
    this.canvas.addEventListener("pointerup", (e) => this.up(e));
    this.canvas.addEventListener("pointercancel", (e) => { this.held.delete(e.pointerId); });
    this.canvas.addEventListener("dblclick", () => this.reset());
    this.canvas.addEventListener("keydown", (e) => this.keyed(e));
  }

  /** Choose a size for the space there is; cells are square unless the array is long and thin. */
  fit(space: number, tallest: number): void {
    const { rows, columns } = this.settings;
    const [width, height] = [Math.max(80, space - LEFT - RIGHT), Math.max(120, tallest - TOP - BOTTOM)];
    const ratio = rows / columns;
    if (ratio > 0.15 && ratio < 5) {
      const scale = Math.min(width / columns, height / rows);
      [this.width, this.height] = [Math.max(60, columns * scale), Math.max(60, rows * scale)];
    } else [this.width, this.height] = [width, Math.min(height, 380)];
    this.draw();
  }

  show(image: HTMLCanvasElement, cover: Window, smooth = false): void {
    [this.image, this.cover, this.smooth] = [image, cover, smooth];
    this.draw();
  }

  reset(): void { this.set([0, this.settings.rows, 0, this.settings.columns]); }

  set(window: Window): void {
    const fit = (from: number, to: number, length: number): [number, number] => {
      const span = clamp(to - from, Math.min(4, length), length);
      const start = clamp((from + to - span) / 2, 0, length - span);
      return [start, start + span];
    };
    this.window = [...fit(window[0], window[1], this.settings.rows), ...fit(window[2], window[3], this.settings.columns)];
    this.draw();
    this.settings.moved(this.window);
  }

  zoom(factor: number, row?: number, column?: number): void {
    const [r0, r1, c0, c1] = this.window;
    const [r, c] = [row ?? (r0 + r1) / 2, column ?? (c0 + c1) / 2];
    const about = (from: number, to: number, at: number): [number, number] => [at - (at - from) * factor, at + (to - at) * factor];
    this.set([...about(r0, r1, r), ...about(c0, c1, c)]);
  }

  /** The row and column under the pointer, as fractions. */
  private place(e: { offsetX: number; offsetY: number }): [number, number] {
    const [r0, r1, c0, c1] = this.window;
    let y = (e.offsetY - TOP) / this.height;
    if (this.flip) y = 1 - y;
    return [r0 + y * (r1 - r0), c0 + ((e.offsetX - LEFT) / this.width) * (c1 - c0)];
  }

  private x(column: number): number {
    const [, , c0, c1] = this.window;
    return LEFT + ((column - c0) / (c1 - c0)) * this.width;
  }

  private y(row: number): number {
    const [r0, r1] = this.window;
    const y = (row - r0) / (r1 - r0);
    return TOP + (this.flip ? 1 - y : y) * this.height;
  }

  private down(e: PointerEvent): void {
    this.canvas.setPointerCapture(e.pointerId);
    this.held.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    this.travelled = 0;
  }

  private move(e: PointerEvent): void {
    const before = this.held.get(e.pointerId);
    const [row, column] = this.place(e);
    if (!before) {
      this.point(Math.floor(row), Math.floor(column));
      return;
    }
    const others = [...this.held].filter(([id]) => id !== e.pointerId);
    const [dx, dy] = [e.offsetX - before.x, e.offsetY - before.y];
    this.travelled += Math.abs(dx) + Math.abs(dy);
    this.held.set(e.pointerId, { x: e.offsetX, y: e.offsetY });
    const [r0, r1, c0, c1] = this.window;
    if (others.length === 1) {
      const other = others[0]![1];
      const was = Math.hypot(before.x - other.x, before.y - other.y);
      const is = Math.hypot(e.offsetX - other.x, e.offsetY - other.y);
      if (is > 1) this.zoom(was / is, ...this.place({ offsetX: (e.offsetX + other.x) / 2, offsetY: (e.offsetY + other.y) / 2 }));
    } else if (this.travelled > 4) {
      const down = (this.flip ? dy : -dy) * ((r1 - r0) / this.height), right = -dx * ((c1 - c0) / this.width);
      this.set([r0 + down, r1 + down, c0 + right, c1 + right]);
    }
  }

  private up(e: PointerEvent): void {
    this.held.delete(e.pointerId);
    if (this.travelled > 4) return;
    const [row, column] = this.place(e).map(Math.floor) as [number, number];
    if (this.inside(row, column)) { this.point(row, column); this.settings.chosen(row, column); }
  }

  private inside(row: number, column: number): boolean {
    const [r0, r1, c0, c1] = this.window;
    return row >= Math.floor(r0) && row < r1 && column >= Math.floor(c0) && column < c1;
  }

  private point(row: number, column: number): void {
    if (!this.inside(row, column)) return;
    this.cursor = [row, column];
    this.settings.pointed(row, column);
    this.draw();
  }

  private keyed(e: KeyboardEvent): void {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const [r0, r1, c0, c1] = this.window;
    const directions: Record<string, [number, number]> = {
      ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
    };
    let to = directions[e.key];
    if (to) {
      if (this.flip) to = [-to[0], to[1]];
      const [tall, wide] = [(r1 - r0) / 10, (c1 - c0) / 10];
      if (e.shiftKey) this.set([r0 + to[0] * tall, r1 + to[0] * tall, c0 + to[1] * wide, c1 + to[1] * wide]);
      else {
        const step = (span: number, px: number) => Math.max(1, Math.round((span / px) * 3));
        const [r, c] = this.cursor ?? [Math.floor((r0 + r1) / 2), Math.floor((c0 + c1) / 2)];
        this.point(
          clamp(r + to[0] * step(r1 - r0, this.height), Math.floor(r0), Math.ceil(r1) - 1),
          clamp(c + to[1] * step(c1 - c0, this.width), Math.floor(c0), Math.ceil(c1) - 1),
        );
      }
    } else if (e.key === "+" || e.key === "=") this.zoom(0.7, ...(this.cursor ?? []));
    else if (e.key === "-") this.zoom(1.4, ...(this.cursor ?? []));
    else if (e.key === "0") this.reset();
    else if (e.key === "Enter" && this.cursor) this.settings.chosen(...this.cursor);
    else return;
    e.preventDefault();
  }

  draw(): void {
    const sheet = sized(this.canvas, LEFT + this.width + RIGHT, TOP + this.height + BOTTOM);
    const { context } = sheet;
    context.save();
    context.beginPath();
    context.rect(LEFT, TOP, this.width, this.height);
    context.clip();
    context.fillStyle = colour("--missing");
    context.fillRect(LEFT, TOP, this.width, this.height);
    if (this.image) {
      const [r0, r1, c0, c1] = this.cover;
      const [left, right, above, below] = [this.x(c0), this.x(c1), this.y(r0), this.y(r1)];
      context.imageSmoothingEnabled = this.smooth;
      context.translate(left, above);
      context.scale(1, this.flip ? -1 : 1);
      context.drawImage(this.image, 0, 0, right - left, Math.abs(below - above));
    }
    context.restore();
    context.strokeStyle = colour("--line-strong");
    context.strokeRect(LEFT - 0.5, TOP - 0.5, this.width + 1, this.height + 1);
    this.drawAxes(sheet);
    for (const [at, strong] of [[this.mark, true], [this.cursor, false]] as const) if (at) this.drawCross(sheet, at, strong);
  }

  private drawAxes({ context }: Sheet): void {
    const [r0, r1, c0, c1] = this.window;
    context.fillStyle = context.strokeStyle = colour("--text-soft");
    const [down, right] = this.axes;
    if (right) {
      context.textAlign = "center"; context.textBaseline = "top";
      let last = -Infinity;
      for (const tick of axisTicks(right, c0, c1, this.width / 60)) {
        const x = this.x(tick.at), half = context.measureText(tick.text).width / 2;
        if (x < LEFT - 1 || x > LEFT + this.width + 1 || x - half < last) continue;
        context.fillRect(Math.round(x), TOP + this.height + 1, 1, 4);
        context.fillText(tick.text, clamp(x, half + 2, LEFT + this.width + RIGHT - half), TOP + this.height + 7);
        last = x + half + 6;
      }
      context.fillText(title(right), LEFT + this.width / 2, TOP + this.height + 23);
    }
    if (down) {
      context.textAlign = "right"; context.textBaseline = "middle";
      for (const tick of axisTicks(down, r0, r1, this.height / 35)) {
        const y = this.y(tick.at);
        if (y < TOP - 1 || y > TOP + this.height + 1) continue;
        context.fillRect(LEFT - 5, Math.round(y), 4, 1);
        const [first, second] = lines(context, tick.text, LEFT - 26);
        const middle = clamp(y, TOP + 5, TOP + this.height - 4);
        context.fillText(first, LEFT - 8, second ? middle - 6 : middle);
        if (second) context.fillText(second, LEFT - 8, middle + 6);
      }
      context.save();
      context.translate(8, TOP + this.height / 2);
      context.rotate(-Math.PI / 2);
      context.textAlign = "center";
      context.fillText(title(down), 0, 0);
      context.restore();
    }
  }

  private drawCross({ context }: Sheet, [row, column]: [number, number], strong: boolean): void {
    const [x, y] = [this.x(column + 0.5), this.y(row + 0.5)];
    if (x < LEFT || x > LEFT + this.width || y < TOP || y > TOP + this.height) return;
    for (const [width, ink] of [[3, "rgba(0,0,0,.6)"], [1.2, "#fff"]] as const) {
      context.beginPath();
      context.lineWidth = width; context.strokeStyle = ink;
      if (strong) context.arc(x, y, 5, 0, 7);
      else { context.moveTo(x - 5, y); context.lineTo(x + 5, y); context.moveTo(x, y - 5); context.lineTo(x, y + 5); }
      context.stroke();
    }
    context.lineWidth = 1;
  }
}
