"use strict";

// A curve for each shown group: faint over all steps, strong over its points, dotted at its bound.
function drawCurve({ title, strong, lines }, width) {
  const numbers = lines.flatMap((line) => [...(line?.trained ?? []), ...(line?.evaluated ?? []), line?.bound ?? null]);
  const steps = curves.runs.flatMap((run) => [...run.steps, ...run.evaluated]);
  const range = rangeOf(numbers);
  if (numbers.every((value) => value === null || value >= 0)) range[0] = Math.max(0, range[0]);
  const chart = makeChart({
    width,
    height: 190,
    x: { range: rangeOf(steps, 0.01), name: "training step" },
    y: { range },
    label: `${title}, over the training steps; the arrow keys go through the evaluations`,
  });
  const add = (name, attributes) => chart.svg.append(drawing(name, attributes));
  const place = (step, value) => (value === null || value === undefined ? null : [chart.x(step), chart.y(value)]);
  const places = [];
  for (const [{ points }, group] of shownGroups()) {
    const run = curves.runs[group];
    const { trained, evaluated, bound } = lines[group] ?? {};
    const line = (values, at, name) => {
      const spots = values.map((value, number) => place(at[number], value));
      add("path", { class: `curve${name} ${groupClass(group)}`, d: pathOf(spots) });
      return spots;
    };
    if (run.boundary !== null) {
      const x = chart.x(run.boundary);
      add("line", { x1: x, x2: x, y1: chart.top, y2: chart.bottom, class: "boundary" });
    }
    if (trained) line(trained, run.steps, strong ? "" : " thin");
    if ((bound ?? null) !== null) {
      const y = chart.y(bound);
      add("line", { x1: chart.left, x2: chart.right, y1: y, y2: y, class: `limit ${groupClass(group)}` });
    }
    const spots = evaluated ? line(evaluated, run.evaluated, "") : [];
    if (spots.length <= 60) {
      spots.filter(Boolean).forEach((spot) => add("path", { class: `mark best ${groupClass(group)}`, d: markOf(group, ...spot, 2.5) }));
    }
    points.forEach((_, at) => places.push({ group, at, x: chart.x(run.evaluated[at]) }));
  }
  const here = drawing("line", { class: "here", y1: chart.top, y2: chart.bottom });
  const ring = drawing("circle", { class: "ring", r: 6 });
  chart.svg.append(here, ring);
  highlights.push(() => {
    const step = curves.runs[view.group].evaluated[view.at];
    const spot = place(step, lines[view.group]?.evaluated?.[view.at]);
    ring.classList.toggle("hidden", !spot || !view.shown[view.group]);
    if (spot) Object.entries({ cx: spot[0], cy: spot[1] }).forEach(([name, value]) => ring.setAttribute(name, value));
    for (const name of ["x1", "x2"]) here.setAttribute(name, chart.x(step));
  });
  follow(chart.svg, places, Infinity);
  return element("figure", {}, element("figcaption", {}, title), chart.svg);
}
