"use strict";

// The view: a space of values, two of its axes, the groups that are shown, and the selected point.
const data = JSON.parse(byId("data").textContent);
const { front, curves } = data;
const view = { space: 0, up: 0, along: 1, shown: front?.groups.map(() => true) };
if (front) [view.group, view.at] = front.selected;
const MOST_REGIONS = 40; // points; of more, only the best have a region
const MOST_NAMES = 12; // best points; of more, only the selected one is named
const highlights = []; // functions that show the selected point in a chart

const axesOf = () => front.spaces[view.space].axes;
const valueOf = (point, axis) => point.values[view.space][axis];
const isBest = (point) => point.best[view.space];
const shownGroups = () => front.groups.map((group, number) => [group, number]).filter(([, number]) => view.shown[number]);
const shownPoints = () => shownGroups().flatMap(([{ points }, group]) => points.map((point, at) => ({ point, group, at })));

// The spread of a value, which is known in the first space only.
const spreadOf = (point, axis) => (view.space ? 0 : Math.sqrt(point.covariance?.[axis][axis] ?? 0));

function rangeAlong(axis) {
  const ends = shownPoints().flatMap(({ point }) => {
    const [value, reach] = [valueOf(point, axis), 2.5 * spreadOf(point, axis)];
    return value === null ? [] : [value - reach, value + reach];
  });
  if (!axesOf()[axis].wide) return rangeOf(ends);
  return rangeOf(ends.filter((end) => end > 0).map(Math.log10)).map((power) => 10 ** power);
}

// The points of the shown groups in a chart, those that have both numbers.
function placesIn(chart) {
  return shownPoints().flatMap(({ point, group, at }) => {
    const [x, y] = [valueOf(point, chart.along), valueOf(point, chart.up)];
    return x === null || y === null ? [] : [{ point, group, at, x: chart.x(x), y: chart.y(y) }];
  });
}

function chartOf(up, along, { width, height, bare, label }) {
  const axis = (at) => ({ range: rangeAlong(at), log: axesOf()[at].wide, ...(bare ? { ticks: [] } : { name: axesOf()[at].label }) });
  return { ...makeChart({ width, height, x: axis(along), y: axis(up), label }), up, along };
}

// The stairs of each group, which end at the worst corner of the chart.
function drawEdges(places, chart) {
  const [above, right] = [axesOf()[chart.up].sense, axesOf()[chart.along].sense];
  const worst = { x: right > 0 ? chart.left : chart.right, y: above > 0 ? chart.bottom : chart.top };
  for (const [, number] of shownGroups()) {
    const own = places.filter(({ group }) => group === number);
    if (!own.length) continue;
    chart.svg.append(drawing("path", { class: `edge ${groupClass(number)}`, d: pathOf(edgeOf([...own, worst], above, right)) }));
  }
}

// The 95 % region of two means, as places in the chart.
function regionOf({ point }, chart) {
  const { covariance } = point;
  if (!covariance || view.space) return null;
  const [a, b, d] = [[chart.along, chart.along], [chart.along, chart.up], [chart.up, chart.up]].map(([i, j]) => covariance[i][j]);
  if (a === null) return null;
  // The lower triangular root of the covariance turns a circle into the ellipse.
  const first = Math.sqrt(a);
  const shared = first > 0 ? b / first : 0;
  const second = Math.sqrt(Math.max(d - shared * shared, 0));
  const reach = Math.sqrt(-2 * Math.log(0.05));
  return Array.from({ length: 41 }, (_, at) => {
    const [u, v] = [Math.cos((at * Math.PI) / 20), Math.sin((at * Math.PI) / 20)];
    return [
      chart.x(valueOf(point, chart.along) + reach * first * u),
      chart.y(valueOf(point, chart.up) + reach * (shared * u + second * v)),
    ];
  });
}

function drawMark(place, chart, few) {
  const { point, group, at, x, y } = place;
  const [best, last] = [isBest(point), front.groups[group].points.length - 1];
  const region = few || best ? regionOf(place, chart) : null;
  if (region) chart.svg.append(drawing("path", { class: `region ${groupClass(group)}`, d: `${pathOf(region)}z` }));
  const faint = front.course && last ? (0.35 + (0.65 * at) / last).toFixed(2) : null;
  chart.svg.append(drawing("path", { class: `mark ${groupClass(group)}${best ? " best" : ""}`, d: markOf(group, x, y, best ? 5 : 4), opacity: faint }));
}

function drawEnd({ group, at, x, y }, chart) {
  const last = front.groups[group].points.length - 1;
  if (at === last) chart.svg.append(drawing("path", { class: `end ${groupClass(group)}`, d: star(x, y, 12, 5) }));
  else if (at === 0) chart.svg.append(drawing("path", { class: `start ${groupClass(group)}`, d: polygon(x, y, 11, 4, Math.PI / 4) }));
}

function drawFront(width) {
  const [up, along] = [axesOf()[view.up].label, axesOf()[view.along].label];
  const chart = chartOf(view.up, view.along, {
    width,
    height: Math.max(300, Math.min(0.62 * width, 500)),
    label: `${up}, against ${along}; the arrow keys go through the points`,
  });
  const places = placesIn(chart);
  drawEdges(places, chart);
  for (const place of places) drawMark(place, chart, !front.course && places.length <= MOST_REGIONS);
  if (front.course) places.forEach((place) => drawEnd(place, chart));
  const best = front.course ? [] : places.filter(({ point }) => isBest(point));
  const names = nameMarks(chart, best.length <= MOST_NAMES ? best : [], places);
  const show = makePointer(chart);
  highlights.push(() => {
    const here = places.find(isSelected);
    names.forEach((text, point) => text.classList.toggle("hidden", point === here?.point)); // the tip has it
    show(here, here?.point.name);
  });
  follow(chart.svg, places, 40);
  return chart.svg;
}

// ---- three objectives and more -------------------------------------------------------------------

function drawPair(up, along) {
  const names = [up, along].map((axis) => axesOf()[axis].name);
  const chart = chartOf(up, along, { width: 150, height: 110, bare: true, label: names.join(" against ") });
  const places = placesIn(chart);
  drawEdges(places, chart);
  for (const [, number] of shownGroups()) {
    // All dots of a group are one line of no length: hundreds of pairs cost little.
    const own = places.filter(({ group }) => group === number);
    const d = own.map(({ x, y }) => `M${x.toFixed(1)} ${y.toFixed(1)}h0`).join("");
    chart.svg.append(drawing("path", { class: `dots ${groupClass(number)}`, d }));
  }
  const pressed = String(view.up === up && view.along === along);
  const text = element("span", {}, element("span", {}, `↑ ${names[0]}`), " ", element("span", {}, `→ ${names[1]}`));
  const button = element("button", { type: "button", class: "pair", "aria-pressed": pressed }, chart.svg, text);
  button.addEventListener("click", () => chooseAxes(up, along));
  return button;
}

function drawPairs() {
  return axesOf().flatMap((_, up) => axesOf().slice(up + 1).map((_, more) => drawPair(up, up + 1 + more)));
}
