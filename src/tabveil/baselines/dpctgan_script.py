"""Runs inside the environment of smartnoise-synth: rows in, synthetic rows and the spent ε out."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

TOO_SMALL = 3  # the exit code for an ε that cannot be promised


def main(folder: Path) -> None:
    """Train on the rows of this folder, and leave synthetic ones there."""
    from opacus import privacy_analysis
    from snsynth.pytorch.nn.dpctgan import DPCTGAN
    from snsynth.transform import MinMaxTransformer, OneHotEncoder
    from snsynth.transform.table import TableTransformer

    asked = json.loads((folder / "asked.json").read_text(encoding="utf-8"))
    rows = pd.read_parquet(folder / "rows.parquet")
    transformers = []
    for size in asked["sizes"]:  # told beforehand, so that nothing is learnt from the rows
        transformers.append(OneHotEncoder())
        transformers[-1].fit(list(range(size)))
    for low, high in asked["bounds"]:
        transformers.append(MinMaxTransformer(lower=float(low), upper=float(high), nullable=False))
        transformers[-1].fit([float(low), float(high)])

    batch = min(asked["batch"], len(rows) // 2 * 2)
    orders = [1 + x / 10.0 for x in range(1, 100)] + list(range(12, 64))  # as the package has them

    # No noise makes an ε small enough for its accountant if the orders it looks at end too early.
    least, _ = privacy_analysis.get_privacy_spent(orders, np.zeros(len(orders)), asked["delta"])
    if least >= asked["epsilon"]:
        sys.exit(TOO_SMALL)

    def spent(epochs: int, noise: float) -> float:
        """The ε of so many epochs by the package's accountant; a batch takes two noisy steps."""
        steps = 2 * epochs * max(1, len(rows) // batch)
        divergence = privacy_analysis.compute_rdp(batch / len(rows), noise, steps, orders)
        return float(privacy_analysis.get_privacy_spent(orders, divergence, asked["delta"])[0])

    # The package notices only after an epoch that it spent too much. So the epochs are counted
    # beforehand, with more noise where not even two would fit (one alone it refuses to train).
    noise, epochs = asked["noise"], 2
    while spent(epochs, noise) > asked["epsilon"]:
        noise *= 1.25
    while epochs < asked["epochs"] and spent(epochs + 1, noise) <= asked["epsilon"]:
        epochs += 1

    model = DPCTGAN(
        epsilon=asked["epsilon"],
        delta=asked["delta"],
        epochs=epochs,
        batch_size=batch,
        sigma=noise,
        verbose=False,
        cuda=False,
    )
    model.fit(rows, transformer=TableTransformer(transformers))
    made = pd.DataFrame(np.asarray(model.sample(asked["rows"])), columns=rows.columns)
    made.astype(float).to_parquet(folder / "made.parquet", index=False)
    told = {"epsilon": spent(epochs, noise), "epochs": epochs, "noise": noise}
    (folder / "spent.json").write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
