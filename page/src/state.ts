// What is shown, as the part of the address after #: every view can be sent as a link.

export type Tab = "data" | "contents" | "chunks" | "attributes" | "metadata";
export type View = "" | "heat" | "rgb" | "line" | "table";
export type Window = [number, number, number, number];

export interface State {
  path: string; tab: Tab; view: View;
  rows: number; columns: number;
  at: number[];
  window: Window | null;
  map: string; low: string; high: string; stretch: string; log: boolean;
  part: string; raw: boolean; flip: string; level: string;
  point: [number, number] | null; along: number;
}

export const START: State = {
  path: "", tab: "data", view: "", rows: -1, columns: -1, at: [], window: null,
  map: "viridis", low: "", high: "", stretch: "all", log: false,
  part: "magnitude", raw: false, flip: "", level: "", point: null, along: -1,
};

const whole = (text: string): number[] => text.split(",").map(Number).filter(Number.isFinite);

export function parse(hash: string): State {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const state: State = { ...START };
  for (const [key, text] of found) {
    switch (key) {
      case "path": case "view": case "tab": case "map": case "low": case "high": case "stretch":
      case "part": case "flip": case "level":
        (state as unknown as Record<string, string>)[key] = text.slice(0, 2000); break;
      case "rows": case "columns": case "along":
        state[key] = /^\d{1,2}$/.test(text) ? Number(text) : -1; break;
      case "log": case "raw": state[key] = text === "1"; break;
      case "at": state.at = whole(text); break;
      case "window": { const w = whole(text); if (w.length === 4) state.window = w as Window; break; }
      case "point": { const p = whole(text); if (p.length === 2) state.point = p as [number, number]; break; }
    }
  }
  return state;
}

export function spell(state: State): string {
  const out = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) {
    const usual = START[key as keyof State];
    if (value === usual || value === null || (Array.isArray(value) && !value.length)) continue;
    if (key === "at" && (value as number[]).every((v) => v === 0)) continue;
    out.set(key, Array.isArray(value) ? value.map((v) => +v.toFixed(2)).join(",") : value === true ? "1" : String(value));
  }
  return out.toString().replace(/%2F/g, "/").replace(/%2C/g, ",");
}

export let state: State = { ...START };
type Listener = (state: State) => void;
let listener: Listener = () => undefined;
let waiting = 0;

export function onState(function_: Listener): void {
  listener = function_;
  window.addEventListener("hashchange", () => {
    if (location.hash.replace(/^#/, "") !== spell(state)) { state = parse(location.hash); listener(state); }
  });
  state = parse(location.hash);
}

/** Go to another node: a new entry of the browser's history. */
export function go(changes: Partial<State>): void {
  state = { ...START, map: state.map, ...changes };
  history.pushState(null, "", `#${spell(state)}`);
  listener(state);
}

/** Change what is shown of this node. The address follows a moment later. */
export function change(changes: Partial<State>): void {
  state = { ...state, ...changes };
  clearTimeout(waiting);
  waiting = window.setTimeout(() => history.replaceState(null, "", `#${spell(state)}`), 150);
}
