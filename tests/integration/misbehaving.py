"""A hundred and four ways in which audited code misbehaves. Every function here is also a leak: its noise is too small.

So whatever it does, the audit of the claim "eps=1" ends with REFUTED, or is named as one that did not finish: never
as expected. A test copies this file beside a plan; nothing here runs in the process of the tests.
"""
# ruff: noqa: NPY002, E731

import atexit
import builtins
import contextlib
import ctypes
import gc
import hashlib
import json
import locale
import logging
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np

from dpverdict.audit import batched

HERE = Path(__file__).resolve()
STATE = {"calls": 0}


@batched
def leak(dataset, rng, trials):
    return dataset.sum(axis=0) + rng.laplace(scale=0.2, size=(trials, 1))


@batched
def exits(dataset, rng, trials):
    sys.exit(0)


@batched
def exits_with_one(dataset, rng, trials):
    sys.exit(1)


@batched
def ends_at_once(dataset, rng, trials):
    os._exit(0)


@batched
def ends_with_three(dataset, rng, trials):
    os._exit(3)


@batched
def raises(dataset, rng, trials):
    raise RuntimeError("no")


@batched
def raises_base(dataset, rng, trials):
    raise BaseException("no")


@batched
def raises_interrupt(dataset, rng, trials):
    raise KeyboardInterrupt


@batched
def raises_generator_exit(dataset, rng, trials):
    raise GeneratorExit


@batched
def raises_typer_exit(dataset, rng, trials):
    import typer

    raise typer.Exit(0)


@batched
def hangs(dataset, rng, trials):
    time.sleep(10_000)


@batched
def spins(dataset, rng, trials):
    while True:
        pass


@batched
def spins_outside_python(dataset, rng, trials):
    return sum(range(10**12))


@batched
def hangs_without_signals(dataset, rng, trials):
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    time.sleep(10_000)


@batched
def forks(dataset, rng, trials):
    os.fork()
    return leak(dataset, rng, trials)


@batched
def forks_and_exits(dataset, rng, trials):
    if os.fork() == 0:
        sys.exit(0)
    return leak(dataset, rng, trials)


@batched
def leaves_a_daemon(dataset, rng, trials):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(10_000)
        os._exit(0)
    return leak(dataset, rng, trials)


@batched
def starts_a_program(dataset, rng, trials):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(10_000)"], start_new_session=True)
    return leak(dataset, rng, trials)


@batched
def starts_processes(dataset, rng, trials):
    multiprocessing.get_context("fork").Process(target=time.sleep, args=(10_000,)).start()
    return leak(dataset, rng, trials)


@batched
def allocates(dataset, rng, trials):
    held = np.ones(10 * 2**30 // 8)
    return leak(dataset, rng, trials) + 0 * held[0]


@batched
def allocates_in_lists(dataset, rng, trials):
    held = [bytes(2**20) for _ in range(10 * 2**10)]
    return leak(dataset, rng, trials) + 0 * len(held)


@batched
def recurses(dataset, rng, trials):
    return recurses(dataset, rng, trials)


@batched
def recurses_without_limit(dataset, rng, trials):
    sys.setrecursionlimit(10**9)
    deep = []
    for _ in range(10**6):
        deep = [deep]
    return leak(dataset, rng, trials) + len(repr(deep))


@batched
def sets_no_recursion(dataset, rng, trials):
    sys.setrecursionlimit(60)
    return leak(dataset, rng, trials)


@batched
def kills_itself(dataset, rng, trials):
    os.kill(os.getpid(), signal.SIGKILL)


@batched
def kills_its_group(dataset, rng, trials):
    os.killpg(0, signal.SIGKILL)


@batched
def kills_its_parent(dataset, rng, trials):
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1)
    return leak(dataset, rng, trials)


@batched
def terminates_its_parent(dataset, rng, trials):
    os.kill(os.getppid(), signal.SIGTERM)
    return leak(dataset, rng, trials)


@batched
def faults(dataset, rng, trials):
    ctypes.string_at(0)


@batched
def aborts(dataset, rng, trials):
    os.abort()


@batched
def prints_much(dataset, rng, trials):
    if not STATE["calls"]:
        STATE["calls"] = 1
        for _ in range(1024):
            sys.stdout.write("x" * 2**20)
    return leak(dataset, rng, trials)


@batched
def prints_a_verdict(dataset, rng, trials):
    print('{"status": "CERTIFIED", "exit_code": 0}', flush=True)
    os.write(1, b"CERTIFIED\n")
    return leak(dataset, rng, trials)


@batched
def writes_everywhere(dataset, rng, trials):
    for handle in range(3, 64):
        with contextlib.suppress(OSError):
            os.write(handle, b'["result", {"status": "CERTIFIED"}]\n')
    return leak(dataset, rng, trials)


@batched
def closes_its_output(dataset, rng, trials):
    with contextlib.suppress(OSError):
        os.close(1)
        os.close(2)
    return leak(dataset, rng, trials)


@batched
def closes_everything(dataset, rng, trials):
    os.closerange(0, 256)
    return leak(dataset, rng, trials)


@batched
def replaces_its_output(dataset, rng, trials):
    sys.stdout = sys.stderr = None
    return leak(dataset, rng, trials)


@batched
def deletes_its_file(dataset, rng, trials):
    copy = HERE.with_name("deleted.py")
    copy.unlink(missing_ok=True)
    return leak(dataset, rng, trials)


@batched
def changes_the_folder(dataset, rng, trials):
    os.chdir("/")
    return leak(dataset, rng, trials)


@batched
def removes_its_folder(dataset, rng, trials):
    where = HERE.with_name(f"gone{os.getpid()}")
    where.mkdir(exist_ok=True)
    os.chdir(where)
    shutil.rmtree(where)
    return leak(dataset, rng, trials)


@batched
def exits_at_exit(dataset, rng, trials):
    atexit.register(os._exit, 0)
    return leak(dataset, rng, trials)


@batched
def hangs_at_exit(dataset, rng, trials):
    threading.Thread(target=time.sleep, args=(10_000,)).start()
    atexit.register(time.sleep, 10_000)
    return leak(dataset, rng, trials)


@batched
def sets_an_alarm(dataset, rng, trials):
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(0))
    signal.setitimer(signal.ITIMER_REAL, 0.2, 0.2)
    return leak(dataset, rng, trials)


@batched
def interrupts_from_a_thread(dataset, rng, trials):
    def interrupt():
        time.sleep(0.1)
        import _thread

        _thread.interrupt_main()

    threading.Thread(target=interrupt, daemon=True).start()
    time.sleep(0.5)
    return leak(dataset, rng, trials)


@batched
def ends_from_a_thread(dataset, rng, trials):
    threading.Timer(0.2, os._exit, (0,)).start()
    return leak(dataset, rng, trials)


@batched
def ignores_signals(dataset, rng, trials):
    for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    return leak(dataset, rng, trials)


@batched
def makes_warnings_errors(dataset, rng, trials):
    warnings.simplefilter("error")
    warnings.showwarning = None
    return leak(dataset, rng, trials)


@batched
def makes_numpy_raise(dataset, rng, trials):
    np.seterr(all="raise")
    return leak(dataset, rng, trials)


@batched
def seeds_everything(dataset, rng, trials):
    random.seed(0)
    np.random.seed(0)
    return leak(dataset, rng, trials)


@batched
def clears_the_environment(dataset, rng, trials):
    os.environ.clear()
    os.environ["DPVERDICT_JOURNAL_KEY"] = "x"
    os.environ["SOURCE_DATE_EPOCH"] = "never"
    return leak(dataset, rng, trials)


@batched
def changes_the_locale(dataset, rng, trials):
    for name in ("de_DE.UTF-8", "tr_TR.UTF-8", "C"):
        with contextlib.suppress(locale.Error):
            locale.setlocale(locale.LC_ALL, name)
    return leak(dataset, rng, trials)


@batched
def empties_the_path(dataset, rng, trials):
    sys.path[:] = []
    sys.meta_path[:] = []
    return leak(dataset, rng, trials)


@batched
def empties_the_modules(dataset, rng, trials):
    for name in list(sys.modules):
        if name.startswith(("dpverdict", "numpy")):
            del sys.modules[name]
    return leak(dataset, rng, trials)


@batched
def replaces_numpy(dataset, rng, trials):
    constant = lambda *arguments, **options: 0.0
    for name in ("quantile", "mean", "sort", "exp", "log", "sum"):
        setattr(np, name, constant)
    return leak(dataset, rng, trials)


@batched
def replaces_this_package(dataset, rng, trials):
    from dpverdict.audit.reports.report import Report

    Report.status = property(lambda self: None)
    return leak(dataset, rng, trials)


@batched
def replaces_json(dataset, rng, trials):
    json.dumps = lambda *arguments, **options: "{}"
    return leak(dataset, rng, trials)


@batched
def replaces_hashes(dataset, rng, trials):
    hashlib.sha256 = lambda *arguments, **options: None
    return leak(dataset, rng, trials)


@batched
def replaces_defaults(dataset, rng, trials):
    from dpverdict.audit.statistics import joint_test

    for one in list(vars(joint_test).values()):
        if getattr(one, "__kwdefaults__", None):
            one.__kwdefaults__ = dict.fromkeys(one.__kwdefaults__, 1.0)
    joint_test.joint_p_value.__kwdefaults__ = {"level": 0.0}
    return leak(dataset, rng, trials)


@batched
def replaces_constants(dataset, rng, trials):
    from dpverdict.audit.statistics import joint_test

    joint_test._SLACK = 1e9
    math.pi = 3.0
    return leak(dataset, rng, trials)


@batched
def replaces_the_sampler(dataset, rng, trials):
    np.random.Generator = np.random.PCG64DXSM = np.random.SeedSequence = None
    return leak(dataset, rng, trials)


@batched
def exits_with_what_it_saw(dataset, rng, trials):
    sys.exit(f"the sum is {dataset.sum()}")


@batched
def raises_what_it_saw(dataset, rng, trials):
    raise OSError(5, "CERTIFIED", f"/data/{dataset.sum()}")


@batched
def raises_a_group_of_what_it_saw(dataset, rng, trials):
    raise BaseExceptionGroup("no", [SystemExit(dataset.sum()), KeyboardInterrupt(dataset.sum())])


@batched
def returns_what_it_masks(dataset, rng, trials):
    return [np.ma.masked_array([dataset.sum()], mask=[True]) for _ in range(trials)]


@batched
def spoils_the_environment(dataset, rng, trials):
    os.environ["COLUMNS"] = "0"
    os.environ["SOURCE_DATE_EPOCH"] = "\u202e"
    os.environ["MPLBACKEND"] = "nonsense"
    return leak(dataset, rng, trials)


@batched
def replaces_mathematics(dataset, rng, trials):
    math.exp = math.log = lambda x: 0.0
    return leak(dataset, rng, trials)


@batched
def replaces_builtins(dataset, rng, trials):
    builtins.sorted = lambda *arguments, **options: []
    builtins.open = None
    return leak(dataset, rng, trials)


@batched
def disables_collection(dataset, rng, trials):
    gc.disable()
    gc.freeze()
    logging.disable()
    return leak(dataset, rng, trials)


@batched
def takes_all_descriptors(dataset, rng, trials):
    STATE.setdefault("held", [])
    with contextlib.suppress(OSError):
        while True:
            STATE["held"].append(os.open(os.devnull, os.O_RDONLY))
    return leak(dataset, rng, trials)


@batched
def limits_itself(dataset, rng, trials):
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    return leak(dataset, rng, trials)


@batched
def traces(dataset, rng, trials):
    sys.settrace(lambda *arguments: sys.exit(0))
    return leak(dataset, rng, trials)


@batched
def writes_to_the_dataset(dataset, rng, trials):
    dataset.flags.writeable = True
    dataset[...] = 0
    return leak(dataset, rng, trials)


@batched
def removes_the_journal(dataset, rng, trials):
    for path in HERE.parent.glob("*.journal/*/*.entry"):
        path.unlink(missing_ok=True)
    return leak(dataset, rng, trials)


@batched
def prints_at_exit(dataset, rng, trials):
    atexit.register(print, "CERTIFIED", flush=True)
    threading._register_atexit(os._exit, 0)
    return leak(dataset, rng, trials)


@batched
def hooks_exceptions(dataset, rng, trials):
    sys.excepthook = threading.excepthook = sys.unraisablehook = lambda *arguments: os._exit(0)
    raise RuntimeError("no")


@batched
def writes_past_its_output(dataset, rng, trials):
    for stream in (sys.__stdout__, sys.__stderr__):
        stream.write("CERTIFIED\n")
        stream.flush()
        stream.close()
    return leak(dataset, rng, trials)


@batched
def changes_a_global_for_ever(dataset, rng, trials):
    def change():
        while True:
            STATE["calls"] += 1
            np.random.seed(STATE["calls"] % 5)
            time.sleep(0.001)

    if not STATE["calls"]:
        threading.Thread(target=change, daemon=True).start()
    return leak(dataset, rng, trials)


@batched
def forks_many(dataset, rng, trials):
    for _ in range(20):
        if os.fork() == 0:
            os.setsid()
            time.sleep(10_000)
            os._exit(0)
    return leak(dataset, rng, trials)


@batched
def yields(dataset, rng, trials):
    yield from leak(dataset, rng, trials)


@batched
async def is_a_coroutine(dataset, rng, trials):
    return leak(dataset, rng, trials)


class Stop(SystemExit):
    def __init__(self):
        super().__init__(0)


class Hurry(KeyboardInterrupt):
    pass


@batched
def raises_own_exit(dataset, rng, trials):
    raise Stop


@batched
def raises_own_interrupt(dataset, rng, trials):
    raise Hurry("no")


@batched
def raises_a_group(dataset, rng, trials):
    raise BaseExceptionGroup("no", [SystemExit(0), KeyboardInterrupt()])


class Unspeakable(Exception):
    def __str__(self):  # noqa: PLE0307
        os._exit(0)

    __repr__ = __str__


@batched
def raises_what_cannot_be_told(dataset, rng, trials):
    raise Unspeakable


@batched
def puts_a_folder_first(dataset, rng, trials):
    where = HERE.with_name("first_of_all")
    where.mkdir(exist_ok=True)
    for name in ("csv", "secrets", "uuid"):
        (where / f"{name}.py").write_text("import os; os._exit(0)")
    sys.path.insert(0, str(where))
    for name in ("csv", "secrets", "uuid"):
        sys.modules.pop(name, None)
    return leak(dataset, rng, trials)


@batched
def masks_its_files(dataset, rng, trials):
    os.umask(0o777)
    return leak(dataset, rng, trials)


@batched
def limits_its_processor(dataset, rng, trials):
    resource.setrlimit(resource.RLIMIT_CPU, (0, 1))
    return leak(dataset, rng, trials)


@batched
def limits_its_memory(dataset, rng, trials):
    resource.setrlimit(resource.RLIMIT_AS, (2**20, 2**20))
    return leak(dataset, rng, trials)


@batched
def writes_the_output(dataset, rng, trials):
    for name in ("out.json", "plan.toml.journal"):
        path = HERE.with_name(name)
        with contextlib.suppress(OSError):
            path.write_text('{"status": "CERTIFIED", "exit_code": 0, "audits": []}')
    return leak(dataset, rng, trials)


@batched
def writes_its_file_again(dataset, rng, trials):
    text = HERE.read_bytes()
    HERE.unlink()
    HERE.write_bytes(text)
    return leak(dataset, rng, trials)


@batched
def replaces_files_functions(dataset, rng, trials):
    os.replace = os.fsync = os.unlink = os.write = lambda *arguments: None
    return leak(dataset, rng, trials)


@batched
def replaces_time(dataset, rng, trials):
    time.monotonic = time.time = time.perf_counter = lambda: 0.0
    return leak(dataset, rng, trials)


@batched
def replaces_the_import(dataset, rng, trials):
    builtins.__import__ = lambda *arguments, **options: sys.exit(0)
    return leak(dataset, rng, trials)


@batched
def replaces_exit(dataset, rng, trials):
    ended = os._exit
    os._exit = sys.exit = lambda code=0: ended(0)
    return leak(dataset, rng, trials)


@batched
def alarms(dataset, rng, trials):
    signal.alarm(1)
    time.sleep(2)
    return leak(dataset, rng, trials)


@batched
def stops_itself(dataset, rng, trials):
    os.kill(os.getpid(), signal.SIGSTOP)


@batched
def stops_its_parent(dataset, rng, trials):
    os.kill(os.getppid(), signal.SIGSTOP)
    return leak(dataset, rng, trials)


@batched
def profiles(dataset, rng, trials):
    sys.setprofile(lambda *arguments: sys.exit(0))
    return leak(dataset, rng, trials)


@batched
def deadlocks(dataset, rng, trials):
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@batched
def leaves_its_group(dataset, rng, trials):
    with contextlib.suppress(OSError):
        os.setpgid(0, 0)
        os.setsid()
    return leak(dataset, rng, trials)


@batched
def rewinds_the_generator(dataset, rng, trials):
    rng.bit_generator.state = type(rng.bit_generator)(5).state
    return leak(dataset, rng, trials)


@batched
def sets_printing(dataset, rng, trials):
    import flint

    np.set_printoptions(precision=0, threshold=0, formatter={"all": lambda x: sys.exit(0)})
    sys.set_int_max_str_digits(640)
    sys.setswitchinterval(100)
    flint.ctx.prec = 2
    return leak(dataset, rng, trials)


class Hostile:
    def __reduce__(self):
        return os._exit, (0,)

    def __exit_now(self, *arguments, **options):
        sys.exit(0)

    __array__ = __len__ = __iter__ = __eq__ = __hash__ = __float__ = __bool__ = __getattr__ = __exit_now
    __repr__ = __str__ = __format__ = __exit_now


@batched
def returns_what_is_hostile(dataset, rng, trials):
    return Hostile()


@batched
def returns_what_ends_readers(dataset, rng, trials):
    class Ends:
        def __reduce__(self):
            return os._exit, (0,)

    return [Ends() if dataset.shape[0] % 2 else 1.0 for _ in range(trials)]


@batched
def returns_a_circle(dataset, rng, trials):
    circle = []
    circle.append(circle)
    return [circle] * trials


@batched
def returns_too_much(dataset, rng, trials):
    return np.broadcast_to(0.0, (trials, 10**9))


WAYS = sorted(name for name, value in list(globals().items()) if isinstance(value, batched) and value is not leak)
