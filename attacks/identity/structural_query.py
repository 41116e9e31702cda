"""What queries about a person's place in a network share: which network the answers are of."""

from pydantic import Field

from ...settings import Settings
from .identity import IdentityAttack, Of


class StructuralQuerySettings(Settings):
    """Settings of every structural query."""

    of: Of = Field(
        "original",
        description="what is known was seen in the original network, or is true of the published one: then a "
        "defense that changes edges has not changed what is known",
    )


class StructuralQuery(IdentityAttack):
    """Base of structural queries (Hay et al. 2008, section 2.2)."""

    Settings = StructuralQuerySettings
    settings: StructuralQuerySettings

    @property
    def of(self) -> Of:
        return self.settings.of
