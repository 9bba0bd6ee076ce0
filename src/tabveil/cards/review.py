"""A page for a review board: what the software meets and where that is shown, and what is open."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from tabveil.cards.about import OPEN
from tabveil.cards.subject import Subject
from tabveil.release.release import STRUCTURE_ONLY
from tabveil.report import guarantee
from tabveil.report.page import Block, Figures, Grid, Note, Page, Points, Prose, Section
from tabveil.report.words import level, percent, promised

MOST_VALUES = 12  # of a list, on the page
LEARNT = "learnt"
SAID = {
    "min": "smallest",
    "max": "largest",
    "nullable": "cells may be missing",
    "missing": "signs for missing",
    "other": "others may occur",
    "of": "follows from",
    "map": "what follows",
}
WAYS = {"id": "made up", "follows": "worked out from another column", "drop": "none: left out"}
MET, LIMIT, YOURS = "met by the software", "a limit to know", "for you to answer"
Lines = Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Layer:
    """A layer of the pyramid of NIST SP 800-226: what is met, where that is shown, what is open."""

    name: str
    met: Lines  # (question, how, where shown)
    open: Sequence[str]  # names of open questions
    limits: Lines = ()  # what the software does not do


def review_page(subject: Subject) -> Page:
    """The page: an overview, the columns, the layers, three questions, a draft of an assessment."""
    left = [name for name in OPEN if name not in subject.about.answers]
    return Page(
        title=f"Review of a release: {subject.about.name}",
        subtitle=guarantee.promise(subject.release),
        sections=[
            _overview(subject, left),
            _contents(subject),
            _layers(subject),
            _three(subject),
            _draft(subject),
        ],
        footer="Made by tabveil from the release and its owner's answers. This page fetches "
        "nothing and sends nothing. It is no legal advice.",
    )


def write(subject: Subject, folder: Path) -> None:
    """One offline page."""
    review_page(subject).save(folder / "review.html")


def _overview(subject: Subject, left: Sequence[str]) -> Section:
    about, privacy = subject.about, subject.privacy
    careful, advice = level(float(privacy["epsilon"]))
    answered = len(OPEN) - len(left)
    blocks: list[Block] = [
        Figures(
            (
                ("Privacy loss ε", promised(privacy["epsilon"]), "smaller is safer"),
                (
                    "Chance of failure δ",
                    promised(privacy["delta"]),
                    "must be far below 1 / people",
                ),
                ("Protected", subject.unit, "the unit of the promise"),
                ("Answered", f"{answered} of {len(OPEN)}", "questions that only you can answer"),
            )
        ),
        Prose(about.description),
        Points(
            [
                f"Publisher: {', '.join(about.curators)}. Date: {about.published}.",
                f"For: {about.intended_use}",
                f"Region: {about.region}",
                f"Answers by: {', '.join(about.authors)}.",
                f"In the words of tabveil's documentation, ε = {promised(privacy['epsilon'])} is "
                f"{careful}. {advice}",
            ]
        ),
    ]
    if subject.release.independent:
        blocks.insert(0, Note(STRUCTURE_ONLY, grave=True))
    if left:
        blocks.append(
            Note(
                f"Still open: {len(left)} questions that only a person can answer, marked "
                f"“{YOURS}” or “open” below. Write each into the file that was given to "
                "`tabveil card --about`, under `answers:`, behind the name that stands beside the "
                f"question, and make the page again. Names: {', '.join(left)}.",
                grave=True,
            )
        )
    return Section("overview", "What is to be reviewed", blocks)


def _contents(subject: Subject) -> Section:
    """Every column: whether it is learnt from real cells, and what was taken as public."""
    lines = [
        (name, rule.type, WAYS.get(rule.type, LEARNT), _public(rule.spelled()))
        for name, rule in subject.release.schema.columns.items()
    ]
    columns = ["column", "type", "synthetic cells are", "taken as public"]
    return Section(
        "contents",
        "What is in the table",
        [
            Prose(
                "Real cells decide, through noise, only what is learnt. Lists of values and bounds "
                "must come from a form or a code book, not from the rows: they are published."
            ),
            Grid("contents", "Columns", pd.DataFrame(lines, columns=columns)),
        ],
    )


def _public(rule: dict[str, Any]) -> str:
    """What the schema says of a column, in a line or two."""
    said = {SAID.get(name, name.replace("_", " ")): _listed(value) for name, value in rule.items()}
    return "; ".join(f"{name}: {value}" for name, value in said.items() if name != "type")


def _listed(value: object) -> str:
    if isinstance(value, dict):
        value = [f"{name}: {one}" for name, one in value.items()]
    if not isinstance(value, list):
        return "yes" if value is True else str(value)
    more = f" and {len(value) - MOST_VALUES} more" if len(value) > MOST_VALUES else ""
    return ", ".join(map(str, value[:MOST_VALUES])) + more


def _layers(subject: Subject) -> Section:
    lines, answers = [], subject.about.answers
    for layer in layers(subject):
        for status, told in ((MET, layer.met), (LIMIT, layer.limits)):
            lines += [(layer.name, question, status, how, where) for question, how, where in told]
        lines += [
            (layer.name, OPEN[name], YOURS, answers.get(name, "[open]"), f"answers: {name}")
            for name in layer.open
        ]
    columns = ["layer", "question", "status", "answer", "where shown or answered"]
    return Section(
        "layers",
        "Layer by layer",
        [
            Prose(
                "The layers follow the pyramid of NIST SP 800-226, from the number at its top "
                "to what it stands on. Each is only as good as those below it."
            ),
            Grid("layers", "What is met, and what is yours", pd.DataFrame(lines, columns=columns)),
            Prose("Where it is shown:"),
            Points(
                [
                    "privacy.json, ledger.json and measurements.json are files of the release, "
                    "readable as text.",
                    "The report is the page that `tabveil report` makes of the release.",
                    "What is guaranteed, the proofs, the threat model and known vulnerabilities "
                    "are pages of tabveil's documentation.",
                ]
            ),
        ],
    )


def layers(subject: Subject) -> list[Layer]:
    """All layers, with what this release says to each."""
    privacy, risk = subject.privacy, subject.risk
    parameters = f"ε = {promised(privacy['epsilon'])}, δ = {promised(privacy['delta'])}"
    unprotected = "; ".join(subject.public)
    return [
        Layer(
            "Privacy parameters",
            [
                ("Which parameters hold?", f"{parameters}, for the whole release, sampling "
                 f"included. {subject.bought}".strip(), "privacy.json, report"),
                ("What do they allow?", f"An attacker who knows every other row is right whether "
                 f"{subject.unit} is in the table at most {percent(risk.guess)} of the time; a "
                 "coin is right 50 % of the time.", "report, The guarantee"),
                ("How were costs added up?", subject.composition, "ledger.json, proofs"),
            ],
            ["epsilon_choice", "other_releases"],
        ),
        Layer(
            "Unit of privacy",
            [("Who is protected?", f"{subject.unit.capitalize()}: what is published would look "
              f"much the same without it. {subject.neighbours}", "privacy.json")],
            ["one_row"],
        ),
        Layer(
            "Algorithms and correctness",
            [
                ("Which mechanisms, and who built them?", subject.mechanisms, "privacy.json"),
                ("Is there a proof, and was it tried?", "Every look at the rows has a proof "
                 "and a test of its sensitivity; the command tabveil audit attacks whole fits and "
                 "reports a lower bound on ε.", "What is guaranteed; tabveil audit"),
            ],
            [],
            [("What is not protected?", f"Taken as public: {unprotected}.", "privacy.json")],
        ),
        Layer(
            "Utility and bias",
            [("How far off are results?", "Every noisy count is published with its standard error; "
              "the report compares synthetic rows with them.", "measurements.json, report")],
            ["utility", "bias"],
        ),
        Layer(
            "Trust",
            [("Who sees the rows?", "One curator on one machine; the software sends nothing "
              "anywhere, and only the release leaves.", "Threat model")],
            ["recipients", "anonymous"],
        ),
        Layer(
            "Implementation",
            [
                ("Can rounding in a computer weaken the noise?", "No: counts are integers before "
                 "noise, and samplers are exact.", "What is guaranteed"),
                ("If a fault is found later?", "The release states the versions that made it. "
                 "Faults and limits are published.", "privacy.json; Known vulnerabilities"),
            ],
            [],
            [("What could leak in other ways?", "How long a fit takes, its memory and the sizes of "
              "files are not protected: nobody who must not see the rows should watch the machine "
              "while it runs (see “Security and access”).", "Threat model")],
        ),
        Layer(
            "Security and access",
            [("Who can open the files?", "Ledger and release are readable by their owner alone "
              "when written (on Windows, as the folder is); a damaged ledger stops everything.",
              "Threat model")],
            ["access"],
        ),
        Layer("Data collection", [], ["collection", "special"]),
    ]  # fmt: skip


def _three(subject: Subject) -> Section:
    risk = subject.risk
    found = (
        f"Whether {subject.unit} is in the table can be guessed right at most "
        f"{percent(risk.guess)} of the time, where a coin gives 50 %. Whoever wrongly suspects 1 % "
        f"of those outside the table finds at most {percent(risk.caught(0.01))} of those in it."
    )
    lines = [
        (
            "Singling out",
            "Can somebody be isolated?",
            found,
            "0.01 to 0.02 at ε = 1, up to 0.02 at ε = 10",
        ),
        (
            "Linkability",
            "Can two records of one person be linked?",
            f"At most {percent(risk.advantage)} of all guesses about people can be right only "
            "because these people are in the table. This is the same limit: half of it and the "
            f"coin's 50 % make {percent(risk.guess)}.",
            "0.00 to 0.01 at ε = 1, up to 0.01 at ε = 10",
        ),
        (
            "Inference",
            "Can a secret be deduced?",
            "The same limit, for what is learnt because somebody is in the table. What is true "
            "of people in general can be learnt from any useful release, also about people who "
            "are not in it.",
            "0.00 to 0.03 at ε = 1, up to 0.07 at ε = 10",
        ),
    ]
    columns = [
        "question",
        "in words",
        "limit for this release",
        "measured: successes beyond guessing, from 0 to 1",
    ]
    return Section(
        "questions",
        "Three questions of European guidance",
        [
            Prose(
                "Limits are proved for this release and hold against every attacker. Measured "
                "figures are from two small tables that were attacked with Anonymeter for the "
                "documentation (about 100 people each, default preset), not from this release: "
                "measuring it would need the real rows. 0 is no better than guessing, 1 is always "
                "right."
            ),
            Grid("questions", "Limits and figures", pd.DataFrame(lines, columns=columns)),
        ],
    )


def _draft(subject: Subject) -> Section:
    about = subject.about
    blocks: list[Block] = [
        Prose(
            "Parts of a data protection impact assessment (Article 35 (7) of the GDPR) that a "
            "release touches, as a draft. Copy it into your own form, correct and complete it."
        ),
        Points(
            [
                f"(a) What is done: {about.description} {about.preprocessing} Statistics of the "
                "table were measured once with random noise, and synthetic rows were made from "
                "them.",
                f"(a) For what: {about.intended_use}",
                f"(a) Who gets it: {_answer(subject, 'recipients')}",
                f"(b) Why it is needed: {_answer(subject, 'necessity')}",
                f"(b) Legal basis and collection: {_answer(subject, 'collection')}",
                f"(b) Special categories: {_answer(subject, 'special')}",
                f"Who was heard (Article 35 (9)): {_answer(subject, 'consulted')}",
                "(c) Risks to people: that somebody is found to be in the table, or something "
                "about them is learnt. Limit: right at most "
                f"{percent(subject.risk.guess)} of the time where a coin gives 50 %. Remaining: "
                "errors in synthetic rows that are taken for facts about a group. "
                f"{_answer(subject, 'bias')}",
                "(d) Measures: differential privacy with ε = "
                f"{promised(subject.privacy['epsilon'])}; a ledger that refuses to overspend; "
                f"files marked as synthetic. {_answer(subject, 'access')}",
                f"(d) Why so: {about.justification}",
                f"Whether the release is anonymous: {_answer(subject, 'anonymous')}",
            ]
        ),
    ]
    return Section("assessment", "Draft for an impact assessment", blocks)


def _answer(subject: Subject, name: str) -> str:
    return subject.about.answers.get(name, f"[open, `answers: {name}`: {OPEN[name]}]")
