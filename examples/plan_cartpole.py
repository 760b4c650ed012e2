"""Balance a pole by planning: 100 simulated steps for every action. Needs the extra `gym`."""

import gymnasium

from bough import planning

env = gymnasium.make("CartPole-v1")
agent = planning.Agent(env, budget=100, rng=0)
print(agent.run(episodes=1, seed=0, most_steps=200))

print("\nThe last decision:")
print(agent.last)
print(agent.last.tree(depth=2))
