// A timeline on canvas: panels of curves over the same steps, bands for events and zones, a strip of categories.
// Long stretches are drawn as the lowest and highest point of every pixel column, found in blocks of 64 steps.

import { ticks } from "./clock.js";
import { colour, make, shortNumber } from "./elements.js";
import { CATEGORIES, OUTSIDE, PARTLY, QUIET, TOTALLY, TRUE } from "./pate.js";

const BLOCK = 64;
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
const MARGIN = { left: 52, right: 10, top: 8, axis: 24 };

// Lowest and highest of every 64 numbers; NaN counts for neither.
export function summarise(numbers) {
  const size = Math.ceil(numbers.length / BLOCK), low = new Float64Array(size), high = new Float64Array(size);
  for (let b = 0; b < size; b++) {
    let least = Infinity, most = -Infinity;
    for (let i = b * BLOCK, end = Math.min(numbers.length, i + BLOCK); i < end; i++) {
      if (numbers[i] < least) least = numbers[i];
      if (numbers[i] > most) most = numbers[i];
    }
    low[b] = least;
    high[b] = most;
  }
  return { numbers, low, high };
}

export function extent(curve, from, to) {
  let least = Infinity, most = -Infinity, i = from;
  const take = (low, high) => {
    if (low < least) least = low;
    if (high > most) most = high;
  };
  while (i < to && i % BLOCK) { take(curve.numbers[i], curve.numbers[i]); i++; }
  for (; i + BLOCK <= to; i += BLOCK) take(curve.low[i / BLOCK], curve.high[i / BLOCK]);
  for (; i < to; i++) take(curve.numbers[i], curve.numbers[i]);
  return [least, most];
}

// `model` has axis, panels [{name, curve, colour, low, high, threshold()}], zones, category(step), and callbacks.
export class Timeline {
  constructor(model) {
    this.model = model;
    this.from = model.axis.begin;
    this.to = model.axis.end;
    this.cursor = null;
    this.event = null;
    this.canvas = make("canvas", { class: "timeline", tabindex: "0", role: "img", "aria-label": model.label });
    this.map = make("canvas", { class: "minimap", "aria-hidden": "true" });
    this.element = make("div", { class: "timelines" }, this.canvas, this.map);
    this.pointers = new Map();
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  height() {
    return MARGIN.top + this.model.panels.reduce((sum, panel) => sum + panel.height + 10, 0) + 26 + MARGIN.axis;
  }

  // Drawing waits for the next frame, however often it is asked for.
  draw() {
    if (this.waits) return;
    this.waits = true;
    requestAnimationFrame(() => {
      this.waits = false;
      this.paint();
      this.paintMap();
    });
  }

  prepare(canvas, height) {
    const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    canvas.style.height = `${height}px`;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    return [pen, width];
  }

  paint() {
    const [pen, width] = this.prepare(this.canvas, this.height());
    if (!width) return;
    const inner = width - MARGIN.left - MARGIN.right, { axis, panels } = this.model;
    this.inner = inner;
    const scale = inner / (this.to - this.from);
    const x = (position) => MARGIN.left + (position - this.from) * scale;
    // The first step of every pixel column, and one past the last.
    const columns = new Int32Array(inner + 1);
    for (let p = 0; p <= inner; p++) columns[p] = axis.stepAt(this.from + p / scale);
    this.columns = columns;
    let top = MARGIN.top;
    for (const panel of panels) {
      this.paintBands(pen, x, top, panel.height);
      this.paintPanel(pen, panel, columns, x, top, inner);
      top += panel.height + 10;
    }
    this.paintCategories(pen, columns, top, inner, x);
    top += 26;
    this.paintAxis(pen, x, top, inner);
    if (this.cursor !== null) {
      pen.fillStyle = colour("quiet");
      pen.fillRect(Math.round(x(axis.at(this.cursor))), MARGIN.top, 1, top - MARGIN.top);
    }
  }

  paintBands(pen, x, top, height) {
    const { axis, zones } = this.model, left = MARGIN.left, right = MARGIN.left + this.inner;
    const band = (first, stop, fill, least) => {
      if (stop <= first) return;
      const begin = Math.max(left, x(axis.at(first)));
      const end = Math.min(right, x(stop < axis.steps ? axis.at(stop) : axis.end));
      if (end < left || begin > right) return;
      pen.fillStyle = fill;
      pen.fillRect(begin, top, Math.max(end - begin, least), height);
    };
    pen.fillStyle = colour("panel");
    pen.fillRect(left, top, this.inner, height);
    for (const zone of zones()) {
      band(zone.start - zone.before, zone.start, colour("early-zone"), 0);
      band(zone.stop, zone.stop + zone.after, colour("delayed-zone"), 0);
    }
    zones().forEach((zone, k) => {
      band(zone.start, zone.stop, colour(k === this.event ? "event-chosen" : "event"), 1.5);
      const y = top;
      const begin = Math.max(left, x(axis.at(zone.start)));
      const end = Math.min(right, x(zone.stop < axis.steps ? axis.at(zone.stop) : axis.end));
      if (end >= left && begin <= right) {
        pen.fillStyle = colour("event-mark");
        pen.fillRect(begin, y, Math.max(end - begin, 1.5), 3);
      }
    });
  }

  paintPanel(pen, panel, columns, x, top, inner) {
    const { axis } = this.model, span = panel.high - panel.low || 1;
    const y = (value) => top + panel.height - ((value - panel.low) / span) * panel.height;
    pen.font = `11px ${FONT}`;
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    for (const value of ticks(panel.low, panel.high, panel.height / 40)) {
      pen.fillStyle = colour("line");
      pen.fillRect(MARGIN.left, Math.round(y(value)), inner, 1);
      pen.fillStyle = colour("quiet");
      pen.fillText(shortNumber(value), MARGIN.left - 6, Math.min(Math.max(y(value), top + 5), top + panel.height - 4));
    }
    pen.save();
    pen.beginPath();
    pen.rect(MARGIN.left, top - 1, inner, panel.height + 2);
    pen.clip();
    pen.strokeStyle = panel.colour();
    pen.lineWidth = 1.2;
    pen.lineJoin = "round";
    pen.beginPath();
    const first = Math.max(0, columns[0] - 1), last = Math.min(axis.steps, columns[inner] + 1);
    if (last - first <= inner) {
      let isOpen = false;
      for (let i = first; i < last; i++) {
        const value = panel.curve.numbers[i];
        if (Number.isNaN(value)) { isOpen = false; continue; }
        if (isOpen) pen.lineTo(x(axis.at(i)), y(value));
        else pen.moveTo(x(axis.at(i)), y(value));
        isOpen = true;
      }
    } else {
      // Upright bars, each long enough to meet its neighbour: a path of as many strokes takes ten times as long.
      pen.fillStyle = panel.colour();
      let [before, after] = [NaN, NaN];
      for (let p = 0; p < inner; p++) {
        const [least, most] = extent(panel.curve, columns[p], columns[p + 1]);
        if (least > most) continue;
        // Reach for the column before where it lies wholly above or below.
        const upper = y(before > most ? before : most), lower = y(after < least ? after : least);
        pen.fillRect(MARGIN.left + p, upper, 1, Math.max(1.2, lower - upper));
        [before, after] = [least, most];
      }
    }
    pen.stroke();
    const threshold = panel.threshold?.();
    if (threshold !== undefined && threshold !== null) {
      pen.strokeStyle = colour("alarm");
      pen.setLineDash([5, 4]);
      pen.lineWidth = 1.4;
      pen.beginPath();
      pen.moveTo(MARGIN.left, y(threshold));
      pen.lineTo(MARGIN.left + inner, y(threshold));
      pen.stroke();
    }
    pen.restore();
    pen.textAlign = "left";
    pen.font = `600 11px ${FONT}`;
    pen.fillStyle = colour("card");
    pen.globalAlpha = 0.85;
    pen.fillRect(MARGIN.left + 3, top + 4, pen.measureText(panel.name).width + 8, 17);
    pen.globalAlpha = 1;
    pen.fillStyle = colour("ink");
    pen.fillText(panel.name, MARGIN.left + 7, top + 13);
  }

  // The gravest category of every pixel column; what is missed is hatched too, for eyes that see no colours.
  paintCategories(pen, columns, top, inner, x) {
    const { category, axis } = this.model;
    const paint = CATEGORIES.map((name) => colour(`category-${name.replaceAll(" ", "-")}`));
    const order = [0, 4, 2, 1, 6, 3, 5]; // how grave each category is
    pen.fillStyle = colour("panel");
    pen.fillRect(MARGIN.left, top, inner, 16);
    const wide = inner / (columns[inner] - columns[0] || 1);
    if (wide > 1) {
      // Steps of one category are one bar, so that no seams show between them.
      let first = Math.max(0, columns[0] - 1);
      for (let i = first + 1; i <= columns[inner]; i++) {
        if (i < columns[inner] && category(i) === category(first)) continue;
        const begin = Math.max(x(axis.at(first)), MARGIN.left);
        const end = Math.min(i < axis.steps ? x(axis.at(i)) : x(axis.end), MARGIN.left + inner);
        if (category(first) !== QUIET) this.mark(pen, paint, category(first), begin, top, Math.max(end - begin, 0));
        first = i;
      }
      return;
    }
    for (let p = 0; p < inner; p++) {
      let worst = QUIET;
      for (let i = columns[p]; i < columns[p + 1]; i++) {
        const code = category(i);
        if (order[code] > order[worst]) worst = code;
      }
      if (worst !== QUIET) this.mark(pen, paint, worst, MARGIN.left + p, top, 1);
    }
  }

  mark(pen, paint, code, left, top, width) {
    pen.fillStyle = paint[code];
    const height = code === OUTSIDE || code === TRUE ? 16 : code === PARTLY || code === TOTALLY ? 6 : 11;
    pen.fillRect(left, top + (16 - height), width, height);
  }

  paintAxis(pen, x, top, inner) {
    const { axis } = this.model;
    pen.font = `11px ${FONT}`;
    pen.fillStyle = colour("quiet");
    pen.textBaseline = "top";
    for (const [value, text] of axis.marks(this.from, this.to, inner / 110)) {
      const place = x(value);
      if (place < MARGIN.left || place > MARGIN.left + inner) continue;
      pen.fillRect(Math.round(place), top - 4, 1, 4);
      pen.textAlign = place < MARGIN.left + 40 ? "left" : place > MARGIN.left + inner - 40 ? "right" : "center";
      pen.fillText(text, place, top + 4);
    }
  }

  paintMap() {
    const [pen, width] = this.prepare(this.map, 22);
    if (!width) return;
    const inner = width - MARGIN.left - MARGIN.right, { axis, zones } = this.model;
    const x = (position) => MARGIN.left + ((position - axis.begin) / (axis.end - axis.begin)) * inner;
    pen.fillStyle = colour("panel");
    pen.fillRect(MARGIN.left, 2, inner, 18);
    pen.fillStyle = colour("event-mark");
    for (const zone of zones()) {
      const begin = x(axis.at(zone.start));
      pen.fillRect(begin, 6, Math.max(1.5, x(axis.at(zone.stop - 1)) - begin), 10);
    }
    pen.strokeStyle = colour("accent");
    pen.lineWidth = 1.5;
    pen.strokeRect(x(this.from), 2.75, Math.max(3, x(this.to) - x(this.from)), 16.5);
  }

  // Show a stretch, kept within the series and wide enough for a few steps.
  show(from, to) {
    const { axis } = this.model, whole = axis.end - axis.begin, least = (whole / axis.steps) * 8;
    const width = Math.min(Math.max(to - from, Math.min(least, whole)), whole);
    const middle = (from + to) / 2;
    this.from = Math.min(Math.max(middle - width / 2, axis.begin), axis.end - width);
    this.to = this.from + width;
    this.model.moved?.(this.from, this.to);
    this.draw();
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.show(at - (at - this.from) * factor, at + (this.to - at) * factor);
  }

  pan(share) {
    const width = this.to - this.from, { axis } = this.model;
    const from = Math.min(Math.max(this.from + share * width, axis.begin), axis.end - width);
    this.show(from, from + width);
  }

  showSteps(first, stop) {
    const { axis } = this.model, from = axis.at(first), to = stop < axis.steps ? axis.at(stop) : axis.end;
    this.show(from, to);
  }

  position(event, canvas) {
    const box = canvas.getBoundingClientRect();
    return (event.clientX - box.left - MARGIN.left) / Math.max(1, box.width - MARGIN.left - MARGIN.right);
  }

  listen() {
    const { canvas, map, pointers } = this;
    const at = (share) => this.from + share * (this.to - this.from);
    canvas.addEventListener("wheel", (event) => {
      // A page scrolls as usual unless the timeline has been chosen or a key is held.
      if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return;
      event.preventDefault();
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan(event.deltaX / 800);
      else this.zoom(Math.exp(event.deltaY / 400), at(this.position(event, canvas)));
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      pointers.set(event.pointerId, event);
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (before && pointers.size === 1) this.pan((before.clientX - event.clientX) / Math.max(1, this.inner));
      else if (before && pointers.size === 2) {
        const other = [...pointers.entries()].find(([id]) => id !== event.pointerId)[1];
        const was = Math.abs(before.clientX - other.clientX), is = Math.abs(event.clientX - other.clientX);
        if (was > 5 && is > 5) this.zoom(was / is, at(this.position(event, canvas)));
      }
      if (before) pointers.set(event.pointerId, event);
      this.point(at(this.position(event, canvas)));
    });
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) {
      canvas.addEventListener(name, (event) => {
        pointers.delete(event.pointerId);
        if (name === "pointerleave") this.point(null);
      });
    }
    canvas.addEventListener("dblclick", (event) => this.zoom(0.4, at(this.position(event, canvas))));
    canvas.addEventListener("keydown", (event) => this.press(event));
    const jump = (event) => {
      const { axis } = this.model, width = this.to - this.from;
      const middle = axis.begin + this.position(event, map) * (axis.end - axis.begin);
      this.show(middle - width / 2, middle + width / 2);
    };
    map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); jump(event); });
    map.addEventListener("pointermove", (event) => event.buttons && jump(event));
  }

  press(event) {
    const actions = {
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2), "+": () => this.zoom(0.6),
      "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6), ArrowUp: () => this.zoom(0.6),
      ArrowDown: () => this.zoom(1 / 0.6), 0: () => this.show(this.model.axis.begin, this.model.axis.end),
    };
    if (event.ctrlKey || event.metaKey || event.altKey || !actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  point(position) {
    const { axis } = this.model;
    let step = null;
    if (position !== null && position >= this.from && position <= this.to) {
      step = Math.min(axis.stepAt(position), axis.steps - 1);
      if (step > 0 && axis.at(step) - position > position - axis.at(step - 1)) step--;
    }
    if (step === this.cursor) return;
    this.cursor = step;
    this.model.pointed?.(step);
    this.draw();
  }
}
