"use strict";

// ---- the selected point --------------------------------------------------------------------------

const selected = () => front.groups[view.group].points[view.at];
const isSelected = ({ group, at }) => group === view.group && at === view.at;

function select(group, at) {
  [view.group, view.at] = [group, at];
  showPoint();
  for (const highlight of highlights) highlight();
}

// The point so many places on, or the nearest one of the next group that is shown.
function moveOn(by) {
  select(view.group, Math.min(Math.max(view.at + by, 0), front.groups[view.group].points.length - 1));
}

function moveAcross(by) {
  const shown = shownGroups().map(([, number]) => number);
  const group = shown[(shown.indexOf(view.group) + by + shown.length) % shown.length];
  const distances = front.groups[group].points.map(({ step }) => Math.abs(step - selected().step));
  select(group, distances.indexOf(Math.min(...distances)));
}

const MOVES = {
  ArrowRight: () => moveOn(1),
  ArrowLeft: () => moveOn(-1),
  ArrowDown: () => moveAcross(1),
  ArrowUp: () => moveAcross(-1),
  Home: () => moveOn(-Infinity),
  End: () => moveOn(Infinity),
};

// Pointer, touch and keys choose a point in a chart; `places` are {group, at, x, y}, and without y only
// the way along counts. The selected group goes before another that is equally near.
function follow(svg, places, reach) {
  svg.setAttribute("tabindex", "0");
  svg.setAttribute("role", "application"); // it takes keys
  const find = (event, within) => {
    const box = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / box.width;
    const [x, y] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    let [nearest, distance] = [null, within];
    for (const place of places) {
      const away = Math.hypot(place.x - x, (place.y ?? y) - y);
      if (away < distance || (away === distance && place.group === view.group)) [nearest, distance] = [place, away];
    }
    if (nearest && !isSelected(nearest)) select(nearest.group, nearest.at);
  };
  svg.addEventListener("pointermove", (event) => event.pointerType === "mouse" && find(event, reach));
  svg.addEventListener("click", (event) => find(event, 2 * reach));
  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(MOVES, event.key)) return;
    event.preventDefault();
    MOVES[event.key]();
  });
}

// The selected point in words and numbers.
function showPoint() {
  const [group, point] = [front.groups[view.group], selected()];
  const name = front.groups.length > 1 && group.name ? `${group.name}: ${point.name}` : point.name;
  byId("point").value = `${view.group} ${view.at}`;
  byId("selected").textContent = name;
  byId("about").replaceChildren(
    ...(isBest(point) ? [element("span", { class: "badge" }, "on the front")] : []),
    element("dl", {}, ...point.facts.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
    ...point.notes.map((note) => element("p", { class: "key" }, note)),
  );
}

// ---- forms ---------------------------------------------------------------------------------------

function makeForms() {
  front.groups.forEach((group, number) => {
    const box = element("input", { type: "checkbox", checked: "" });
    box.addEventListener("change", () => {
      view.shown[number] = box.checked;
      if (!view.shown.includes(true)) view.shown[number] = box.checked = true; // one at least
      if (!view.shown[view.group]) moveAcross(1);
      draw();
    });
    const mark = drawing("path", { class: `mark best ${groupClass(number)}`, d: markOf(number, 8, 8, 5) });
    const sample = drawing("svg", { viewBox: "0 0 16 16", class: "sample", "aria-hidden": "true" }, mark);
    if (group.name) {
      const text = element("span", {}, group.name);
      byId("groups").append(element("label", {}, ...(front.groups.length > 1 ? [box] : []), sample, text));
    }
    const options = group.points.map(({ name }, at) => element("option", { value: `${number} ${at}` }, name));
    byId("point").append(...(front.groups.length > 1 ? [element("optgroup", { label: group.name }, ...options)] : options));
  });
  byId("point").addEventListener("change", () => select(...byId("point").value.split(" ").map(Number)));
  const choices = [];
  if (axesOf().length > 2) {
    const names = axesOf().map(({ name }) => name);
    choices.push(["Up ", chooser(names, view.up, (at) => chooseAxes(at, view.along), { id: "up" })]);
    choices.push(["Along ", chooser(names, view.along, (at) => chooseAxes(view.up, at), { id: "along" })]);
  }
  if (front.spaces.length > 1) {
    const names = front.spaces.map(({ name }) => name);
    choices.push(["Numbers ", chooser(names, view.space, (at) => { view.space = at; draw(); }, { id: "space" })]);
  }
  byId("axes").append(...choices.map((parts) => element("label", {}, ...parts)));
}

function chooseAxes(up, along) {
  // The same for both would be a line: then they change places.
  [view.up, view.along] = up === along ? [view.along, view.up] : [up, along];
  byId("up").value = view.up;
  byId("along").value = view.along;
  draw();
}

// ---- tables and texts ----------------------------------------------------------------------------

function partOf(part) {
  if (part.level) return [element(`h${part.level}`, {}, part.text)];
  if (part.items) return part.items.map(([name, text]) => element("p", {}, element("b", {}, name), text));
  if (part.text) return part.text.map((line) => element("p", { class: "key" }, line));
  const { title, header, rows, words, note } = part;
  const cellOf = (cell, at) => {
    const [text, style] = Array.isArray(cell) ? cell : [cell, ""];
    if (!at) return element("th", { scope: "row", class: style || null }, text);
    const judged = ["better", "worse"].includes(style) ? [" ", element("span", { class: "verdict" }, style)] : [];
    return element("td", { class: `${at < words ? "" : "number"} ${style}` }, text, ...judged);
  };
  const heads = header.map((text, at) => element("th", { scope: "col", class: at < words ? null : "number" }, text));
  const body = rows.map((row) => element("tr", {}, ...row.map(cellOf)));
  // A table at its natural width, inside an element that scrolls separately.
  return [
    ...(title ? [element("h2", {}, title)] : []),
    element(
      "div",
      { class: "scrolled", tabindex: "0", role: "region", "aria-label": title || header.join(", ") },
      element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...body)),
    ),
    ...(note ? [element("p", { class: "key" }, note)] : []),
  ];
}

// ---- drawing -------------------------------------------------------------------------------------

// Draw everything again at the available width, and restore the focus.
function draw() {
  highlights.length = 0;
  const box = document.activeElement.closest("#front-chart, #pairs, #curves");
  const find = () => [...box.querySelectorAll("button, [tabindex]")];
  const focus = box && find().indexOf(document.activeElement);
  if (axesOf().length > 1) byId("front-chart").replaceChildren(drawFront(byId("front-chart").clientWidth));
  if (axesOf().length > 2) byId("pairs").replaceChildren(...drawPairs());
  if (curves) {
    const wide = byId("curves").clientWidth;
    byId("curves").replaceChildren(...curves.curves.map((curve) => drawCurve(curve, wide > 760 ? (wide - 32) / 2 : wide)));
  }
  if (box) find()[focus]?.focus();
  showPoint();
  for (const highlight of highlights) highlight();
}

const many = (front?.spaces[0].axes.length ?? 0) > 2;
byId("title").textContent = data.title;
byId("front").hidden = !front;
byId("training").hidden = !curves;
byId("many").hidden = !many;
byId("parts").append(...data.parts.flatMap(partOf));
if (curves) {
  byId("curves-title").textContent = curves.title;
  byId("curves-key").textContent = curves.key;
}
if (front) {
  byId("front-title").textContent = front.title;
  byId("front-key").textContent = front.key;
  byId("front").querySelector(".drawn").hidden = byId("axes").hidden = front.spaces[0].axes.length < 2;
  makeForms();
  let drawn = 0;
  new ResizeObserver(() => {
    const width = byId("parts").clientWidth;
    if (!width || width === drawn) return;
    drawn = width;
    draw();
  }).observe(byId("parts"));
}
