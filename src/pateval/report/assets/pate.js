// PATE on one series, from its definition: events, buffers and flagged steps in, categories and weights out.
// Nothing here touches the page. A score is a rank: a step is flagged at level k where its rank is above k.

export const CATEGORIES = ["quiet", "true detection", "early", "delayed", "outside", "partly missed", "totally missed"];
export const QUIET = 0;
export const TRUE = 1;
export const EARLY = 2;
export const DELAYED = 3;
export const OUTSIDE = 4;
export const PARTLY = 5;
export const TOTALLY = 6;
// Kinds of places that a step can be in; 0 is none of them.
const INSIDE = 1, AFTER = 2, BEFORE = 3;

// Where the zones of each event lie, and what a flagged step in them is worth. Buffers are in the unit of `times`, null
// for plain steps; differences below `tolerance` are rounding. No zone reaches across one of the `breaks`.
export function findZones(events, steps, early, delay, { times = null, tolerance = 0, breaks = [] } = {}) {
  const distance = (from, to) => (times ? times[to] - times[from] : to - from);
  const zones = events.map(([start, stop], k) => ({
    start,
    stop,
    half: distance(start, stop - 1) / 2,
    freeAfter: Math.min(events[k + 1]?.[0] ?? steps, breaks.find((each) => each >= stop) ?? steps) - stop,
    freeBefore: start - Math.max(events[k - 1]?.[1] ?? 0, breaks.findLast((each) => each <= start) ?? 0),
  }));
  zones.forEach((zone, k) => {
    const last = zone.stop - 1;
    zone.afterReach = Math.min(delay, distance(last, last + zone.freeAfter));
    zone.after = countWithin(zone.freeAfter, (x) => distance(last, last + x) <= zone.afterReach + tolerance);
    // Steps may also lie after the event before, whose delayed zone has priority.
    const isShared = k > 0 && zone.start - zone.freeBefore === zones[k - 1].stop;
    const left = zone.freeBefore - (isShared ? zones[k - 1].after : 0);
    zone.beforeReach = Math.min(early, distance(zone.start - left, zone.start));
    zone.before = countWithin(left, (x) => distance(zone.start - x, zone.start) <= zone.beforeReach + tolerance);
  });
  for (const zone of zones) {
    zone.afterWeight = (x) => zoneWeight(zone.afterReach, distance(zone.stop - 1, zone.stop - 1 + x), zone.half);
    zone.beforeWeight = (x) => zoneWeight(zone.beforeReach, distance(zone.start - x, zone.start), zone.half);
  }
  return zones;
}

function countWithin(most, fits) {
  let low = 0, high = most;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

function zoneWeight(reach, distance, half) {
  return Math.max(0, reach - distance) / Math.max(reach + half, Number.MIN_VALUE);
}

// For every step the kind of place it is in, and which event that belongs to.
export function mapSteps(zones, steps) {
  const kinds = new Uint8Array(steps), owners = new Int32Array(steps).fill(-1);
  zones.forEach((zone, k) => {
    const first = zone.start - zone.before, end = zone.stop + zone.after;
    kinds.fill(BEFORE, first, zone.start);
    kinds.fill(INSIDE, zone.start, zone.stop);
    kinds.fill(AFTER, zone.stop, end);
    owners.fill(k, first, end);
  });
  return { kinds, owners };
}

// How many steps are flagged at each level.
export function flaggedCounts(ranks, levels) {
  const counts = new Float64Array(levels + 1);
  for (let i = 0; i < ranks.length; i++) counts[ranks[i]]++;
  const flagged = new Float64Array(levels + 1);
  for (let k = levels - 1; k >= 0; k--) flagged[k] = flagged[k + 1] + counts[k + 1];
  return flagged;
}

// What one level gives: sums, precision, recall, and a row per event, with the first step that is flagged inside it
// (`onset`) and in its early zone (`earliest`).
export function explainLevel(zones, ranks, level, flagged) {
  let found = 0, missed = 0, inZones = 0;
  const categories = new Array(CATEGORIES.length).fill(0);
  const events = zones.map((zone) => {
    const length = zone.stop - zone.start;
    let hits = 0, first = -1, run = 0;
    for (let u = 0; u < length; u++) {
      if (ranks[zone.start + u] > level) {
        if (first < 0) first = u;
        if (first + run === u) run++;
        hits++;
      }
    }
    const row = {
      start: zone.start, stop: zone.stop, detected: hits > 0, coverage: hits / length,
      onset: first < 0 ? null : zone.start + first, earliest: null, tp: hits, fp: 0, fn: 0,
    };
    for (let u = 0; u < length; u++) {
      if (!(ranks[zone.start + u] > level)) row.fn += hits ? missWeight(u, length, run) : 1;
    }
    categories[TRUE] += hits;
    categories[hits ? PARTLY : TOTALLY] += length - hits;
    for (let x = 1; x <= zone.after; x++) {
      if (ranks[zone.stop - 1 + x] > level) {
        const weight = zone.afterWeight(x);
        row.tp += weight;
        row.fp += 1 - weight;
        categories[DELAYED]++;
      }
    }
    for (let x = 1; x <= zone.before; x++) {
      if (ranks[zone.start - x] > level) {
        const weight = hits ? zone.beforeWeight(x) : 0;
        row.tp += weight;
        row.fp += 1 - weight;
        row.earliest = zone.start - x;
        categories[EARLY]++;
      }
    }
    found += row.tp;
    missed += row.fn;
    inZones += row.tp + row.fp;
    return row;
  });
  categories[OUTSIDE] = Math.round(flagged - inZones);
  categories[QUIET] = ranks.length - categories.reduce((a, b) => a + b, 0);
  return { ...figures(found, flagged - found, missed), events, categories };
}

function missWeight(u, length, run) {
  if (u <= run) return 1;
  return 1 - ((run + 1) * u - (run * (run + 1)) / 2) / Math.max((length * (length - 1)) / 2, 1);
}

function figures(tp, fp, fn) {
  const share = (part, whole) => (whole > 0 ? part / whole : 0);
  return {
    tp, fp, fn,
    precision: share(tp, tp + fp),
    recall: share(tp, tp + fn),
    f1: share(2 * tp, 2 * tp + fp + fn),
  };
}

// Precision and recall at every level, from running sums: steps enter one after the other as the threshold falls.
export function curve(zones, ranks, levels, flagged) {
  const gained = new Float64Array(levels + 1), missed = new Float64Array(levels + 1);
  for (const zone of zones) {
    let highest = 0;
    for (let t = zone.start; t < zone.stop; t++) {
      gained[ranks[t]] += 1;
      highest = Math.max(highest, ranks[t]);
    }
    for (let x = 1; x <= zone.after; x++) gained[ranks[zone.stop - 1 + x]] += zone.afterWeight(x);
    for (let x = 1; x <= zone.before; x++) {
      gained[Math.min(ranks[zone.start - x], highest)] += zone.beforeWeight(x);
    }
    addMissed(missed, zone, ranks);
  }
  const points = [];
  let tp = 0, fn = zones.reduce((sum, zone) => sum + zone.stop - zone.start, 0);
  for (let level = levels - 1; level >= 0; level--) {
    tp += gained[level + 1];
    fn += missed[level + 1];
    points.push({ level, ...figures(tp, Math.max(0, flagged[level] - tp), Math.max(0, fn)) });
  }
  return points;
}

// Add to `missed`, by rank, how the missed weight of one event changes when its steps of that rank are flagged.
function addMissed(missed, zone, ranks) {
  const length = zone.stop - zone.start;
  const order = Array.from({ length }, (_, u) => u).sort((a, b) => ranks[zone.start + b] - ranks[zone.start + a]);
  const hit = new Uint8Array(length + 1);
  let left = length, offsets = (length * (length - 1)) / 2, first = length, end = length, before = length;
  for (let place = 0; place < length; ) {
    const rank = ranks[zone.start + order[place]];
    for (; place < length && ranks[zone.start + order[place]] === rank; place++) {
      const u = order[place];
      hit[u] = 1;
      left--;
      offsets -= u;
      if (u < first) { first = u; end = u; }
    }
    while (hit[end]) end++;
    const run = end - first;
    // The missed steps that weigh 1, and the sum of their offsets.
    const full = first === 0 ? (run < length ? 1 : 0) : Math.min(first, run + 1);
    const sum = first === 0 ? (run < length ? run : 0) : (full * (full - 1)) / 2;
    const discount = (run + 1) * (offsets - sum) - ((left - full) * run * (run + 1)) / 2;
    const weight = left - discount / Math.max((length * (length - 1)) / 2, 1);
    missed[rank] += weight - before;
    before = weight;
  }
}

// The category of one step at a level.
export function categoryOf(kind, detected, isFlagged) {
  if (kind === INSIDE) return isFlagged ? TRUE : detected ? PARTLY : TOTALLY;
  if (!isFlagged) return QUIET;
  return kind === AFTER ? DELAYED : kind === BEFORE ? EARLY : OUTSIDE;
}
