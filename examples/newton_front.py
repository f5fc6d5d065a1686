"""Place 30 points on the front of DTLZ2 by Newton steps, at a maximum of their hypervolume.

The front is an eighth of the unit sphere; smaller is better in all three objectives. Each point has
two angles. torch.func computes the gradient and the Hessian of the hypervolume. A step goes uphill
along each eigenvector of the Hessian, and is halved until the volume grows. The last steps converge
quadratically, to 1e-12. Needs torch.
"""

import math

import torch
from torch.func import grad, hessian

import paretopo_core as pp

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
POINTS, PRECISION = 30, 1e-12


def place(s):
    """Compute points on the front: for every s, the angles are between 0 and 90 degrees."""
    a, b = (s.reshape(POINTS, 2).sin().square() * math.pi / 2).unbind(-1)
    return torch.stack([a.cos() * b.cos(), a.cos() * b.sin(), a.sin()], -1)


def volume(s):
    return pp.hypervolume(place(s), ref=1.1, maximise=False)


def find_step(s, slopes):
    """Compute the Newton step, with the sign of each curvature turned so that it goes uphill."""
    curvature, ways = torch.linalg.eigh(hessian(volume)(s))
    return ways @ (ways.T @ slopes / curvature.abs().clamp(min=1e-3))


s = torch.rand(2 * POINTS) * math.pi / 2
for number in range(100):
    slopes = grad(volume)(s)
    step = find_step(s, slopes)
    slope, change = slopes.abs().max().item(), step.abs().max().item()
    if number % 10 == 0 or slope < 1e-4:
        print(f"step {number}: hypervolume {volume(s):.12f}, slope {slope:.0e}, step {change:.0e}")
    if change < PRECISION:
        break
    while step.abs().max() > 1e-6 and volume(s + step) < volume(s):
        step = step / 2
    s = s + step
