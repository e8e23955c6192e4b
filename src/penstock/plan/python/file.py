"""A Python file of an app: run once under a name of its own, and searched for the App it makes."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Iterable
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from typing import Protocol, cast

from penstock.errors import AppFault, PenstockError, Where, masked
from penstock.plan.model.declare import Declaration, Function
from penstock.plan.model.user_code import OWN_NAME
from penstock.plan.python.functions import functions_in
from penstock.plan.python.other_programs import refuse_other_programs
from penstock.plan.sql.statements import Create


class Declares(Protocol):
    """What an App is to the loader."""

    def creates(self) -> Iterable[Create]: ...


def creates_of(file: Path, text: str, folder: Path, alone: bool, seen: set[int]) -> list[Create]:
    """What the file's App declares. A file beside others may hold none: then it is a module for them.

    `seen` holds the Apps already read, since one file may import the App of another.
    """
    refuse_other_programs(file, text, folder, alone)
    module = run_file(file, text, folder)
    apps = {id(value): value for value in vars(module).values() if _is_app(value)}
    if len(apps) > 1:
        raise AppFault(f"{file.name} holds {len(apps)} apps", where=Where(str(file), 1), hint="keep one App to a file")
    if not apps and alone:
        raise AppFault(f"{file.name} holds no app", where=Where(str(file), 1), hint='make one: app = penstock.App("name")')
    declared = [Create(entry, where=entry.where) for entry in functions_in(vars(module)) if _is_new(entry, seen)]
    for key, app in apps.items():
        if key not in seen:
            seen.add(key)
            declared += [create for create in cast(Declares, app).creates() if _is_new(create.declaration, seen)]
    return declared


def _is_new(declaration: Declaration, seen: set[int]) -> bool:
    """False for a function that another file of the app has shown already: it may be imported in many."""
    if not isinstance(declaration, Function):
        return True
    key = hash(declaration)
    known = key in seen
    seen.add(key)
    return not known


def _is_app(value: object) -> bool:
    return not isinstance(value, type | ModuleType) and callable(getattr(value, "creates", None))


def run_file(file: Path, text: str, folder: Path) -> ModuleType:
    """The file as a module. Not by `import`, whose name could hide another module and whose cached code could be old."""
    name = f"penstock_app_{hashlib.sha256(str(file).encode()).hexdigest()[:12]}_{file.stem}"
    module = ModuleType(name)
    module.__file__ = str(file)
    module.__dict__[OWN_NAME] = ".".join(file.relative_to(folder).with_suffix("").parts)
    sys.modules[name] = module
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        with redirect_stdout(sys.stderr):  # stdout is for what the verb has to say
            exec(compile(text, str(file), "exec"), module.__dict__)
    except PenstockError as error:
        if error.where is None:
            error.where = _user_place(error, file, folder)
            error.excerpt = error.excerpt or _line(error.where)
        raise
    except SyntaxError as error:
        place = Where(error.filename or str(file), error.lineno or 1, error.offset or 1)
        raise AppFault(f"this is not Python: {error.msg}", where=place, excerpt=_line(place)) from None
    except (Exception, SystemExit) as error:
        place = _user_place(error, file, folder)
        what = f"{type(error).__name__}: {masked(str(error))}"
        raise AppFault(what, where=place, excerpt=_line(place), hint="the app's own Python code failed") from error
    return module


def _user_place(error: BaseException, file: Path, folder: Path) -> Where:
    """The innermost line of the app's own code."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == str(file) or Path(frame.filename).is_relative_to(folder):
            return Where(frame.filename, frame.lineno or 1)
    return Where(str(file), 1)


def _line(place: Where) -> str | None:
    """The line at a place; passwords are masked."""
    try:
        line = Path(place.file).read_text(encoding="utf-8-sig").splitlines()[place.line - 1]
    except (OSError, UnicodeDecodeError, IndexError):
        return None
    return f"{place.line:>5} | {masked(line)}"
