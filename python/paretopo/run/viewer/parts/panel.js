"use strict";

// One prompt with its rollouts.
function panelOf(group, view, pinned, onPin) {
  const rollouts = chosenRollouts(group, view);
  const heading = `step ${group.step}, ${group.held_out ? "held out" : `stage ${group.stage}`}`;
  const kind = group.kind ? [element("span", { class: "badge" }, group.kind)] : [];
  const pin = element("button", { type: "button", class: "pin" }, pinned ? "Unpin" : "Pin");
  pin.addEventListener("click", onPin);
  return element(
    "section",
    { class: "panel", "aria-label": `${heading}: ${group.id}` },
    element(
      "div",
      { class: "heading" },
      element("h2", {}, heading), " ", ...kind, " ", element("code", {}, ...marked(group.id, view.sought)), " ", pin,
    ),
    element(
      "div",
      { class: "overview" },
      element(
        "dl",
        { class: "asked" },
        element("dt", {}, "Prompt"), element("dd", { dir: "auto" }, ...marked(group.prompt, view.sought)),
        element("dt", {}, "Right answer"), element("dd", { dir: "auto" }, ...marked(group.answer, view.sought)),
        element("dt", {}, "Solved"), element("dd", {}, `${group.rollouts.filter((one) => one.solved).length} of ${group.rollouts.length}`),
      ),
      ...plotOf(group),
    ),
    rollouts.length
      ? element("div", { class: "rollouts" }, ...rollouts.map(([place, one]) => rolloutCard(place, one, group, view)))
      : element("p", {}, "No rollout of this prompt is wanted."),
  );
}

// Pairs of a rollout's number, from 1, and the rollout.
function chosenRollouts(group, { outcome, sort }) {
  const pairs = group.rollouts
    .map((one, at) => [at + 1, one])
    .filter(([, one]) => outcome === "all" || one.solved === (outcome === "right"));
  const advantage = (one) => (one.advantage === null ? -Infinity : one.advantage);
  if (sort === "calls") pairs.sort(([, a], [, b]) => (a.reward_components.calls || 0) - (b.reward_components.calls || 0));
  if (sort === "advantage") pairs.sort(([, a], [, b]) => (advantage(a) === advantage(b) ? 0 : advantage(b) - advantage(a)));
  return pairs;
}

function rolloutCard(place, one, group, view) {
  const outcome = one.solved ? "right" : "wrong";
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
    { class: `rollout ${outcome}`, "aria-label": `rollout ${place}, ${outcome}` },
    element(
      "h3",
      {},
      `#${place} `,
      element("span", { class: `outcome ${outcome}` }, one.solved ? "✓ right" : "✗ wrong"),
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

const SEGMENT_NAMES = { model: "model", call: "tool call", tool: "observation" };

function segmentOf({ kind, text }, sought) {
  return element(
    "div",
    { class: `segment ${kind}` },
    element("span", { class: "label" }, SEGMENT_NAMES[kind]),
    element("pre", { dir: "auto" }, ...marked(text.replace(/^\n+|\n+$/g, ""), sought)),
  );
}
