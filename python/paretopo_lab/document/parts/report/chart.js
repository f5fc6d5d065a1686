"use strict";

// Round numbers within a range, about as many as wanted.
function ticks([low, high], wanted = 4) {
  const rough = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough * (1 - 1e-9));
  const [first, last] = [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  return Array.from({ length: last - first + 1 }, (_, at) => Number(((first + at) * step).toPrecision(12)));
}

// Round numbers of a logarithmic axis: 1, 2 and 5 of each power of ten, or only 1 if these are many.
function logTicks([low, high]) {
  const powers = Array.from(
    { length: Math.floor(Math.log10(high)) - Math.floor(Math.log10(low)) + 1 },
    (_, at) => 10 ** (Math.floor(Math.log10(low)) + at),
  );
  return powers
    .flatMap((power) => (powers.length > 3 ? [power] : [power, 2 * power, 5 * power]))
    .map((value) => Number(value.toPrecision(12)))
    .filter((value) => value >= low && value <= high);
}

// The range of the numbers with some room around it, also for a single number; ignores null.
function rangeOf(values, room = 0.06) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null) continue;
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (low > high) return [0, 1];
  const span = high > low ? high - low : Math.abs(high) || 1;
  return [low - room * span, high + room * span];
}

// A plot of some size with axes, and where a value is on it. An axis has a range and may have a
// name and its own ticks, and may be logarithmic; values below its range are then at its end.
function makeChart({ width, height, x, y, label }) {
  const marksOf = (axis, wanted) => axis.ticks ?? (axis.log ? logTicks(axis.range) : ticks(axis.range, wanted));
  const marks = { x: marksOf(x, width / 90), y: marksOf(y, height / 45) };
  const shareOf = ({ range, log }, value) => {
    const [low, high, here] = log ? [...range, Math.max(value, range[0])].map(Math.log10) : [...range, value];
    return (here - low) / (high - low);
  };
  const longest = Math.max(0, ...marks.y.map((value) => String(value).length));
  const left = 10 + 7 * longest + (y.name ? 16 : 0);
  const [right, top, bottom] = [width - 12, 10, height - (x.name ? 36 : 20)];
  const placeX = (value) => left + (right - left) * shareOf(x, value);
  const placeY = (value) => bottom - (bottom - top) * shareOf(y, value);
  const line = (x1, y1, x2, y2, name) => drawing("line", { x1, y1, x2, y2, class: name });
  const words = (text, at, anchor, more = {}) =>
    drawing("text", { x: at[0], y: at[1], "text-anchor": anchor, ...more }, String(text));
  const svg = drawing(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": label },
    ...marks.y.flatMap((value) => [
      line(left, placeY(value), right, placeY(value), "grid"),
      words(value, [left - 6, placeY(value) + 4], "end", { class: "faint" }),
    ]),
    ...marks.x.flatMap((value) => [
      line(placeX(value), top, placeX(value), bottom, "grid"),
      words(value, [placeX(value), bottom + 15], "middle", { class: "faint" }),
    ]),
    line(left, bottom, right, bottom, "axis"),
    line(left, bottom, left, top, "axis"),
  );
  if (x.name) svg.append(words(x.name, [(left + right) / 2, height - 4], "middle"));
  const middle = (top + bottom) / 2;
  if (y.name) svg.append(words(y.name, [12, middle], "middle", { transform: `rotate(-90 12 ${middle})` }));
  return { svg, x: placeX, y: placeY, left, right, top, bottom };
}

// A line through places, with gaps where one is missing.
function pathOf(places) {
  let pen = "M";
  return places
    .map((place) => {
      if (place === null) {
        pen = "M";
        return "";
      }
      const drawn = `${pen}${place[0].toFixed(1)} ${place[1].toFixed(1)}`;
      pen = "L";
      return drawn;
    })
    .join("");
}

// A choice of one of several names.
function chooser(names, chosen, onChoice, attributes = {}) {
  const options = names.map((name, at) => element("option", { value: at, selected: at === chosen ? "" : null }, name));
  const made = element("select", attributes, ...options);
  made.addEventListener("change", () => onChoice(Number(made.value)));
  return made;
}
