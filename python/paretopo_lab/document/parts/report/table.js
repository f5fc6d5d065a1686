"use strict";

const COLUMNS = ["objective", "better", "unit", "answers", "before", "after", "change"];

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
    element("p", { class: "key" }, folder, ` · ${run.status} · ${after ? `before: ${before} · after: ${after}` : before}`),
    rowsOf(run, all, run.label),
    ...(run.sweep ? sweepOf(run) : []),
    ...kinds.map((kind) =>
      element(
        "details",
        {},
        element("summary", {}, kind),
        rowsOf(run, run.table.filter((row) => row.kind === kind), `${run.label}, ${kind}`),
      ),
    ),
  );
}

// The results of the last policy under each preference.
function sweepOf({ label, sweep }) {
  const rows = sweep.rows.map(([name, ...values]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      ...values.map((value) => element("td", { class: "number" }, value)),
    ),
  );
  return [
    element("h4", {}, "For each preference, at the end"),
    scrolled(`${label}, preferences`, ["asked for", ...sweep.columns], element("tbody", {}, ...rows)),
    ...sweep.notes.map((note) => element("p", { class: "key" }, note)),
  ];
}

// All runs in one table, and below them their methods.
function summaryOf({ columns, rows, tested, testColumns, testNote }) {
  const cells = (row) => [
    element("th", { scope: "row" }, row.name),
    element("td", { class: "number" }, row.seeds ?? ""),
    ...row.cells.map(({ text, verdict }) => element("td", { class: `number ${verdict}` }, text)),
  ];
  const body = (some) => element("tbody", {}, ...some.map((row) => element("tr", {}, ...cells(row))));
  const table = scrolled(
    "All runs",
    ["run", "seeds", ...columns],
    body(rows.filter((row) => row.seeds === null)),
    body(rows.filter((row) => row.seeds !== null)),
  );
  if (!tested.length) return [table];
  const tests = tested.map(([name, first, second, ...numbers]) =>
    element(
      "tr",
      {},
      element("th", { scope: "row" }, name),
      ...[first, second].map((label) => element("td", {}, label)),
      ...numbers.map((number) => element("td", { class: "number" }, number)),
    ),
  );
  return [
    table,
    element("h3", {}, "Question by question"),
    element("p", { class: "key" }, testNote),
    scrolled("Question by question", testColumns, element("tbody", {}, ...tests)),
  ];
}

function rowsOf(run, rows, name) {
  const single = run.moments.length === 1; // one evaluation, nothing to compare
  const counted = rows.some((row) => row.count); // records of old runs have no numbers
  const cells = (row) => [
    element("th", { scope: "row" }, row.name),
    element("td", {}, row.better),
    element("td", {}, row.unit),
    ...(counted ? [element("td", { class: "number" }, row.count)] : []),
    ...(single ? [row.before] : [row.before, row.after]).map((value) => element("td", { class: "number" }, value)),
    ...(single ? [] : [element(
      "td",
      { class: `number ${row.verdict}` },
      row.change,
      ...(row.verdict ? [" ", element("span", { class: "verdict" }, row.verdict)] : []),
    )]),
  ];
  const columns = COLUMNS.filter((column) => counted || column !== "answers")
    .filter((column) => !single || column !== "change" && column !== "after")
    .map((column) => (single && column === "before" ? run.moments[0] : column));
  return scrolled(name, columns, element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))));
}

// A table at its natural width, inside an element that scrolls separately.
function scrolled(name, columns, ...bodies) {
  const heads = columns.map((column) => element("th", { scope: "col" }, column));
  return element(
    "div",
    { class: "scrolled", tabindex: "0", role: "region", "aria-label": name },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads)), ...bodies),
  );
}
