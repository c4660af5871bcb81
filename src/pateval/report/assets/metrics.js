// The metrics themselves: do they agree, whose choice changes the winner, and how can each be gamed on these labels.

import { go } from "./address.js";
import { agreementChart, alikeChart, fitted, rankChart } from "./charts.js";
import { chosenMetric, count, explained, figure, later, link, loadMetric, make, metricChooser, metricOf, metricText,
  numberCell, probability, seriesCount, table } from "./elements.js";
import { downloads } from "./text_files.js";
import { board } from "./unpack.js";

export function metricsView(state) {
  const metric = chosenMetric(state), winner = board.verdicts[metric].leader;
  const leaders = board.metrics.map((each) => board.verdicts[each.id].leader);
  const changed = leaders.filter((leader) => leader && leader !== winner);
  const all = count(board.metrics.length, "metric");
  return [
    make("h1", { tabindex: "-1" }, `${changed.length} of ${all} would name another winner than ${metric}`),
    make("div", { class: "controls" }, metricChooser(metric, (id) => go({ metric: id }), "Compare with")),
    make("section", { class: "card" }, make("h2", {}, `Ranks under ${metric}`),
      later(loadMetric(metric), (block) => ranksDrawn(block.tests, metric))),
    agreementSection(metric, state),
    metricTable(metric, winner),
    auditSection(),
  ];
}

function ranksDrawn(tests, metric) {
  const { detectors, mean_ranks: ranks, friedman_p: p } = tests;
  if (detectors.length < 2) return make("p", {}, "There are not two detectors to rank.");
  const friedman = p === null || p === undefined ? "" : `Friedman test (Iman-Davenport): p = ${probability(p)}.`;
  if (!board.groups[metric]) return make("div", {}, alikeChart(tests, metric), make("p", { class: "note" }, friedman));
  const said = detectors.map((name, i) => `${name} ${figure(ranks[i], 2)}`).join(", ");
  const label = `Mean ranks under ${metric}: ${said}`;
  return make("div", {},
    fitted((width) => rankChart(detectors, ranks, board.groups[metric], { width, label })),
    make("p", { class: "note" }, `Mean ranks over ${seriesCount(tests.series_used)}; 1 is best. `,
      `${board.control ? `A bar joins ${board.control} and those not told apart from it`
        : "Bars join the detectors marked on them, which are not told apart"} (Wilcoxon-Holm, 5 %). `, friedman));
}

function agreementSection(metric, state) {
  const all = state.agreement === "all", every = board.metrics.map((each) => each.id);
  const chosen = all ? every : [...new Set([metric, ...board.headline])];
  const places = chosen.map((id) => metricOf.get(id).place);
  const matrix = places.map((i) => places.map((j) => board.agreement[i][j]));
  const other = link(all ? "Only the usual metrics" : `All ${every.length} metrics`,
    { view: "metrics", agreement: all ? null : "all" });
  return make("section", { class: "card" }, make("h2", {}, "Do they agree?"),
    make("p", { class: "note" }, "Kendall's tau between the orders of the detectors: 1 the same order, 0 unrelated, ",
      "−1 reversed. The table below says it in numbers."),
    every.length > chosen.length || all ? make("p", {}, other) : null,
    fitted((width) => agreementChart(chosen, matrix, { width, label: "Agreement between metrics" })));
}

function metricTable(metric, winner) {
  const place = metricOf.get(metric).place;
  const rows = board.metrics.map(({ id }, m) => ({
    id, tau: board.agreement[place][m], leader: board.verdicts[id].leader,
    chance: board.chance[id], constant: board.constant?.[id] ?? null,
    beaten: board.audit?.rows[id]?.beaten_by ?? null, fooled: board.audit?.rows[id]?.fooled ?? false,
  })).sort((a, b) => (b.tau ?? -2) - (a.tau ?? -2));
  const saved = () => ({
    name: "metrics", columns: ["metric", `tau with ${metric}`, "winner", "chance", "constant", "real is beaten by"],
    rows: rows.map((row) => [row.id, row.tau, row.leader, row.chance, row.constant, row.beaten?.join(" ") ?? null]),
  });
  const beaten = ({ beaten: names, fooled }) => {
    if (names === null) return "not tried";
    if (!names.length) return "none";
    return [fooled ? make("span", { class: "mark warn" }, "fooled: ") : null, names.join(", ")];
  };
  const line = (row) => make("tr", { class: row.id === metric ? "chosen" : null },
    make("th", { scope: "row" },
      explained(link(row.id, { view: "overview", metric: row.id }), () => metricText(row.id))),
    numberCell(figure(row.tau, 2)),
    make("td", {}, row.leader ?? "–",
      row.leader && row.leader !== winner ? make("span", { class: "mark" }, " another") : null),
    numberCell(figure(row.chance)), numberCell(figure(row.constant)), make("td", {}, beaten(row)));
  const columns = ["Metric", ["Agreement", "number"], "Winner", ["Chance", "number"], ["Constant", "number"],
    "A real detector is beaten by"];
  return make("section", {}, make("h2", {}, "Whose choice changes the winner"),
    table("Metrics table", columns, rows.map(line)), downloads(saved));
}

function auditSection() {
  const heading = make("h2", {}, "How each can be gamed here");
  if (!board.audit) {
    return make("section", {}, heading,
      make("p", {}, "The metrics could not be put on trial: no labels with events are at hand."));
  }
  const { sentence, series, fakes } = board.audit, some = `${seriesCount(series.length)} of ${board.series.length}`;
  return make("section", {}, heading,
    make("p", {}, `${sentence}, on ${series.length === board.series.length ? "all series" : `${some}, the shortest`}. `,
      "A metric is fooled where a detector that finds nothing but by luck beats one that is noisy but real."),
    make("details", {}, make("summary", {}, "The detectors of the trial"), make("dl", { class: "plain-list" },
      Object.entries(fakes).map(([name, what]) => [make("dt", {}, name), make("dd", {}, what)]))));
}
