// A table as a file: CSV, Markdown, LaTeX, JSON. Names come from users, so each format gets them made harmless, by the
// rules of pateval's own writers, which the page carries.

import { figure, make } from "./elements.js";
import { board } from "./unpack.js";

const FORMATS = {
  CSV: ["csv", "text/csv", asCsv],
  Markdown: ["md", "text/markdown", asMarkdown],
  LaTeX: ["tex", "text/x-tex", asLatex],
  JSON: ["json", "application/json", asJson],
};

// Codes that command a terminal, and marks that turn text around, are shown as escapes.
function visible(text) {
  return text.replace(new RegExp(`[${board.escapes.hidden}]`, "gu"), (mark) => {
    const code = mark.codePointAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
  });
}

function escaped(text, format) {
  const rules = new Map(Object.entries(board.escapes[format]));
  return [...visible(text.replace(/\s+/g, " "))].map((mark) => rules.get(mark) ?? mark).join("");
}

// A cell of text that begins like a formula would be computed by a spreadsheet.
function csvCell(cell) {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") return String(cell);
  const shown = visible(cell);
  const text = /^[=+\-@]/.test(shown) ? `'${shown}` : shown;
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function asCsv(columns, rows) {
  return [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

function areNumbers(columns, rows) {
  return columns.map((_, place) => rows.some((row) => typeof row[place] === "number"));
}

function asMarkdown(columns, rows) {
  const cell = (value) => (typeof value === "number" ? figure(value) : escaped(value ?? "–", "markdown"));
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const sides = areNumbers(columns, rows).map((isRight) => (isRight ? "---:" : "---"));
  return [line(columns.map(cell)), line(sides), ...rows.map((row) => line(row.map(cell)))].join("\n") + "\n";
}

function asLatex(columns, rows) {
  const number = (value) => `$${figure(value).replace("−", "-")}$`;
  const cell = (value) => (typeof value === "number" ? number(value) : escaped(value ?? "–", "latex"));
  const line = (row) => `${row.map(cell).join(" & ")} \\\\`;
  const sides = areNumbers(columns, rows).map((isRight) => (isRight ? "r" : "l")).join("");
  return ["% needs \\usepackage{booktabs}", `\\begin{tabular}{${sides}}`, "\\toprule", line(columns), "\\midrule",
    ...rows.map(line), "\\bottomrule", "\\end{tabular}"].join("\n") + "\n";
}

function asJson(columns, rows) {
  const objects = rows.map((row) => Object.fromEntries(columns.map((name, place) => [name, row[place] ?? null])));
  return JSON.stringify(objects, null, 1) + "\n";
}

function saveAs(name, type, text) {
  const place = URL.createObjectURL(new Blob([text], { type }));
  const anchor = make("a", { href: place, download: name });
  document.body.append(anchor);
  anchor.click();
  anchor.remove();
  setTimeout(() => URL.revokeObjectURL(place), 10000);
}

// Buttons that save what `table` returns at that moment: a name, columns and rows.
export function downloads(table) {
  return make("p", { class: "downloads", role: "group", "aria-label": "Download what is shown" }, "Download",
    Object.entries(FORMATS).map(([label, [suffix, type, write]]) =>
      make("button", { type: "button", "data-format": suffix, onclick: () => {
        const { name, columns, rows } = table();
        saveAs(`${name}.${suffix}`, type, write(columns, rows));
      } }, label)));
}
