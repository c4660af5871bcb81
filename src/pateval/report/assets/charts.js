// Charts in SVG: means with intervals, places over halves, ranks and who is alike, precision-recall, agreement.

import { ticks } from "./clock.js";
import { figure, make, percent, seriesCount, shortNumber, svg } from "./elements.js";
import { board } from "./unpack.js";

const MOST_ROWS = 300; // of a matrix of detectors

function picture(width, height, label, ...children) {
  const attributes = { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": label };
  return svg("svg", attributes, ...children);
}

function text(x, y, content, attributes = {}) {
  return svg("text", { x, y, ...attributes }, content);
}

function shortened(name, most) {
  return name.length <= most ? name : `${name.slice(0, most - 1)}…`;
}

// One row per detector: mean, 95 % limits, and lines for what chance and a constant score reach.
export function meansChart(rows, lines, { width, label }) {
  const narrow = width < 560, left = narrow ? 8 : 190, right = 64, step = narrow ? 40 : 26, top = 36;
  const given = [...rows.flatMap((row) => [row.mean, row.low, row.high]), ...lines.map((line) => line.value)]
    .filter((value) => typeof value === "number");
  const least = Math.min(0, ...given), most = Math.max(least + 1e-9, ...given.map((value) => value));
  const pad = (most - least) * 0.03;
  const x = (value) => left + ((value - least + pad) / (most - least + 2 * pad)) * (width - left - right);
  const height = top + rows.length * step + 34, bottom = top + rows.length * step;
  const parts = [];
  for (const value of ticks(least, most, (width - left - right) / 80)) {
    parts.push(svg("line", { x1: x(value), x2: x(value), y1: top - 4, y2: bottom, class: "grid" }));
    parts.push(text(x(value), bottom + 16, shortNumber(value), { class: "tick middle" }));
  }
  // The order of means is not that of evidence: a row that is told apart may stand between two that are not.
  if (rows.filter((row) => row.tied).length > 1) {
    rows.forEach((row, place) => {
      if (row.tied) parts.push(svg("rect", { x: 0, y: top + place * step - 1, width, height: step, class: "tied" }));
    });
  }
  lines.filter((line) => typeof line.value === "number").forEach((line, place) => {
    const at = x(line.value), y = top - 24 + place * 13, isLeft = at > width - 120;
    parts.push(svg("line", { x1: at, x2: at, y1: y - 8, y2: bottom, class: `baseline ${line.kind}` }));
    parts.push(text(at + (isLeft ? -5 : 5), y, line.name, { class: `tick ${isLeft ? "end" : ""}` }));
  });
  rows.forEach((row, place) => {
    const y = top + place * step + (narrow ? 28 : 13), name = shortened(row.name, narrow ? 40 : 26);
    const heading = narrow ? text(left, y - 12, name, { class: "row" })
      : text(left - 12, y + 4, name, { class: "row end" });
    const group = svg("a", { href: row.href, class: "item" }, svg("title", {}, row.title), heading);
    if (typeof row.low === "number") {
      group.append(svg("line", { x1: x(row.low), x2: x(row.high), y1: y, y2: y, class: "interval" }));
    }
    if (typeof row.mean === "number") {
      group.append(svg("circle", { cx: x(row.mean), cy: y, r: 4.5, class: row.tied ? "dot first" : "dot" }));
    }
    group.append(text(width - 4, y + 4, figure(row.mean), { class: "value end" }));
    parts.push(group);
  });
  const chart = picture(width, height, label, parts);
  chart.setAttribute("role", "group"); // its rows are links
  return chart;
}

// For each detector the places it takes in nine of ten halves, and how often it is first.
export function placesChart(rows, { width, label, places }) {
  const narrow = width < 400, left = narrow ? 8 : Math.min(190, width * 0.36), right = 62;
  const step = narrow ? 38 : 24, top = 22;
  const x = (place) => left + 10 + ((place - 1) / Math.max(1, places - 1)) * (width - left - right - 20);
  const bottom = top + rows.length * step, parts = [];
  const marks = ticks(1, places, Math.min(places, (width - left - right) / 36))
    .filter((value) => Number.isInteger(value) && value >= 1);
  for (const place of new Set([1, ...marks])) {
    parts.push(svg("line", { x1: x(place), x2: x(place), y1: top - 4, y2: bottom, class: "grid" }));
    parts.push(text(x(place), top - 9, String(place), { class: "tick middle" }));
  }
  parts.push(text(width - 4, top - 9, "first", { class: "tick end" }));
  rows.forEach((row, place) => {
    const y = top + place * step + (narrow ? 26 : 12);
    parts.push(narrow ? text(left, y - 10, shortened(row.name, 40), { class: "row" })
      : text(left - 8, y + 4, shortened(row.name, Math.floor(left / 7)), { class: "row end" }));
    parts.push(svg("line", { x1: x(row.low) - 3, x2: x(row.high) + 3, y1: y, y2: y, class: "interval wide" }));
    parts.push(text(width - 4, y + 4, percent(row.first), { class: "value end" }));
  });
  return picture(width, bottom + 8, label, parts);
}

// Mean ranks on a line, bars over those that are not told apart.
export function rankChart(names, ranks, groups, { width, label }) {
  const narrow = width < 560, side = narrow ? 12 : 170, size = names.length, half = Math.ceil(size / 2);
  const x = (rank) => side + ((rank - 1) / Math.max(1, size - 1)) * (width - 2 * side);
  const place = new Map(names.map((name, index) => [name, index]));
  const shown = groups.filter((group) => group.length > 1);
  const line = 24, parts = [];
  for (let rank = 1; rank <= size; rank++) {
    parts.push(svg("line", { x1: x(rank), x2: x(rank), y1: line - 5, y2: line, class: "axis" }));
    parts.push(text(x(rank), line - 9, String(rank), { class: "tick middle" }));
  }
  parts.push(svg("line", { x1: x(1), x2: x(size), y1: line, y2: line, class: "axis" }));
  // A detector between two others may be told apart from them: those of a group have a mark.
  shown.forEach((group, index) => {
    const members = group.map((name) => x(ranks[place.get(name)])), y = line + 10 + index * 8;
    parts.push(svg("line", { x1: Math.min(...members), x2: Math.max(...members), y1: y, y2: y, class: "alike" }));
    members.forEach((at) => parts.push(svg("circle", { cx: at, cy: y, r: 3, class: "member" })));
  });
  const first = line + 26 + shown.length * 8;
  if (narrow) {
    names.forEach((name, index) => {
      const y = first + index * 20, at = x(ranks[index]), onLeft = at > width / 2;
      parts.push(svg("circle", { cx: at, cy: y - 4, r: 4, class: "dot" }));
      parts.push(text(at + (onLeft ? -9 : 9), y, `${shortened(name, 22)} ${figure(ranks[index], 1)}`,
        { class: `row ${onLeft ? "end" : ""}` }));
    });
    return picture(width, first + size * 20, label, parts);
  }
  names.forEach((name, index) => {
    const onLeft = index < half, y = first + (onLeft ? index : size - 1 - index) * 20;
    const edge = onLeft ? side - 8 : width - side + 8, at = x(ranks[index]);
    parts.push(svg("polyline", { points: `${at},${line} ${at},${y} ${edge},${y}`, class: "leader" }));
    parts.push(text(onLeft ? edge - 6 : edge + 6, y + 4, `${shortened(name, 20)}  ${figure(ranks[index], 2)}`,
      { class: `row ${onLeft ? "end" : ""}` }));
  });
  return picture(width, first + half * 20 + 6, label, parts);
}

// Of many detectors: every one against every other, best first; dark is a pair that is not told apart.
export function alikeChart(tests, metric) {
  const { detectors: names, mean_ranks: ranks, alpha } = tests, size = names.length, more = size - MOST_ROWS;
  const alikeOf = new Map(board.detectors.map((name, d) => [name, board.alike[metric][d]]));
  const drawn = (width) => {
    const isNarrow = width < 560, side = isNarrow ? 130 : 230, top = 18, step = 18, parts = [];
    const cell = (width - side - 4) / size, stride = 5 * Math.ceil(5 / cell); // numbers at least 25 pixels apart
    for (let place = 1; place <= size; place += place === 1 ? stride - 1 : stride) {
      parts.push(text(side + (place - 0.5) * cell, top - 5, String(place), { class: "tick middle" }));
    }
    names.slice(0, MOST_ROWS).forEach((name, row) => {
      const y = top + row * step, rank = isNarrow ? "" : ` ${figure(ranks[row], 2)}`;
      const called = `${shortened(name, isNarrow ? 14 : 22)}${rank}`;
      parts.push(text(side - 26, y + 13, called, { class: "tick end" }));
      parts.push(text(side - 5, y + 13, String(row + 1), { class: "tick end" }));
      parts.push(svg("rect", { x: side, y, width: size * cell, height: step - 1, class: "told-apart" }));
      for (const range of alikeOf.get(name).split(",")) {
        const [first, last = first] = range.split("-").map(Number);
        const others = last > first ? `places ${first} to ${last}` : `place ${last}`;
        parts.push(svg("rect", { x: side + (first - 1) * cell, y, width: (last - first + 1) * cell, height: step - 1,
          class: "not-told-apart" }, svg("title", {}, `${name} is not told apart from ${others}`)));
      }
    });
    const label = `Detectors by mean rank under ${metric}, and who is not told apart`;
    return picture(width, top + Math.min(size, MOST_ROWS) * step + 4, label, parts);
  };
  return make("div", {},
    make("p", { class: "note" },
      `A row for each detector: its mean rank over ${seriesCount(tests.series_used)}, its place, and dark `,
      `the places of those it is not told apart from (Wilcoxon signed-rank, Holm, ${100 * alpha} %`,
      board.control ? `; all are compared with ${board.control} alone).` : ")."),
    fitted(drawn), more > 0 ? make("p", { class: "note" }, `The table has the ${more} others.`) : null);
}

// The precision-recall curve with a point that can be moved.
export class CurveChart {
  constructor(onpick) {
    this.size = 320;
    this.path = svg("polyline", { class: "curve", points: "" });
    this.point = svg("circle", { r: 6, class: "point" });
    this.cross = svg("path", { class: "cross" });
    const { size } = this, parts = [];
    for (const share of [0, 0.25, 0.5, 0.75, 1]) {
      parts.push(svg("line", { x1: this.x(share), x2: this.x(share), y1: this.y(0), y2: this.y(1), class: "grid" }));
      parts.push(svg("line", { x1: this.x(0), x2: this.x(1), y1: this.y(share), y2: this.y(share), class: "grid" }));
      if (share % 0.5 === 0) {
        parts.push(text(this.x(share), this.y(0) + 15, String(share), { class: "tick middle" }));
        parts.push(text(this.x(0) - 6, this.y(share) + 4, String(share), { class: "tick end" }));
      }
    }
    parts.push(text(this.x(0.5), size - 2, "recall", { class: "tick middle" }));
    parts.push(text(10, this.y(0.5), "precision",
      { class: "tick middle", transform: `rotate(-90 10 ${this.y(0.5)})` }));
    this.element = picture(size, size, "Precision-recall curve", parts, this.cross, this.path, this.point);
    this.element.classList.add("square");
    this.element.addEventListener("click", (event) => {
      const box = this.element.getBoundingClientRect();
      const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      if (this.points.length) onpick(this.nearest(x * size, y * size));
    });
  }

  x(share) { return 42 + share * (this.size - 54); }
  y(share) { return this.size - 38 - share * (this.size - 50); }

  nearest(x, y) {
    const far = (point) => (this.x(point.recall) - x) ** 2 + (this.y(point.precision) - y) ** 2;
    return this.points.reduce((best, point) => (far(point) < far(best) ? point : best)).level;
  }

  draw(points) {
    this.points = points;
    const place = ({ recall, precision }) => `${this.x(recall).toFixed(1)},${this.y(precision).toFixed(1)}`;
    this.path.setAttribute("points", points.map(place).join(" "));
  }

  move(found) {
    const x = this.x(found.recall), y = this.y(found.precision);
    this.point.setAttribute("cx", x);
    this.point.setAttribute("cy", y);
    this.point.dataset.recall = found.recall;
    this.point.dataset.precision = found.precision;
    this.cross.setAttribute("d", `M${x} ${this.y(0)}V${y}H${this.x(0)}`);
    this.element.setAttribute("aria-label", "Precision-recall curve; at the threshold "
      + `precision ${figure(found.precision)}, recall ${figure(found.recall)}`);
  }
}

// A square of cells, one for every two metrics; cividis-like from pale to dark.
export function agreementChart(ids, matrix, { width, label }) {
  const most = width < 560 ? 13 : 24, longest = Math.max(...ids.map((id) => shortened(id, most).length));
  const names = 14 + 6.5 * longest, top = names * 0.86, parts = [];
  const cell = Math.max(3, Math.min(46, (width - names - 8) / ids.length)), size = cell - (cell > 6 ? 1 : 0);
  const middle = (place) => (place + 0.5) * cell;
  ids.forEach((id, row) => {
    if (cell >= 9) {
      const x = names + middle(row), turned = { class: "tick", transform: `rotate(-55 ${x} ${top - 6})` };
      parts.push(text(names - 6, top + middle(row) + 4, shortened(id, most), { class: "tick end" }));
      parts.push(text(x, top - 6, shortened(id, most), turned));
    }
    ids.forEach((other, column) => {
      const tau = matrix[row][column], shade = tau === null ? null : Math.round(((tau + 1) / 2) * 10);
      parts.push(svg("rect", {
        x: names + column * cell, y: top + row * cell, width: size, height: size,
        class: shade === null ? "shade none" : `shade s${shade}`,
      }, svg("title", {}, `${id} and ${other}: ${tau === null ? "not comparable" : figure(tau, 2)}`)));
      if (cell >= 24 && tau !== null) {
        parts.push(text(names + middle(column), top + middle(row) + 4, figure(tau, 2).replace("0.", "."),
          { class: `tick middle on-s${shade}` }));
      }
    });
  });
  return picture(width, top + cell * ids.length + 8, label, parts);
}

// A chart that is drawn anew when its place becomes wider or narrower.
export function fitted(draw) {
  const box = make("div", { class: "fitted" });
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.round(box.clientWidth);
    if (width && Math.abs(width - last) > 4) {
      last = width;
      box.replaceChildren(draw(width));
    }
  }).observe(box);
  return box;
}
