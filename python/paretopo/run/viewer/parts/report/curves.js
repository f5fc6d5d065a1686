"use strict";

// Every measure over the steps, then the controller's signals: a heading and a chart for each.
function drawCurves(width) {
  const curves = data.measures.map((measure, at) => ({
    title: measure.label,
    evaluated: (one) => one.measured[at],
    trained: (run) => run.trained[at],
  }));
  curves.push({ title: "hypervolume of the archive, as it was at the time", evaluated: (one) => one.hypervolume });
  curves.push({ title: "multiplier of stage 1", trained: (run) => run.multiplier, strong: true });
  return curves.filter(isKnown).map((curve) => {
    const svg = drawCurve(curve, width);
    return element("figure", {}, element("figcaption", {}, curve.title), svg);
  });
}

function numbersOf({ evaluated, trained }) {
  return data.runs.flatMap((run) => [
    ...(evaluated ? run.evaluations.map(evaluated) : []),
    ...(trained ? trained(run) : []),
  ]);
}

function isKnown(curve) {
  return numbersOf(curve).some((value) => value !== null);
}

function drawCurve(curve, width) {
  const numbers = numbersOf(curve);
  const steps = data.runs.flatMap((run) => [...run.steps, ...run.evaluations.map((one) => one.step)]);
  const range = rangeOf(numbers);
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
    const line = run.evaluations.map((one) => place(one.step, curve.evaluated ? curve.evaluated(one) : null));
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
    const evaluation = data.runs[view.run].evaluations[view.at];
    const spot = curve.evaluated ? place(evaluation.step, curve.evaluated(evaluation)) : null;
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
