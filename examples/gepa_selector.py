"""Evolve prompts with GEPA: a candidate selector of several objectives.

The made-up model and the made-up author of new prompts are those of prompt_evolution.py, so that
this runs without a network. With a model, use your own adapter and name a `reflection_lm`.
"""

import numpy as np
from gepa import EvaluationBatch, GEPAAdapter, optimize
from prompt_evolution import chance, length, mutate

from paretopo_core import crowding_distance, hypervolume, is_nondominated, pareto_rank


class ParetoSelector:
    """Choose the next parent as NSGA-II does: the better of two drawn candidates.

    A candidate in a better front is better, and in the same front the one that is less crowded.
    """

    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)

    def select_candidate_idx(self, state):
        points = points_of(state.prog_candidate_objective_scores)
        ranks = pareto_rank(points)
        best_first = np.lexsort((-crowding_distance(points, ranks=ranks), ranks))
        return int(best_first[self.rng.integers(len(points), size=2).min()])


class NewTradeOff:
    """Accept a proposal unless its parent is as good or better in each objective."""

    def should_accept(self, proposal, _):
        evaluations = proposal.eval_before, proposal.eval_after
        means = [points_of(one.objective_scores).mean(axis=0) for one in evaluations]
        return bool(is_nondominated(means, duplicates="first")[1])


def points_of(scores):
    """Stack dictionaries of scores, larger is better: shape (dictionaries, objectives)."""
    return np.array([[one[name] for name in sorted(scores[0])] for one in scores])


class MadeUpModel(GEPAAdapter):
    """Answers question q, a number in 0..1, if the prompt's chance of a right answer exceeds q."""

    def evaluate(self, batch, candidate, capture_traces=False):
        prompt = candidate["prompt"].splitlines()
        right = [float(chance(prompt) > question) for question in batch]
        scores = [{"right": one, "saved": -float(length(prompt))} for one in right]
        traces = right if capture_traces else None
        return EvaluationBatch(right, right, trajectories=traces, objective_scores=scores)

    def make_reflective_dataset(self, _, evaluated, components):
        facts = [{"Feedback": f"right: {one}"} for one in evaluated.scores]
        return dict.fromkeys(components, facts)


def write_prompt(request):
    """Change a line of the current prompt, as the reflecting model would."""
    current = request.partition("\n---\n")[0].splitlines()
    return "```\n" + "\n".join(mutate(current)) + "\n```"


class Silent:
    def log(self, message):
        pass


def evolve(selector, acceptance):
    """Run GEPA; return its prompts, and for each the chance of a right answer and the tokens."""
    questions = np.random.default_rng(0).permutation((np.arange(40) + 0.5) / 40)
    result = optimize(
        seed_candidate={"prompt": "You are a helpful assistant."},
        trainset=[*questions[:20]],
        valset=[*questions[20:]],
        adapter=MadeUpModel(),
        reflection_lm=write_prompt,
        reflection_prompt_template="<curr_param>\n---\n<side_info>",
        candidate_selection_strategy=selector,
        acceptance_criterion=acceptance,
        max_metric_calls=1500,
        logger=Silent(),
    )
    prompts = [one["prompt"].splitlines() for one in result.candidates]
    return prompts, np.array([[chance(one), length(one)] for one in prompts])


if __name__ == "__main__":
    maximise = [True, False]  # right answers: more; tokens: fewer
    for name, choices in [
        ("GEPA's default", ("pareto", "strict_improvement")),
        ("ParetoSelector", (ParetoSelector(), NewTradeOff())),
    ]:
        prompts, points = evolve(*choices)
        front = is_nondominated(points, duplicates="first", maximise=maximise)
        volume = hypervolume(points, ref=[0, 80], maximise=maximise)
        print(
            f"{name}: {len(prompts)} prompts, {front.sum()} on the front, hypervolume {volume:.2f}"
        )
    for right, tokens in sorted(points[front].tolist()):
        print(f"{right:6.1%} right, {tokens:2.0f} tokens")
