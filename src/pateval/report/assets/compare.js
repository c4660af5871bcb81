// Two detectors side by side: who wins on which series, and by how much.

import { go } from "./address.js";
import { chooser, chosenMetric, figure, later, link, loadMetric, make, metricChooser, metricOf, numberCell, paged,
  probability, seriesCount, svg, table } from "./elements.js";
import { downloads } from "./text_files.js";
import { board } from "./unpack.js";

export function compareView(state) {
  const metric = chosenMetric(state), order = board.order[metric];
  const pick = (name, otherwise) => (board.detectors.includes(name) ? name : board.detectors[otherwise]);
  const a = pick(state.a, order[0]), b = pick(state.b, order[1] ?? order[0]);
  const choose = (label, value, name) => chooser(label, board.detectors, value, (chosen) => go({ [name]: chosen }));
  return [
    make("h1", { tabindex: "-1" }, "Compare two detectors"),
    make("div", { class: "controls" }, choose("First", a, "a"), choose("Second", b, "b"),
      metricChooser(metric, (id) => go({ metric: id })),
      make("button", { type: "button", onclick: () => go({ a: b, b: a }) }, "Swap")),
    later(loadMetric(metric), (block) => compared(block, a, b, metric)),
  ];
}

function compared(block, a, b, metric) {
  const [one, other] = [a, b].map((name) => block.values[board.detectors.indexOf(name)]);
  const sign = metricOf.get(metric).higher ? 1 : -1;
  const rows = board.series.map((name, s) => ({
    name, a: one[s], b: other[s], gain: one[s] === null || other[s] === null ? null : sign * (one[s] - other[s]),
  }));
  const both = rows.filter((row) => row.gain !== null).sort((x, y) => y.gain - x.gain);
  const alone = rows.filter((row) => row.gain === null);
  const saved = () => ({
    name: "comparison", columns: ["series", a, b, "gain of the first"],
    rows: [...both, ...alone].map((row) => [row.name, row.a, row.b, row.gain]),
  });
  return [
    comparisonCard(both.map((row) => row.gain), block.tests, a, b, metric),
    make("h2", {}, "By series, largest gain first"),
    gainTable(both, a, b),
    alone.length ? make("p", { class: "note" }, `${seriesCount(alone.length)} without a value of both are left out.`)
      : null,
    downloads(saved),
  ].filter(Boolean);
}

function comparisonCard(gains, tests, a, b, metric) {
  const wins = gains.filter((gain) => gain > 0).length, losses = gains.filter((gain) => gain < 0).length;
  const ties = gains.length - wins - losses, all = seriesCount(gains.length);
  const mean = gains.length ? gains.reduce((sum, gain) => sum + gain, 0) / gains.length : null;
  const better = metricOf.get(metric).higher ? "higher" : "lower";
  return make("section", { class: "card verdict" },
    make("p", { class: "big" }, a === b ? "The same detector twice."
      : `${a} wins on ${wins}, ties on ${ties} and loses on ${losses} of ${all}.`),
    tally(wins, ties, losses),
    make("p", {}, mean === null ? "They have no series in common."
      : `Mean gain of the first: ${figure(mean)} under ${metric} (${better} is better). `, testText(tests, a, b)));
}

function testText(tests, a, b) {
  const [i, j] = [tests.detectors.indexOf(a), tests.detectors.indexOf(b)];
  if (i < 0 || j < 0 || i === j) return "";
  if (!tests.p_raw.length) return "There are too many detectors to test every two of them.";
  const [raw, holm] = [tests.p_raw[i][j], tests.p_holm[i][j]];
  if (holm === null && board.control) {
    return `Wilcoxon signed-rank p = ${probability(raw)}, not corrected: all are compared with ${board.control} alone.`;
  }
  const isEvidence = holm !== null && holm < tests.alpha;
  const family = board.control ? `comparisons with ${board.control}` : "pairs";
  return `Wilcoxon signed-rank p = ${probability(raw)}, corrected for all ${family} ${probability(holm)}: `
    + `${isEvidence ? "evidence" : "no evidence"} of a difference. `
    + `Rank-biserial effect ${figure(tests.rank_biserial[i][j], 2)}.`;
}

function gainTable(both, a, b) {
  const widest = Math.max(1e-12, ...both.map((row) => Math.abs(row.gain)));
  const columns = ["Series", [a, "number"], [b, "number"], ["Gain", "number"],
    make("span", { class: "unseen" }, "Gain as a bar")];
  const line = (row) => make("tr", {},
    make("th", { scope: "row" }, link(row.name, { view: "series", detector: a, series: row.name })),
    numberCell(figure(row.a)), numberCell(figure(row.b)),
    numberCell(row.gain > 0 ? `+${figure(row.gain)}` : figure(row.gain)),
    make("td", { class: "bar" }, gainBar(row.gain / widest)));
  return paged(both.length, 100,
    (from, to) => table("Differences by series", columns, both.slice(from, to).map(line), "differences"));
}

function tally(wins, ties, losses) {
  const total = Math.max(1, wins + ties + losses), parts = [];
  let x = 0;
  for (const [kind, number] of [["win", wins], ["tie", ties], ["loss", losses]]) {
    const width = (number / total) * 100;
    if (number) parts.push(svg("rect", { x, y: 0, width, height: 8, class: kind }));
    x += width;
  }
  const label = `${wins} wins, ${ties} ties, ${losses} losses`;
  return svg("svg",
    { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "tally", role: "img", "aria-label": label }, parts);
}

function gainBar(share) {
  const width = Math.abs(share) * 48, kind = share < 0 ? "loss" : "win";
  return svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "gain", "aria-hidden": "true" },
    svg("rect", { x: share < 0 ? 50 - width : 50, y: 1, width, height: 8, class: kind }),
    svg("line", { x1: 50, x2: 50, y1: 0, y2: 10, class: "axis" }));
}
