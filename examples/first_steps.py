"""Find a good path among 5^10, by playing the arm with the highest upper confidence bound."""

import numpy as np

import bough

tree = bough.Tree(branching=5, depth=10)
kernel = bough.kernels.Discounted(0.7)
belief = bough.Belief(tree, kernel, noise=0.1)
confidence = bough.Confidence(scale=0.3)
rng = np.random.default_rng(0)

reward_of = rng.normal(size=(tree.depth, 5))  # here the best path is known


def play(path):
    """Return the discounted sum of the rewards along a path, with noise."""
    total = sum(0.7**i * reward_of[i, step] for i, step in enumerate(path))
    return total + 0.1 * rng.normal()


for t in range(1, 2_001):
    arm = belief.highest_upper(confidence.sqrt_beta(t, tree.log_arms), rng=t)
    belief.observe(arm.path, play(arm.path))

best = belief.highest_lower(1.0)
optimum = sum(0.7**i * row.max() for i, row in enumerate(reward_of))
print(f"best path   {best.path}, played {best.visits} times")
print(f"its mean    {best.mean:.3f} +- {best.std:.3f}")
print(f"the optimum {optimum:.3f}, among {tree.arms} paths")
