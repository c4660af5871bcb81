// When each step was recorded: on which clock buffers are measured, and how a time is written.
// Times are packed exactly: as offsets from the first step in whole ticks, or as the numbers that were given.

import { unpackNumbers } from "./unpack.js";

const SECOND = 1e9; // nanoseconds
// Seconds between two marks on an axis of dates.
const SPANS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 1209600,
  2592000, 7776000, 31536000];

export class Clock {
  constructor(packed, offsets) {
    Object.assign(this, packed);
    this.offsets = offsets;
  }

  static async unpack(packed, steps) {
    return new Clock(packed, await unpackNumbers(packed.offsets, steps));
  }

  // Whether a length in seconds means something here.
  get isTimed() { return this.nanoseconds !== null; }

  // Seconds in ticks. A buffer is a whole number of nanoseconds, and seconds with decimals are not exact.
  ticks(seconds) { return Math.round(seconds * SECOND) / this.nanoseconds / this.tick; }

  // Where a step lies on the axis: in nanoseconds after the first for dates, else in the unit of the times.
  at(step) { return this.offsets[step] * this.tick; }

  text(position, spacing = this.spacing) {
    return this.dates ? this.dateText(position, spacing) : numberText(this.first + position);
  }

  // Nanoseconds from one step to the next, as a rule.
  get spacing() {
    const last = this.offsets.length - 1;
    return last > 0 ? (this.at(last) - this.at(0)) / last : SECOND;
  }

  // A date, as precise as marks that far apart ask for.
  dateText(position, spacing) {
    const [seconds, nanoseconds] = this.first;
    const whole = Math.floor((nanoseconds + position) / SECOND);
    const text = new Date((seconds + whole) * 1000).toISOString();
    if (spacing >= 86400 * SECOND) return text.slice(0, 10);
    if (spacing >= 60 * SECOND) return `${text.slice(5, 10)} ${text.slice(11, 16)}`;
    if (spacing >= SECOND) return text.slice(11, 19);
    const fraction = String(Math.round(nanoseconds + position - whole * SECOND)).padStart(9, "0");
    const digits = Math.min(9, Math.ceil(9 - Math.log10(Math.max(spacing, 1))));
    return `${text.slice(11, 19)}.${fraction.slice(0, digits)}`;
  }

  // The whole date, to the second at least.
  longText(position) {
    if (!this.dates) return `time ${this.text(position)}`;
    const seconds = this.dateText(position, Math.min(this.spacing, SECOND));
    return `${this.dateText(position, 86400 * SECOND)} ${seconds}`;
  }

  // Marks on the axis between two positions: where they lie and what they say.
  marks(low, high, most) {
    if (!this.dates) {
      return ticks(this.first + low, this.first + high, most)
        .map((value) => [value - this.first, numberText(value)]);
    }
    const raw = (high - low) / Math.max(most, 1);
    if (raw < SECOND) return ticks(low, high, most).map((value) => [value, this.dateText(value, raw)]);
    const span = (SPANS.find((each) => each * SECOND >= raw) ?? Math.ceil(raw / SECOND)), step = span * SECOND;
    // Marks stand at round times of the day, wherever the series begins.
    const [seconds, nanoseconds] = this.first, phase = (seconds % span) * SECOND + nanoseconds;
    const found = [];
    for (let value = Math.ceil((low + phase) / step) * step - phase; value <= high; value += step) {
      found.push([value, this.dateText(value, step)]);
    }
    return found;
  }
}

// Positions on the horizontal axis: by a clock, by numbers of steps, or, where both are null, one after the other.
export function makeAxis(steps, clock, numbers) {
  const place = clock ? (step) => clock.at(step) : numbers ? (step) => numbers[step] : (step) => step;
  const at = (step) => place(Math.min(Math.max(step, 0), steps - 1));
  const begin = at(0), mean = steps > 1 ? (at(steps - 1) - begin) / (steps - 1) : 1;
  // The first step at or after a position.
  const stepAt = (position) => {
    let low = 0, high = steps;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(middle) < position) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const marks = (low, high, most) => (clock ? clock.marks(low, high, most)
    : ticks(low, high, most).map((value) => [value, numberText(value)]));
  return { steps, at, begin, end: at(steps - 1) + mean, stepAt, marks };
}

function numberText(value) {
  return value.toLocaleString("en", { maximumFractionDigits: 9 });
}

// Round numbers between two limits.
export function ticks(low, high, most) {
  const raw = (high - low) / Math.max(most, 1), power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw) ?? raw;
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) {
    found.push(Math.abs(value) < step * 1e-9 ? 0 : value);
  }
  return found;
}
