"use strict";

const data = JSON.parse(byId("data").textContent);

function rowOf([name, ...cells]) {
  const numbers = cells.map((cell) => element("td", { class: "number" }, cell));
  return element("tr", {}, element("th", { scope: "row" }, name), ...numbers);
}

byId("summary").append(
  ...data.notes.map((note) => element("p", {}, note)),
  scrolled("Rewards", data.header, element("tbody", {}, ...data.rewards.map(rowOf))),
);
byId("faults").append(
  ...data.faults.map(({ name, group, shows, effect, groups }) =>
    element(
      "div",
      {},
      element("h3", {}, group ? `${name}: group ${group}` : name),
      element("p", {}, `${shows} ${effect}`),
      element("p", { class: "key" }, `groups: ${groups}`),
    ),
  ),
  ...(data.faults.length ? [] : [element("p", {}, "No known fault shows.")]),
);
