// One detector on one series: timeline, threshold slider, precision-recall curve and event table, all of one state.

import { keep } from "./address.js";
import { CurveChart } from "./charts.js";
import { Clock, makeAxis } from "./clock.js";
import { colour, count, field, figure, make, numberCell, percent, say, scrolling, shortNumber } from "./elements.js";
import { CATEGORIES, categoryOf, curve, explainLevel, findZones, flaggedCounts, mapSteps } from "./pate.js";
import { Timeline, extent, summarise } from "./timeline.js";
import { board, unpack, unpackNumbers, unpackValues } from "./unpack.js";

const MOST_EVENTS = 40; // rows that can be written anew while a slider moves
const COLUMNS = ["Event", "From", "To", "Found", "Covered", "Onset", "Lead", "TP", "FP", "FN"];

export class Drilldown {
  // Everything that is packed, unpacked.
  static async unpack(block, entry, detector) {
    const self = new Drilldown(), frame = entry.frame ?? block, { steps, events } = frame;
    const ranks = await unpack(entry.ranks), levels = entry.thresholds.length;
    Object.assign(self, {
      entry, detector, frame, steps, events, ranks, levels,
      values: block.values && !entry.frame ? await unpackValues(block.values) : null,
      clock: frame.clock ? await Clock.unpack(frame.clock, steps) : null,
      numbers: frame.numbers ? await unpackNumbers(frame.numbers, steps) : null,
      scores: Float64Array.from(ranks, (rank) => (rank ? entry.thresholds[rank - 1] : NaN)),
      flagged: flaggedCounts(ranks, levels),
      event: null,
    });
    self.inTime = board.buffers.unit === "s" && Boolean(self.clock?.isTimed);
    return self;
  }

  elements(state) {
    const whole = (text, otherwise) => (/^\d+$/.test(text ?? "") ? Number(text) : otherwise);
    const length = (text, otherwise) => (/^\d+(\.\d+)?(e[+-]?\d+)?$/.test(text ?? "") ? Number(text) : otherwise);
    this.early = length(state.early, board.buffers.early);
    this.delay = length(state.delay, board.buffers.delay);
    // The first mark is the threshold of the values above.
    const usual = this.entry.marks[0]?.[1] ?? Math.max(0, this.levels - 1);
    this.level = Math.min(whole(state.level, usual), this.levels);
    const parts = this.build();
    this.setBuffers();
    this.setLevel();
    const { begin } = this.timeline.model.axis, [from, to] = [Number(state.from), Number(state.to)];
    if (Number.isFinite(from) && to) this.timeline.show(begin + from, begin + to);
    if (this.events[whole(state.event, -1)]) this.chooseEvent(whole(state.event, 0), !state.to);
    return parts;
  }

  build() {
    this.timeline = this.makeTimeline();
    this.threshold = make("output", { class: "threshold", for: "level" });
    this.slider = make("input", { type: "range", id: "level", min: 0, max: this.levels, step: 1,
      oninput: () => this.moveTo(Number(this.slider.value)) });
    this.slider.value = this.level;
    this.sums = make("dl", { class: "sums" });
    this.curveChart = new CurveChart((level) => this.moveTo(level));
    return [
      this.timelineCard(),
      make("div", { class: "columns drill-columns" },
        this.thresholdCard(),
        make("section", { class: "card" }, make("h2", {}, "Precision and recall"), this.curveChart.element,
          make("p", { class: "note" }, "Proximity-weighted, as PATE counts; click the curve to go there."))),
      this.eventsCard(),
    ];
  }

  makeTimeline() {
    const axis = makeAxis(this.steps, this.clock, this.numbers), { thresholds } = this.entry, panels = [];
    const panel = (name, numbers, height, paint, pad, more) => {
      const summary = summarise(numbers), [low, high] = extent(summary, 0, this.steps);
      const room = (high - low || 1) * pad;
      panels.push({ name, curve: summary, height, colour: () => colour(paint), low: low - room, high: high + room,
        ...more });
    };
    if (this.values) panel("value", this.values, 110, "ink", 0.04);
    panel("score", this.scores, this.values ? 130 : 170, "accent", 0.06, { threshold: () => thresholds[this.level] });
    return new Timeline({
      axis, panels, zones: () => this.zones, category: (step) => this.category(step),
      label: `Timeline of ${this.detector}: ${count(this.steps, "step")}, ${count(this.events.length, "event")}; `
        + "the event table below says the same in words",
      pointed: (step) => this.readOut(step),
      moved: (from, to) => {
        const isWhole = from === axis.begin && to === axis.end;
        keep(isWhole ? { from: null, to: null } : { from: round(from - axis.begin), to: round(to - axis.begin) });
      },
    });
  }

  category(step) {
    const owner = this.map.owners[step], isFound = owner >= 0 && this.found.events[owner].detected;
    return categoryOf(this.map.kinds[step], isFound, this.ranks[step] > this.level);
  }

  timelineCard() {
    this.reading = make("p", { class: "reading" });
    this.legend = make("ul", { class: "legend" });
    const { timeline } = this, { axis } = timeline.model;
    const card = make("section", { class: "card drill" },
      make("div", { class: "tools", role: "group", "aria-label": "Timeline" },
        button("Zoom in", () => timeline.zoom(0.5)), button("Zoom out", () => timeline.zoom(2)),
        button("Whole", () => timeline.show(axis.begin, axis.end)),
        button("◂ Event", () => this.step(-1), "Key p"), button("Event ▸", () => this.step(1), "Key n"),
        make("span", { class: "hint" }, "Drag to pan; keys: arrows, + −, 0, n and p for events")),
      timeline.element, this.reading, this.legend);
    card.addEventListener("keydown", (event) => this.press(event));
    return card;
  }

  thresholdCard() {
    const unit = this.inTime ? "seconds" : "steps", { distinct, marks } = this.entry;
    const levels = this.levels.toLocaleString("en");
    const buttons = marks.map(([name, level]) => button(name, () => this.moveTo(level), "Move the threshold there"));
    return make("section", { class: "card" }, make("h2", {}, "Threshold and buffers"),
      make("p", { class: "field slider" },
        make("label", { for: "level" }, "Threshold"), this.slider, this.threshold),
      make("div", { class: "controls tight" }, buttons,
        this.bufferField("early", `Early buffer, ${unit}`), this.bufferField("delay", `Delay buffer, ${unit}`)),
      this.sums,
      make("p", { class: "note" }, distinct > this.levels
        ? `${levels} of ${distinct.toLocaleString("en")} distinct scores are levels of this slider; `
          + "at each of them everything here is exact."
        : `All ${count(this.levels, "distinct score")} are levels of this slider; everything here is exact.`));
  }

  bufferField(name, label) {
    const input = make("input", { type: "number", id: name, min: 0, step: this.inTime ? "any" : 1, value: this[name] });
    input.addEventListener("change", () => {
      const value = this.inTime ? Number(input.value) : Math.floor(Number(input.value));
      this[name] = Number.isFinite(value) && value >= 0 ? value : 0;
      input.value = this[name];
      keep({ [name]: this[name] });
      this.setBuffers();
      this.setLevel();
    });
    return field(label, input, "short");
  }

  eventsCard() {
    this.eventBody = make("tbody");
    this.moreEvents = make("button", { type: "button", hidden: true, onclick: () => {
      this.showsAll = true;
      this.drawEvents();
    } });
    const heads = COLUMNS.map((name, k) => make("th", { scope: "col", class: k && k !== 3 ? "number" : "" }, name));
    return make("section", { class: "card" }, make("h2", {}, "Events, worst first"),
      scrolling("Events", make("table", { class: "board events" },
        make("thead", {}, make("tr", {}, heads)), this.eventBody)),
      this.moreEvents);
  }

  press(event) {
    if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n") this.step(1);
    if (event.key === "p") this.step(-1);
  }

  moveTo(level) {
    this.level = level;
    this.slider.value = level;
    this.setLevel();
  }

  setBuffers() {
    // Buffers are measured in time where the leaderboard did so, otherwise in steps as they were recorded.
    const { clock, inTime } = this, [early, delay] = [this.early, this.delay].map((length) =>
      (inTime ? clock.ticks(length) : length));
    this.zones = findZones(this.events, this.steps, early, delay, {
      times: inTime ? clock.offsets : this.numbers, tolerance: inTime ? clock.tolerance : 0, breaks: this.frame.breaks,
    });
    this.map = mapSteps(this.zones, this.steps);
    this.curveChart.draw(this.events.length ? curve(this.zones, this.ranks, this.levels, this.flagged) : []);
  }

  setLevel() {
    const flagged = this.flagged[this.level];
    const found = this.found = explainLevel(this.zones, this.ranks, this.level, flagged);
    const isAbove = this.level >= this.levels;
    const said = isAbove ? "above every score" : `score ≥ ${this.entry.thresholds[this.level]}`;
    this.threshold.textContent = said;
    this.slider.setAttribute("aria-valuetext", `${said}, ${count(flagged, "step")} flagged`);
    this.curveChart.move(found);
    const rows = {
      "Steps flagged": flagged.toLocaleString("en"),
      Precision: figure(found.precision, 4), Recall: figure(found.recall, 4), F1: figure(found.f1, 4),
      "TP weight": figure(found.tp, 2), "FP weight": figure(found.fp, 2), "FN weight": figure(found.fn, 2),
    };
    this.sums.replaceChildren(...Object.entries(rows).map(([name, value]) =>
      make("div", {}, make("dt", {}, name), make("dd", {}, value))));
    this.legend.replaceChildren(...CATEGORIES.slice(1).map((name, k) => make("li", {},
      make("span", { class: `swatch ${name.replaceAll(" ", "-")}`, "aria-hidden": "true" }), `${name} `,
      make("span", { class: "quiet" }, found.categories[k + 1].toLocaleString("en")))));
    this.drawEventsSoon();
    keep({ level: this.level });
    this.timeline.draw();
  }

  // However fast the slider moves, the table is written once per frame.
  drawEventsSoon() {
    if (!this.eventBody.children.length) this.drawEvents();
    else this.waits ??= requestAnimationFrame(() => { this.waits = null; this.drawEvents(); });
  }

  drawEvents() {
    const rows = this.found.events.map((event, k) => ({ ...event, k }))
      .sort((a, b) => b.fn + b.fp - a.fn - a.fp || a.k - b.k);
    if (!rows.length) {
      const text = "No event: PATE is undefined here; whatever is flagged is a false alarm.";
      this.eventBody.replaceChildren(make("tr", {}, make("td", { colspan: COLUMNS.length }, text)));
      return;
    }
    const shown = this.showsAll ? rows : rows.slice(0, MOST_EVENTS);
    this.moreEvents.hidden = shown.length === rows.length;
    this.moreEvents.textContent = `Show all ${rows.length.toLocaleString("en")} events`;
    this.eventBody.replaceChildren(...shown.map((row) => this.eventRow(row)));
  }

  eventRow(row) {
    const isChosen = row.k === this.event;
    const choose = make("button", { type: "button", class: "plain", "aria-pressed": String(isChosen),
      onclick: () => this.chooseEvent(row.k, true) }, `${row.k + 1}`);
    return make("tr", { class: isChosen ? "chosen" : null, "data-event": row.k }, make("th", { scope: "row" }, choose),
      numberCell(this.when(row.start)), numberCell(this.until(row)),
      make("td", {}, row.detected ? "yes" : "no"), numberCell(percent(row.coverage)),
      numberCell(row.detected ? this.between(row.start, row.onset) : "–"),
      numberCell(row.earliest === null ? "–" : this.between(row.earliest, row.start)),
      numberCell(figure(row.tp, 2)), numberCell(figure(row.fp, 2)), numberCell(figure(row.fn, 2)));
  }

  markEvent() {
    for (const row of this.eventBody.children) {
      const isChosen = Number(row.dataset.event) === this.event;
      row.className = isChosen ? "chosen" : "";
      row.querySelector("button")?.setAttribute("aria-pressed", String(isChosen));
    }
  }

  // Go through the events in time.
  step(direction) {
    const size = this.events.length;
    if (!size) return;
    const from = this.event === null ? (direction > 0 ? -1 : size) : this.event;
    this.chooseEvent((from + direction + size) % size, true);
  }

  chooseEvent(k, isShown) {
    this.event = this.timeline.event = k;
    const [start, stop] = this.events[k], { before, after } = this.zones[k], row = this.found.events[k];
    const room = Math.max(20, 2 * (stop - start), before + 10, after + 10);
    if (isShown) this.timeline.showSteps(Math.max(0, start - room), Math.min(this.steps, stop + room));
    this.markEvent();
    this.timeline.draw();
    keep({ event: k });
    const fate = row.detected
      ? `found, ${percent(row.coverage)} covered, onset after ${this.between(start, row.onset, true)}` : "missed";
    say(`Event ${k + 1} of ${this.events.length}, from ${this.when(start)} to ${this.until(row)}: ${fate}.`);
  }

  // A step as people name it: its time, or its number in the recording.
  when(step) {
    return this.clock ? this.clock.text(step) : this.number(step);
  }

  // The last step of an event.
  until({ start, stop }) {
    return this.clock ? this.clock.textAfter(stop - 1, start) : this.number(stop - 1);
  }

  // How long it is from one step to another: a duration where there is a clock, else a number of steps.
  between(from, to, isSentence = false) {
    if (this.clock?.isTimed) return this.clock.duration(from, to);
    const steps = this.numbers ? this.numbers[to] - this.numbers[from] : to - from;
    return isSentence ? count(steps, "step") : steps.toLocaleString("en");
  }

  number(step) {
    return (this.numbers ? this.numbers[step] : step).toLocaleString("en");
  }

  readOut(step) {
    if (step === null) {
      this.reading.textContent = "\u00a0";
      return;
    }
    const score = this.scores[step];
    this.reading.textContent = [
      this.clock ? `${this.clock.dates ? "" : "time "}${this.clock.text(step)}` : `step ${this.number(step)}`,
      this.values ? `value ${shortNumber(this.values[step])}` : "",
      Number.isNaN(score) ? "no score" : `score ${shortNumber(score)}`, CATEGORIES[this.category(step)],
    ].filter(Boolean).join(" · ");
  }
}

function button(label, onclick, title) {
  return make("button", { type: "button", onclick, title }, label);
}

function round(value) {
  return Math.round(value * 1000) / 1000;
}
