"""What a reader of results needs to know of the classes that made them.

Results may come from somebody else, and to import what they name would run that person's code. So a ledger tells
these facts of every attack and defense in it, and who reads it imports installed classes alone.
"""

from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from ...attacks.attack import Attack
from ...errors import InputError
from ...mechanisms.guarantee import Guarantee
from ...registry import is_installed, summary
from ...targets.defense import Defense


class Facts(BaseModel):
    """Facts of one class; ``group`` is where the registry has it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    group: ClassVar[str]

    @classmethod
    def of(cls, made: Any) -> Self:
        """Those of an attack or a defense as it was made with its settings."""
        raise NotImplementedError

    @classmethod
    def kept_of(cls, made: Any) -> dict[str, Any] | None:
        """What results tell of a class that a reader may not have; nothing of those that come with gaudit."""
        ours = type(made).__module__.partition(".")[0] == __name__.partition(".")[0]
        return None if ours else cls.of(made).model_dump()

    @classmethod
    def read(cls, name: str, kept: Any, trust_code: bool) -> Self | None:
        """Those of a class that results name; None where it may be imported to look.

        Args:
            name: of the class.
            kept: what the results tell of it, or None.
            trust_code: whether a ``module:Class`` may be imported.

        Raises:
            InputError: nothing but an import would tell.
        """
        if trust_code or is_installed(cls.group, name):
            return None
        if kept is None:
            raise InputError(
                f"it names the {cls.group[:-1]} '{name}', which is not installed here, and tells nothing of it: "
                "install its package, or give --trust-code if it is module:Class and you trust who wrote it"
            )
        try:
            return cls.model_validate(kept)
        except ValidationError as error:
            raise InputError(f"what it tells of the {cls.group[:-1]} '{name}' is damaged") from error


class AttackFacts(Facts):
    """Of an attack.

    Attributes:
        reads: whether it reads any message; one that reads none is a baseline.
        ranks_as: another attack that orders subjects the same way, or None.
        about: the first line of its documentation.
        auditor: whether it needs an auditor's knowledge.
        knows_links: the share of the edges in question that it must know beforehand.
        observer: the weakest that can mount it; a server then reads what clients send it.
    """

    group = "attacks"
    reads: bool
    ranks_as: str | None
    about: str
    auditor: bool = False
    knows_links: float = 0.0
    observer: str = "public"

    @classmethod
    def of(cls, made: Attack[Any]) -> Self:
        return cls(
            reads=bool(made.kinds()),
            ranks_as=made.ranks_as,
            about=summary(type(made)),
            auditor=made.auditor,
            knows_links=float(made.knows_links),
            observer=made.observer,
        )


class DefenseFacts(Facts):
    """Of a defense with its settings.

    Attributes:
        phrase: how a sentence calls it.
        guarantee: what it promises in words, or None.
        promise: the differential privacy of its settings (`Guarantee.as_dict`), or None.
        knob: the name of the setting that is its strength, or None.
        alternative: the name of its trivial alternative, or None.
        trivial: whether it is one.
        settings: all of them.
    """

    group = "defenses"
    phrase: str
    guarantee: str | None
    promise: dict[str, Any] | None
    knob: str | None
    alternative: str | None
    trivial: bool
    settings: dict[str, Any]

    @classmethod
    def of(cls, made: Defense) -> Self:
        promise = made.promise()
        return cls(
            phrase=made.phrase,
            guarantee=made.guarantee,
            promise=None if promise is None else promise.as_dict(),
            knob=made.strength,
            alternative=made.alternative,
            trivial=made.trivial,
            settings=made.settings.model_dump(mode="json"),
        )

    @property
    def guaranteed(self) -> Guarantee | None:
        """The promise as a guarantee.

        Raises:
            InputError: it is none.
        """
        if self.promise is None:
            return None
        try:
            return Guarantee(**{**self.promise, "public": tuple(self.promise["public"])})
        except (KeyError, TypeError) as error:
            raise InputError("a promise of a defense is damaged") from error

    @property
    def strength(self) -> float | None:
        """The value of its knob."""
        value = None if self.knob is None else self.settings.get(self.knob)
        return float(value) if isinstance(value, int | float) else None
