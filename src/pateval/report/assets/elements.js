// Elements, numbers and tooltips. Text is only ever set as text, so no name can become markup.

function make(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && typeof value === "boolean") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function figure(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value === "string") return value;
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString("en");
  return value.toFixed(digits).replace("-", "−");
}

function count(value, noun, plural = `${noun}s`) {
  return `${value.toLocaleString("en")} ${value === 1 ? noun : plural}`;
}

function percent(share) {
  return share === null || share === undefined ? "–" : `${Math.round(share * 100)} %`;
}

function say(text) {
  document.getElementById("said").textContent = text;
}

// Colours of the style, looked up once; `palette` is emptied when light and dark change places.
const palette = new Map();

function colour(name) {
  if (!palette.has(name)) palette.set(name, getComputedStyle(document.body).getPropertyValue(`--${name}`).trim());
  return palette.get(name);
}

const metricOf = new Map(board.metrics.map((metric, place) => [metric.id, { ...metric, place }]));

// Explain something on hover and on focus; Escape hides it.
function explained(element, describe) {
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

function metricText(id) {
  const metric = metricOf.get(id);
  const [low, high] = metric.range;
  const range = low === null && high === null ? "" : `From ${low ?? "−∞"} to ${high ?? "∞"}; `;
  return [
    make("strong", {}, metric.id),
    make("p", {}, metric.text),
    make("p", {}, `${range}${metric.higher ? "higher" : "lower"} is better.`,
      metric.oracle ? " Needs a threshold: here the one with the best point F1, chosen with the labels (oracle)." : ""),
    metric.rewards.length ? make("p", {}, make("em", {}, "It "), metric.rewards.join("; "), ".") : null,
    metric.faults ? make("p", { class: "warn" }, make("em", {}, "Can be fooled: "), metric.faults, ".") : null,
    metric.paper ? make("p", { class: "small" }, metric.paper) : null,
  ].filter(Boolean);
}

// A list of choices with a label.
function chooser(label, options, value, onchange, attributes = {}) {
  const id = `choose-${label.toLowerCase().replace(/\W+/g, "-")}`;
  const select = make("select", { id, ...attributes, onchange: () => onchange(select.value) },
    options.map((option) => {
      const [key, text] = Array.isArray(option) ? option : [option, option];
      return make("option", { value: key, selected: key === value }, text);
    }));
  return make("span", { class: "field" }, make("label", { for: id }, label), select);
}

function metricChooser(value, onchange, label = "Metric") {
  return chooser(label, board.metrics.map((metric) => metric.id), value, onchange);
}

function scrolling(label, ...children) {
  return make("div", { class: "scrolling", tabindex: "0", role: "region", "aria-label": label }, ...children);
}

function link(text, changes, attributes = {}) {
  return make("a", { href: addressOf(changes), ...attributes }, text);
}

// Few rows at a time: a page of thousands of rows is slow and nobody reads it.
function paged(total, size, render) {
  const box = make("div");
  let page = 0;
  const draw = () => {
    const last = Math.max(0, Math.ceil(total / size) - 1);
    page = Math.min(Math.max(page, 0), last);
    const turn = (step, text, off) =>
      make("button", { type: "button", disabled: off, onclick: () => { page += step; draw(); } }, text);
    box.replaceChildren(render(page * size, Math.min(total, (page + 1) * size)));
    if (last > 0) {
      box.append(make("p", { class: "pages" }, turn(-1, "Back", page === 0),
        ` ${(page * size + 1).toLocaleString("en")}–${Math.min(total, (page + 1) * size).toLocaleString("en")} of ${total.toLocaleString("en")} `,
        turn(1, "On", page === last)));
    }
  };
  draw();
  return box;
}
