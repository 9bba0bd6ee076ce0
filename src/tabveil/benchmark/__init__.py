"""Datasets × synthesizers × ε × seeds → results: the paper's evaluation, resumable cell by cell."""

from tabveil.benchmark.experiment import Cell, Experiment
from tabveil.benchmark.run import Outcome, run

__all__ = ["Cell", "Experiment", "Outcome", "run"]
