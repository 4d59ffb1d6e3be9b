"""A plan is checked before it is begun, runs every audit once, and has four faces that say the same."""

import dataclasses
import html
import json
import shutil
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverdict.audit.exact.verdict import Status
from dpverdict.audit.runs.plans import run as plan_run
from dpverdict.audit.runs.plans.packet import (
    packet_fields,
    read_packet_schema,
    render_packet_html,
    render_packet_json,
)
from dpverdict.audit.runs.plans.plan import Expected, plan_of, read_plan
from dpverdict.audit.runs.plans.renderings import (
    print_plan,
    read_plan_schema,
    render_junit,
    render_plan_html,
    render_plan_json,
)
from dpverdict.audit.runs.plans.results import PlanResult, PlanStatus
from dpverdict.audit.runs.plans.run import open_journal, run_plan
from dpverdict.cli.application import main
from dpverdict.errors import DpverdictError, InvalidValue

pytestmark = pytest.mark.usefixtures("warm_copies")

CERTIFIED = '[[audit]]\nmechanism = "standard-gaussian"\ndim = 1\nmu = 1\nexact_only = true\n'
"""A plan of one audit, or its end."""


def rewrite(path: Path, old: str, new: str, count: int = -1) -> None:
    """Replace what a file of the plan says."""
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, count))


def carried_out(folder: Path, journal: Path | str = "journal") -> PlanResult:
    path = folder / "plan.toml"
    with open_journal(path, folder / journal) as kept:
        return run_plan(read_plan(path), kept)


def faces(result: PlanResult) -> tuple[str, str]:
    return render_plan_json(result), render_plan_html(result)


def test_a_plan_that_comes_out_as_expected(finished_plan: PlanResult) -> None:
    result = finished_plan
    assert [one.status for one in result.results] == [Status.CERTIFIED, Status.CERTIFIED, Status.REFUTED]
    assert all(one.met for one in result.results)
    assert result.exit_code == 0
    fields = json.loads(render_plan_json(result))
    jsonschema.validate(fields, read_plan_schema())
    assert fields["counts"]["CERTIFIED"] == 2
    suite = ElementTree.fromstring(render_junit(result)).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "0", "0")
    page = render_plan_html(result)
    assert "<b>Spring" not in page
    assert "&lt;b&gt;Spring" in page
    ids = [part.split('"')[0] for part in page.split(' id="')[1:]]
    assert len(ids) == len(set(ids))
    targets = [part.split('"')[0] for part in page.split(' href="#')[1:]]
    assert set(targets) <= set(ids)


def test_the_tests_of_a_plan_share_its_error_probability(folder: Path) -> None:
    plan = read_plan(folder / "plan.toml")
    requests = [plan.request_of(audit, 7) for audit in plan.audits]
    spent = [2 * float(request.error_probability or 0) for request in requests if not request.exact_only]
    assert len(spent) == 2
    assert sum(spent) == pytest.approx(1e-6, rel=1e-12)
    seeds = {request.seed for request in requests if not request.exact_only}
    assert len(seeds) == 2


def test_what_is_finished_is_not_run_again_and_a_change_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = carried_out(folder)
    ran: list[str] = []
    audit_from_request = plan_run.audit_from_request

    def watched(request: object, *others: object, **more: object) -> object:
        ran.append(request.mechanism)  # type: ignore[attr-defined]
        return audit_from_request(request, *others, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(plan_run, "audit_from_request", watched)
    assert faces(carried_out(folder)) == faces(first)
    assert ran == []
    rewrite(folder / "release.py", "0.3", "0.25")
    carried_out(folder)
    assert len(ran) == 1
    assert ran[0].endswith("release.py:noisy")
    rewrite(folder / "plan.toml", "mu = 0.5", "mu = 0.6")
    changed = carried_out(folder)
    assert ran[1:] == ["correlated-gaussian"]
    assert faces(changed) != faces(first)


def test_a_damaged_entry_is_made_again(finished_folder: Path, finished_plan: PlanResult, tmp_path: Path) -> None:
    journal = shutil.copytree(finished_folder / "journal", tmp_path / "journal")
    damaged = [entry for entry in journal.glob("*.entry") if len(entry.read_bytes()) > 1000]
    assert len(damaged) == 3
    for entry in damaged:
        entry.write_bytes(entry.read_bytes()[:-7])
    assert faces(carried_out(finished_folder, journal)) == faces(finished_plan)


def test_an_audit_that_cannot_be_run_does_not_stop_the_others(folder: Path) -> None:
    fails = '[[audit]]\nname = "fails"\nmechanism = "release.py:fails"\nneighbours = "pair.npz"\nclaim = "eps=1"\n'
    (folder / "plan.toml").write_text(fails + CERTIFIED)
    result = carried_out(folder)
    assert result.results[0].status is None
    assert "RuntimeError" in result.results[0].answer
    assert [one.met for one in result.results] == [False, True]
    assert result.exit_code == 2
    jsonschema.validate(json.loads(render_plan_json(result)), read_plan_schema())
    assert "<script>" not in render_plan_html(result)
    (suite,) = ElementTree.fromstring(render_junit(result))
    assert suite.get("errors") == "1"


@pytest.mark.parametrize(
    ("expect", "code", "status"),
    [("certified", 0, "CERTIFIED"), ("refuted", 1, "CONTROL_MISSED"), ("not refuted", 0, "CERTIFIED")],
)
def test_the_exit_code_says_whether_expectations_were_met(folder: Path, expect: str, code: int, status: str) -> None:
    plan = f'{CERTIFIED}expect = "{expect}"\n'
    (folder / "plan.toml").write_text(plan)
    right = carried_out(folder)
    assert (right.exit_code, right.status.name) == (code, status)
    wrong = plan.replace("mu = 1\n", 'mu = 1\nclaim = "mu=1/2"\n')
    (folder / "plan.toml").write_text(wrong)
    found = carried_out(folder)
    if expect == "refuted":
        assert (found.exit_code, found.status.name) == (3, "INCONCLUSIVE")
        assert "controls alone" in found.conclusion
    else:
        assert (found.exit_code, found.status.name) == (1, "REFUTED")


def test_inconclusive_is_an_exit_code_of_its_own(finished_plan: PlanResult) -> None:
    assert not Expected.CERTIFIED.met_by(Status.INCONCLUSIVE)
    assert Expected.NOT_REFUTED.met_by(Status.INCONCLUSIVE)
    result = finished_plan
    one = dataclasses.replace(result.results[0], status=Status.INCONCLUSIVE)
    assert dataclasses.replace(result, results=(one,)).exit_code == 3


def test_what_was_refuted_comes_before_what_was_not_run(finished_plan: PlanResult) -> None:
    result = finished_plan
    good, refuted = result.results[0], dataclasses.replace(result.results[0], status=Status.REFUTED)
    not_run = dataclasses.replace(good, status=None, fields={}, error="no")
    for results in ((not_run, refuted), (refuted, not_run)):
        assert dataclasses.replace(result, results=results).exit_code == 1
    control = dataclasses.replace(result.results[2], status=None, fields={}, error="no")
    assert dataclasses.replace(result, results=(good, control)).exit_code == 2


def test_a_page_is_green_only_where_a_verdict_met_every_expectation(finished_plan: PlanResult) -> None:
    result = finished_plan
    assert (result.status, 'class="plan certified"' in render_plan_html(result)) == (PlanStatus.CERTIFIED, True)
    seen = dataclasses.replace(result.results[0].audit, expect=Expected.NOT_REFUTED)
    open_ = dataclasses.replace(result.results[0], audit=seen, status=Status.INCONCLUSIVE)
    tested = dataclasses.replace(result, results=(open_, *result.results[1:]))
    assert (tested.status, tested.exit_code) == (PlanStatus.INCONCLUSIVE, 3)
    assert 'class="plan inconclusive"' in render_plan_html(tested)
    wrong = dataclasses.replace(result, results=(dataclasses.replace(result.results[2], status=Status.CERTIFIED),))
    assert 'class="plan control-missed"' in render_plan_html(wrong)
    assert render_plan_html(result).count("control: wrong on purpose") == 1


def every_face(result: PlanResult, folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What each face of a plan says of the whole plan, as text."""
    print_plan(result)
    fields = packet_fields(result, folder / "plan.toml")
    jsonschema.validate(fields, read_packet_schema())
    jsonschema.validate(json.loads(render_plan_json(result)), read_plan_schema())
    told = {
        "terminal": " ".join(capsys.readouterr().out.split()),
        "JSON": render_plan_json(result).replace('\\"', '"'),
        "JUnit": html.unescape(render_junit(result)),
        "page": html.unescape(render_plan_html(result)),
        "packet": render_packet_json(fields).replace('\\"', '"'),
        "packet page": html.unescape(render_packet_html(fields)),
    }
    return {face: text.replace("\N{WORD JOINER}", "") for face, text in told.items()}


@pytest.mark.parametrize("accept", [False, True])
def test_what_is_only_not_refuted_is_accepted_only_in_so_many_words(
    folder: Path, finished_plan: PlanResult, accept: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    result = finished_plan
    seen = dataclasses.replace(result.results[0].audit, expect=Expected.NOT_REFUTED)
    tested = dataclasses.replace(result.results[0], audit=seen, status=Status.INCONCLUSIVE)
    plan = dataclasses.replace(result.plan, accept_not_refuted=accept)
    result = dataclasses.replace(result, plan=plan, results=(tested, *result.results[1:]))
    assert (result.status, result.exit_code) == (PlanStatus.INCONCLUSIVE, 0 if accept else 3)
    for face, text in every_face(result, folder, capsys).items():
        assert ('accepted by the plan (accept = "not refuted")' in text) is accept, face
    suite = ElementTree.fromstring(render_junit(result)).find("testsuite")
    assert suite is not None
    assert suite.get("failures") == ("0" if accept else "1")
    certified = dataclasses.replace(tested, audit=dataclasses.replace(seen, expect=Expected.CERTIFIED))
    assert dataclasses.replace(result, results=(certified,)).exit_code == 3
    controls = dataclasses.replace(result, results=result.results[2:])
    assert (controls.status, controls.exit_code) == (PlanStatus.INCONCLUSIVE, 3)
    assert all("controls alone" in text for text in every_face(controls, folder, capsys).values())


def test_a_plan_is_refuted_only_where_something_was(
    folder: Path, finished_plan: PlanResult, capsys: pytest.CaptureFixture[str]
) -> None:
    result = finished_plan
    not_run = dataclasses.replace(result.results[0], status=None, fields={}, error="ended its process")
    result = dataclasses.replace(result, results=(not_run, *result.results[1:]))
    assert (result.status, result.exit_code) == (PlanStatus.NOT_RUN, 2)
    told = every_face(result, folder, capsys)
    assert json.loads(render_plan_json(result))["status"] == "NOT RUN"
    assert all("ot run: counts" in text for text in told.values())
    assert 'class="plan not-run"' in told["page"]
    assert 'class="not-run"' in told["packet page"]


@pytest.mark.parametrize("text", ['"refuted"', '"Not refuted"', "true", '["not refuted"]', '""'])
def test_only_the_one_text_accepts(folder: Path, text: str) -> None:
    rewrite(folder / "plan.toml", "seed = 7", f"seed = 7\naccept = {text}", 1)
    with pytest.raises(InvalidValue, match="accept"):
        read_plan(folder / "plan.toml")


def test_one_run_at_a_time(folder: Path) -> None:
    once = open_journal(folder / "plan.toml", None)
    with once, pytest.raises(InvalidValue, match="one run at a time"), open_journal(folder / "plan.toml", None):
        pass
    with open_journal(folder / "plan.toml", None):
        pass


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (("[[audit]]", "[[audits]]"), "audits"),
        (('mechanism = "correlated-gaussian"\n', ""), "audit.mechanism"),
        (("seed = 7", "seed = -7"), "seed"),
        (("seed = 7", "seed = 1970-01-01"), "seed"),
        (('"1e-6"', '"2"'), "error_probability"),
        (("dim = 3", "dim = 3\nseed = 4"), "audit.seed"),
        (("dim = 3", "dim = true"), "audit.dim"),
        (('expect = "refuted"', 'expect = "perhaps"'), "audit.expect"),
        (('expect = "refuted"', 'expect = "certified"'), "audit.expect"),
        (("exact_only = true", 'exact_only = "yes"'), "audit.exact_only"),
        (('name = "counts"', 'name = "Exact  alone"'), "audit.name"),
        (('name = "counts"', 'name = "---"'), "audit.name"),
        (("samples = ", "sample = "), "audit.sample"),
        (("seed = 7", "seeds = 7"), "seeds"),
        (("seed = 7", "seed = "), "plan"),
    ],
)
def test_a_wrong_plan_is_refused_before_it_is_begun(folder: Path, change: tuple[str, str], name: str) -> None:
    rewrite(folder / "plan.toml", *change, 1)
    with pytest.raises(InvalidValue) as refused:
        read_plan(folder / "plan.toml")
    assert refused.value.name == name
    assert main(["run", str(folder / "plan.toml")]) == 2


def test_an_unknown_parameter_of_a_mechanism_is_an_audit_not_run(folder: Path) -> None:
    (folder / "plan.toml").write_text(CERTIFIED + "dimm = 3\n")
    result = carried_out(folder)
    assert result.exit_code == 2
    assert "dimm" in result.results[0].answer


def values() -> st.SearchStrategy[object]:
    leaf = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.floats() | st.dates()
    return st.recursive(leaf, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=5)


KEYS = st.sampled_from(["title", "seed", "error_probability", "audit"]) | st.text()
ENTRY_KEYS = st.sampled_from(["name", "mechanism", "expect", "exact_only", "dim", "mu", "claim", "seed"]) | st.text()


@given(
    st.dictionaries(KEYS, values()),
    st.lists(st.dictionaries(ENTRY_KEYS, values() | st.sampled_from(["standard-gaussian", "1", "a:b"])), max_size=3),
)
def test_hostile_plans_give_a_clear_error_or_a_plan(table: dict[str, object], entries: list[dict[str, object]]) -> None:
    try:
        plan = plan_of(table | {"audit": entries}, Path("/nowhere"))
    except DpverdictError:
        return
    assert len(plan.audits) == len(entries)
    assert 0 < plan.share() < 1


@given(st.binary(max_size=200))
def test_hostile_bytes_are_not_a_plan(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "plan.toml"
        path.write_bytes(content)
        with pytest.raises(DpverdictError):
            read_plan(path)


LAYERED = """
import json
from pathlib import Path
import numpy as np
import helper
from dpverdict.audit import batched
from parts.noise import kind

SCALE = json.loads((Path(__file__).parent / "scale.json").read_text())

@batched
def noisy(dataset, rng, trials):
    return dataset.sum(axis=0) + rng.laplace(scale=SCALE * helper.FACTOR * kind.FACTOR, size=(trials, 1))
"""


@pytest.mark.parametrize(
    ("changed", "former"),
    [("parts/noise/kind.py", "FACTOR = 1.0\n"), pytest.param("scale.json", "1.0", marks=pytest.mark.slow)],
)
def test_a_changed_helper_package_or_data_file_is_run_anew_each_time(tmp_path: Path, changed: str, former: str) -> None:
    """Two mechanisms with helpers of the same names: each gets its own, and a change of either is seen."""
    plan = "seed = 7\n"
    for name in ("good", "other"):
        folder = tmp_path / name
        (folder / "parts" / "noise").mkdir(parents=True)
        (folder / "release.py").write_text(LAYERED)
        (folder / "helper.py").write_text("FACTOR = 2.0\n" if name == "good" else "FACTOR = 0.2\n")
        (folder / "parts" / "noise" / "kind.py").write_text("FACTOR = 1.0\n")
        (folder / "scale.json").write_text("1.0")
        plan += f'[[audit]]\nname = "{name}"\nmechanism = "{name}/release.py:noisy"\nneighbours = "pair.npz"\n'
        plan += 'claim = "eps=1"\nsamples = 5000\n'
    (tmp_path / "plan.toml").write_text(plan)
    np.savez(tmp_path / "pair.npz", dataset=np.ones((2, 1)), neighbour=np.ones((1, 1)))

    def statuses() -> list[str]:
        return [one.status.name if one.status else one.answer for one in carried_out(tmp_path).results]

    right, both = ["INCONCLUSIVE", "REFUTED"], ["REFUTED", "REFUTED"]
    assert statuses() == right
    before = {entry: entry.stat().st_mtime_ns for entry in (tmp_path / "journal").glob("*.entry")}
    assert statuses() == right
    assert before == {entry: entry.stat().st_mtime_ns for entry in (tmp_path / "journal").glob("*.entry")}
    (tmp_path / "good" / changed).write_text(former.replace("1.0", "0.1"))
    assert statuses() == both
