#!/usr/bin/env bash
# The site, from docs/ and the docstrings into build/site: warnings are errors, local links are
# checked. Needs npm, for MathJax, and Python: .venv's where it has the extra "docs", else an
# environment of its own in build/.
set -euo pipefail
cd "$(dirname "$0")/.."

python=.venv/bin/python
if ! "$python" -c "import furo, myst_parser, sphinx_copybutton, paretopo" 2> /dev/null; then
  python3 -m venv build/site-env
  python=build/site-env/bin/python
  "$python" -m pip install --quiet ".[docs]"
fi

mathjax=build/mathjax/tex-svg.js
if [ ! -f "$mathjax" ]; then
  mkdir -p build/mathjax
  packed=$(cd build && npm pack --silent mathjax@3.2.2)
  tar -xzf "build/$packed" -C build/mathjax --strip-components=2 package/es5/tex-svg.js
  rm "build/$packed"
fi

rm -rf build/site
"$python" -m sphinx -W --keep-going -n -q docs build/site
"$python" scripts/check_links.py build/site
echo "build/site/index.html"
