"""Multi-objective policy gradient on one page: rollout, reward, advantage, update.

A small policy reads a question and writes actions: an answer, or a call of a tool, whose reply it
reads before it goes on. It shall be right *and* call seldom. Questions need no call, one, or two;
the policy starts with a habit of calling. Takes torch, paretopo_core and a few seconds on a CPU.
"""

import torch
from torch import nn
from torch.distributions import Categorical

from paretopo_core import ParetoArchive, hypervolume_advantage

KINDS = ("needs no call", "needs one call", "needs two calls")
ANSWERS = 8  # actions 0 to 7 answer
CALL = ANSWERS  # the last action calls the tool
MOST_CALLS = 4
QUESTIONS = len(KINDS) * ANSWERS  # eight of each kind
NOT_YET = QUESTIONS + ANSWERS  # the tool's reply when it takes one more call
GROUPS, ROLLOUTS, STEPS = 16, 16, 150  # questions in a step, rollouts of each, steps


class Policy(nn.Module):
    """Read one token, a question or a reply; give the logits of the next action."""

    def __init__(self, width=32):
        super().__init__()
        self.embedding = nn.Embedding(NOT_YET + 1, width)
        self.memory = nn.GRUCell(width, width)
        self.head = nn.Linear(width, ANSWERS + 1)
        with torch.no_grad():
            self.head.bias[CALL] += 3.0  # the habit: about two times in three it calls

    def forward(self, token, state):
        state = self.memory(self.embedding(token), state)
        return self.head(state), state


def ask(count):
    """Draw questions and answers: the first kind's can be learned, the others the tool knows."""
    questions = torch.randint(QUESTIONS, (count,))
    drawn = torch.randint(ANSWERS, (count,))
    return questions, torch.where(questions < ANSWERS, questions, drawn)


def rollout(policy, questions, answers, most_calls=MOST_CALLS):
    """Act until every question is answered; return log-probabilities, answers given, and calls."""
    log_probs, calls = torch.zeros(2, len(questions))
    given, token, state = torch.full_like(questions, -1), questions, None
    while (is_open := given < 0).any():
        logits, state = policy(token, state)
        logits[:, CALL] = logits[:, CALL].masked_fill(calls >= most_calls, -torch.inf)
        choice = Categorical(logits=logits)
        action = choice.sample()
        log_probs = log_probs + choice.log_prob(action) * is_open
        calls = calls + (is_open & (action == CALL))
        given = torch.where(is_open & (action != CALL), action, given)
        is_known = calls >= questions // ANSWERS  # as many calls as its kind needs
        token = torch.where(is_known, QUESTIONS + answers, NOT_YET)
    return log_probs, given, calls


def train(policy):
    """Raise the volume that a rollout's reward vector covers, step by step."""
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(STEPS):
        # Rollout: every question of the step is tried several times, which makes a group.
        questions, answers = (drawn.repeat_interleave(ROLLOUTS) for drawn in ask(GROUPS))
        log_probs, given, calls = rollout(policy, questions, answers)

        # Reward: a vector per rollout, larger is better, shape (groups, rollouts, objectives).
        is_right = (given == answers).float()
        unused = 1 + MOST_CALLS - calls  # never 0: a right answer always covers some volume
        rewards = torch.stack([is_right, unused], dim=-1).unflatten(0, (GROUPS, ROLLOUTS))

        # Advantage: no weights to choose. A wrong answer covers no volume, however cheap it was,
        # and a right one covers more with each call it saves.
        advantages = hypervolume_advantage(rewards, ref=[0.0, 0.0], k=1)

        # Update: make rollouts likelier that cover more than the others of their group.
        loss = -(advantages.flatten() * log_probs).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate(policy, most_calls=MOST_CALLS):
    """Return accuracy and calls per question on 4,000 questions: of each kind, then of all."""
    questions, answers = ask(4_000)
    _, given, calls = rollout(policy, questions, answers, most_calls)
    results = torch.stack([(given == answers).float(), calls], dim=-1)
    kinds = [results[questions // ANSWERS == kind] for kind in range(len(KINDS))]
    return [rows.mean(dim=0).tolist() for rows in (*kinds, results)]


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the sums of one thread are the same every time
    policy = Policy()
    before = evaluate(policy)
    train(policy)
    after = evaluate(policy)

    print("question             accuracy            calls")
    for name, old, new in zip((*KINDS, "all"), before, after, strict=True):
        print(f"{name:<16} {old[0]:>6.1%} -> {new[0]:>6.1%}    {old[1]:.2f} -> {new[1]:.2f}")

    # A front: the trained policy, the same with fewer calls allowed, and the untrained one.
    archive = ParetoArchive(ref=[0.0, MOST_CALLS], maximise=[True, False])
    archive.add(before[-1])
    for most_calls in range(MOST_CALLS + 1):
        archive.add(evaluate(policy, most_calls)[-1])
    print(f"\nfront of accuracy and calls, hypervolume {archive.hypervolume:.2f}")
    for right, calls in archive.points:
        print(f"{right:>6.1%} with {calls:.2f}")


if __name__ == "__main__":
    main()
