#!/usr/bin/env bash
# Compares the speed of this checkout with that of another commit; the status is 1 if a case got slower:
#     scripts/compare_commits.sh REV [TOLERANCE_PERCENT [OPERATION]...]
# The defaults are 25 % and five headline cases. Environments stay in build/compared/ for the next run.
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
# The extra "bench" pins the versions. moocore is the only peer that the headline cases need: it judges the answers.
pins=$(python3 - numpy matplotlib moocore <<'PYTHON'
import re, sys, tomllib

bench = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"]
print(*(pin for pin in bench if re.match(r"[\w-]+", pin)[0] in sys.argv[1:]))
PYTHON
)
# shellcheck disable=SC2086 # one word for each requirement
install build/compared/here . $pins
exec build/compared/here/bin/python -m bench "${@:-headline}" --against "$there/venv/bin/python=$revision" \
  --tolerance "$tolerance"
