"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const [FIRST, REPEAT, FALSE, SET_ASIDE] = [0, 1, 2, 3];
const WIDTH = 1200;
const MOST_ROWS = 500;
const POSITIONS = 1000; // of the slider
const state = { detector: 0, rank: null, view: null, chosen: null };

/* ---- Words: as pateval.alarms.clock has them ---- */

const UNITS = [["d", 86400e9], ["h", 3600e9], ["min", 60e9], ["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];

function digits(number, count) {
  return String(Number(number.toPrecision(count)));
}

function percent(share) {
  return `${roundHalfEven(100 * share)}%`;
}

function roundHalfEven(number) {
  const floor = Math.floor(number);
  if (number - floor !== 0.5) return Math.round(number);
  return floor % 2 === 0 ? floor : floor + 1;
}

function thousands(count) {
  return count.toLocaleString("en-US");
}

function duration(length) {
  if (data.clock.nanoseconds === null) return `${digits(length, 6)} step${length === 1 ? "" : "s"}`;
  const left = Math.round(Math.abs(length) * data.clock.nanoseconds);
  const place = UNITS.findIndex(([, size]) => left >= size);
  if (place < 0) return "0 s";
  const [unit, size] = UNITS[place];
  if (place >= 3) return `${digits(left / size, 3)} ${unit}`;
  if (unit === "min" && left >= 10 * size) return `${roundHalfEven(left / size)} ${unit}`;
  const [smaller, smallerSize] = UNITS[place + 1];
  const total = roundHalfEven(left / smallerSize), per = size / smallerSize;
  const rest = total % per;
  return `${Math.floor(total / per)} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;
}

function lead(length) {
  if (length === null) return "–";
  return length === 0 ? "at once" : `${duration(Math.abs(length))} ${length < 0 ? "early" : "late"}`;
}

function moment(time) {
  if (data.clock.origin === null) return digits(time, 10);
  const text = new Date(data.clock.origin + (time * data.clock.nanoseconds) / 1e6).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, text.slice(17, 23) === "00.000" ? 16 : 19)}`;
}

/* Round times for an axis: [time, words]; on a calendar whole days and hours. */
function ticks([low, high]) {
  const wanted = (high - low) / 7, found = [];
  const hasDates = data.clock.origin !== null, unit = hasDates ? data.clock.nanoseconds : 1;
  const day = 86400e9 / unit, intoDay = hasDates ? ((data.clock.origin % 86400e3) * 1e6) / unit : 0;
  const round = (least, sizes) => sizes.find((size) => size >= least) ?? least;
  const power = (length) => 10 ** Math.floor(Math.log10(length));
  let step = [1, 2, 5, 10].map((size) => size * power(wanted)).find((size) => size >= wanted);
  if (hasDates && wanted > 1e9 / unit) {
    const sizes = [2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200].map((size) => (size * 1e9) / unit);
    step = round(wanted, [...sizes, day, 2 * day, 7 * day, 14 * day]);
    if (step > 14 * day) step = Math.ceil(step / day) * day;
  }
  for (let time = Math.ceil((low + intoDay) / step) * step - intoDay; time <= high; time += step) {
    const words = moment(time);
    found.push([time, !hasDates ? words : step >= day || words.slice(11, 19) === "00:00" ? words.slice(5, 10) : words.slice(11)]);
  }
  return found;
}

function rate(value) {
  return value >= 100 ? thousands(roundHalfEven(value)) : digits(value, 3);
}

function wilson(successes, trials) {
  const z = 1.959963984540054, share = successes / trials;
  const centre = share + (z * z) / (2 * trials);
  const spread = z * Math.sqrt((share * (1 - share)) / trials + (z * z) / (4 * trials * trials));
  const scale = 1 + (z * z) / trials;
  return [Math.max(0, (centre - spread) / scale), Math.min(1, (centre + spread) / scale)];
}

/* ---- The rules: as pateval.alarms.matching has them ---- */

function unpack(scores) {
  for (const one of scores.series) {
    let time = 0;
    one.steps = one.gaps.map((gap) => (time += gap));
    one.isParted = new Set(one.parted);
    one.lengths = one.steps.map((step, place) => (place + 1 < one.steps.length ? one.steps[place + 1] - step : 0));
    one.unusual[0].forEach((place, at) => { one.lengths[place] = one.unusual[1][at]; });
  }
}

function alarmsAt(one, rank, policy) {
  const runs = [];
  let isOpen = false;
  one.ranks.forEach((level, place) => {
    if (level < rank) isOpen = false;
    else if (isOpen && !one.isParted.has(place)) runs[runs.length - 1][1] = one.steps[place];
    else { runs.push([one.steps[place], one.steps[place]]); isOpen = true; }
  });
  const merged = [];
  for (const run of runs) {
    const last = merged[merged.length - 1];
    if (policy.merge !== null && last && run[0] <= last[1] + policy.merge) last[1] = Math.max(last[1], run[1]);
    else merged.push(run);
  }
  if (policy.cooldown === null) return merged;
  const kept = [];
  for (const run of merged) {
    if (!kept.length || run[0] - kept[kept.length - 1][0] >= policy.cooldown) kept.push(run);
  }
  return kept;
}

function judgeSeries(known, one, rank, policy) {
  const alarms = alarmsAt(one, rank, policy);
  const roles = alarms.map(() => FALSE), firsts = new Set();
  const times = known.incidents.map(([start, stop], place) => {
    let time = null;
    for (let at = 0; at < alarms.length && alarms[at][0] <= stop + policy.delay; at += 1) {
      if (alarms[at][1] < start - policy.early) continue;
      if (!known.counted[place]) {
        if (roles[at] === FALSE) roles[at] = SET_ASIDE;
      } else {
        roles[at] = REPEAT;
        if (time === null) {
          time = Math.max(alarms[at][0], start - policy.early) - start;
          firsts.add(at);
        }
      }
    }
    return time;
  });
  for (const at of firsts) roles[at] = FIRST;
  let inAlarm = 0, at = 0;
  one.steps.forEach((step, place) => {
    while (at < alarms.length && alarms[at][1] < step) at += 1;
    if (at < alarms.length && alarms[at][0] <= step) inAlarm += one.lengths[place];
  });
  return { ...known, alarms, roles, times, inAlarm };
}

function judged() {
  const detector = data.detectors[state.detector], scores = detector.scores;
  if (!scores || state.rank === null) return { ...detector, figures: figures(detector) };
  const series = detector.series.map((known, place) => judgeSeries(known, scores.series[place], state.rank, scores.policy));
  const threshold = scores.thresholds[state.rank];
  const name = threshold === undefined ? `${scores.name}, never` : `${scores.name} >= ${digits(threshold, 6)}`;
  const inAlarm = series.reduce((sum, one) => sum + one.inAlarm, 0) / scores.observed;
  const found = { ...detector, name, series, inAlarm: scores.observed ? inAlarm : null };
  found.figures = figures(found);
  found.limits = scores.limits[found.figures.false] ?? [null, null];
  found.sentence = sentence(found);
  return found;
}

function median(values) {
  const ordered = [...values].sort((a, b) => a - b), half = ordered.length >> 1;
  if (!ordered.length) return null;
  return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}

function figures(detector) {
  const counts = [0, 0, 0, 0], times = [];
  let incidents = 0;
  for (const one of detector.series) {
    for (const role of one.roles) counts[role] += 1;
    one.counted.forEach((isCounted, place) => {
      if (!isCounted) return;
      incidents += 1;
      if (one.times[place] !== null) times.push(one.times[place]);
    });
  }
  return {
    incidents, found: times.length, first: counts[FIRST], repeat: counts[REPEAT], false: counts[FALSE],
    median: median(times), falseRate: detector.rateLength ? counts[FALSE] / detector.rateLength : null,
  };
}

function sentence(detector) {
  const { incidents, found, first, repeat, median: middle, falseRate, false: wrong } = detector.figures;
  const opens = detector.inAlarm > 0.2;
  const opening = opens
    ? `${detector.name} is in alarm ${percent(detector.inAlarm)} of the time, and an endless alarm finds everything: ` : "";
  let what = "there was no incident to find";
  if (incidents) {
    const [low, high] = wilson(found, incidents);
    const half = found ? `, half of them ${middle ? `at ${middle < 0 ? "least" : "most"} ` : ""}${lead(middle)}` : "";
    what = `found ${thousands(found)} of ${thousands(incidents)} incidents (${percent(low)} to ${percent(high)})${half}`;
  }
  let cost = "; how often it is wrong is not known, since nothing is observed";
  if (falseRate !== null) {
    const alarms = first + repeat + wrong;
    const worth = alarms ? `${thousands(first + repeat)} of its ${thousands(alarms)} alarms were about an incident` : "it never alarmed";
    cost = `, at ${rate(falseRate)} false alarms per ${data.rate}: ${worth}`;
  }
  const subject = incidents ? (opens ? "it " : `${detector.name} `) : "";
  return `${opening}${subject}${what}${cost}.`;
}

/* ---- The page ---- */

function make(tag, attributes = {}, ...children) {
  const isDrawn = ["svg", "rect", "path", "title"].includes(tag);
  const element = isDrawn ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function span(detector) {
  const times = detector.series.flatMap((one) => [...one.observed.flat(), ...one.incidents.flat(), ...one.alarms.flat()]);
  let [low, high] = [Infinity, -Infinity];
  for (const time of times) { low = Math.min(low, time); high = Math.max(high, time); }
  return low < high ? [low, high] : [Number.isFinite(low) ? low : 0, (Number.isFinite(low) ? low : 0) + 1];
}

function lane(one, [low, high]) {
  const place = (time) => ((time - low) / (high - low)) * WIDTH;
  const svg = make("svg", { class: "lane", viewBox: `0 0 ${WIDTH} 64`, preserveAspectRatio: "none", role: "img" });
  const bar = (kind, start, stop, y, height, least) => {
    const left = Math.max(0, place(start)), right = Math.min(WIDTH, place(stop));
    if (right < 0 || left > WIDTH) return null;
    const rect = make("rect", { class: kind, x: left, y, width: Math.max(least, right - left), height });
    svg.append(rect);
    return rect;
  };
  bar("unobserved", low, high, 0, 64, 0);
  for (const [start, stop] of one.observed) bar("observed", start, stop, 0, 64, 0);
  one.incidents.forEach(([start, stop], at) => {
    const kind = !one.counted[at] ? "left-out" : one.times[at] === null ? "missed" : "found";
    const rect = bar(`incident ${kind}`, start, stop, 4, 26, 3);
    if (rect === null) return;
    rect.append(make("title", {}, `${moment(start)} to ${moment(stop)}`));
    rect.addEventListener("click", () => zoomTo({ series: one.name, start, stop }));
  });
  data.roles.forEach((name, role) => {
    const columns = new Set();
    one.alarms.forEach(([start, stop], at) => {
      if (one.roles[at] !== role || stop < low || start > high) return;
      const last = Math.min(WIDTH, Math.floor(place(stop)));
      for (let column = Math.max(0, Math.floor(place(start))); column <= last; column += 1) columns.add(column);
    });
    const lines = [...columns].map((column) => `M${column + 0.5} 34V60`).join("");
    if (lines) svg.append(make("path", { class: name.replace(" ", "-"), d: lines }));
  });
  return svg;
}

function zoomTo(row) {
  const [low, high] = span(judged());
  const margin = Math.max(3 * (row.stop - row.start), (high - low) / 200);
  state.view = [row.start - margin, row.stop + margin];
  state.chosen = key(row);
  draw();
}

function zoomBy(factor) {
  const whole = span(judged()), [low, high] = state.view ?? whole;
  const middle = (low + high) / 2, half = ((high - low) * factor) / 2;
  state.view = 2 * half >= whole[1] - whole[0] ? null : [middle - half, middle + half];
  draw();
}

function key(row) {
  return JSON.stringify([row.series, row.start, row.stop]);
}

function axis(view) {
  const place = (time) => `${(100 * (time - view[0])) / (view[1] - view[0])}%`;
  return make("div", { class: "axis small quiet" }, ...ticks(view).map(([time, words]) => {
    const mark = make("span", {}, words);
    mark.style.left = place(time);
    return mark;
  }));
}

function incidentRows(detector) {
  const rows = detector.series.flatMap((one) => one.incidents.map(([start, stop], at) => ({
    series: one.name, start, stop, kind: one.kinds[at], time: one.times[at],
    outcome: !one.counted[at] ? "left out" : one.times[at] === null ? "missed" : "found",
  })));
  const order = { missed: 0, found: 1, "left out": 2 };
  return rows.sort((a, b) => order[a.outcome] - order[b.outcome] || b.time - a.time || a.start - b.start);
}

function table(detector) {
  const rows = incidentRows(detector);
  const hasSeries = rows.some((row) => row.series !== null), hasKind = rows.some((row) => row.kind !== null);
  const names = ["outcome", "start", "lasts", "alarm came", ...(hasKind ? ["kind"] : []), ...(hasSeries ? ["series"] : [])];
  const body = rows.slice(0, MOST_ROWS).map((row) => make("tr", { tabindex: "0",
    class: row.outcome.replace(" ", "-") + (key(row) === state.chosen ? " chosen" : ""),
    onclick: () => zoomTo(row),
    onkeydown: (event) => { if (event.key === "Enter") zoomTo(row); } },
    ...[row.outcome, moment(row.start), duration(row.stop - row.start), lead(row.time),
      ...(hasKind ? [row.kind ?? ""] : []), ...(hasSeries ? [row.series ?? ""] : [])].map((cell) => make("td", {}, cell))));
  const more = rows.length - body.length;
  document.getElementById("incidents").replaceChildren(
    make("thead", {}, make("tr", {}, ...names.map((name) => make("th", {}, name)))),
    make("tbody", {}, ...body),
    ...(more > 0 ? [make("caption", {}, `and ${thousands(more)} more`)] : []));
}

function figure(value, words) {
  return make("div", {}, make("span", { class: "value" }, value), make("span", { class: "quiet" }, words));
}

function draw() {
  const detector = judged(), { incidents, found, repeat, median: middle, falseRate } = detector.figures;
  document.getElementById("sentence").textContent = detector.sentence;
  const [low, high] = detector.limits;
  const limits = low === null ? "" : ` (95 %: ${rate(low * scale())} to ${rate(high * scale())})`;
  const share = incidents ? wilson(found, incidents).map(percent).join(" to ") : "–";
  document.getElementById("figures").replaceChildren(
    figure(`${thousands(found)} of ${thousands(incidents)}`, `incidents found (95 %: ${share})`),
    figure(falseRate === null ? "–" : rate(falseRate), `false alarms per ${data.rate}${limits}`),
    figure(thousands(repeat), "repeats"),
    figure(lead(middle), "time to detect, median"),
    figure(detector.inAlarm === null ? "–" : `${digits(100 * detector.inAlarm, 3)} %`, "of the time in alarm"));
  const view = state.view ?? span(detector);
  document.getElementById("shown").textContent = `${moment(view[0])} to ${moment(view[1])}`;
  document.getElementById("timeline").replaceChildren(...detector.series.flatMap((one) => [
    ...(one.name === null ? [] : [make("p", { class: "small quiet" }, one.name)]), lane(one, view)]), axis(view));
  document.getElementById("rules").textContent = `${detector.rules.join("; ")}.`;
  table(detector);
}

function scale() {
  return data.clock.nanoseconds === null ? 1000 : 1;
}

function controls() {
  const fields = [];
  if (data.detectors.length > 1) {
    const choose = make("select", { id: "detector", onchange: (event) => { state.detector = Number(event.target.value); start(); } },
      ...data.detectors.map((one, place) => make("option", { value: place }, one.scores?.name ?? one.name)));
    choose.value = state.detector;
    fields.push(make("label", {}, "Detector", choose));
  }
  const scores = data.detectors[state.detector].scores;
  if (scores) {
    const most = scores.thresholds.length, lowest = Math.min(scores.lowest, most);
    const shown = make("output", { id: "threshold" });
    /* The highest thresholds matter most: positions go with the logarithm of how many lie at or above. */
    const fullest = Math.log1p(most - lowest) || 1;
    const move = (rank) => {
      state.rank = Math.min(Math.max(rank, lowest), most);
      slider.value = Math.round(POSITIONS * (1 - Math.log1p(most - state.rank) / fullest));
      shown.textContent = state.rank < most ? `scores from ${digits(scores.thresholds[state.rank], 6)} on` : "never";
      draw();
    };
    const moveTo = (position) => move(most - Math.round(Math.expm1(fullest * (1 - position / POSITIONS))));
    const slider = make("input", { type: "range", id: "level", min: 0, max: POSITIONS, step: 1,
      oninput: (event) => moveTo(Number(event.target.value)) });
    const step = (words, name, by) => make("button", { type: "button", id: name, title: `the ${words} threshold`,
      onclick: () => move(state.rank + by) }, by < 0 ? "−" : "+");
    fields.push(make("label", { class: "wide" }, "Threshold", slider), step("next lower", "lower", -1),
      step("next higher", "higher", 1), shown);
    for (const [budget, threshold] of Object.entries(scores.budgets)) {
      if (threshold === null) continue;
      const rank = scores.thresholds.indexOf(threshold), [count, per] = budget.split("/");
      const words = per === "1d" ? `${count} false alarm${count === "1" ? "" : "s"} per day` : `${budget} false alarms`;
      fields.push(make("button", { type: "button", class: "budget", onclick: () => move(rank) }, words));
    }
    document.getElementById("controls").replaceChildren(...fields);
    move(scores.start);
    return;
  }
  if (data.tooLong) fields.push(make("span", { class: "quiet" }, "No slider: there are too many steps for a page."));
  document.getElementById("controls").replaceChildren(...fields);
  draw();
}

function start() {
  Object.assign(state, { rank: null, view: null, chosen: null });
  controls();
}

for (const detector of data.detectors) if (detector.scores) unpack(detector.scores);
document.getElementById("whole").addEventListener("click", () => { Object.assign(state, { view: null, chosen: null }); draw(); });
document.getElementById("nearer").addEventListener("click", () => zoomBy(0.5));
document.getElementById("farther").addEventListener("click", () => zoomBy(2));
document.getElementById("tables").replaceChildren(...data.tables.map(([columns, rows]) => make("div", { class: "scroll" }, make("table", {},
  make("thead", {}, make("tr", {}, ...columns.map((name) => make("th", {}, name)))),
  make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map((cell) => make("td", {}, cell)))))))));
document.getElementById("legend").replaceChildren(
  ...[["incident", "incident found"], ["missed", "incident missed"], ["left-out", "incident left out"], ["unobserved", "not observed"],
    ...data.roles.map((name) => [`role ${name.replace(" ", "-")}`, `${name} alarm`])].map(([kind, words]) =>
    make("span", {}, make("span", { class: `swatch ${kind}` }), words)));
start();
