// When each step was recorded: on which clock buffers are measured, and how a time is written.
// Times are packed exactly: as offsets from the first step in whole ticks, or as the numbers that were given.

import { unpackNumbers } from "./unpack.js";

const SECOND = 1e9; // nanoseconds
const UNITS = [["d", 86400e9], ["h", 3600e9], ["min", 60e9], ["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];
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

  // When a step was, as short as it can be written: seconds and fractions only where there are some.
  text(step) {
    const position = this.at(step);
    if (!this.dates) return numberText(this.first + position);
    const [seconds, nanoseconds] = this.first, whole = Math.floor((nanoseconds + position) / SECOND);
    const date = new Date((seconds + whole) * 1000).toISOString();
    const fraction = String(Math.round(nanoseconds + position - whole * SECOND)).padStart(9, "0");
    const digits = fraction.replace(/(000)+$/, ""), small = digits ? `.${digits}` : "";
    const isWhole = date.slice(17, 19) === "00" && !small;
    return `${date.slice(0, 10)} ${date.slice(11, 16)}${isWhole ? "" : `:${date.slice(17, 19)}${small}`}`;
  }

  // The same of a later step; the day is said once.
  textAfter(step, earlier) {
    const [text, before] = [this.text(step), this.text(earlier)];
    return this.dates && text.slice(0, 10) === before.slice(0, 10) ? text.slice(11) : text;
  }

  // How long it is from one step to another, in words.
  duration(from, to) { return durationText((this.offsets[to] - this.offsets[from]) * this.tick * this.nanoseconds); }

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

// A length of time in the largest sensible unit, and the next one where that says more; as Python's `duration_words`.
export function durationText(nanoseconds) {
  const left = Math.round(Math.abs(nanoseconds)), place = UNITS.findIndex(([, size]) => left >= size);
  if (place < 0) return "0 s";
  const [unit, size] = UNITS[place];
  if (size <= SECOND) return `${Number((left / size).toPrecision(3))} ${unit}`;
  if (unit === "min" && left >= 10 * size) return `${evenRounded(left / size)} ${unit}`;
  const [smaller, smallerSize] = UNITS[place + 1], per = size / smallerSize;
  const all = evenRounded(left / smallerSize), rest = all % per;
  return `${Math.floor(all / per)} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;
}

// Halves go to the even number, as Python rounds.
function evenRounded(value) {
  const whole = Math.floor(value);
  return value - whole === 0.5 ? whole + (whole % 2) : Math.round(value);
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
