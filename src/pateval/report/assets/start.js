// Which view is shown, and the frame around it.

import { aboutView } from "./about.js";
import { addressOf, forget, readAddress } from "./address.js";
import { compareView } from "./compare.js";
import { count, forgetColours, make, seriesCount } from "./elements.js";
import { metricsView } from "./metrics.js";
import { overviewView } from "./overview.js";
import { seriesView } from "./series.js";
import { tableView } from "./table.js";
import { board } from "./unpack.js";

const VIEWS = new Map([
  ["overview", ["Overview", overviewView]],
  ["table", ["Table", tableView]],
  ["compare", ["Compare", compareView]],
  ["metrics", ["Metrics", metricsView]],
  ["series", ["Series", seriesView]],
  ["about", ["About", aboutView]],
]);

function drawView(isFirst) {
  const state = readAddress(), name = VIEWS.has(state.view) ? state.view : "overview";
  const main = document.getElementById("main"), [, draw] = VIEWS.get(name);
  const views = document.getElementById("views");
  views.replaceChildren(...[...VIEWS].map(([key, [label]]) =>
    make("a", { href: addressOf({ view: key }), "aria-current": key === name ? "page" : null }, label)));
  // On a narrow screen the names of the views are wider than it: the present one is to be seen whole.
  const present = views.querySelector("[aria-current]");
  views.scrollLeft = present.offsetLeft + present.offsetWidth - views.offsetLeft - views.clientWidth;
  document.getElementById("tip").hidden = true;
  main.replaceChildren(...draw(state).flat().filter(Boolean));
  document.title = `${main.querySelector("h1")?.textContent ?? ""} · ${board.title}`;
  if (!isFirst) {
    main.querySelector("h1")?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  }
}

function setTheme(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  forgetColours();
  const chosen = document.documentElement.dataset.theme;
  const isDark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const button = document.getElementById("theme");
  button.textContent = isDark ? "☀" : "☾";
  button.setAttribute("aria-label", isDark ? "Switch to light" : "Switch to dark");
  window.dispatchEvent(new Event("resize"));
}

document.getElementById("size").textContent = [
  count(board.detectors.length, "detector"),
  board.pooled ? `${seriesCount(board.pooled)} as one` : seriesCount(board.series.length),
  count(board.metrics.length, "metric"),
].join(" · ");
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
