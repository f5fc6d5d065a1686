// Sphinx's weights of search results. Definitions and moocore's names follow the functions themselves.
var Scorer = {
  score: (result) => {
    const [, title, , , score] = result;
    return /\.(compat|definitions)\./.test(title) ? score - 30 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
