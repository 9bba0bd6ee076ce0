"""Other synthesizers behind one `fit`, one per file; to add one, write a file, extend BASELINES."""

from typing import Any

from tabveil.baselines.aim import Aim
from tabveil.baselines.annealing import Projection
from tabveil.baselines.baseline import Baseline, Fitted
from tabveil.baselines.dpctgan import DpCtgan
from tabveil.baselines.gem import Gem
from tabveil.baselines.merf import Merf
from tabveil.baselines.mwem_pgm import MwemPgm
from tabveil.baselines.ours import OurDefault, OurPaper
from tabveil.baselines.rap import Rap
from tabveil.baselines.references import Independent, Real, RealSample
from tabveil.errors import InvalidInput

BASELINES: dict[str, type[Baseline]] = {
    "default": OurDefault,
    "paper": OurPaper,
    "rap": Rap,
    "mwem_pgm": MwemPgm,
    "aim": Aim,
    "gem": Gem,
    "merf": Merf,
    "dpctgan": DpCtgan,
    "real": Real,
    "sample": RealSample,
    "independent": Independent,
    "projection": Projection,
}


def baseline_named(name: str, **options: Any) -> Baseline:
    """The baseline of this name, with some of its options set."""
    if name not in BASELINES:
        raise InvalidInput(f"There is no baseline {name}.", f"Choose from: {', '.join(BASELINES)}.")
    kind = BASELINES[name]
    for option in options:
        if option not in kind.options():
            allowed = ", ".join(kind.options()) or "none"
            raise InvalidInput(
                f"The baseline {name} has no option {option}.", f"It has: {allowed}."
            )
    return kind(**options)


__all__ = ["BASELINES", "Baseline", "Fitted", "baseline_named"]
