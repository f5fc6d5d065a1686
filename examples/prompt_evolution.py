"""Evolve prompts for right answers and few tokens, with an archive of the non-dominated ones.

A model would grade each prompt on questions; so that this runs in a second, a made-up one does: it
follows some instructions, is led astray by others, and instructions cost tokens in every request.
"""

import numpy as np

from paretopo_core import ParetoArchive

rng = np.random.default_rng(0)
INSTRUCTIONS = {  # the worth of each to the made-up model, in log-odds of a right answer
    "Answer in one word.": -0.3,
    "Be concise.": 0.2,
    "Check the units before you answer.": 0.6,
    "If you are not sure, look it up with the search tool.": 1.2,
    "Let us think step by step.": 0.9,
    "Repeat the question first.": -0.1,
    "Use Python for every calculation, however small it may be.": 1.1,
    "You are a helpful assistant.": 0.0,
    "You are the world's best mathematician.": 0.1,
}


def chance(prompt):
    """The made-up model's probability of a right answer."""
    helped = sum(INSTRUCTIONS[line] * 0.9**i for i, line in enumerate(prompt))
    return 1 / (1 + np.exp(1.0 - helped))


def length(prompt):
    """Tokens of the prompt."""
    return sum(len(line.split()) for line in prompt)


def grade(prompt):
    """Share of 500 questions answered right, and tokens of the prompt."""
    right = rng.random(500) < chance(prompt)
    return right.mean(), length(prompt)


def mutate(prompt):
    """Drop a line, add one, or move one to the front."""
    lines = list(prompt)
    unused = sorted(set(INSTRUCTIONS) - set(lines))
    change = rng.choice(["drop", "add", "move"]) if lines and unused else "add"
    if change == "add" and unused:
        lines.insert(rng.integers(len(lines) + 1), rng.choice(unused))
    elif lines:
        line = lines.pop(rng.integers(len(lines)))
        if change == "move":
            lines.insert(0, line)
    return tuple(lines)


if __name__ == "__main__":
    archive = ParetoArchive(ref=[0.0, 80], maximise=[True, False])  # right: more; tokens: fewer
    seen = {()}
    archive.add(grade(()), ())  # a prompt is the payload of its grades
    for _ in range(1000):
        parent = archive.payloads[rng.integers(len(archive))]
        child = mutate(parent)
        if child not in seen:
            seen.add(child)
            archive.add(grade(child), child)

    print(f"{archive.additions} prompts graded, {len(archive)} of them kept:")
    for (right, tokens), prompt in sorted(archive.items(), key=lambda one: tuple(one[0])):
        print(f"{right:6.1%} right, {tokens:2.0f} tokens: {' '.join(prompt) or '(no prompt)'}")
