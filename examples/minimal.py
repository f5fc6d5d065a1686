"""Multi-objective policy gradient on one page: rollout, reward, advantage, update.

    python examples/minimal.py

A policy of 6,000 parameters reads a question and writes: an answer, or a call of a tool, whose reply
it reads before it goes on. It is to be right *and* to call seldom. Some questions need no call, some
one, some two; the policy starts with the habit of calling. Needs torch and paretopo_core alone.
"""

import torch
from torch import nn
from torch.distributions import Categorical

from paretopo_core import ParetoArchive, pareto_advantage

KINDS = ("no call needed", "one call needed", "two calls needed")
PER_KIND = 4  # questions of each kind
ANSWERS = 4  # actions 0 to 3 answer
CALL = ANSWERS  # the last action asks the tool
MOST_CALLS = 4
QUESTIONS = len(KINDS) * PER_KIND
NOTHING = QUESTIONS + ANSWERS  # the tool's reply when it takes one more call
GROUPS, ROLLOUTS, STEPS = 16, 16, 200  # questions in a step, rollouts of each, steps


class Policy(nn.Module):
    """Reads a token, question or reply, and gives the logits of the next action."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embedding = nn.Embedding(NOTHING + 1, width)
        self.memory = nn.GRUCell(width, width)
        self.head = nn.Linear(width, ANSWERS + 1)
        with torch.no_grad():
            self.head.bias[CALL] += 3.0  # the habit: five times in six it calls

    def forward(self, token, state):
        state = self.memory(self.embedding(token), state)
        return self.head(state), state


def ask(count):
    """Draw questions. The first kind's answers can be learned; the others only the tool knows."""
    questions = torch.randint(QUESTIONS, (count,))
    hidden = torch.randint(ANSWERS, (count,))
    return questions, torch.where(questions < PER_KIND, questions % ANSWERS, hidden)


def rollout(policy, questions, answers, limit=MOST_CALLS):
    """Write until everything is answered; return log probabilities, given answers, calls made."""
    n = len(questions)
    calls, log_probs, given = torch.zeros(n), torch.zeros(n), torch.full((n,), -1)
    token, state = questions, None
    while (open := given < 0).any():
        logits, state = policy(token, state)
        calling = torch.arange(ANSWERS + 1) == CALL
        spent = (calls >= limit)[:, None]  # no call left: it has to answer
        choice = Categorical(logits=logits.masked_fill(spent & calling, -torch.inf))
        action = choice.sample()
        log_probs = log_probs + choice.log_prob(action) * open
        calls = calls + (open & (action == CALL))
        given = torch.where(open & (action != CALL), action, given)
        knows = calls >= questions // PER_KIND
        token = torch.where(knows, QUESTIONS + answers, NOTHING)
    return log_probs, given, calls


def train(policy, steps=STEPS):
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    for _ in range(steps):
        questions, answers = (drawn.repeat_interleave(ROLLOUTS) for drawn in ask(GROUPS))
        log_probs, given, calls = rollout(policy, questions, answers)

        # One reward vector per rollout, larger is better: right, and thrifty.
        right = (given == answers).float()
        rewards = torch.stack([right, -calls], dim=-1).reshape(GROUPS, ROLLOUTS, 2)

        # Ranks by dominance within each group; the weights order those that do not dominate each
        # other, so that a cheap wrong answer does not pass for a right one with a call.
        advantages = pareto_advantage(rewards, weights=[0.9, 0.1], beta=1.0)

        loss = -(advantages.flatten() * log_probs).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate(policy, limit=MOST_CALLS, count=3_000):
    """Return accuracy and calls per question, by kind."""
    questions, answers = ask(count)
    _, given, calls = rollout(policy, questions, answers, limit)
    right, kind = (given == answers).float(), questions // PER_KIND
    return [(right[kind == k].mean().item(), calls[kind == k].mean().item()) for k in range(3)]


if __name__ == "__main__":
    import time
    torch.manual_seed(0)
    torch.set_num_threads(1)
    policy = Policy()
    print(sum(p.numel() for p in policy.parameters()))
    for i in range(8):
        print([f"{a:.3f} {c:.2f}" for a,c in evaluate(policy)])
        t=time.perf_counter()
        train(policy, 100)
        print(time.perf_counter()-t)
    for l in range(5): print(l, [f"{a:.3f} {c:.2f}" for a,c in evaluate(policy,l)])
