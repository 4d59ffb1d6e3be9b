"""An audit of recorded scores as a user asks for it, in words; the report is that of any black box."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from dpverdict.audit.distinguishing.one_run import distinguish_one_run
from dpverdict.audit.distinguishing.recorded_scores import distinguish_scores
from dpverdict.audit.distinguishing.witness_document import software_versions
from dpverdict.audit.documents.request import DEFAULT_ERROR_PROBABILITY, ScoresRequest, option_of, with_seed
from dpverdict.audit.reports.evidence.releases import DistinguishingEvidence
from dpverdict.audit.reports.report import Report
from dpverdict.audit.trials.data_files import read_column
from dpverdict.audit.trials.user_functions import probability
from dpverdict.errors import InvalidValue
from dpverdict.mechanisms.core.guarantees import parse_guarantee
from dpverdict.numerics.text import whole_number
from dpverdict.suggestions import listed

INDEPENDENT = (
    "the scores are independent draws: one per run, or of canaries that do not influence each other",
    "the scores were not chosen by looking at which of them refute",
)
FAIR = (
    "each canary was included by a fair coin of its own",
    "the scores do not depend on the inclusion bits but through the run",
    "the claim is about adding or removing one record",
)


def audit_scores(request: ScoresRequest) -> Report:
    """Check every part of a request, then test the scores.

    Raises:
        InvalidValue: a part that cannot be used.
    """
    one_run = _check_combination(request)
    assert request.claim is not None  # as was checked
    claim = parse_guarantee(request.claim)
    seed = secrets.randbits(63) if request.seed is None else whole_number(request.seed, "seed", at_least=0)
    error = probability(request.error_probability or DEFAULT_ERROR_PROBABILITY, "error_probability")
    if request.delta is not None:
        probability(request.delta, "delta")
    parameters = {"kind": "recorded scores: no mechanism was run"}
    if one_run:
        parameters |= {"scores": str(request.scores), "inclusion bits": str(request.included)}
        test = distinguish_one_run(
            read_column(str(request.scores), "scores"),
            read_column(str(request.included), "included"),
            claim,
            error_probability=error,
            seed=seed,
            delta=request.delta,
        )
    else:
        parameters |= {"with the canary": str(request.scores_in), "without it": str(request.scores_out)}
        test = distinguish_scores(
            read_column(str(request.scores_in), "in"),
            read_column(str(request.scores_out), "out"),
            claim,
            error_probability=error,
            seed=seed,
            delta=request.delta,
        )
    if request.error_probability is None:
        parameters["error probability"] = f"{DEFAULT_ERROR_PROBABILITY} (--error-probability sets it)"
    return Report(
        name="recorded scores" if not one_run else "scores of one run",
        claim=claim,
        created=datetime.now(UTC),
        parameters=parameters,
        evidence=(DistinguishingEvidence(test),),
        assumptions=FAIR if one_run else INDEPENDENT,
        seed=seed,
        versions=software_versions(),
        command=with_seed(request.command, request.seed, seed),
    )


def _check_combination(request: ScoresRequest) -> bool:
    """Whether the request is about one run."""
    one_run = request.scores is not None or request.included is not None
    if one_run and (request.scores_in is not None or request.scores_out is not None):
        raise InvalidValue("scores", request.scores, "given alone", "give --in and --out, or --scores and --included")
    wanted = ("scores", "included", "claim") if one_run else ("scores_in", "scores_out", "claim")
    missing = [name for name in wanted if getattr(request, name) is None]
    if missing:
        kinds = ["a .npy, .csv or .parquet file"] if set(missing) - {"claim"} else []
        kinds += ['a claim such as "mu=1" or "eps=1, delta=1e-5"'] if "claim" in missing else []
        options = [option_of(ScoresRequest, name) for name in missing]
        names = listed([option.removeprefix("--") for option in options])
        raise InvalidValue(names, None, "given", f"add {listed(options)}: {listed(kinds)}")
    return one_run
