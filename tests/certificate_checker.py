"""A checker of certificates that shares no code with the project: Python's fractions and the intervals of mpmath.

    python tests/certificate_checker.py [--timeout SECONDS] FILE_OR_FOLDER ...

Every piece of evidence is decided anew from what the file says: identities of rational functions and roots by
polynomial arithmetic over the rationals, inequalities by their coefficients, boxes by interval arithmetic and by
covering the whole box with its parts, numbers by comparing them, matrices by multiplying them. A file is refused if one
piece is wrong, or if its text is not the one that was sealed. What is left open is counted, and never called proved.
Every number has a length that it may have, and is refused before it is made; each file has 600 seconds.

Of a verdict, what must stand in the file is derived from its head (certificate_derivation.py, beside this file), and
a file is refused whose conditions are others. Of what is not derived it says "compared only". Of a function, the fact
of every operation is derived from those before it, and the claim from the facts (traced_derivation.py).
"""

from __future__ import annotations

import ast
import hashlib
import json
import math
import runpy
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import Any

import mpmath
from mpmath import iv

derivation = runpy.run_path(str(Path(__file__).with_name("certificate_derivation.py")))
traced = runpy.run_path(str(Path(__file__).with_name("traced_derivation.py")))
PROVED, COMPARED, AT_POINTS, OPEN = "proved", "numbers compared", "true at points", "left open"
Monomial = tuple[tuple[str, int], ...]
Polynomial = dict[Monomial, Fraction]
Quotient = tuple[Polynomial, Polynomial]
MOST_TERMS = 4000
MOST_BYTES = 1 << 24
MOST_CHARACTERS = 20_000
MOST_BITS = 1 << 21
DEEPEST = 100
LARGEST_POWER = 64
LARGEST_ARGUMENT = 10**6
FORMAT = "dpverdict certificate 2"
TRACED = "dpverdict traced certificate"


class Refused(Exception):
    """What is written is not true."""


class Beyond(Exception):
    """More than this checker decides."""


class Unfinished(BaseException):
    """The time of a file is over."""


# numbers


def number(text: str) -> Fraction:
    """ "3", "-7/4", "0.25" or "5*2**-60"."""
    head, _, power = text.partition("*2**")
    exponent = head.lower().partition("e")[2]
    long = any(part and abs(int(part)) > most for part, most in ((power, 1 << 20), (exponent, 10**5)))
    if len(text) > MOST_CHARACTERS or long:
        raise Refused(f"{text[:40]} is too long")
    return Fraction(head) * Fraction(2) ** int(power or 0)


def ends(value: object) -> tuple[Fraction, Fraction] | None:
    """The ends of a number or a ball; None for what is neither."""
    if isinstance(value, str):
        try:
            made = number(value)
        except ValueError:
            return None
        return made, made
    if isinstance(value, list) and len(value) == 2 and all(isinstance(one, str) for one in value):
        low, high = map(number, value)
        if low > high:
            raise Refused(f"a ball from {low} to {high}")
        return low, high
    return None


def truth(left: object, sign: str, right: object) -> bool | None:
    """Whether ``left sign right``; None where balls do not decide it."""
    a, b = ends(left), ends(right)
    if a is not None and b is not None:
        if sign in ("=", "!="):
            same = None if a[0] <= b[1] and b[0] <= a[1] else False
            if a[0] == a[1] == b[0] == b[1]:
                same = True
            return same if sign == "=" or same is None else not same
        if sign in (">", ">="):
            a, b, sign = b, a, "<" if sign == ">" else "<="
        if sign == "<":
            return True if a[1] < b[0] else False if a[0] >= b[1] else None
        return True if a[1] <= b[0] else False if a[0] > b[1] else None
    if sign not in ("=", "!="):
        raise Beyond("an order of what is no number")
    match left, right:
        case bool(), bool():
            same = left == right
        case str(), str():
            same = left == right
        case {"list": first}, {"list": second}:
            parts = [truth(x, "=", y) for x, y in zip(first, second, strict=False)]
            same = len(first) == len(second) and all(parts) if None not in parts else None
        case {"set": first}, {"set": second}:
            same = {json.dumps(x) for x in first} == {json.dumps(x) for x in second}
        case {"none": _}, _:
            same = isinstance(right, dict) and "none" in right
        case _:
            raise Beyond("other values")
    return same if sign == "=" or same is None else not same


# polynomials and quotients of them, with roots and functions as variables of their own


def plus(a: Polynomial, b: Polynomial, factor: int = 1) -> Polynomial:
    made = dict(a)
    for monomial, value in b.items():
        made[monomial] = made.get(monomial, Fraction(0)) + factor * value
    return {monomial: value for monomial, value in made.items() if value}


def times(a: Polynomial, b: Polynomial) -> Polynomial:
    if len(a) * len(b) > MOST_TERMS**2:
        raise Beyond("too many terms")
    made: Polynomial = {}
    for first, x in a.items():
        for second, y in b.items():
            powers = Counter(dict(first))
            for name, power in second:
                powers[name] += power
            key = tuple(sorted((name, power) for name, power in powers.items() if power))
            made[key] = made.get(key, Fraction(0)) + x * y
    made = {monomial: value for monomial, value in made.items() if value}
    if len(made) > MOST_TERMS:
        raise Beyond("too many terms")
    return made


def short(value: Quotient) -> Quotient:
    """The same, if no number in it is too long."""
    for part in value:
        for one in part.values():
            if max(one.numerator.bit_length(), one.denominator.bit_length()) > MOST_BITS:
                raise Refused("a number of an expression is too long")
    return value


def tree_of(text: str) -> ast.expr:
    """The expression of a text that is neither too long nor too deep."""
    depth = deepest = 0
    for character in text[: MOST_CHARACTERS + 1]:
        depth += (character == "(") - (character == ")")
        deepest = max(deepest, depth)
    if len(text) > MOST_CHARACTERS or deepest > DEEPEST:
        raise Refused(f"an expression of {len(text)} characters, {deepest} brackets deep")
    tree = ast.parse(text, mode="eval").body
    frontier: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        frontier = [inner for node in frontier for inner in ast.iter_child_nodes(node)]
        if not frontier:
            return tree
    raise Refused(f"an expression of more than {DEEPEST} operations within each other")


def power_of(a: Polynomial, exponent: int) -> Polynomial:
    made: Polynomial = {(): Fraction(1)}
    for _ in range(exponent):
        made = times(made, a)
    return made


def constant(value: Fraction | int) -> Polynomial:
    return {(): Fraction(value)} if value else {}


class Algebra:
    """Expressions as quotients of polynomials. A root is a variable, of which the powers from its degree on are
    replaced by what it is the root of; exp, ln and powers with a variable in the exponent are variables as well."""

    def __init__(self, variables: Mapping[str, str], texts: Iterable[str], moved: Mapping[str, str] | None = None):
        self.variables, self.moved = variables, moved or {}
        self.roots: dict[str, tuple[int, Polynomial]] = {}
        self.names: dict[tuple[int, str], str] = {}
        self.degrees: dict[str, int] = {}
        for text in texts:
            for node in ast.walk(tree_of(text)):
                match node:
                    case ast.Call(func=ast.Name(id="sqrt"), args=[ast.Name(id=name)]) if name in variables:
                        self.degrees[name] = math.lcm(self.degrees.get(name, 1), 2)
                    case ast.BinOp(left=ast.Name(id=name), op=ast.Pow(), right=exponent) if name in variables:
                        rational = fraction_of(exponent)
                        if rational is not None and rational.denominator > 1:
                            self.degrees[name] = math.lcm(self.degrees.get(name, 1), rational.denominator)

    def read(self, text: str) -> Quotient:
        return self.node(tree_of(text))

    def node(self, node: ast.expr) -> Quotient:
        return short(self.made(node))

    def made(self, node: ast.expr) -> Quotient:
        match node:
            case ast.Constant(value=int(value)):
                return constant(value), constant(1)
            case ast.Name(id=name) if name in self.moved:
                return self.read(self.moved[name])
            case ast.Name(id=name) if name in self.variables:
                return {((name, self.degrees.get(name, 1)),): Fraction(1)}, constant(1)
            case ast.Name(id="pi" | "E" as name):
                return self.other(name)
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                top, bottom = self.node(inner)
                return plus({}, top, -1), bottom
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as sign, right=right):
                (a, b), (c, d) = self.node(left), self.node(right)
                factor = 1 if isinstance(sign, ast.Add) else -1
                if b == d:
                    return plus(a, c, factor), b
                return plus(times(a, d), times(c, b), factor), times(b, d)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                (a, b), (c, d) = self.node(left), self.node(right)
                return times(a, c), times(b, d)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                (a, b), (c, d) = self.node(left), self.node(right)
                if not self.reduced(c):
                    raise Refused("a division by 0")
                return times(a, d), times(b, c)
            case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
                return self.power(base, exponent)
            case ast.Call(func=ast.Name(id="sqrt"), args=[inner]):
                return self.root(inner, Fraction(1, 2))
            case ast.Call(func=ast.Name(id="exp"), args=[inner]):
                return self.exponential("exp", inner)
            case ast.Call(func=ast.Name(id=name), args=[inner]) if name in ("log", "erf", "erfc"):
                return self.other(f"{name} of {self.canonical(inner)}")
        raise Beyond(ast.unparse(node))

    def other(self, name: str) -> Quotient:
        return {((f"<{name}>", 1),): Fraction(1)}, constant(1)

    def canonical(self, node: ast.expr) -> str:
        top, bottom = (self.reduced(part) for part in self.node(node))
        return f"{sorted(top.items())} over {sorted(bottom.items())}"

    def power(self, base: ast.expr, exponent: ast.expr) -> Quotient:
        rational = fraction_of(exponent)
        if rational is None:
            return self.exponential(self.canonical(base), exponent, base)
        if rational.denominator > 1:
            if max(abs(rational.numerator), rational.denominator) > LARGEST_POWER:
                raise Beyond("a high root")
            return self.root(base, rational)
        base_value = fraction_of(base)
        if base_value:
            bits = max(base_value.numerator.bit_length(), base_value.denominator.bit_length())
            if abs(base_value) != 1 and bits * abs(rational) > MOST_BITS:
                raise Refused("a power is too long to be written out")
            return constant(base_value ** (int(rational) % 2 if abs(base_value) == 1 else int(rational))), constant(1)
        if abs(rational) > LARGEST_POWER:
            raise Beyond("a high power")
        made = tuple(power_of(part, abs(int(rational))) for part in self.node(base))
        return (made[0], made[1]) if rational >= 0 else (made[1], made[0])

    def root(self, base: ast.expr, exponent: Fraction) -> Quotient:
        if isinstance(base, ast.Name) and base.id in self.degrees and base.id not in self.moved:
            steps = exponent * self.degrees[base.id]
            made: Quotient = {((base.id, abs(int(steps))),): Fraction(1)}, constant(1)
            return made if steps > 0 else (made[1], made[0])
        top, bottom = (self.reduced(part) for part in self.node(base))
        degree = exponent.denominator
        inside = self.reduced(times(top, power_of(bottom, degree - 1)))  # root(a/b) = root(a b^(n-1))/b
        one: Quotient = constant(1), constant(1)
        if set(inside) == {()}:
            root = self.root_of_number(inside[()], degree)
        else:
            root = self.named_root(inside, degree)
        quotient = root, bottom
        for _ in range(abs(exponent.numerator)):
            one = times(one[0], quotient[0]), times(one[1], quotient[1])
        return one if exponent > 0 else (one[1], one[0])

    def root_of_number(self, value: Fraction, degree: int) -> Polynomial:
        if value < 0:
            raise Refused(f"a root of {value}")
        whole = value.numerator * value.denominator ** (degree - 1)
        if whole.bit_length() > 1 << 12:
            raise Beyond("the root of a long number")
        made = constant(Fraction(1, value.denominator))
        for prime in primes(whole):
            made = times(made, self.named_root(constant(prime), degree))
        return self.reduced(made)

    def named_root(self, inside: Polynomial, degree: int) -> Polynomial:
        key = degree, repr(sorted(inside.items()))
        name = self.names.setdefault(key, f"<root {len(self.names)}>")
        self.roots[name] = degree, inside
        return {((name, 1),): Fraction(1)}

    def exponential(self, base: str, exponent: ast.expr, node: ast.expr | None = None) -> Quotient:
        """base^(sum of terms) as the product of the powers: each with its whole factor."""
        top, bottom = (self.reduced(part) for part in self.node(exponent))
        if set(bottom) != {()}:
            top, bottom = {((self.canonical(exponent), 1),): Fraction(1)}, constant(1)
        made: Quotient = constant(1), constant(1)
        for monomial, value in top.items():
            factor = value / bottom[()]
            if monomial == () and node is not None:
                if factor.denominator > 1 or abs(factor) > LARGEST_POWER:
                    raise Beyond("a root in an exponent, or a high power")
                part = tuple(power_of(one, abs(int(factor))) for one in self.node(node))
                step = (part[0], part[1])
            else:
                named = f"<{base} to {monomial} / {factor.denominator}>"
                step = {((named, abs(factor.numerator)),): Fraction(1)}, constant(1)
            step = step if factor > 0 else (step[1], step[0])
            made = times(made[0], step[0]), times(made[1], step[1])
        return made

    def reduced(self, polynomial: Polynomial) -> Polynomial:
        """The powers of roots replaced by what they are the roots of."""
        for _ in range(200):
            found = next(
                (
                    (monomial, name, power)
                    for monomial in polynomial
                    for name, power in monomial
                    if name in self.roots and power >= self.roots[name][0]
                ),
                None,
            )
            if found is None:
                return polynomial
            monomial, name, power = found
            degree, inside = self.roots[name]
            rest = dict(polynomial)
            value = rest.pop(monomial)
            powers = dict(monomial)
            powers[name] = power - degree
            left = {tuple(sorted((n, p) for n, p in powers.items() if p)): value}
            polynomial = plus(rest, times(left, inside))
        raise Beyond("powers of roots")

    def is_zero(self, left: str, right: str) -> bool:
        (a, b), (c, d) = self.read(left), self.read(right)
        return not self.reduced(plus(times(a, d), times(c, b), -1))

    def interval(self, polynomial: Polynomial) -> Any:
        """The value of a polynomial of roots of numbers and of constants only."""
        total = iv.mpf(0)
        for monomial, value in self.reduced(polynomial).items():
            term = enclosed(value)
            for name, power in monomial:
                if name == "<pi>":
                    one = iv.pi
                elif name == "<E>":
                    one = iv.e
                elif name in self.roots:
                    degree, inside = self.roots[name]
                    one = self.interval(inside) ** (iv.mpf(1) / degree)
                else:
                    raise Beyond(name)
                term *= one**power
            total += term
        return total


def primes(value: int) -> Iterable[int]:
    """The prime factors of a number; what is left of a large one as it is."""
    for factor in count(2):
        while value % factor == 0:
            yield factor
            value //= factor
        if factor * factor > value or factor > 10**5:
            break
    if value > 1:
        yield value


def fraction_of(node: ast.expr) -> Fraction | None:
    match node:
        case ast.Constant(value=int(value)):
            return Fraction(value)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = fraction_of(inner)
            return None if value is None else -value
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            a, b = fraction_of(left), fraction_of(right)
            return None if a is None or not b else a / b
    return None


# intervals


def enclosed(value: Fraction) -> Any:
    return iv.mpf(value.numerator) / value.denominator


def side(low: Fraction, high: Fraction) -> Any:
    return iv.mpf([enclosed(low).a, enclosed(high).b])


def erf(x: Any) -> Any:
    """An increasing function: its ends by the series 2/sqrt(pi) e^(-x^2) sum 2^n x^(2n+1)/(2n+1)!!, whose terms are
    positive and from n > x^2 on fall at least by half, so that the rest is at most the last one."""

    def at(point: Any) -> Any:
        if point < 0:
            return -at(-point)
        x = iv.mpf([point, point])
        if point > 12:
            return iv.mpf([1 - mpmath.mpf(2) ** -200, 1])
        term, total, n = x, x, 0
        while n < 4 * point * point + 8 or term.b > mpmath.mpf(2) ** -(iv.prec + 10):
            n += 1
            term = term * 2 * x * x / (2 * n + 1)
            total += term
        total += iv.mpf([0, term.b])
        return total * 2 / iv.sqrt(iv.pi) * iv.exp(-x * x)

    return iv.mpf([at(mpmath.mpf(x.a)).a, at(mpmath.mpf(x.b)).b])


FUNCTIONS: dict[str, Any] = {
    "sqrt": iv.sqrt,
    "exp": iv.exp,
    "log": iv.log,
    "sin": iv.sin,
    "cos": iv.cos,
    "erf": erf,
    "erfc": lambda x: 1 - erf(x),
}


def evaluated(node: ast.expr, at: Mapping[str, Any]) -> Any:
    """The interval of an expression at intervals of its variables."""
    match node:
        case ast.Constant(value=int(value)):
            return iv.mpf(value)
        case ast.Name(id=name) if name in at:
            return at[name]
        case ast.Name(id="pi"):
            return +iv.pi
        case ast.Name(id="E"):
            return +iv.e
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -evaluated(inner, at)
        case ast.BinOp(left=base, op=ast.Pow(), right=exponent):
            rational, value = fraction_of(exponent), evaluated(base, at)
            if rational is not None and rational.denominator == 1:
                if abs(rational) > 1 << 20:
                    raise Refused("a power is too long to be written out")
                return value ** int(rational)
            if value.a <= 0 < value.b and rational is not None and rational > 0:
                raise Beyond("a root at 0")
            return iv.exp(small(evaluated(exponent, at) * iv.log(value), "exp"))
        case ast.BinOp(left=left, op=sign, right=right):
            a, b = evaluated(left, at), evaluated(right, at)
            if isinstance(sign, ast.Div) and b.a <= 0 <= b.b:
                raise Beyond("a denominator that may be 0")
            match sign:
                case ast.Add():
                    return a + b
                case ast.Sub():
                    return a - b
                case ast.Mult():
                    return a * b
                case ast.Div():
                    return a / b
        case ast.Call(func=ast.Name(id="ball"), args=[low, high]):
            return iv.mpf([evaluated(low, at).a, evaluated(high, at).b])
        case ast.Call(func=ast.Name(id=name), args=[inner]) if name in FUNCTIONS:
            return FUNCTIONS[name](small(evaluated(inner, at), name))
    raise Beyond(ast.unparse(node))


def small(value: Any, name: str) -> Any:
    """The argument of a function, if its value can be found."""
    if name not in ("sqrt", "log") and not (value.a >= -LARGEST_ARGUMENT and value.b <= LARGEST_ARGUMENT):
        raise Beyond(f"{name} of a large number")
    return value


def value_at(text: str, at: Mapping[str, Any]) -> Any:
    return evaluated(tree_of(text), at)


# the kinds of evidence


def identity(piece: Mapping[str, Any]) -> str:
    worst = PROVED
    for left, right in piece["sides"]:
        try:
            if Algebra(piece["variables"], (left, right)).is_zero(left, right):
                continue
        except Beyond:
            pass
        if not at_points(left, right, piece["variables"]):
            return OPEN
        worst = AT_POINTS
    return worst


def at_points(left: str, right: str, variables: Mapping[str, str]) -> bool:
    """Whether the sides agree to 40 digits at some points; where they differ, the file is refused."""
    met = 0
    for start in range(3):
        at = {name: enclosed(Fraction(7 + 4 * start + i, 3)) for i, name in enumerate(variables)}
        at |= {name: iv.mpf(2 + start + i) for i, name in enumerate(variables) if "integer" in variables[name]}
        try:
            gap = value_at(f"({left}) - ({right})", at)
        except (Beyond, ValueError, ZeroDivisionError, OverflowError, mpmath.libmp.ComplexResult):
            continue
        if not gap.a <= 0 <= gap.b:
            raise Refused(f"{left} is not {right}")
        width, size = mpmath.mpf(gap.b) - mpmath.mpf(gap.a), abs(mpmath.mpf(value_at(left, at).b))
        met += bool(width < mpmath.mpf(10) ** -20 * (1 + size))
    return met > 0


def inequality(piece: Mapping[str, Any]) -> str:
    steps = {name: f"({low} + {piece['steps'][name]})" for name, low in piece["at_least"].items()}
    texts = piece["expression"], f"({piece['numerator']})/({piece['denominator']})"
    algebra = Algebra(piece["variables"], texts, steps)
    try:
        if not algebra.is_zero(*texts):
            raise Refused("the quotient is not the expression")
        for part, strict in ((piece["denominator"], True), (piece["numerator"], piece["strict"])):
            top, bottom = algebra.read(part)
            if set(bottom) != {()} or bottom[()] <= 0:
                raise Beyond("a denominator in a coefficient")
            coefficients: dict[Monomial, Polynomial] = {}
            for monomial, value in algebra.reduced(top).items():
                free = tuple((name, power) for name, power in monomial if name in piece["steps"].values())
                rest = tuple(one for one in monomial if one not in free)
                coefficients.setdefault(free, {})[rest] = value
            for free, coefficient in coefficients.items():
                found = algebra.interval(coefficient)
                if found.b < 0 or (free == () and strict and found.b <= 0):
                    raise Refused(f"the coefficient of {free} is {found}")
                if found.a < 0 or (free == () and strict and found.a <= 0):
                    raise Beyond("the sign of a coefficient")
            if strict and () not in coefficients:
                raise Refused("the constant coefficient is 0")
    except Beyond:
        return OPEN
    return PROVED


def difference(piece: Mapping[str, Any]) -> str:
    at = {name: value_at(value, {}) for name, value in piece["at"].items()}
    try:
        gap = value_at(f"({piece['left']}) - ({piece['right']})", at)
    except (Beyond, ValueError):
        return OPEN
    if gap.a <= 0 <= gap.b:
        raise Refused(f"the sides do not differ at {piece['at']}")
    return PROVED


def failure(piece: Mapping[str, Any]) -> str:
    at = {name: value_at(value, {}) for name, value in piece["at"].items()}
    try:
        found = value_at(piece["expression"], at)
    except (Beyond, ValueError):
        return OPEN
    if found.a > 0:
        raise Refused(f"it is positive at {piece['at']}")
    return PROVED if found.b < 0 or (piece["strict"] and found.b <= 0) else OPEN


def boxes(piece: Mapping[str, Any]) -> str:
    names = list(piece["variables"])
    whole = [tuple(map(number, pair)) for pair in piece["box"]]
    parts = []
    for flat, bound in piece["parts"]:
        read = list(map(number, flat))
        parts.append(list(zip(read[::2], read[1::2], strict=True)))
        if number(bound) <= 0:
            raise Refused(f"a lower bound of {bound}")
    covered(whole, parts)
    if piece["expression"] is None:
        return COMPARED
    tree = tree_of(piece["expression"])
    budget = 20 * len(parts) + 20_000  # parts decided by their centred form are cut again
    for part, (_, bound) in zip(parts, piece["parts"], strict=True):
        middle = {n: enclosed((low + high) / 2) for n, (low, high) in zip(names, part, strict=True)}
        if evaluated(tree, middle).b < enclosed(number(bound)).a:
            raise Refused(f"below its bound at the middle of {part}")
        pending = [part]
        while pending:
            one = pending.pop()
            budget -= 1
            if budget < 0:
                return OPEN
            try:
                found = evaluated(tree, {n: side(*ends) for n, ends in zip(names, one, strict=True)})
                if found.b <= 0:
                    raise Refused(f"not positive on {one}")
                if found.a > 0:
                    continue
            except (Beyond, ValueError, ZeroDivisionError):
                pass
            i = max(range(len(one)), key=lambda k: one[k][1] - one[k][0])
            middle_point = (one[i][0] + one[i][1]) / 2
            pending += [
                [*one[:i], (one[i][0], middle_point), *one[i + 1 :]],
                [*one[:i], (middle_point, one[i][1]), *one[i + 1 :]],
            ]
    return PROVED


def covered(box: list[Any], parts: list[Any]) -> None:
    """The parts are the box, cut in two again and again."""
    if len(parts) == 1:
        if parts[0] != box:
            raise Refused(f"the part {parts[0]} is not {box}")
        return
    for i, (low, high) in enumerate(box):
        middle = (low + high) / 2
        left = [part for part in parts if part[i][1] <= middle]
        right = [part for part in parts if part[i][0] >= middle]
        if left and right and len(left) + len(right) == len(parts):
            covered([*box[:i], (low, middle), *box[i + 1 :]], left)
            covered([*box[:i], (middle, high), *box[i + 1 :]], right)
            return
    raise Refused(f"the parts do not cover {box}")


def box_failure(piece: Mapping[str, Any]) -> str:
    found = ends(piece["value"])
    if found is None or found[0] > 0:
        raise Refused("it is positive there")
    if piece["expression"] is None:
        return COMPARED
    at = {name: enclosed(number(value)) for name, value in zip(piece["variables"], piece["at"], strict=True)}
    value = value_at(piece["expression"], at)
    if value.a > enclosed(found[1]).b or value.b < enclosed(found[0]).a:
        raise Refused("it has another value there")
    return PROVED if value.b <= 0 else OPEN


def comparison(piece: Mapping[str, Any]) -> str:
    signs = [sign for sign in piece["signs"] if sign != "="]
    joined = [f"{sign}=" for sign in signs if "=" in piece["signs"]]  # balls that touch at an end may be "<" or "="
    decided = [truth(piece["left"], sign, piece["right"]) for sign in joined or piece["signs"]]
    if (True not in decided) if piece["holds"] else (decided != [False] * len(decided)):
        raise Refused(f"{piece['left']} {piece['signs']} {piece['right']}")
    return COMPARED


def rounding(piece: Mapping[str, Any]) -> str:
    if len(piece["printed"]) > LARGEST_POWER:
        raise Refused("a printed number that is too long")
    unit = Fraction(1, 2 * 10 ** len(piece["printed"].partition(".")[2]))
    value = ends(piece["value"])
    if value is None:
        raise Refused(f"{piece['value']} is no number")
    (low, high), target = value, number(piece["printed"])
    inside, outside = target - unit <= low and high <= target + unit, high < target - unit or low > target + unit
    if not (inside if piece["holds"] else outside):
        raise Refused(f"{piece['printed']} for {piece['value']}")
    return COMPARED


def cases(piece: Mapping[str, Any]) -> str:
    met = 0
    for case, entries in piece["cases"]:
        for left, sign, right, holds in entries:
            try:
                found = truth(left, sign, right)
            except Beyond:
                continue
            if found is not None and found is not holds:
                raise Refused(f"{case}: {left} {sign} {right} is {found}")
            met += found is not None
    return COMPARED if met else OPEN


def inverse(piece: Mapping[str, Any]) -> str:
    a, b = ([[number(x) for x in row] for row in piece[key]] for key in ("matrix", "inverse"))
    size = range(len(a))
    if not 0 < len(a) <= 300:
        raise Refused(f"a matrix of {len(a)} rows")
    for i in size:
        for k in size:
            if sum(a[i][j] * b[j][k] for j in size) != (i == k):
                raise Refused("the inverse is not one")
    for vector, value in piece["values"]:
        v = [number(x) for x in vector]
        if sum(v[i] * b[i][k] * v[k] for i in size for k in size) != number(value):
            raise Refused(f"the form at {vector} is not {value}")
    return PROVED


def optimum(piece: Mapping[str, Any]) -> str:
    """Minimise sum w_i s_i with sum a_ci/s_i <= 1 for all c: both points keep their constraints and have one value.

    For w_i y_i^2 <= sum_c l_c a_ci, every s has sum w_i s_i >= sum w_i (2 y_i - y_i^2/s_i) >= 2 sum w_i y_i - sum l_c.
    """
    radicand = int(piece["radicand"])
    root = math.isqrt(radicand)

    def read(parts: list[str]) -> tuple[Fraction, Fraction]:
        a, b = map(number, parts)
        return (a + b * root, Fraction(0)) if root * root == radicand else (a, b)

    def product(*factors: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
        made = Fraction(1), Fraction(0)
        for a, b in factors:
            made = made[0] * a + made[1] * b * radicand, made[0] * b + made[1] * a
        return made

    def total(terms: Iterable[tuple[Fraction, Fraction]]) -> tuple[Fraction, Fraction]:
        listed = list(terms)
        return sum((a for a, _ in listed), Fraction(0)), sum((b for _, b in listed), Fraction(0))

    def minus(left: tuple[Fraction, Fraction], right: tuple[Fraction, Fraction]) -> tuple[Fraction, Fraction]:
        return left[0] - right[0], left[1] - right[1]

    def sign(value: tuple[Fraction, Fraction]) -> int:
        a, b = value
        parts = (a > 0) - (a < 0), (b > 0) - (b < 0)
        if parts[0] * parts[1] >= 0:
            return parts[0] or parts[1]
        squares = a * a - b * b * radicand
        return parts[0] * ((squares > 0) - (squares < 0))

    weights, primal, dual = ([read(one) for one in piece[key]] for key in ("weights", "primal", "dual"))
    rows = {words: [read(one) for one in row] for words, row in piece["constraints"]}
    multipliers = [(words, read(one)) for words, one in piece["multipliers"]]
    if not len(weights) == len(primal) == len(dual) or any(len(row) != len(weights) for row in rows.values()):
        raise Refused("points of different lengths")
    if any(sign(s) <= 0 for s in primal) or any(sign(one) < 0 for _, one in multipliers):
        raise Refused("a variance is not positive, or a multiplier is negative")
    whole = product(*primal)
    others = [product(*(s for k, s in enumerate(primal) if k != i)) for i in range(len(primal))]
    for words, row in rows.items():
        if sign(minus(total(map(product, row, others)), whole)) > 0:
            raise Refused(f"the primal point breaks the constraint {words}")
    for i, (w, y) in enumerate(zip(weights, dual, strict=True)):
        allowed = total(product(one, rows[words][i]) for words, one in multipliers)
        if sign(minus(product(w, y, y), allowed)) > 0:
            raise Refused("the dual point breaks its constraint")
    value, twice = read(piece["value"]), (Fraction(2), Fraction(0))
    bound = minus(product(twice, total(map(product, weights, dual))), total(one for _, one in multipliers))
    if any(sign(minus(found, value)) for found in (total(map(product, weights, primal)), bound)):
        raise Refused("the values of the two points are not the optimum")
    return PROVED


def precise_erfc(x: Any) -> Any:
    """erfc of an interval to the bits of its argument, where 1 - erf(x) cancels; a falling function."""
    former = iv.prec
    ends = []
    for end in (x.a, x.b):
        size = int(abs(mpmath.mpf(end))) + 2
        if size > 20:
            point = iv.mpf([end, end])
            tail = far_erfc(point if mpmath.mpf(end) > 0 else -point)
            ends.append(tail if mpmath.mpf(end) > 0 else 2 - tail)
            continue
        iv.prec = former + 2 * size * size
        point, tiny = iv.mpf([end, end]), mpmath.mpf(2) ** -(iv.prec + 10)
        term, total, n = point, point, 0
        while n < 4 * size * size + 8 or abs(mpmath.mpf(term.b)) > tiny:
            n += 1
            term = term * 2 * point * point / (2 * n + 1)
            total += term
        rest = abs(mpmath.mpf(term.b)) + abs(mpmath.mpf(term.a))
        ends.append(1 - (total + iv.mpf([-rest, rest])) * 2 / iv.sqrt(iv.pi) * iv.exp(-point * point))
        iv.prec = former
    return iv.mpf([ends[1].a, ends[0].b])


def far_erfc(x: Any) -> Any:
    """erfc of x > 19: e^(-x^2)/(x sqrt(pi)) sum (-1)^n (2n - 1)!!/(2 x^2)^n, between whose partial sums it lies."""
    term, total, n = iv.mpf(1), iv.mpf(1), 0
    while abs(mpmath.mpf(term.b)) > mpmath.mpf(2) ** -(iv.prec + 10) and n < 300:  # they fall up to n = x^2
        n += 1
        term = term * -(2 * n - 1) / (2 * x * x)
        total += term
    rest = abs(mpmath.mpf(term.a)) + abs(mpmath.mpf(term.b))
    return iv.exp(-x * x) / (x * iv.sqrt(iv.pi)) * (total + iv.mpf([-rest, rest]))


def enclosure(text: str, bits: int) -> tuple[Fraction, Fraction]:
    """The ends of an expression without variables, as fractions, at so many bits."""
    former = iv.prec, mpmath.mp.prec
    iv.prec, mpmath.mp.prec = bits, bits + 20_000
    FUNCTIONS["erfc"], plain = precise_erfc, FUNCTIONS["erfc"]
    try:
        found = value_at(text, {})
        return exactly(found.a), exactly(found.b)
    finally:
        iv.prec, mpmath.mp.prec = former
        FUNCTIONS["erfc"] = plain


def exactly(end: Any) -> Fraction:
    """The end of an interval."""
    sign, mantissa, exponent, _ = mpmath.mpf(end)._mpf_
    return Fraction((-1) ** sign * int(mantissa)) * Fraction(2) ** exponent


def value(piece: Mapping[str, Any]) -> str:
    pair = ends(piece["value"])
    if pair is None:
        raise Refused(f"{piece['value']} is no pair of numbers")
    low, high = pair
    found = enclosure(piece["expression"], 256)
    if found[1] < low or high < found[0]:
        raise Refused(f"{piece['expression']} is not {piece['value']}")
    return PROVED  # in a verdict, where every digit was derived before


KINDS: dict[str, Any] = {
    "law": lambda piece: PROVED,
    "value": value,
    "identity": identity,
    "inequality": inequality,
    "difference": difference,
    "failure": failure,
    "boxes": boxes,
    "box failure": box_failure,
    "comparison": comparison,
    "rounding": rounding,
    "cases": cases,
    "inverse": inverse,
    "optimum": optimum,
}
AGAINST = {"difference", "failure", "box failure"}
COUNTED = {"comparison", "rounding"}


def speaks_for(piece: Mapping[str, Any]) -> bool | None:
    """Whether a piece of evidence is for its condition; cases may be either, as their condition needs them."""
    if piece["kind"] in COUNTED:
        return piece["holds"] is True
    return None if piece["kind"] == "cases" else piece["kind"] not in AGAINST


def condition_of(condition: Mapping[str, Any]) -> str:
    """The weakest grade of a condition's evidence; refused where it contradicts the finding."""
    sides = {speaks_for(piece) for piece in condition["evidence"]}
    if condition["holds"] not in (True, False, None):
        raise Refused(f"{condition['name']}: neither said to hold nor to fail")
    if condition["holds"] is True and False in sides:
        raise Refused(f"{condition['name']}: said to hold, and shown to fail")
    if condition["holds"] is False and sides == {True}:
        raise Refused(f"{condition['name']}: said to fail, and only shown to hold")
    grades = [OPEN] if not condition["evidence"] else []
    for piece in condition["evidence"]:
        try:
            grades.append(KINDS[piece["kind"]](piece))
        except Beyond:
            grades.append(OPEN)
    return max(grades, key=[PROVED, COMPARED, AT_POINTS, OPEN].index)


def seal(document: Mapping[str, Any]) -> str:
    rest = {key: value for key, value in document.items() if key != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def check(document: Mapping[str, Any], *, sealed: bool = True) -> Counter[str]:
    """How many conditions of a certificate have which grade.

    Raises:
        Refused: something in it is not true, or it is not the text that was sealed.
    """
    if document.get("format") == TRACED:
        if sealed and document["sha256"] != seal(document):
            raise Refused("the text was changed after it was sealed")
        return function(document)
    if sealed and document["format"] != FORMAT:
        raise Refused(f"the format is {document['format']!r}, not {FORMAT!r}")
    if sealed and document["sha256"] != seal(document):
        raise Refused("the text was changed after it was sealed")
    if "verdict" in document:
        said(document)
    elif any(
        piece["kind"] in ("law", "value")
        for reading in document["readings"]
        for condition in reading["conditions"]
        for piece in condition["evidence"]
    ):
        raise Refused("it holds parts of a verdict, and does not say which")
    grades: Counter[str] = Counter()
    for reading in document["readings"]:
        for condition in reading["conditions"]:
            grades[condition_of(condition)] += 1
    if not grades:
        raise Refused("it has no condition")
    return grades


def function(document: Mapping[str, Any]) -> Counter[str]:
    """How many operations of a function were derived, and whether its claim was.

    Raises:
        Refused: a fact that does not follow, or a claim that is not kept.
    """
    try:
        steps, decided = traced["derive"](document, gaussian_profile)
    except traced["Wrong"] as problem:
        raise Refused(str(problem)) from None
    except traced["Beyond"] as problem:
        raise Refused(f"more than this checker derives: {problem}") from None
    except (Refused, *UNREADABLE) as problem:
        raise Refused(f"it cannot be read: {type(problem).__name__}: {problem}") from None
    return Counter({PROVED: steps + decided, OPEN: not decided})


def gaussian_profile(square: Fraction, epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """The ends of delta(epsilon) of Gaussian noise."""
    return enclosure(str(derivation["normal_profile"](square, epsilon)), 256)


def said_of_function(document: Mapping[str, Any], grades: Counter[str]) -> str:
    found = "derived" if not grades[OPEN] else "every operation derived, the claim left open"
    return f"CERTIFIED: {document['claim']} of {document['function']}, {document['relation']}: {found}"


@lru_cache(maxsize=4)
def derived_once(head: str) -> Any:
    return derivation["derive"](json.loads(head), enclosure)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON in which no key stands twice."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise Refused("a key stands twice")
    return made


def whole(text: str) -> int:
    if len(text) > 1000:
        raise Refused("a whole number without quotes that is too long")
    return int(text)


def no_number(name: str) -> float:
    raise Refused(f"{name} is no number")


def read(path: Path) -> Any:
    """What a file of JSON says."""
    with path.open("rb") as file:
        text = file.read(MOST_BYTES + 1)
    if len(text) > MOST_BYTES:
        raise Refused("it is too long")
    return json.loads(text, object_pairs_hook=once, parse_int=whole, parse_constant=no_number)


def manifest(path: Path, found: Iterable[Path]) -> None:
    """Whether a manifest is sealed, and names the certificates beside it, each with its hash, and no others."""
    document = read(path)
    if document["sha256"] != seal(document):
        raise Refused("the text was changed after it was sealed")
    names = {str(one.relative_to(path.parent)) for one in found if one.is_relative_to(path.parent)}
    listed = {name for name in document["files"] if name.endswith(".json")}
    if not listed or names != listed:
        raise Refused(f"it does not name the {len(names)} certificates beside it")
    for name, digest in document["files"].items():
        if hashlib.sha256((path.parent / name).read_bytes()).hexdigest() != digest:
            raise Refused(f"{name} is not the file that it names")


def over(number: int, frame: object) -> None:
    raise Unfinished


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Ends what runs in it after ``seconds`` by ``Unfinished``.

    A library may catch the alarm and go on, or raise an error of its own (interval comparisons of mpmath do): the
    alarm rings again, and whatever ends after the deadline has not finished.
    """
    if not hasattr(signal, "SIGALRM"):
        yield
        return
    end = time.monotonic() + seconds
    signal.signal(signal.SIGALRM, over)
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, 0.05)
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except (Refused, *UNREADABLE) as problem:
        if time.monotonic() >= end:
            raise Unfinished from problem
        raise
    if time.monotonic() >= end:
        raise Unfinished


def said(document: Mapping[str, Any]) -> str:
    """What the certificate of a verdict says, and how far it is derived.

    Raises:
        Refused: the conditions are not those that follow from the head.
    """
    head = document["verdict"]
    try:
        for extra in set(document) - {"format", "verdict", "versions", "readings", "sha256"}:
            raise derivation["Wrong"](f"{extra}: there is no such field")
        conditions, gap = derived_once(json.dumps(head))
        expected = [{"reading": "the claim", "conditions": conditions}]
        place = derivation["first_difference"](document["readings"], expected, "readings")
        if place is not None:
            raise derivation["Wrong"](place)
    except derivation["Wrong"] as problem:
        raise Refused(str(problem)) from None
    except Beyond as problem:
        raise Refused(f"more than this checker derives: {problem}") from None
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError) as problem:
        raise Refused(f"it cannot be read: {type(problem).__name__}: {problem}") from None
    numbers = ", ".join(f"{name}={text}" for name, text in head["claim"].items() if name != "kind")
    sizes = ", ".join(f"{name} {text}" for name, text in head["parameters"].items() if isinstance(text, str))
    found = "compared only" if gap == "compared only" else "derived" + (f", {gap}" if gap else "")
    return f"{head['concluded']}: {numbers} of {head['mechanism']} ({sizes}), {head['relation']}: {found}"


def main(arguments: list[str]) -> int:
    former = iv.prec, mpmath.mp.prec
    iv.prec, mpmath.mp.prec = 200, 220
    try:
        return check_all(arguments)
    finally:
        iv.prec, mpmath.mp.prec = former


def check_all(arguments: list[str]) -> int:
    total: Counter[str] = Counter()
    refused = 0
    seconds = 600.0
    if arguments[:1] == ["--timeout"] and len(arguments) > 1:
        seconds, arguments = float(arguments[1]), arguments[2:]
    given = [Path(argument) for argument in arguments]
    found = [file for path in given for file in ([path] if path.is_file() else sorted(path.rglob("*.json")))]
    files = [file for file in found if file.name != "MANIFEST.json"]
    if not found:
        print(f"no certificate in {' '.join(arguments) or 'nothing'}: give a file, or the folder of --certificates")
        return 2
    unfinished = 0
    for path in found:
        try:
            with deadline(seconds):
                if path in files:
                    document = read(path)
                    grades = check(document)
                    total += grades
                    if document.get("format") == TRACED:
                        print(f"{path}: {said_of_function(document, grades)}")
                    elif "verdict" in document:
                        print(f"{path}: {said(document)}")
                else:
                    manifest(path, files)
        except Unfinished:
            unfinished += 1
            print(f"NOT FINISHED {path}: nothing is known of it after {seconds:g} s")
        except (Refused, *UNREADABLE) as problem:
            refused += 1
            print(f"REFUSED {path}: {type(problem).__name__}: {' '.join(str(problem).split())[:200]}")
    print(", ".join(f"{total[grade]} conditions {grade}" for grade in (PROVED, COMPARED, AT_POINTS, OPEN)))
    return 1 if refused else 2 if unfinished else 0


UNREADABLE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    OSError,
    RecursionError,
    SyntaxError,
    TypeError,
    ValueError,
)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
