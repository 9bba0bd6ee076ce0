"""From a table to what may be published: a limit for ever, one fit, rows and a page; then a
refusal."""

import tabveil as tv
from tabveil.datasets import DATASETS

census = DATASETS["census"]
people, schema = census.frame(2_000, 0), census.schema()

# The most that may ever be spent on these people, by anyone, in one file.
tv.Ledger.open("census.ledger", "add-remove", limit=tv.Budget(1.5, 1e-9)).close()

model = tv.RAPpp(schema, epsilon=1.0, ledger="census.ledger").fit(people)
model.save("census-release")
model.report("census.html")

# What follows needs the release alone; anyone can do it, anywhere.
release = tv.load("census-release")
release.sample(5_000, seed=0).to_csv("census.csv", index=False)
print(release.privacy["promise"])

try:
    tv.RAPpp(schema, epsilon=1.4, ledger="census.ledger").fit(people)
except tv.BudgetExceeded as refusal:
    print(refusal)
