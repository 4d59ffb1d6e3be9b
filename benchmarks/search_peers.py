"""Searches for neighbours side by side: dpverdict, DP-Auditorium and dp-recorder on the functions of `search_cases`.

    python benchmarks/search_peers.py
    python benchmarks/search_peers.py --auditorium VENV/bin/python --recorder VENV/bin/python --out search.json

The peers are run by interpreters of their own, as DP-Auditorium needs TensorFlow; one that cannot import its auditor is
left out with a message. Neither is on PyPI: DP-Auditorium is `python/dp_auditorium` of
github.com/google/differential-privacy (set PYTHONPATH to it), dp-recorder is github.com/ObliviousAI/dp-recorder.

Each is run as its own example runs it:
  dpverdict       searches the table for 20 seconds, and tests the pair that is left at error probability 1e-6
  DP-Auditorium   10 pairs by Vizier's random search within the range of each column, of 1 and 2 numbers as in its
                  example, or of 10 and 11 records; 10 000 releases on each, the hockey-stick tester at failure
                  probability 0.05, with its tanh and, where that finds nothing, without it
  dp-recorder     records one run and replays it on neighbours of the table, 30 for each of its seven strategies; draws
                  are instrumented by hand with the sensitivity that the author states. "by hand" is its own pair, of
                  which it also samples the losses, as its test of double spending does
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from search_cases import CASES, Case

SEED = 1
NEIGHBOURS = 30
STRATEGIES = ("copy_random", "uniform_supported", "uniform_domain", "insert_nan", "insert_inf", "insert_large_outliers",
              "insert_shifted_outliers")  # fmt: skip
SLACK = 1.5
"""The epsilon that a sampled loss has to reach: its bound is loose, and goes a little beyond 1 where 1 is right."""
PEERS = {
    "auditorium": ("dp_auditorium.testers.hockey_stick_tester", "vizier.service.clients"),
    "recorder": ("dp_recorder.auditing.audit_primitives",),
}
"""What an interpreter has to be able to import."""


def noise_of(rng: np.random.Generator) -> Any:
    """Laplace noise that keeps epsilon 1 for values of a sensitivity."""
    return lambda values, sensitivity: values + rng.laplace(scale=sensitivity, size=np.shape(values))


def nothing(**named: object) -> None:
    """What is taken for public, where nobody looks at it."""


def searched_by_dpverdict(case: Case) -> dict[str, Any]:
    """Our own search, and the test of what it left."""
    from dpverdict.audit import distinguish, find_neighbours  # workers of peers have none
    from dpverdict.audit.implementation.search.given_table import releases_for
    from dpverdict.mechanisms import ADD_OR_REMOVE_ONE

    def release(table: np.ndarray, rng: np.random.Generator) -> Any:
        return case.function(table, noise_of(rng), nothing)

    begun = time.perf_counter()
    found = find_neighbours(release, "eps=1", data=case.table, adjacency=ADD_OR_REMOVE_ONE, seed=SEED, seconds=20)
    samples = releases_for(found)
    test = distinguish(found.function, found.pair, "eps=1", error_probability=1e-6, samples=samples, seed=SEED)
    runs = found.measured + 2 * found.releases + 2 * samples
    return {"found": bool(test.refuted), "releases": runs, "seconds": time.perf_counter() - begun, "pair": found.words}


def searched_by_auditorium(case: Case) -> dict[str, Any]:
    """As examples/run_mean_mechanism_example.py does it."""
    from dp_auditorium import privacy_test_runner
    from dp_auditorium.configs import (
        dataset_generator_config,
        privacy_property,
        privacy_test_runner_config,
        property_tester_config,
    )
    from dp_auditorium.generators import vizier_dataset_generator
    from dp_auditorium.testers import hockey_stick_tester
    from vizier.service import clients

    clients.environment_variables.servicer_use_sql_ram()
    rng = np.random.default_rng(SEED)
    wide = case.table.reshape(len(case.table), -1)
    low, high = wide.min(axis=0), wide.max(axis=0)
    whole = (wide == np.rint(wide)).all(axis=0)
    records = 2 if case.table.ndim == 1 else 11
    laplace = noise_of(rng)

    class Generator(vizier_dataset_generator.VizierDatasetGenerator):
        def get_neighboring_datasets_from_vizier_params(self, vizier_params: Any) -> Any:
            table = low + (high - low) * vizier_params.reshape(records, -1)
            table = np.where(whole, np.rint(table), table)
            table = table[:, 0] if case.table.ndim == 1 else table
            return table[:-1], table

    def mechanism(data: Any, number: int) -> Any:
        return np.stack([np.asarray(case.function(data, laplace, nothing), dtype=float) for _ in range(number)])

    begun, found, releases = time.perf_counter(), False, 0
    for processing in ("TANH", "NONE"):
        runner = privacy_test_runner.PrivacyTestRunner(
            config=privacy_test_runner_config.PrivacyTestRunnerConfig(
                property_tester=privacy_test_runner_config.PropertyTester.HOCKEY_STICK_TESTER,
                max_num_trials=10,
                failure_probability=0.05,
                num_samples=10_000,
                post_processing=privacy_test_runner_config.PostProcessing[processing],
            ),
            dataset_generator=Generator(
                dataset_generator_config.VizierDatasetGeneratorConfig(
                    study_name=str(time.time()),
                    study_owner="owner",
                    num_vizier_parameters=records * wide.shape[1],
                    data_type=dataset_generator_config.DataType.DATA_TYPE_FLOAT,
                    min_value=0.0,
                    max_value=1.0,
                    search_algorithm="RANDOM_SEARCH",
                    metric_name="hockey_stick_divergence",
                )
            ),
            property_tester=hockey_stick_tester.HockeyStickPropertyTester(
                config=property_tester_config.HockeyStickPropertyTesterConfig(
                    training_config=hockey_stick_tester.make_default_hs_training_config(),
                    approximate_dp=privacy_property.ApproximateDp(epsilon=1.0, delta=0.0),
                ),
                base_model=hockey_stick_tester.make_default_hs_base_model(),
            ),
        )
        results = runner.test_privacy(mechanism, "release")
        found |= results.found_privacy_violation is not None
        releases += 2 * 10_000 * (results.num_inspected_trials or 0)
        if found:
            break
    return {"found": bool(found), "releases": releases, "seconds": time.perf_counter() - begun}


def searched_by_recorder(case: Case) -> dict[str, Any]:
    """As its tests do it, on the neighbours that its strategies make of the table; and on its own pair."""
    from dp_recorder.auditing.audit_primitives import Auditor, audit_spec, ensure_equality
    from dp_recorder.auditing.dataset_util import generate_neighbors

    rng = np.random.default_rng(SEED)

    def distance(a: Any, b: Any) -> float:
        if np.shape(a) != np.shape(b):
            return float("inf")
        found = float(np.abs(np.asarray(a) - np.asarray(b)).sum())
        return float("inf") if np.isnan(found) else found

    @audit_spec(kind="Laplace", input_arg="values", sensitivity_arg="sensitivity", metric_fn=distance)
    def laplace(values: Any, sensitivity: float) -> Any:
        return values + rng.laplace(scale=sensitivity, size=np.shape(values))

    def violates(one: Any, other: Any, *, sampled: bool = False) -> bool:
        auditor = Auditor()
        try:
            with auditor:
                case.function(one, laplace, ensure_equality)
            auditor.set_replay()
            with auditor:
                case.function(other, laplace, ensure_equality)
            auditor.validate_records()
        except Exception:  # an assertion of the auditor, or the function fails on one side alone
            return True
        if not sampled:
            return False
        auditor.run_distributional_audit(n_samples=10_000, alpha=0.95)
        auditor.compute_overall_pld()
        return bool(auditor.get_overall_current_guarantee(delta=1e-5) > SLACK)

    begun, runs, usual, odd = time.perf_counter(), 0, 0, 0
    for strategy in STRATEGIES:
        wide = case.table.reshape(len(case.table), -1)
        made = generate_neighbors(wide, NEIGHBOURS, mode="unbounded", strategy=strategy, rng=SEED)
        for neighbour in made:
            runs += 2
            broken = violates(case.table, neighbour[:, 0] if case.table.ndim == 1 else neighbour)
            if np.isfinite(neighbour).all():
                usual += broken
            else:
                odd += broken
    seconds = time.perf_counter() - begun
    by_hand = None if case.pair is None else violates(*case.pair, sampled=True)
    found = usual > 0
    return {"found": found, "odd": not found and odd > 0, "releases": runs, "seconds": seconds, "by hand": by_hand}


WORKERS = {"dpverdict": searched_by_dpverdict, "auditorium": searched_by_auditorium, "recorder": searched_by_recorder}


def work(auditor: str, names: list[str]) -> None:
    """The cases one after another, a line of JSON each, in the interpreter of the auditor."""
    warnings.simplefilter("ignore")
    for name in names:
        with np.errstate(all="ignore"):
            try:
                result = WORKERS[auditor](CASES[name])
            except Exception as error:  # of an auditor: it is told
                result = {"failed": f"{type(error).__name__}: {error}"[:160]}
        print("RESULT " + json.dumps({"auditor": auditor, "case": name, **result}), flush=True)


def can_import(python: str, modules: tuple[str, ...]) -> str:
    """Why an interpreter does not have an auditor; "" if it has."""
    command = [python, "-c", "; ".join(f"import {one}" for one in modules)]
    try:
        tried = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if tried.returncode == 0 else (tried.stderr.strip().splitlines() or ["it ended"])[-1]


def shown(result: dict[str, Any] | None) -> str:
    """A cell of the table."""
    if result is None:
        return "-"
    if "failed" in result:
        return "fails"
    said = "found" if result["found"] else "by NaN or infinity alone" if result.get("odd") else "not found"
    if result.get("by hand") is not None:
        said += f" ({'found' if result['by hand'] else 'not'} by hand)"
    return f"{said}, {result['releases']} runs, {result['seconds']:.0f} s"


def main() -> int:
    """Every auditor that is installed, on every case."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--auditorium", default=sys.executable, help="the interpreter that has DP-Auditorium")
    parser.add_argument("--recorder", default=sys.executable, help="the interpreter that has dp-recorder")
    parser.add_argument("--only", nargs="*", choices=CASES, default=list(CASES))
    parser.add_argument("--auditors", nargs="*", choices=WORKERS, default=list(WORKERS))
    parser.add_argument("--out", help="a file for all results, as JSON")
    parser.add_argument("--worker", choices=WORKERS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker:
        work(chosen.worker, chosen.only)
        return 0
    pythons = {"dpverdict": sys.executable, "auditorium": chosen.auditorium, "recorder": chosen.recorder}
    results: dict[str, dict[str, Any]] = {}
    for auditor in chosen.auditors:
        why = can_import(pythons[auditor], PEERS.get(auditor, ("dpverdict",)))
        if why:
            print(f"{auditor} is left out, {pythons[auditor]} does not have it: {why}")
            continue
        command = [pythons[auditor], str(Path(__file__)), "--worker", auditor, "--only", *chosen.only]
        quiet = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=quiet
        ) as running:
            assert running.stdout is not None
            for line in running.stdout:
                if line.startswith("RESULT "):
                    result = json.loads(line.removeprefix("RESULT "))
                    results.setdefault(result["case"], {})[auditor] = result
                    print(f"{auditor:11} {result['case']:28} {result.get('failed') or shown(result)}", flush=True)
    if chosen.out:
        Path(chosen.out).write_text(json.dumps(results, indent=1), encoding="utf-8")
    print("\n| function | of | dpverdict | DP-Auditorium | dp-recorder |\n|---|---|---|---|---|")
    for name in chosen.only:
        case, by = CASES[name], results.get(name, {})
        cells = " | ".join(shown(by.get(auditor)) for auditor in WORKERS)
        print(f"| {name}{' (right)' if case.right else ''} | {case.origin} | {cells} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
