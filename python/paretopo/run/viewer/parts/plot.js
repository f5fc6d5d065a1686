"use strict";

const PLOT = { width: 240, height: 184, left: 44, right: 14, top: 14, bottom: 42 };

// The reward vectors of a group: economy to the right, accuracy upwards, fronts connected. Equal
// vectors are one point with their count. What is drawn is what was ranked, behind the gate; a
// single rollout is not drawn.
function plotOf(group) {
  const vectors = group.rollouts.filter((one) => one.gated.length >= 2 && !one.gated.includes(null));
  if (vectors.length < 2) return [];
  const points = distinct(vectors);
  const right = range(points.map((point) => point.x));
  const up = range(points.map((point) => point.y));
  const x = (value) => PLOT.left + (PLOT.width - PLOT.left - PLOT.right) * share(value, right);
  const y = (value) => PLOT.height - PLOT.bottom - (PLOT.height - PLOT.top - PLOT.bottom) * share(value, up);
  const [above, along] = group.objectives;
  const plot = drawing(
    "svg",
    { viewBox: `0 0 ${PLOT.width} ${PLOT.height}`, class: "plot", role: "img",
      "aria-label": `${above} against ${along}: ${described(points)}` },
    ...axes(right, up, x, y, along, above),
    ...fronts(points, x, y),
  );
  for (const point of points) plot.append(dot(point, x(point.x), y(point.y), above, along));
  return [plot];
}

function distinct(rollouts) {
  const points = new Map();
  for (const { gated: [y, x], rank } of rollouts) {
    const key = `${x} ${y}`;
    if (!points.has(key)) points.set(key, { x, y, rank, count: 0 });
    points.get(key).count += 1;
  }
  return [...points.values()];
}

function range(values) {
  return [Math.min(0, ...values), Math.max(1, ...values)];
}

function share(value, [low, high]) {
  return (value - low) / (high - low);
}

function described(points) {
  return points
    .map(({ x, y, rank, count }) => `${plural(count, "rollout")} at ${number(y)}, ${number(x)}${rank === null ? "" : `, rank ${rank}`}`)
    .join("; ");
}

function axes(right, up, x, y, along, above) {
  const line = (x1, y1, x2, y2) => drawing("line", { x1, y1, x2, y2, class: "axis" });
  const words = (text, at, anchor, turn = null) =>
    drawing("text", { x: at[0], y: at[1], "text-anchor": anchor, transform: turn }, text);
  const [bottom, left] = [PLOT.height - PLOT.bottom + 12, PLOT.left - 12];
  const middle = (PLOT.top + PLOT.height - PLOT.bottom) / 2;
  return [
    line(left, bottom, PLOT.width - 4, bottom),
    line(left, bottom, left, 4),
    ...right.map((value) => words(number(value), [x(value), bottom + 12], "middle")),
    ...up.map((value) => words(number(value), [left - 4, y(value) + 4], "end")),
    words(along, [(PLOT.left + PLOT.width) / 2, PLOT.height - 4], "middle"),
    words(above, [12, middle], "middle", `rotate(-90 12 ${middle})`),
  ];
}

function fronts(points, x, y) {
  const byRank = new Map();
  for (const point of points) {
    if (point.rank === null) continue;
    if (!byRank.has(point.rank)) byRank.set(point.rank, []);
    byRank.get(point.rank).push(point);
  }
  return [...byRank].map(([rank, front]) => {
    front.sort((a, b) => a.x - b.x || b.y - a.y);
    const places = front.map((point) => `${x(point.x)},${y(point.y)}`).join(" ");
    return drawing("polyline", { points: places, class: `front ${rankClass(rank)}` });
  });
}

function dot(point, x, y, above, along) {
  const label = point.rank === null ? "" : String(point.rank);
  const told = `${plural(point.count, "rollout")}: ${above} ${number(point.y)}, ${along} ${number(point.x)}`;
  const group = drawing("g", { class: `dot ${rankClass(point.rank)}` }, drawing("title", {}, told));
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
