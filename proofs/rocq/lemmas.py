"""What stands in a condition of a certificate, as lemmas of Rocq with their proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, final

from dpverdict.proofs.rocq.numbers import compared, comparison, matrix, number, rounding, vector
from dpverdict.proofs.rocq.terms import NotTranslated, Terms
from dpverdict.proofs.verdicts.expressions import NotAnExpression

Json: TypeAlias = Mapping[str, Any]

NUMBERS, REALS, INTERVALS = "numbers", "reals", "intervals"
COMPARISONS: Final = frozenset(["cases", "comparison", "rounding"])
"""Kinds whose numbers come from elsewhere: that they compare so does not say that they are the right ones."""
AT_ONCE: Final = 20
"""Comparisons in one lemma."""


@final
@dataclass(frozen=True, slots=True)
class Lemma:
    """A formula, the tactics that prove it, and which part of the libraries they need."""

    formula: str
    proof: str
    library: str
    words: str = ""


@final
@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of evidence: the lemmas that say all of it, but for what was left, with the reason for each."""

    kind: str
    lemmas: tuple[Lemma, ...]
    left: tuple[str, ...]


def piece_of(evidence: Json) -> Piece:
    """The lemmas of a piece of evidence, and the reason for each part that has none."""
    kind = str(evidence["kind"])
    lemmas: list[Lemma] = []
    left: list[str] = []
    make = _KINDS.get(kind)
    if make is None:
        return Piece(kind, (), (f"the kind {kind}",))
    try:
        for one in make(evidence):
            if isinstance(one, Lemma):
                lemmas.append(one)
            else:
                left.append(one)
    except (NotTranslated, NotAnExpression) as reason:
        left.append(str(reason))
    return Piece(kind, tuple(lemmas), tuple(left))


def _for_all(terms: Terms, names: Sequence[str], hypotheses: Sequence[str], goal: str) -> str:
    bound = [terms.names[name] for name in names] + [name for name, *_ in terms.balls]
    within = [f"{low} <= {name} <= {high}" for name, low, high in terms.balls]
    head = f"forall {' '.join(bound)} : R,\n  " if bound else ""
    return head + " ->\n  ".join([*within, *hypotheses, goal])


def _identity(piece: Json) -> Iterator[Lemma | str]:
    for sides in piece["sides"]:
        terms = Terms(piece["variables"])
        try:
            left, right = map(terms.read, sides)
        except NotTranslated as reason:
            yield str(reason)
            continue
        if terms.functions & {"log", "sin", "cos", "Abs"} and left != right:
            yield f"an identity of {', '.join(sorted(terms.functions - {'sqrt', 'Rpower'}))}"
            continue
        names = list(piece["variables"])
        goal = _for_all(terms, names, [*terms.hypotheses(names), *terms.needed], f"{left} = {right}")
        yield Lemma(goal, _same(terms, left == right), REALS)


def _same(terms: Terms, trivial: bool) -> str:
    """Tactics for an equality: roots become variables whose squares are known."""
    if trivial:
        return "intros. reflexivity."
    lines = ["intros."]
    roots = list(terms.roots)
    for k, base in enumerate(roots):
        lines.append(f"assert (base{k}_ : 0 <= {base}) by nonnegative.")
        lines.append(
            f"assert (square{k}_ := sqrt_sqrt ({base}) base{k}_). assert (sqrt_pos_{k}_ := sqrt_pos ({base}))."
        )
        lines.append(f"try (assert (root{k}_ : 0 < sqrt ({base})) by (apply sqrt_lt_R0; solve [positive])).")
    if "Rpower" in terms.functions or "exp" in terms.functions:
        lines.append("spread.")
    for k in reversed(range(len(roots))):
        lines.append(f"set (w{k}_ := sqrt ({roots[k]})) in *. clearbody w{k}_.")
    known = f" [{' '.join(f'square{k}_' for k in range(len(roots)))}]" if roots else ""
    again = "" if not roots else " | solve [field_simplify_eq; [nra | sides]]"
    lines.append(f"first [ solve [ring{known}] | solve [field{known}; sides]{again} ].")
    return "\n  ".join(lines)


def _inequality(piece: Json) -> Iterator[Lemma | str]:
    variables, lows, steps = piece["variables"], piece["at_least"], piece["steps"]
    names = [name for name in variables if name not in steps.values()]
    terms = Terms({name: variables[name] for name in names})
    expression = terms.read(piece["expression"])
    moved = Terms(variables)
    parts = [moved.read(piece[key]) for key in ("numerator", "denominator")]
    ends = {name: terms.read(low) for name, low in lows.items()}
    if set(lows) - set(names) or set(steps) != set(lows):
        raise NotTranslated("lower ends of other variables")
    for low in lows.values():
        if any(name in low for name in lows):
            raise NotTranslated("a lower end with a variable that is moved")
    free = [name for name in names if name not in lows]
    above = [f"{end} <= {terms.names[name]}" for name, end in ends.items()]
    sign = "<" if piece["strict"] else "<="
    goal = _for_all(terms, names, [*terms.hypotheses(free), *above, *terms.needed], f"0 {sign} {expression}")
    lines = ["intros."]
    for name, end in ends.items():
        step, own = moved.names[steps[name]], terms.names[name]
        lines.append(f"destruct (moved ({end}) {own} ltac:(assumption)) as [{step} [from_{step}_ is_{step}_]].")
    lines += [f"subst {terms.names[name]}." for name in ends]
    lemma = "from_quotient_strictly" if piece["strict"] else "from_quotient"
    lines.append(
        f"apply ({lemma} _ ({parts[0]}) ({parts[1]})); "
        f"[ | {'positive' if piece['strict'] else 'nonnegative'} | positive]."
    )
    roots = list(terms.roots | moved.roots)
    if roots:
        for k, base in enumerate(roots):
            lines.append(f"try assert (square{k}_ := sqrt_sqrt ({base}) ltac:(nonnegative)).")
        known = f" [{' '.join(f'square{k}_' for k in range(len(roots)))}]"
        lines.append(
            f"first [ solve [ring] | solve [field; sides] | solve [ring{known}] | solve [field{known}; sides] ]."
        )
    else:
        lines.append("first [ solve [field; sides] | solve [ring] ].")
    yield Lemma(goal, "\n  ".join(lines), INTERVALS if roots or "PI" in expression or terms.functions else REALS)


def _at_point(piece: Json, terms: Terms) -> list[str]:
    if set(piece["at"]) - set(piece["variables"]):
        raise NotTranslated("a point of other variables")
    return [f"{terms.names[name]} = {Terms({}).read(value)}" for name, value in piece["at"].items()]


def _difference(piece: Json) -> Iterator[Lemma | str]:
    terms = Terms(piece["variables"])
    left, right = (terms.read(piece[key]) for key in ("left", "right"))
    goal = _for_all(terms, list(piece["variables"]), _at_point(piece, terms), f"{left} <> {right}")
    proof = (
        "intros. subst. first [ solve [apply Rlt_not_eq; interval with (i_prec 90)] "
        "| solve [apply Rgt_not_eq; interval with (i_prec 90)] | solve [lra] ]."
    )
    yield Lemma(goal, proof, INTERVALS)


def _failure(piece: Json) -> Iterator[Lemma | str]:
    terms = Terms(piece["variables"])
    sign = "<=" if piece["strict"] else "<"
    expression = terms.read(piece["expression"])
    goal = _for_all(terms, list(piece["variables"]), _at_point(piece, terms), f"{expression} {sign} 0")
    proof = "intros. subst. first [ solve [interval with (i_prec 90)] | solve [lra] | solve [field_simplify; lra] ]."
    yield Lemma(goal, proof, INTERVALS)


def _boxes(piece: Json) -> Iterator[Lemma | str]:
    if piece["expression"] is None:
        raise NotTranslated("boxes of what is not written")
    terms = Terms(piece["variables"])
    expression = terms.read(piece["expression"])
    names = list(piece["variables"])
    if len(names) != len(piece["box"]):
        raise NotTranslated("a box of other variables")
    sides = [
        f"{Terms({}).read(low)} <= {terms.names[name]} <= {Terms({}).read(high)}"
        for name, (low, high) in zip(names, piece["box"], strict=True)
    ]
    goal = _for_all(terms, names, sides, f"0 < {expression}")
    cut = ", ".join(f"i_bisect {terms.names[name]}" for name in names)
    taylor = (
        f" | solve [interval with ({cut}, i_taylor {terms.names[names[0]]}, i_prec 90, i_depth 20)]" if names else ""
    )
    first = f"solve [interval with ({cut + ', ' if cut else ''}i_prec 90, i_depth 20)]"
    yield Lemma(goal, f"intros. first [ {first}{taylor} ].", INTERVALS)


def _one_of_numbers(formula: str, words: str = "") -> Lemma:
    return Lemma(formula, "counted.", NUMBERS, words)


def _cases(piece: Json) -> Iterator[Lemma | str]:
    formulas: list[str] = []
    cases: list[str] = []
    for case, entries in piece["cases"]:
        for left, sign, right, holds in entries:
            try:
                formulas.append(f"({compared(left, sign, right, holds=holds)})")
                cases.append(case)
            except NotTranslated as reason:
                yield str(reason)
    for start in range(0, len(formulas), AT_ONCE):
        words = "; ".join(dict.fromkeys(case for case in cases[start : start + AT_ONCE] if case))
        yield _one_of_numbers(" /\\\n  ".join(formulas[start : start + AT_ONCE]), words)
    if not formulas:
        yield "cases without numbers"


def _inverse(piece: Json) -> Iterator[Lemma | str]:
    rows, inverse = piece["matrix"], piece["inverse"]
    size = len(rows)
    if any(len(each) != size or any(len(row) != size for row in each) for each in (rows, inverse)):
        raise NotTranslated("a matrix that is not square")
    proof = "apply same_rows_right. vm_compute. reflexivity."
    yield Lemma(f"same (times {matrix(rows)}\n  {matrix(inverse)}) (identity {size})", proof, NUMBERS)
    for v, value in piece["values"]:
        if len(v) != size:
            raise NotTranslated("a vector of another length")
        yield _one_of_numbers(f"form {matrix(inverse)} {vector(v)} == {number(value)}")


_KINDS: Final[Mapping[str, Callable[[Json], Iterator[Lemma | str]]]] = {
    "identity": _identity,
    "inequality": _inequality,
    "difference": _difference,
    "failure": _failure,
    "boxes": _boxes,
    "comparison": lambda piece: iter([_one_of_numbers(comparison(piece))]),
    "rounding": lambda piece: iter([_one_of_numbers(rounding(piece))]),
    "cases": _cases,
    "inverse": _inverse,
}
