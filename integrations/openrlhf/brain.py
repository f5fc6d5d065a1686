"""The one brain of a run: scores rollouts, gives advantages, takes evaluations in, keeps records.

It lives in a Ray actor of its own on the machine where the run was started. In a synchronous run
one process talks to it, in an asynchronous one two (generation and training), and both see the same
controller and the same fewest calls.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from paretopo.controller.two_stages import ParetoPO
from paretopo.integrations.openrlhf.rollouts import Rollout
from paretopo.rewards.overlong import overlong
from paretopo.rewards.scoring import CallScores, Scored
from paretopo.run.jsonl import Row
from paretopo.run.outcomes import averages, observe
from paretopo.run.records import RunFolder
from paretopo.run.trajectories import Group
from paretopo.run.transcripts import judged

_NO_STEP = -1  # every record is after it
_EXCHANGE = "rehearsal/advantages.jsonl"

# Our name in steps.jsonl, OpenRLHF's in its status.
_FROM_STATUS = {
    "loss": "policy_loss",
    "grad_norm": "actor_grad_norm",
    "learning_rate": "actor_lr",
    "kl": "kl",
    "vllm_kl": "vllm_kl",
    "seconds": "timing/step_total",
    "seconds_generation": "timing/generation",
    "seconds_experience": "timing/make_experience",
    "seconds_update": "timing/ppo_train",
    "seconds_weights": "timing/broadcast",
}


class Brain:
    """Controller, scores and records of one run.

    Args:
        run: The run folder.
        prompts: Training prompts.
        rehearsal: Also write what goes into the controller and what comes out, for the checks.
    """

    def __init__(self, run: str, prompts: int, *, rehearsal: bool = False) -> None:
        self._run = RunFolder.open(run)
        self._config = self._run.config
        epoch = prompts // self._config.optimiser.prompts_per_step
        self._controller = ParetoPO(
            self._config.paretopo, steps_per_epoch=epoch, steps=self._config.optimiser.steps
        )
        self._prompts = prompts
        self._consumed = 0  # groups generated, dropped ones included
        self._scores = CallScores(self._config.rewards)
        self._exchange = Path(run) / _EXCHANGE if rehearsal else None
        self._row: Row = {}  # the step at hand, until OpenRLHF has made its update
        self._judged: list[Group] = []  # what is kept of its rollouts
        self._seen = Counter[str]()
        self._recorded = 0
        self._latest = "not evaluated yet"

    # ---- generation ----------------------------------------------------------------------------

    def score(self, group: Sequence[Rollout]) -> tuple[list[float], bool]:
        """Economy of the rollouts of one training prompt, and whether the group teaches anything.

        The group counts towards the prompt's fewest calls, also where it is dropped afterwards.
        """
        scored = _scored(group, held_out=False)
        self._scores.learn(scored)
        economy = [self._scores.economy_of(one) for one in scored]
        teaches = bool(self._controller.informative(_vectors(group, economy)[None])[0])
        self._seen.update(groups=1, informative=int(teaches))
        self._consumed += 1
        return economy, teaches

    # ---- training ------------------------------------------------------------------------------

    def advantages(self, groups: Sequence[Sequence[Rollout]]) -> list[list[float]]:
        """Advantages of a step, (groups, points), the overlong punishment taken off."""
        controller, settings = self._controller, self._config.openrlhf
        vectors = np.stack([_vectors(group, [one.economy for one in group]) for group in groups])
        tokens = np.array([[one.tokens for one in group] for group in groups])
        before, multiplier = controller.state_dict(), controller.multiplier
        given = controller.advantages(vectors)
        punished = settings.overlong_penalty * overlong(
            tokens, self._config.optimiser.max_completion_tokens, settings.overlong_buffer
        )
        advantages: list[list[float]] = (given - punished).tolist()
        flat = [one for group in groups for one in group]
        self._row = {
            "step": controller.step,
            "stage": controller.stage,
            **averages(_scored(flat, held_out=False)),
            "economy": float(vectors[..., 1].mean()),
            "multiplier": multiplier,
            "informative": float(controller.informative(vectors).mean()),
            "response_tokens": float(tokens.mean()),
            "truncated": float(np.mean([one.truncated for one in flat])),
            "overlong": float(punished.mean()),
            "rank_histogram": controller.rank_histogram(vectors),
        }
        self._judged = [
            judged(
                controller,
                [one.transcript for one in group if one.transcript is not None],
                _scored(group, held_out=False),
                vectors[at],
                step=controller.step,
                advantages=advantages[at],
            )
            for at, group in enumerate(groups)
            if group[0].transcript is not None
        ]
        self._note(controller.step, before, vectors, punished, advantages)
        return advantages

    def learning_rate_factor(self) -> float:
        """Factor on the learning rate of the step whose advantages were given last."""
        return self._controller.learning_rate_factor

    def record_step(self, step: int, status: Mapping[str, float]) -> dict[str, float]:
        """Write the row of a step; returns what the trackers log beside OpenRLHF's own numbers."""
        if step != self._controller.step:
            raise RuntimeError(f"OpenRLHF is at step {step}, ParetoPO at {self._controller.step}")
        seen, self._seen = self._seen, Counter()
        kept = seen["informative"] / seen["groups"] if seen["groups"] else 1.0
        row = self._row | {"generated_groups": seen["groups"], "kept": kept}
        row |= {name: status[theirs] for name, theirs in _FROM_STATUS.items() if theirs in status}
        if "learning_rate" in row:
            row["learning_rate"] *= self._controller.learning_rate_factor
        self._run.append_step(row)
        for group in self._judged:
            self._run.append_trajectories(group)
        self._recorded = step
        if self._config.paretopo.stage1_steps == "epoch" and self._consumed >= self._prompts:
            self._controller.finish_stage1()  # dropped groups ate prompts
        return self._metrics(row)

    # ---- evaluation ----------------------------------------------------------------------------

    def observe(self, step: int, rollouts: Sequence[Rollout], seconds: float) -> dict[str, float]:
        """Take a held-out evaluation in; returns its numbers for the trackers."""
        ordered = sorted(rollouts, key=lambda rollout: rollout.prompt_id)
        scored = _scored(ordered, held_out=True)
        self._scores.learn(scored)
        vectors = _vectors(ordered, [self._scores.economy_of(one) for one in scored])
        tokens = [one.tokens for one in ordered]
        outcome, vectors = observe(self._controller, self._scores, scored, vectors, tokens)
        row = {
            "step": step,
            "phase": self._phase(step),
            **outcome,
            "truncated": float(np.mean([one.truncated for one in ordered])),
            "seconds": seconds,
        }
        self._run.append_evaluation(row)
        self._keep_held_out(step, ordered, scored, vectors)
        self._latest = f"accuracy {row['accuracy']:.2f}, calls {row['calls']:.2f}"
        shown = ("accuracy", "calls", "economy", "response_tokens", "truncated", "archive_size")
        return {name: float(row[name]) for name in (*shown, "hypervolume")}

    # ---- going on ------------------------------------------------------------------------------

    def steps_done(self) -> int:
        """Steps whose advantages were given."""
        return self._controller.step

    def progress(self) -> tuple[int, str]:
        """Steps that are recorded, and where the run stands in words."""
        size = 0 if self._controller.archive is None else len(self._controller.archive.points)
        return self._recorded, f"{self._latest}, stage {self._controller.stage}, archive {size}"

    def state(self) -> str:
        """Everything that a checkpoint must keep, as JSON."""
        return json.dumps(
            {
                "controller": self._controller.state_dict(),
                "scores": self._scores.state_dict(),
                "consumed": self._consumed,
            }
        )

    def restore(self, state: str | None) -> None:
        """Go on from a checkpoint's state, or from nothing; later records are dropped."""
        done = _NO_STEP
        if state is not None:
            saved = json.loads(state)
            self._controller.load_state_dict(saved["controller"])
            self._scores.load_state_dict(saved["scores"])
            self._consumed = int(saved["consumed"])
            done = self._controller.step
        self._run.truncate_after(done)
        self._recorded = max(done, 0)
        self._run.resumed(self._recorded)

    # ---- parts ---------------------------------------------------------------------------------

    def _note(
        self,
        step: int,
        before: Row,
        vectors: NDArray[np.float64],
        punished: NDArray[np.float64],
        advantages: list[list[float]],
    ) -> None:
        """What the rehearsal's checks compute anew."""
        if self._exchange is None:
            return
        entry = {
            "step": step,
            "before": before,
            "vectors": vectors.tolist(),
            "punished": punished.tolist(),
            "advantages": advantages,
        }
        with self._exchange.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _keep_held_out(
        self,
        step: int,
        ordered: Sequence[Rollout],
        scored: Sequence[Scored],
        vectors: NDArray[np.float64],
    ) -> None:
        """Record the held-out prompts whose rollouts come with their text, a group each."""
        for name in dict.fromkeys(one.prompt_id for one in ordered if one.transcript is not None):
            rows = [at for at, one in enumerate(ordered) if one.prompt_id == name]
            self._run.append_trajectories(
                judged(
                    self._controller,
                    [one.transcript for one in (ordered[at] for at in rows) if one.transcript],
                    [scored[at] for at in rows],
                    vectors[rows],
                    step=step,
                )
            )

    def _phase(self, step: int) -> str:
        if step == 0:
            warmed = self._config.warmup.steps > 0 and self._config.model.path == "tiny"
            return "warmup" if warmed else "pretrained"
        return "final" if step >= self._config.optimiser.steps else "train"

    def _metrics(self, row: Row) -> dict[str, float]:
        archive = self._controller.archive
        ranks = row["rank_histogram"]
        names = ("stage", "accuracy", "calls", "economy", "multiplier", "informative", "kept")
        numbers = {name: float(row[name]) for name in (*names, "truncated", "overlong")}
        numbers["archive_size"] = 0.0 if archive is None else float(len(archive.points))
        numbers["hypervolume"] = 0.0 if archive is None else float(archive.hypervolume)
        numbers |= {f"rank_{rank}": count / sum(ranks) for rank, count in enumerate(ranks)}
        return {f"paretopo/{name}": value for name, value in numbers.items()}


def _vectors(rollouts: Sequence[Rollout], economy: Sequence[float]) -> NDArray[np.float64]:
    """(rollouts, 2): correctness and economy."""
    return np.array([[one.correct, paid] for one, paid in zip(rollouts, economy, strict=True)])


def _scored(rollouts: Sequence[Rollout], *, held_out: bool) -> list[Scored]:
    """Rows are numbered among those with the same prompt: several rows can ask one fact."""
    often = Counter[str]()
    scored = []
    for one in rollouts:
        row = often[one.prompt_id]
        often[one.prompt_id] += 1
        scored.append(Scored(row, one.prompt_id, held_out, one.kind, one.correct > 0, one.calls))
    return scored
