"""Named tuples without compiling: `NamedTuple` as that of `typing`, whose classes cost a tenth of theirs to make.

`typing.NamedTuple` compiles the annotation of each field, to look for wrong ones, and the constructor of each class,
and sets what the class defines on it afterwards, attribute by attribute. Here annotations stay the text that they are,
the constructor is the one of its number of fields under the names of the fields, and the class is made once. What it
then has is what `typing` makes: the same attributes, errors, signature, text and pickles.

Type checkers see the name of `typing` itself.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING or sys.version_info >= (3, 14):  # from 3.14 on annotations are functions
    from typing import NamedTuple
else:
    import typing
    from collections import _tuplegetter
    from keyword import iskeyword
    from types import FunctionType

    _new = tuple.__new__
    _CONSTRUCTORS = [
        lambda _cls: _new(_cls, ()),
        lambda _cls, a: _new(_cls, (a,)),
        lambda _cls, a, b: _new(_cls, (a, b)),
        lambda _cls, a, b, c: _new(_cls, (a, b, c)),
        lambda _cls, a, b, c, d: _new(_cls, (a, b, c, d)),
        lambda _cls, a, b, c, d, e: _new(_cls, (a, b, c, d, e)),
        lambda _cls, a, b, c, d, e, f: _new(_cls, (a, b, c, d, e, f)),
        lambda _cls, a, b, c, d, e, f, g: _new(_cls, (a, b, c, d, e, f, g)),
        lambda _cls, a, b, c, d, e, f, g, h: _new(_cls, (a, b, c, d, e, f, g, h)),
    ]
    """The constructor by its number of fields; those of more are written when they are needed."""
    _GIVEN = frozenset((
        "__new__", "__init__", "__slots__", "__getnewargs__", "_fields", "_field_defaults", "_field_types", "_make",
        "_replace", "_asdict", "_source",
    ))  # fmt: skip
    """What a class may not define."""
    _SCOPE = {"_new": _new, "__builtins__": {}}
    _UNEXPECTED = TypeError if sys.version_info >= (3, 13) else ValueError

    def _make(cls, iterable):
        """Make a new object of a sequence or iterable."""
        made = _new(cls, iterable)
        if len(made) != len(cls._fields):
            raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
        return made

    def _replace(self, /, **changes):
        """Return a new object with some fields changed."""
        made = self._make(map(changes.pop, self._fields, self))
        if changes:
            raise _UNEXPECTED(f"Got unexpected field names: {list(changes)!r}")
        return made

    def _asdict(self):
        """Return the fields by name."""
        return dict(zip(self._fields, self, strict=False))

    def _repr(self):
        """Return a text as that which makes the object."""
        shown = ", ".join([f"{name}={value!r}" for name, value in zip(self._fields, self, strict=False)])
        return f"{self.__class__.__name__}({shown})"

    def _getnewargs(self):
        """Return a plain tuple, for pickle and copy."""
        return tuple(self)

    _repr.__name__, _getnewargs.__name__ = "__repr__", "__getnewargs__"
    for _each in (_make, _replace, _asdict, _repr, _getnewargs):
        _each.__qualname__ = f"NamedTuple.{_each.__name__}"
    _SHARED = {
        "__slots__": (), "_make": classmethod(_make), "_replace": _replace, "_asdict": _asdict, "__repr__": _repr,
        "__getnewargs__": _getnewargs,
    }  # fmt: skip
    if sys.version_info >= (3, 13):
        _SHARED["__replace__"] = _replace

    def _constructor(fields):
        """Return `__new__` of a class: a function of as many arguments with these names."""
        if len(fields) < len(_CONSTRUCTORS):
            pattern = _CONSTRUCTORS[len(fields)]
        else:
            listed = ", ".join(f"a{index}" for index in range(len(fields)))
            pattern = eval(f"lambda _cls, {listed}: _new(_cls, ({listed}))", _SCOPE)
        code = pattern.__code__.replace(co_name="__new__", co_varnames=("_cls", *fields))
        return FunctionType(code, _SCOPE, "__new__")

    def _checked(fields):
        for name in fields:
            if not name.isidentifier():
                raise ValueError(f"Type names and field names must be valid identifiers: {name!r}")
            if iskeyword(name):
                raise ValueError(f"Type names and field names cannot be a keyword: {name!r}")
            if name.startswith("_"):
                raise ValueError(f"Field names cannot start with an underscore: {name!r}")

    class _Made(type):
        """Makes the classes, which are of type `type`."""

        def __new__(cls, name, bases, space):
            if bases != (_Base,):
                raise TypeError("NamedTuple of npuhal.tuples takes no other bases: use that of typing for this class")
            if wrong := _GIVEN & space.keys():
                raise AttributeError(f"Cannot overwrite NamedTuple attribute {min(wrong)}")
            annotations = space.get("__annotations__", {})
            fields = tuple(annotations)
            _checked(fields)
            defaults = {}
            for field in fields:
                if field in space:
                    defaults[field] = space[field]
                elif defaults:
                    raise TypeError(
                        f"Non-default namedtuple field {field} cannot follow default field"
                        f"{'s' if len(defaults) > 1 else ''} {', '.join(defaults)}"
                    )
            made = _constructor(fields)
            made.__defaults__ = tuple(defaults.values())
            made.__qualname__, made.__module__ = f"{name}.__new__", f"namedtuple_{name}"
            listed = ", ".join(fields) + "," * (len(fields) == 1)
            made.__doc__ = f"Create new instance of {name}({listed})"
            made.__annotations__ = annotations
            members = {
                "__doc__": f"{name}({listed})", **_SHARED, "_fields": fields, "_field_defaults": defaults,
                "__new__": made, "__match_args__": fields, **space, "__orig_bases__": (typing.NamedTuple,),
                **{field: _tuplegetter(at, f"Alias for field number {at}") for at, field in enumerate(fields)},
            }  # fmt: skip
            return type(name, (tuple,), members)

    _Base = type.__new__(_Made, "NamedTuple", (), {})

    class _NamedTuple:
        """What stands in the list of bases."""

        def __mro_entries__(self, bases):
            return (_Base,)

    NamedTuple = _NamedTuple()

__all__ = ["NamedTuple"]
