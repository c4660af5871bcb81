// The table: a row per detector, a column per metric; sorted, filtered, and saved as it is shown.

import { keep, readAddress } from "./address.js";
import { chooser, explained, figure, link, make, metricOf, metricText, numberCell, scrolling, searchField }
  from "./elements.js";
import { downloads } from "./text_files.js";
import { board } from "./unpack.js";

const STATISTICS = new Map([
  ["mean", "Mean"], ["median", "Median"], ["mean_rank", "Mean rank"], ["skill", "Skill over chance"],
  ["n", "Series with a value"],
]);

function shownStatistic(state) {
  return STATISTICS.has(state.statistic) ? state.statistic : "mean";
}

function shownMetrics(state) {
  const asked = state.columns?.split("|").filter((id) => metricOf.has(id));
  return asked?.length ? asked : board.headline;
}

// Whether the best of a column is its highest value.
function isHighBest(id, statistic) {
  return statistic !== "mean_rank" && (statistic === "skill" || metricOf.get(id).higher);
}

function tableRows(state) {
  const statistic = shownStatistic(state), shown = shownMetrics(state);
  const words = (state.filter ?? "").toLowerCase(), { rank_by: first, summary, not_above_chance: low } = board;
  const rows = board.detectors.map((name, d) => ({
    name, d, rank: summary[first].mean_rank[d], alike: board.alike[first][d],
    cells: shown.map((id) => summary[id][statistic][d]),
    isLow: shown.map((id) => statistic === "mean" && low[id].includes(d)),
  })).filter((row) => row.name.toLowerCase().includes(words));
  const sort = state.sort ?? "rank", place = shown.indexOf(sort);
  const key = (row) => (sort === "detector" ? row.name : place < 0 ? row.rank : row.cells[place]);
  const down = state.order ? state.order === "down" : place >= 0 && isHighBest(sort, statistic);
  rows.sort((one, other) => {
    const [a, b] = [key(one), key(other)];
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "string" ? a.localeCompare(b) : a - b;
    return (down ? -order : order) || one.d - other.d;
  });
  return { statistic, shown, rows, sort: place < 0 && sort !== "detector" ? "rank" : sort, down };
}

export function tableView(state) {
  const holder = make("div");
  const draw = () => holder.replaceChildren(drawTable(readAddress(), draw));
  draw();
  const saved = () => {
    const { rows, shown, statistic } = tableRows(readAddress());
    const named = shown.map((id) => (statistic === "mean" ? id : `${id} ${statistic}`));
    return {
      name: "leaderboard", columns: ["detector", `rank (${board.rank_by})`, "alike", ...named],
      rows: rows.map((row) => [row.name, row.rank, row.alike, ...row.cells]),
    };
  };
  return [
    make("h1", { tabindex: "-1" }, "All detectors"),
    make("div", { class: "controls" },
      searchField("Filter detectors", state.filter, (words) => { keep({ filter: words }); draw(); }),
      chooser("Show", [...STATISTICS], shownStatistic(state), (value) => { keep({ statistic: value }); draw(); }),
      columnChooser(state, draw)),
    holder,
    downloads(saved),
    make("p", { class: "note" }, "Mean over the series where a metric is defined; the best of each column is bold. ",
      "* not above chance. Detectors that share a letter are not told apart (Wilcoxon-Holm, 5 %). ",
      board.coarse.length ? "† coarse scores, which pate flatters: see pate_ap. " : "",
      board.metrics.some((metric) => metric.uses_labels)
        ? "(oracle), (best): the labels chose the threshold, by the best point F1 or by the metric itself." : ""),
  ];
}

function columnChooser(state, draw) {
  const boxes = board.metrics.map((metric) => {
    const checked = shownMetrics(state).includes(metric.id);
    const box = make("input", { type: "checkbox", value: metric.id, checked, onchange: choose });
    return make("label", { class: "box" }, box, metric.id);
  });
  const chosen = () => boxes.map((label) => label.firstChild).filter((box) => box.checked).map((box) => box.value);
  function choose() {
    keep({ columns: chosen().join("|") });
    draw();
  }
  const set = (text, isChecked) => make("button", { type: "button", onclick: () => {
    for (const { firstChild: box } of boxes) box.checked = isChecked(box.value);
    choose();
  } }, text);
  return make("details", { class: "chooser" }, make("summary", {}, `Columns (${board.metrics.length} metrics)`),
    make("div", { class: "panel" },
      make("p", {}, set("The usual", (id) => board.headline.includes(id)), set("All", () => true)),
      make("div", { class: "boxes" }, boxes)));
}

function drawTable(state, draw) {
  const { statistic, shown, rows, sort, down } = tableRows(state);
  const best = shown.map((id, place) => {
    const given = rows.map((row) => row.cells[place]).filter((value) => typeof value === "number");
    if (!given.length || statistic === "n") return null;
    return isHighBest(id, statistic) ? Math.max(...given) : Math.min(...given);
  });
  const head = (key, label, explain) => {
    const isSorted = sort === key;
    const choose = () => {
      keep({ sort: key, order: isSorted ? (down ? "up" : "down") : null });
      draw();
      [...document.querySelectorAll("button.sort")].find((each) => each.dataset.key === key)?.focus();
    };
    const button = make("button", { type: "button", class: "sort", onclick: choose, "data-key": key }, label,
      make("span", { "aria-hidden": "true", class: "arrow" }, isSorted ? (down ? " ↓" : " ↑") : ""));
    if (explain) explained(button, explain);
    const order = isSorted ? (down ? "descending" : "ascending") : null;
    return make("th", { scope: "col", "aria-sort": order, class: key === "detector" ? "" : "number" }, button);
  };
  const rankText = () => [make("strong", {}, "Mean rank"),
    make("p", {}, `Under ${board.rank_by}, over the series where all detectors have a value; 1 is best.`)];
  const valueCell = (row) => (value, place) => {
    const isBest = value !== null && value === best[place];
    return numberCell([isBest ? make("span", { class: "unseen" }, "best ") : null,
      figure(value, statistic === "n" ? 0 : 3), row.isLow[place] ? "*" : ""], isBest ? "best" : "");
  };
  const line = (row) => make("tr", {},
    make("th", { scope: "row" }, link(row.name, { view: "series", detector: row.name }),
      board.coarse.includes(row.name) ? make("span", { title: "coarse scores" }, " †") : null),
    numberCell(figure(row.rank, 2)), make("td", {}, row.alike), row.cells.map(valueCell(row)));
  const none = () => make("tr", {}, make("td", { colspan: 3 + shown.length }, "No detector has this in its name."));
  return scrolling("Leaderboard table", make("table", { class: "board" },
    make("caption", { class: "unseen" }, `${STATISTICS.get(statistic)} of each detector`),
    make("thead", {}, make("tr", {}, head("detector", "Detector"), head("rank", "Rank", rankText),
      make("th", { scope: "col" }, "Alike"),
      shown.map((id) => head(id, metricOf.get(id).label, () => metricText(id))))),
    make("tbody", {}, rows.length ? rows.map(line) : none())));
}
