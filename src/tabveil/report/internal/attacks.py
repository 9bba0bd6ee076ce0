"""Checks for copied people, and a word on what they can and cannot show."""

import pandas as pd

from tabveil.report.internal.inside import Inside
from tabveil.report.page import Grid, Note, Prose, Section
from tabveil.report.words import percent

CHECKS = (
    (
        "Synthetic rows closer to a training row than to an unseen one",
        "closer_to_training",
        "50 % is harmless",
    ),
    (
        "Synthetic rows that equal a training row",
        "copies_of_training",
        "harmless if as often as unseen rows",
    ),
    ("A simple membership attack is right", "membership_attack", "50 % is guessing"),
)


def section(inside: Inside) -> Section:
    """Nearest real record, copies and membership, with unseen rows as the yardstick."""
    found = [(label, inside.score(metric), meaning) for label, metric, meaning in CHECKS]
    lines = [
        (label, percent(score[0]), percent(score[1]), meaning)
        for label, score, meaning in found
        if score
    ]
    what_it_means = Note(
        "These checks can show that something went wrong: a clear excess over the yardstick "
        "would mean "
        "that rows were memorised. They cannot show that nothing did. They try one simple attack "
        "on a "
        "sample of rows, and an attacker may know or do more. Equal rows are no breach by "
        "themselves: "
        "common combinations occur by chance. What bounds every attack, also those not thought "
        "of yet, is "
        "the ε of the release."
    )
    if not lines:
        wanted = Prose("Give real rows that were kept aside with `--test` to run these checks.")
        return Section("attacks", "Does it copy people?", [wanted, what_it_means])
    columns = ["check", "found", "yardstick", "reading"]
    checks = Grid(
        "attacks", "Checks against rows that were kept aside", pd.DataFrame(lines, columns=columns)
    )
    return Section("attacks", "Does it copy people?", [checks, what_it_means])
