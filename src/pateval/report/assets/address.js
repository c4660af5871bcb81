// The state of the page is its address, so that a link shows what its sender saw.

import { board } from "./unpack.js";

const DEFAULTS = { view: "overview", metric: board.rank_by };

let pending = {}, timer = null;

export function readAddress() {
  const text = location.hash.slice(1);
  return { ...DEFAULTS, ...(text.includes("=") ? Object.fromEntries(new URLSearchParams(text)) : {}), ...pending };
}

// The address of another state: of the present one only the metric stays, unless it is named.
export function addressOf(changes, state = { metric: readAddress().metric }) {
  const next = { ...DEFAULTS, ...state, ...changes };
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(next)) {
    const isDefault = name !== "view" && value === DEFAULTS[name];
    if (value !== null && value !== undefined && value !== "" && !isDefault) parameters.set(name, value);
  }
  return `#${parameters}`;
}

// Change the present state without drawing the page anew. A slider changes it hundreds of times, and browsers refuse
// so many changes of an address, so they are gathered for a moment.
export function keep(changes) {
  pending = { ...pending, ...changes };
  timer ??= setTimeout(flush, 100);
}

function flush() {
  const next = addressOf({}, readAddress());
  forget();
  if (next !== location.hash) history.replaceState(null, "", next);
}

export function forget() {
  clearTimeout(timer);
  timer = null;
  pending = {};
}

// Change the present state and draw.
export function go(changes, state = readAddress()) {
  const next = addressOf(changes, state);
  forget();
  location.hash = next;
}
