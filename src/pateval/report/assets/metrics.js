// The metrics themselves: do they agree, whose choice changes the winner, and how can each be gamed on these labels.

function metricsView(state) {
  const metric = metricOf.has(state.metric) ? state.metric : board.rank_by, place = metricOf.get(metric).place;
  const holder = make("div", {}, make("p", {}, "Loading …"));
  loadBlock(`metric-${place}`).then((block) => holder.replaceChildren(ranksDrawn(block, metric)))
    .catch((error) => holder.replaceChildren(make("p", { class: "notice" }, error.message)));
  const winner = board.verdicts[metric].leader;
  const changed = board.metrics.filter((each) => board.verdicts[each.id].leader && board.verdicts[each.id].leader !== winner);
  return [
    make("h1", { tabindex: "-1" }, `${changed.length} of ${count(board.metrics.length, "metric")} would name another winner than ${metric}`),
    make("div", { class: "controls" }, metricChooser(metric, (id) => go({ metric: id }), "Compare with")),
    make("section", { class: "card" }, make("h2", {}, `Ranks under ${metric}`), holder),
    agreementSection(metric, state),
    metricTable(metric, winner),
    auditSection(),
  ];
}

function ranksDrawn(block, metric) {
  const { detectors, mean_ranks: ranks, groups, critical_difference: difference, series_used: used, friedman_p: p } = block.tests;
  if (detectors.length < 2) return make("p", {}, "There are not two detectors to rank.");
  return make("div", {},
    fitted((width) => rankChart(detectors, ranks, groups, difference, { width, label: `Mean ranks under ${metric}: ${detectors.map((name, i) => `${name} ${figure(ranks[i], 2)}`).join(", ")}` })),
    make("p", { class: "note" }, `Mean ranks over ${count(used, "series", "series")}; 1 is best. Bars join detectors that are not told apart (Wilcoxon-Holm, 5 %). `,
      p === null || p === undefined ? "" : `Friedman test (Iman-Davenport): p = ${shortP(p)}. `, "The critical difference is Nemenyi's."));
}

function agreementSection(metric, state) {
  const all = state.agreement === "all", chosen = all ? board.metrics.map((each) => each.id) : [...new Set([metric, ...board.headline])];
  const places = chosen.map((id) => metricOf.get(id).place), matrix = places.map((i) => places.map((j) => board.agreement[i][j]));
  return make("section", { class: "card" }, make("h2", {}, "Do they agree?"),
    make("p", { class: "note" }, "Kendall's tau between the orders of the detectors: 1 the same order, 0 unrelated, −1 reversed. The table below says it in numbers."),
    board.metrics.length > chosen.length || all ? make("p", {}, link(all ? "Only the usual metrics" : `All ${board.metrics.length} metrics`, { view: "metrics", agreement: all ? null : "all" })) : null,
    fitted((width) => agreementChart(chosen, matrix, { width, label: "Agreement between metrics" })));
}

function metricTable(metric, winner) {
  const place = metricOf.get(metric).place;
  const rows = board.metrics.map((each, m) => ({
    id: each.id, tau: board.agreement[place][m], leader: board.verdicts[each.id].leader,
    chance: meanOf(board.summary[each.id].chance), constant: board.constant?.[each.id] ?? null,
    beaten: board.audit?.rows[each.id]?.beaten_by ?? null, fooled: board.audit?.rows[each.id]?.fooled ?? false,
  })).sort((a, b) => (b.tau ?? -2) - (a.tau ?? -2));
  const table = () => ({
    name: "metrics", columns: ["metric", `tau with ${metric}`, "winner", "chance", "constant", "real is beaten by"],
    rows: rows.map((row) => [row.id, row.tau, row.leader, row.chance, row.constant, row.beaten === null ? null : row.beaten.join(" ")]),
  });
  return make("section", {}, make("h2", {}, "Whose choice changes the winner"),
    scrolling("Metrics table", make("table", { class: "board" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Metric"), make("th", { scope: "col", class: "number" }, "Agreement"), make("th", { scope: "col" }, "Winner"),
        make("th", { scope: "col", class: "number" }, "Chance"), make("th", { scope: "col", class: "number" }, "Constant"), make("th", { scope: "col" }, "A real detector is beaten by"))),
      make("tbody", {}, rows.map((row) => make("tr", { class: row.id === metric ? "chosen" : null },
        make("th", { scope: "row" }, explained(link(row.id, { view: "overview", metric: row.id }), () => metricText(row.id))),
        make("td", { class: "number" }, figure(row.tau, 2)),
        make("td", {}, row.leader ?? "–", row.leader && row.leader !== winner ? make("span", { class: "mark" }, " another") : null),
        make("td", { class: "number" }, figure(row.chance)), make("td", { class: "number" }, figure(row.constant)),
        make("td", {}, row.beaten === null ? "not tried" : row.beaten.length ? [row.fooled ? make("span", { class: "mark warn" }, "fooled: ") : null, row.beaten.join(", ")] : "none")))))),
    downloads(table));
}

function auditSection() {
  if (!board.audit) return make("section", {}, make("h2", {}, "How each can be gamed here"), make("p", {}, "The metrics could not be put on trial: no labels with events are at hand."));
  const { sentence, series, fakes } = board.audit;
  return make("section", {}, make("h2", {}, "How each can be gamed here"),
    make("p", {}, `${sentence}, on ${series.length === board.series.length ? "all series" : `${count(series.length, "series", "series")} of ${board.series.length}, the shortest`}. `,
      "A metric is fooled where a detector that finds nothing but by luck beats one that is noisy but real."),
    make("details", {}, make("summary", {}, "The detectors of the trial"), make("dl", { class: "plain-list" },
      Object.entries(fakes).map(([name, what]) => [make("dt", {}, name), make("dd", {}, what)]))));
}
