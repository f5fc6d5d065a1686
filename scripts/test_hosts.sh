#!/usr/bin/env bash
# Tests paretopo_core.accelerate with all hosts. Then runs the tests of these hosts with and without it:
# every test that passes without acceleration must pass with it.
# Usage: scripts/test_hosts.sh [FOLDER] [HOST=CHECKOUT]...
#   FOLDER          the environment, created if missing (default .venv-hosts, about 2.3 GB)
#   HOST=CHECKOUT   a checkout of pymoo, botorch, evox or evotorch at the version of the extra `hosts`,
#                   because their published archives have no tests; those of Optuna and DEAP are downloaded
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-hosts
case ${1:-} in '' | *=*) ;; *) venv=$1 && shift ;; esac
python=$(realpath -s "$venv")/bin/python

if [ ! -x "$python" ]; then
    python3.11 -m venv "$venv"
    "$python" -m pip install --quiet "torch==2.13.0+cpu" ||
        "$python" -m pip install --quiet "torch==2.13.0+cpu" --index-url https://download.pytorch.org/whl/cpu
fi
# Some tests of Optuna and pymoo need packages for plots and notebooks. Install the current tree.
PARETOPO_CUDA=OFF "$python" -m pip install --quiet ".[hosts]" pytest pytest-timeout hypothesis plotly matplotlib nbconvert ipython
"$python" -m pytest tests/paretopo_core/test_accelerate_*.py tests/test_optimiser_examples.py

work=build/hosts
mkdir -p "$work"

# Unpack the published archive of a host without its package, so that the installed one is tested.
fetch() {
    local version
    version=$("$python" -c "from importlib import metadata; print(metadata.version('$1'))")
    [ -d "$work/$1-$version" ] && return
    "$python" -m pip download --quiet --no-deps --no-binary "$1" --dest "$work" "$1==$version"
    tar -xzf "$work/$1-$version.tar.gz" -C "$work"
    mv "$work/$1-$version/$1" "$work/$1-$version/$1-as-published"
    # Do not apply the pytest settings of this repository.
    [ -f "$work/$1-$version/pyproject.toml" ] || touch "$work/$1-$version/pytest.ini"
}

# Run a host's tests twice, and compare the outcome of each.
compare() {
    local host=$1 folder=$2
    shift 2
    for mode in own accelerated; do
        (cd "$folder" && "$python" - "$host" "$mode" "$@" <<'PROGRAM') || true
import sys

import paretopo_core
import pytest

host, mode, *tests = sys.argv[1:]
if mode == "accelerated":
    print(paretopo_core.accelerate(host))
options = ["-q", "-p", "no:cacheprovider", "--continue-on-collection-errors"]
sys.exit(pytest.main([*tests, *options, "--junitxml", f"{mode}.xml"]))
PROGRAM
    done
    "$python" - "$host" "$folder" <<'PROGRAM'
import sys
from pathlib import Path
from xml.etree import ElementTree

host, folder = sys.argv[1], Path(sys.argv[2])


def passed(mode):
    cases = list(ElementTree.parse(folder / f"{mode}.xml").iter("testcase"))
    return {(one.get("classname"), one.get("name")) for one in cases if len(one) == 0}, len(cases)


(own, count), (ours, _) = passed("own"), passed("accelerated")
print(f"{host}: of {count} tests {len(own)} pass as it is, and {len(own & ours)} of them accelerated")
for case in sorted(own - ours):
    print("  fails accelerated:", *case)
sys.exit(bool(own - ours) or not own)
PROGRAM
}

fetch optuna
fetch deap
compare deap "$work"/deap-*/ tests
compare optuna "$work"/optuna-*/ tests/hypervolume_tests tests/test_multi_objective.py \
    tests/study_tests/test_multi_objective.py tests/samplers_tests/test_nsgaii.py \
    tests/samplers_tests/test_nsgaiii.py tests/samplers_tests/tpe_tests tests/gp_tests/test_acqf.py \
    tests/samplers_tests/test_gp.py \
    tests/visualization_tests/test_hypervolume_history.py tests/visualization_tests/test_pareto_front.py
for checkout in "$@"; do
    host=${checkout%%=*} folder=${checkout#*=}
    case $host in
        # The test that is left out compares contributions, whose last digits differ, with ==.
        pymoo) compare pymoo "$folder" tests/indicators tests/misc tests/algorithms \
            --deselect tests/indicators/test_hv.py::test_hvc_approximate ;;
        botorch) compare botorch "$folder" test/utils/multi_objective test/acquisition/multi_objective ;;
        evox) compare evox "$folder" unit_test/operators/test_non_dominate.py unit_test/algorithms/test_moea.py ;;
        # conftest.py and the test that is left out start Ray, in a mode that its new versions do not have.
        evotorch) compare evotorch "$folder" --noconftest -o addopts= tests/test_pareto_sorting.py \
            tests/test_ga.py tests/test_cloning.py tests/test_func_ops.py tests/test_core.py \
            --deselect tests/test_core.py::test_batch_and_solutions ;;
        *) echo "$host=...: pymoo, botorch, evox or evotorch" && exit 1 ;;
    esac
done
