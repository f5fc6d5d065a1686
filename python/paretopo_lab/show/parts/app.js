"use strict";

// The shown rollouts, and the list of prompts next to them.
const data = JSON.parse(byId("data").textContent);
const steps = [...new Set(data.groups.map((group) => group.step))].sort((a, b) => a - b);
const texts = data.groups.map(searchable);
const view = { sought: "", source: "all", outcome: "all", sort: data.sort, step: null };
let listed = []; // numbers of the groups that the filters leave
let current = null; // the shown one

function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

function searchable(group) {
  const written = group.rollouts.flatMap((one) => one.segments.map((segment) => segment.text));
  return [group.id, group.kind, group.prompt, group.answer, ...written].join("\n").toLowerCase();
}

function wanted(at) {
  const group = data.groups[at];
  if (view.step !== null && group.step !== view.step) return false;
  if (view.source !== "all" && group.held_out !== (view.source === "held-out")) return false;
  if (view.outcome !== "all" && !group.rollouts.some((one) => one.solved === (view.outcome === "right"))) return false;
  return texts[at].includes(view.sought);
}

function refresh() {
  listed = data.groups.map((_, at) => at).filter(wanted);
  listed.sort((a, b) => data.groups[b].step - data.groups[a].step || a - b); // the newest first
  if (!listed.includes(current)) current = listed.length ? listed[0] : null;
  byId("count").textContent = `${listed.length} of ${plural(data.groups.length, "prompt")}`;
  byId("groups").replaceChildren(...listed.map(entry));
  showPanel();
}

function entry(at) {
  const group = data.groups[at];
  const solved = group.rollouts.filter((one) => one.solved).length;
  const button = element(
    "button",
    { type: "button", "data-at": at },
    element("span", { class: "when" }, `step ${group.step}`, ...(group.held_out ? [" ", element("span", { class: "badge" }, "held out")] : [])),
    " ",
    ...(isGraded(group) ? [element("span", { class: "score" }, `${solved}/${group.rollouts.length} right`), " "] : []),
    element("span", { class: "about" }, ...marked(group.prompt.trim().split("\n").at(-1).slice(-160), view.sought)),
  );
  button.addEventListener("click", () => show(at));
  return element("li", {}, button);
}

function show(at) {
  current = at;
  showPanel();
}

function showPanel() {
  const listHasFocus = byId("groups").contains(document.activeElement);
  for (const button of byId("groups").querySelectorAll("button")) {
    const here = Number(button.dataset.at) === current;
    if (here) {
      button.setAttribute("aria-current", "true");
      button.scrollIntoView({ block: "nearest" });
      if (listHasFocus) button.focus();
    } else {
      button.removeAttribute("aria-current");
    }
  }
  byId("panels").replaceChildren(current === null ? element("p", {}, "No prompt fits the filters.") : panelOf(data.groups[current], view));
  byId("panels").scrollTop = 0;
  if (current !== null) history.replaceState(null, "", `#${current}`);
}

// Move by some places in the list.
function move(by) {
  if (!listed.length) return;
  const place = Math.min(Math.max(listed.indexOf(current) + by, 0), listed.length - 1);
  show(listed[place]);
}

// The slider's places are all steps, and before them one for all together.
function toStep(place) {
  const slider = byId("step");
  slider.value = Math.min(Math.max(place, 0), steps.length);
  view.step = Number(slider.value) === 0 ? null : steps[Number(slider.value) - 1];
  const shown = view.step === null ? "all" : String(view.step);
  byId("step-shown").textContent = shown;
  slider.setAttribute("aria-valuetext", shown);
  refresh();
}

const KEYS = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  ArrowRight: () => toStep(Number(byId("step").value) + 1),
  ArrowLeft: () => toStep(Number(byId("step").value) - 1),
  "/": () => byId("search").focus(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape" && event.target === byId("search")) {
    byId("panels").focus();
  } else if (!event.target.closest("input, select") && Object.hasOwn(KEYS, event.key)) {
    event.preventDefault();
    KEYS[event.key]();
  }
});

byId("filters").addEventListener("submit", (event) => event.preventDefault());
byId("search").addEventListener("input", () => {
  view.sought = byId("search").value.trim().toLowerCase();
  refresh();
});
for (const name of ["source", "outcome", "sort"]) {
  byId(name).addEventListener("change", () => {
    view[name] = byId(name).value;
    refresh();
  });
}
byId("step").addEventListener("input", () => toStep(Number(byId("step").value)));

byId("name").textContent = data.name;
for (const name of new Set(data.groups.flatMap((group) => group.objectives))) {
  byId("sort").append(element("option", { value: name }, `best ${name}`));
}
if (data.only === "right" || data.only === "wrong") view.outcome = data.only;
for (const name of ["source", "outcome", "sort"]) byId(name).value = view[name];
byId("step").max = steps.length;
const asked = Number(location.hash.slice(1) || NaN);
if (Number.isInteger(asked) && asked >= 0 && asked < data.groups.length) current = asked;
toStep(0);
