"""The grid runs every cell once, resumes, and keeps failures separate; its file; its command."""

import json
import lzma
import subprocess
import sys
from argparse import Namespace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from paretopo.config import ConfigError, load
from paretopo.subcommands import Refusal
from paretopo_lab.cli.study import study
from paretopo_lab.study import grid
from paretopo_lab.study import plan as plans
from paretopo_lab.study.cells import _score_held_out, add_scores, fingerprint
from paretopo_lab.study.records import (
    PACKED,
    RECORDS,
    append_record,
    claim_records,
    read_records,
)
from research.__main__ import main
from research.grid import TABLES

ROOT = Path(__file__).parents[3]
from_table = partial(plans.from_table, tables=TABLES)
TABLE = {
    "study": {"methods": ["recommended", "grpo"], "seeds": 3, "steps": 10},
    "tasks": {"free": {}, "concave": {"methods": ["recommended"]}},
}
GATED = {"gated": {"paretopo": {"gate": "success"}}}
PRICED = [
    {"objectives": {"tokens": one}} for one in ({"price": 5.0}, {"price": 0.5, "budget": 50.0})
]
MINE = {"config": "mine.toml", "cost": "tokens", "by_seed": PRICED}


@pytest.fixture
def train(tmp_path):
    """Return a function: keys of a task that trains a model, and of its study → the plan."""
    (tmp_path / "mine.toml").write_text(
        '[[objectives]]\nname = "correct"\n[[objectives]]\nname = "tokens"\n'
    )

    def make(task=None, **table):
        study = {"methods": ["kimi", "grpo"], "seeds": 3, **table.pop("study", {})}
        tasks = {"mine": {**MINE, **(task or {})}, **table.pop("tasks", {})}
        return from_table({"study": study, "tasks": tasks, **table}, base=tmp_path)

    return make


def run(plan, out):
    ended = []
    failures = grid.run(
        plan, out, workers=1, on_end=lambda cell, failure: ended.append((cell, failure))
    )
    return ended, failures


def evaluations(plan, out):
    return {cell: row["evaluations"] for cell, row in read_records(plan, out).items()}


def test_finished_cells_are_skipped(tmp_path):
    plan = from_table(TABLE)
    ended, failures = run(plan, tmp_path)
    assert len(ended) == len(plan.cells()) == 9
    assert not failures
    before = (tmp_path / RECORDS).read_bytes()
    assert run(plan, tmp_path) == ([], {})
    assert (tmp_path / RECORDS).read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [RECORDS]


def test_killed_study_resumes(tmp_path):
    plan = from_table(TABLE)
    run(plan, tmp_path)
    whole = evaluations(plan, tmp_path)
    lines = (tmp_path / RECORDS).read_bytes().splitlines(keepends=True)
    (tmp_path / RECORDS).write_bytes(b"".join(lines[:4]) + lines[4][:50])  # torn
    ended, _ = run(plan, tmp_path)
    assert len(ended) == 5
    assert evaluations(plan, tmp_path) == whole


def test_a_record_of_other_settings_is_out_of_date(tmp_path):
    run(from_table(TABLE), tmp_path)
    longer = from_table({**TABLE, "study": {**TABLE["study"], "steps": 12}})
    assert not read_records(longer, tmp_path)
    assert len(run(longer, tmp_path)[0]) == 9


def test_trainings_recorded_next_to_the_file_are_not_repeated_elsewhere(tmp_path):
    file, other = tmp_path / "mine.toml", tmp_path / "other"
    file.write_text('[study]\nmethods = ["recommended"]\nseeds = 2\nsteps = 10\n[tasks.free]\n')
    run(plans.load(file, tables=TABLES), tmp_path / "mine")
    asked = Namespace(file=str(file), out=str(other), quick=False, workers=1)
    with pytest.raises(Refusal, match=f"mine has the records of 2 trainings that {other} lacks"):
        study(asked, TABLES)
    assert not other.exists()


@pytest.mark.long
def test_failed_cell_is_retried(tmp_path):
    (tmp_path / "broken.toml").write_text('[model]\npath = "no/such/model"\n')
    # One method: each broken cell starts a process that imports torch.
    table = {
        "study": {**TABLE["study"], "methods": ["recommended"]},
        "tasks": {"free": {}, "broken": {"config": "broken.toml", "seeds": 1}},
    }
    plan = from_table(table, base=tmp_path)
    ended, failures = run(plan, tmp_path / "out")
    assert len(ended) == 4
    assert {str(cell) for cell in failures} == {"broken/recommended/1000"}
    assert all("ended with" in failure for failure in failures.values())
    assert len(read_records(plan, tmp_path / "out")) == 3
    assert len(run(plan, tmp_path / "out")[0]) == 1


# ---- the two files of the records ---------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A plan and the rows of its finished study."""
    plan, out = from_table(TABLE), tmp_path_factory.mktemp("finished")
    run(plan, out)
    return plan, list(read_records(plan, out).values())


def append(out, rows):
    for row in rows:
        append_record(out, row)


def pack(out, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (out / PACKED).write_bytes(lzma.compress(text.encode()))


def test_packed_rows_count_unless_there_is_a_newer_one(finished, tmp_path):
    plan, rows = finished
    pack(tmp_path, rows)
    append(tmp_path, [{**rows[0], "seconds": 99.0}, {**rows[1], "method": "gdpo"}])
    found = list(read_records(plan, tmp_path).values())
    assert [row["seconds"] == 99.0 for row in found] == [True] + [False] * (len(rows) - 1)
    assert found[1:] == rows[1:]


@pytest.mark.parametrize("broken", [b"no xz at all", "cut", lzma.compress(b'{"task": "free"')])
def test_broken_records_are_refused_by_name(finished, tmp_path, broken):
    plan, rows = finished
    pack(tmp_path, rows[:1])
    path = tmp_path / PACKED
    path.write_bytes(path.read_bytes()[:-20] if broken == "cut" else broken)
    with pytest.raises(ConfigError, match=rf"{PACKED} (is broken|line 1 is not a record)"):
        read_records(plan, tmp_path)


def test_two_studies_do_not_write_to_one_folder(finished, tmp_path):
    plan, _ = finished
    with claim_records(tmp_path), pytest.raises(ConfigError, match="another study writes"):
        run(plan, tmp_path)
    assert len(run(plan, tmp_path)[0]) == 9


# ---- the file of a study ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"tasks": {}}, r"needs at least one \[tasks.NAME\]"),
        ({"tasks": {"fre": {}}}, "tasks.fre needs config, .*; did you mean 'free'"),
        ({"tasks": {"free": {"sed": 1}}}, "unknown key tasks.free.sed; did you mean 'seeds'"),
        ({"tasks": {"free": {"methods": ["grop"]}}}, "unknown method 'grop'"),
        ({"tasks": {"free": {"config": "no.toml"}}}, "tasks.free.config: there is no file"),
        ({"tasks": {"free": 3}}, r"\[tasks.free\] must be a section"),
        ({"stdy": {}}, r"unknown section \[stdy\]; did you mean 'study'"),
        ({"study": 3}, r"\[study\] must be a section, got 3"),
        ({"study": {"seeds": 0}}, "study.seeds must be an integer of at least 1"),
        (
            {"study": {"early": 120}},
            r"a multiple of study\.every, .* early = 120 and every = 50",
        ),
        ({"study": {"methods": ["grpo", "grpo"]}}, "names a method twice"),
        ({"study": {"methods": "grpo"}}, "must be a list of strings"),
        ({"study": {"ablation_tasks": ["x"]}}, r"no \[tasks.x\]"),
        (
            {"study": {"methods": ["paper+gatd"]}, "switches": GATED},
            "unknown method 'gatd'; did you mean 'gated'",
        ),
        ({"switches": {"gated": {"paretopo": {"gat": 1}}}}, "gated: unknown key .*mean 'gate'"),
        ({"switches": {"gated": "success"}}, "gated must be a table of keys, .* got 'success'"),
        ({"switches": {"a+b": GATED["gated"]}}, "a name of its own"),
        ({"switches": {"grpo": GATED["gated"]}}, "a name of its own"),
        (
            {"study": {"methods": ["grpo+a"]}, "switches": {"a": {"paretopo": {"gate": "sucess"}}}},
            r"method 'grpo\+a': paretopo.gate must be",
        ),
    ],
)
def test_a_wrong_file_is_refused(table, message):
    with pytest.raises(ConfigError, match=message):
        from_table({"tasks": {"free": {}}, **table})


def test_switches_follow_the_file():
    plan = from_table({"tasks": {"free": {}}, "switches": GATED})
    assert plan.overrides_of("paper+gated") == {"recipe": "paper", "paretopo.gate": "success"}
    other = from_table({"tasks": {"free": {}}, "switches": {"gated": {"seed": 1}}})
    cell = plans.Cell("free", "paper+gated", 1000)
    assert fingerprint(plan, cell) != fingerprint(other, cell)


def test_quick_takes_fewer_seeds():
    plan = from_table({**TABLE, "quick": {"seeds": 2}}, quick=True)
    assert len(plan.cells()) == 6


def test_ablations_go_on_their_tasks_only():
    study = {**TABLE["study"], "ablations": ["rloo"], "ablation_tasks": ["free"]}
    plan = from_table({**TABLE, "study": study})
    assert plan.methods_of("free") == ("recommended", "grpo", "rloo")
    assert plan.methods_of("concave") == ("recommended",)


def test_a_training_is_worth_its_share_of_the_best():
    section = plans.TaskSection(config="x", cheapest_accuracy=0.4, best=((1.0, 1.0),), most=4.0)
    assert section.score(1.0, 0.75, 0.75) == {"hypervolume": 1.0, "preference": 1.0}
    assert section.score(0.4, 1.0, 1.0)["hypervolume"] == 0.0
    assert section.score(0.7, 0.75, 0.75)["hypervolume"] == pytest.approx(0.5)
    last = section.score(1.0, -1.25, 0.0)
    assert last == pytest.approx({"hypervolume": 0.0, "preference": 2 / 3})
    # The cost of wrong answers is not the saving of right ones.
    assert section.score(0.5, 0.25, 0.75)["preference"] == pytest.approx(0.5)


def test_mixtures_do_not_beat_the_best_policy():
    section = plans.TaskSection(config="x", best=((0.2, 0.0), (0.5, 0.3), (0.9, 0.8)), most=1.0)
    shares = np.linspace(0.0, 1.0, 2001)[:, None]
    points = np.array([[right, 1.0 - cost] for right, cost in section.best])
    scores = [
        section.score(*point, point[1])["hypervolume"]
        for one, other in ((0, 1), (0, 2), (1, 2))
        for point in shares * points[one] + (1.0 - shares) * points[other]
    ]
    assert max(scores) == pytest.approx(1.0, abs=1e-5)
    assert max(scores) <= 1.0 + 1e-12


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ({"best": []}, "tasks.mine.best needs a policy that is right more often than 0"),
        ({"best": [[1.0]]}, "tasks.mine.best must be pairs"),
        ({"best": [[1.5, 1.0]]}, "tasks.mine.best must be pairs"),
        ({"best": [[1.0, -1.0]]}, "tasks.mine.best must be pairs"),
        ({"best": "shop"}, "tasks.mine.best must be pairs of an accuracy and a cost, got 'shop'"),
        (
            {"best_front": [[1.0, 1.1]]},
            "tasks.mine.best_front must be pairs of numbers from 0 to 1",
        ),
        ({"best": [[1.0, 4.0]]}, "tasks.mine.best needs a policy that is right more often than 0"),
        ({"most_by_kind": {"easy": 1.0}, "most": 2.0}, "in place of tasks.mine.most"),
        ({"most_by_kind": {"easy": 0.0}}, "must be a table of costs above 0, .*got {'easy': 0.0}"),
        ({"most_by_kind": [1.0]}, "must be a table of costs above 0"),
        ({"by_seed": 3}, r"\[\[tasks.mine.by_seed\]\] must be tables"),
        ({"by_seed": [{"objectives": {"tokens": {"prize": 1}}}]}, "by_seed: unknown key .*price"),
        ({"cost": "seconds"}, r"mine/kimi/1000: there is no objective 'seconds' to set"),
    ],
)
def test_a_wrong_training_is_refused(task, message, train):
    with pytest.raises(ConfigError, match=message):
        train(task)


def test_scores_follow_from_a_record_and_the_plan(train):
    """Another best policy changes the scores of trainings but makes none out of date."""
    shop, both = (train({"best": best}) for best in ([[1.0, 2.0]], [[1.0, 2.0], [0.75, 1.0]]))
    cell = shop.cells()[0]
    assert fingerprint(shop, cell) == fingerprint(both, cell)
    shares = {"accuracy": [0.75], "economy": [0.75], "economy_of_solved": [0.75]}
    row = {"task": "mine", "evaluations": shares}
    scores = [add_scores(plan, row)["evaluations"]["hypervolume"] for plan in (shop, both)]
    assert scores == [[1.125], [1.0]]


def test_seeds_alternate_and_methods_use_the_name_of_the_cost(train):
    plan = train()
    overrides = [
        plan.overrides_of_training(plans.Cell("mine", "kimi", seed)) for seed in range(1000, 1003)
    ]
    assert [one["objectives.tokens.price"] for one in overrides] == [5.0, 0.5, 5.0]
    assert "objectives.tokens.budget" not in overrides[0]
    assert overrides[0]["objectives.tokens.economy"] == "kimi"
    assert overrides[2]["seed"] == 1002


def test_cells_are_ordered_by_seed(train):
    assert list(map(str, train(tasks={"free": {"seeds": 1}}).cells()))[:5] == [
        *("mine/kimi/1000", "mine/grpo/1000", "free/kimi/1000", "free/grpo/1000"),
        "mine/kimi/1001",
    ]


@pytest.mark.parametrize(
    ("starts", "own", "refused"),
    [
        (["a", "a"], {}, False),
        ([None, None], {}, False),  # of an earlier version, or without a warm-up
        (["a", "b"], {}, True),
        (["a", None], {}, True),
        ([["a", "b"], ["a", "c"]], {}, True),  # a policy for each of two preferences
        (["a", "b"], {"optimiser": {"learning_rate": 1e-3}}, True),
        (["a", "b"], {"warmup": {"steps": 7}}, False),
        (["a", "b"], {"model": {"width": 32}}, False),
    ],
)
def test_trainings_from_different_starts_are_no_pair(
    starts, own, refused, tmp_path, monkeypatch, train
):
    """A record on disk, and a training that ends, are refused alike."""
    study = {"methods": ["kimi", "grpo+own" if own else "grpo"], "seeds": 1}
    plan = train(study=study, **({"switches": {"own": own}} if own else {}))
    shares = {name: [0.5] for name in ("accuracy", "economy", "economy_of_solved")}
    rows = [
        {
            "task": cell.task,
            "method": cell.method,
            "seed": cell.seed,
            "start": start,
            "fingerprint": fingerprint(plan, cell, start),
            "step": 0,
            "evaluations": shares,
        }
        for cell, start in zip(plan.cells(), starts, strict=True)
    ]
    append_record(tmp_path, rows[0])
    [cell] = set(plan.cells()) - read_records(plan, tmp_path).keys()
    monkeypatch.setattr(grid, "_run_here", lambda *_: [(cell, rows[1], None)])
    if not refused:
        assert run(plan, tmp_path)[1] == {}
        return
    said = r"mine/grpo\S*/1000 and mine/kimi/1000 began with different policies \(start: .* and "
    with pytest.raises(ConfigError, match=said):
        run(plan, tmp_path)
    assert len(read_records(plan, tmp_path)) == 1
    append_record(tmp_path, rows[1])
    with pytest.raises(ConfigError, match=said):
        read_records(plan, tmp_path)


def test_a_record_with_another_start_is_out_of_date(train):
    plan = train()
    cell = plan.cells()[0]
    assert len({fingerprint(plan, cell, start) for start in (None, "a", "b")}) == 3


def test_costs_count_as_shares_of_the_greatest_cost_of_their_kind(train):
    config = load(train().tasks["mine"].config)
    section = plans.TaskSection(config="x", cost="tokens")
    by_kind = plans.TaskSection(
        config="x", cost="tokens", most=1.0, most_by_kind={"easy": 4.0, "hard": 400.0}
    )

    def part(count, solved, cost, of_solved):
        means = {"measured": {"tokens": cost}, "measured_of_solved": {"tokens": of_solved}}
        return {"rollouts": count, "solved": solved, **means}

    kinds = {"easy": part(30, 0.5, 1.0, 2.0), "hard": part(10, 0.1, 300.0, 100.0)}
    row = {"step": 0, "response_tokens": 7.0, "by_kind": kinds, **part(40, 0.4, 75.75, 8.125)}
    for scored, of_all, of_solved in (
        (section, 75.75 / 4.0, 8.125 / 4.0),
        (by_kind, 0.75 * 0.25 + 0.25 * 0.75, (15.0 * 0.5 + 1.0 * 0.25) / 16.0),
    ):
        score = _score_held_out(scored, config, row)
        assert (score["accuracy"], score["cost"]) == (0.4, 75.75)
        assert score["economy"] == pytest.approx(1.0 - of_all)
        assert score["economy_of_solved"] == pytest.approx(1.0 - of_solved)
    none = {"easy": part(30, 0.0, 1.0, None), "hard": part(10, 0.0, 300.0, None)}
    score = _score_held_out(by_kind, config, row | {"by_kind": none} | part(40, 0.0, 75.75, None))
    assert score["economy_of_solved"] == score["economy"] == pytest.approx(1.0 - 0.375)
    kinds["odd"] = kinds["easy"]
    with pytest.raises(ConfigError, match=r"most_by_kind must name every kind .* add \['odd'\]"):
        _score_held_out(by_kind, config, row)


def test_changed_input_file_makes_a_training_out_of_date(tmp_path, train):
    rewards = tmp_path / "rewards.py"
    rewards.write_text("def correct(completions): ...")
    train()
    with (tmp_path / "mine.toml").open("a") as file:
        file.write(f'[rewards]\nfile = "{rewards}"')
    plan = train()
    cells = plan.cells()
    before = [fingerprint(plan, cell) for cell in cells]
    assert len(set(before)) == len(cells)
    rewards.write_text("def correct(prompts): ...")
    assert not set(before) & {fingerprint(plan, cell) for cell in cells}


def test_fronts_of_language_models_are_refused_before_any_training(
    tmp_path, train, monkeypatch, capsys
):
    plan = train(study={"preferences": 3})
    with pytest.raises(ConfigError, match=r"study\.preferences trains tables only"):
        run(plan, tmp_path)
    file = tmp_path / "fronts.toml"
    section = "[study]\nmethods = ['grpo']\npreferences = 3\n"
    file.write_text(f"{section}[tasks.mine]\nconfig = 'mine.toml'\ncost = 'tokens'\n")
    monkeypatch.setattr(sys, "argv", ["research", str(file)])
    assert main() == 2
    *_, line = capsys.readouterr().err.splitlines()  # after "loading packages"
    assert line.startswith("paretopo: study.preferences trains tables only, and tasks.mine")
    assert not (tmp_path / "fronts").exists()


def test_a_task_without_tables_needs_a_configuration():
    with pytest.raises(ConfigError, match=r"tasks\.free needs config, a training configuration$"):
        plans.from_table(TABLE)


@pytest.mark.long
def test_command_trains_reports_and_resumes(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(
        '[study]\nmethods = ["recommended", "grpo"]\nseeds = 2\nsteps = 10\n'
        "[tasks.free]\n[tasks.concave]\n"
    )

    def run(*words):
        command = [sys.executable, "-m", *words]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)

    done = run("research", str(file))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "mine" / "report.md")
    assert len(read_records(plans.load(file, tables=TABLES), tmp_path / "mine")) == 8
    assert (tmp_path / "mine" / "overview.png").stat().st_size > 5_000
    (tmp_path / "mine" / "report.md").unlink()
    assert run("research", str(file)).returncode == 0
    assert (tmp_path / "mine" / "report.md").is_file()
    wrong = run("paretopo", "study", str(tmp_path / "none.toml"))
    assert wrong.returncode == 2
    assert "cannot read" in wrong.stderr
