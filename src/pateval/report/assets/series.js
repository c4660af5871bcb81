// One detector on one series: what happened, step by step, and what another threshold or buffer would give.

function seriesView(state) {
  return board.series.includes(state.series) ? drilldownView(state) : seriesListView(state);
}

function seriesListView(state) {
  const metric = metricOf.has(state.metric) ? state.metric : board.rank_by;
  const holder = make("div", {}, make("p", {}, "Loading …"));
  const filter = make("input", { type: "search", id: "filter", value: state.filter ?? "", autocomplete: "off" });
  loadBlock(`metric-${metricOf.get(metric).place}`).then((block) => {
    const draw = () => holder.replaceChildren(seriesTable(block, metric, filter.value, state.detector));
    filter.addEventListener("input", () => { keep({ filter: filter.value }); draw(); });
    draw();
  }).catch((error) => holder.replaceChildren(make("p", { class: "notice" }, error.message)));
  return [
    make("h1", { tabindex: "-1" }, "Series"),
    make("p", { class: "note" }, `Every ${metric} by detector and series; open one to see what is behind it.`),
    make("div", { class: "controls" }, make("span", { class: "field" }, make("label", { for: "filter" }, "Filter series"), filter), metricChooser(metric, (id) => go({ metric: id }))),
    holder,
    leftOutNote(),
  ];
}

function leftOutNote() {
  const gone = Object.entries(board.missing), parts = [];
  if (board.left_out.length) {
    parts.push(make("h2", {}, "Not in this file"), make("p", {}, `To keep within ${board.budget} MB the timelines of these series, on which the detectors differ least, were left out. `,
      "A folder has no limit: ", make("code", {}, "pateval report … -o DIR/"), "."), make("p", { class: "small" }, board.left_out.join(", ")));
  }
  if (gone.length) {
    parts.push(make("h2", {}, "Gone or changed"), make("p", {}, "The labels and scores of these series could not be read again, so only their numbers are here."),
      make("ul", { class: "small" }, gone.slice(0, 50).map(([name, why]) => make("li", {}, `${name}: ${why}`))), gone.length > 50 ? make("p", {}, `… and ${gone.length - 50} more`) : null);
  }
  return parts.length ? make("section", {}, parts) : null;
}

function seriesTable(block, metric, words, chosen) {
  const order = orderOf(metric);
  const preferred = board.detectors.includes(chosen) ? chosen : board.detectors[order[0]];
  const places = board.series.map((_, s) => s).filter((s) => board.series[s].toLowerCase().includes(words.toLowerCase()));
  const isHigh = metricOf.get(metric).higher;
  return paged(places.length, 60, (from, to) => scrolling("Values by series", make("table", { class: "board matrix" },
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Series"), order.map((d) => make("th", { scope: "col", class: "number slim" }, board.detectors[d])))),
    make("tbody", {}, places.slice(from, to).map((s) => {
      const given = order.map((d) => block.values[d][s]).filter((value) => value !== null);
      const best = given.length ? (isHigh ? Math.max(...given) : Math.min(...given)) : null;
      return make("tr", {}, make("th", { scope: "row" }, link(board.series[s], { view: "series", series: board.series[s], detector: preferred })),
        order.map((d) => {
          const value = block.values[d][s];
          return make("td", { class: value !== null && value === best ? "number best" : "number" },
            link(figure(value), { view: "series", detector: board.detectors[d], series: board.series[s] }, { "aria-label": `${board.detectors[d]} on ${board.series[s]}: ${figure(value)}` }));
        }));
    })))));
}

function drilldownView(state) {
  const place = board.series.indexOf(state.series), detector = board.detectors.includes(state.detector) ? state.detector : board.detectors[0];
  const holder = make("div", { id: "drilldown" }, make("p", {}, "Loading …"));
  const neighbour = (step) => board.series[(place + step + board.series.length) % board.series.length];
  const runs = make("span");
  const stay = { early: state.early, delay: state.delay, metric: state.metric };
  const begin = board.drilldowns.includes(place) ? loadBlock(`series-${place}`) : Promise.resolve(null);
  begin.then(async (block) => {
    const entries = block?.detectors[detector] ?? [], entry = entries.find((each) => each.run === state.run) ?? entries[0];
    if (entries.length > 1) {
      runs.replaceChildren(chooser("Run", entries.map((each) => each.run), entry.run, (run) => go({ ...readAddress(), run, level: null })));
    }
    if (!entry || entry.missing) holder.replaceChildren(make("p", { class: "notice" }, missingText(state.series, entry)), valuesHere(detector, place));
    else {
      const drilldown = new Drilldown(block, entry, detector, place);
      await drilldown.unpack();
      if (holder.isConnected) holder.replaceChildren(...drilldown.elements(state));
    }
  }).catch((error) => holder.replaceChildren(make("p", { class: "notice" }, error.message)));
  return [
    make("p", { class: "crumbs" }, link("All series", { view: "series" })),
    make("h1", { tabindex: "-1" }, detector, make("span", { class: "light" }, " on "), state.series),
    make("div", { class: "controls" },
      chooser("Detector", board.detectors, detector, (name) => go({ view: "series", series: state.series, detector: name, ...stay }, {})),
      chooser("Series", board.series, state.series, (name) => go({ view: "series", series: name, detector, ...stay }, {})), runs,
      board.series.length > 1 ? [link("Previous series", { view: "series", series: neighbour(-1), detector, ...stay }, { class: "button" }), link("Next series", { view: "series", series: neighbour(1), detector, ...stay }, { class: "button" })] : null),
    valueChips(detector, place),
    holder,
  ];
}

// The usual metrics of this detector on this series, and its place among all.
function valueChips(detector, s) {
  const list = make("ul", { class: "chips" }), d = board.detectors.indexOf(detector);
  Promise.all(board.headline.slice(0, 6).map(async (id) => {
    const block = await loadBlock(`metric-${metricOf.get(id).place}`), value = block.values[d][s], sign = metricOf.get(id).higher ? 1 : -1;
    const better = block.values.filter((row) => row[s] !== null && value !== null && sign * (row[s] - value) > 0).length;
    return make("li", {}, `${id} `, make("b", {}, figure(value)), value === null ? null : make("span", { class: "quiet" }, ` #${better + 1}`));
  })).then((items) => list.replaceChildren(...items)).catch(() => list.remove());
  return list;
}

function missingText(name, entry) {
  if (board.left_out.includes(name)) return `The timeline of this series was left out to keep the file within ${board.budget} MB.`;
  return `There is no timeline: ${entry?.missing ?? board.missing[name] ?? "its input was not at hand when this page was made"}.`;
}

// Every metric of this detector on this series.
function valuesHere(detector, s) {
  const d = board.detectors.indexOf(detector), body = make("tbody");
  const details = make("details", { class: "card" }, make("summary", {}, "Every metric on this series"),
    scrolling("Every metric on this series", make("table", { class: "board" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Metric"),
      make("th", { scope: "col", class: "number" }, "Value"), make("th", { scope: "col" }, "Why there is none"))), body)));
  details.addEventListener("toggle", async () => {
    if (!details.open || body.children.length) return;
    for (const metric of board.metrics) {
      const block = await loadBlock(`metric-${metricOf.get(metric.id).place}`);
      const reason = Object.entries(block.reasons).find(([, cells]) => cells.some(([i, j]) => i === d && j === s))?.[0] ?? "";
      body.append(make("tr", {}, make("th", { scope: "row" }, explained(make("span", { tabindex: "0" }, metric.id), () => metricText(metric.id))),
        make("td", { class: "number" }, figure(block.values[d][s], 4)), make("td", { class: "small" }, reason)));
    }
  });
  return details;
}
