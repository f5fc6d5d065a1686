"""Our classes over OpenRLHF's own loops, without engines; skipped where OpenRLHF is not."""

from __future__ import annotations

import queue
import threading
import time
from types import SimpleNamespace

import pytest

pytest.importorskip("openrlhf", exc_type=ImportError)

from openrlhf.utils import config as openrlhf_config
from torchdata.stateful_dataloader import StatefulDataLoader

from paretopo.config import ConfigError

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # DeepSpeed and others cause warnings
    pytest.mark.usefixtures("without_cuda"),
]
STEP = 2  # prompts


def make_options(generated, save_steps=1):
    return {
        "rollout.batch_size": STEP,
        "rollout.n_samples_per_prompt": 1,
        "rollout.vllm_generate_batch_size": generated,
        "ckpt.save_steps": save_steps,
        "vllm.enable_sleep": False,
        "algo.dynamic_filtering_enable": False,
        "algo.advantage.estimator": "",
        "algo.kl.init_coef": 0.0,
        "reward.stop_properly_penalty_coef": None,
        "reward.clip_range": (-10, 10),
        "reward.overlong_buffer_len": 20,
        "eval.steps": 5,
        "ckpt.best_metric_key": "",
    }


def make_loader(prompts, state=None):
    """OpenRLHF's loader of shuffled prompts, at the state of a checkpoint."""
    made = StatefulDataLoader(
        range(prompts), 1, shuffle=True, collate_fn=lambda one: (one, one, one, one)
    )
    if state is not None:
        made.load_state_dict(state)
    return made


def train(loader, generated, steps, done=0):
    """Take steps over several passes; the prompts of each step, and the loader's state after it."""
    from openrlhf.trainer.ppo_utils.samples_generator import _collect_prompt_batch

    from paretopo.integrations.openrlhf.samples import ParetoSamplesGenerator

    class Echo(ParetoSamplesGenerator):
        def __init__(self):
            self.args = openrlhf_config.hierarchize(SimpleNamespace(**make_options(generated)))
            self.prompts_dataloader, self._steps, self._batches = loader, steps, done

        def _generate_vllm(self, dataloader_iter, num_prompts, **_):
            prompts, _, _, exhausted = _collect_prompt_batch(dataloader_iter, num_prompts)
            return prompts, len(prompts), exhausted

    generator, taken = Echo(), []
    while len(taken) < steps - done:
        samples, *_ = generator.generate_samples()
        if samples:
            taken.append((samples, loader.state_dict()))
    return taken


@pytest.mark.parametrize("prompts", [8, 7])
@pytest.mark.parametrize("generated", [None, STEP])
def test_a_resumed_pass_takes_each_prompt_once(prompts, generated):
    each = prompts // STEP  # steps of a pass
    for done in range(1, 2 * each):
        first = train(make_loader(prompts), generated, done)
        rest = train(make_loader(prompts, first[-1][1]), generated, 2 * each, done)
        seen = [one for samples, _ in [*first, *rest] for one in samples]
        for passed in (seen[: each * STEP], seen[each * STEP :]):
            assert len(set(passed)) == each * STEP, (done, seen)


def test_generation_beyond_a_step_is_refused_if_there_are_checkpoints():
    """The case of OpenRLHF issue 1322: a checkpoint has no rollouts of later steps."""
    from paretopo.integrations.openrlhf.launch import _join_settings

    first = train(make_loader(8), 8, 1)
    rest = train(make_loader(8, first[-1][1]), 8, 4, done=1)
    assert len({one for samples, _ in [*first, *rest] for one in samples}) < 8
    with _join_settings(SimpleNamespace()):
        for allowed in (make_options(None), make_options(STEP), make_options(8, save_steps=-1)):
            openrlhf_config.hierarchize(SimpleNamespace(**allowed))
        with pytest.raises(ConfigError, match=r"at most rollout\.batch_size = 2, got 8: .* 1322"):
            openrlhf_config.hierarchize(SimpleNamespace(**make_options(8)))


def test_options_that_would_change_advantages_or_evaluate_twice_have_no_effect():
    from paretopo.integrations.openrlhf.launch import _join_settings

    before = openrlhf_config.hierarchize
    with _join_settings(SimpleNamespace(steps=1)):
        options = openrlhf_config.hierarchize(SimpleNamespace(**make_options(None)))
    assert openrlhf_config.hierarchize is before
    assert options.algo.advantage.estimator == "paretopo"
    assert min(map(abs, options.reward.clip_range)) >= 1e6
    assert options.reward.overlong_buffer_len is None
    assert (options.eval.steps, options.ckpt.best_metric_key) == (-1, "none")


@pytest.mark.parametrize("size", [1, 3])
def test_an_asynchronous_rollout_is_as_many_updates_old_as_the_queue_is_long(size):
    """OpenRLHF's two loops, here with a policy that is a number and a generator that is fast."""
    from paretopo.integrations.openrlhf.trainer_async import GenerateSamplesActor, TrainingActor

    policy, ages = [0], []

    def update(samples, step):
        time.sleep(0.05)
        ages.append(policy[0] - samples[0])
        policy[0] += 1
        return {}, step + 1

    shared = {
        "args": SimpleNamespace(
            train=SimpleNamespace(num_episodes=8),
            eval=SimpleNamespace(steps=float("inf")),
            algo=SimpleNamespace(dynamic_filtering_enable=False),
        ),
        "rollout_queue": queue.Queue(size),
        "rollout_slots": queue.Queue(size),
        "prompts_dataloader": make_loader(STEP),
        "samples_generator": SimpleNamespace(
            generate_samples=lambda: ([policy[0]], None, STEP, True)
        ),
        "_partial_rollout": True,  # without OpenRLHF's lock, so only the queue limits the age
    }
    generating = SimpleNamespace(**shared, generate_kwargs={}, eval_dataloader=None)
    training = SimpleNamespace(
        **shared,
        train_step=update,
        save_logs_and_checkpoints=lambda *_: None,
        wandb_logger=None,
        tensorboard_logger=None,
    )
    generating._should_eval = lambda _: False
    for _ in range(size):
        shared["rollout_slots"].put(0)
    thread = threading.Thread(target=GenerateSamplesActor.fit, args=(generating, 0, 0), daemon=True)
    thread.start()
    TrainingActor.__mro__[2].fit(training)
    assert ages == [min(at, size) for at in range(8)]
