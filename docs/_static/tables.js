// Let code in a table break after punctuation, and stack the rows of a table that is still wider
// than its column: each cell then follows the name of its column.
"use strict";
document.addEventListener("DOMContentLoaded", () => {
  for (const code of document.querySelectorAll(".table-wrapper td code")) {
    const walker = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    const texts = [];
    while (walker.nextNode()) texts.push(walker.currentNode);
    for (const text of texts) {
      const parts = text.data.split(/(?<=[._/=(,-])(?=\w)/);
      text.replaceWith(...parts.flatMap((part) => [document.createElement("wbr"), part]).slice(1));
    }
  }
  const wrappers = document.querySelectorAll(".table-wrapper");
  for (const wrapper of wrappers) {
    const names = [...wrapper.querySelectorAll("thead th")].map((cell) => cell.innerText.trim());
    for (const row of wrapper.querySelectorAll("tbody tr"))
      [...row.children].forEach((cell, column) => (cell.dataset.label = names[column] ?? ""));
  }
  const fit = () => {
    for (const wrapper of wrappers) {
      wrapper.classList.remove("stacked");
      if (wrapper.scrollWidth > wrapper.clientWidth + 1) wrapper.classList.add("stacked");
    }
  };
  fit();
  window.addEventListener("resize", fit);
  window.addEventListener("load", fit); // after fonts and formulas
});
