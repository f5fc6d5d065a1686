"""Count how many deliberate mistakes the test suite catches.

Usage: mutate.py [--only PATTERN] [--first | --all] FOLDER

Copies the tracked files to FOLDER, makes one mistake after another there, and runs the tests of its
room until the first failure. A mistake that no quick test catches runs against the long tests as
well, so that one call gives both counts. `--first` runs only the file that is most likely to catch
a mistake, `--all` the whole suite. `--only` selects mistakes by a regular expression on file and
name. CMake compiles mistakes in csrc incrementally in FOLDER/build. The environment needs the
extra "test" and, for csrc, cmake and pybind11.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LONG = "long and not slow and not real_model"


class Mutant(NamedTuple):
    """A mistake: `new` replaces the one occurrence of `old`; the paths in `tests` run in order."""

    name: str
    file: str
    old: str
    new: str
    tests: str


CONTROLLER = "python/paretopo/controller"
REWARDS = "python/paretopo/rewards"
RECORDS = "python/paretopo/records"
MUTANTS = (
    # ---- Python: the training half -------------------------------------------------------------
    Mutant(
        "gate passes failures at the threshold",
        f"{CONTROLLER}/gate.py",
        "failed = ~(vectors[..., 0] > threshold)",
        "failed = ~(vectors[..., 0] >= threshold)",
        "tests/paretopo/config/test_gate.py tests/paretopo/controller/test_paretopo.py "
        "tests/paretopo/controller tests/paretopo/config",
    ),
    Mutant(
        "floor of the group ignores the mask",
        f"{CONTROLLER}/gate.py",
        "among = True if inside is None else inside",
        "among = True",
        "tests/paretopo/controller/test_paretopo.py tests/paretopo/controller "
        "tests/paretopo/config tests/paretopo/rewards",
    ),
    Mutant(
        "filter ignores the mask",
        f"{CONTROLLER}/gate.py",
        "(differs & present).any(axis=1)",
        "differs.any(axis=1)",
        "tests/paretopo/controller/test_paretopo.py tests/paretopo/controller",
    ),
    Mutant(
        "least economy has the weight of one",
        f"{CONTROLLER}/gate.py",
        "weights[..., 1:].sum(axis=-1)], axis=-1),",
        "weights[..., 1]], axis=-1),",
        "tests/paretopo/test_vectors.py tests/paretopo/controller",
    ),
    Mutant(
        "first stage is one step short",
        f"{CONTROLLER}/two_stages.py",
        "return 1 if step <= self.stage1_steps else 2",
        "return 1 if step < self.stage1_steps else 2",
        "tests/paretopo/controller/test_paretopo.py tests/paretopo/controller",
    ),
    Mutant(
        "multiplier leaks into stage 2",
        f"{CONTROLLER}/two_stages.py",
        "scale = multiplier if stage == 1 else 1.0",
        "scale = multiplier",
        "tests/paretopo/controller/test_paretopo.py tests/paretopo/controller",
    ),
    Mutant(
        "groups of different sizes are not masked",
        f"{CONTROLLER}/by_group.py",
        "mask = None if inside.all() else inside",
        "mask = None",
        "tests/test_docstrings.py tests/paretopo/test_session.py tests/integrations",
    ),
    Mutant(
        "z-scores divide by n",
        f"{CONTROLLER}/estimators/groups.py",
        "others = (mask.sum(axis=-1, keepdims=True) - 1).clip(1)",
        "others = mask.sum(axis=-1, keepdims=True).clip(1)",
        "tests/paretopo/test_vectors.py tests/paretopo/controller",
    ),
    Mutant(
        "whitening ignores the mask",
        f"{CONTROLLER}/estimators/groups.py",
        "squares = mask_out(values - mean, mask) ** 2",
        "squares = (values - mean) ** 2",
        "tests/paretopo/controller/test_estimators.py tests/paretopo/controller",
    ),
    Mutant(
        "GD2PO keeps the rollouts that disagree",
        f"{CONTROLLER}/estimators/decoupled.py",
        "stays = mask & ~(abs(total) < conflict * size)",
        "stays = mask & (abs(total) < conflict * size)",
        "tests/paretopo/test_vectors.py tests/paretopo/controller",
    ),
    Mutant(
        "DVAO leaves the weights out",
        f"{CONTROLLER}/estimators/decoupled.py",
        "off_sum = _weighted(off * spread, weights).sum(axis=0)",
        "off_sum = (off * spread).sum(axis=0)",
        "tests/paretopo/test_vectors.py tests/paretopo/controller",
    ),
    Mutant(
        "first evaluation moves the multiplier",
        f"{CONTROLLER}/gain.py",
        "if self._observations > 0:",
        "if self._observations >= 0:",
        "tests/paretopo/controller/test_gain.py tests/paretopo/controller",
    ),
    Mutant(
        "saving falls short at the price",
        f"{REWARDS}/economy.py",
        "np.where(below, 1.0 - ratio, ratio - 1.0)",
        "np.where(below, 1.0 - ratio, -ratio)",
        "tests/paretopo/rewards/test_saving.py tests/paretopo/rewards",
    ),
    Mutant(
        "failures set the fewest calls",
        f"{REWARDS}/learnt_costs.py",
        "new = [float(count) for count in counts[solved]]",
        "new = [float(count) for count in counts]",
        "tests/paretopo/rewards/test_economy.py tests/paretopo/rewards",
    ),
    Mutant(
        "price keeps one group too few",
        f"{REWARDS}/learnt_costs.py",
        "self._dearest[-self.groups :]",
        "self._dearest[1 - self.groups :]",
        "tests/paretopo/rewards/test_saving.py tests/paretopo/rewards",
    ),
    Mutant(
        "dollars of tokens are left out",
        f"{REWARDS}/measures.py",
        "+ config.dollars_per_1000_tokens * rollout.tokens / 1000.0",
        "",
        "tests/paretopo/test_objectives.py tests/paretopo/rewards tests/paretopo/test_session.py",
    ),
    Mutant(
        "resumed run keeps a step too many",
        f"{RECORDS}/folder.py",
        'lambda row: row["step"] <= step)',
        'lambda row: row["step"] <= step + 1)',
        "tests/paretopo/records/test_records.py tests/paretopo/records "
        "tests/paretopo/test_session.py",
    ),
    Mutant(
        "Holm's correction stops at the first",
        "python/paretopo_lab/statistics/intervals.py",
        "(len(p_values) - place) * p_values[at]",
        "len(p_values) * p_values[at]",
        "tests/paretopo_lab/statistics/test_intervals.py tests/paretopo_lab",
    ),
    # ---- Python: the trainers ------------------------------------------------------------------
    Mutant(
        "TRL counts the tokens of tools",
        "integrations/trl/trainer.py",
        'mask = mask * out["tool_mask"]',
        "pass",
        "tests/integrations/trl/test_trainer.py tests/integrations/trl",
    ),
    Mutant(
        "verl's padding becomes a rollout",
        "integrations/verl/training.py",
        'if not tag.get("is_padding", False):',
        'if not tag.get("padding", False):',
        "tests/integrations/verl tests/test_docstrings.py tests/integrations/test_one_story.py",
    ),
    # ---- csrc ----------------------------------------------------------------------------------
    Mutant(
        "keys forget the sense",
        "csrc/formulas/dominance.hpp",
        "return (bits < 0) != minimised ? -size : size;",
        "return (bits < 0) ? -size : size;",
        "tests/paretopo_core/test_fronts.py tests/paretopo_core/test_sizes.py",
    ),
    Mutant(
        "crowding gap from one side",
        "csrc/cpu/ranking/crowding.cpp",
        "crowding_gap(at[k - 1], at[k + 1], lowest, highest);",
        "crowding_gap(at[k - 1], at[k], lowest, highest);",
        "tests/paretopo_core/test_crowding.py",
    ),
    Mutant(
        "crowding misses the last end",
        "csrc/cpu/ranking/crowding.cpp",
        "own_[static_cast<std::size_t>(order_[end - 1])] = kAtAnEnd;",
        "",
        "tests/paretopo_core/test_crowding.py",
    ),
    Mutant(
        "boxes ignore the mask",
        "csrc/cpu/boxes/boxes.cpp",
        "if (mask && mask[i] == 0) continue;",
        "",
        "tests/paretopo_core/test_boxes.py",
    ),
    Mutant(
        "improvement ignores the mask",
        "csrc/cpu/boxes/hypervolume_improvement.cpp",
        "if (mask && mask[i] == 0) continue;",
        "",
        "tests/paretopo_core/test_hypervolume_improvement.py",
    ),
    Mutant(
        "the shortest side of an improvement has a derivative",
        "csrc/cpu/boxes/hypervolume_improvement.cpp",
        "value <= better[b] && side > shortest ? 1.0",
        "value <= better[b] ? 1.0",
        "tests/paretopo_core/test_boxes_torch.py",
    ),
    Mutant(
        "an expected improvement ignores noise above the box",
        "csrc/cpu/boxes/expected_hypervolume_improvement.cpp",
        "(from.noise - to.noise)",
        "from.noise",
        "tests/paretopo_core/test_expected_hypervolume_improvement.py",
    ),
    Mutant(
        "indicators ignore the mask",
        "csrc/cpu/quality/indicators.cpp",
        "if (mask[static_cast<std::size_t>(first) + i] == 0) continue;",
        "",
        "tests/paretopo_core/test_indicators.py",
    ),
    Mutant(
        "archive keeps its own sense",
        "csrc/cpu/archive/archive.cpp",
        "members.rows[i + m] *= signs_[m];",
        "members.rows[i + m] *= 1.0;",
        "tests/paretopo_core/test_archive.py",
    ),
    Mutant(
        "a point on the reference is inside",
        "csrc/cpu/boxes/boxes.cpp",
        "is_inside = is_inside && value > corner_[m];",
        "is_inside = is_inside && value >= corner_[m];",
        "tests/paretopo_core/test_boxes.py",
    ),
    Mutant(
        "selection leaves the last place empty",
        "csrc/cpu/subsets/select.cpp",
        "if (end > k_ && whole < k_) cut(g, whole, end);",
        "if (end > k_ && whole + 1 < k_) cut(g, whole, end);",
        "tests/paretopo_core/test_select.py",
    ),
    Mutant(
        "attainment leaves out the second level",
        "csrc/cpu/quality/eaf.cpp",
        "level-- > 1;",
        "level-- > 2;",
        "tests/paretopo_core/test_attainment_surfaces.py",
    ),
    Mutant(
        "ideal point is the worst when minimised",
        "csrc/cpu/quality/normalise.cpp",
        "batch.is_minimised(m) ? at[m] >= best[m] : at[m] <= best[m];",
        "batch.is_minimised(m) ? at[m] <= best[m] : at[m] <= best[m];",
        "tests/paretopo_core/test_normalise.py",
    ),
    Mutant(
        "threads are not waited for",
        "csrc/cpu/runtime/thread_pool.cpp",
        "[&job] { return job.present == 0; }",
        "[] { return true; }",
        "tests/paretopo_core/test_threads.py tests/paretopo_core/test_interrupt.py",
    ),
)


def copy_tree(folder: Path) -> None:
    """Copy the tracked files to the folder, with the compiled core of this environment."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    adapters = folder / "python/paretopo/integrations"
    if not adapters.exists():
        adapters.symlink_to("../../integrations")
    core = importlib.util.find_spec("paretopo_core._core")
    if core is None or core.origin is None:
        sys.exit("mutate.py needs paretopo_core installed: pip install .")
    shutil.copy2(core.origin, folder / "python/paretopo_core")


def build(folder: Path) -> bool:
    """Compile the core of the folder; False if it does not compile."""
    tree, module = folder / "build", folder / "python/paretopo_core"
    if not (tree / "CMakeCache.txt").exists():
        pybind11 = subprocess.run(
            [sys.executable, "-m", "pybind11", "--cmakedir"], capture_output=True, text=True
        ).stdout.strip()
        subprocess.run(
            [
                *("cmake", "-S", folder, "-B", tree, "-DCMAKE_BUILD_TYPE=Release"),
                *("-DPARETOPO_CUDA=OFF", "-DPARETOPO_EMULATED=ON", "-DCMAKE_UNITY_BUILD=OFF"),
                f"-Dpybind11_DIR={pybind11}",
                f"-DPython_EXECUTABLE={sys.executable}",
            ],
            check=True,
        )
    if subprocess.run(["cmake", "--build", tree, "--target", "_core"]).returncode != 0:
        return False
    for built in tree.glob("_core*.so"):
        (module / built.name).unlink(missing_ok=True)
        shutil.copy2(built, module)
    return True


def catches(folder: Path, tests: str, *options: str) -> bool:
    """Run the paths of tests one by one; True once a test fails or the interpreter dies."""
    python_path = os.pathsep.join([str(folder / "python"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": python_path}
    for path in tests.split():
        if not (folder / path).exists():
            sys.exit(f"no such tests: {path}")
        words = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options, path]
        done = subprocess.run([sys.executable, *words], cwd=folder, env=environment)
        if done.returncode not in (0, 5):  # 5: no test was selected
            return True
    return False


def main() -> int:
    """Make the mistakes and print which ones are caught."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="working copy, made if it is missing")
    parser.add_argument("--only", default="", help="regular expression on file and name")
    extent = parser.add_mutually_exclusive_group()
    extent.add_argument("--first", action="store_true", help="run only the first path of tests")
    extent.add_argument("--all", action="store_true", help="run the whole suite")
    arguments = parser.parse_args()
    folder = arguments.folder.resolve()
    chosen = [one for one in MUTANTS if re.search(arguments.only, f"{one.file} {one.name}")]
    copy_tree(folder)
    rows = []
    for mutant in chosen:
        path = folder / mutant.file
        text = path.read_text(encoding="utf-8")
        if text.count(mutant.old) != 1:
            sys.exit(f"{mutant.file} has {text.count(mutant.old)} times: {mutant.old}")
        tests = "tests" if arguments.all else mutant.tests
        if arguments.first:
            tests = tests.split()[0]
        try:
            path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
            compiles = not mutant.file.startswith("csrc/") or build(folder)
            quick = not compiles or catches(folder, tests)
            with_long = quick or catches(folder, tests, "-m", LONG)
        finally:
            path.write_text(text, encoding="utf-8")
        result = "quick" if quick else "long" if with_long else "SURVIVES"
        rows.append((result, mutant))
        print(f"{result:9}{mutant.file}: {mutant.name}", flush=True)
    if any(mutant.file.startswith("csrc/") for mutant in chosen):
        build(folder)
    results = [result for result, _ in rows]
    quick, with_long = results.count("quick"), results.count("long")
    print(f"{len(rows)} mistakes: quick tests catch {quick}, with long ones {quick + with_long}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
