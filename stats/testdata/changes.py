#!/usr/bin/env python3
"""Writes changes.json: series, and where Apache Otava 0.8.0 (pip install apache-otava) finds changes in them."""

import json
import math
import random

from otava.analysis import compute_change_points


def series(seed, *levels):
    random.seed(seed)
    return [
        round(level * math.exp(noise * random.gauss(0, 1)), 6) for level, noise, n in levels for _ in range(n)
    ]


CASES = {
    "level": (1.05, series(1, (1, 0.03, 60))),
    "one step": (1.05, series(2, (1, 0.03, 40), (1.2, 0.03, 40))),
    "a step up and down": (1.05, series(3, (1, 0.02, 30), (1.3, 0.02, 12), (1, 0.02, 40))),
    "a small step": (1.05, series(4, (1, 0.005, 40), (1.03, 0.005, 40))),
    "a small step that counts": (1.0, series(4, (1, 0.005, 40), (1.03, 0.005, 40))),
    "a staircase": (1.05, series(5, (1, 0.02, 25), (1.1, 0.02, 25), (1.25, 0.02, 25), (1.5, 0.02, 25))),
    "an outlier": (1.05, series(6, (1, 0.03, 30)) + [2.0] + series(7, (1, 0.03, 30))),
    "few values": (1.05, series(8, (1, 0.02, 6), (1.5, 0.02, 6))),
    "at the end": (1.05, series(9, (1, 0.02, 60), (1.4, 0.02, 4))),
}

cases = []
for name, (least, values) in CASES.items():
    found, _ = compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=least - 1)
    cases.append({"name": name, "least": least, "values": values, "found": [int(c.index) for c in found]})
with open("changes.json", "w", encoding="utf-8") as file:
    json.dump(cases, file, indent=1)
    file.write("\n")
