// Which views fit an array, and what they show at first.
import type { Facts } from "./api";
import { change, state, type View } from "./state";

/** The dimension of red, green and blue, if there is one; -1 if not. */
export function channelOf(facts: Facts): number {
  if (facts.type !== "number" || facts.dtype !== "uint8" || facts.shape.length < 3) return -1;
  const last = facts.shape.length - 1;
  const fits = (dim: number) => facts.shape[dim] === 3 || facts.shape[dim] === 4;
  if (fits(last)) return last;
  return fits(last - 2) ? last - 2 : -1;
}

export function viewsOf(facts: Facts): [View, string][] {
  if (!facts.shape.length) return [];
  const drawn = !["text", "record", "time"].includes(facts.type);
  const found: [View, string][] = [];
  if (drawn && channelOf(facts) >= 0) found.push(["rgb", "Colours"]);
  if (drawn && facts.shape.length > 1) found.push(["heat", "Picture"]);
  if (drawn) found.push(["line", "Line"]);
  found.push(["table", "Table"]);
  return found;
}

/** Fill in what the address does not say. */
export function complete(facts: Facts): View {
  const views = viewsOf(facts).map(([name]) => name);
  const view = views.includes(state.view) ? state.view : views[0] ?? "";
  const ndim = facts.shape.length;
  const channel = view === "rgb" ? channelOf(facts) : -1;
  const others = facts.shape.map((_, dim) => dim).filter((dim) => dim !== channel);
  let { rows, columns } = state;
  const [down, right] = [others[others.length - 2] ?? -1, others[others.length - 1] ?? -1];
  const ok = (dim: number) => dim >= 0 && dim < ndim && dim !== channel;
  if (view === "line") [rows, columns] = [-1, ok(columns) ? columns : right];
  else if (facts.type === "record" || ndim === 1) [rows, columns] = [ok(rows) ? rows : right, -1];
  else {
    if (!ok(rows)) rows = columns === down ? right : down;
    if (!ok(columns) || columns === rows) columns = rows === right ? down : right;
  }
  const at = facts.shape.map((length, dim) => Math.max(0, Math.min(length - 1, Math.round(state.at[dim] ?? 0))));
  const shown = state.point?.every((index, i) => index >= 0 && index < (facts.shape[i ? columns : rows] ?? 0));
  change({ rows, columns, at, point: shown ? state.point : null });
  return view;
}

/** What a selection is: the dimensions that are shown are slices, the others one index. */
export function selection(
  facts: Facts, parts: Map<number, [number, number]>, at: number[], shape = facts.shape,
): string {
  return shape.map((length, dim) => {
    const part = parts.get(dim);
    if (part) return `${Math.max(0, Math.floor(part[0]))}:${Math.min(length, Math.ceil(part[1]))}`;
    return String(Math.min(length - 1, Math.floor(at[dim] ?? 0)));
  }).join(",");
}
