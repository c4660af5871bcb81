// The series: a table of all of them, and the page around one detector on one series.

import { go, keep, readAddress } from "./address.js";
import { Drilldown } from "./drilldown.js";
import { chooser, chosenMetric, figure, later, link, loadMetric, make, metricChooser, metricOf, numberCell, paged,
  searchField, table } from "./elements.js";
import { valueChips, valuesHere } from "./series_values.js";
import { board, loadBlock } from "./unpack.js";

const MOST_REASONS = 50; // why series cannot be opened

export function seriesView(state) {
  return board.series.includes(state.series) ? oneSeriesView(state) : seriesListView(state);
}

function seriesListView(state) {
  const metric = chosenMetric(state);
  let words = state.filter ?? "", draw = () => {};
  const holder = later(loadMetric(metric), (block) => {
    const box = make("div");
    draw = () => box.replaceChildren(seriesTable(block, metric, words, state.detector));
    draw();
    return box;
  });
  return [
    make("h1", { tabindex: "-1" }, "Series"),
    make("p", { class: "note" }, `Every ${metric} by detector and series; open one to see what is behind it.`),
    make("div", { class: "controls" },
      searchField("Filter series", words, (value) => { words = value; keep({ filter: value }); draw(); }),
      metricChooser(metric, (id) => go({ metric: id }))),
    holder,
    leftOutNote(),
  ];
}

function leftOutNote() {
  const { left_out: left, missing } = board, parts = [];
  if (left.length) {
    parts.push(make("h2", {}, "Not in this file"),
      make("p", {}, `To keep within ${board.budget} MB the timelines of these series, on which the detectors differ `,
        "least, were left out. A folder has no limit: ", make("code", {}, "pateval report … -o DIR/"), "."),
      make("p", { class: "small" }, left.join(", ")));
  }
  if (missing.length) {
    parts.push(make("h2", {}, "Gone or changed"),
      make("p", {}, "The labels and scores of these series could not be read again, so only their numbers are here."),
      make("ul", { class: "small" },
        missing.slice(0, MOST_REASONS).map(([name, why]) => make("li", {}, `${name}: ${why}`))),
      missing.length > MOST_REASONS ? make("p", {}, `… and ${missing.length - MOST_REASONS} more`) : null);
  }
  return parts.length ? make("section", {}, parts) : null;
}

function seriesTable(block, metric, words, chosen) {
  const order = board.order[metric], isHigh = metricOf.get(metric).higher;
  const preferred = board.detectors.includes(chosen) ? chosen : board.detectors[order[0]];
  const isAsked = (name) => name.toLowerCase().includes(words.toLowerCase());
  const places = board.series.map((_, s) => s).filter((s) => isAsked(board.series[s]));
  const columns = ["Series", ...order.map((d) => [board.detectors[d], "number slim"])];
  const line = (s) => {
    const series = board.series[s];
    const given = order.map((d) => block.values[d][s]).filter((value) => value !== null);
    const best = given.length ? (isHigh ? Math.max(...given) : Math.min(...given)) : null;
    const cell = (d) => {
      const value = block.values[d][s], detector = board.detectors[d];
      const label = `${detector} on ${series}: ${figure(value)}`;
      return numberCell(link(figure(value), { view: "series", detector, series }, { "aria-label": label }),
        value !== null && value === best ? "best" : "");
    };
    return make("tr", {}, make("th", { scope: "row" }, link(series, { view: "series", series, detector: preferred })),
      order.map(cell));
  };
  return paged(places.length, 60,
    (from, to) => table("Values by series", columns, places.slice(from, to).map(line), "board matrix"));
}

function oneSeriesView(state) {
  const { series } = state, place = board.series.indexOf(series), size = board.series.length;
  const detector = board.detectors.includes(state.detector) ? state.detector : board.detectors[0];
  const runs = make("span");
  const there = (changes) => ({
    view: "series", series, detector, early: state.early, delay: state.delay, metric: state.metric, ...changes,
  });
  const neighbour = (text, step) =>
    link(text, there({ series: board.series[(place + step + size) % size] }), { class: "button" });
  const block = board.drilldowns.includes(place) ? loadBlock(`series-${place}`) : Promise.resolve(null);
  const holder = later(block, (found) => drilldownParts(found, state, detector, place, runs));
  holder.id = "drilldown";
  return [
    make("p", { class: "crumbs" }, link("All series", { view: "series" })),
    make("h1", { tabindex: "-1" }, detector, make("span", { class: "light" }, " on "), series),
    make("div", { class: "controls" },
      chooser("Detector", board.detectors, detector, (name) => go(there({ detector: name }), {})),
      chooser("Series", board.series, series, (name) => go(there({ series: name }), {})), runs,
      size > 1 ? [neighbour("Previous series", -1), neighbour("Next series", 1)] : null),
    valueChips(detector, place),
    holder,
  ];
}

async function drilldownParts(block, state, detector, place, runs) {
  const entries = block?.detectors[detector] ?? [];
  const entry = entries.find((each) => each.run === state.run) ?? entries[0];
  if (entries.length > 1) {
    const choose = (run) => go({ ...readAddress(), run, level: null });
    runs.replaceChildren(chooser("Run", entries.map((each) => each.run), entry.run, choose));
  }
  if (!entry || entry.missing) {
    return [make("p", { class: "notice" }, missingText(state.series, entry)), valuesHere(detector, place)];
  }
  const drilldown = await Drilldown.unpack(block, entry, detector);
  return [...drilldown.elements(state), valuesHere(detector, place)];
}

function missingText(name, entry) {
  if (board.left_out.includes(name)) {
    return `The timeline of this series was left out to keep the file within ${board.budget} MB.`;
  }
  const why = entry?.missing ?? new Map(board.missing).get(name);
  return `There is no timeline: ${why ?? "its input was not at hand when this page was made"}.`;
}
