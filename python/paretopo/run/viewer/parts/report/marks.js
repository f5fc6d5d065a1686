"use strict";

const SHAPES = 7; // of marks, and as many colours; more runs use them again

function runClass(run) {
  return `run-${run % SHAPES}`;
}

// A mark, a shape for each run or front, so that colour is never the only difference.
function markOf(run, x, y, size) {
  const outlines = [
    `M${x - size} ${y}a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0z`,
    polygon(x, y, size * 1.25, 4, Math.PI / 4),
    polygon(x, y, size * 1.3, 4, 0),
    polygon(x, y, size * 1.35, 3, -Math.PI / 2),
    polygon(x, y, size * 1.35, 3, Math.PI / 2),
    polygon(x, y, size * 1.2, 6, 0),
    star(x, y, size * 1.4, 4),
  ];
  return outlines[run % SHAPES];
}

function polygon(x, y, radius, corners, turn) {
  const places = Array.from({ length: corners }, (_, at) => {
    const angle = turn + (2 * Math.PI * at) / corners;
    return [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
  });
  return `${pathOf(places)}z`;
}

function star(x, y, radius, points) {
  const places = Array.from({ length: 2 * points }, (_, at) => {
    const [angle, reach] = [(Math.PI * at) / points - Math.PI / 2, at % 2 ? radius * 0.42 : radius];
    return [x + reach * Math.cos(angle), y + reach * Math.sin(angle)];
  });
  return `${pathOf(places)}z`;
}

// The edge of the region that the places dominate, from the best `along` to the worst. The senses of
// the axes are 1 where larger is better.
function edgeOf(places, senseUp, senseAlong) {
  const above = -senseUp; // the page counts downwards
  const sorted = [...places].sort((a, b) => senseAlong * (b.x - a.x) || above * (b.y - a.y));
  const low = above * Math.min(...places.map((place) => above * place.y));
  const least = senseAlong * Math.min(...places.map((place) => senseAlong * place.x));
  const corners = [];
  let best = low;
  for (const { x, y } of sorted) {
    if (corners.length && above * y <= above * best) continue;
    corners.push([x, best], [x, y]);
    best = y;
  }
  return [...corners, [least, best]];
}

// A ring with a text, and the function that puts both at a place, or hides them without one.
function makePointer(chart) {
  const ring = drawing("circle", { class: "ring", r: 10 });
  const tip = drawing("text", { class: "tip" });
  chart.svg.append(ring, tip);
  return (place, text) => {
    ring.classList.toggle("hidden", !place);
    tip.classList.toggle("hidden", !place);
    if (!place) return;
    ring.setAttribute("cx", place.x);
    ring.setAttribute("cy", place.y);
    tip.textContent = text;
    const room = chart.right - tip.getComputedTextLength();
    tip.setAttribute("x", Math.max(chart.left + 4, Math.min(place.x + 14, room)));
    tip.setAttribute("y", place.y + (place.y > chart.top + 30 ? -16 : 26));
  };
}
