"""lomas, the Swiss statistical office's server: a querier with `cost` and `query`.

It takes the requests of the synthesizer that the server lost, so that its clients, budgets and
archive stay as they are. The server pins other versions than ours, so that ours runs as a command
(`command.py`).
"""

import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from command import Fitted
from lomas_core.models.collections import Metadata
from lomas_core.models.requests import SmartnoiseSynthQueryModel, SmartnoiseSynthRequestModel
from lomas_core.models.responses import SmartnoiseSynthSamples
from lomas_server.admin_database.yaml_database import AdminYamlDatabase
from lomas_server.data_connector.in_memory_connector import InMemoryConnector
from lomas_server.dp_queries.dp_querier import DPQuerier
from people import people

DELTA = 1e-9  # where a request names none


class TabveilQuerier(
    DPQuerier[SmartnoiseSynthRequestModel, SmartnoiseSynthQueryModel, SmartnoiseSynthSamples]
):
    """Synthetic rows of a dataset; what is public comes from the server's metadata."""

    def cost(self, query_json: SmartnoiseSynthRequestModel) -> tuple[float, float]:
        """The whole promise, and nothing is added to it later."""
        return query_json.epsilon, query_json.delta or DELTA

    def query(self, query_json: SmartnoiseSynthQueryModel) -> SmartnoiseSynthSamples:
        """Fit once, draw rows."""
        epsilon, delta = self.cost(query_json)
        frame = self.data_connector.get_pandas_df()
        if query_json.select_cols:
            frame = frame[query_json.select_cols]
        public = schema_of(self.data_connector.get_metadata(), list(frame.columns))
        model = Fitted(frame, public, epsilon, "--delta", str(delta))
        return SmartnoiseSynthSamples(df_samples=model.sample(query_json.nb_samples))


def schema_of(metadata: Metadata, names: list[str]) -> dict[str, Any]:
    """Columns with categories or bounds, as the server declares them; others are dropped."""
    columns: dict[str, Any] = {}
    for name in names:
        rule = metadata.columns[name]
        values = getattr(rule, "categories", None)
        bounds = getattr(rule, "lower", None), getattr(rule, "upper", None)
        if values is not None:
            columns[name] = {"type": "categorical", "values": list(values)}
        elif None not in bounds:
            columns[name] = {"type": "numerical", "min": bounds[0], "max": bounds[1]}
            columns[name] |= {"decimals": 0} if rule.type == "int" else {}
        else:
            columns[name] = {"type": "drop"}
        columns[name] |= {"nullable": True} if rule.nullable and values is not None else {}
    return {"columns": columns}


def server() -> tuple[AdminYamlDatabase, InMemoryConnector]:
    """A server's state with one user and one dataset."""
    whole = {"type": "int", "precision": 64}
    columns = {
        "age": {**whole, "lower": 18, "upper": 99},
        "wage": {"type": "float", "precision": 64, "lower": 0, "upper": 20000},
        "sex": {"type": "string", "cardinality": 2, "categories": ["F", "M"]},
        "city": {"type": "string", "cardinality": 3, "categories": ["Bern", "Oslo", "Rome"]},
    }
    metadata = Metadata(max_ids=1, rows=2000, row_privacy=True, columns=columns)
    money = {"initial_epsilon": 3.0, "initial_delta": 0.005}
    spent = {"total_spent_epsilon": 0.0, "total_spent_delta": 0.0}
    user = {"user_name": "Dr. Antartica", "may_query": True}
    user["datasets_list"] = [{"dataset_name": "PEOPLE", **money, **spent}]
    state = {"users": [user], "datasets": [{"dataset_name": "PEOPLE"}], "queries": []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.yaml"
        path.write_text(yaml.safe_dump(state), encoding="utf-8")
        return AdminYamlDatabase(str(path)), InMemoryConnector(metadata, people())


if __name__ == "__main__":
    database, connector = server()
    request = SmartnoiseSynthQueryModel(
        dataset_name="PEOPLE",
        synth_name="dpctgan",
        epsilon=1.0,
        delta=1e-6,
        select_cols=[],
        synth_params={},
        nullable=False,
        constraints="",
        return_model=False,
        condition="",
        nb_samples=300,
    )
    answer = TabveilQuerier(connector, database).handle_query(request, "Dr. Antartica")
    rows: pd.DataFrame = answer.result.df_samples
    left = database.get_remaining_budget("Dr. Antartica", "PEOPLE")
    print(f"{len(rows)} rows for ε = {answer.epsilon}, δ = {answer.delta}; left: {left}")
    assert len(rows) == 300 and left[0] == 2.0 and set(rows["sex"]) == {"F", "M"}
