"""synthcity: this package as a plugin; pins differ, so ours runs as a command (`command.py`)."""

from typing import Any

from command import Fitted
from people import SCHEMA, people
from synthcity.plugins import Plugins
from synthcity.plugins.core.dataloader import (
    DataLoader,
    GenericDataLoader,
    create_from_info,
)
from synthcity.plugins.core.distribution import Distribution
from synthcity.plugins.core.plugin import Plugin
from synthcity.plugins.core.schema import Schema


class TabveilPlugin(Plugin):
    """Differentially private tables; `schema` says what is public, as in a schema file."""

    def __init__(self, epsilon: float = 1.0, schema: Any = None, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "strict": False})  # its rules are read off the real rows
        self.epsilon, self.public = epsilon, schema

    @staticmethod
    def name() -> str:
        return "tabveil"

    @staticmethod
    def type() -> str:
        return "privacy"

    @staticmethod
    def hyperparameter_space(**kwargs: Any) -> list[Distribution]:
        return []  # tuning on private rows would have to be paid for

    def _fit(self, X: DataLoader, *args: Any, **kwargs: Any) -> "TabveilPlugin":
        rows = X.decode(self._data_encoders).dataframe()  # codes that follow from the data
        self.model = Fitted(rows, self.public, self.epsilon)
        return self

    def _generate(self, count: int, syn_schema: Schema, **kwargs: Any) -> DataLoader:
        drawn = create_from_info(self.model.sample(count), self.data_info)
        encoded, _ = drawn.encode(self._data_encoders)
        return encoded


if __name__ == "__main__":
    plugins = Plugins(categories=["privacy"])
    plugins.add("tabveil", TabveilPlugin)
    plugin = plugins.get("tabveil", epsilon=1.0, schema=SCHEMA)
    plugin.fit(GenericDataLoader(people(), target_column="sex"))
    drawn = plugin.generate(count=500).dataframe()
    print(drawn.describe(include="all").to_string())
    assert len(drawn) == 500 and set(drawn["city"]) == {"Bern", "Oslo", "Rome"}
