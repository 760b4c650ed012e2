"""Search for a good recipe, and inspect the search: a figure, and an interactive page."""

import matplotlib

import bough

matplotlib.use("agg")  # draw to files

STEPS = [
    ["espresso", "filter", "cold brew"],
    ["no milk", "cow", "oat", "almond"],
    ["no sugar", "sugar", "honey", "syrup"],
    ["small", "large"],
]
TASTE = {"espresso": 2.0, "oat": 1.5, "cow": 1.0, "honey": 0.5, "syrup": -1.0, "large": 0.3}


def guests_like(drink):
    """Return the rating of a drink; oat does not go with cold brew."""
    return sum(TASTE.get(word, 0.0) for word in drink) - 2.0 * ({"oat", "cold brew"} <= set(drink))


tree = bough.Tree([len(names) for names in STEPS], len(STEPS), labels=STEPS)
result = bough.maximize(guests_like, tree, budget=40, rng=0)
print(" + ".join(tree.decode(result.best.path)), result.best.mean)

result.plot("tree").figure.savefig("recipes.png")
result.report("recipes.html")
print("written: recipes.png, recipes.html")
