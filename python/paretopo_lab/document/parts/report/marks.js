"use strict";

const SHAPES = 7; // of marks, and as many colours; more groups use them again

function groupClass(group) {
  return `run-${group % SHAPES}`;
}

// A mark, a shape for each group, so that colour is never the only difference.
function markOf(group, x, y, size) {
  const outlines = [
    `M${x - size} ${y}a${size} ${size} 0 1 0 ${2 * size} 0a${size} ${size} 0 1 0 ${-2 * size} 0z`,
    polygon(x, y, size * 1.25, 4, Math.PI / 4),
    polygon(x, y, size * 1.3, 4, 0),
    polygon(x, y, size * 1.35, 3, -Math.PI / 2),
    polygon(x, y, size * 1.35, 3, Math.PI / 2),
    polygon(x, y, size * 1.2, 6, 0),
    star(x, y, size * 1.4, 4),
  ];
  return outlines[group % SHAPES];
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

// Names next to places, {point, x, y}, each where it covers the fewest places and other names; the
// texts by point.
function nameMarks(chart, named, places) {
  const [height, away] = [12, 8];
  const [taken, texts] = [[], new Map()];
  for (const { point, x, y } of named) {
    const width = 6 * point.name.length;
    const choices = [[1, -1], [-1, -1], [1, 1], [-1, 1], [0, -1], [0, 1], [1, 0], [-1, 0]].map(([right, down]) => {
      const left = x + right * away - (width * (1 - right)) / 2;
      const top = y + down * away - (height * (1 - down)) / 2;
      const covers = (place) => place.x > left && place.x < left + width && place.y > top && place.y < top + height;
      const meets = (other) =>
        left < other.left + other.width && other.left < left + width && Math.abs(top - other.top) < height;
      const outside = left < chart.left || left + width > chart.right || top < chart.top || top + height > chart.bottom;
      return { left, top, width, cost: places.filter(covers).length + taken.filter(meets).length + 3 * outside };
    });
    const best = choices.reduce((one, other) => (other.cost < one.cost ? other : one));
    taken.push(best);
    texts.set(point, drawing("text", { class: "name", x: best.left, y: best.top + height - 2 }, point.name));
  }
  chart.svg.append(...texts.values());
  return texts;
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
