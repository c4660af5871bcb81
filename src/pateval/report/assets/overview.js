// The first screen: who wins, by how much, is it evidence, and what stands against it.

function orderOf(metric) {
  const { mean_rank: ranks, mean } = board.summary[metric], sign = metricOf.get(metric).higher ? -1 : 1;
  const key = (d) => [ranks[d] ?? Infinity, (mean[d] ?? Infinity) * (mean[d] === null ? 1 : sign)];
  return board.detectors.map((_, d) => d).sort((a, b) => {
    const [one, other] = [key(a), key(b)];
    return one[0] - other[0] || one[1] - other[1] || a - b;
  });
}

function overviewView(state) {
  const metric = metricOf.has(state.metric) ? state.metric : board.rank_by, summary = board.summary[metric];
  const found = board.verdicts[metric], order = orderOf(metric), letters = board.letters[metric];
  // Where nobody is told apart from the first there is nothing to point out.
  const isSplit = found.tied.length < board.detectors.length - 1, together = new Set(isSplit ? [found.leader, ...found.tied] : []);
  const rows = order.map((d) => ({
    name: board.detectors[d], mean: summary.mean[d], low: summary.low[d], high: summary.high[d],
    tied: together.has(board.detectors[d]),
    href: addressOf({ view: "compare", a: found.leader, b: board.detectors[d] === found.leader ? found.tied[0] ?? board.detectors[order[1]] : board.detectors[d], metric }),
    title: `${board.detectors[d]}: mean ${figure(summary.mean[d])}, 95 % from ${figure(summary.low[d])} to ${figure(summary.high[d])}, rank ${figure(summary.mean_rank[d], 2)}`,
  }));
  const lines = [
    { name: "chance", kind: "chance", value: meanOf(summary.chance) },
    { name: "a constant", kind: "constant", value: board.constant?.[metric] ?? null },
  ];
  const steady = board.stability[metric];
  return [
    make("section", { class: "lead" },
      make("h1", { tabindex: "-1" }, found.claim),
      make("p", { class: "evidence" }, found.evidence),
      checksLine(),
      make("div", { class: "controls" }, metricChooser(metric, (id) => go({ metric: id })),
        explained(make("button", { type: "button", class: "plain help" }, `What is ${metric}?`), () => metricText(metric)))),
    make("div", { class: "columns" },
      make("div", { class: "stack" }, make("section", { class: "card" },
        make("h2", {}, "Means and their intervals"),
        make("p", { class: "note" }, intervalNote(), isSplit && found.tied.length ? " The shaded detectors are not told apart from the first." : ""),
        fitted((width) => meansChart(rows, lines, { width, label: `Mean ${metric} of each detector with 95 % limits, beside chance and a constant score` })),
        make("p", { class: "note" }, baselineNote(lines))), groupsCard(metric, order, letters)),
      make("section", { class: "card" },
        make("h2", {}, "How steady is this order?"),
        steadyText(steady, metric),
        steady ? fitted((width) => placesChart(order.filter((d) => summary.mean_rank[d] !== null).map((d) => ({
          name: board.detectors[d], first: steady.first[d], low: steady.low[d], high: steady.high[d],
        })), { width, places: board.detectors.length, label: "Places of the detectors over random halves of the series" })) : null,
        doubtPart(metric, order))),
    checksSection(),
  ];
}

function meanOf(numbers) {
  const given = numbers.filter((value) => typeof value === "number");
  return given.length ? given.reduce((a, b) => a + b, 0) / given.length : null;
}

function intervalNote() {
  return board.series.length > 1 ? "Mean over series; the bar is its 95 % bootstrap interval over series."
    : "One series; the bar is the 95 % bootstrap interval over its events, where there is one.";
}

function baselineNote(lines) {
  const [chance, constant] = lines.map((line) => line.value);
  const parts = [];
  if (chance !== null) parts.push(`random scores reach ${figure(chance)}`);
  if (constant !== null) parts.push(`a constant score ${figure(constant)}`);
  return parts.length ? `On the same series ${parts.join(", ")}: what lies near these lines is worth nothing.` : "What chance reaches was not computed.";
}

function steadyText(steady, metric) {
  if (!steady) return make("p", { class: "note" }, "There are too few series to halve: at least four are needed.");
  const leader = board.detectors.indexOf(board.verdicts[metric].leader);
  return make("p", { class: "note" }, `Of ${steady.halves} random halves of the ${steady.series} series, `,
    make("strong", {}, board.detectors[leader]), ` is first in ${percent(steady.first[leader])}. The bars are the places of nine halves in ten.`);
}

// What other labels would have said: every edge of every event moved at random.
function doubtPart(metric, order) {
  const doubt = board.doubt[metric];
  if (!doubt) {
    const known = Object.keys(board.doubt);
    return make("p", { class: "note" }, known.length ? `How the order bears doubt about the labels was computed for ${known.join(", ")}.`
      : ["How the order bears doubt about where events begin and end was not computed (", make("code", {}, "leaderboard --doubt STEPS"), ")."]);
  }
  const leader = board.detectors.indexOf(board.verdicts[metric].leader);
  return [
    make("h3", {}, "Under label doubt"),
    make("p", { class: "note" }, `With every edge of every event moved at random by up to ${doubt.amount}, ${doubt.draws} times, `,
      make("strong", {}, board.detectors[leader]), ` is first in ${percent(doubt.first[leader])} and keeps its place in ${percent(doubt.kept[leader])}. The bars are all places met.`),
    fitted((width) => placesChart(order.filter((d) => doubt.low[d] !== null).map((d) => ({
      name: board.detectors[d], first: doubt.first[d], low: doubt.low[d], high: doubt.high[d],
    })), { width, places: board.detectors.length, label: "Places of the detectors under moved edges of events" })),
  ];
}

function groupsCard(metric, order, letters) {
  const groups = new Map();
  for (const d of order) for (const letter of letters[board.detectors[d]]?.match(/[a-z]\d*/g) ?? []) {
    groups.set(letter, [...(groups.get(letter) ?? []), board.detectors[d]]);
  }
  const several = [...groups.values()].filter((group) => group.length > 1);
  return make("section", { class: "card" }, make("h2", {}, "Who is not told apart"),
    make("p", { class: "note" }, "Within a line no two detectors differ significantly (Wilcoxon signed-rank, Holm, 5 %)."),
    several.length ? make("ol", { class: "groups" }, several.map((group) => make("li", {}, group.map((name) => make("span", { class: "chip" }, name)))))
      : make("p", {}, "All detectors are told apart."));
}

const MOST_SENTENCES = 8; // of one check

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
  return make("p", { class: "note" }, make("a", { href: "#checks", onclick: (event) => {
    event.preventDefault();
    document.getElementById("checks").scrollIntoView({ behavior: "smooth" });
    document.getElementById("checks").focus({ preventScroll: true });
  } }, `${count(board.checks.length, "check")} fired`), ": ",
  groups.map((group, k) => [k ? ", " : "", make("code", {}, group.code), group.sentences.length > 1 ? ` × ${group.sentences.length}` : ""]), ".");
}

function checksSection() {
  return make("section", { class: "checks", id: "checks", tabindex: "-1" }, make("h2", {}, "Checks that fired"),
    board.checks.length ? make("ul", {}, checkGroups().map((group) => make("li", {}, make("code", {}, group.code),
      group.sentences.slice(0, MOST_SENTENCES).map((sentence) => make("p", {}, sentence)),
      group.sentences.length > MOST_SENTENCES ? make("p", {}, `… and ${group.sentences.length - MOST_SENTENCES} more like these.`) : null,
      group.remedy ? make("p", { class: "remedy" }, group.remedy) : null)))
      : make("p", {}, "None."));
}
