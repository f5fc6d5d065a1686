"""Pareto Q-learning on deep-sea-treasure of MO-Gymnasium: one learner finds all good policies.

The value of an action is a set of returns: those of the policies from there that no other policy
dominates (Van Moffaert and Nowé, 2014, JMLR 15). In each state, the learner takes the action that
it has taken least often. It assumes that steps and rewards are deterministic, as they are here.
"""

import argparse
import time
from collections import Counter, defaultdict

import mo_gymnasium
import numpy as np

from paretopo_core import ParetoArchive, hypervolume, is_nondominated, reference_directions

GAMMA = 0.99
REF = np.array([0.0, -25.0])  # no treasure, and a longer time than any good policy takes
WEIGHTS = reference_directions(2, 100)  # 101 pairs with the sum 1

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--env", default="deep-sea-treasure-concave-v0")
parser.add_argument("--steps", type=int, default=10_000)
parser.add_argument("--morl-baselines", action="store_true", help="add its learner and indicators")
args = parser.parse_args()

env = mo_gymnasium.make(args.env)
values = defaultdict(dict)  # of a state, by action: returns, shape (policies, 2)
best = {}  # of a state: the non-dominated returns among them


def learn(steps):
    """Walk for a number of steps, and learn from each episode backwards."""
    counts, episode, state = Counter(), [], start()
    for _ in range(steps):
        action = min(range(4), key=lambda one: counts[state, one])
        counts[state, action] += 1
        found, reward, ended, stopped, _ = env.step(action)
        episode.append((state, action, reward, tuple(found)))
        state = tuple(found)
        if ended:
            best[state] = np.zeros((1, 2))  # no rewards follow
        if ended or stopped:
            for before, action, reward, after in reversed(episode):
                if after in best:
                    values[before][action] = reward + GAMMA * best[after]
                    returns = np.concatenate([*values[before].values()])
                    best[before] = returns[is_nondominated(returns, duplicates="first")]
            episode, state = [], start()


def start():
    """Begin an episode; return its first state."""
    return tuple(env.reset()[0])


def follow(target):
    """Walk the policy with a given return; return the rewards that it collects and its path."""
    state, collected, path, done = start(), np.zeros(2), "", False
    while not done:
        miss = {one: np.abs(values[state][one] - target).sum(axis=1).min() for one in values[state]}
        action = min(miss, key=miss.get)
        found, reward, ended, stopped, _ = env.step(action)
        collected += GAMMA ** len(path) * reward
        target = (target - reward) / GAMMA
        path += "UDLR"[action]
        state, done = tuple(found), ended or stopped
    return collected, path


def expected_utility(points):
    """Take the mean over weights of the largest weighted sum of a policy's returns."""
    return (points @ WEIGHTS.T).max(axis=0).mean()


began = time.process_time()  # of the processor
learn(args.steps)
archive = ParetoArchive(ref=REF)
for target in best[start()]:
    archive.add(*follow(target))  # the path is the payload of its returns
fronts = {"the known front": (np.array(env.unwrapped.pareto_front(GAMMA)), 0.0)}
fronts["this learner"] = archive.points, time.process_time() - began

print(f"{args.env}, returns with a discount of {GAMMA}:")
for (treasure, minus_time), path in sorted(archive.items(), key=lambda one: one[0][0]):
    print(f"treasure {treasure:6.2f}, time {-minus_time:5.2f}: {path}")

if args.morl_baselines:
    from morl_baselines.common import performance_indicators as theirs
    from morl_baselines.multi_policy.pareto_q_learning.pql import PQL

    began = time.process_time()  # the settings are those of its own example, pql_dst.py
    schedule = {"initial_epsilon": 1.0, "epsilon_decay_steps": 50_000, "final_epsilon": 0.2}
    pql = PQL(env, REF, gamma=GAMMA, seed=1, log=False, **schedule)
    found = pql.train(args.steps, eval_env=env)
    walked = np.array([pql.track_policy(vector, env) for vector in found])
    fronts["PQL of morl-baselines"] = walked, time.process_time() - began

header = f"after {args.steps} steps"
print(f"\n{header:22} policies  hypervolume  expected utility  seconds")
for name, (points, seconds) in fronts.items():
    kept = points[is_nondominated(points, duplicates="first")]
    volume, utility = hypervolume(kept, REF), expected_utility(kept)
    print(f"{name:22} {len(kept):8} {volume:12.4f} {utility:17.4f} {seconds:8.2f}")
    if args.morl_baselines:
        volume, utility = theirs.hypervolume(REF, kept), theirs.expected_utility(kept, WEIGHTS)
        print(f"{'  by its indicators':22} {len(kept):8} {volume:12.4f} {utility:17.4f}")
chosen = np.unique((archive.points @ WEIGHTS.T).argmax(axis=0))
print(f"{len(WEIGHTS)} weighted sums choose {len(chosen)} of the {len(archive)} policies.")
