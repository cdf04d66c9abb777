"""`register` as written: to which data catalogues copies are made known, and under which names."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from incremental_assets.core.config.scalars import CatalogueDatabase, CatalogueName, Region, Strict
from incremental_assets.core.model.registration import USUAL_NAME, Catalogue, NameTemplate, Registration

_Table = Annotated[CatalogueName | None, Field(description=f"The name there; {USUAL_NAME} when absent.")]


class GlueDocument(Strict):
    """AWS Glue, where Athena, Trino, Redshift and EMR find tables."""

    database: Annotated[CatalogueName, Field(description="Which must be there.", examples=["lake", "{schema}"])]
    table: _Table = None
    region: Annotated[
        Region | None, Field(description="That of the lake's store, or of the environment, when absent.")
    ] = None


class SparkCatalogueDocument(Strict):
    """The catalogue of the Spark session that syncs use: a Hive metastore, or Unity Catalog."""

    database: Annotated[
        CatalogueDatabase, Field(description="Which must be there, with a catalogue before it.", examples=["main.lake"])
    ]
    table: _Table = None


class RegisterDocument(Strict):
    """Where copies are made known."""

    glue: GlueDocument | None = None
    spark: SparkCatalogueDocument | None = None

    @model_validator(mode="after")
    def _names_one(self) -> RegisterDocument:
        if self.glue is None and self.spark is None:
            raise PydanticCustomError("nowhere", "write `glue: {database: …}` or `spark: {database: …}`, or `never`")
        return self

    @property
    def registrations(self) -> tuple[Registration, ...]:
        """The same as values."""
        usual = NameTemplate(USUAL_NAME)
        found = []
        if self.glue is not None:
            glue = self.glue
            found.append(Registration(Catalogue.GLUE, glue.database, glue.table or usual, glue.region or ""))
        if self.spark is not None:
            found.append(Registration(Catalogue.SPARK, self.spark.database, self.spark.table or usual))
        return tuple(found)


Register = Annotated[
    Annotated[RegisterDocument, Tag("in full")] | Annotated[Literal["never"], Tag("never")],
    Discriminator(lambda value: "never" if value == "never" else "in full"),
]
"""Of a table also `never`, where its source says otherwise."""


def registrations_of(register: RegisterDocument | Literal["never"] | None) -> tuple[Registration, ...]:
    """None where nothing is written."""
    return register.registrations if isinstance(register, RegisterDocument) else ()
