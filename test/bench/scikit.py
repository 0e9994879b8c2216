"""Ridge on sparse features in scikit-learn: python3 scikit.py STEPS MODEL LAMBDA RUNS

STEPS: a line per step, tab-separated: rollout (from 1), outcome, places (from 1) and weights, separated by spaces.
MODEL: progress_fit's model of them, as JSON.  Prints lines of a name and numbers: milliseconds of each run, in memory,
and the largest difference from the model's weights, relative to the largest weight.
"""
import json
import sys
import time

import numpy
import scipy.sparse
import sklearn
from sklearn.linear_model import Ridge


def read_steps(path):
    rollout, outcome, places, weights = [], {}, [], []
    with open(path) as lines:
        for line in lines:
            r, y, p, w = line.rstrip("\n").split("\t")
            rollout.append(int(r) - 1)
            outcome[rollout[-1]] = float(y)
            places.append(numpy.array(p.split(), dtype=numpy.int32) - 1)
            weights.append(numpy.array(w.split(), dtype=numpy.float64))
    ends = numpy.cumsum([0] + [len(p) for p in places])
    n_places = 1 + max(p[-1] for p in places if len(p) > 0)
    steps = scipy.sparse.csr_matrix((numpy.concatenate(weights), numpy.concatenate(places), ends), shape=(len(rollout), n_places))
    return steps, numpy.array(rollout), numpy.array([outcome[r] for r in range(len(outcome))])


def timed(work):
    start = time.perf_counter()
    result = work()
    return result, 1e3 * (time.perf_counter() - start)


def main():
    steps, rollout, outcome = read_steps(sys.argv[1])
    with open(sys.argv[2]) as text:
        model = json.load(text)
    alpha = float(sys.argv[3]) * len(outcome)
    runs = int(sys.argv[4])
    ours = numpy.zeros(steps.shape[1])
    ours[numpy.array(model["indices"]) - 1] = model["weights"]

    def add_up():
        ones = numpy.ones(len(rollout))
        return (scipy.sparse.csr_matrix((ones, (rollout, numpy.arange(len(rollout)))), shape=(len(outcome), len(rollout))) @ steps).tocsr()

    times = {"sum": [], "default": [], "all": [], "exact": []}
    for _ in range(runs):
        rows, sum_ms = timed(add_up)
        default, default_ms = timed(lambda: Ridge(alpha=alpha).fit(rows, outcome))
        exact, exact_ms = timed(lambda: Ridge(alpha=alpha, solver="sparse_cg", tol=1e-10).fit(rows, outcome))
        for name, ms in (("sum", sum_ms), ("default", default_ms), ("all", sum_ms + default_ms), ("exact", exact_ms)):
            times[name].append(ms)
    print("version", sklearn.__version__)
    for name, list_of_ms in times.items():
        print(name, *list_of_ms)
    for name, fit in (("default", default), ("exact", exact)):
        print("off_" + name, "%.0e" % (abs(fit.coef_ - ours).max() / abs(ours).max()))


main()
