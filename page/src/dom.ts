// Making elements, of text whose direction nothing turns. Text from a store only ever becomes text nodes and attributes' values, never HTML.

import { plain } from "./format";

type Child = Node | string | null | undefined | false;
type Props = Record<string, unknown>;

export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K, props: Props = {}, ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value as EventListener);
    else if (name in made && !name.includes("-") && name !== "role" && name !== "list") {
      (made as unknown as Props)[name] = value;
    } else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((c): c is Node | string => c !== null && c !== undefined && c !== false).map(safe));
  return made;
}

export function byId(id: string): HTMLElement {
  return document.getElementById(id)!;
}

/** Put children in the place of others. What is drawn anew under the same name keeps the focus of the keyboard. */
export function fill(parent: HTMLElement, ...children: Child[]): void {
  const focused = document.activeElement;
  const before = focused && focused !== parent && parent.contains(focused) ? focused : null;
  parent.replaceChildren(...children.filter((c): c is Node | string => !!c).map(safe));
  if (!before || before.isConnected) return;
  [...parent.querySelectorAll<HTMLElement>(before.tagName)].find((each) => named(each) === named(before))?.focus({ preventScroll: true });
}

const named = (element: Element): string => element.ariaLabel ?? (element.closest("label") ?? element).textContent;

const safe = (child: Node | string): Node | string => (typeof child === "string" ? plain(child) : child);

export function select(
  label: string, value: string, options: [string, string][], changed: (value: string) => void,
): HTMLElement {
  const box = el("select", { "aria-label": label, onchange: () => changed(box.value) },
    ...options.map(([v, text]) => el("option", { value: v, selected: v === value }, text)));
  return el("label", { className: "field" }, el("span", {}, label), box);
}

export function check(label: string, value: boolean, changed: (value: boolean) => void): HTMLElement {
  const box = el("input", { type: "checkbox", checked: value, onchange: () => changed(box.checked) });
  return el("label", { className: "field tick" }, box, el("span", {}, label));
}

export function button(text: string, pressed: () => void, props: Props = {}): HTMLButtonElement {
  return el("button", { type: "button", onclick: pressed, ...props }, text);
}

/** A style of the page, for what is drawn on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export interface Sheet {
  canvas: HTMLCanvasElement;
  context: CanvasRenderingContext2D;
  width: number;
  height: number;
}

/** A canvas of so many CSS pixels, sharp on every screen. */
export function sized(canvas: HTMLCanvasElement, width: number, height: number): Sheet {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d")!;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px system-ui, sans-serif";
  return { canvas, context, width, height };
}
