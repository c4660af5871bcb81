// Elements, numbers and tooltips. Text is only ever set as text, so no name can become markup.

import { addressOf } from "./address.js";
import { board, loadBlock } from "./unpack.js";

export function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...shown);
  return element;
}

export function figure(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value === "string") return value;
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return value.toFixed(digits).replace("-", "−");
}

export function shortNumber(value) {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e5 || size < 1e-3) return value.toExponential(0).replace("e+", "e");
  return String(Number(value.toPrecision(3))).replace("-", "−");
}

export function probability(value) {
  if (value === null || value === undefined) return "undefined";
  return value < 0.001 ? value.toExponential(1) : value.toFixed(3);
}

export function count(value, noun, plural = `${noun}s`) {
  return `${value.toLocaleString("en")} ${value === 1 ? noun : plural}`;
}

export function seriesCount(value) {
  return count(value, "series", "series");
}

export function percent(share) {
  return share === null || share === undefined ? "–" : `${Math.round(share * 100)} %`;
}

export function say(text) {
  document.getElementById("said").textContent = text;
}

// Colours of the style, looked up once, until light and dark change places.
const palette = new Map();

export function colour(name) {
  if (!palette.has(name)) palette.set(name, getComputedStyle(document.body).getPropertyValue(`--${name}`).trim());
  return palette.get(name);
}

export function forgetColours() {
  palette.clear();
}

export const metricOf = new Map(board.metrics.map((metric, place) => [metric.id, { ...metric, place }]));

// The metric that an address names, or the one that ranks.
export function chosenMetric(state) {
  return metricOf.has(state.metric) ? state.metric : board.rank_by;
}

export function loadMetric(id) {
  return loadBlock(`metric-${metricOf.get(id).place}`);
}

// Explain something on hover and on focus; Escape hides it.
export function explained(element, describe) {
  const tip = document.getElementById("tip");
  const show = () => {
    tip.replaceChildren(...[describe()].flat());
    tip.hidden = false;
    element.setAttribute("aria-describedby", "tip");
    const box = element.getBoundingClientRect(), width = tip.offsetWidth;
    const left = Math.min(Math.max(8, box.left), Math.max(8, document.documentElement.clientWidth - width - 8));
    tip.style.left = `${left + window.scrollX}px`;
    tip.style.top = `${box.bottom + 6 + window.scrollY}px`;
  };
  const hide = () => {
    tip.hidden = true;
    element.removeAttribute("aria-describedby");
  };
  element.addEventListener("mouseenter", show);
  element.addEventListener("focus", show);
  element.addEventListener("mouseleave", hide);
  element.addEventListener("blur", hide);
  return element;
}

export function metricText(id) {
  const metric = metricOf.get(id);
  const [low, high] = metric.range;
  const range = low === null && high === null ? "" : `From ${low ?? "−∞"} to ${high ?? "∞"}; `;
  return [
    make("strong", {}, metric.id),
    make("p", {}, metric.text),
    make("p", {}, `${range}${metric.higher ? "higher" : "lower"} is better.`,
      metric.threshold ? ` Needs a threshold: ${metric.threshold}.` : ""),
    metric.rewards.length ? make("p", {}, make("em", {}, "It "), metric.rewards.join("; "), ".") : null,
    metric.faults ? make("p", { class: "warn" }, make("em", {}, "Can be fooled: "), metric.faults, ".") : null,
    metric.paper ? make("p", { class: "small" }, metric.paper) : null,
  ].filter(Boolean);
}

// A control with its label.
export function field(label, control, kind = "") {
  return make("span", { class: `field ${kind}`.trim() }, make("label", { for: control.id }, label), control);
}

// A list of choices with a label.
export function chooser(label, options, value, onchange) {
  const id = `choose-${label.toLowerCase().replace(/\W+/g, "-")}`;
  const select = make("select", { id, onchange: () => onchange(select.value) },
    options.map((option) => {
      const [key, text] = Array.isArray(option) ? option : [option, option];
      return make("option", { value: key, selected: key === value }, text);
    }));
  return field(label, select);
}

export function metricChooser(value, onchange, label = "Metric") {
  return chooser(label, board.metrics.map((metric) => metric.id), value, onchange);
}

export function searchField(label, value, oninput) {
  const input = make("input", {
    type: "search", id: "filter", value: value ?? "", autocomplete: "off", oninput: () => oninput(input.value),
  });
  return field(label, input);
}

export function scrolling(label, ...children) {
  return make("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": label }, ...children);
}

// A table that scrolls. A column is its name, or a list: its name and the class of its cells.
export function table(label, columns, rows, kind = "board") {
  const heads = columns.map((column) => {
    const [name, style] = Array.isArray(column) ? column : [column, null];
    return make("th", { scope: "col", class: style }, name);
  });
  return scrolling(label, make("table", { class: kind },
    make("thead", {}, make("tr", {}, heads)), make("tbody", {}, rows)));
}

export function numberCell(text, kind = "") {
  return make("td", { class: `number ${kind}`.trim() }, text);
}

export function link(text, changes, attributes = {}) {
  return make("a", { href: addressOf(changes), ...attributes }, text);
}

// A box that shows what becomes of a promise, or why nothing does.
export function later(promise, draw) {
  const holder = make("div", {}, make("p", {}, "Loading …"));
  promise.then(draw).then((elements) => holder.replaceChildren(...[elements].flat()))
    .catch((error) => holder.replaceChildren(make("p", { class: "notice" }, error.message)));
  return holder;
}

// Few rows at a time: a page of thousands of rows is slow and nobody reads it.
export function paged(total, size, render) {
  const box = make("div");
  let page = 0;
  const draw = () => {
    const last = Math.max(0, Math.ceil(total / size) - 1);
    page = Math.min(Math.max(page, 0), last);
    const turn = (step, text, off) =>
      make("button", { type: "button", disabled: off, onclick: () => { page += step; draw(); } }, text);
    const end = Math.min(total, (page + 1) * size);
    box.replaceChildren(render(page * size, end));
    if (last > 0) {
      const [from, to, all] = [page * size + 1, end, total].map((each) => each.toLocaleString("en"));
      box.append(make("p", { class: "pages" }, turn(-1, "Back", page === 0), ` ${from}–${to} of ${all} `,
        turn(1, "On", page === last)));
    }
  };
  draw();
  return box;
}
