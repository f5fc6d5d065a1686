"use strict";

// The selected evaluation in words and numbers, with one of its answers.
function showEvaluation() {
  const run = data.runs[view.run];
  const evaluation = run.evaluations[view.at];
  byId("run").value = view.run;
  byId("at").max = run.evaluations.length - 1;
  byId("at").value = view.at;
  byId("at").setAttribute("aria-valuetext", tell(evaluation));
  byId("selected").textContent = `${data.runs.length > 1 ? `${run.label}: ` : ""}${tell(evaluation)}`;
  const facts = data.measures.map((measure, at) => [measure.title, written(measure, evaluation.measured[at])]);
  byId("about").replaceChildren(
    element(
      "p",
      { class: "key" },
      evaluation.moment,
      ...(evaluation.front[view.space] ? [" ", element("span", { class: "badge" }, "on the front")] : []),
    ),
    element("dl", {}, ...facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    ...rolloutOf(run, evaluation.rollout),
  );
}

function rolloutOf(run, rollout) {
  if (run.trouble) return [element("p", { class: "trouble" }, run.trouble)];
  if (!rollout) return [element("p", { class: "key" }, "No answer of this evaluation is in the records.")];
  return [
    element(
      "h3",
      {},
      "An answer ",
      ...(rollout.solved === null ? [] : [element("span", { class: `outcome ${rollout.solved ? "right" : ""}` }, rollout.solved ? "✓ right" : "✗ wrong")]),
    ),
    element("p", { class: "key" }, rollout.facts.join(" · ")),
    element("p", { class: "asked", dir: "auto" }, rollout.prompt),
    ...rollout.segments.map((segment) => segmentOf(segment)),
    ...(rollout.segments.length ? [] : [element("p", { class: "key" }, "nothing written")]),
    ...(rollout.answer ? [element("p", { class: "key", dir: "auto" }, `${rollout.answerName}: ${rollout.answer}`)] : []),
  ];
}

// The forms that select runs and axes.
function makeRuns() {
  data.runs.forEach((run, at) => {
    const box = element("input", { type: "checkbox", checked: "" });
    box.addEventListener("change", () => {
      view.shown[at] = box.checked;
      if (!view.shown.includes(true)) view.shown[at] = box.checked = true; // one at least
      if (!view.shown[view.run]) moveAcross(1);
      draw();
    });
    const sample = drawing(
      "svg",
      { viewBox: "0 0 16 16", class: "sample", "aria-hidden": "true" },
      drawing("path", { class: `mark best ${runClass(at)}`, d: markOf(at, 8, 8, 5) }),
    );
    const thinned = run.evaluated > run.evaluations.length ? ` (${run.evaluations.length} of ${run.evaluated} evaluations)` : "";
    byId("runs").append(
      element("label", {}, ...(data.runs.length > 1 ? [box] : []), sample, element("span", {}, run.label + thinned)),
    );
    byId("run").append(element("option", { value: at }, run.label));
  });
  byId("run-choice").hidden = data.runs.length === 1;
  byId("run").addEventListener("change", () => select(Number(byId("run").value), 0));
  byId("at").addEventListener("input", () => select(view.run, Number(byId("at").value)));
}

function makeAxes() {
  const names = objectives.map((objective) => objective.name);
  const spaces = ["in their own units", `as ${data.outcomes}`];
  const form = [element("label", {}, "Numbers ", chooser(spaces, view.space === "rewards" ? 1 : 0, (at) => {
    view.space = at ? "rewards" : "measured";
    draw();
  }, { id: "space" }))];
  if (objectives.length > 2) {
    form.unshift(
      element("label", {}, "Up ", chooser(names, view.up, (at) => chooseAxes(at, view.along), { id: "up" })),
      element("label", {}, "Along ", chooser(names, view.along, (at) => chooseAxes(view.up, at), { id: "along" })),
    );
  }
  byId("axes").replaceChildren(...form);
}

function chooseAxes(up, along) {
  // The same for both would be a line: then they change places.
  [view.up, view.along] = up === along ? [view.along, view.up] : [up, along];
  if (objectives.length > 2) {
    byId("up").value = view.up;
    byId("along").value = view.along;
  }
  draw();
}

// Draw everything again at the available width, and restore the focus.
function draw() {
  highlights.length = 0;
  const focus = focusPath();
  if (objectives.length > 1) byId("front-chart").replaceChildren(drawFront(byId("front-chart").clientWidth));
  if (objectives.length > 2) {
    byId("pairs").replaceChildren(...drawPairs());
    byId("across").replaceChildren(drawAcross(byId("across").clientWidth));
  }
  if (!byId("training").hidden) {
    const wide = byId("curves").clientWidth;
    byId("curves").replaceChildren(...drawCurves(wide > 760 ? (wide - 32) / 2 : wide));
  }
  restoreFocus(focus);
  showEvaluation();
  for (const highlight of highlights) highlight();
}

function focusPath() {
  const box = document.activeElement.closest("#front-chart, #pairs, #across, #curves");
  if (!box) return null;
  return [box, [...box.querySelectorAll("button, [tabindex]")].indexOf(document.activeElement)];
}

function restoreFocus(path) {
  if (path) path[0].querySelectorAll("button, [tabindex]")[path[1]]?.focus();
}

makeRuns();
makeAxes();
byId("many").hidden = objectives.length < 3;
byId("axes").hidden = objectives.length < 2;
byId("front").querySelector(".drawn").hidden = objectives.length < 2;
byId("training").hidden = data.runs.every((run) => run.moments.length === 1 && run.moments[0] === "result");
byId("summary").hidden = data.runs.length === 1;
byId("summary").append(...summaryOf(data.summary));
byId("table").append(...data.runs.map(tableOf));
let drawn = 0;
new ResizeObserver(() => {
  const width = byId("table").clientWidth;
  if (width === drawn) return;
  drawn = width;
  draw();
}).observe(byId("table"));
