"use strict";

// Where the evaluations of the shown runs are in a chart, those that have both numbers.
function placesIn(chart, up, along) {
  return shownRuns().flatMap(([{ evaluations }, run]) =>
    evaluations.flatMap((one, at) => {
      const [x, y] = [valueOf(one, along), valueOf(one, up)];
      return x === null || y === null ? [] : [{ run, at, x: chart.x(x), y: chart.y(y) }];
    }),
  );
}

function rangesOf(up, along) {
  const every = shownRuns().flatMap(([{ evaluations }]) => evaluations);
  return [along, up].map((objective) => rangeOf(every.map((one) => valueOf(one, objective))));
}

function drawEdges(places, up, along) {
  return shownRuns().flatMap(([, run]) => {
    const own = places.filter((place) => place.run === run);
    const d = own.length && pathOf(edgeOf(own, senseOf(up), senseOf(along)));
    return own.length ? [drawing("path", { class: `edge ${runClass(run)}`, d })] : [];
  });
}

function drawFront(width) {
  const { up, along } = view;
  const [x, y] = rangesOf(up, along);
  const chart = makeChart({
    width,
    height: Math.max(300, Math.min(0.62 * width, 480)),
    x: { range: x, name: nameOf(along) },
    y: { range: y, name: nameOf(up) },
    label: `${nameOf(up)}, against ${nameOf(along)}; the arrow keys go through the evaluations`,
  });
  const places = placesIn(chart, up, along);
  chart.svg.append(...drawEdges(places, up, along));
  for (const { run, at, x: left, y: top } of places) {
    const evaluations = data.runs[run].evaluations;
    const onFront = evaluations[at].front[view.space];
    const progress = evaluations.length > 1 ? at / (evaluations.length - 1) : 1;
    chart.svg.append(
      drawing("path", {
        class: `mark ${runClass(run)}${onFront ? " best" : ""}`,
        d: markOf(run, left, top, onFront ? 5 : 4),
        opacity: (0.35 + 0.65 * progress).toFixed(2),
      }),
    );
  }
  for (const place of places) {
    const last = data.runs[place.run].evaluations.length - 1;
    const d = place.at === last ? star(place.x, place.y, 12, 5) : polygon(place.x, place.y, 11, 4, Math.PI / 4);
    const name = place.at === last ? "end" : "start";
    if (place.at === 0 || place.at === last) chart.svg.append(drawing("path", { class: `${name} ${runClass(place.run)}`, d }));
  }
  const point = makePointer(chart);
  highlights.push(() => {
    const here = places.find(({ run, at }) => run === view.run && at === view.at);
    point(here, here && tell(data.runs[here.run].evaluations[here.at]));
  });
  followRuns(chart.svg, places, 40);
  return chart.svg;
}

// ---- three objectives and more -------------------------------------------------------------------

function drawPair(up, along) {
  const [width, height] = [150, 110];
  const [x, y] = rangesOf(up, along);
  const chart = makeChart({
    width,
    height,
    x: { range: x, ticks: [] },
    y: { range: y, ticks: [] },
    label: `${objectives[up].name} against ${objectives[along].name}`,
  });
  const places = placesIn(chart, up, along);
  chart.svg.append(...drawEdges(places, up, along));
  for (const [, run] of shownRuns()) {
    // All dots of a run are one line of no length: hundreds of pairs cost little.
    const own = places.filter((place) => place.run === run);
    const d = own.map((place) => `M${place.x.toFixed(1)} ${place.y.toFixed(1)}h0`).join("");
    chart.svg.append(drawing("path", { class: `dots ${runClass(run)}`, d }));
  }
  const chosen = view.up === up && view.along === along;
  const { name: above } = objectives[up];
  const { name: right } = objectives[along];
  const button = element(
    "button",
    { type: "button", class: "pair", "aria-pressed": String(chosen) },
    chart.svg,
    element("span", {}, element("span", {}, `↑ ${above}`), " ", element("span", {}, `→ ${right}`)),
  );
  button.addEventListener("click", () => chooseAxes(up, along));
  return button;
}

function drawPairs() {
  const pairs = [];
  for (let up = 0; up < objectives.length; up += 1) {
    for (let along = up + 1; along < objectives.length; along += 1) pairs.push(drawPair(up, along));
  }
  return pairs;
}

// Parallel coordinates: an axis for each objective, one below the other, better to the right.
function drawAcross(width) {
  const [left, right, gap, first] = [14, width - 14, 74, 26];
  const every = shownRuns().flatMap(([{ evaluations }]) => evaluations);
  const ranges = objectives.map((_, at) => rangeOf(every.map((one) => valueOf(one, at)), 0));
  const place = (at, value) => {
    if (value === null) return null;
    const [low, high] = ranges[at];
    const share = high > low ? (value - low) / (high - low) : 0.5;
    return [left + (right - left) * (senseOf(at) > 0 ? share : 1 - share), first + gap * at];
  };
  const svg = drawing("svg", {
    viewBox: `0 0 ${width} ${gap * (objectives.length - 1) + first + 24}`,
    class: "chart",
    role: "img",
    "aria-label": "All objectives at once; the arrow keys go through the evaluations",
  });
  const lineOf = (evaluation) => objectives.map((_, at) => place(at, valueOf(evaluation, at)));
  const places = [];
  for (const [{ evaluations }, run] of shownRuns()) {
    evaluations.forEach((one, at) => {
      const line = lineOf(one);
      const end = at === evaluations.length - 1 ? " last" : at === 0 ? " first" : "";
      svg.append(drawing("path", { class: `line ${runClass(run)}${end}`, d: pathOf(line) }));
      places.push(...line.filter((spot) => spot !== null).map(([x, y]) => ({ run, at, x, y })));
    });
  }
  const here = drawing("path", { class: "line here" });
  svg.append(here);
  objectives.forEach((objective, at) => {
    const [y, [low, high]] = [first + gap * at, ranges[at]];
    const ends = senseOf(at) > 0 ? [low, high] : [high, low];
    const text = (value) => (view.space === "measured" ? written(objective, value) : number(value, 4));
    const words = (x, y, anchor, text, name) => drawing("text", { x, y, "text-anchor": anchor, class: name }, text);
    svg.append(
      drawing("line", { x1: left, x2: right, y1: y, y2: y, class: "axis" }),
      words(left, y - 9, "start", nameOf(at), "halo"),
      words(left, y + 17, "start", text(ends[0]), "halo faint"),
      words(right, y + 17, "end", text(ends[1]), "halo faint"),
    );
  });
  highlights.push(() => {
    const evaluation = view.shown[view.run] ? data.runs[view.run].evaluations[view.at] : null;
    here.setAttribute("d", evaluation ? pathOf(lineOf(evaluation)) : "");
  });
  followRuns(svg, places, 30);
  return svg;
}
