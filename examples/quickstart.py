"""Simulate a small census, spend ε = 1 on it once, and draw synthetic people."""

import tabveil as tv
from tabveil.datasets import DATASETS

census = DATASETS["census"]
schema = census.schema()  # what is public: columns, categories, bounds, targets
people = census.frame(2_000, 0)  # what is protected: 2,000 simulated rows

model = tv.RAPpp(schema, epsilon=1.0).fit(people)  # the only line that spends privacy
synthetic = model.sample(1_000, seed=0)  # free, as often as you like

print(synthetic.head())
print(model.release_.privacy["promise"])
