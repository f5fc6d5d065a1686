"""The sections of a run's configuration; ``rules`` has the rules between their keys.

The controller's switches, the section ``[paretopo]``, are in :mod:`paretopo.config.switches`.

>>> OptimiserConfig(group_size=4).group_size
4
>>> OptimiserConfig(group_size=1)
Traceback (most recent call last):
paretopo.config.keys.ConfigError: optimiser.group_size must be an integer of at least 2, got 1
"""

from __future__ import annotations

from dataclasses import field, replace
from typing import Any, Literal

from paretopo.config.keys import ConfigError, is_named, key, settled

MADE_UP = "made up"  # questions
NONE = "none"
OWN = "own"  # chat template
CHATML_TOOLS = "chatml-tools"  # chat template
TINY = "tiny"
WEIGHT_DECAY, MAX_GRAD_NORM = 0.0, 1.0  # of the optimiser, on every back end
BY_MODEL = "by model"  # shown as the default if RunConfig sets it
SMALL = "small:"  # before a name: random small model with the tokenizer of that name


@settled("model.lora")
class LoraConfig:
    """Low-rank adapters of all linear layers except the head, trained instead of the weights."""

    rank: int = key(0, "Rank of the adapters, which need peft; 0 trains all weights.", low=0)
    alpha: int = key(
        32,
        "Scale of the adapters: the product of an adapter's two matrices is multiplied by alpha / "
        "rank.",
        low=1,
    )


@settled("model")
class ModelConfig:
    """The policy: any causal language model, or a small one created for the run."""

    path: str = key(
        TINY,
        'A name on the Hugging Face Hub, a folder or a .gguf file. "tiny" creates a small Qwen3 '
        'with random weights; "small:NAME" creates the same with the tokenizer of the model NAME.',
    )
    chat_template: str = key(
        OWN,
        'The model\'s "own" template; "chatml-tools", which renders tool calls; or a .jinja file.',
    )
    dtype: Literal["auto", "float32", "bfloat16"] = key(
        "auto",
        "Number format of forward and backward passes. auto: bfloat16 for a loaded model, if the "
        "device supports it. Trained weights are always float32.",
    )
    gradient_checkpointing: bool = key(
        None,
        "Recompute activations instead of storing them: less memory, more time.",
        shown_default="true for a loaded model",
    )
    layers: int = key(2, "Number of transformer layers.", low=1, of={"path": (TINY, SMALL)})
    width: int = key(128, "Hidden size.", low=8, of={"path": (TINY, SMALL)})
    heads: int = key(
        4,
        "Number of attention heads; must divide width.",
        low=1,
        of={"path": (TINY, SMALL)},
    )
    lora: LoraConfig = field(default_factory=LoraConfig)

    @staticmethod
    def fill(written: dict[str, Any]) -> dict[str, Any]:
        """Fill the keys that depend on the model."""
        if written["gradient_checkpointing"] is not None:
            return written
        return written | {"gradient_checkpointing": not _is_made(written["path"])}

    @property
    def is_made(self) -> bool:
        """Return whether the weights are random, created for the run."""
        return _is_made(self.path)

    def trained(self, path: str) -> ModelConfig:
        """Return the section that loads a policy trained from this one and saved at ``path``."""
        return replace(self, path=path, chat_template=OWN, lora=LoraConfig())


def _is_made(path: Any) -> bool:
    return is_named(path, (TINY, SMALL))


@settled("task")
class TaskConfig:
    """The questions."""

    name: Literal["calculator", "math", "multihop", "questions"] = key(
        "calculator",
        "Kind of questions. calculator: sums; math: mathematics with a Python interpreter; "
        "multihop: questions for a search engine; questions: your own, with or without tools.",
    )
    train: str = key(
        MADE_UP,
        'Training questions: "made up" for generated ones; a JSONL file from `paretopo prepare` '
        "(math, multihop); or your own JSONL file (questions).",
    )
    held_out: str = key(MADE_UP, "Held-out questions, in the same form.")
    tools: str = key(
        NONE,
        'For the task "questions": a Python file of functions, in TRL\'s format, that the policy '
        "may call.",
    )
    prompts: int = key(512, "Number of training questions.", low=1, of={"train": (MADE_UP,)})
    facts: int = key(
        24,
        "Number of memorised facts, for questions that need no call.",
        low=1,
        of={"train": (MADE_UP,)},
    )
    kinds: tuple[float, ...] = key(
        (0.34, 0.33, 0.33),
        "Shares of questions that need 0, 1 and 2 calls.",
        low=0.0,
        high=1.0,
        of={"train": (MADE_UP,)},
    )

    @property
    def is_made_up(self) -> bool:
        """Return whether the questions are made up instead of read from files."""
        return self.train == MADE_UP

    @property
    def is_prepared(self) -> bool:
        """Return whether the questions are those of a prepared file, whose words are not known."""
        return self.name != "questions" and not self.is_made_up


@settled("tool")
class ToolConfig:
    """The tools: interpreter (math), search engine (multihop), solver (calculator)."""

    timeout: float = key(10.0, "Time limit of a program, in seconds.", low=0.0, open_low=True)
    workers: int = key(
        8,
        "Number of programs that each process runs at the same time.",
        low=1,
    )
    isolation: Literal["bubblewrap", "process"] = key(
        "bubblewrap",
        "Isolation of programs. bubblewrap: a sandbox with limits. process: limits only.",
    )
    search_url: str = key(
        NONE,
        "Address of a search server with Search-R1's protocol.",
    )
    corpus: str = key(
        NONE,
        "A JSONL corpus that the run itself serves with BM25.",
    )
    topk: int = key(3, "Number of passages per search.", low=1, high=100)
    solver_price: float = key(
        0.0,
        "Dollars per call of the solver, a second tool that computes two operations in one call; "
        "0 removes the solver.",
        low=0.0,
    )


@settled("warmup")
class WarmupConfig:
    """Supervised steps on written traces before reinforcement learning."""

    steps: int = key(350, "Number of supervised steps; 0 skips the warm-up.", low=0)
    batch_size: int = key(64, "Number of demonstrations (traces) per step.", low=1)
    micro_batch: int = key(
        0,
        "Number of traces per forward and backward pass; small numbers save memory. 0 processes "
        "all traces of a step at once.",
        low=0,
    )
    learning_rate: float = key(
        2e-3,
        "Learning rate of the warm-up.",
        low=0.0,
        open_low=True,
        shown_default=BY_MODEL,
    )
    guess_rate: float = key(
        0.15, "Share of traces that guess instead of calling the tool.", low=0.0, high=1.0
    )
    file: str = key(
        NONE,
        'For the task "questions": a Python file with a function `demonstrate` that writes the '
        'rollouts to imitate; with "none", the model imitates the answers.',
    )
    shared: str = key(
        NONE,
        "A folder of finished warm-ups, shared by runs with the same model, task, warm-up and "
        "seed.",
    )


@settled("rewards")
class RewardsConfig:
    """The scoring of rollouts."""

    file: str = key(
        NONE,
        "A Python file of reward functions in TRL's format, each named after its objective.",
    )
    timeout: float = key(
        60.0, "Time limit of one call of a reward function, in seconds.", low=0.0, open_low=True
    )
    retries: int = key(
        0,
        "Number of further attempts after a call that fails or takes too long.",
        low=0,
    )
    failing: Literal["stop", "skip"] = key(
        "stop",
        "Effect of a call whose last attempt fails. stop: the run stops. skip: the objective "
        "does not apply to the rollouts of that call.",
    )


@settled("preference")
class PreferenceConfig:
    """The preferences that questions state, if ``paretopo.preference = "given"``."""

    concentration: float = key(
        1.0,
        "Concentration of the Dirichlet distribution: 1 is uniform; a value below 1 favours the "
        "extremes.",
        low=0.0,
        open_low=True,
    )
    levels: int = key(10, "Weights are multiples of 1 / levels.", low=1)
    grid: int = key(
        5,
        "An evaluation uses all weightings whose weights are multiples of 1 / grid.",
        low=1,
    )


@settled("optimiser")
class OptimiserConfig:
    """The policy-gradient steps."""

    steps: int = key(
        100, "Number of reinforcement-learning steps, for both stages together.", low=1
    )
    learn_from: Literal["rewards", "answers"] = key(
        "rewards",
        "rewards: reinforcement learning. answers: supervised fine-tuning on the correct "
        "answers, with prompts_per_step answers per step.",
    )
    learning_rate: float = key(
        3e-4, "Learning rate of the first step.", low=0.0, open_low=True, shown_default=BY_MODEL
    )
    learning_rate_schedule: Literal["constant", "cosine"] = key(
        "constant", "cosine: the learning rate falls to 0 over the run, along half a cosine."
    )
    prompts_per_step: int = key(16, "Number of questions per step.", low=1)
    group_size: int = key(8, "Number of rollouts per question.", low=2)
    micro_batch: int = key(
        0,
        "Number of rollouts per forward and backward pass; small numbers save memory. 0 "
        "processes all rollouts of a step at once.",
        low=0,
    )
    temperature: float = key(1.0, "Sampling temperature of rollouts.", low=0.0, open_low=True)
    max_completion_tokens: int = key(
        128, "Longest response in tokens, including tool results.", low=1
    )
    max_tool_calls: int = key(
        4,
        "Largest number of turns with tool calls; later calls are not executed.",
        low=0,
    )
    loss: Literal["dapo", "grpo", "dr_grpo", "bnpo"] = key(
        "dapo", "Method of averaging the token losses, named as in TRL."
    )
    clip_low: float = key(
        0.2, "Clipping of the probability ratio from below, at 1 - clip_low.", low=0.0, high=1.0
    )
    clip_high: float = key(
        0.28, "Clipping of the probability ratio from above, at 1 + clip_high.", low=0.0
    )
    kl: float = key(
        0.0, "Weight of the penalty on the KL divergence from the initial policy.", low=0.0
    )
    decision_entropy: float = key(
        0.0,
        "Weight of a bonus for the entropy of the first choice between tools: docs/steerable.md.",
        low=0.0,
    )

    @property
    def rollouts(self) -> int:
        """Return the number of rollouts of a step."""
        return self.prompts_per_step * self.group_size

    def steps_per_epoch(self, prompts: int) -> int:
        """Return the number of whole steps in one pass over this many prompts.

        Raises:
            ConfigError: They do not fill one step.
        """
        steps = prompts // self.prompts_per_step
        if steps == 0:
            raise ConfigError(
                "optimiser.prompts_per_step must be at most the number of training prompts, "
                f"{prompts}, got {self.prompts_per_step}"
            )
        return steps

    def micro_batch_of(self, gpus: int, keys: str) -> int:
        """Return the number of rollouts per forward and backward pass on each GPU.

        Args:
            gpus: GPUs of the policy.
            keys: Names of the keys that set this number.

        Raises:
            ConfigError: The rollouts of a step do not divide among GPUs or micro-batches.
        """
        rollouts = self.rollouts
        if rollouts % gpus:
            raise ConfigError(
                f"the {rollouts} rollouts of a step (prompts_per_step * group_size) must be a "
                f"multiple of the {gpus} GPUs ({keys})"
            )
        size = self.micro_batch or rollouts // gpus
        if (rollouts // gpus) % size:
            raise ConfigError(
                f"optimiser.micro_batch must divide {rollouts // gpus}, the rollouts of a GPU, "
                f"got {size}"
            )
        return size


@settled("evaluation")
class EvaluationConfig:
    """The held-out evaluation, which drives stage 1 and the archive."""

    every: int = key(1, "Number of steps between evaluations.", low=1)
    prompts: int = key(64, "Number of held-out questions.", low=1)
    temperature: float = key(0.0, "Sampling temperature; 0 decodes greedily.", low=0.0)


@settled("run")
class RunFolderConfig:
    """The folder of a run, its records and its device."""

    out: str = key("runs", "Folder in which the run creates its own folder.")
    checkpoint_every: int = key(
        1, "Number of steps between checkpoints; the last two are kept. 0 writes none.", low=0
    )
    threads: int = key(
        0,
        "Number of CPU threads for torch. 0 means one thread for the tiny model. For a loaded "
        "model it means `OMP_NUM_THREADS`, if set, or else one thread per physical core.",
        low=0,
    )
    trajectories: int = key(
        2,
        "Number of prompts, in each step and each evaluation, whose rollouts are kept as text.",
        low=0,
    )
    tensorboard: bool = key(
        False, "Write curves for TensorBoard into the run folder; needs the extra tensorboard."
    )
    wandb_project: str = key(
        NONE,
        "Weights & Biases project that receives the same curves. Needs the extra wandb, and the "
        "API key in WANDB_API_KEY.",
    )


@settled("trl")
class TRLConfig:
    """TRL's generation of rollouts."""

    generation: str = key(
        NONE,
        "Options of TRL for its engine or cache, as on its command line: docs/training.md.",
    )


@settled("openrlhf")
class OpenRLHFConfig:
    """OpenRLHF's distribution of a run over GPUs."""

    nodes: int = key(1, "Number of machines for the policy.", low=1)
    gpus_per_node: int = key(8, "Number of GPUs for the policy on each machine.", low=1)
    engines: int = key(8, "Number of vLLM engines, over all machines.", low=1)
    engine_gpus: int = key(1, "Number of GPUs per engine (tensor parallelism).", low=1)
    colocate: bool = key(
        True,
        "Let engines and policy take turns on the same GPUs; false gives the engines separate "
        "GPUs.",
    )
    asynchronous: bool = key(
        False, "Generate the next rollouts while the policy trains on the previous ones."
    )
    zero_stage: int = key(2, "DeepSpeed ZeRO stage.", low=0, high=3)
    correction: Literal["off", "token", "sequence"] = key(
        "off",
        "Importance weights that correct differences between engine and policy: off, per token "
        "or per sequence.",
    )
    dynamic_sampling: bool = key(
        False, "Replace the groups that paretopo.group_filter drops, until a step is full."
    )
    overlong_buffer: int = key(
        0,
        "Number of tokens at the end of the response budget over which the advantage falls "
        "linearly.",
        low=0,
    )
    overlong_penalty: float = key(
        1.0, "Reduction of the advantage at the end of the budget.", low=0.0
    )
    options: str = key("none", "Further options of OpenRLHF, as on its command line.")
