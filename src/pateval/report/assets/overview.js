// The first screen: who wins, by how much, is it evidence, and what stands against it.

import { addressOf, go } from "./address.js";
import { alikeChart, fitted, meansChart, placesChart } from "./charts.js";
import { chosenMetric, count, explained, figure, later, loadMetric, make, metricChooser, metricOf, metricText, percent,
  numberCell, seriesCount, table } from "./elements.js";
import { board } from "./unpack.js";

const MOST_SENTENCES = 8; // of one check

export function overviewView(state) {
  const metric = chosenMetric(state), order = board.order[metric], { claim, evidence, power } = board.verdicts[metric];
  return [
    make("section", { class: "lead" },
      make("h1", { tabindex: "-1" }, claim),
      make("p", { class: "evidence" }, evidence),
      power ? make("p", { class: "note" }, power) : null,
      checksLine(),
      make("div", { class: "controls" }, metricChooser(metric, (id) => go({ metric: id })),
        explained(make("button", { type: "button", class: "plain help" }, `What is ${metric}?`),
          () => metricText(metric)))),
    make("div", { class: "columns" },
      make("div", { class: "stack" }, meansCard(metric, order), board.pooled ? null : groupsCard(metric)),
      make("section", { class: "card" }, make("h2", {}, "How steady is this order?"),
        steadyPart(metric, order), doubtPart(metric, order))),
    board.verdicts[metric].rules ? rulesSection(metric, order, board.verdicts[metric].rules) : null,
    board.kinds ? kindsSection(board.kinds) : null,
    checksSection(),
  ].filter(Boolean);
}

// What needs no training, and who beats the best of it.
function rulesSection(metric, order, { best, beaten_by, means }) {
  const row = (name, mean, word) => make("tr", {}, make("th", { scope: "row" }, name), numberCell(figure(mean)),
    make("td", {}, word));
  const rules = Object.entries(means).sort(([, first], [, second]) => (second - first)
    * (metricOf.get(metric).higher ? 1 : -1));
  return make("section", { class: "card" }, make("h2", {}, "Beside what needs no training"),
    make("p", { class: "note" }, "A rule is in no rank and no test among detectors. "
      + `yes: better than ${best}, and the test agrees; mean: only its mean is better.`),
    table("Beside what needs no training", ["", metric, `beats ${best}`], [
      ...order.map((d) => row(board.detectors[d], board.summary[metric].mean[d], beaten_by[board.detectors[d]] ?? "")),
      ...rules.map(([name, mean]) => row(`${name} (rule)`, mean, ""))]));
}

// What the detectors get on each kind of event, where that was asked for.
function kindsSection({ metric, by, rows }) {
  const kinds = [...new Map(rows.map((row) => [row.kind, row])).values()];
  const cells = new Map(rows.map((row) => [`${row.detector}\n${row.kind}`, row]));
  const shown = (value, draw) => (value === null || value === undefined ? "-" : draw(value));
  const lines = [...new Set(rows.map((row) => row.detector))].map((name) => make("tr", {},
    make("th", { scope: "row" }, name),
    kinds.map(({ kind }) => {
      const cell = cells.get(`${name}\n${kind}`);
      return [numberCell(shown(cell?.value, figure)), numberCell(shown(cell?.recall, percent))];
    })));
  return make("section", { class: "card" }, make("h2", {}, `By ${by} of events`),
    make("p", { class: "note" }, `${metric}, and recall (share of events found), as if there were no other events. `,
      kinds.map((row) => `${row.kind}: ${count(row.events, "event")} on ${seriesCount(row.series)}`).join("; ")),
    table("By kind of event", ["detector", ...kinds.flatMap(({ kind }) => [kind, "recall"])], lines));
}

function meansCard(metric, order) {
  const summary = board.summary[metric], { against, tied } = board.verdicts[metric];
  // Where nobody is told apart from the first, or the control, there is nothing to point out.
  const isSplit = tied.length < board.detectors.length - 1, together = new Set(isSplit ? [against, ...tied] : []);
  const rows = order.map((d) => {
    const name = board.detectors[d], [mean, low, high] = [summary.mean[d], summary.low[d], summary.high[d]];
    const other = name === against ? tied[0] ?? board.detectors[order[1]] : name;
    return {
      name, mean, low, high, tied: together.has(name),
      href: addressOf({ view: "compare", a: against, b: other, metric }),
      title: `${name}: mean ${figure(mean)}, 95 % from ${figure(low)} to ${figure(high)}, `
        + `rank ${figure(summary.mean_rank[d], 2)}`,
    };
  });
  const lines = [
    { name: "chance", kind: "chance", value: board.chance[metric] },
    { name: "a constant", kind: "constant", value: board.constant?.[metric] ?? null },
  ];
  const label = `Mean ${metric} of each detector with 95 % limits, beside chance and a constant score`;
  return make("section", { class: "card" }, make("h2", {}, "Means and their intervals"),
    make("p", { class: "note" }, intervalNote(),
      isSplit && tied.length ? ` The shaded detectors are not told apart from ${board.control || "the first"}.` : ""),
    fitted((width) => meansChart(rows, lines, { width, label })),
    make("p", { class: "note" }, baselineNote(lines)));
}

function intervalNote() {
  if (board.pooled) return `All steps of ${seriesCount(board.pooled)} are one sample.`;
  return board.series.length > 1 ? "Mean over series; the bar is its 95 % bootstrap interval over series."
    : "One series; the bar is the 95 % bootstrap interval over its events, where there is one.";
}

function baselineNote(lines) {
  const [chance, constant] = lines.map((line) => line.value), parts = [];
  if (chance !== null) parts.push(`random scores reach ${figure(chance)}`);
  if (constant !== null) parts.push(`a constant score ${figure(constant)}`);
  if (!parts.length) return "What chance reaches was not computed.";
  return `On the same series ${parts.join(", ")}: what lies near these lines is worth nothing.`;
}

// Bars for the places that detectors take: those of them that have one.
function placesBars(found, order, label) {
  const rows = order.filter((d) => found.low[d] !== null)
    .map((d) => ({ name: board.detectors[d], first: found.first[d], low: found.low[d], high: found.high[d] }));
  return fitted((width) => placesChart(rows, { width, places: board.detectors.length, label }));
}

function steadyPart(metric, order) {
  const steady = board.stability[metric];
  if (!steady) return make("p", { class: "note" }, "There are too few series to halve: at least four are needed.");
  const leader = board.detectors.indexOf(board.verdicts[metric].leader);
  return [
    make("p", { class: "note" }, `Of ${steady.halves} random halves of the ${steady.series} series, `,
      make("strong", {}, board.detectors[leader]), ` is first in ${percent(steady.first[leader])}. `,
      "The bars are the places of nine halves in ten."),
    placesBars(steady, order, "Places of the detectors over random halves of the series"),
  ];
}

// What other labels would have said: every edge of every event moved at random.
function doubtPart(metric, order) {
  const doubt = board.doubt[metric], known = Object.keys(board.doubt);
  if (!doubt && known.length) {
    const text = `How the order bears doubt about the labels was computed for ${known.join(", ")}.`;
    return make("p", { class: "note" }, text);
  }
  if (!doubt) {
    return make("p", { class: "note" }, "How the order bears doubt about where events begin and end was not computed (",
      make("code", {}, "leaderboard --doubt STEPS"), ").");
  }
  const leader = board.detectors.indexOf(board.verdicts[metric].leader);
  return [
    make("h3", {}, "Under label doubt"),
    make("p", { class: "note" },
      `With every edge of every event moved at random by up to ${doubt.amount}, ${doubt.draws} times, `,
      make("strong", {}, board.detectors[leader]), ` is first in ${percent(doubt.first[leader])} and keeps its place `,
      `in ${percent(doubt.kept[leader])}. The bars are all places met.`),
    placesBars(doubt, order, "Places of the detectors under moved edges of events"),
  ];
}

function groupsCard(metric) {
  if (!board.groups[metric]) {
    return make("section", { class: "card" }, make("h2", {}, "Who is not told apart"),
      later(loadMetric(metric), (block) => alikeChart(block.tests, metric)));
  }
  const groups = board.groups[metric].filter((group) => group.length > 1);
  const chips = (group) => group.map((name) => make("span", { class: "chip" }, name));
  return make("section", { class: "card" }, make("h2", {}, "Who is not told apart"),
    make("p", { class: "note" },
      board.control ? `${board.control} and those not told apart from it; all are compared with ${board.control} alone `
        : "Within a line no two detectors differ significantly ",
      "(Wilcoxon signed-rank, Holm, 5 %)."),
    groups.length ? make("ol", { class: "groups" }, groups.map((group) => make("li", {}, chips(group))))
      : make("p", {}, board.control ? `All are told apart from ${board.control}.` : "All detectors are told apart."));
}

// Checks of one kind stand together: a code, its sentences, what to do.
function checkGroups() {
  const groups = new Map();
  for (const check of board.checks) {
    const key = `${check.code}|${check.remedy}`;
    groups.set(key, { ...check, sentences: [...(groups.get(key)?.sentences ?? []), check.sentence] });
  }
  return [...groups.values()];
}

function checksLine() {
  const groups = checkGroups();
  if (!groups.length) return make("p", { class: "note" }, "No check fired.");
  const show = (event) => {
    event.preventDefault();
    document.getElementById("checks").scrollIntoView({ behavior: "smooth" });
    document.getElementById("checks").focus({ preventScroll: true });
  };
  const codes = groups.map(({ code, sentences }, k) =>
    [k ? ", " : "", make("code", {}, code), sentences.length > 1 ? ` × ${sentences.length}` : ""]);
  return make("p", { class: "note" },
    make("a", { href: "#checks", onclick: show }, `${count(board.checks.length, "check")} fired`), ": ", codes, ".");
}

function checksSection() {
  const item = ({ code, sentences, remedy }) => make("li", {}, make("code", {}, code),
    sentences.slice(0, MOST_SENTENCES).map((sentence) => make("p", {}, sentence)),
    sentences.length > MOST_SENTENCES ? make("p", {}, `… and ${sentences.length - MOST_SENTENCES} more like these.`)
      : null,
    remedy ? make("p", { class: "remedy" }, remedy) : null);
  return make("section", { class: "checks", id: "checks", tabindex: "-1" }, make("h2", {}, "Checks that fired"),
    board.checks.length ? make("ul", {}, checkGroups().map(item)) : make("p", {}, "None."));
}
