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
const highlights = []; // functions that show the selected evaluation in a chart

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
