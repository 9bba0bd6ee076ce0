"""From a schema and a budget to a release: the loop, its optimiser, presets, and what to expect."""
