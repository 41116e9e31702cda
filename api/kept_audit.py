"""An audit that was kept in a ledger, as Python users read it again: in a notebook it shows its cards."""

import os
from dataclasses import fields

from ..audit.results import assemble
from ..audit.results.audit_result import Audit


class KeptAudit(Audit):
    """An audit that a ledger holds; a notebook shows it as the cards of the report."""

    def _repr_html_(self) -> str:
        from ..reports.formats.cards import cards

        return cards(self)


def read_audit(path: str | os.PathLike[str], trust_code: bool = False) -> KeptAudit:
    """The audit that a ledger holds.

    Args:
        path: of the ledger, which is data: no code that it names is run.
        trust_code: import a ``module:Class`` that it names after all.

    Raises:
        InputError: the file is no ledger, there is no plan in it, or what it holds makes no sense.
    """
    audit = assemble.read_audit(path, trust_code)
    return KeptAudit(**{field.name: getattr(audit, field.name) for field in fields(audit)})
