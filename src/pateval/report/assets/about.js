// What this page was made from and how: signatures, versions, inputs, what was packed.

import { make, seriesCount, table } from "./elements.js";
import { board } from "./unpack.js";

const KEYS = {
  "← →": "pan the timeline", "+ −": "zoom", 0: "the whole series", "n p": "next and previous event",
  Escape: "hide an explanation",
};

export function aboutView() {
  const { run } = board;
  return [
    make("h1", { tabindex: "-1" }, "About this report"),
    make("p", {}, `Made ${board.made} by pateval ${run.versions?.pateval ?? ""}. It needs no network and no server: `,
      `everything it shows is in ${board.folder ? "this folder" : "this file"}, as JSON.`),
    section("What was packed, and how", make("p", {}, board.packing),
      make("p", {}, `${seriesCount(board.drilldowns.length)} of ${board.series.length} can be opened up.`)),
    section("Parameters", pairs(run.parameters)),
    section("Versions", pairs(run.versions)),
    lines("Inputs", run.inputs), lines("Noticed in reading", board.notes), lines("Failures", board.failures),
    section("Signatures",
      make("p", { class: "note" }, "Everything that decided the values of a metric, in one line each."),
      table("Signatures", ["Metric", "Signature"], board.metrics.map((metric) => make("tr", {},
        make("th", { scope: "row" }, metric.id), make("td", { class: "small signature" }, metric.signature))))),
    section("Keys", pairs(KEYS)),
  ];
}

function section(title, ...children) {
  return make("section", {}, make("h2", {}, title), ...children);
}

function pairs(object) {
  const text = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));
  return make("dl", { class: "plain-list" },
    Object.entries(object ?? {}).map(([name, value]) => [make("dt", {}, name), make("dd", {}, text(value))]));
}

function lines(title, list) {
  if (!list?.length) return null;
  return section(title, make("ul", { class: "small" }, list.map((line) => make("li", {}, String(line)))));
}
