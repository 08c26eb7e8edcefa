// Colour maps, each as a few colours with straight lines between them.

const POINTS: Record<string, string> = {
  viridis: "440154 482878 3e4989 31688e 26828e 1f9e89 35b779 6ece58 b5de2b fde725",
  magma: "000004 180f3d 440f76 721f81 9e2f7f cd4071 f1605d fd9668 feca8d fcfdbf",
  grey: "000000 ffffff",
  diverging: "17386d 2f6bad 7fabd3 c9dcea f5f4f1 f0d3c0 dc9270 b84a38 6d1526",
  cyclic: "e2d9e2 8fb0c4 5e6fb8 4a2c80 2f1436 6d1f50 a9475c c99b84 e2d9e2",
};
export const NAMES = Object.keys(POINTS);

/** 256 colours as red, green, blue. */
export function table(name: string): Uint8Array {
  const points = POINTS[NAMES.includes(name) ? name : "viridis"]!.split(" ")
    .map((hex) => [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  const out = new Uint8Array(768);
  for (let i = 0; i < 256; i++) {
    const place = (i / 255) * (points.length - 1);
    const before = Math.min(Math.floor(place), points.length - 2);
    for (let c = 0; c < 3; c++) {
      const [a, b] = [points[before]![c]!, points[before + 1]![c]!];
      out[i * 3 + c] = Math.round(a + (b - a) * (place - before));
    }
  }
  return out;
}
