"""Bayesian optimisation with BoTorch, its box decompositions compiled by one line.

Needs ``pip install ".[hosts]"``. Three objectives of a made-up experiment with two knobs;
qLogNEHVI decomposes the space above a front for each sample of the model, in each round.
"""

import torch
from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from botorch.sampling import SobolQMCNormalSampler

import paretopo_core

paretopo_core.accelerate("botorch")  # the one line

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
BOUNDS = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
REF = torch.tensor([-1.2, -1.2, -1.2])
GOALS = torch.tensor([[0.1, 0.2], [0.9, 0.3], [0.4, 0.9]])


def experiment(x):
    """Be near three places at once: larger is better."""
    return -(x[:, None] - GOALS).norm(dim=-1)


def covered(y):
    return paretopo_core.hypervolume(y, ref=REF).item()


x = torch.rand(5, 2)
y = experiment(x)
print(f"5 experiments at random: hypervolume {covered(y):.4f}")
for _ in range(6):
    acquisition = qLogNoisyExpectedHypervolumeImprovement(
        SingleTaskGP(x, y),  # its hyperparameters as they are: this is about boxes
        REF,
        X_baseline=x,
        sampler=SobolQMCNormalSampler(torch.Size([32]), seed=0),
    )
    new, _ = optimize_acqf(acquisition, BOUNDS, 1, 2, raw_samples=32, options={"maxiter": 20})
    x, y = torch.cat([x, new]), torch.cat([y, experiment(new)])
    print(f"{len(x)} experiments: hypervolume {covered(y):.4f}")
