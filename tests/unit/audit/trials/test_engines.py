"""Whoever runs the trials, the results are the same bits; a worker that dies costs its tasks, not the run."""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from dpverdict.audit.distinguishing.fixed_size import distinguish
from dpverdict.audit.distinguishing.sequential import distinguish_sequentially
from dpverdict.audit.trials import engines
from dpverdict.audit.trials.engines import (
    ATTEMPTS,
    DaskCluster,
    Engine,
    Processes,
    ThisProcess,
    chosen_engine,
    current_engine,
    running_on,
)
from dpverdict.audit.trials.run import AnyMechanism, Sampler, batched
from dpverdict.errors import InvalidValue, MechanismFailure, PrecisionExhausted
from dpverdict.mechanisms.core.guarantees import PureDP

Array = NDArray[np.float64]
DATASET = np.ones((3, 2))
TRIALS = 20_000


@batched
def noisy(dataset: Array, rng: np.random.Generator, trials: int) -> object:
    return dataset.sum(axis=0) + rng.normal(size=(trials, 2))


def summed(dataset: Array, rng: np.random.Generator) -> object:
    return dataset.sum() + rng.laplace()


PAIR = np.ones((2, 1)), np.ones((1, 1))


def raises(dataset: Array, rng: np.random.Generator) -> object:
    if rng.random() < 0.2:
        raise ValueError("one in five")
    return 0.0


def collect(engine: Engine) -> Array:
    with running_on(engine):
        return Sampler.prepare(noisy, DATASET, where="the dataset", seed=5).collect("confirm", TRIALS)


@pytest.fixture(scope="module")
def processes() -> Iterator[Processes]:
    engine = Processes(2)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    """A real scheduler and two real workers, in processes of their own."""
    environment = os.environ | {"DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "60s"}
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0"]
    folder = Path(os.environ.get("TMPDIR", "/tmp")) / f"dpverdict-dask-{os.getpid()}"
    folder.mkdir()
    address_file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, "env": environment}
    started = [
        subprocess.Popen([*command, "--no-dashboard", "--scheduler-file", str(address_file)], **quiet)  # type: ignore[call-overload]
    ]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", "--scheduler-file", str(address_file)]
    options = ["--nthreads", "1", "--no-dashboard", "--no-nanny", "--death-timeout", "60"]
    started += [subprocess.Popen([*worker, *options], **quiet) for _ in range(2)]  # type: ignore[call-overload]
    deadline = time.monotonic() + 60
    while not address_file.exists() or not address_file.read_text():
        assert time.monotonic() < deadline, "the scheduler did not start"
        time.sleep(0.1)
    yield json.loads(address_file.read_text())["address"]
    for process in reversed(started):
        process.kill()
        process.wait()


def test_processes_give_the_same_bits(processes: Processes) -> None:
    assert np.array_equal(collect(processes), collect(ThisProcess()))


def test_a_function_made_on_the_spot_travels(processes: Processes) -> None:
    offset = 3.0
    with running_on(processes):
        sampler = Sampler.prepare(lambda data, rng: offset + rng.normal(), DATASET, where="the dataset", seed=1)
        found = sampler.scores("s", 9000, lambda outputs: outputs[:, 0] * 2)
    alone = sampler.scores("s", 9000, lambda outputs: outputs[:, 0] * 2)
    assert np.array_equal(found, alone)


def test_an_error_in_a_worker_arrives_whole(processes: Processes) -> None:
    sampler = Sampler.prepare(raises, DATASET, where="the dataset", seed=3)
    with running_on(processes), pytest.raises(MechanismFailure, match="one in five") as caught:
        sampler.collect("confirm", 50)
    assert caught.value.remedy
    with pytest.raises(MechanismFailure) as alone:
        sampler.collect("confirm", 50)
    assert str(alone.value) == str(caught.value)


@pytest.mark.parametrize(
    "error",
    [
        InvalidValue("a", object, "b", "c"),
        InvalidValue("a", -1, "> 0", "give it"),
        PrecisionExhausted("a", 64, "b"),
        MechanismFailure("a", "b", "c"),
    ],
)
def test_every_error_says_the_same_after_a_journey(error: Exception) -> None:
    arrived = pickle.loads(pickle.dumps(error))
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)


class Own(BaseException):
    """What no handler of exceptions sees."""


ENDINGS = [SystemExit(0), SystemExit(1), SystemExit(), KeyboardInterrupt(), GeneratorExit(), Own("mine")]


def ends(how: BaseException) -> AnyMechanism:
    def release(dataset: Array, rng: np.random.Generator) -> object:
        if rng.random() < 0.2:
            raise how
        return 0.0

    return release


@pytest.mark.few(3)
@pytest.mark.parametrize("how", ENDINGS, ids=repr)
@pytest.mark.parametrize("workers", [False, True])
def test_a_trial_that_would_end_the_program_ends_the_audit_with_an_error(
    how: BaseException, workers: bool, processes: Processes
) -> None:
    with running_on(processes if workers else ThisProcess()):
        with pytest.raises(MechanismFailure, match=f"raised {type(how).__name__}"):
            distinguish(ends(how), PAIR, PureDP(1), error_probability=0.05, samples=100, seed=1)
        with pytest.raises(MechanismFailure, match=f"raised {type(how).__name__}"):
            distinguish_sequentially(ends(how), PAIR, PureDP(1), error_probability=0.05, most_samples=100, seed=1)

        def task(number: int) -> int:
            raise how

        with pytest.raises(MechanismFailure, match=f"raised {type(how).__name__}"):
            list(current_engine().map(task, range(3)))


def test_a_score_that_would_end_the_program_is_an_error_too(processes: Processes) -> None:
    def score(outputs: Array) -> Array:
        sys.exit(0)

    for engine in (ThisProcess(), processes):
        with running_on(engine), pytest.raises(InvalidValue, match=r"^score="):
            distinguish(summed, PAIR, PureDP(1), error_probability=0.05, samples=100, seed=1, score=score)


def test_a_worker_that_dies_costs_its_tasks_only(tmp_path: Path, processes: Processes) -> None:
    def fragile(task: int) -> int:
        marker = tmp_path / str(task)
        if task == 2 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return task * task

    assert list(processes.map(fragile, range(15))) == [i * i for i in range(15)]
    assert [path.name for path in tmp_path.iterdir()] == ["2"]


def test_a_task_that_always_ends_its_worker_is_given_up() -> None:
    processes = Processes(1)

    def deadly(task: int) -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return task

    with pytest.raises(MechanismFailure, match=f"ended its worker {ATTEMPTS} times"):
        list(processes.map(deadly, range(3)))
    assert list(processes.map(abs, [-1, -2])) == [1, 2]  # the engine is still of use
    processes.close()


def test_a_dask_cluster_gives_the_same_bits_and_survives_the_death_of_a_worker(scheduler: str, tmp_path: Path) -> None:
    cluster = DaskCluster(scheduler)
    try:
        deadline = time.monotonic() + 60
        while cluster.workers_alive() < 2:
            assert time.monotonic() < deadline, "the workers did not start"
            time.sleep(0.1)
        assert np.array_equal(collect(cluster), collect(ThisProcess()))
        for how in ENDINGS:  # each hung before, or took the worker with it
            with running_on(cluster), pytest.raises(MechanismFailure, match=f"raised {type(how).__name__}"):
                distinguish(ends(how), PAIR, PureDP(1), error_probability=0.05, samples=100, seed=1)

        def fragile(task: int) -> int:
            marker = tmp_path / str(task)
            if task == 7 and not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return task + 1

        assert list(cluster.map(fragile, range(20))) == list(range(1, 21))
        assert (tmp_path / "7").exists()
    finally:
        cluster.close()


@pytest.mark.slow  # a cluster of its own, which is not always gone in time where other tests run beside it
def test_a_dask_cluster_without_workers_and_one_that_is_lost_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(engines, "BETWEEN_LOOKS", 0.1)
    monkeypatch.setattr(engines, "PATIENCE", 0.3)
    with distributed.LocalCluster(n_workers=0, dashboard_address=None) as cluster:
        lost = DaskCluster(cluster.scheduler_address)
        with pytest.raises(InvalidValue, match="a scheduler with workers: start workers, then run it again"):
            list(lost.map(abs, [1, 2]))
    vars(lost)["_client"].close()  # as a client does that has lost its scheduler
    with pytest.raises(InvalidValue, match="that answers: start it again, then run the same command: it was lost"):
        list(lost.map(abs, [1, 2]))


def test_the_engine_is_that_of_the_innermost_block() -> None:
    assert isinstance(current_engine(), ThisProcess)
    with chosen_engine(jobs=2) as engine:
        assert current_engine() is engine
        with chosen_engine() as inner:
            assert current_engine() is inner
        assert current_engine() is engine
    assert isinstance(current_engine(), ThisProcess)


def test_options_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(InvalidValue, match="--dask"), chosen_engine(jobs=2, dask="tcp://127.0.0.1:1"):
        pass
    with pytest.raises(InvalidValue, match="jobs"), chosen_engine(jobs=0):
        pass
    with pytest.raises(InvalidValue, match="scheduler"), chosen_engine(dask="nonsense"):
        pass


def test_a_mechanism_that_cannot_be_sent_is_named(processes: Processes) -> None:
    lock = threading.Lock()
    with running_on(processes):
        sampler = Sampler.prepare(lambda data, rng: rng.normal() + lock.locked(), DATASET, where="the dataset", seed=1)
        with pytest.raises(InvalidValue, match="--jobs 1"):
            sampler.collect("s", 10)
        numbers = (float(i) for i in range(1000))  # a state of its own is not sent at all
        sampler = Sampler.prepare(lambda data, rng: next(numbers), DATASET, where="the dataset", seed=1)
        assert sampler.one_stream
        assert len(np.unique(sampler.collect("s", 10))) == 10


def test_a_script_needs_no_guard_to_run_on_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np\n"
        "from dpverdict.audit.trials.engines import chosen_engine\n"
        "from dpverdict.audit.trials.run import Sampler\n"
        "class Own:\n    factor = 2.0\n"
        "def release(data, rng):\n    return Own.factor * len(data) + rng.normal()\n"
        "with chosen_engine(jobs=2):\n"
        "    sampler = Sampler.prepare(release, np.ones(3), where='the dataset', seed=1)\n"
        "    print(sampler.one_stream, sampler.collect('a', 10_000).shape)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "False (10000, 1)\n"
    assert done.stderr == ""


def hangs_at_exit(task: int) -> int:
    threading.Thread(target=time.sleep, args=(600,)).start()
    return task


@pytest.mark.slow
def test_a_worker_that_cannot_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dpverdict.audit.trials.engines.GRACE", 0.2)
    engine = Processes(1)
    assert list(engine.map(hangs_at_exit, [1])) == [1]
    began = time.monotonic()
    engine.close()
    assert time.monotonic() - began < 60
