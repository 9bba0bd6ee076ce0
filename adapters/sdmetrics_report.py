"""SDMetrics: its reports on our frames. Computed from real rows without noise: NOT private."""

from people import SCHEMA, people
from sdmetrics.reports.single_table import DiagnosticReport, QualityReport

import tabveil as tv

METADATA = {"columns": {name: {"sdtype": rule["type"]} for name, rule in SCHEMA["columns"].items()}}

if __name__ == "__main__":
    real = people()
    synthetic = tv.RAPpp(tv.Schema.from_dict(SCHEMA), epsilon=1.0).fit(real).sample(2000, seed=0)
    quality, diagnostic = QualityReport(), DiagnosticReport()
    quality.generate(real, synthetic, METADATA, verbose=False)
    diagnostic.generate(real, synthetic, METADATA, verbose=False)
    print(quality.get_properties().to_string(index=False))
    assert quality.get_score() > 0.8 and diagnostic.get_score() > 0.99
