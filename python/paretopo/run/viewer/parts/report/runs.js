"use strict";

// The view: runs, two objectives, their numbers, and the selected evaluation.
const data = JSON.parse(byId("data").textContent);
const objectives = data.measures.slice(0, data.objectives);
const view = {
  up: 0,
  along: Math.min(1, objectives.length - 1),
  space: "measured", // in their own units, or as "rewards"
  shown: data.runs.map(() => true),
  run: 0,
  at: data.runs[0].evaluations.length - 1,
};
const SHAPES = 7; // and as many colours; more runs use them again
const highlights = []; // functions that show the selected evaluation in a chart

function runClass(run) {
  return `run-${run % SHAPES}`;
}

function shownRuns() {
  return data.runs.map((run, at) => [run, at]).filter(([, at]) => view.shown[at]);
}

// 1 where larger is better. Rewards always are.
function senseOf(at) {
  return view.space === "measured" && objectives[at].better === "fewer" ? -1 : 1;
}

function nameOf(at) {
  const { name, label } = objectives[at];
  return view.space === "measured" ? label : `${name} as a reward, more is better`;
}

function valueOf(evaluation, at) {
  return evaluation[view.space][at];
}

// A value as the table writes it.
function written(measure, value) {
  if (value === null) return "unknown";
  return measure.decimals === null ? number(value, 4) : value.toFixed(measure.decimals);
}

function tell(evaluation) {
  const volume = evaluation.hypervolume;
  return `step ${evaluation.step}${volume === null ? "" : `, hypervolume ${number(volume, 4)}`}`;
}

// A mark, a shape for each run, so that colour is never all that tells runs apart.
function markOf(run, x, y, size) {
  const outlines = [
    `M${x - size} ${y}a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0z`,
    polygon(x, y, size * 1.25, 4, Math.PI / 4),
    polygon(x, y, size * 1.3, 4, 0),
    polygon(x, y, size * 1.35, 3, -Math.PI / 2),
    polygon(x, y, size * 1.35, 3, Math.PI / 2),
    polygon(x, y, size * 1.2, 6, 0),
    star(x, y, size * 1.4, 4),
  ];
  return outlines[run % SHAPES];
}

function polygon(x, y, radius, corners, turn) {
  const places = Array.from({ length: corners }, (_, at) => {
    const angle = turn + (2 * Math.PI * at) / corners;
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
  });
  return `${pathOf(places)}z`;
}

function star(x, y, radius, points) {
  const places = Array.from({ length: 2 * points }, (_, at) => {
    const [angle, reach] = [(Math.PI * at) / points - Math.PI / 2, at % 2 ? radius * 0.42 : radius];
    return [x + reach * Math.cos(angle), y + reach * Math.sin(angle)];
  });
  return `${pathOf(places)}z`;
}

function select(run, at) {
  [view.run, view.at] = [run, at];
  showEvaluation();
  for (const highlight of highlights) highlight();
}

// The evaluation so many places on, or the nearest one of the next run that is shown.
function moveOn(by) {
  const last = data.runs[view.run].evaluations.length - 1;
  select(view.run, Math.min(Math.max(view.at + by, 0), last));
}

function moveAcross(by) {
  const shown = shownRuns().map(([, at]) => at);
  const run = shown[(shown.indexOf(view.run) + by + shown.length) % shown.length];
  const { step } = data.runs[view.run].evaluations[view.at];
  const distances = data.runs[run].evaluations.map((one) => Math.abs(one.step - step));
  select(run, distances.indexOf(Math.min(...distances)));
}

const MOVES = {
  ArrowRight: () => moveOn(1),
  ArrowLeft: () => moveOn(-1),
  ArrowDown: () => moveAcross(1),
  ArrowUp: () => moveAcross(-1),
  Home: () => moveOn(-Infinity),
  End: () => moveOn(Infinity),
};

// Pointer, touch and keys choose an evaluation in a chart; `places` are {run, at, x, y}.
function followRuns(svg, places, reach) {
  followPointer(svg, places, reach, {
    choose: ({ run, at }) => (run !== view.run || at !== view.at) && select(run, at),
    isChosen: ({ run }) => run === view.run,
    moves: MOVES,
  });
}
