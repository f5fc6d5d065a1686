"use strict";

const COLUMNS = ["objective", "better", "unit", "before", "after", "change"];

// A run's objectives at both ends of its training; kinds of question are folded up.
function tableOf(run) {
  const all = run.table.filter((row) => !row.kind);
  const kinds = [...new Set(run.table.map((row) => row.kind).filter(Boolean))];
  const [before, after] = run.moments;
  const folder = element("code", {}, run.folder);
  return element(
    "div",
    { class: "run" },
    element("h3", {}, run.label),
    element("p", { class: "key" }, folder, ` · ${run.status} · before: ${before} · after: ${after}`),
    rowsOf(all, run.label),
    ...kinds.map((kind) =>
      element(
        "details",
        {},
        element("summary", {}, kind),
        rowsOf(run.table.filter((row) => row.kind === kind), `${run.label}, ${kind}`),
      ),
    ),
  );
}

function rowsOf(rows, name) {
  const cells = (row) => [
    element("th", { scope: "row" }, row.name),
    element("td", {}, row.better),
    element("td", {}, row.unit),
    ...[row.before, row.after].map((value) => element("td", { class: "number" }, value)),
    element(
      "td",
      { class: `number ${row.verdict}` },
      row.change,
      ...(row.verdict ? [" ", element("span", { class: "verdict" }, row.verdict)] : []),
    ),
  ];
  const heads = COLUMNS.map((column) => element("th", { scope: "col" }, column));
  return element(
    "div",
    { class: "scrolled", tabindex: "0", role: "region", "aria-label": name },
    element(
      "table",
      {},
      element("thead", {}, element("tr", {}, ...heads)),
      element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))),
    ),
  );
}
