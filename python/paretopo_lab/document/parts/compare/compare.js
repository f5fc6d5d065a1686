"use strict";

// The view: two objectives, the fronts that are shown, and the selected model.
const data = JSON.parse(byId("data").textContent);
const { objectives, models, fronts } = data;
const view = { up: 0, along: 1, shown: fronts.map(() => true), model: models.findIndex((one) => one.best) };
const MOST_REGIONS = 40; // models; of more, only non-dominated ones have a region
const MOST_NAMES = 12; // non-dominated models; of more, only the selected one is named
let highlight = () => {};

function senseOf(objective) {
  return objectives[objective].better === "fewer" ? -1 : 1;
}

function shownModels() {
  return models.map((model, at) => [model, at]).filter(([model]) => view.shown[model.front]);
}

// The 95 % region of two means, as places in the chart.
function regionOf(model, chart) {
  const [a, b, d] = [
    model.covariance[view.along][view.along],
    model.covariance[view.along][view.up],
    model.covariance[view.up][view.up],
  ];
  if (a === null) return null;
  // The lower triangular root of the covariance turns a circle into the ellipse.
  const first = Math.sqrt(a);
  const shared = first > 0 ? b / first : 0;
  const second = Math.sqrt(Math.max(d - shared * shared, 0));
  const reach = Math.sqrt(-2 * Math.log(0.05));
  return Array.from({ length: 41 }, (_, at) => {
    const [u, v] = [Math.cos((at * Math.PI) / 20), Math.sin((at * Math.PI) / 20)];
    return [
      chart.x(model.mean[view.along] + reach * first * u),
      chart.y(model.mean[view.up] + reach * (shared * u + second * v)),
    ];
  });
}

// The stairs of the models that are non-dominated in the two objectives of the chart.
function stairsOf(places, chart) {
  const [above, right] = [senseOf(view.up), senseOf(view.along)];
  const worst = { x: right > 0 ? chart.left : chart.right, y: above > 0 ? chart.bottom : chart.top };
  return edgeOf([...places, worst], above, right);
}

function drawChart(width) {
  const reach = (model, objective) => {
    const error = model.error[objective] ?? 0;
    return [model.mean[objective] - 2.5 * error, model.mean[objective] + 2.5 * error];
  };
  const shown = shownModels();
  const rangeAlong = (objective) => {
    const ends = shown.flatMap(([model]) => reach(model, objective));
    if (!objectives[objective].log) return rangeOf(ends);
    return rangeOf(ends.filter((end) => end > 0).map(Math.log10)).map((power) => 10 ** power);
  };
  const axis = (objective) => {
    const { label: name, log } = objectives[objective];
    return { range: rangeAlong(objective), name, log };
  };
  const chart = makeChart({
    width,
    height: Math.max(320, Math.min(0.66 * width, 540)),
    x: axis(view.along),
    y: axis(view.up),
    label: `${objectives[view.up].label}, against ${objectives[view.along].label}; the arrow keys go through the models`,
  });
  const clamp = ([x, y]) => [
    Math.min(Math.max(chart.x(x), chart.left), chart.right),
    Math.min(Math.max(chart.y(y), chart.top), chart.bottom),
  ];
  const places = shown.map(([model, at]) => ({ at, x: chart.x(model.mean[view.along]), y: chart.y(model.mean[view.up]) }));
  fronts.forEach((front, number) => {
    if (!view.shown[number]) return;
    if (front.band && view.up === 0) {
      chart.svg.append(drawing("path", { class: `band ${runClass(number)}`, d: `${pathOf(front.band.map(clamp))}z` }));
    }
    const own = places.filter(({ at }) => models[at].front === number);
    chart.svg.append(drawing("path", { class: `edge ${runClass(number)}`, d: pathOf(stairsOf(own, chart)) }));
  });
  for (const { at, x, y } of places) {
    const model = models[at];
    const region = shown.length <= MOST_REGIONS || model.best ? regionOf(model, chart) : null;
    if (region) chart.svg.append(drawing("path", { class: `region ${runClass(model.front)}`, d: `${pathOf(region)}z` }));
    chart.svg.append(
      drawing("path", {
        class: `mark ${runClass(model.front)}${model.best ? " best" : " dominated"}`,
        d: markOf(model.front, x, y, 5),
      }),
    );
  }
  const best = places.filter(({ at }) => models[at].best).map((place) => ({ ...place, name: models[place.at].name }));
  const names = nameMarks(chart, best.length <= MOST_NAMES ? best : [], places);
  const point = makePointer(chart);
  highlight = () => {
    names.forEach((text, at) => text.classList.toggle("hidden", at === view.model)); // the tip has it
    point(places.find(({ at }) => at === view.model), models[view.model].name);
  };
  follow(chart.svg, places);
  return chart.svg;
}

// Pointer, touch and keys choose a model.
function follow(svg, places) {
  const sorted = [...places].sort((one, other) => one.x - other.x || other.y - one.y);
  const moveBy = (by) => () => {
    const here = sorted.findIndex(({ at }) => at === view.model);
    select(sorted[Math.min(Math.max(here + by, 0), sorted.length - 1)].at);
  };
  followPointer(svg, places, 40, {
    choose: ({ at }) => select(at),
    moves: { ArrowRight: moveBy(1), ArrowUp: moveBy(1), ArrowLeft: moveBy(-1), ArrowDown: moveBy(-1) },
  });
}

function select(model) {
  view.model = model;
  byId("model").value = model;
  showModel();
  highlight();
}

function showModel() {
  const model = models[view.model];
  const facts = objectives.map((objective, at) => [
    objective.name,
    `${number(model.mean[at], 4)}${model.error[at] === null ? "" : ` ± ${number(model.error[at], 2)}`}`,
  ]);
  facts.push(["questions", String(model.questions)]);
  if (model.share) facts.push(["on the front, p", model.share]);
  const listed = (title, some) => (some ? [element("p", { class: "key" }, `${title} ${some}`)] : []);
  byId("about").replaceChildren(
    element(
      "h3",
      {},
      model.name,
      ...(model.best ? [" ", element("span", { class: "badge" }, "non-dominated")] : []),
    ),
    element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    ...listed("Dominated by", model.above),
    ...listed("Dominates", model.below),
  );
}

function makeForms() {
  if (fronts.length > 1) {
    fronts.forEach((front, at) => {
      const box = element("input", { type: "checkbox", checked: "" });
      box.addEventListener("change", () => {
        view.shown[at] = box.checked;
        if (!view.shown.includes(true)) view.shown[at] = box.checked = true; // one at least
        draw();
      });
      const sample = drawing(
        "svg",
        { viewBox: "0 0 16 16", class: "sample", "aria-hidden": "true" },
        drawing("path", { class: `mark best ${runClass(at)}`, d: markOf(at, 8, 8, 5) }),
      );
      byId("shown").append(element("label", {}, box, sample, element("span", {}, front.name)));
    });
  }
  const names = objectives.map((objective) => objective.name);
  if (objectives.length > 2) {
    byId("axes").append(
      element("label", {}, "Up ", chooser(names, view.up, (at) => chooseAxes(at, view.along), { id: "up" })),
      element("label", {}, "Along ", chooser(names, view.along, (at) => chooseAxes(view.up, at), { id: "along" })),
    );
  }
  models.forEach((model, at) => byId("model").append(element("option", { value: at }, model.name)));
  byId("model").addEventListener("change", () => select(Number(byId("model").value)));
  const band = fronts.some((front) => front.band) ? " · band: goals that 5 to 95 % of the replicates attain" : "";
  const line = objectives.length > 2 ? "the front of these two objectives" : "the front";
  byId("chart-key").textContent = `filled: non-dominated · line: ${line} · ellipses: 95 % regions of the means${band}`;
}

function chooseAxes(up, along) {
  // The same for both would be a line: then they change places.
  [view.up, view.along] = up === along ? [view.along, view.up] : [up, along];
  byId("up").value = view.up;
  byId("along").value = view.along;
  draw();
}

function makeTables() {
  const notes = data.notes.map((note) => element("p", { class: "key" }, note));
  byId("front-title").after(...notes);
  for (const { title, header, rows, words, note } of data.tables) {
    const body = rows.map((row) =>
      element(
        "tr",
        {},
        ...row.map((cell, at) =>
          at ? element("td", { class: at < words ? null : "number" }, cell) : element("th", { scope: "row" }, cell),
        ),
      ),
    );
    const table = scrolled(title, header, element("tbody", {}, ...body));
    [...table.querySelectorAll("thead th")].slice(words).forEach((head) => head.classList.add("number"));
    byId("tables").append(
      element("section", {}, element("h2", {}, title), table, ...(note ? [element("p", { class: "key" }, note)] : [])),
    );
  }
}

function draw() {
  byId("chart").replaceChildren(drawChart(byId("chart").clientWidth));
  highlight();
}

makeForms();
makeTables();
select(Math.max(view.model, 0));
let drawn = 0;
new ResizeObserver(() => {
  const width = byId("chart").clientWidth;
  if (!width || width === drawn) return;
  drawn = width;
  draw();
}).observe(byId("chart"));
