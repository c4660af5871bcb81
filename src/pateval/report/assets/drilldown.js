// The drill-down itself: timeline, threshold slider, precision-recall curve and event table, all of one state.

class Drilldown {
  constructor(block, entry, detector, place) {
    Object.assign(this, { block, entry, detector, place });
    this.frame = entry.frame ?? block;
    this.steps = this.frame.steps;
    this.events = this.frame.events;
    this.levels = entry.thresholds.length;
    this.inTime = board.buffers.unit === "s" && Boolean(this.frame.times);
  }

  async unpack() {
    const { block, entry, frame } = this;
    this.ranks = await unpack(entry.ranks);
    this.values = block.values && !entry.frame ? await unpackValues(block.values) : null;
    this.times = frame.times ? await unpackTimes(frame.times, this.steps) : null;
    this.positions = frame.positions ? await unpackTimes(frame.positions, this.steps) : null;
    this.scores = new Float64Array(this.steps);
    for (let i = 0; i < this.steps; i++) this.scores[i] = this.ranks[i] ? entry.thresholds[this.ranks[i] - 1] : NaN;
    this.flagged = flaggedCounts(this.ranks, this.levels);
  }

  elements(state) {
    const whole = (text, otherwise) => (/^\d+$/.test(text ?? "") ? Number(text) : otherwise);
    const length = (text, otherwise) => (/^\d+(\.\d+)?$/.test(text ?? "") ? Number(text) : otherwise);
    this.early = length(state.early, board.buffers.early);
    this.delay = length(state.delay, board.buffers.delay);
    const usual = Object.values(this.entry.marks)[0] ?? Math.max(0, this.levels - 1);
    this.level = Math.min(whole(state.level, usual), this.levels);
    this.event = null;
    this.build();
    this.setBuffers();
    this.setLevel();
    const axis = this.timeline.model.axis;
    if (Number.isFinite(Number(state.from)) && state.to) this.timeline.show(axis.begin + Number(state.from), axis.begin + Number(state.to));
    if (state.event !== undefined && this.events[whole(state.event, -1)]) this.chooseEvent(whole(state.event, 0), !state.to);
    return this.parts;
  }

  build() {
    const axis = makeAxis(this.steps, this.times ?? this.positions, this.times && this.frame.times.dates), { thresholds } = this.entry;
    const panels = [];
    const bounds = (curve, pad) => {
      const [low, high] = extent(curve, 0, this.steps), room = (high - low || 1) * pad;
      return { low: low - room, high: high + room };
    };
    if (this.values) {
      const curve = summarise(this.values);
      panels.push({ name: "value", curve, height: 110, colour: () => colour("ink"), ...bounds(curve, 0.04) });
    }
    const curve = summarise(this.scores);
    panels.push({ name: "score", curve, height: this.values ? 130 : 170, colour: () => colour("accent"), ...bounds(curve, 0.06), threshold: () => thresholds[this.level] });
    this.timeline = new Timeline({
      axis, panels, label: this.label(), zones: () => this.zones,
      category: (step) => categoryOf(this.map.kinds[step], this.map.owners[step] >= 0 && this.found.events[this.map.owners[step]].detected, this.ranks[step] > this.level),
      pointed: (step) => this.readOut(step),
      moved: (from, to) => keep(from === axis.begin && to === axis.end ? { from: null, to: null } : { from: round(from - axis.begin), to: round(to - axis.begin) }),
    });
    this.slider = make("input", { type: "range", id: "level", min: 0, max: this.levels, step: 1, oninput: () => { this.level = Number(this.slider.value); this.setLevel(); } });
    this.slider.value = this.level;
    this.threshold = make("output", { class: "threshold", for: "level" });
    this.reading = make("p", { class: "reading" });
    this.sums = make("dl", { class: "sums" });
    this.legend = make("ul", { class: "legend" });
    this.curveChart = new CurveChart((level) => { this.level = level; this.slider.value = level; this.setLevel(); });
    this.eventBody = make("tbody");
    this.moreEvents = make("button", { type: "button", hidden: true, onclick: () => { this.showsAll = true; this.drawEvents(); } });
    const buffer = (name, label) => {
      const input = make("input", { type: "number", id: name, min: 0, step: this.inTime ? "any" : 1, value: this[name], onchange: () => {
        const value = this.inTime ? Number(input.value) : Math.floor(Number(input.value));
        this[name] = Number.isFinite(value) && value >= 0 ? value : 0;
        input.value = this[name];
        keep({ [name]: this[name] });
        this.setBuffers();
        this.setLevel();
      } });
      return make("span", { class: "field short" }, make("label", { for: name }, label), input);
    };
    const press = (label, action, title) => make("button", { type: "button", onclick: action, title }, label);
    const marks = Object.entries(this.entry.marks).map(([name, level]) => press(name, () => { this.level = level; this.slider.value = level; this.setLevel(); }, "Move the threshold there"));
    const { timeline } = this, unit = this.inTime ? "seconds" : "steps";
    this.parts = [
      make("section", { class: "card drill" },
        make("div", { class: "tools", role: "group", "aria-label": "Timeline" }, press("Zoom in", () => timeline.zoom(0.5)), press("Zoom out", () => timeline.zoom(2)),
          press("Whole", () => timeline.show(axis.begin, axis.end)), press("◂ Event", () => this.step(-1), "Key p"), press("Event ▸", () => this.step(1), "Key n"),
          make("span", { class: "hint" }, "Drag to pan; keys: arrows, + −, 0, n and p for events")),
        timeline.element, this.reading, this.legend),
      make("div", { class: "columns drill-columns" },
        make("section", { class: "card" }, make("h2", {}, "Threshold and buffers"),
          make("p", { class: "field slider" }, make("label", { for: "level" }, "Threshold"), this.slider, this.threshold),
          make("div", { class: "controls tight" }, marks, buffer("early", `Early buffer, ${unit}`), buffer("delay", `Delay buffer, ${unit}`)),
          this.sums,
          make("p", { class: "note" }, this.entry.distinct > this.levels ? `${this.levels.toLocaleString("en")} of ${this.entry.distinct.toLocaleString("en")} distinct scores are levels of this slider; at each of them everything here is exact.`
            : `All ${count(this.levels, "distinct score")} are levels of this slider; everything here is exact.`)),
        make("section", { class: "card" }, make("h2", {}, "Precision and recall"), this.curveChart.element,
          make("p", { class: "note" }, "Proximity-weighted, as PATE counts; click the curve to go there."))),
      make("section", { class: "card" }, make("h2", {}, "Events, worst first"),
        scrolling("Events", make("table", { class: "board events" }, make("thead", {}, make("tr", {},
          ["Event", "From", "To", "Found", "Covered", "Onset", "Lead", "TP", "FP", "FN"].map((name, k) => make("th", { scope: "col", class: k && k !== 3 ? "number" : "" }, name)))), this.eventBody)), this.moreEvents),
      valuesHere(this.detector, this.place),
    ];
    this.parts[0].addEventListener("keydown", (event) => this.press(event));
    this.parts[2].addEventListener("keydown", (event) => this.press(event));
  }

  label() {
    return `Timeline of ${this.detector}: ${count(this.steps, "step")}, ${count(this.events.length, "event")}; the event table below says the same in words`;
  }

  press(event) {
    if (event.target.matches("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "n") this.step(1);
    if (event.key === "p") this.step(-1);
  }

  setBuffers() {
    // Buffers are measured in time where the leaderboard did so, otherwise in steps as they were recorded.
    const scale = this.inTime ? 1000 / (this.frame.times.milliseconds ?? 1) : 1, clock = this.inTime ? this.times : this.positions;
    this.zones = findZones(this.events, this.steps, this.early * scale, this.delay * scale, clock, this.frame.breaks);
    this.map = mapSteps(this.zones, this.steps);
    this.points = this.events.length ? curve(this.zones, this.ranks, this.levels, this.flagged) : [];
    this.curveChart.draw(this.points);
  }

  setLevel() {
    const { thresholds } = this.entry, flagged = this.flagged[this.level];
    this.found = explainLevel(this.zones, this.ranks, this.level, flagged);
    const above = this.level >= this.levels, said = above ? "above every score" : `score ≥ ${thresholds[this.level]}`;
    this.threshold.textContent = said;
    this.slider.setAttribute("aria-valuetext", `${said}, ${count(flagged, "step")} flagged`);
    this.curveChart.move(this.found);
    const rows = { "Steps flagged": flagged.toLocaleString("en"), Precision: figure(this.found.precision, 4), Recall: figure(this.found.recall, 4), F1: figure(this.found.f1, 4),
      "TP weight": figure(this.found.tp, 2), "FP weight": figure(this.found.fp, 2), "FN weight": figure(this.found.fn, 2) };
    this.sums.replaceChildren(...Object.entries(rows).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
    this.legend.replaceChildren(...CATEGORIES.slice(1).map((name, k) => make("li", {}, make("span", { class: `swatch ${name.replaceAll(" ", "-")}`, "aria-hidden": "true" }), `${name} `,
      make("span", { class: "quiet" }, this.found.categories[k + 1].toLocaleString("en")))));
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
    const rows = this.found.events.map((event, k) => ({ ...event, k })).sort((a, b) => b.fn + b.fp - a.fn - a.fp || a.k - b.k);
    this.order = rows.map((row) => row.k);
    if (!rows.length) {
      this.eventBody.replaceChildren(make("tr", {}, make("td", { colspan: 10 }, "No event: PATE is undefined here; whatever is flagged is a false alarm.")));
      return;
    }
    const when = (step) => this.when(step);
    const cell = (value) => make("td", { class: "number" }, value);
    const shown = this.showsAll ? rows : rows.slice(0, MOST_EVENTS);
    this.moreEvents.hidden = shown.length === rows.length;
    this.moreEvents.textContent = `Show all ${rows.length.toLocaleString("en")} events`;
    this.eventBody.replaceChildren(...shown.map((row) => make("tr", { class: row.k === this.event ? "chosen" : null, "data-event": row.k },
      make("th", { scope: "row" }, make("button", { type: "button", class: "plain", "aria-pressed": String(row.k === this.event), onclick: () => this.chooseEvent(row.k, true) }, `${row.k + 1}`)),
      cell(when(row.start)), cell(when(row.stop - 1)), make("td", {}, row.detected ? "yes" : "no"), cell(percent(row.coverage)), cell(row.onset ?? "–"), cell(row.lead ?? "–"),
      cell(figure(row.tp, 2)), cell(figure(row.fp, 2)), cell(figure(row.fn, 2)))));
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
    if (!this.events.length) return;
    const from = this.event === null ? (direction > 0 ? -1 : this.events.length) : this.event;
    this.chooseEvent((from + direction + this.events.length) % this.events.length, true);
  }

  chooseEvent(k, isShown) {
    this.event = this.timeline.event = k;
    const [start, stop] = this.events[k], { before, after } = this.zones[k], row = this.found.events[k];
    const room = Math.max(20, 2 * (stop - start), before + 10, after + 10);
    if (isShown) this.timeline.showSteps(Math.max(0, start - room), Math.min(this.steps, stop + room));
    this.markEvent();
    this.timeline.draw();
    keep({ event: k });
    say(`Event ${k + 1} of ${this.events.length}, from ${this.when(start)} to ${this.when(stop - 1)}: ${row.detected ? `found, ${percent(row.coverage)} covered, onset after ${count(row.onset, "step")}` : "missed"}.`);
  }

  // A step as people name it: its time, or its number in the recording.
  when(step) {
    if (this.times) return this.frame.times.dates ? dateText(this.times[step], 60) : shortNumber(this.times[step]);
    return (this.positions ? this.positions[step] : step).toLocaleString("en");
  }

  readOut(step) {
    if (step === null) { this.reading.textContent = "\u00a0"; return; }
    const number = this.positions ? this.positions[step] : step, isDate = this.times && this.frame.times.dates;
    this.reading.textContent = [`step ${number.toLocaleString("en")}`,
      isDate ? new Date(this.times[step]).toISOString().slice(0, 19).replace("T", " ") : this.times ? `time ${shortNumber(this.times[step])}` : "",
      this.values ? `value ${shortNumber(this.values[step])}` : "", Number.isNaN(this.scores[step]) ? "no score" : `score ${shortNumber(this.scores[step])}`,
      CATEGORIES[this.timeline.model.category(step)]].filter(Boolean).join(" · ");
  }
}

const MOST_EVENTS = 40; // rows that can be written anew while a slider moves

function round(value) {
  return Math.round(value * 1000) / 1000;
}
