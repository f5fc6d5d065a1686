"""verl's own command on a CPU: Ray, TransferQueue, agent loops and FSDP, with a tiny policy.

Skipped where verl is not installed; `scripts/install_verl_cpu.sh` makes its environment.
`support.verl_on_cpu` lists the parts that replace a GPU.
"""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

if importlib.util.find_spec("verl") is None:
    pytest.skip("verl is not installed", allow_module_level=True)
pytest.importorskip("psutil")

from support.rehearsals import environment, kill_all, output, wait_for
from support.small_models import make_tokenizer, save_folder
from support.step_records import check_limit

from paretopo.records.folder import RunFolder
from paretopo_lab.training.report import write_report

pytestmark = pytest.mark.timeout(4000)
TESTS = Path(__file__).parents[2]
SECONDS = 1800
VARIABLES = {
    "PYTHONPATH": str(TESTS),
    "VERL_USE_EXTERNAL_MODULES": "support.verl_on_cpu",
    "VERL_PLATFORM": "paretopo_cpu",
    "OMP_NUM_THREADS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_raylet_start_wait_time_s": "600",  # on busy cores
    "HYDRA_FULL_ERROR": "1",
}
ROLLOUT, ACTOR = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
PRECISION = "{param_dtype:fp32,reduce_dtype:fp32,buffer_dtype:fp32}"
ON_CPU = (
    *("trainer.device=cpu", "trainer.nnodes=1", "trainer.n_gpus_per_node=1"),
    "actor_rollout_ref.model.use_remove_padding=false",
    "+actor_rollout_ref.model.override_config.attn_implementation=eager",
    f"{ACTOR}.strategy=fsdp2",  # the other strategy does not support a CPU
    *(f"{ACTOR}.use_torch_compile=false", f"{ACTOR}.fsdp_config.use_torch_compile=false"),
    f"+{ACTOR}.fsdp_config.mixed_precision={PRECISION}",
    *(f"{ROLLOUT}.name=paretopo_cpu", f"{ROLLOUT}.tensor_model_parallel_size=1"),
    *(f"{ROLLOUT}.agent.num_workers=1", "reward.num_workers=1", "data.dataloader_num_workers=0"),
    "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
    "ray_kwargs.ray_init.num_cpus=32",  # the number that verl reserves
    "+ray_kwargs.ray_init.num_gpus=1",  # the stand-in's GPU
    "+ray_kwargs.ray_init.include_dashboard=false",
    "+ray_kwargs.ray_init.object_store_memory=200000000",
)
LIMIT = 6  # mean tokens
TABLE = f"""
[[objectives]]
name = "correct"
gate = true
[[objectives]]
name = "brief"
low = 0
high = 1
[[objectives]]
name = "tokens"
limit = {LIMIT}
[paretopo]
stage1_steps = 2
stage1_estimator = "rloo"
stage2_estimator = "dr_grpo"
"""
SCORE = """
def compute_score(data_source, solution_str, ground_truth, extra_info=None, **_):
    right = float(len(solution_str) % 3 > 0)
    return {"score": right, "correct": right, "brief": 1 / (1 + len(solution_str))}
"""


def start(folder, *words):
    """Run verl's command in a process of its own, with its output in a file."""
    from datasets import Dataset

    if not (folder / "model").exists():
        save_folder(folder / "model", make_tokenizer())
        (folder / "score.py").write_text(SCORE, encoding="utf-8")
        (folder / "objectives.toml").write_text(TABLE, encoding="utf-8")
        for name, count in (("train", 16), ("held_out", 4)):
            rows = [
                {
                    "data_source": "sum",
                    "prompt": [{"role": "user", "content": f"What is {at} + 34?"}],
                    "reward_model": {"style": "rule", "ground_truth": str(at + 34)},
                    "extra_info": {"id": f"{name}{at}"},
                }
                for at in range(count)
            ]
            Dataset.from_list(rows).to_parquet(str(folder / f"{name}.parquet"))
    command = [
        *(sys.executable, "-m", "verl.trainer.main_ppo", *ON_CPU),
        *("algorithm.adv_estimator=paretopo", f"+paretopo.config={folder / 'objectives.toml'}"),
        f"data.train_files={folder / 'train.parquet'}",
        f"data.val_files={folder / 'held_out.parquet'}",
        *("data.train_batch_size=4", "data.max_prompt_length=64", "data.max_response_length=12"),
        f"reward.custom_reward_function.path={folder / 'score.py'}",
        f"actor_rollout_ref.model.path={folder / 'model'}",
        *(f"{ACTOR}.optim.lr=1e-2", f"{ACTOR}.ppo_mini_batch_size=4"),
        f"{ACTOR}.ppo_micro_batch_size_per_gpu=16",
        *(f"{ROLLOUT}.n=4", f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu=16"),
        *("trainer.use_v1=true", "trainer.v1.trainer_mode=sync", "trainer.total_training_steps=4"),
        *("trainer.total_epochs=5", "trainer.val_before_train=true", "trainer.test_freq=1"),
        *("trainer.save_freq=1", "trainer.logger=[console]", "hydra.output_subdir=null"),
        *(f"trainer.default_local_dir={folder / 'run'}", f"hydra.run.dir={folder / 'verl'}"),
    ]
    with (folder / "log").open("a", encoding="utf-8") as log:
        return subprocess.Popen(
            [*command, *words], stdout=log, stderr=subprocess.STDOUT, text=True,
            env=environment() | VARIABLES, cwd=folder,
        )  # fmt: skip


def test_a_failing_plug_in_is_reported(tmp_path):
    broken = tmp_path / "transfer_queue.py"
    broken.write_text("raise ImportError('broken on purpose')")
    finished = subprocess.run(
        [sys.executable, "-c", "import verl"],
        capture_output=True,
        text=True,
        env=environment() | {"PYTHONPATH": str(tmp_path)},
    )
    assert "paretopo: the plug-in for verl failed" in finished.stderr
    assert "broken on purpose" in finished.stderr


def test_a_job_killed_and_resumed_crosses_both_stages(tmp_path):
    """Three objectives, one of them limited; the records are those of one run."""
    process, log = start(tmp_path), RunFolder(tmp_path, None)
    latest = tmp_path / "run" / "latest_checkpointed_iteration.txt"
    try:
        wait_for(latest.exists, process, log, SECONDS)
    finally:
        kill_all(process)
    run, done = RunFolder.open(tmp_path / "run"), int(latest.read_text())
    assert 1 <= done < 4
    state = json.loads((run.path / f"global_step_{done}" / "paretopo.json").read_text())
    before = [row for row in run.steps() if row["step"] <= done]
    known = run.evaluations()[: state["evaluations"]]

    process = start(tmp_path)
    try:
        assert process.wait(SECONDS) == 0, output(log)[-6000:]
    finally:
        kill_all(process)
    assert run.manifest["status"] == "finished"
    assert run.manifest["resumed"][0]["from_step"] == done
    steps, evaluations = run.steps(), run.evaluations()
    assert steps[:done] == before
    assert [row["stage"] for row in steps] == [1, 1, 2, 2]
    assert [row["step"] for row in evaluations] == [0, 1, 2, 3, 4]
    assert evaluations[: len(known)] == known
    assert set(steps[0]["measured"]) == {"correct", "brief", "tokens"}
    [multiplier] = state["controller"]["limits"]["values"]
    assert steps[done]["limits"]["tokens"]["multiplier"] == multiplier
    check_limit(steps, "tokens", LIMIT, {"correct": 0.5, "brief": 0.5})
    groups = list(run.trajectories())
    assert {group.held_out for group in groups} == {True, False}
    taught = {
        group.step
        for group in groups
        if not group.held_out and np.any([one.advantage for one in group.rollouts])
    }
    assert {row["step"] for row in steps if row["grad_norm"] > 0} >= taught != set()
    assert all(row["loss"] is not None for row in steps)
    assert write_report([run]).exists()
