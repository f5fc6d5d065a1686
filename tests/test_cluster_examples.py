"""The files for clusters, as far as they can be checked without one: docs/openrlhf.md says so."""

import os
import re
import shlex
import signal
import subprocess
import time
from pathlib import Path

import pytest

from paretopo.cli import make_parser
from paretopo.config import load, parse_override
from paretopo.integrations.openrlhf.options import micro_batch

yaml = pytest.importorskip("yaml")

ROOT = Path(__file__).parents[1]
CLUSTER = ROOT / "examples" / "cluster"
CONFIG = ROOT / "examples" / "math_qwen2.5_7b.toml"


def understood(words):
    """The words as the command line reads them, and the configuration that they make of CONFIG."""
    own = words[: words.index("--")] if "--" in words else words
    arguments = make_parser().parse_args(own)
    if own[0] != "train" or arguments.resume is not None:
        return arguments, None
    overrides = dict(parse_override(one) for one in arguments.overrides)
    return arguments, load(CONFIG, overrides)


def as_on_slurm(tmp_path, *words):
    """Start the script among programs that write down how they are called."""
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    (tmp_path / "log").touch()
    log = f'echo "$(basename "$0") $*" >> {tmp_path}/log'
    programs = {
        "scontrol": "printf 'node1\\nnode2\\n'",
        "srun": f"{log}; exec sleep 600",
        "python": f"grep -c '^srun ' {tmp_path}/log || true",  # counts the nodes of Ray
        "sleep": 'exec /bin/sleep "$([ "$1" = 5 ] && echo 0.1 || echo "$1")"',
        "paretopo": f"{log}; [ -e {tmp_path}/long ] || exit 3\n"
        f"trap 'echo terminated >> {tmp_path}/log; exit 130' TERM\n"
        f"touch {tmp_path}/trains; while :; do /bin/sleep 0.05; done",
    }
    for name, body in programs.items():
        (bin_ / name).write_text(f"#!/bin/bash\n{body}\n", encoding="utf-8")
        (bin_ / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{bin_}:{os.environ['PATH']}",
        "PARETOPO_VENV": str(tmp_path),
        "SLURM_JOB_NODELIST": "node[1-2]",
        "SLURM_GPUS_ON_NODE": "8",
    }
    script = ["bash", str(CLUSTER / "train.slurm"), *words]
    return subprocess.Popen(script, env=environment, cwd=ROOT)


def calls(tmp_path, name):
    lines = (tmp_path / "log").read_text(encoding="utf-8").splitlines()
    return [shlex.split(line)[1:] for line in lines if line.startswith(f"{name} ")]


def test_slurm_script_uses_all_nodes_and_gpus(tmp_path):
    assert as_on_slurm(tmp_path, str(CONFIG)).wait(60) == 3  # the exit status of the training
    first, second = sorted(calls(tmp_path, "srun"), key=lambda words: "--address" in words)
    assert {"--nodelist=node1", "--head", "--node-ip-address"} <= set(first)
    assert {"--nodelist=node2", "--address", "node1:6379"} <= set(second)
    for one in (first, second):
        assert one[one.index("--num-gpus") + 1] == "8"
    [words] = calls(tmp_path, "paretopo")
    arguments, config = understood(words)
    assert arguments.config == str(CONFIG)
    cluster = config.openrlhf
    assert (cluster.nodes, cluster.gpus_per_node, cluster.engines) == (2, 8, 16)
    assert micro_batch(config) > 0


def test_slurm_script_resumes_a_run(tmp_path):
    as_on_slurm(tmp_path, "--resume", "runs/RUN").wait(60)
    [words] = calls(tmp_path, "paretopo")
    assert understood(words)[0].resume == "runs/RUN"


def test_the_slurm_script_hands_the_end_of_its_time_on(tmp_path):
    (tmp_path / "long").touch()
    process = as_on_slurm(tmp_path, str(CONFIG))
    try:
        end = time.monotonic() + 60
        while not (tmp_path / "trains").exists():
            assert time.monotonic() < end
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 130
    finally:
        process.kill()
    assert "terminated" in (tmp_path / "log").read_text(encoding="utf-8")


def test_slurm_script_requests_its_resources():
    text = (CLUSTER / "train.slurm").read_text(encoding="utf-8")
    subprocess.run(["bash", "-n", str(CLUSTER / "train.slurm")], check=True)
    asked = dict(re.findall(r"^#SBATCH --([\w-]+)=(.+)$", text, re.MULTILINE))
    assert asked["signal"] == "B:TERM@300"
    assert asked["ntasks-per-node"] == "1"


def test_the_ray_job_trains_on_all_gpus_of_its_pods():
    job = yaml.safe_load((CLUSTER / "rayjob.yaml").read_text(encoding="utf-8"))
    assert (job["apiVersion"], job["kind"]) == ("ray.io/v1", "RayJob")
    cluster = job["spec"]["rayClusterSpec"]
    packages = (ROOT / "scripts" / "openrlhf_cpu.txt").read_text(encoding="utf-8")
    assert f"ray=={cluster['rayVersion']}\n" in packages
    _, *words = shlex.split(job["spec"]["entrypoint"])
    _, config = understood(words)
    [workers] = cluster["workerGroupSpecs"]
    pods = [cluster["headGroupSpec"]["template"], workers["template"]]
    gpus = [
        int(pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]) for pod in pods
    ]
    assert gpus[0] + workers["replicas"] * gpus[1] == 16
    assert (config.openrlhf.nodes, config.openrlhf.gpus_per_node) == (2, 8)
    assert config.run.out == "/shared/runs"
    for pod in pods:
        [container] = pod["spec"]["containers"]
        mounted = {one["mountPath"]: one["name"] for one in container["volumeMounts"]}
        volumes = {one["name"]: one for one in pod["spec"]["volumes"]}
        assert set(mounted.values()) == set(volumes)
        assert volumes[mounted["/dev/shm"]]["emptyDir"]["medium"] == "Memory"
