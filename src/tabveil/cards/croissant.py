"""Croissant metadata of a release, with what its vocabulary of responsible AI asks for."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from tabveil.cards.subject import Subject
from tabveil.release.release import STRUCTURE_ONLY

VERSION = "http://mlcommons.org/croissant/1.1"
RESPONSIBLE = "http://mlcommons.org/croissant/RAI/1.0"
OWN = (
    "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field",
    "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset",
    "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated",
    "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
    **{name: f"cr:{name}" for name in OWN},
}
FORMATS = {
    ".csv": "text/csv",
    ".parquet": "application/x-parquet",
    ".jsonl": "application/jsonlines",
    ".json": "application/json",
    ".npz": "application/zip",
}
ROWS = "rows"
TYPES = (
    (pa.types.is_boolean, "sc:Boolean"),
    (pa.types.is_integer, "sc:Integer"),
    (pa.types.is_floating, "sc:Float"),
    (pa.types.is_date, "sc:Date"),
    (pa.types.is_timestamp, "sc:DateTime"),
)


def metadata(subject: Subject) -> dict[str, Any]:
    """The JSON-LD document."""
    about = subject.about
    files = list(_files(subject))
    found: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": [VERSION, RESPONSIBLE],
        "name": about.name,
        "description": f"Synthetic data. {about.description}",
        "license": about.license,
        "url": about.url or f"urn:release:{subject.slug}",
        "version": about.version,
        "datePublished": about.published,
        "creator": [{"@type": "sc:Organization", "name": name} for name in about.curators],
        "keywords": [
            "synthetic data",
            "differential privacy",
            f"ε = {subject.privacy['epsilon']:g}",
        ],
        "citeAs": f"{', '.join(about.curators)}: {about.name}, version {about.version}, "
        f"{about.published}. Synthetic data.",
        "distribution": files,
        **_responsible(subject),
    }
    if subject.data is not None and subject.data.suffix.lower() in (".csv", ".parquet"):
        found["recordSet"] = [_rows(subject, files[-1]["@id"])]
    return found


def write(subject: Subject, folder: Path) -> None:
    """One JSON file."""
    text = json.dumps(metadata(subject), indent=1, ensure_ascii=False)
    (folder / "croissant.json").write_text(text + "\n", encoding="utf-8", newline="\n")


def _files(subject: Subject) -> Iterator[dict[str, Any]]:
    """The files of the release, and of synthetic rows the one that is published with it."""
    own = [file for file in sorted(subject.folder.iterdir()) if file.suffix in (".json", ".npz")]
    for file in [*own, *([subject.data] if subject.data else [])]:
        with file.open("rb") as content:
            checked = hashlib.file_digest(content, "sha256").hexdigest()
        yield {
            "@type": "cr:FileObject",
            "@id": file.name,
            "name": file.name,
            "contentUrl": file.name,
            "contentSize": f"{file.stat().st_size} B",
            "encodingFormat": FORMATS.get(file.suffix.lower(), "application/octet-stream"),
            "sha256": checked,
        }


def _rows(subject: Subject, file: str) -> dict[str, Any]:
    one = subject.release.sample(1, seed=0, kind="arrow")
    return {
        "@type": "cr:RecordSet",
        "@id": ROWS,
        "name": ROWS,
        "description": "Synthetic rows; none of them is a person.",
        "field": [
            {
                "@type": "cr:Field",
                "@id": f"{ROWS}/{field.name}",
                "name": field.name,
                "description": _described(subject, field.name),
                "dataType": _type(field.type),
                "source": {"fileObject": {"@id": file}, "extract": {"column": field.name}},
            }
            for field in one.schema
        ],
    }


def _type(kind: pa.DataType) -> str:
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return next((name for fits, name in TYPES if fits(value)), "sc:Text")


def _described(subject: Subject, name: str) -> str:
    rule = subject.release.schema.columns[name]
    missing = ", may be missing" if rule.nullable else ""
    return f"{rule.type}{missing}"


def _responsible(subject: Subject) -> dict[str, Any]:
    about, privacy = subject.about, subject.privacy
    limits = [
        "Synthetic rows carry noise and model error; check conclusions that matter against the "
        "real table, by its owner.",
        "Rare groups may drown in noise, and patterns of four and more columns are not measured.",
    ]
    if subject.release.independent:
        limits.insert(0, STRUCTURE_ONLY)
    return {
        "rai:dataCollection": about.description,
        "rai:dataCollectionType": ["Synthetic data from noisy statistics of a real table"],
        "rai:dataPreprocessingProtocol": [about.preprocessing],
        "rai:dataUseCases": [about.intended_use],
        "rai:dataLimitations": limits,
        "rai:dataBiases": [
            "Noise is of the same size for all groups, so small groups are less accurate.",
            about.answers.get("bias", "Biases of the real table are kept as far as it shows them."),
        ],
        "rai:personalSensitiveInformation": [
            f"No row belongs to a person. {privacy['promise']} {subject.neighbours}"
        ],
        "rai:dataReleaseMaintenancePlan": about.plans or "One release.",
    }
