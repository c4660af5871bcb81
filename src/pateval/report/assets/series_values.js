// The values of one detector on one series: the usual ones in short, and every one on demand.

import { explained, figure, loadMetric, make, metricOf, metricText, numberCell, table } from "./elements.js";
import { board } from "./unpack.js";

const MOST_CHIPS = 6;

// The usual metrics of this detector on this series, and its place among all.
export function valueChips(detector, s) {
  const list = make("ul", { class: "chips" }), d = board.detectors.indexOf(detector);
  const chip = async (id) => {
    const { values } = await loadMetric(id), value = values[d][s], sign = metricOf.get(id).higher ? 1 : -1;
    if (value === null) return make("li", {}, `${id} `, make("b", {}, figure(value)));
    const better = values.filter((row) => row[s] !== null && sign * (row[s] - value) > 0).length;
    return make("li", {}, `${id} `, make("b", {}, figure(value)), make("span", { class: "quiet" }, ` #${better + 1}`));
  };
  Promise.all(board.headline.slice(0, MOST_CHIPS).map(chip))
    .then((items) => list.replaceChildren(...items)).catch(() => list.remove());
  return list;
}

// Every metric of this detector on this series, looked up when it is opened.
export function valuesHere(detector, s) {
  const d = board.detectors.indexOf(detector), name = "Every metric on this series";
  const holder = make("div"), details = make("details", { class: "card" }, make("summary", {}, name), holder);
  const line = async ({ id }) => {
    const { values, reasons } = await loadMetric(id);
    const isHere = ([, cells]) => cells.some(([i, j]) => i === d && j === s);
    return make("tr", {},
      make("th", { scope: "row" }, explained(make("span", { tabindex: "0" }, id), () => metricText(id))),
      numberCell(figure(values[d][s], 4)),
      make("td", { class: "small" }, Object.entries(reasons).find(isHere)?.[0] ?? ""));
  };
  details.addEventListener("toggle", async () => {
    if (!details.open || holder.children.length) return;
    const rows = await Promise.all(board.metrics.map(line));
    holder.replaceChildren(table(name, ["Metric", ["Value", "number"], "Why there is none"], rows));
  });
  return details;
}
