#!/usr/bin/env bash
# This checkout beside another commit of it, case by case in one run; the status is 1 if it got slower:
#     scripts/compare_commits.sh REV [TOLERANCE_PERCENT [OPERATION]...]
# five headline cases and 25 % unless told. Environments are kept in build/compared/ for next time.
set -euo pipefail
cd "$(dirname "$0")/.."

revision=$(git rev-parse --short "${1:?usage: scripts/compare_commits.sh REV [PERCENT [OPERATION]...]}^{commit}")
tolerance=${2:-25}
shift $(($# < 2 ? $# : 2))

install() { # ENVIRONMENT FOLDER: the core of a checkout
  python3 -m venv "$1"
  PARETOPO_CUDA=OFF "$1/bin/pip" install --quiet "${@:2}"
}
there=build/compared/$revision
if [ ! -e "$there/installed" ]; then
  mkdir -p "$there/source"
  git archive "$revision" | tar -x -C "$there/source"
  install "$there/venv" "./$there/source"
  touch "$there/installed"
fi
# What the benchmark itself takes is listed once, in the extra "bench"; of the peers, the judge alone.
pins=$(python3 - numpy matplotlib moocore <<'PYTHON'
import re, sys, tomllib

bench = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"]
print(*(pin for pin in bench if re.match(r"[\w-]+", pin)[0] in sys.argv[1:]))
PYTHON
)
# shellcheck disable=SC2086 # one word for each requirement
install build/compared/here . $pins
exec build/compared/here/bin/python -m bench "${@:-headline}" --beside "$there/venv/bin/python=$revision" \
  --tolerance "$tolerance"
