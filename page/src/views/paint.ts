// From numbers to the pixels of a picture.
import type { Values } from "../api";
import { table } from "../colours";
import { placed, type Range } from "../stats";

/** Where the value of a row and a column is: of what was read, along which axis. */
export interface Layout { height: number; width: number; row: number; column: number; channel: number; channels: number }

/** Axes of the values in the order of the array's dimensions. */
export function layout(values: Values, sliced: number[], rows: number, columns: number, channel: number): Layout {
  const strides = new Map<number, number>();
  let stride = 1;
  for (let i = sliced.length - 1; i >= 0; i--) { strides.set(sliced[i]!, stride); stride *= values.shape[i]!; }
  const length = (dim: number) => (dim < 0 ? 1 : values.shape[sliced.indexOf(dim)] ?? 1);
  return {
    height: length(rows), width: length(columns), row: strides.get(rows) ?? 0, column: strides.get(columns) ?? 0,
    channel: strides.get(channel) ?? 0, channels: length(channel),
  };
}

export function paint(numbers: Float64Array, at: Layout, limits: Range, map: string): HTMLCanvasElement {
  const colours = table(map);
  return pixels(at, (out, from, to) => {
    const value = numbers[from]!;
    if (Number.isNaN(value)) return;
    const place = placed(value, limits);
    const i = Math.max(0, Math.min(255, Math.floor((Number.isNaN(place) ? 0 : place) * 256))) * 3;
    out[to] = colours[i]!; out[to + 1] = colours[i + 1]!; out[to + 2] = colours[i + 2]!; out[to + 3] = 255;
  });
}

/** Red, green and blue as they are stored, or stretched to limits where they are not bytes. */
export function paintColours(numbers: Float64Array, at: Layout, limits: Range): HTMLCanvasElement {
  return pixels(at, (out, from, to) => {
    for (let c = 0; c < Math.min(4, at.channels); c++) out[to + c] = placed(numbers[from + c * at.channel]!, limits) * 255;
    if (at.channels < 4) out[to + 3] = 255;
  });
}

function pixels(at: Layout, one: (out: Uint8ClampedArray, from: number, to: number) => void): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.max(1, at.width), Math.max(1, at.height)];
  const context = canvas.getContext("2d")!;
  const image = context.createImageData(canvas.width, canvas.height);
  for (let r = 0; r < at.height; r++) {
    for (let c = 0; c < at.width; c++) one(image.data, r * at.row + c * at.column, (r * at.width + c) * 4);
  }
  context.putImageData(image, 0, 0);
  return canvas;
}
