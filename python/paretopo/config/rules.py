"""The rules between keys: every refusal that concerns more than one value, in one list.

A rule is checked where its class is built: for a section, by the section's constructor; for a run,
by :func:`~paretopo.config.run.settle_run`. The page on the configuration file prints the list.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable

from paretopo.config.keys import RULES
from paretopo.config.objectives import (
    BY_FEWEST,
    FROM_ZERO,
    KEEPS,
    MEASURES,
    OF_COSTS,
    OF_SUCCESSES,
    Objective,
)
from paretopo.config.run import RunConfig
from paretopo.config.sections import (
    MADE_UP,
    NONE,
    OWN,
    TINY,
    ModelConfig,
    OpenRLHFConfig,
    OptimiserConfig,
    PreferenceConfig,
    TaskConfig,
    ToolConfig,
)
from paretopo.config.switches import (
    HYPERVOLUME_ESTIMATORS,
    LINEAR,
    OF_SUCCESS,
    TO_IDEAL,
    UNWEIGHTED,
    ParetoPOConfig,
)

__all__ = ["RULES"]

_ANOTHER = 'paretopo.stage2_estimator = "gd2po"'

# ---- sections ------------------------------------------------------------------------------------

RULES[ModelConfig] = (
    ("model.heads must divide model.width", "heads width", lambda c: c.width % c.heads),
    (
        "model.width / model.heads, the size of a head, must be even for rotary positions",
        "width heads",
        lambda c: c.width // c.heads % 2,
    ),
    (
        'model.chat_template is for a loaded model: model.path = "tiny" brings its own',
        "chat_template",
        lambda c: c.path == TINY and c.chat_template != OWN,
    ),
)
RULES[TaskConfig] = (
    (
        "task.kinds must be 3 shares summing to 1",
        "kinds",
        lambda c: len(c.kinds) != 3 or abs(sum(c.kinds) - 1.0) > 1e-6,
    ),
    (
        'task.train and task.held_out must both be files, or both be "made up"',
        "train held_out",
        lambda c: c.is_made_up != (c.held_out == MADE_UP),
    ),
    (
        'task.name = "questions" needs task.train and task.held_out, JSONL files with a prompt a '
        "line",
        "train",
        lambda c: c.name == "questions" and c.is_made_up,
    ),
    (
        'task.tools is for task.name = "questions": other tasks have their own tools',
        "name tools",
        lambda c: c.tools != NONE and c.name != "questions",
    ),
    (
        "task.train: the questions of the calculator are made up; for files use task.name = "
        '"math" or "multihop"',
        "train",
        lambda c: c.name == "calculator" and not c.is_made_up,
    ),
)
RULES[ToolConfig] = (
    (
        "tool.search_url and tool.corpus must not both be given: one is a running server, the "
        "other starts one",
        "search_url corpus",
        lambda c: NONE not in (c.search_url, c.corpus),
    ),
)
RULES[PreferenceConfig] = (
    ("preference.grid must divide preference.levels", "grid levels", lambda c: c.levels % c.grid),
)
RULES[OptimiserConfig] = (
    (
        'optimiser.learn_from = "answers" needs kl = 0 and decision_entropy = 0',
        "kl decision_entropy",
        lambda c: c.learn_from == "answers" and (c.kl > 0.0 or c.decision_entropy > 0.0),
    ),
    (
        "optimiser.micro_batch must divide the rollouts of a step (prompts_per_step * group_size)",
        "micro_batch rollouts",
        lambda c: c.micro_batch and c.rollouts % c.micro_batch,
    ),
)
RULES[OpenRLHFConfig] = (
    (
        "openrlhf.asynchronous generates while it trains, which needs separate GPUs for the "
        "engines: set openrlhf.colocate = false",
        "asynchronous colocate",
        lambda c: c.asynchronous and c.colocate,
    ),
    (
        "with openrlhf.colocate, engines * engine_gpus must be nodes * gpus_per_node",
        "engines engine_gpus nodes gpus_per_node",
        lambda c: c.colocate and c.engines * c.engine_gpus != c.nodes * c.gpus_per_node,
    ),
)

# ---- objectives ----------------------------------------------------------------------------------


def _keeps_all_or_none(c: Objective) -> bool:
    """Return whether every value or none keeps the limit."""
    if c.limit is None:
        return False
    if c.share is not None and c.limit == (c.low if c.better == "fewer" else c.high):
        return False  # a share of the rollouts can have the best value
    return not c.bounds[0] < c.limit < c.bounds[1]


def _pays_failure(c: Objective) -> bool:
    """Return whether a failed rollout could get more than a correct one."""
    if not isinstance(c.failure, float):
        return False
    if c.economy in BY_FEWEST:
        return c.failure > 0.0
    return c.economy != "raw" or c.worst is None or c.to_reward(c.failure) > c.worst


def _is_never_exceeded(c: Objective) -> bool:
    reference = c.reference_reward("initial")
    return reference is not None and c.best is not None and reference >= c.best


RULES[Objective] = (
    (
        "objectives.{name}.weight and limit exclude each other: training adapts a limit's weight",
        "weight limit",
        lambda c: c.limit is not None and c.weight is not None,
    ),
    (
        "objectives: a name must be of letters, digits, - . and _, and begin with a letter or _",
        "name",
        lambda c: not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]*", c.name),
    ),
    (
        "objectives.{name}.low must be below high",
        "low high",
        lambda c: c.bounds[0] >= c.bounds[1],
    ),
    (
        'objectives.{name}.economy = "paretopo" or "otc" is for costs: better = "fewer"',
        "economy better",
        lambda c: c.economy in BY_FEWEST and c.better != "fewer",
    ),
    (
        f"objectives.{{name}}.low must be at least 0 for a cost{FROM_ZERO}",
        "low",
        lambda c: c.has_cost and c.low is not None and c.low < 0.0,
    ),
    (
        "objectives.{name}.high must be given for an economy of costs if more is better: the cost "
        "is the distance from high",
        "high economy",
        lambda c: c.economy in OF_COSTS and c.better == "more" and c.high is None,
    ),
    (
        'objectives.{name}.budget measures the rest: better = "more"',
        "budget better",
        lambda c: c.budget is not None and c.better != "more",
    ),
    (
        "objectives.{name}.price and budget are for costs",
        "price budget",
        lambda c: c.name == "correct" and (c.budget is not None or c.price != 1.0),
    ),
    (
        'objectives.{name}.gate cannot be true for a cost (better = "fewer"), or with an economy '
        'other than "raw": choose an objective that measures success',
        "better economy",
        lambda c: c.gate and (c.better != "more" or c.economy != "raw"),
    ),
    (
        "objectives.{name}.gate cannot be true if high is not above threshold: no rollout would "
        "ever solve its prompt",
        "high threshold",
        lambda c: c.gate and c.bounds[1] <= c.threshold,
    ),
    (
        "objectives.{name}.failure must not be given for the gate, or with a limit, which counts "
        "every rollout: remove it",
        "failure",
        lambda c: (c.gate or c.limit is not None) and c.failure != KEEPS,
    ),
    (
        "objectives.{name}.failure could give a failed rollout more than a correct one: it must be "
        'at most 0 with economy = "paretopo" or "otc"; otherwise economy must be "raw", and a '
        'number must not be better than low, or high for costs; or set failure = "worst"',
        "failure economy low high",
        _pays_failure,
    ),
    (
        "objectives.{name}.reference must be worse than the best value there can be: nothing would "
        "ever gain hypervolume",
        "reference",
        _is_never_exceeded,
    ),
    (
        'objectives.{name}.economy must be "raw" with a limit: remove it',
        "economy",
        lambda c: c.limit is not None and c.economy != "raw",
    ),
    (
        "objectives.{name}.limit must be above low and below high, or every value or none keeps it",
        "limit low high",
        _keeps_all_or_none,
    ),
)

# ---- the controller ------------------------------------------------------------------------------


RULES[ParetoPOConfig] = (
    ("paretopo.weights must sum to 1", "weights", lambda c: abs(sum(c.weights) - 1.0) > 1e-6),
    (
        'the estimator "hypervolume" needs weights above 0 after the first',
        "weights",
        lambda c: "hypervolume" in c.both_estimators and min(c.weights[1:], default=1.0) == 0.0,
    ),
    (
        'paretopo.centre = "exact" is for the estimator "hypervolume": use "mean", "none", "std" '
        'or "loo"',
        "stage1_estimator stage2_estimator",
        lambda c: c.centre == "exact" and "pareto" in c.estimators,
    ),
    (
        "paretopo.limits must be finite numbers, not 0, with shares between 0 and 1, without the "
        "ends",
        "limits",
        lambda c: any(
            not math.isfinite(one.bound)
            or (one.bound == 0.0 if one.share is None else not 0.0 < one.share < 1.0)
            for one in c.limits
        ),
    ),
    (
        "an objective with a limit must have a weight of 0",
        "weights limits",
        lambda c: any(c.weights[one.objective] != 0.0 for one in c.limits),
    ),
    (
        "a limit needs the sum of the weighted rewards as it is: use the estimator "
        '"rloo" or "dr_grpo"',
        "stage1_estimator stage2_estimator",
        lambda c: c.limits and c.estimators - LINEAR,
    ),
    (
        "paretopo.floors must be one fewer than the weights",
        "floors weights",
        lambda c: c.floors is not None and len(c.floors) != len(c.weights) - 1,
    ),
    (
        "paretopo.references must be as many as the weights",
        "references weights",
        lambda c: c.references is not None and len(c.references) != len(c.weights),
    ),
)

# ---- the whole run -------------------------------------------------------------------------------


def _ask_for_gate(c: RunConfig) -> str | None:
    """Return the first setting that needs a gate if no objective is one."""
    if c.objectives[0].gate:
        return None
    switches, several = c.paretopo, len(c.objectives) > 2
    asks = [
        f'objectives.{objective.name}.economy = "{objective.economy}"'
        for objective in c.objectives
        if objective.economy in OF_SUCCESSES
    ]
    asks += ['paretopo.gate = "success"'] if switches.gate == "success" else []
    asks += [f'the estimator "{name}"' for name in sorted(OF_SUCCESS & switches.estimators)]
    asks += [f'paretopo.weighting = "{switches.weighting}"'] if _puts_on_one(c) else []
    asks += ['paretopo.economies = "least"'] if switches.economies == "least" and several else []
    asks += ['paretopo.group_filter = "accuracy"'] if switches.group_filter == "accuracy" else []
    cure = ', or use group_filter = "vector"' if asks and "group_filter" in asks[0] else ""
    return f"{cure}; got {asks[0]} with {_list_names(c)}" if asks else None


def _list_names(c: RunConfig) -> str:
    return ", ".join(objective.name for objective in c.objectives)


def _puts_on_one(c: RunConfig) -> bool:
    return c.paretopo.weighting in ("first alone", "second alone")


def _choose_one(c: RunConfig) -> Objective:
    return c.objectives[0 if c.paretopo.weighting == "first alone" else 1]


def _is_limited(c: RunConfig) -> bool:
    return any(one.limit is not None for one in c.objectives)


def _find(objectives: Iterable[Objective], wrong: Callable[[Objective], bool]) -> str | None:
    """Return the end of an error that names the first wrong objective."""
    return next((f", got objectives.{one.name}" for one in objectives if wrong(one)), None)


def _refuse_units(objectives: Iterable[Objective]) -> str | None:
    """Return the end of an error that names the first objective whose reward is no share."""
    for one in objectives:
        if not one.is_share:
            meant = difflib.get_close_matches(one.name, MEASURES, n=1, cutoff=0.75)
            misspelt = meant and one.name not in MEASURES and one.function is None
            near = f"did you mean {meant[0]!r}? If not: " if misspelt else ""
            if one.better == "fewer" or one.high is not None:
                return f"; {near}objectives.{one.name} is not a share: give it {_SAVING}"
            return (
                f"; {near}objectives.{one.name} needs an upper bound: set high = 1 if its values "
                f"lie in 0..1, otherwise high to its best value and {_SAVING}; for a cost, set "
                'better = "fewer"'
            )
    return None


_SAVING = 'economy = "saving"'

RULES[RunConfig] = (
    (
        "a setting needs a gate, and none of the objectives is one: set gate = true for one",
        "",
        _ask_for_gate,
    ),
    (
        "the paretopo.weighting with which OTC multiplies correctness and one tool reward is for "
        "two objectives",
        "",
        lambda c: (
            c.paretopo.weighting == "second alone"
            and len(c.objectives) != 2
            and f", got {len(c.objectives)}: {_list_names(c)}"
        ),
    ),
    (
        "paretopo.weighting puts all weight on an objective whose weight is 0: give it one, or use "
        "another method",
        "",
        lambda c: _puts_on_one(c) and _find([_choose_one(c)], lambda one: not one.weight),
    ),
    (
        'objectives.NAME.limit needs paretopo.economies = "each", paretopo.group_filter = "vector" '
        'or "off", and optimiser.learn_from = "rewards"',
        "paretopo.economies paretopo.group_filter optimiser.learn_from",
        lambda c: (
            _is_limited(c)
            and (
                c.paretopo.economies == "least"
                or c.paretopo.group_filter == "accuracy"
                or c.optimiser.learn_from == "answers"
            )
        ),
    ),
    (
        "objectives.NAME.limit is weighed against shares, or other limits",
        "",
        lambda c: _is_limited(c) and _refuse_units(one for one in c.objectives if one.weight),
    ),
    (
        'the estimator "worth" pays nothing for a failed rollout, so failure = "keeps" could not '
        f"count: use another estimator, {_ANOTHER}",
        "",
        lambda c: (
            "worth" in c.paretopo.estimators
            and _find(c.objectives[1:], lambda one: one.failure == KEEPS)
        ),
    ),
    (
        'paretopo.economies = "least" leaves one economy, and the estimators with the name '
        '"hypervolume" measure the volume of all: use economies = "each"',
        "paretopo.stage1_estimator paretopo.stage2_estimator",
        lambda c: (
            c.paretopo.economies == "least" and HYPERVOLUME_ESTIMATORS & c.paretopo.estimators
        ),
    ),
    (
        'paretopo.economies = "least", that of recipe = "recommended", compares shares; an '
        f"estimator for any unit is {_ANOTHER}",
        "",
        lambda c: c.paretopo.economies == "least" and _refuse_units(c.objectives[1:]),
    ),
    (
        'paretopo.economies = "least" weighs the gate against shares: divide the gate by its '
        f"highest value and set high = 1, or use an estimator for any unit, {_ANOTHER}",
        "",
        lambda c: (
            c.paretopo.economies == "least"
            and c.objectives[0].best not in (None, 1.0)
            and f"; objectives.{c.objectives[0].name} ends at {c.objectives[0].best:g}"
        ),
    ),
    (
        'the estimator "gr3" divides by costs over their mean in the group: give each objective '
        'economy = "gr3", or use another estimator',
        "",
        lambda c: (
            "gr3" in c.paretopo.estimators
            and _find(c.objectives[1:], lambda one: one.economy != "gr3")
        ),
    ),
    (
        f"the estimators {', '.join(sorted(TO_IDEAL))} measure the distance to 1, the best reward: "
        'give an objective that does not end there economy = "saving" (and high, if better = '
        '"more")',
        "",
        lambda c: (
            TO_IDEAL & c.paretopo.estimators and _find(c.objectives, lambda one: not one.is_share)
        ),
    ),
    (
        f"the estimators {', '.join(sorted(HYPERVOLUME_ESTIMATORS))} take a rollout above 0 as "
        "right: use another estimator, or a reward that is above 0 if a rollout is right",
        "",
        lambda c: (
            HYPERVOLUME_ESTIMATORS & c.paretopo.estimators
            and _find(c.objectives[:1], lambda one: one.threshold != 0.0)
        ),
    ),
    (
        "paretopo.k must be at most optimiser.group_size",
        "paretopo.k optimiser.group_size",
        lambda c: c.paretopo.max_k > c.optimiser.group_size,
    ),
    (
        'model.path = "tiny" knows only the words of made-up questions: give a Hugging Face model',
        "task.train",
        lambda c: c.task.is_prepared and c.model.path == TINY,
    ),
    (
        "warmup.steps must be 0 with task.train: a file has no written traces to imitate",
        "warmup.steps",
        lambda c: c.task.is_prepared and c.warmup.steps > 0,
    ),
    (
        'warmup.file is for task.name = "questions": other tasks write their rollouts themselves',
        "task.name",
        lambda c: c.task.name != "questions" and c.warmup.file != NONE,
    ),
    (
        'tool.solver_price is for task.name = "calculator", which has a solver',
        "tool.solver_price task.name",
        lambda c: c.task.name != "calculator" and c.tool.solver_price > 0.0,
    ),
    (
        'task.name = "multihop" needs tool.search_url, the address of a search server, or '
        "tool.corpus, a JSONL corpus for the run to serve",
        "tool.search_url tool.corpus",
        lambda c: (
            c.task.name == "multihop"
            and not c.task.is_made_up
            and c.tool.search_url == c.tool.corpus == NONE
        ),
    ),
    (
        'paretopo.preference = "given" needs optimiser.learn_from = "rewards", and '
        "paretopo.stage1_steps = 0: the multiplier of stage 1 follows one front over time",
        "optimiser.learn_from paretopo.stage1_steps",
        lambda c: (
            c.paretopo.preference == "given"
            and (c.paretopo.stage1_steps != 0 or c.optimiser.learn_from == "answers")
        ),
    ),
    (
        'paretopo.preference = "given" needs several objectives, none with all the weight, and an '
        "estimator with weights, which may be 0",
        "paretopo.weighting paretopo.stage2_estimator",
        lambda c: (
            c.paretopo.preference == "given"
            and (
                (UNWEIGHTED | {"hypervolume"}) & c.paretopo.estimators
                or len(c.objectives) < 2
                or _puts_on_one(c)
            )
        ),
    ),
)
