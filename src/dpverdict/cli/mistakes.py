"""What is said of a command line that is wrong: in the words that were typed, with the nearest right form."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dpverdict.audit.documents.request import Request, names_a_callable, parts
from dpverdict.errors import DpverdictError, InvalidValue
from dpverdict.suggestions import close_to, listed, nearest

_OF_CLAIMS: Final = frozenset({"mu", "rho", "epsilon", "delta", "order"})
"""The parts of a claim, which bear the names of options too."""

_OTHER_WORDS: Final = {
    "certify": "audit",
    "test": "audit",
    "verify": "prove",
    "proofs": "prove",
    "mechanisms": "list",
    "epsilon": "compose",
    "loader": "audit-sampler",
    "sampler": "audit-sampler",
    "plan": "run",
    "noise": "calibrate",
    "version": "--version",
}
"""What a command may be called by those who look for it."""


_OTHER_NAMES: Final = {
    "--batch-size": "--rate 256/60000, the size of a batch over the number of records",
    "--sample-rate": "--rate, the size of a batch over the number of records",
    "--sampling-rate": "--rate, the size of a batch over the number of records",
    "--noise": "--noise-multiplier, --sigma or --scale, as the mechanism has it",
    "--num-steps": "--steps",
}
"""What accountants of training runs call an option that bears another name here."""


def in_words_of_the_line(error: DpverdictError, arguments: Sequence[str]) -> str:
    """The message of an error, with the option that the value stands after, and a file that may be meant.

    The error of a process of its own has as its cause the `InvalidValue` that was raised there.
    """
    from dpverdict.audit.trials.catalogue import option as option_for

    message = str(error)
    invalid = error if isinstance(error, InvalidValue) else error.__cause__
    if not isinstance(invalid, InvalidValue) or str(invalid) != message or not invalid.name.isidentifier():
        return message
    name, requirement, option = invalid.name, invalid.requirement, option_for(invalid.name)
    value = invalid.value if isinstance(invalid.value, str) else invalid.shown
    if invalid.value is None:
        if requirement.startswith("given"):
            known = f"add {option}" in invalid.remedy or _of_a_mechanism(name, arguments)
            return option + message.removeprefix(name) if known else message
        if _of_a_mechanism(name, arguments):
            return f"{option} must be given: {requirement}: {invalid.remedy}"
    if name == "relation":
        option = "--adjacency"
    typed = _typed(arguments)
    claim = typed.get("--claim")
    if claim is not None and name in _OF_CLAIMS and typed.get(option) != value and value in claim:
        message = f"--claim={claim!r}: {message}"
    elif option in typed:
        message = option + message.removeprefix(name)
    wanted = f"{requirement} {invalid.remedy}"
    if ("that exists" in wanted or "a known mechanism" in wanted) and "did you mean" not in message:
        message += _near_file(value)
    return message


def _of_a_mechanism(name: str, arguments: Sequence[str]) -> bool:
    """Whether a name is that of a parameter of a mechanism, of which the command makes options."""
    if not arguments or arguments[0] not in ("audit", "tap", "curve", "calibrate"):
        return False
    from dpverdict.audit.trials.catalogue import mechanism_classes

    return any(name == one.name for kind in mechanism_classes().values() for one in kind.parameters)


def _typed(arguments: Sequence[str]) -> Mapping[str, str]:
    """The options of a command line with the word after each, or after its equals sign."""
    found = {}
    for at, word in enumerate(arguments):
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            found[name] = value if equals else next(iter(arguments[at + 1 : at + 2]), "")
    return found


def _near_file(path: str) -> str:
    """A question that ends a remedy: the file that is there, if one has nearly this name."""
    place, name = os.path.split(path.partition(":")[0])
    try:
        there = sorted(os.listdir(place or "."))
    except OSError:
        return ""
    close = close_to(name, there)
    return f"; did you mean {os.path.join(place, close[0])}?" if close else ""


def usage_message(error: Any, arguments: Sequence[str]) -> str:
    """What the parser's error says: all that is missing at once, and what an unknown word may be meant for."""
    if error.ctx is None:
        return str(error.format_message())
    path, command = error.ctx.command_path, error.ctx.command
    known = command.get_params(error.ctx)
    kinds = {kind.__name__ for kind in type(error).__mro__}
    said = str(error.format_message())
    if "NoSuchOption" in kinds:
        return _no_such_option(error.option_name, arguments, known, error.ctx)
    if "MissingParameter" in kinds:
        return _missing(error, known, path)
    if "BadOptionUsage" in kinds:  # no value stands after it
        named = next((one for one in known if error.option_name in one.opts), None)
        what = f": {' '.join(named.help.split())}" if named is not None and named.help else ""
        return f"{error.option_name} must be followed by its value{what}"
    if extra := re.fullmatch(r"Got unexpected extra arguments?(?:\(s\))? \((.*)\)", said):
        return f"unexpected {extra[1]!r}: {_instead_of(extra[1], arguments, known, path)}"
    if unknown := re.match(r"No such command '(.*?)'\.", said):
        return f"No such command {unknown[1]!r}{_instead_of_command(unknown[1], arguments, error.ctx)}"
    if said == "Missing command.":
        return f"{said} {path} --help shows them all: {', '.join(command.commands)}" if path != "dpverdict" else said
    return said


def _no_such_option(option: str, arguments: Sequence[str], known: Sequence[Any], context: Any) -> str:
    path, names = context.command_path, [name for one in known for name in one.opts]
    short = re.fullmatch("-[^-]", option)
    if short is not None:  # one dash: the parser reads the first letter alone
        typed = next((word for word in arguments if word.startswith(option) and not word.startswith("--")), option)
        option = typed.partition("=")[0]
    wanted = "--" + option.lstrip("-").replace("_", "-").lower()
    if wanted in names:
        return f"No such option: {option}: did you mean {wanted}?"
    commands = getattr(context.command, "commands", None)
    if commands:
        named = next((word for word in arguments if word in commands), None)
        if named is not None:
            return f"No such option: {option}: options stand after their command: {path} {named} {option} ..."
    if any(one.name == "mechanism" for one in known):
        from dpverdict.audit.trials.catalogue import mechanism_classes

        mechanism = next(iter(close_to(wanted.lstrip("-"), mechanism_classes())), None)
        if wanted.lstrip("-") in mechanism_classes() and mechanism is not None:
            return f"No such option: {option}: a mechanism is named without dashes: {path} {wanted.lstrip('-')} ..."
    meant = nearest(wanted, names)
    if wanted in _OTHER_NAMES and "--noise-multiplier" in names:
        meant = f"here it is {_OTHER_NAMES[wanted]}"
    return f"No such option: {option}: {meant or f'{path} --help shows them all'}".rstrip()


def _missing(error: Any, known: Sequence[Any], path: str) -> str:
    # what was given has been read before what is missing is noticed
    missing = [one for one in known if one.required and one.name not in error.ctx.params] or [error.param]
    names = listed([one.opts[0] if one.param_type_name == "option" else one.metavar for one in missing])
    (only,) = missing if len(missing) == 1 else (None,)
    # older versions of typer have no help of an argument that is left out of the list of them
    said = "" if only is None else getattr(only, "help", None) or parts(Request).get(only.name, {}).get("text", "")
    what = f": {' '.join(said.split())}" if said else ""
    return f"{names} must be given{what.rstrip('.')}; {path} --help has an example"


def _instead_of(extra: str, arguments: Sequence[str], known: Sequence[Any], path: str) -> str:
    """What is to be done with a word that stands after no option and is no argument of the command."""
    words = extra.split() or [""]
    options = [name for one in known for name in one.opts]
    if "--claim" in options and re.match(r"(eps|epsilon|mu|rho|order|delta)\s*=", words[0]):
        return f'a claim follows its option: --claim "{extra}"'
    if "--included" in options:
        files = "--in FILE#COLUMN --out FILE#COLUMN, or --scores FILE#COLUMN --included FILE#COLUMN"
        return f"a file follows its option: {files}"
    if "--statement" in options and re.fullmatch(r"[a-z]*[\d.]+", words[0]):
        return f"a statement follows its option: --statement {words[0]}"
    first = next((at for at, word in enumerate(arguments) if word == words[0]), 0)
    before = arguments[first - 1] if first else ""
    if any(one.name == "mechanism" for one in known) and not before.startswith("-") and words[0].isidentifier():
        return f"one mechanism is named, and {before!r} was taken for it"
    if len(options) <= 1:
        return f"{path} takes no such word"
    return f"a value follows its option, such as {_with_value(known)}; {path} --help shows them all"


def _with_value(known: Sequence[Any]) -> str:
    taken = next((one for one in known if one.param_type_name == "option" and not one.is_flag), None)
    return "--help" if taken is None else f"{taken.opts[0]} {taken.metavar or 'VALUE'}"


def _instead_of_command(word: str, arguments: Sequence[str], context: Any) -> str:
    path, commands = context.command_path, list(context.command.commands)
    dashed = word.lower().replace("_", "-")
    close = [dashed] if dashed in commands else close_to(dashed, commands)
    if close:
        return f": did you mean {' or '.join(close)}?"
    if path == "dpverdict":
        if word.lower() in _OTHER_WORDS:
            return f": did you mean {_OTHER_WORDS[word.lower()]}?"
        from dpverdict.audit.trials.catalogue import mechanism_classes

        if word in mechanism_classes() or names_a_callable(word):
            return f": a command comes first: dpverdict audit {word} ..."
    return f": {path} --help shows them all"
