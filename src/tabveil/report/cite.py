"""How to draw rows, how to do it again, and whom to cite."""

from tabveil.report.evidence import Evidence
from tabveil.report.page import Code, Prose, Section
from tabveil.report.words import promised

PAPER = """@inproceedings{vietri2022private,
  title     = {Private Synthetic Data for Multitask Learning and Marginal Queries},
  author    = {Vietri, Giuseppe and Archambeau, Cedric and Aydore, Sergul and Brown, William and
               Kearns, Michael and Roth, Aaron and Siva, Ankit and Tang, Shuai and Wu,
               Zhiwei Steven},
  booktitle = {Advances in Neural Information Processing Systems},
  year      = {2022}
}"""


def section(evidence: Evidence) -> Section:
    """Commands, versions and references."""
    privacy = evidence.release.privacy
    versions = dict(privacy.get("versions", {}))
    # What was asked of the fit alone, where the schema was bought.
    fit = privacy.get("fit", privacy)
    targets = "".join(f" --target {target}" for target in evidence.release.schema.targets)
    again = [
        f"tabveil fit DATA --schema schema.yaml --epsilon {fit['epsilon']:g} --delta "
        f"{fit['delta']:g}",
        f"   {targets}",
        f"    --preset {privacy.get('preset', 'default')} --neighbours {privacy['relation']}"
        f" --seed {privacy.get('seed', 0)} -o RELEASE",
    ]
    return Section(
        "cite",
        "Use, rerun, cite",
        [
            Prose("Draw as many rows as you like; it costs no privacy."),
            Code("tabveil sample RELEASE -n 10000 -o synthetic.csv"),
            Prose(
                "The owner can fit again like this. Noise is fresh each time, so the result will "
                "differ a "
                "little, and it costs the budget again."
            ),
            Code(" \\\n".join(line for line in again if line.strip())),
            Prose(
                "When you publish results, say that they come from synthetic data with "
                f"ε = {promised(privacy['epsilon'])}, δ = {promised(privacy['delta'])} "
                f"({privacy['relation']}), made with tabveil {versions.get('tabveil', '')}, "
                "and cite the method:"
            ),
            Code(PAPER),
            Prose("Made with " + ", ".join(f"{name} {version}" for name,
            version in versions.items()) + "."),
        ],
    )  # fmt: skip
