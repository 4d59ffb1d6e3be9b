"""``dpverdict list``: what there is to audit."""

from __future__ import annotations

from dpverdict.cli.session import reader_may_leave


def list_mechanisms() -> None:
    """The mechanisms with their parameters, and the known-wrong ones with the privacy they really have."""
    from dpverdict.cli.catalogue import print_catalogue

    with reader_may_leave():
        print_catalogue()
