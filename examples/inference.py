"""Analyse a release that somebody else made: estimates with intervals that mean what they say."""

import tabveil as tv
from tabveil import inference
from tabveil.datasets import census

# Somebody makes a release and hands it over. You never see `people`.
names = ["age", "sex", "education", "hours", "wage", "well_off"]
whole = census.schema().to_dict()
schema = tv.Schema.from_dict(
    {"columns": {name: whole["columns"][name] for name in names}, "targets": ["well_off"]}
)
people = census.frame(20_000, seed=1)[names]
tv.RAPpp(schema, epsilon=3.0).fit(people).save("census-release")

# You are handed the folder, and nothing else.
study = inference.Study("census-release")
print(study.means("age"))
print(study.shares("education"))
print(study.quantiles("age", [0.5, 0.9]))
print(study.difference("age", by="well_off", between=("yes", "no")))
print(study.logistic("well_off ~ age"))

# Any function of a table, from replicates.
replicates = inference.replicates(study.release, 5, seed=0)
print(inference.estimate(replicates, lambda t: t["age"].std() / t["age"].mean()))
