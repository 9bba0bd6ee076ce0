"""A record for the OpenDP registry of deployments, by its own schema."""

from pathlib import Path
from typing import Any

import yaml

from tabveil.cards.subject import Subject


def record(subject: Subject) -> dict[str, Any]:
    """The record as data: every field of the highest tier."""
    about, privacy = subject.about, subject.privacy
    basic = {
        "name": about.name,
        "data_curators": list(about.curators),
        "description": about.description,
        "intended_use": about.intended_use,
        "data_product_type": "Synthetic data",
        "data_product_region": about.region,
        "publication_date": about.published,
    }
    if about.sector:
        basic["data_product_sector"] = about.sector
    administrative: dict[str, Any] = {"registry_authors": list(about.authors)}
    if about.sources or about.url:
        administrative["sources"] = "\n\n".join(filter(None, (about.url, about.sources)))
    return {
        "url_slug": subject.slug,
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": basic,
            "dp_variant": {
                "variant_name": "Approximate DP",
                "data_domain": _domain(subject),
                "unprotected_quantities": "\n".join(f"- {item}" for item in subject.public),
            },
            "privacy_loss": {
                "privacy_unit": subject.unit,
                "privacy_unit_details": subject.neighbours,
                "privacy_parameters": {
                    "epsilon": float(privacy["epsilon"]),
                    "delta": float(privacy["delta"]),
                    "rho": subject.rho,
                },
                "privacy_parameters_details": _parameters(subject),
            },
            "deployment_model": {
                "model_name": "Central",
                "model_name_details": "The curator holds the rows and runs the software; only the "
                "release leaves the building.",
                "actors": "The curator, who is trusted with the rows. Everybody else is not: they "
                "may know the software, the schema, all settings and every other row, and have "
                "unlimited time.",
                "release_type": "One release",
                "release_type_details": about.plans
                or "Any number of synthetic rows may be drawn from the one release; that costs "
                "nothing more.",
                "data_source_type": "Static",
                "access_type": "Non-interactive",
                "access_type_details": "Only the release, and rows drawn from it, are given out.",
            },
            "accounting": {
                "post_processing": "A relaxed table is fitted to the noisy answers; "
                "synthetic rows are drawn from it and made to obey declared constraints. "
                "None of this reads the rows.",
                "composition": subject.composition,
            },
            "implementation": {
                "preprocessing_and_hyperparameter_tuning": _paragraphs(
                    about.preprocessing, subject.bought
                ),
                "mechanisms": subject.mechanisms,
                "justification": about.justification,
            },
            "administrative": administrative,
        },
    }


def write(subject: Subject, folder: Path) -> None:
    """One YAML file, named as the registry wants it."""
    text = yaml.dump(
        record(subject),
        Dumper=_Literal,
        sort_keys=False,
        allow_unicode=True,
        width=10**6,
    )
    (folder / f"{subject.slug}.yaml").write_text(text, encoding="utf-8", newline="\n")


class _Literal(yaml.SafeDumper):
    """Texts of several lines keep their lines, as the registry asks."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    lines = "\n".join(line.rstrip() for line in text.splitlines())
    return dumper.represent_scalar(
        "tag:yaml.org,2002:str", lines, style="|" if "\n" in lines else None
    )


_Literal.add_representer(str, _text)


def _domain(subject: Subject) -> str:
    columns = subject.release.schema.columns
    kinds = ", ".join(f"{name} ({rule.type})" for name, rule in columns.items())
    return f"All tables with these columns, whatever their cells hold: {kinds}."


def _parameters(subject: Subject) -> str:
    risk = subject.risk
    return (
        "ε and δ hold for the whole release. An attacker who knows every other row is right about "
        f"one unit at most {risk.guess:.1%} of the time (a coin: 50%), and finds at most "
        f"{risk.caught(0.01):.1%} of the units in the table while accusing 1% of those who are "
        f"not. {subject.bought}"
    ).strip()


def _paragraphs(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))
