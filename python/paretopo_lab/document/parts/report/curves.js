"use strict";

// The limit of a run on a measure; undefined without one.
function limitOf(run, measure) {
  return run.limits.find((one) => one.measure === measure);
}

// The share of answers that keep a limit, next to the share that has to; and the limit's multiplier.
function curvesOfLimit(measure, at) {
  if (!data.runs.some((run) => limitOf(run, at))) return [];
  return [
    {
      title: `answers within the limit on ${measure.name} (%)`,
      evaluated: (one, run) => limitOf(run, at)?.evaluated[run.evaluations.indexOf(one)] ?? null,
      trained: (run) => limitOf(run, at)?.kept ?? [],
      bound: (run) => limitOf(run, at)?.share ?? null,
    },
    { title: `multiplier of the limit on ${measure.name}`, trained: (run) => limitOf(run, at)?.multiplier ?? [], strong: true },
  ];
}

// Every measure over the steps, then the controller's signals: a heading and a chart for each.
function drawCurves(width) {
  const curves = data.measures.map((measure, at) => ({
    title: measure.label,
    evaluated: (one) => one.measured[at],
    trained: (run) => run.trained[at],
    bound: (run) => limitOf(run, at)?.bound ?? null,
  }));
  curves.push(...data.measures.flatMap(curvesOfLimit));
  for (const title of new Set(data.runs.flatMap((run) => Object.keys(run.prices)))) {
    curves.push({ title, trained: (run) => run.prices[title] ?? [], strong: true });
  }
  byId("staged").hidden = data.runs.every((run) => run.boundary === null);
  byId("limited").hidden = data.runs.every((run) => run.limits.length === 0);
  curves.push({ title: `hypervolume of the archive, as it was at the time. ${data.volumes}`, evaluated: (one) => one.hypervolume });
  curves.push({ title: "multiplier of stage 1", trained: (run) => run.multiplier, strong: true });
  return curves.filter(isKnown).map((curve) => {
    const svg = drawCurve(curve, width);
    return element("figure", {}, element("figcaption", {}, curve.title), svg);
  });
}

function numbersOf({ evaluated, trained }) {
  return data.runs.flatMap((run) => [
    ...(evaluated ? run.evaluations.map((one) => evaluated(one, run)) : []),
    ...(trained ? trained(run) : []),
  ]);
}

function isKnown(curve) {
  return numbersOf(curve).some((value) => value !== null);
}

function drawCurve(curve, width) {
  const numbers = numbersOf(curve);
  const steps = data.runs.flatMap((run) => [...run.steps, ...run.evaluations.map((one) => one.step)]);
  const bounds = data.runs.map((run) => curve.bound?.(run) ?? null);
  const range = rangeOf([...numbers, ...bounds]);
  if (numbers.every((value) => value === null || value >= 0)) range[0] = Math.max(0, range[0]);
  const chart = makeChart({
    width,
    height: 190,
    x: { range: rangeOf(steps, 0.01), name: "training step" },
    y: { range },
    label: `${curve.title}, over the training steps; the arrow keys go through the evaluations`,
  });
  const place = (step, value) => (value === null ? null : [chart.x(step), chart.y(value)]);
  const places = [];
  for (const [run, number] of shownRuns()) {
    if (run.boundary !== null) {
      const x = chart.x(run.boundary);
      chart.svg.append(drawing("line", { x1: x, x2: x, y1: chart.top, y2: chart.bottom, class: "boundary" }));
    }
    if (curve.trained) {
      const line = curve.trained(run).map((value, at) => place(run.steps[at], value));
      chart.svg.append(drawing("path", { class: `${curve.strong ? "curve" : "curve thin"} ${runClass(number)}`, d: pathOf(line) }));
    }
    if (bounds[number] !== null) {
      const y = chart.y(bounds[number]);
      chart.svg.append(drawing("line", { x1: chart.left, x2: chart.right, y1: y, y2: y, class: `limit ${runClass(number)}` }));
    }
    const line = run.evaluations.map((one) => place(one.step, curve.evaluated ? curve.evaluated(one, run) : null));
    chart.svg.append(drawing("path", { class: `curve ${runClass(number)}`, d: pathOf(line) }));
    run.evaluations.forEach((one, at) => places.push({ run: number, at, x: chart.x(one.step) }));
    if (line.length > 60) continue;
    for (const spot of line) {
      if (spot) chart.svg.append(drawing("path", { class: `mark best ${runClass(number)}`, d: markOf(number, ...spot, 2.5) }));
    }
  }
  const here = drawing("line", { class: "here", y1: chart.top, y2: chart.bottom });
  const ring = drawing("circle", { class: "ring", r: 6 });
  chart.svg.append(here, ring);
  highlights.push(() => {
    const run = data.runs[view.run];
    const evaluation = run.evaluations[view.at];
    const spot = curve.evaluated ? place(evaluation.step, curve.evaluated(evaluation, run)) : null;
    ring.classList.toggle("hidden", !spot || !view.shown[view.run]);
    if (spot) {
      ring.setAttribute("cx", spot[0]);
      ring.setAttribute("cy", spot[1]);
    }
    here.setAttribute("x1", chart.x(evaluation.step));
    here.setAttribute("x2", chart.x(evaluation.step));
  });
  followRuns(chart.svg, places, Infinity);
  return chart.svg;
}
