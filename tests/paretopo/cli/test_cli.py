import importlib.util
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import pytest
from support.run_stories import evaluate, tell

import paretopo_core
from paretopo import cli
from paretopo.config import ConfigError, loads
from paretopo.config.backend import find_backend
from paretopo.records.folder import RunFolder
from paretopo.rollout import BadRollout


@pytest.fixture
def trainer(monkeypatch):
    """Stands in for the TRL integration; returns the calls it gets and how it behaves."""
    seen = types.SimpleNamespace(calls=[], fails=None)

    def train(config, run, *, resume=False):
        seen.calls.append((config, run.path, resume))
        if seen.fails is not None:
            raise seen.fails
        evaluate(run, 0, "warmup", 0.5, 2.0, 60.0)
        run.finish()

    module = types.ModuleType("train")
    module.train = train
    find_backend("trl")  # imported before its package is replaced
    for name in ("paretopo.integrations.trl", "paretopo.integrations.trl.train"):
        monkeypatch.setitem(sys.modules, name, module)
    return seen


@pytest.fixture
def toml(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(f"[run]\nout = '{tmp_path / 'runs'}'", encoding="utf-8")
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="pipes the POSIX way")
def test_a_reader_may_leave_early():
    reading, writing = os.pipe()
    os.close(reading)
    try:
        command = [sys.executable, "-m", "paretopo", "info"]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "command", ["", "prepare", "train", "evaluate", "report", "show", "serve-search"]
)
def test_help_teaches_with_examples(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        cli.main([*command.split(), "--help"])
    assert stopped.value.code == 0
    text = capsys.readouterr().out
    assert "examples:\n  paretopo " in text
    assert max(map(len, text.splitlines())) <= 100


def test_unsuitable_step_size_is_refused_before_a_rehearsal(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("paretopo.cli.train.describe_missing", lambda *_: "")
    toml = tmp_path / "x.toml"
    toml.write_text(
        f"backend = 'openrlhf'\n[model]\npath = 'Qwen/Qwen3-8B'\n[task]\nprompts = 64\n"
        f"[optimiser]\nprompts_per_step = 80\n[run]\nout = '{tmp_path / 'runs'}'",
        encoding="utf-8",
    )
    assert cli.main(["train", str(toml), "--rehearse"]) == 2
    error = capsys.readouterr().err
    assert "prompts_per_step must be at most the number of training prompts, 64, got 80" in error
    assert not (tmp_path / "runs").exists()


def test_info_tells_versions_and_machine(capsys):
    assert cli.main(["info"]) == 0
    text = capsys.readouterr().out
    assert f"compiled core    {paretopo_core.__version__}" in text
    for name in ("compiler", "built with CUDA", "numpy", "torch", "processor", "usable cores"):
        assert f"\n{name} " in text


def test_info_and_help_load_nothing_heavy():
    code = (
        "import sys; from paretopo import cli; cli.main(['info'])\n"
        "heavy = {'torch', 'transformers', 'trl', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_train_makes_a_run_and_a_report(trainer, toml, tmp_path, capsys):
    words = ["train", str(toml), "--seed", "3", "--steps", "7", "--out", str(tmp_path / "o")]
    assert cli.main(words) == 0
    ((config, path, resume),) = trainer.calls
    assert (config.seed, config.optimiser.steps, resume) == (3, 7, False)
    assert path.parent == tmp_path / "o"
    run = RunFolder.open(path)
    assert run.config == config
    assert run.manifest["status"] == "finished"
    assert (path / "report" / "front.png").exists()
    assert (path / "report" / "report.html").exists()
    out = capsys.readouterr().out
    assert out.startswith(f"run folder: {path}\n")
    assert f"report: {path / 'report' / 'report.html'}\nmodel:  {path / 'model'}\n" in out
    header, correct, calls = out.split("\n\n")[1].splitlines()[:3]
    assert header.split("  ")[-1] == "after warm-up (step 0)"  # the only evaluation
    assert correct.split() == ["correct", "more", "%", "50.0"]
    assert calls.split() == ["calls", "fewer", "per", "question", "2.00"]


def test_train_resumes_with_the_configuration_of_the_run(trainer, tmp_path):
    run = tell(tmp_path, seed=5, status="interrupted")
    assert cli.main(["train", "--resume", str(run.path)]) == 0
    assert trainer.calls == [(run.config, run.path, True)]


def test_a_run_that_is_being_trained_is_not_resumed(trainer, tmp_path, capsys):
    run = tell(tmp_path, status="running")
    with run.claim():
        assert cli.main(["train", "--resume", str(run.path)]) == 2
    assert "another process works in" in capsys.readouterr().err
    assert trainer.calls == []
    assert run.manifest["status"] == "running"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("train", "train needs either a CONFIG.toml or --resume RUN"),
        ("train a.toml --resume b", "train needs either a CONFIG.toml or --resume"),
        ("train --resume b --seed 3", "a resumed run keeps its own configuration"),
        ("train --resume b --method grpo", "a resumed run keeps its own configuration"),
        ("train missing.toml", "no configuration file at missing.toml"),
        ("train --resume missing", "there is no folder missing"),
        ("train FILE --out FILE", "File exists"),
        ("train FILE --rehearse", 'this file has "trl"'),
        ("train FILE --real-model", "--real-model is for --rehearse"),
        ("train FILE -- --ds.zero_stage 3", 'the backend is "trl"'),
        ("info -- --x", "only train takes options after --"),
        ("report missing", "there is no folder missing"),
    ],
)
def test_wrong_input_ends_in_one_line(trainer, toml, words, message, capsys):
    assert cli.main(words.replace("FILE", str(toml)).split()) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("paretopo: ")
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert trainer.calls == []


def test_bad_configuration_takes_one_line_and_makes_no_folder(trainer, toml, tmp_path, capsys):
    toml.write_text("[optimiser]\nstep = 3")
    assert cli.main(["train", str(toml), "--out", str(tmp_path / "runs")]) == 2
    error = capsys.readouterr().err
    assert error == f"paretopo: {toml}: unknown key optimiser.step; did you mean 'steps'?\n"
    assert not (tmp_path / "runs").exists()


def test_tracker_failure_takes_one_line_and_makes_no_folder(
    trainer, toml, tmp_path, monkeypatch, capsys
):
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.delenv("WANDB_MODE", raising=False)
    assert cli.main(["train", str(toml), "--set", "run.wandb_project=ours"]) == 2
    assert "run.wandb_project needs the " in capsys.readouterr().err  # package, or key
    assert trainer.calls == []
    assert not (tmp_path / "runs").exists()


def test_missing_packages_are_named_with_the_cure(toml, tmp_path, monkeypatch, capsys):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "trl" else find(name)
    )
    assert cli.main(["train", str(toml)]) == 2
    error = capsys.readouterr().err
    assert error == 'paretopo: trl not installed; run in a clone: pip install ".[train]"\n'
    assert not (tmp_path / "runs").exists()


def test_a_failing_reward_is_shown_without_the_trainers_frames(trainer, toml, capsys):
    trainer.fails = BadRollout("the reward 'polite' failed on prompt 'why?'")
    trainer.fails.__cause__ = ConnectionError("503")
    assert cli.main(["train", str(toml)]) == 2
    said = capsys.readouterr().err
    assert "ConnectionError: 503" in said
    assert "BadRollout" not in said
    assert "paretopo: the reward 'polite' failed on prompt 'why?'" in said
    assert f"paretopo train --resume {trainer.calls[0][1]}" in said
    assert RunFolder.open(trainer.calls[0][1]).manifest["error"].startswith("BadRollout")


def test_ctrl_c_while_packages_load_is_noted(trainer, toml, tmp_path, monkeypatch):
    def interrupted(name):
        raise KeyboardInterrupt

    module = types.ModuleType("train")
    module.__getattr__ = interrupted
    monkeypatch.setitem(sys.modules, "paretopo.integrations.trl.train", module)
    assert cli.main(["train", str(toml)]) == 130
    (path,) = (tmp_path / "runs").iterdir()
    assert RunFolder.open(path).manifest["status"] == "interrupted"


def test_user_errors_in_training_take_one_line(trainer, toml, capsys):
    trainer.fails = ConfigError("model.path: nothing at /x")
    assert cli.main(["train", str(toml)]) == 2
    assert capsys.readouterr().err == "paretopo: model.path: nothing at /x\n"


def test_the_manifest_says_why_a_run_failed(trainer, toml, monkeypatch):
    trainer.fails = RuntimeError("out of memory")
    with pytest.raises(RuntimeError, match="out of memory"):
        cli.main(["train", str(toml)])
    kept = RunFolder.open(trainer.calls[0][1])
    assert kept.manifest["status"] == "failed"
    assert kept.manifest["error"] == "RuntimeError: out of memory"
    # A run that goes on is not one that failed.
    trainer.fails = None
    assert cli.main(["train", "--resume", str(kept.path)]) == 0
    assert kept.manifest["error"] is None

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    trainer.fails = OSError(28, "No space left on device")
    monkeypatch.setattr(RunFolder, "finish", full)
    with pytest.raises(OSError, match=r"the disk is full .*No space left") as raised:
        cli.main(["train", str(toml)])
    assert raised.value.__cause__ is trainer.fails


def test_a_schedulers_sigterm_is_a_ctrl_c(trainer, toml, capsys):
    class Terminated:
        def __bool__(self):
            signal.raise_signal(signal.SIGTERM)
            raise AssertionError("the signal was ignored")

    trainer.fails = None
    before = signal.getsignal(signal.SIGTERM)
    module = sys.modules["paretopo.integrations.trl.train"]
    train = module.train
    module.train = lambda *args, **kwargs: (train(*args, **kwargs), bool(Terminated()))
    assert cli.main(["train", str(toml)]) == 130
    path = trainer.calls[0][1]
    assert RunFolder.open(path).manifest["status"] == "interrupted"
    assert "resume with: paretopo train --resume" in capsys.readouterr().err
    assert signal.getsignal(signal.SIGTERM) is before


def test_resumed_run_keeps_options_after_dashes(tmp_path, monkeypatch, capsys):
    seen = []

    def train(config, run, *, resume, options):
        seen.append((resume, list(options)))
        raise KeyboardInterrupt

    module = types.ModuleType("train")
    module.train = train
    monkeypatch.setitem(sys.modules, "paretopo.integrations.openrlhf", types.ModuleType("o"))
    monkeypatch.setitem(sys.modules, "paretopo.integrations.openrlhf.train", module)
    monkeypatch.setattr("paretopo.cli.train.describe_missing", lambda *_: "")
    toml = tmp_path / "x.toml"
    monkeypatch.chdir(tmp_path)
    options = "[openrlhf]\noptions = '--train.agent_func_path mine.py'"
    toml.write_text(f"backend = 'openrlhf'\n{options}\n[run]\nout = '{tmp_path / 'runs'}'")
    assert cli.main(["train", str(toml), "--", "--actor.adam.lr", "1e-7"]) == 130
    [path] = (tmp_path / "runs").iterdir()
    assert path.name.startswith("calculator-recommended-seed0-")
    assert f"paretopo train --resume {path} --trust\n" in capsys.readouterr().err
    words = ["train", "--resume", str(path)]
    assert cli.main(words) == 2
    named = "openrlhf.options = '--train.agent_func_path mine.py'; options --actor.adam.lr 1e-7"
    assert f"by {named}: read the code" in capsys.readouterr().err
    assert cli.main([*words, "--trust"]) == 130
    assert cli.main([*words, "--trust", "--", "--vllm.num_engines", "2"]) == 130
    assert seen == [
        (False, ["--actor.adam.lr", "1e-7"]),
        (True, ["--actor.adam.lr", "1e-7"]),
        (True, ["--vllm.num_engines", "2"]),
    ]


QUESTIONS = {"task.name": "questions", "task.train": "a.jsonl", "task.held_out": "b.jsonl"}


ASKED = 'subprocess:getoutput(cmd="touch pwned")'


@pytest.mark.parametrize(
    ("door", "settings", "named"),
    [
        (["evaluate"], {}, f"objectives.correct.function = {ASKED!r}"),
        (["train", "--resume"], {}, f"objectives.correct.function = {ASKED!r}"),
        (["train", "--resume"], {"rewards.file": "r.py"}, "rewards.file = 'r.py'"),
        (["evaluate"], {"task.tools": "t.py", **QUESTIONS}, "task.tools = 't.py'"),
        (["evaluate"], {"warmup.file": "w.py", **QUESTIONS}, "warmup.file = 'w.py'"),
        (["evaluate"], {"tool.isolation": "process"}, "tool.isolation = 'process'"),
    ],
)
def test_code_that_a_run_folder_names_is_executed_only_with_trust(
    door, settings, named, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    objective = f"[[objectives]]\nname = 'correct'\nfunction = '{ASKED}'\n"
    run = RunFolder.create("runs", loads(objective * (not settings), settings))
    (run.model / "config.json").write_text("{}")
    assert cli.main([*door, str(run.path)]) == 2
    error = capsys.readouterr().err
    assert f"{run.path} executes code on this machine, by {named}: read the code" in error
    assert not Path("pwned").exists()
    if not settings and door == ["train", "--resume"]:
        assert cli.main([*door, str(run.path), "--trust"]) == 2
        assert "must be a reward function" in capsys.readouterr().err
        assert Path("pwned").exists()


def test_the_run_of_a_script_is_resumed_by_the_script(trainer, tmp_path, capsys):
    run = tell(tmp_path, status="interrupted")
    run.update_manifest(script="WORDS")
    assert cli.main(["train", "--resume", str(run.path)]) == 2
    assert "is the run of a script: start the script again, with WORDS" in capsys.readouterr().err


def test_report_writes_where_it_says(tmp_path, capsys):
    runs = [tell(tmp_path, seed=seed) for seed in range(2)]
    assert cli.main(["report", str(runs[0].path)]) == 0
    written = [str(runs[0].report / name) for name in ("report.md", "report.html")]
    assert capsys.readouterr().out.splitlines() == written
    words = ["report", *(str(run.path) for run in runs), "--out", str(tmp_path / "figures")]
    assert cli.main(words) == 0
    assert (tmp_path / "figures" / "front.png").exists()


def test_report_errors_take_one_line(tmp_path, capsys):
    run = tell(tmp_path)
    blocked = tmp_path / "file"
    blocked.touch()
    assert cli.main(["report", str(run.path), "--out", str(blocked)]) == 2
    (run.path / "evaluations.jsonl").write_text("{}\n")
    assert cli.main(["report", str(run.path)]) == 2
    (run.path / "manifest.json").write_text("")
    assert cli.main(["report", str(run.path)]) == 2
    assert cli.main(["train", "--resume", str(run.path)]) == 2
    assert capsys.readouterr().err.count("\n") == 4


def test_the_command_runs_as_a_module():
    words = [sys.executable, "-m", "paretopo", "train", "nothing.toml"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "paretopo: no configuration file at nothing.toml\n"
