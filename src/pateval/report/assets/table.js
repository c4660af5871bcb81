// The table: a row per detector, a column per metric; sorted, filtered, and saved as it is shown.

const STATISTICS = { mean: "Mean", median: "Median", mean_rank: "Mean rank", skill: "Skill over chance", pooled: "Pooled over series", n: "Series with a value" };

function shownMetrics(state) {
  const asked = state.columns?.split("|").filter((id) => metricOf.has(id));
  return asked?.length ? asked : board.headline;
}

function tableRows(state) {
  const statistic = STATISTICS[state.statistic] ? state.statistic : "mean", shown = shownMetrics(state);
  const words = (state.filter ?? "").toLowerCase();
  const rows = board.detectors.map((name, d) => ({
    name, d, rank: board.summary[board.rank_by].mean_rank[d], alike: board.letters[board.rank_by][name] ?? "",
    cells: shown.map((id) => board.summary[id][statistic][d]),
  })).filter((row) => row.name.toLowerCase().includes(words));
  const sort = state.sort ?? "rank", place = shown.indexOf(sort);
  const key = (row) => (sort === "detector" ? row.name : sort === "rank" || place < 0 ? row.rank : row.cells[place]);
  const bestIsHigh = place >= 0 && statistic !== "mean_rank" && (statistic === "skill" || metricOf.get(sort).higher);
  const down = state.order ? state.order === "down" : bestIsHigh;
  rows.sort((one, other) => {
    const [a, b] = [key(one), key(other)];
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "string" ? a.localeCompare(b) : a - b;
    return (down ? -order : order) || one.d - other.d;
  });
  return { statistic, shown, rows, sort: place < 0 && sort !== "detector" ? "rank" : sort, down };
}

function tableView(state) {
  const holder = make("div");
  const draw = () => holder.replaceChildren(drawTable(readAddress(), draw));
  const filter = make("input", { type: "search", id: "filter", value: state.filter ?? "", autocomplete: "off", oninput: () => {
    keep({ filter: filter.value });
    draw();
  } });
  draw();
  const table = () => {
    const { rows, shown, statistic } = tableRows(readAddress());
    return {
      name: "leaderboard", columns: ["detector", `rank (${board.rank_by})`, "alike", ...shown.map((id) => (statistic === "mean" ? id : `${id} ${statistic}`))],
      rows: rows.map((row) => [row.name, row.rank, row.alike, ...row.cells]),
    };
  };
  return [
    make("h1", { tabindex: "-1" }, "All detectors"),
    make("div", { class: "controls" },
      make("span", { class: "field" }, make("label", { for: "filter" }, "Filter detectors"), filter),
      chooser("Show", Object.entries(STATISTICS), STATISTICS[state.statistic] ? state.statistic : "mean", (value) => { keep({ statistic: value }); draw(); }),
      columnChooser(state, draw)),
    holder,
    downloads(table),
    make("p", { class: "note" }, `${STATISTICS.mean} over the series where a metric is defined. Best of each column in bold with a star. `,
      "Detectors that share a letter are not told apart (Wilcoxon-Holm, 5 %). ",
      board.coarse.length ? "† coarse scores, which pate flatters: see pate_ap. " : "",
      board.metrics.some((metric) => metric.oracle) ? "(oracle): the threshold was chosen with the labels." : ""),
  ];
}

function columnChooser(state, draw) {
  const boxes = board.metrics.map((metric) => {
    const box = make("input", { type: "checkbox", value: metric.id, checked: shownMetrics(state).includes(metric.id), onchange: choose });
    return make("label", { class: "box" }, box, metric.id);
  });
  const chosen = () => boxes.map((label) => label.firstChild).filter((box) => box.checked).map((box) => box.value);
  function choose() {
    keep({ columns: chosen().join("|") });
    draw();
  }
  const all = (checked) => () => {
    boxes.forEach((label) => { label.firstChild.checked = checked ?? board.headline.includes(label.firstChild.value); });
    choose();
  };
  return make("details", { class: "chooser" }, make("summary", {}, `Columns (${board.metrics.length} metrics)`),
    make("div", { class: "panel" },
      make("p", {}, make("button", { type: "button", onclick: all(null) }, "The usual"), make("button", { type: "button", onclick: all(true) }, "All")),
      make("div", { class: "boxes" }, boxes)));
}

function drawTable(state, draw) {
  const { statistic, shown, rows, sort, down } = tableRows(state);
  const best = shown.map((id, place) => {
    const given = rows.map((row) => row.cells[place]).filter((value) => typeof value === "number");
    if (!given.length || statistic === "n") return null;
    const isHigh = statistic === "mean_rank" ? false : statistic === "skill" || metricOf.get(id).higher;
    return isHigh ? Math.max(...given) : Math.min(...given);
  });
  const head = (key, label, explain) => {
    const isSorted = sort === key;
    const button = make("button", { type: "button", class: "sort", onclick: () => {
      keep({ sort: key, order: isSorted ? (down ? "up" : "down") : null });
      draw();
      [...document.querySelectorAll("button.sort")].find((each) => each.dataset.key === key)?.focus();
    }, "data-key": key }, label, make("span", { "aria-hidden": "true", class: "arrow" }, isSorted ? (down ? " ↓" : " ↑") : ""));
    if (explain) explained(button, explain);
    return make("th", { scope: "col", "aria-sort": isSorted ? (down ? "descending" : "ascending") : null, class: key === "detector" ? "" : "number" }, button);
  };
  return scrolling("Leaderboard table", make("table", { class: "board" },
    make("caption", { class: "unseen" }, `${STATISTICS[statistic]} of each detector`),
    make("thead", {}, make("tr", {}, head("detector", "Detector"),
      head("rank", "Rank", () => [make("strong", {}, "Mean rank"), make("p", {}, `Under ${board.rank_by}, over the series where all detectors have a value; 1 is best.`)]),
      make("th", { scope: "col" }, "Alike"),
      shown.map((id) => head(id, metricOf.get(id).oracle ? `${id} (oracle)` : id, () => metricText(id))))),
    make("tbody", {}, rows.length ? rows.map((row) => make("tr", {},
      make("th", { scope: "row" }, link(row.name, { view: "series", detector: row.name }), board.coarse.includes(row.name) ? make("span", { title: "coarse scores" }, " †") : null),
      make("td", { class: "number" }, figure(row.rank, 2)), make("td", {}, row.alike),
      row.cells.map((value, place) => make("td", { class: value !== null && value === best[place] ? "number best" : "number" },
        value !== null && value === best[place] ? make("span", { class: "star" }, "★ ") : null, figure(value, statistic === "n" ? 0 : 3)))))
      : make("tr", {}, make("td", { colspan: 3 + shown.length }, "No detector has this in its name.")))));
}
