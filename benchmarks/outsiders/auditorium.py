"""DP-Auditorium's testers on draws of our primitives, in an environment of its own.

    PYTHONPATH=differential-privacy/python/dp_auditorium python auditorium.py FOLDER

Reads draws.npz and asked.json there; writes found.json: for each case also what the tester proved.
"""

import json
import sys
import types
from pathlib import Path

import numpy as np
import tensorflow as tf

# Its testers alone: the package as a whole also loads generators of data, which need a service.
package = types.ModuleType("dp_auditorium")
package.__path__ = [str(Path(place) / "dp_auditorium") for place in sys.path]
sys.modules["dp_auditorium"] = package
from dp_auditorium.configs import privacy_property, property_tester_config  # noqa: E402
from dp_auditorium.testers import hockey_stick_tester, renyi_tester  # noqa: E402

FAILURE = 0.05


def renyi(
    without: np.ndarray, present: np.ndarray, alpha: float, allowed: float, reach: float
) -> float:
    """A lower bound on the Rényi divergence of order α, 95 % sure."""
    training = property_tester_config.TrainingConfig(
        training_epochs=8,
        batch_size=1000,
        optimizer_learning_rate=2e-3,
        model_output_coordinate_bound=reach,
    )
    promise = privacy_property.PrivacyProperty(renyi_dp=privacy_property.RenyiDp(alpha, allowed))
    config = property_tester_config.RenyiPropertyTesterConfig(alpha, training, promise)
    tester = renyi_tester.RenyiPropertyTester(config, renyi_tester.make_default_renyi_base_model())
    return float(tester.estimate_lower_bound(present, without, FAILURE))


def hockey_stick(without: np.ndarray, present: np.ndarray, epsilon: float) -> float:
    """A lower bound on δ at this ε, 95 % sure."""
    config = property_tester_config.HockeyStickPropertyTesterConfig(
        hockey_stick_tester.make_default_hs_training_config(),
        privacy_property.ApproximateDp(epsilon, 0.0),
    )
    base = hockey_stick_tester.make_default_hs_base_model()
    tester = hockey_stick_tester.HockeyStickPropertyTester(config, base)
    return float(tester.estimate_lower_bound(without, present, FAILURE))


def main(folder: Path) -> None:
    tf.random.set_seed(0)
    asked = json.loads((folder / "asked.json").read_text())
    draws = np.load(folder / "draws.npz")
    found = []
    for case in asked:
        worlds = [
            draws[f"{case['name']}/{world}"].astype(np.float32) for world in ("without", "present")
        ]
        if case["tester"] == "Rényi":
            proved = renyi(*worlds, case["alpha"], case["allowed"], case["reach"])
        else:
            proved = hockey_stick(*worlds, case["epsilon"])
        found.append({**case, "proved": proved})
    (folder / "found.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
