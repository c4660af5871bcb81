// A table as a file: CSV, Markdown, LaTeX, JSON. Names come from users, so each format gets them made harmless.

const FORMATS = {
  CSV: ["csv", "text/csv", asCsv],
  Markdown: ["md", "text/markdown", asMarkdown],
  LaTeX: ["tex", "text/x-tex", asLatex],
  JSON: ["json", "application/json", asJson],
};

// A cell of text that begins like a formula would be computed by a spreadsheet.
function csvCell(cell) {
  if (cell === null || cell === undefined) return "";
  if (typeof cell === "number") return String(cell);
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function asCsv(columns, rows) {
  return [columns, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

function asMarkdown(columns, rows) {
  const marks = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  const cell = (value) => (typeof value === "number" ? figure(value) : value ?? "–")
    .replace(/[&<>]/g, (mark) => marks[mark]).replace(/([\\|`*_[\]])/g, "\\$1").replace(/\s+/g, " ");
  const line = (cells) => `| ${cells.join(" | ")} |`;
  const right = columns.map((_, place) => rows.some((row) => typeof row[place] === "number"));
  return [line(columns.map(cell)), line(right.map((yes) => (yes ? "---:" : "---"))),
    ...rows.map((row) => line(row.map(cell)))].join("\n") + "\n";
}

function asLatex(columns, rows) {
  const marks = { "\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}",
    "<": "\\textless{}", ">": "\\textgreater{}" };
  const cell = (value) => (typeof value === "number" ? `$${figure(value).replace("−", "-")}$`
    : (value ?? "--").replace(/[\\~^<>&%#_{}$]/g, (mark) => marks[mark] ?? `\\${mark}`).replace(/\s+/g, " "));
  const right = columns.map((_, place) => (rows.some((row) => typeof row[place] === "number") ? "r" : "l"));
  const line = (cells) => `${cells.join(" & ")} \\\\`;
  return ["% needs \\usepackage{booktabs}", `\\begin{tabular}{${right.join("")}}`, "\\toprule", line(columns.map(cell)),
    "\\midrule", ...rows.map((row) => line(row.map(cell))), "\\bottomrule", "\\end{tabular}"].join("\n") + "\n";
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
function downloads(table) {
  return make("p", { class: "downloads", role: "group", "aria-label": "Download what is shown" }, "Download",
    Object.entries(FORMATS).map(([label, [suffix, type, write]]) =>
      make("button", { type: "button", "data-format": suffix, onclick: () => {
        const { name, columns, rows } = table();
        saveAs(`${name}.${suffix}`, type, write(columns, rows));
      } }, label)));
}
