"""``dpverdict list``: what there is to audit."""

from __future__ import annotations

from dpverdict.cli.session import Ended, ends, printing


@ends
def list_mechanisms() -> Ended:
    """The mechanisms with their parameters, and the known-wrong ones with the privacy they really have."""
    from dpverdict.audit.reports.catalogue import print_catalogue

    with printing():
        print_catalogue()
    return Ended(code=0)
