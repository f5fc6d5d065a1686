"use strict";

// The shown rollouts, and the list of prompts next to them.
const data = JSON.parse(byId("data").textContent);
const steps = [...new Set(data.groups.map((group) => group.step))].sort((a, b) => a - b);
const texts = data.groups.map(searchable);
const view = { sought: "", source: "all", outcome: "all", sort: data.sort, step: null, axes: [] };
let listed = []; // numbers of the groups that the filters leave
let current = null; // the shown one
let pinned = null; // the one that stays next to it

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
  showPanels();
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
  showPanels();
}

function showPanels() {
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
  const shown = [...new Set([pinned, current])].filter((at) => at !== null);
  const panels = shown.map((at) => panelOf(data.groups[at], view, at === pinned, () => pin(at)));
  byId("panels").classList.toggle("compared", panels.length > 1);
  byId("panels").replaceChildren(...(panels.length ? panels : [element("p", {}, "No prompt fits the filters.")]));
  byId("panels").scrollTop = 0;
  if (current !== null) history.replaceState(null, "", `#${current}`);
}

function pin(at) {
  const hadFocus = document.activeElement.matches(".pin");
  pinned = pinned === at ? null : at;
  showPanels();
  if (hadFocus) byId("panels").querySelector(".pin").focus();
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

// The same prompt, the next time it was kept; after the last the first.
function nextTime() {
  if (current === null) return;
  const { id, held_out: heldOut } = data.groups[current];
  const times = listed.filter((at) => data.groups[at].id === id && data.groups[at].held_out === heldOut);
  show(times[(times.indexOf(current) + times.length - 1) % times.length]);
}

const KEYS = {
  ArrowDown: () => move(1), j: () => move(1),
  ArrowUp: () => move(-1), k: () => move(-1),
  ArrowRight: () => toStep(Number(byId("step").value) + 1), l: () => toStep(Number(byId("step").value) + 1),
  ArrowLeft: () => toStep(Number(byId("step").value) - 1), h: () => toStep(Number(byId("step").value) - 1),
  n: nextTime,
  p: () => current !== null && pin(current),
  "/": () => byId("search").focus(),
  "?": () => byId("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("keys").open) return;
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
byId("help").addEventListener("click", () => byId("keys").showModal());

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
