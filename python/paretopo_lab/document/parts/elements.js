"use strict";

// An element with attributes and children. Text is always set as text, never as markup.
function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

function drawing(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null) made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

// The text as nodes, with matches of the search marked.
function marked(text, sought) {
  if (!sought) return [text];
  const nodes = [];
  const lower = text.toLowerCase();
  let from = 0;
  // Lower case can have another length; marks would then slip, so there are none.
  let at = lower.length === text.length ? lower.indexOf(sought) : -1;
  while (at >= 0) {
    nodes.push(text.slice(from, at), element("mark", {}, text.slice(at, at + sought.length)));
    from = at + sought.length;
    at = lower.indexOf(sought, from);
  }
  nodes.push(text.slice(from));
  return nodes;
}

function number(value, digits = 3) {
  if (value === null) return "none";
  return String(Number(value.toPrecision(digits)));
}

function plural(count, word) {
  return `${count} ${word}${count === 1 ? "" : "s"}`;
}

const SEGMENT_NAMES = { model: "model", call: "tool call", tool: "observation" };

// A piece of a rollout, with matches of the search marked.
function segmentOf({ kind, text }, sought = "") {
  return element(
    "div",
    { class: `segment ${kind}` },
    element("span", { class: "label" }, SEGMENT_NAMES[kind]),
    element("pre", { dir: "auto" }, ...marked(text.replace(/^\n+|\n+$/g, ""), sought)),
  );
}
