"""What the pages say of other libraries holds where they are installed: entries of the corpus, and an accountant.

What is not installed is not run. The releases are as many as the entry says; the seed of a failure is shown.
"""

from dataclasses import asdict
from fractions import Fraction

import dp_accounting
import pytest
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.rdp.rdp_privacy_accountant import RdpAccountant

from dpverdict.audit.exact.decide import certify
from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.losses.closed_form import GaussianLoss
from dpverdict.cli.corpus.entries import CorpusEntry, entries
from dpverdict.cli.corpus.packages import installed_here, missing
from dpverdict.cli.corpus.reproduction import work
from dpverdict.cli.corpus.running import BAD, NOT_ENDED
from dpverdict.mechanisms import REPLACE_ONE, ApproximateDP, StandardGaussian

FAST = ("diffprivlib-mean-nan", "dp-accounting-rdp-replace")
HERE = [one for one in entries() if all(map(installed_here, one.broken.install)) and not missing(one.needs)]


@pytest.mark.parametrize(
    "entry", [pytest.param(one, id=one.id, marks=[] if one.id in FAST else [pytest.mark.slow]) for one in HERE]
)
def test_a_defect_is_found_where_its_library_is_installed(entry: CorpusEntry, seed: int) -> None:
    request = {**asdict(entry), "folder": None, "seed": seed}
    found = work({**request, "install": entry.broken.install, "control": False}, print)
    assert found["status"] in ("REFUTED", entry.expected), found
    if all(map(installed_here, entry.control.install)):
        clear = work({**request, "install": entry.control.install, "control": True}, print)
        assert clear["status"] not in (*BAD, *NOT_ENDED), clear


@pytest.mark.parametrize("multiplier", ["1", "2"])
def test_the_renyi_accountant_halves_the_sensitivity_of_a_replacement(multiplier: str) -> None:
    # Public: google/differential-privacy issue 378. Values of norm C and noise of deviation m C: a replaced one moves
    # the sum by up to 2 C, which is 2/m-GDP. The accountant by privacy loss distributions has it right.
    event = dp_accounting.GaussianDpEvent(float(multiplier))
    epsilons = {
        accountant: accountant(neighboring_relation=REPLACE_ONE).compose(event).get_epsilon(1e-5)
        for accountant in (RdpAccountant, PLDAccountant)
    }
    exact = GaussianLoss(Fraction(2) / Fraction(multiplier)).certified_epsilon("1e-5")
    assert epsilons[PLDAccountant] >= float(exact.lower)
    if epsilons[RdpAccountant] >= float(exact.lower):
        pytest.skip("fixed in this version of dp_accounting: drop it from the documentation")
    claim = ApproximateDP(float(epsilons[RdpAccountant]), "1e-5")
    mechanism = StandardGaussian(dim=1, mu=Fraction(2) / Fraction(multiplier), adjacency=REPLACE_ONE)
    assert certify(mechanism, claim).status is Status.REFUTED
