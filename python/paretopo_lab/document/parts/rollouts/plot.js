"use strict";

const PLOT = { width: 256, height: 196 };

// The reward vectors of a group, two objectives at a time; `axes` keeps the names of those chosen,
// upwards and to the right. Equal vectors are one point with their count. It shows the
// ranked values, after the gate; a single rollout or a single objective is not drawn.
function plotOf(group, axes) {
  const names = group.objectives;
  const vectors = group.rollouts.filter((one) => one.gated.length === names.length && one.gated.length > 1);
  if (vectors.length < 2) return [];
  const many = names.length > 2;
  const find = (name, otherwise) => (many && names.includes(name) ? names.indexOf(name) : otherwise);
  const up = find(axes[0], 0);
  const along = find(axes[1], up === 1 ? 0 : 1);
  const box = element("div", { class: "ranks" }, ...drawRanks(vectors, names, up, along));
  const show = (newUp, newAlong, chosen) => {
    // The same for both would be a line: then they change places.
    [axes[0], axes[1]] = newUp === newAlong ? [names[along], names[up]] : [names[newUp], names[newAlong]];
    const [changed] = plotOf(group, axes);
    box.replaceWith(changed);
    changed.querySelector(chosen).focus();
  };
  if (many) {
    box.append(
      element(
        "form",
        { autocomplete: "off" },
        element("label", {}, "up ", chooser(names, up, (at) => show(at, along, ".up"), { class: "up" })),
        element("label", {}, "along ", chooser(names, along, (at) => show(up, at, ".along"), { class: "along" })),
      ),
    );
  }
  return [box];
}

function drawRanks(vectors, names, up, along) {
  const points = distinct(vectors, up, along);
  if (!points.length) return [element("p", { class: "nothing" }, "No rollout has both.")];
  const chart = makeChart({
    ...PLOT,
    x: { name: names[along], ...extent(points.map((point) => point.x)) },
    y: { name: names[up], ...extent(points.map((point) => point.y)) },
    label: `${names[up]} against ${names[along]}: ${described(points)}`,
  });
  // From three objectives on a front is no line in the plane of two.
  if (names.length === 2) chart.svg.append(...fronts(points, chart));
  for (const point of points) chart.svg.append(dot(point, chart, names[up], names[along]));
  return [chart.svg];
}

function distinct(rollouts, up, along) {
  const points = new Map();
  for (const { gated, rank } of rollouts) {
    const [y, x] = [gated[up], gated[along]];
    if (x === null || y === null) continue;
    const key = `${x} ${y} ${rank}`;
    if (!points.has(key)) points.set(key, { x, y, rank, count: 0 });
    points.get(key).count += 1;
  }
  return [...points.values()].sort((a, b) => (b.rank ?? Infinity) - (a.rank ?? Infinity)); // best above
}

// Shares all have one range, so that groups can be compared.
function extent(values) {
  const shares = values.every((value) => value >= 0 && value <= 1);
  return shares ? { range: [-0.08, 1.08], ticks: [0, 1] } : { range: rangeOf(values, 0.12) };
}

function described(points) {
  return points
    .map(({ x, y, rank, count }) => `${plural(count, "rollout")} at ${number(y)}, ${number(x)}${rank === null ? "" : `, rank ${rank}`}`)
    .join("; ");
}

function fronts(points, chart) {
  const byRank = new Map();
  for (const point of points) {
    if (point.rank === null) continue;
    if (!byRank.has(point.rank)) byRank.set(point.rank, []);
    byRank.get(point.rank).push(point);
  }
  return [...byRank].map(([rank, front]) => {
    front.sort((a, b) => a.x - b.x || b.y - a.y);
    const places = front.map((point) => [chart.x(point.x), chart.y(point.y)]);
    return drawing("path", { d: pathOf(places), class: `front ${rankClass(rank)}` });
  });
}

function dot(point, chart, above, along) {
  const [x, y] = [chart.x(point.x), chart.y(point.y)];
  const label = point.rank === null ? "" : String(point.rank);
  const about = `${plural(point.count, "rollout")}: ${above} ${number(point.y)}, ${along} ${number(point.x)}`;
  const group = drawing("g", { class: `dot ${rankClass(point.rank)}` }, drawing("title", {}, about));
  group.append(
    drawing("circle", { cx: x, cy: y, r: 8 }),
    drawing("text", { x, y: y + 4, "text-anchor": "middle", class: "rank" }, label),
  );
  if (point.count > 1) {
    const inside = x > PLOT.width - 50 ? -12 : 12;
    const anchor = inside < 0 ? "end" : "start";
    group.append(drawing("text", { x: x + inside, y: y + 4, "text-anchor": anchor }, `×${point.count}`));
  }
  return group;
}

// Front 0 has a colour of its own, the others share three; the number says which it is.
function rankClass(rank) {
  return rank === null ? "rank-none" : `rank-${Math.min(rank, 3)}`;
}
