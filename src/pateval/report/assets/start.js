// Which view is shown, and the frame around it.

const VIEWS = {
  overview: ["Overview", overviewView],
  table: ["Table", tableView],
  compare: ["Compare", compareView],
  metrics: ["Metrics", metricsView],
  series: ["Series", seriesView],
  about: ["About", aboutView],
};

function drawView(isFirst) {
  const state = readAddress(), name = VIEWS[state.view] ? state.view : "overview", main = document.getElementById("main");
  document.getElementById("views").replaceChildren(...Object.entries(VIEWS).map(([key, [label]]) =>
    make("a", { href: addressOf({ view: key }), "aria-current": key === name ? "page" : null }, label)));
  document.getElementById("tip").hidden = true;
  main.replaceChildren(...VIEWS[name][1](state).flat().filter(Boolean));
  document.title = `${main.querySelector("h1")?.textContent ?? ""} · ${board.title}`;
  if (!isFirst) {
    main.querySelector("h1")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  palette.clear();
  const chosen = document.documentElement.dataset.theme;
  const isDark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const button = document.getElementById("theme");
  button.textContent = isDark ? "☀" : "☾";
  button.setAttribute("aria-label", isDark ? "Switch to light" : "Switch to dark");
  window.dispatchEvent(new Event("resize"));
}

document.getElementById("size").textContent = [count(board.detectors.length, "detector"), count(board.series.length, "series", "series"), count(board.metrics.length, "metric")].join(" · ");
document.getElementById("theme").addEventListener("click", () => {
  const isDark = document.getElementById("theme").textContent === "☀";
  setTheme(isDark ? "light" : "dark");
  drawView(false);
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { setTheme(""); drawView(true); });
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") document.getElementById("tip").hidden = true;
});
window.addEventListener("hashchange", () => {
  forget();
  drawView(false);
});
setTheme("");
drawView(true);
// What tests look at; nothing in the page uses it.
window.patevalReport = { board, loadBlock, unpack, findZones, flaggedCounts, explainLevel, curve, mapSteps, categoryOf, drawn };
