"""Hostile command lines, plans, witnesses, certificates, tables and journals, made from random numbers.

A command line begins as one that works (`LINES`) and is then spoilt in a few places, so that most of them get past the
reading of options and reach what the options are for. The options that may be added are those the commands have. Files
begin as sound ones and are spoilt in their bytes, or made anew with contents that a reader may not expect.
"""

from __future__ import annotations

import copy
import io
import json
import math
import random
import shlex
import struct
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import typer

from dpverdict.audit.distinguishing.witness_document import checksum
from dpverdict.audit.trials.catalogue import mechanism_classes, offered
from dpverdict.cli.application import app
from dpverdict.cli.options import MechanismCommand
from dpverdict.proofs.ledger import certificates

NUMBERS: Final = [
    *("0", "1", "2", "3", "7", "0.5", "1e-3", "1/3", "1e3", "-1", "-0.0", "nan", "inf", "-inf", "1e400", "1e-400"),
    *("1/0", "0/0", "1e-9000", "1e9000", "-1e9000", "1e10001", "1e-10001", "1e5000000000", "0x10", "1_0", "٣", "1e"),
    *("1" * 400, "0." + "3" * 400, "1e18", "1e9", "9223372036854775808", "1e308", "5e-324", ".", "e5", "+1", "1e+3"),
    *("1e7", "1e-17", "0.9999999999999999", "1000000007/1000000009", "2**31", "1,000", "½", "1e1e1", "--1", "1j"),
]
HOSTILE: Final = [
    *("", " ", "--", "-", "None", "true", "[]", "{}", "../../etc/passwd", "/", ".", "..", "/dev/null", "/dev/zero"),
    *("/nonexistent/x", "\x1b[31mred\x1b[0m", "\x07", "a\nb", "\u202egnp.exe", "é" * 50, "a" * 5000, "\udcff", "😀"),
    *("mu=", "mu=nan", "eps=1,delta=2", "eps=1, delta=1e-6, mu=1", "rho=-1", "eps=1e-9000", "mu=1e9000", "eps=;"),
    *("tcp://256.0.0.1:99999", "<script>alert(1)</script>", "${HOME}", "$(reboot)", "%s%n", "'; DROP TABLE", "a,b,,c"),
    *("release.py", "release.py:", ":noisy", "release.py:missing", "release.py:noisy", "os:system", "x.py:f", "json:"),
    *("table.csv", "table.npy", "pair.npz", "plan.toml", "witness.json", "plan.toml:title", "table.csv#a", "binary:3"),
    *(
        "pipe",
        "empty",
        "folder",
        "folder/",
        "loop",
        "/dev/full",
        "/proc/self/mem",
        "/dev/tty",
        "~",
        "a" * 300 + ".json",
    ),
    *("release.py:table", "release.py:first", "release.py:CALLS", "release.py:noisy:noisy", "release.py:__name__"),
    *(
        "\u2028",
        "\u200b",
        "a\rb",
        "a\tb",
        "ﬁ",
        "\ufeffmu=1",
        "NULL",
        "*",
        "?",
        "[[]]",
        "\\",
        '"',
        "'",
        "#",
        "=",
        "a=b=c",
    ),
]
CLAIMS: Final = ["mu=1", "eps=1", "eps=1, delta=1e-6", "rho=0.5", "alpha=2, eps=1", "mu=0.2"]
LINES: Final = [
    "audit correlated-gaussian --dim 3 --mu 1 --samples 300 --seed 1",
    "audit release.py:noisy --neighbours pair.npz --claim eps=3 --samples 300 --seed 1",
    "audit standard-gaussian --dim 3 --mu 1 --data table.csv --record 2 --samples 300",
    *("audit broken:M3 --dim 3 --mu 1 --no-test", "audit tree-counter --horizon 9 --epsilon 1 --no-test"),
    "audit broken:M3 --dim 3 --mu 1 --samples 300 --witness w.json --json out.json",
    "tap release.py:noisy --neighbours pair.npz --claim eps=3 --seed 1",
    *(
        "curve laplace --dim 3 --epsilon 1 --points 3 --csv out.csv",
        "curve standard-gaussian --dim 3 --mu 1 --points 3",
    ),
    *("calibrate gaussian --sensitivity 1 --claim mu=1", 'compose "3 x laplace epsilon=1 dim=1" --claim eps=4'),
    *("run plan.toml", "run plan.toml --journal kept --fresh --json out.json", "scan --from corpus", "corpus list"),
    "scores --in in.npy --out out.npy --claim eps=1 --seed 1",
    "scores --in in.csv --out in.csv --claim mu=1 --json out.json",
    *("replay witness0.json --mechanism release.py:leaky --seed 5", "replay witness1.json --trust-code --samples 300"),
    *(
        "prove lebeda2024 --statement 3.4",
        "check certificates/lebeda2024/thm3.4.json",
        "check certificates",
        "list",
        "doctor",
    ),
    *("corpus show opendp-rr-bool", "corpus run opendp-rr-bool --from corpus", "audit {any} --no-test", "curve {any}"),
]
"""Lines that work; ``{any}`` is one of the mechanisms with the parameters of its example."""


CORPUS: Final = ["corpus", "run"]


def takes_minutes(words: list[str]) -> bool:
    """The self-test; and, where none is named, all statements or all entries of the corpus."""
    options = [word.startswith("-") for word in words]
    named = sum(not one and not before for one, before in zip(options, [False, *options], strict=False))
    return words[:1] == ["selftest"] or (words[0] == "prove" and named < 2) or (words[:2] == CORPUS and named < 3)


Files = dict[str, bytes | str]


@dataclass(frozen=True, slots=True)
class Case:
    """The words of a command line, and the files it finds in its folder; a text in place of bytes is a link to it."""

    words: tuple[str, ...]
    files: Files


@cache
def options_of(command: str) -> dict[str, bool]:
    """The options of a command, and whether each is a flag."""
    found: Any = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]  # typer's own group
    options = {
        one.opts[0]: bool(getattr(one, "is_flag", False)) for one in found.params if one.opts[0].startswith("--")
    }
    if isinstance(found, MechanismCommand):
        options |= {"--" + name.lower().replace("_", "-"): False for name in offered()}
    return options


def a_word(random: random.Random) -> str:
    chosen = random.random()
    if chosen < 0.45:
        return random.choice(NUMBERS)
    if chosen < 0.6:
        return random.choice(CLAIMS)
    if chosen < 0.97:
        return random.choice(HOSTILE)
    return "".join(chr(random.choice([*range(1, 0x250), 0x2028, 0x1F600])) for _ in range(random.randrange(9)))


def command_line(random: random.Random, material: dict[str, bytes]) -> Case:
    """A line that works, spoilt in one to three places; or, one time in ten, words without any sense."""
    line = random.choice(LINES)
    name, kind = random.choice(sorted(mechanism_classes().items()))
    words = shlex.split(line.replace("{any}", f"{name} {kind.example}"))
    if random.random() < 0.1:
        commands = [*sorted({line.split()[0] for line in LINES}), "--version", "--odd", ""]
        words = [random.choice(commands), *(a_word(random) for _ in range(random.randrange(4)))]
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        words = spoilt_line(random, words)
    if takes_minutes(words):
        words = ["list", *words[1:]]
    for at, word in enumerate(words[:-1]):  # workers are not what is tried here
        if word in ("--jobs", "--dask") and words[at + 1] not in ("0", "-1", "nan", "", "1e400"):
            words[at + 1] = random.choice(["1", "0", "nan", "x"])
    return Case(tuple(word.replace("\0", "") for word in words), material)


def spoilt_line(random: random.Random, words: list[str]) -> list[str]:
    """The words with one of them exchanged, left out or repeated, or with an option more."""
    words = list(words)
    options = options_of(words[0]) if words[0] in typer.main.get_command(app).commands else {}  # type: ignore[attr-defined]
    values = [at for at in range(1, len(words)) if words[at - 1].startswith("--") and not words[at].startswith("--")]
    at = random.choice(values or [len(words) - 1])
    ways = {"value": 9, "option": 6, "foreign": 1, "word": 2, "less": 1, "twice": 1, "swap": 1, "joined": 1}
    match random.choices(list(ways), list(ways.values()))[0]:
        case "value":
            words[at] = a_word(random)
        case "option" if options:
            option = random.choice(sorted(options))
            words += [option] if options[option] else [option, a_word(random)]
        case "foreign":
            option = random.choice(sorted(options_of(random.choice(["audit", "run", "scores", "replay", "prove"]))))
            words += [option, a_word(random)]
        case "word":
            words.insert(random.randrange(len(words) + 1), a_word(random))
        case "less":
            del words[random.randrange(len(words))]
        case "twice":
            words += words[max(1, at - 1) : at + 1]
        case "swap":
            other = random.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        case _:
            words[at - 1 : at + 1] = [f"{words[at - 1]}={a_word(random)}"]
    return words or [""]


def changed_text(random: random.Random, text: str) -> str:
    """A text with a few pieces removed, repeated, exchanged, or replaced by hostile ones."""
    for _ in range(random.randrange(1, 4)):
        at, length = random.randrange(len(text) + 1), random.choice([1, 1, 3, 10, 40])
        twice = text[at : at + length] * 2
        piece = random.choice(["", twice, a_word(random), '"', "[[audit]]", "=", "\n", "\x00", "{"])
        text = text[:at] + piece + text[at + length :]
    return text


def a_value(random: random.Random) -> str:
    """A value of TOML that a key may not expect."""
    word = a_word(random)
    others = ["1e400", "-1", "nan", "[1, 2]", "{a = 1}", "true", "1979-05-27", "[[1], [2]]", "{a = {b = {c = []}}}"]
    deep = ["[" * 500 + "]" * 500, "9" * 5000, '"' + "x" * 10**5 + '"', "[" + "1," * 10**4 + "]", '"""\na\nb"""']
    return random.choice([json.dumps(word), json.dumps(word), word or "0", *others, random.choice(deep)])


PLAN_KEYS: Final = [
    *("title", "seed", "error_probability", "timeout", "memory", "name", "mechanism", "claim", "dim", "mu", "samples"),
    *("expect", "exact_only", "data", "record", "neighbours", "test_delta", "numbers", "search", "observe", "tap"),
    *(
        "score",
        "adjacency",
        "epsilon",
        "delta",
        "in",
        "out",
        "scores",
        "included",
        "audit",
        "deployment",
        "calibration",
    ),
    *("privacy_unit", "budget", "records", "publication_date", "dim.x", '"a b"', "kind", "jobs", "dask", "journal"),
]
PLAN_HEADS: Final = [
    "[[audit]]",
    "[[scores]]",
    "[deployment]",
    "[audit]",
    "[[audit.claim]]",
    "[a.b.c]",
    "[[deployment]]",
]


def plan(random: random.Random, material: dict[str, bytes]) -> Case:
    """A plan with values of other kinds, other keys, other tables, or damaged text or bytes."""
    text = material["plan.toml"].decode()
    way = random.random()
    if way < 0.75:
        lines = text.splitlines()
        for _ in range(random.randrange(1, 4)):
            at = random.randrange(len(lines))
            key, equals, _ = lines[at].partition("=")
            key = key if equals else random.choice(PLAN_KEYS)
            lines[at] = random.choice(
                [
                    *[f"{key}= {a_value(random)}"] * 3,
                    f"{lines[at]}\n{random.choice(PLAN_KEYS)} = {a_value(random)}",
                    f"{lines[at]}\n{random.choice(PLAN_HEADS)}",
                    f"{key.strip()}x = 1",
                    f"{lines[at]}\n{lines[at]}",
                ]
            )
        text = "\n".join(lines)
    elif way < 0.95:
        text = changed_text(random, text)
    content = text.encode("utf-8", "replace")
    content = damaged(random, content) if way >= 0.95 else content
    outputs = random.choice([(), (), (), ("--packet", "packet"), ("--json", "j.json", "--junit", "j.xml")])
    return Case(("run", "plan.toml", "--quiet", *outputs), material | {"plan.toml": content})


def other_value(random: random.Random, value: object) -> object:
    """A value in place of another: of another kind, hostile, huge, or a small change of it."""
    huge: list[object] = [10**18, -1, 0, 1e308, -1e308, math.inf, -math.inf, math.nan, 10**400, 0.5, 1e-320, True]
    other: list[object] = [None, "", [], {}, [[]], "nan", a_word(random), [1, 2, 3], {"a": None}, "1" * 400, "\ud800"]
    if isinstance(value, bool | None):
        return random.choice([*huge[:5], *other])
    if isinstance(value, int | float):
        return random.choice([*huge, value + 1, -value, value * 2, str(value), *other[:6]])
    if isinstance(value, str):
        return random.choice([*other, value + "x", changed_text(random, value or "a"), 7])
    if isinstance(value, list) and value:
        return random.choice([value[:-1], value * 2, value[::-1], [*value, None], [value], value * 10**4, *other])
    return random.choice([*huge, *other])


def changed_json(random: random.Random, document: dict[str, Any]) -> dict[str, Any]:
    """A document in which some places hold other values, at any depth."""
    document = copy.deepcopy(document)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        place: Any = document
        while True:
            keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = random.choice(keys)
            inner = place[key]
            if not isinstance(inner, dict | list) or not inner or random.random() < 0.3:
                break
            place = inner
        if isinstance(place, dict) and random.random() < 0.1:
            del place[key]
        elif isinstance(place, dict) and random.random() < 0.05:
            place[a_word(random)] = other_value(random, inner)
        else:
            place[key] = other_value(random, inner)
    return document


def resealed(random: random.Random, content: bytes, seal: Callable[[dict[str, Any]], str] = checksum) -> bytes:
    """A JSON document with other values at any place, and a checksum that fits."""
    document = json.loads(content)
    changed = changed_json(random, {key: value for key, value in document.items() if key != "sha256"})
    try:
        changed["sha256"] = seal(changed)
    except (ValueError, TypeError):  # what canonical JSON does not hold
        changed["sha256"] = "0" * 64
    return json.dumps(changed).encode("utf-8", "replace")


def witness(random: random.Random, material: dict[str, bytes]) -> Case:
    """A witness, or one time in ten a certificate, with other values at any place and a checksum that fits."""
    if random.random() < 0.1:
        name = random.choice([name for name in material if name.startswith("certificates/") and name.endswith(".json")])
        return Case(("check", name), material | {name: resealed(random, material[name], certificates.seal)})
    name = random.choice([name for name in material if name.startswith("witness")])
    code = random.choice([(), ("--trust-code",), ("--mechanism", "release.py:leaky"), ("--mechanism", "broken:M9")])
    options = random.choice([(), ("--samples", "300"), ("--seed", "5"), ("--samples", a_word(random))])
    held = material | {"witness.json": resealed(random, material[name])}
    return Case(("replay", "witness.json", *code, *options), held)


def damaged(random: random.Random, content: bytes) -> bytes:
    """Bytes with a few flipped, cut, repeated or replaced; the head of a file more often than its body."""
    data = bytearray(content)
    for _ in range(random.choice([1, 1, 2, 5])):
        at = random.randrange(max(1, min(len(data), random.choice([16, 128, len(data)]))))
        at = len(data) - 1 - at if random.random() < 0.2 else at  # the tables of contents of archives stand at the end
        kind = random.randrange(5)
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << random.randrange(8)
        elif kind == 1:
            del data[max(0, at) :]
        elif kind == 2:
            data[at:at] = bytes(random.randrange(256) for _ in range(random.choice([1, 4, 64])))
        elif kind == 3 and data:
            data[at % len(data)] = random.choice([0, 10, 34, 40, 41, 44, 48, 57, 123, 125, 255])
        else:
            del data[max(0, at) : at + random.choice([1, 4, 64])]
    return bytes(data)


SHAPES: Final = [
    *("()", "(0,)", "(0, 3)", "(3, 0)", "(6,)", "(6, 3)", "(2000000000, 3)", "(10**30,)", "(1, 9000000000000000000)"),
    *("(-1, 3)", "(3.5,)", "(True, 3)", "(6, 3, 2)", "(1,) * 64", "(6, 3) + (1,) * 40", "6", "None", "[6, 3]"),
]
DTYPES: Final = [
    *("<f8", ">f8", "<f4", "<f2", "<i8", "|b1", "|u1", "<c16", "<U4", "|S3", "|O", "<M8[D]", "<m8[s]", "|V8", "<f16"),
    *("<U1000000000", "[('a', '<f8')]", "<f8, <i4", "x" * 300, "|V0", "<U0"),
]


def declared_npy(random: random.Random) -> bytes:
    """A .npy file that declares any shape and type, over a few bytes of any value."""
    shape, kind = random.choice(SHAPES), random.choice(DTYPES)
    described = kind if kind.startswith("[") else repr(kind)
    header = f"{{'descr': {described}, 'fortran_order': {random.choice(['True', 'False'])}, 'shape': {shape}, }}"
    header = changed_text(random, header) if random.random() < 0.2 else header
    head = header.encode("latin1", "replace")
    version = random.choice([1, 1, 1, 2, 3, 4, 255])
    size = struct.pack("<H" if version == 1 else "<I", min(len(head) + 1, 65535))
    body = bytes(random.randrange(256) for _ in range(random.choice([0, 8, 48, 144, 288])))
    return b"\x93NUMPY" + bytes([version, 0]) + size + head + b"\n" + body


def an_archive(random: random.Random, names: list[str]) -> bytes:
    """A .npz of declared arrays, or of zeros that unpack to much more than the file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", random.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name in names:
            if random.random() < 0.15:
                head = b"\x93NUMPY\x01\x00v\x00" + b"{'descr': '<f8', 'fortran_order': False, 'shape': (500000, 8), }"
                content = head.ljust(127) + b"\n" + bytes(500000 * 64)
            else:
                content = declared_npy(random)
            archive.writestr(random.choice([name, name, name, "../" + name, name + "x", ""]) + ".npy", content)
    return buffer.getvalue()


def odd_csv(random: random.Random) -> bytes:
    """A .csv file with cells, quotes, line ends, encodings and headers of any kind."""
    width = random.choice([0, 1, 3, 3, 3, 2000])
    cells = [*NUMBERS, *HOSTILE[:20], '"', '"a""b"', "\x00", " 1 ", "1;2", "TRUE", "", "9" * 5000]
    rows = [[f"c{i}" if random.random() < 0.9 else random.choice(cells) for i in range(width)]]
    rows += [
        [random.choice(["0", "1", "0.5"]) if random.random() < 0.9 else random.choice(cells) for _ in range(width)]
        for _ in range(random.choice([0, 1, 6, 200 if width < 10 else 1]))
    ]
    end = random.choice(["\n", "\n", "\r\n", "\r", "\n\n"])
    text = end.join(random.choice([",", ",", ",", ";", "\t"]).join(row) for row in rows)
    return text.encode(random.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin1"]), "replace")


def table(random: random.Random, material: dict[str, bytes]) -> Case:
    """A damaged or odd table of records, pair of datasets or column of scores."""
    names = ["table.csv", "table.npy", "table.npz", "pair.npz", "in.npy", "in.csv", "in.parquet"]
    name = random.choice([name for name in names if name in material])
    stem, kind = name.split(".")
    arrays = {"table": ["records"], "pair": ["dataset", "neighbour"], "in": ["scores"]}[stem]
    odd = {"npy": declared_npy, "npz": lambda random: an_archive(random, arrays), "csv": odd_csv}
    if kind in odd and random.random() < 0.5:
        content = odd[kind](random)
    else:
        content = damaged(random, material[random.choice([name, name, name, "pair.npz"])])
    held = material | {name: content}
    match stem:
        case "table":
            words = ("audit", "correlated-gaussian", "--data", name, "--mu", "1", "--samples", "300")
        case "pair":
            words = ("audit", "release.py:noisy", "--neighbours", name, "--claim", "eps=3", "--samples", "300")
        case _:
            words = ("scores", "--in", name + random.choice(["", "", "", "#score", "#", "#x"]), "--out", "out.npy")
            words += ("--claim", "eps=9")
    return Case(words, held)


def journal(random: random.Random, material: dict[str, bytes]) -> Case:
    """A plan that is continued from a journal in which entries were damaged, exchanged, added, or are no files."""
    names = sorted(name for name in material if name.startswith("plan.toml.journal/"))
    held: Files = dict(material)
    for name in random.sample(names, random.randrange(1, len(names) + 1)):
        match random.randrange(6):
            case 0 | 1:
                held[name] = damaged(random, held[name])
            case 2:
                held[name] = held[random.choice(names)]
            case 3:
                held[f"plan.toml.journal/{random.randrange(10**6)}.entry"] = held[name]
            case 4:
                held[name] = random.choice(["../pipe", "../loop", "../folder", "/dev/zero"])
            case _:
                held[name] = random.choice([b"", bytes(10**7)])
    return Case(("run", "plan.toml", "--quiet", *random.choice([(), (), ("--fresh",)])), held)


KINDS: Final[dict[str, Callable[[random.Random, dict[str, bytes]], Case]]] = {
    "lines": command_line,
    "plans": plan,
    "witnesses": witness,
    "tables": table,
    "journals": journal,
}
