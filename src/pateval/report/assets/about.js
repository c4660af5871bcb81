// What this page was made from and how: signatures, versions, inputs, what was packed.

function aboutView() {
  const { run } = board, pairs = (object) => make("dl", { class: "plain-list" }, Object.entries(object ?? {}).map(([name, value]) => [make("dt", {}, name), make("dd", {}, typeof value === "object" ? JSON.stringify(value) : String(value))]));
  const lines = (title, list) => (list?.length ? make("section", {}, make("h2", {}, title), make("ul", { class: "small" }, list.map((line) => make("li", {}, String(line))))) : null);
  return [
    make("h1", { tabindex: "-1" }, "About this report"),
    make("p", {}, `Made ${board.made} by pateval ${run.versions?.pateval ?? ""}. It needs no network and no server: everything it shows is in ${board.folder ? "this folder" : "this file"}, as JSON.`),
    make("section", {}, make("h2", {}, "What was packed, and how"), make("p", {}, board.packing),
      make("p", {}, `${count(board.drilldowns.length, "series", "series")} of ${board.series.length} can be opened up.`)),
    make("section", {}, make("h2", {}, "Parameters"), pairs(run.parameters)),
    make("section", {}, make("h2", {}, "Versions"), pairs(run.versions)),
    lines("Inputs", run.inputs), lines("Noticed in reading", board.notes), lines("Failures", board.failures),
    make("section", {}, make("h2", {}, "Signatures"), make("p", { class: "note" }, "Everything that decided the values of a metric, in one line each."),
      scrolling("Signatures", make("table", { class: "board" }, make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Metric"), make("th", { scope: "col" }, "Signature"))),
        make("tbody", {}, board.metrics.map((metric) => make("tr", {}, make("th", { scope: "row" }, metric.id), make("td", { class: "small signature" }, metric.signature))))))),
    make("section", {}, make("h2", {}, "Keys"), pairs({ "← →": "pan the timeline", "+ −": "zoom", 0: "the whole series", "n p": "next and previous event", Escape: "hide an explanation" })),
  ];
}
