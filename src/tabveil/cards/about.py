"""What only a person can say about a release: who, why, where, and why so."""

from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tabveil.errors import InvalidInput, either

SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
LARGEST = 1_000_000  # bytes of the file
EMPTY: tuple[Any, ...] = (None, "", [], "null", "~")  # ways to leave an answer open
OPEN: dict[str, str] = {
    "one_row": "Can one person have several rows? If so, is the promise made to people and not to "
    "single rows (see “Unit of privacy”)?",
    "other_releases": "Which other releases and statistics of the same people are there? They add "
    "up with this one.",
    "anonymous": "Will the release be treated as anonymous data, and who decided so?",
    "special": "Which columns are special categories of data (health, beliefs, origin), and what "
    "allows their use?",
    "epsilon_choice": "Who decided on the privacy budget (ε and δ), and against which harm was it "
    "weighed?",
    "bias": "Who is missing from the table or under-represented, and whom would errors harm?",
    "utility": "Which results must be right for the intended use, and were they checked by the "
    "owner?",
    "access": "Who can read the real rows, the ledger (the record of what was spent) and the "
    "machine, and who checks that?",
    "collection": "How were the real rows collected, on which legal basis, and are they kept "
    "longer than needed?",
    "necessity": "Why is a synthetic table needed for this purpose, and why these columns?",
    "consulted": "Whose view was sought: people in the table, the data protection officer?",
    "recipients": "Who gets the release, under which terms, and what will they be told?",
}
"""Questions that a person has to answer, by the names they have in the owner's file."""
HINT = "`tabveil card RELEASE --questions about.yaml` writes a file with all questions."


class About(BaseModel):
    """The owner's answers; `answers` are those to the open questions of the review page."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(min_length=1, description="What is the data product called?")
    curators: list[str] = Field(
        min_length=1, description="Who publishes it? Names, as [One, Other]."
    )
    description: str = Field(min_length=1, description="What does the table describe, and whom?")
    intended_use: str = Field(min_length=1, description="What is it to be used for, and by whom?")
    region: str = Field(min_length=1, description="Which region does it describe, whose laws hold?")
    published: str = Field(
        pattern=r"^\d{4}-\d{2}-\d{2}$", description="When is it published? As 2026-03-31."
    )
    justification: str = Field(
        min_length=1,
        description="Why this privacy budget (ε), this unit (whom it protects) and these columns? "
        "Who decided, and how?",
    )
    preprocessing: str = Field(
        min_length=1,
        description="What was done with the rows before statistics were measured: joined, "
        "filtered, looked at? Were settings tuned on them?",
    )
    license: str = Field(
        min_length=1, description="Under which licence? A name such as CC-BY-4.0, or an address."
    )
    authors: list[str] = Field(
        min_length=1, description="Who wrote these answers? Names, as [One, Other]."
    )
    sector: Literal["Technology", "Healthcare", "Education", "Government", "Energy", "Finance"] | (
        None
    ) = Field(default=None, description=f"Optional. {either(SECTORS)}.")
    version: str = Field(default="1.0.0", description="Optional. The version of the product.")
    url: str = Field(default="", description="Optional. Where it can be found.")
    sources: str = Field(default="", description="Optional. Papers and pages about it.")
    plans: str = Field(
        default="", description="Optional. Will there be further releases of the same data?"
    )
    answers: dict[str, str] = Field(
        default_factory=dict,
        description="Answers are texts, each behind the name of its question.",
    )

    @field_validator("answers", mode="before")
    @classmethod
    def _without_empty(cls, answers: Any) -> Any:
        """Questions that were left open are no answers."""
        if not isinstance(answers, dict):
            return answers
        return {name: text for name, text in answers.items() if text not in EMPTY}

    @classmethod
    def load(cls, path: str | Path) -> "About":
        """Read the owner's file; what is missing is asked for in one line."""
        path = Path(path)
        if not path.is_file() or path.stat().st_size > LARGEST:
            raise InvalidInput(f"{path} is not a file with answers about a release.", HINT)
        try:
            # Texts only: a `no`, a 1.0 or a date is an answer as it was written.
            document = yaml.BaseLoader(path.read_text(encoding="utf-8-sig")).get_single_data()
        except (yaml.YAMLError, UnicodeDecodeError):
            raise InvalidInput(
                f"{path} is not valid YAML.", "Check indentation, and quote odd texts."
            ) from None
        given = document if isinstance(document, dict) else {}
        kept = {name: value for name, value in given.items() if value not in EMPTY}
        try:
            about = cls(**kept)
        except ValidationError as error:
            raise _refusal(path, error) from None
        if unasked := [name for name in about.answers if name not in OPEN]:
            raise InvalidInput(
                f"{path} answers {unasked[0]}, which nobody asks.",
                f"Under answers: can stand {', '.join(OPEN)}.",
            )
        return about


def questions() -> str:
    """A file to fill in: every question as a comment above its empty answer."""
    lines = ["# Answers that only a person can give. Leave optional ones empty as you like."]
    for name, field in About.model_fields.items():
        if name == "answers":
            continue
        several = field.annotation == list[str]
        default = f'"{field.default}"' if isinstance(field.default, str) else '""'
        empty = "[]" if several else '""' if field.is_required() else default
        lines += ["", f"# {field.description}", f"{name}: {empty}"]
    lines += [
        "",
        "# Open questions of the review page; what stays empty stays open there.",
        "answers:",
    ]
    for name, question in OPEN.items():
        lines += [f"  # {question}", f'  {name}: ""']
    return "\n".join([*lines, ""])


def _refusal(path: Path, error: ValidationError) -> InvalidInput:
    problems = error.errors(include_url=False, include_input=False)
    missing = [str(p["loc"][0]) for p in problems if p["type"] == "missing"]
    if missing:
        return InvalidInput(f"{path} does not answer yet: {', '.join(missing)}.", HINT)
    first = problems[0]
    name = ".".join(map(str, first["loc"]))
    field = About.model_fields.get(str(first["loc"][0]))
    if field is None:
        return InvalidInput(f"{path} answers {name}, which nobody asks.", HINT)
    return InvalidInput(f"{path}: {name} cannot be used as it is.", field.description or HINT)
