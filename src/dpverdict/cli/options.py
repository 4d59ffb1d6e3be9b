"""What several commands of the command line have in common: the parameters of mechanisms, and shared options."""

from __future__ import annotations

import copy
import functools
import inspect
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import typer
import typer.core
from msgspec import Struct

from dpverdict.audit.documents.request import Request, names_a_callable, option_of, parts

T = TypeVar("T")


@functools.cache
def option(name: str, metavar: str, text: str, panel: str) -> typer.models.OptionInfo:
    """An option that takes a value, shown in a panel of the help; made once, as typer evaluates signatures often."""
    # typer declares the result of Option as Any: one object serves as an annotation of every type
    found: typer.models.OptionInfo = typer.Option(name, metavar=metavar, help=text, rich_help_panel=panel)
    return found


def part(kind: type[Struct], name: str) -> typer.models.ParameterInfo:
    """The argument or option of the command line for a part of a request, as `documents.request` says."""
    said = parts(kind)[name]
    if "panel" not in said:
        made: typer.models.ParameterInfo = typer.Argument(metavar=name.upper(), help=said["text"], show_default=False)
        return made
    if "metavar" in said:
        return option(option_of(kind, name), said["metavar"], said["text"], said["panel"])
    made = typer.Option(option_of(kind, name), help=said["text"], rich_help_panel=said["panel"], show_default=False)
    return made


MechanismName = Annotated[str, part(Request, "mechanism")]
OwnClaim = Annotated[str | None, part(Request, "claim")]
Neighbours = Annotated[str | None, part(Request, "neighbours")]
BaseRate = Annotated[str | None, part(Request, "base_rate")]
Jobs = Annotated[str | None, option("--jobs", "N", "Worker processes; 1 if not given.", "Machines")]
Dask = Annotated[str | None, option("--dask", "ADDRESS", "A Dask scheduler to run on, tcp://host:port.", "Machines")]
Timeout = Annotated[
    str | None, option("--timeout", "SECONDS", "Stop an audit that has not finished by then.", "Machines")
]
Memory = Annotated[
    str | None,
    option("--memory", "SIZE", "Of each process, such as 2G; else no limit.", "Machines"),
]
JsonReport = Annotated[Path | None, option("--json", "FILE", "Write the report as JSON.", "Output")]
HtmlReport = Annotated[Path | None, option("--report", "FILE", "Write the report as one HTML page.", "Output")]
Junit = Annotated[Path | None, option("--junit", "FILE", "Write the results as JUnit XML.", "Output")]
Sarif = Annotated[
    Path | None, option("--sarif", "FILE", "Write what was found at which line as SARIF 2.1.0.", "Output")
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print nothing; the exit code is the answer.", rich_help_panel="Output")
]

Details = Annotated[
    bool, typer.Option("--details", help="Print all that was found, not its first lines.", rich_help_panel="Output")
]


def command_line(context: typer.Context) -> str | None:
    """What was typed; None where the command was called from Python."""
    return None if context.obj is None else shlex.join(["dpverdict", *context.obj])


def takes(kind: type[Struct]) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Give a command one parameter for every part of a request, in the place of its own parameter ``request``.

    Nothing is listed twice: a part that is added to the request is an option of the command. A switch that is not
    given is None; the request has a word for it otherwise.

    Args:
        kind: of the request; the parameters of a mechanism are added by `MechanismCommand`.
    """

    def decorate(command: Callable[..., T]) -> Callable[..., T]:
        own = inspect.signature(command, eval_str=True).parameters
        place = list(own).index("request")
        made = [_parameter_of_part(kind, name) for name in parts(kind)]
        others = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own.values()]

        @functools.wraps(command)
        def wrapped(**given: Any) -> T:
            context: typer.Context = given["context"]
            words: dict[str, Any] = {
                name: _in_words(given.pop(name)) if name in _SWITCHES else given.pop(name) for name in parts(kind)
            }
            words["command"] = command_line(context)
            if kind is Request:
                words["options"] = parameters(context)
            return command(request=kind(**words), **given)

        shown = [*others[:place], *made, *others[place + 1 :]]
        wrapped.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # what typer reads
        wrapped.__annotations__ = {one.name: one.annotation for one in shown}
        return wrapped

    return decorate


_SWITCHES: Final = ("tap",)


def _parameter_of_part(kind: type[Struct], name: str) -> inspect.Parameter:
    """The parameter of a function of which typer makes the option for a part of a request."""
    said = parts(kind)[name]
    default: object = inspect.Parameter.empty if "panel" not in said else False if name == "exact_only" else None
    of_value: object = str if "panel" not in said else str | None
    if "metavar" not in said and "panel" in said:
        of_value = bool | None if name in _SWITCHES else bool
    annotation = Annotated[of_value, part(kind, name)]  # type: ignore[valid-type]  # made from what is said of it
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _in_words(switch: bool | None) -> str | None:
    return None if switch is None else "yes" if switch else "no"


class MechanismCommand(typer.core.TyperCommand):
    """A command with one option for every parameter of any mechanism, after its argument ``mechanism``.

    The options are made of what the mechanisms declare (`dpverdict.audit.trials.catalogue.offered`) when this command
    is parsed or explains itself, not before: they load the numerical libraries, and other commands need not wait. The
    function of the command does not receive them; it reads what was given from its context, by `parameters`.
    """

    help: str | None

    def get_params(self, ctx: Any) -> list[Any]:  # of typer's own parser or of click's, as the version has it
        """The parameters of the command, with those of the mechanisms; of a help, those that it shows."""
        own: list[Any] = super().get_params(ctx)
        named = ctx.meta.get(_EXPLAINED)
        if _MADE not in ctx.meta:
            from dpverdict.audit.trials.catalogue import offered

            ctx.meta[_MADE] = _typer_options(offered(named))
        made = list(ctx.meta[_MADE].values())
        if ctx.meta.get(_IN_HELP, False):
            if named is None:
                return own
            if names_a_callable(named) and not made:  # a function: what its neighbours, its table and its calls are
                return [*map(_unlisted, own[:1]), *(one for one in own if one.rich_help_panel in ("Audit", "Tests"))]
            if made:
                return [*map(_unlisted, own[:1]), *made, *(one for one in own if one.name == "help")]
        first = next(i for i, parameter in enumerate(own) if parameter.name == "mechanism") + 1
        return [*own[:first], *made, *own[first:]]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line; what is completed or explained after a NAME is the mechanism of that name."""
        named = [text for text in args if not text.startswith("-")]
        if named and ("--help" in args or ctx.resilient_parsing):
            from dpverdict.audit.trials.catalogue import mechanism_classes

            ctx.meta[_EXPLAINED] = next((text for text in named if text in mechanism_classes()), named[0])
        rest: list[str] = super().parse_args(ctx, args)
        return rest

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """``--help`` shows the options that the command always takes, ``NAME --help`` those of a mechanism."""
        if self.name == "audit" and _EXPLAINED not in ctx.meta:
            formatter.write(_one_screen(ctx.command_path, super().get_params(ctx)))
            return
        whole, ctx.meta[_IN_HELP] = self.help, True
        try:
            self.help = self._explanation(ctx)
            super().format_help(ctx, formatter)
        finally:
            self.help = whole
            ctx.meta.pop(_IN_HELP)

    def _explanation(self, ctx: Any) -> str:
        from dpverdict.audit.trials.catalogue import mechanism_classes, takes, title_of

        named = ctx.meta.get(_EXPLAINED)
        if named is None:
            more = f"The options of a mechanism: {ctx.command_path} NAME --help; their names: dpverdict list."
            return f"{self.help}\n\n{more}"
        mechanism = mechanism_classes().get(named)
        if mechanism is None:
            whole = self.help or ""
            return _OF_FUNCTIONS.format(named) if self.name == "audit" and names_a_callable(named) else whole
        said = [f"{named}: {title_of(mechanism)}", f"Source: {mechanism.source}."]
        if self.name != "calibrate":  # the example has its noise already
            said.append(f"For example: {ctx.command_path} {named} {mechanism.example}")
        if self.name == "audit" and not takes(named, "delta"):
            said.append("Its epsilon: the same with --delta 1e-6, and without --claim.")
        return "\n\n".join([*said, f"What every mechanism takes: {ctx.command_path} --help"])

    def invoke(self, ctx: Any) -> Any:
        """Run the command, with the parameters of the mechanism in its context."""
        ctx.meta[_GIVEN] = {name: ctx.params.pop(made.name) for name, made in ctx.meta[_MADE].items()}
        return super().invoke(ctx)


def _one_screen(path: str, own: list[Any]) -> str:
    """What every audit takes, in a line each: with a panel around each kind it would be two screens."""
    lines = [
        f"Usage: {path} MECHANISM [OPTIONS]",
        "",
        "Audit a mechanism: does it keep the promise it makes? It is one that dpverdict",
        "list shows, or a function of your own, such as release.py:noisy_counts.",
        "",
        f"  {path} correlated-gaussian --dim 100 --mu 1 --report out.html",
        f'  {path} release.py:noisy_counts --schema patients.toml --claim "eps=1"',
        "",
        f"The options of one mechanism:  {path} NAME --help",
        f"Those of a function in full:   {path} release.py:noisy_counts --help",
    ]
    panels: dict[str, list[str]] = {}
    for one in own:
        if one.param_type_name != "option" or one.name == "help":
            continue
        said = parts(Request).get(one.name, {})
        words = " / ".join([*one.opts, *one.secondary_opts]) + ("" if one.is_flag else f" {one.metavar}")
        text = said.get("brief") or one.help or ""
        panels.setdefault(one.rich_help_panel, []).append(f"  {words.ljust(_WIDEST_OPTION)} {text}")
    for panel, options in panels.items():
        lines += [f"{panel}:", *options]
    return "\n".join([*lines, "Exit codes: 0 certified, 1 refuted, 3 inconclusive, 2 usage error."]) + "\n"


def _unlisted(argument: Any) -> Any:
    """An argument that stands in the usage of a command, and not in its list of arguments."""
    made = copy.copy(argument)
    made.hidden = True
    return made


_OF_FUNCTIONS: Final = "\n\n".join(
    (
        "Audit a function of your own: does it keep the promise it makes?",
        "Of its releases a claim can be refuted, not certified: neighbours are searched in a table, or are given. With "
        "the schema of its table it is followed operation by operation, for every pair of tables, and can be "
        "certified. It runs in a process of its own.",
        "With a table: dpverdict audit {0} --data people.csv --adjacency add-or-remove-one --claim eps=1",
        "For every table: dpverdict schema people.csv --out people.toml, and with the bounds that are promised put in",
        "dpverdict audit {0} --schema people.toml --claim eps=1",
        "The other options, of files and machines: dpverdict audit --help",
        "Exit codes: 0 certified, 1 refuted, 3 inconclusive or not covered, 2 usage error.",
    )
)
_MADE: Final = "dpverdict.options"
_GIVEN: Final = "dpverdict.parameters"
_EXPLAINED: Final = "dpverdict.explained"
_IN_HELP: Final = "dpverdict.in_help"
_WIDEST_METAVAR: Final = 16
_WIDEST_OPTION: Final = 24


def parameters(context: typer.Context) -> dict[str, str | None]:
    """The parameters of the mechanism that were given, by the names of the constructor's arguments."""
    given: dict[str, str | None] = context.meta[_GIVEN]
    return given


def _brief(metavar: str, text: str) -> tuple[str, str]:
    """What stands for a value, and what it is; many words to choose from stand in the text."""
    from dpverdict.audit.trials.catalogue import with_choices

    return (metavar, text) if len(metavar) <= _WIDEST_METAVAR else ("WORD", with_choices(metavar, text))


def _typer_options(offered: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Options by the names of parameters, as typer makes them of a function that has them for its arguments."""

    def scratch(**given: str | None) -> None:
        """Nothing: only its signature counts."""

    shown = [
        inspect.Parameter(
            name.lower(),
            inspect.Parameter.KEYWORD_ONLY,
            default=None,
            annotation=Annotated[
                str | None, option(f"--{name.lower().replace('_', '-')}", *_brief(*words), "Mechanism")
            ],
        )
        for name, words in offered.items()
    ]
    scratch.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    scratch.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]  # what typer reads
    app = typer.Typer(add_completion=False)
    app.command()(scratch)
    made: dict[str, Any] = {parameter.name: parameter for parameter in typer.main.get_command(app).params}
    return {name: made[name.lower()] for name in offered}
