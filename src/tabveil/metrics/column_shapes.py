"""Whether each column alone looks right: SDMetrics' Column Shapes, 1 where shares are the same."""

import numpy as np

from tabveil.metrics.comparison import Comparison, Score
from tabveil.metrics.histograms import gaps
from tabveil.metrics.kolmogorov_smirnov import distance


def scores(comparison: Comparison) -> list[Score]:
    """1 − total variation of each categorical column, 1 − Kolmogorov–Smirnov of each number."""
    axes = comparison.domain.axes
    alone = gaps(
        comparison.real, comparison.synthetic, comparison.domain, [(i,) for i in range(len(axes))]
    )
    shapes = {axis.name: 1 - gap.total_variation for axis, gap in zip(axes, alone, strict=True)}
    columns = zip(comparison.real.numbers.T, comparison.synthetic.numbers.T, strict=True)
    for name, (real, synthetic) in zip(comparison.domain.numerical, columns, strict=True):
        shapes[name] = 1 - distance(real, synthetic)
    return [
        *(Score("column_shapes_by_column", name, shape) for name, shape in shapes.items()),
        Score("column_shapes", "mean", float(np.mean(list(shapes.values())))),
    ]
