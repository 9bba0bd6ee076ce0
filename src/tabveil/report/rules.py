"""Rules that every synthetic row obeys, where the schema states any."""

from tabveil.report.evidence import Evidence
from tabveil.report.page import Points, Prose, Section


def section(evidence: Evidence) -> Section | None:
    """The constraints of the schema, in its own words."""
    constraints = evidence.release.schema.to_dict().get("constraints")
    if not constraints:
        return None
    return Section(
        "rules",
        "Rules the rows obey",
        [
            Prose(
                "The schema states these rules as public knowledge; every synthetic row keeps them."
            ),
            Points([str(rule) for rule in constraints]),
        ],
    )
