"use strict";

// An element with attributes and children. Text is always set as text, never as markup.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

function number(value, digits = 3) {
  if (value === null) return "none";
  return String(Number(value.toPrecision(digits)));
}

// The text as nodes, with matches of the search marked.
function marked(text, sought) {
  if (!sought) return [text];
  const nodes = [];
  const lower = text.toLowerCase();
  let from = 0;
  // Lower case can have another length; marks would then slip, so there are none.
  let at = lower.length === text.length ? lower.indexOf(sought) : -1;
  while (at >= 0) {
    nodes.push(text.slice(from, at), element("mark", {}, text.slice(at, at + sought.length)));
    from = at + sought.length;
    at = lower.indexOf(sought, from);
  }
  nodes.push(text.slice(from));
  return nodes;
}

const SEGMENT_NAMES = { model: "model", call: "tool call", tool: "observation" };

// A piece of a rollout, with matches of the search marked.
function segmentOf({ kind, text }, sought = "") {
  return element(
    "div",
    { class: `segment ${kind}` },
    element("span", { class: "label" }, SEGMENT_NAMES[kind]),
    element("pre", { dir: "auto" }, ...marked(text.replace(/^\n+|\n+$/g, ""), sought)),
  );
}

// One prompt with its rollouts.
function panelOf(group, view) {
  const rollouts = chosenRollouts(group, view);
  const heading = `step ${group.step}, ${group.held_out ? "held out" : group.stage === 1 ? "training, stage 1" : "training"}`;
  const kind = group.kind && group.kind !== "all" ? [element("span", { class: "badge" }, group.kind)] : [];
  return element(
    "section",
    { class: "panel", "aria-label": `${heading}: ${group.id}` },
    element(
      "div",
      { class: "heading" },
      element("h2", {}, heading), " ", ...kind, " ", element("code", {}, ...marked(group.id, view.sought)),
    ),
    element(
      "dl",
      { class: "asked" },
      element("dt", {}, "Prompt"), element("dd", { dir: "auto" }, ...marked(group.prompt, view.sought)),
      ...(group.answer ? [element("dt", {}, nameOfAnswer(group)), element("dd", { dir: "auto" }, ...marked(group.answer, view.sought))] : []),
      ...(isGraded(group) ? [element("dt", {}, "Solved"), element("dd", {}, `${group.rollouts.filter((one) => one.solved).length} of ${group.rollouts.length}`)] : []),
    ),
    rollouts.length
      ? element("div", { class: "rollouts" }, ...rollouts.map(([place, one]) => rolloutCard(place, one, group, view)))
      : element("p", {}, "No rollout of this prompt is wanted."),
  );
}

// Return whether the run has a gate.
function isGraded(group) {
  return group.rollouts.every((one) => one.solved !== null);
}

// Without a gate, the answer may only be there for imitation.
function nameOfAnswer({ objectives }) {
  return objectives.includes("correct") ? "Right answer" : "Answer";
}

// Pairs of a rollout's number, from 1, and the rollout.
function chosenRollouts(group, { outcome, sort }) {
  const pairs = group.rollouts
    .map((one, at) => [at + 1, one])
    .filter(([, one]) => outcome === "all" || one.solved === (outcome === "right"));
  const advantage = (one) => (one.advantage === null ? -Infinity : one.advantage);
  const worth = sort === "advantage" ? advantage : rewardFor(group.objectives.indexOf(sort));
  if (sort !== "step") pairs.sort(([, a], [, b]) => (worth(a) === worth(b) ? 0 : worth(b) - worth(a)));
  return pairs;
}

function rewardFor(at) {
  return (one) => one.rewards[at] ?? -Infinity;
}

function rolloutCard(place, one, group, view) {
  const graded = isGraded(group);
  const outcome = graded ? (one.solved ? "right" : "wrong") : "";
  const facts = [];
  const measured = new Map(Object.entries(one.reward_components));
  group.objectives.slice(0, one.rewards.length).forEach((name, at) => {
    const [value, reward] = [measured.get(name) ?? null, one.rewards[at]];
    const gated = one.gated.length ? one.gated[at] : reward;
    const worth = value === reward ? "" : ` → ${number(reward)}`;
    const note = gated === reward ? "" : `, gated ${number(gated)}`;
    facts.push([name, (value === null ? "does not apply" : number(value)) + worth + note]);
    measured.delete(name);
  });
  measured.forEach((value, name) => { if (value !== null) facts.push([name, number(value)]); });
  if (one.rank !== null) facts.push(["rank", String(one.rank)]);
  if (one.advantage !== null) facts.push(["advantage", `${one.advantage > 0 ? "+" : ""}${one.advantage.toFixed(3)}`]);
  return element(
    "article",
    { class: `rollout ${outcome}`, "aria-label": graded ? `rollout ${place}, ${outcome}` : `rollout ${place}` },
    element(
      "h3",
      {},
      `#${place} `,
      ...(graded ? [element("span", { class: `outcome ${outcome}` }, one.solved ? "✓ right" : "✗ wrong")] : []),
      ...(one.truncated ? [" ", element("span", { class: "badge" }, "cut off")] : []),
    ),
    element(
      "dl",
      { class: "facts" },
      ...facts.map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value))),
    ),
    ...(one.segments.length
      ? one.segments.map((segment) => segmentOf(segment, view.sought))
      : [element("p", { class: "nothing" }, "nothing written")]),
  );
}
