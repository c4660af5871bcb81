// Two detectors side by side: who wins on which series, and by how much.

function compareView(state) {
  const metric = metricOf.has(state.metric) ? state.metric : board.rank_by, order = orderOf(metric);
  const pick = (name, otherwise) => (board.detectors.includes(name) ? name : board.detectors[otherwise]);
  const a = pick(state.a, order[0]), b = pick(state.b, order[1] ?? order[0]);
  const holder = make("div", {}, make("p", {}, "Loading …"));
  loadBlock(`metric-${metricOf.get(metric).place}`)
    .then((block) => holder.replaceChildren(...compared(block, a, b, metric)))
    .catch((error) => holder.replaceChildren(make("p", { class: "notice" }, error.message)));
  const choose = (label, value, name) => chooser(label, board.detectors, value, (chosen) => go({ [name]: chosen }));
  return [
    make("h1", { tabindex: "-1" }, "Compare two detectors"),
    make("div", { class: "controls" }, choose("First", a, "a"), choose("Second", b, "b"), metricChooser(metric, (id) => go({ metric: id })),
      make("button", { type: "button", onclick: () => go({ a: b, b: a }) }, "Swap")),
    holder,
  ];
}

function compared(block, a, b, metric) {
  const one = block.values[board.detectors.indexOf(a)], other = block.values[board.detectors.indexOf(b)];
  const sign = metricOf.get(metric).higher ? 1 : -1;
  const rows = board.series.map((name, s) => ({ name, s, a: one[s], b: other[s], gain: one[s] === null || other[s] === null ? null : sign * (one[s] - other[s]) }));
  const both = rows.filter((row) => row.gain !== null).sort((x, y) => y.gain - x.gain);
  const wins = both.filter((row) => row.gain > 0).length, losses = both.filter((row) => row.gain < 0).length, ties = both.length - wins - losses;
  const mean = both.length ? both.reduce((sum, row) => sum + row.gain, 0) / both.length : null;
  const { detectors, p_raw: raw, p_holm: holm, rank_biserial: effects } = block.tests;
  const [i, j] = [detectors.indexOf(a), detectors.indexOf(b)], isTested = i >= 0 && j >= 0 && i !== j;
  const widest = Math.max(1e-12, ...both.map((row) => Math.abs(row.gain)));
  const table = () => ({
    name: "comparison", columns: ["series", a, b, "gain of the first"], rows: [...both, ...rows.filter((row) => row.gain === null)].map((row) => [row.name, row.a, row.b, row.gain]),
  });
  return [
    make("section", { class: "card verdict" },
      make("p", { class: "big" }, a === b ? "The same detector twice." : `${a} wins on ${wins}, ties on ${ties} and loses on ${losses} of ${count(both.length, "series", "series")}.`),
      tally(wins, ties, losses),
      make("p", {}, mean === null ? "They have no series in common." : `Mean gain of the first: ${figure(mean)} under ${metric} (${metricOf.get(metric).higher ? "higher" : "lower"} is better). `,
        isTested ? `Wilcoxon signed-rank p = ${shortP(raw[i][j])}, corrected for all pairs ${shortP(holm[i][j])}: ${holm[i][j] < block.tests.alpha ? "evidence of a difference" : "no evidence of a difference"}. Rank-biserial effect ${figure(effects[i][j], 2)}.` : "")),
    make("h2", {}, "By series, largest gain first"),
    paged(both.length, 100, (from, to) => scrolling("Differences by series", make("table", { class: "differences" },
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Series"), make("th", { scope: "col", class: "number" }, a), make("th", { scope: "col", class: "number" }, b),
        make("th", { scope: "col", class: "number" }, "Gain"), make("th", { scope: "col" }, make("span", { class: "unseen" }, "Gain as a bar")))),
      make("tbody", {}, both.slice(from, to).map((row) => make("tr", {},
        make("th", { scope: "row" }, link(row.name, { view: "series", detector: a, series: row.name })),
        make("td", { class: "number" }, figure(row.a)), make("td", { class: "number" }, figure(row.b)),
        make("td", { class: "number" }, row.gain > 0 ? `+${figure(row.gain)}` : figure(row.gain)), make("td", { class: "bar" }, gainBar(row.gain / widest)))))))),
    rows.length > both.length ? make("p", { class: "note" }, `${count(rows.length - both.length, "series", "series")} without a value of both are left out.`) : null,
    downloads(table),
  ].filter(Boolean);
}

function shortP(value) {
  return value === null ? "undefined" : value < 0.001 ? value.toExponential(1) : value.toFixed(3);
}

function tally(wins, ties, losses) {
  const total = Math.max(1, wins + ties + losses), parts = [];
  let x = 0;
  for (const [kind, number] of [["win", wins], ["tie", ties], ["loss", losses]]) {
    const width = (number / total) * 100;
    if (number) parts.push(svg("rect", { x, y: 0, width, height: 8, class: kind }));
    x += width;
  }
  return svg("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: "tally", role: "img", "aria-label": `${wins} wins, ${ties} ties, ${losses} losses` }, parts);
}

function gainBar(share) {
  const width = Math.abs(share) * 48;
  return svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", class: "gain", "aria-hidden": "true" },
    svg("rect", { x: share < 0 ? 50 - width : 50, y: 1, width, height: 8, class: share < 0 ? "loss" : "win" }),
    svg("line", { x1: 50, x2: 50, y1: 0, y2: 10, class: "axis" }));
}
