"""A search on a Dask cluster, recorded in a study: run it again to resume it.

python examples/dask_cluster.py                          # a cluster of this machine
python examples/dask_cluster.py tcp://10.0.0.1:8786      # a running cluster
"""

import sys
import time

import bough


def objective(path, seed):
    """Return the reward of a path after an expensive evaluation, here a tenth of a second."""
    import numpy as np

    time.sleep(0.1)
    noise = 0.1 * np.random.default_rng(seed).standard_normal()
    return sum(step * 0.7**i for i, step in enumerate(path)) / 10 + noise


def main():
    """Search with one concurrent evaluation for each thread of the cluster."""
    from dask.distributed import Client

    address = sys.argv[1] if len(sys.argv) > 1 else None
    with Client(address) if address else Client(n_workers=2, threads_per_worker=1) as client:
        print("watch it at", client.dashboard_link)
        result = bough.maximize(
            objective,
            bough.Tree(branching=5, depth=10),
            budget=200,
            executor=client.get_executor(pure=False),
            study="dask.db",
            rng=0,
        )
    print(result)
    print(result.study.trials)


if __name__ == "__main__":  # worker processes import this file too
    main()
