"""The loop of `maximize` and `minimize`: evaluation, stop rules, progress and results."""
