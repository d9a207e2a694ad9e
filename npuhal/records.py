"""Data classes that cost nothing until they are used: `dataclass` as the standard library's, its methods made late.

`dataclasses.dataclass` compiles up to seven functions per class when a module is loaded, and loads `inspect`. For some
two hundred classes that was a third of what a program paid before its first launch. Here a class gets its fields and
slots at once; `__eq__` and `__hash__` are written when they are first called, `__init__` when a class has had a few
instances (many have no more), and the other methods are shared by all classes. What a class then has is what the
standard library makes: the same slots, errors, signature and `__match_args__`; `dataclasses.fields`, `asdict` and
`replace` work on it, and classes of both kinds may inherit from each other. Options that are not among those of
`dataclass` below are handed to the standard library.

Type checkers see the names of the standard library itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import asdict, dataclass, field, fields, replace

    def names_of(kind: type) -> tuple[str, ...]:
        """Return the names of a data class's fields; unlike `fields` it loads nothing."""
        raise NotImplementedError
else:
    import sys
    from reprlib import recursive_repr

    class _Slotted:
        __slots__ = ("slot",)

    _Slot = type(_Slotted.slot)

    class _Missing:
        def __repr__(self):
            return "<factory>"  # in signatures, as the standard library shows it

    _MISSING = _Missing()

    class _Field:
        """A field: `default` and `factory` are _MISSING where there is none."""

        __slots__ = ("compare", "default", "factory", "init", "kw_only", "name", "repr", "type")

        def __init__(self, default, factory, init, repr, compare, kw_only, name="", type=None):
            self.name, self.type = name, type
            self.default, self.factory = default, factory
            self.init, self.repr, self.compare, self.kw_only = init, repr, compare, kw_only

    class _Plan:
        """How a class was described: its fields, inherited ones included, and its options."""

        __slots__ = ("fields", "instances", "options", "standard")

        def __init__(self, fields, options):
            self.fields, self.options, self.standard = fields, options, None
            self.instances = 0

    class _Standard:
        """Gives an attribute that the standard library looks for on data classes, or on all classes."""

        def __init__(self, take):
            self.take = take

        def __get__(self, instance, owner):
            plan = owner.__dict__.get("__record_plan__")
            if plan is None:  # of a class below: only the fields are inherited
                if self.take is _signature:
                    raise AttributeError("__signature__")
                plan = owner.__record_plan__
            if plan.standard is None:
                plan.standard = _standard(owner.__name__, plan)
            return self.take(plan.standard)

    def _signature(kind):
        import inspect

        return inspect.signature(kind)

    _FIELDS = _Standard(lambda kind: kind.__dataclass_fields__)
    _PARAMS = _Standard(lambda kind: kind.__dataclass_params__)
    _SIGNATURE = _Standard(_signature)
    _FEW = 12
    """Instances made field by field: writing `__init__` takes as long as some thirty of them."""
    _ALWAYS = ("__match_args__", "__record_plan__", "__dataclass_fields__", "__dataclass_params__")

    def field(*, default=_MISSING, default_factory=_MISSING, init=True, repr=True, compare=True, kw_only=None, **more):
        """Describe a field, as `dataclasses.field`; `hash` and `metadata` are not kept."""
        if more:
            raise TypeError(f"field() of npuhal.records takes no {', '.join(more)}: use dataclasses for this class")
        if default is not _MISSING and default_factory is not _MISSING:
            raise ValueError("cannot specify both default and default_factory")
        return _Field(default, default_factory, init, repr, compare, kw_only)

    def dataclass(cls=None, /, *, frozen=False, slots=False, eq=True, repr=True, kw_only=False, **more):
        """Make a data class, as `dataclasses.dataclass`; see there for the options."""

        def decorate(cls):
            if more:
                return _by_standard_library(cls, frozen=frozen, slots=slots, eq=eq, repr=repr, kw_only=kw_only, **more)
            return _described(cls, frozen, slots, eq, repr, kw_only)

        return decorate if cls is None else decorate(cls)

    def _described(cls, frozen, slots, eq, repr, kw_only):
        space = cls.__dict__
        found = {}
        for base in reversed(cls.__mro__[1:]):
            inherited = _plan_of(base)
            if inherited is not None:
                found |= inherited.fields
                if inherited.options["frozen"] is not frozen:
                    kinds = ("frozen", "non-frozen") if frozen else ("non-frozen", "frozen")
                    raise TypeError("cannot inherit {} dataclass from a {} one".format(*kinds))
        for name, annotation in _annotations(cls).items():
            if (annotation.__class__ is not str or "Var" in annotation) and _is_class_variable(annotation):
                continue
            given = space.get(name, _MISSING)
            if not isinstance(given, _Field):
                kind = type(given)
                if given is not _MISSING and getattr(kind, "__hash__", None) is None:
                    raise ValueError(f"mutable default {kind} for field {name} is not allowed: use default_factory")
                made = _Field(given, _MISSING, True, True, True, kw_only, name, annotation)
            else:
                made = given
                made.name, made.type = name, annotation
                if made.kw_only is None:
                    made.kw_only = kw_only
                if slots:
                    pass  # the class is made anew, without
                elif made.default is not _MISSING:
                    setattr(cls, name, made.default)
                else:
                    delattr(cls, name)
            found[name] = made
        optional, positional = "", []
        for name, each in found.items():
            if each.init and not each.kw_only:
                if each.default is not _MISSING or each.factory is not _MISSING:
                    optional = optional or name
                elif optional:
                    raise TypeError(f"non-default argument {name!r} follows default argument {optional!r}")
                positional.append(name)
        plan = _Plan(found, {"frozen": frozen, "slots": slots, "eq": eq, "repr": repr})
        added = {
            "__record_plan__": plan, "__dataclass_fields__": _FIELDS, "__dataclass_params__": _PARAMS,
            "__match_args__": tuple(positional),
            "__replace__": replace,
        }  # fmt: skip
        if "__init__" not in space:
            added["__init__"] = _written_later("__init__", plan)
            added["__signature__"] = _SIGNATURE
        if repr:
            added["__repr__"] = _repr
        has_hash = space.get("__hash__", _MISSING)
        has_hash = has_hash is not _MISSING and not (has_hash is None and "__eq__" in space)
        if eq:
            added["__eq__"] = _written_later("__eq__", plan)
        if frozen:
            for name in ("__setattr__", "__delattr__"):
                if name in space:
                    raise TypeError(f"cannot overwrite attribute {name} in class {cls.__name__}")
            added |= {"__setattr__": _frozen_setattr, "__delattr__": _frozen_delattr}
            if slots:
                added |= {"__getstate__": _getstate, "__setstate__": _setstate}
        for name in (added.keys() & space.keys()).difference(_ALWAYS):
            del added[name]
        if eq and not has_hash:
            added["__hash__"] = _written_later("__hash__", plan) if frozen else None
        if slots:
            return _slotted(cls, plan, added)
        for name, value in added.items():
            setattr(cls, name, value)
        return cls

    def _annotations(cls):
        found = cls.__dict__.get("__annotations__")  # noqa: RUF063 - that of `inspect` would load it
        if found is None and sys.version_info >= (3, 14):
            found = cls.__annotations__
        return found or {}

    def _is_class_variable(kind):
        text = kind if isinstance(kind, str) else repr(kind)
        if "InitVar" in text:
            raise TypeError("npuhal.records knows no InitVar: use dataclasses.dataclass")
        return text.startswith(("ClassVar", "typing.ClassVar"))

    def _plan_of(base):
        """Return the plan of a class of either kind, None of one that is no data class of its own."""
        if "__record_plan__" in base.__dict__:
            return base.__dict__["__record_plan__"]
        if "__dataclass_fields__" not in base.__dict__:
            return None
        import dataclasses

        found = {}
        for each in dataclasses.fields(base):
            factory = each.default_factory
            default = _MISSING if each.default is dataclasses.MISSING else each.default
            factory = _MISSING if factory is dataclasses.MISSING else factory
            made = _Field(default, factory, each.init, each.repr, each.compare, each.kw_only)
            made.name, made.type = each.name, each.type
            found[each.name] = made
        return _Plan(found, {"frozen": base.__dataclass_params__.frozen})

    def _slotted(cls, plan, added):
        """Return a copy of the class with slots for its fields: `__slots__` counts only while a class is made."""
        taken = {name for base in cls.__mro__[1:-1] for name in _slots_of(base)}
        space = dict(cls.__dict__)
        space["__slots__"] = tuple(name for name in plan.fields if name not in taken)
        for name in (*plan.fields, "__dict__", "__weakref__"):
            space.pop(name, None)
        made = type(cls)(cls.__name__, cls.__bases__, space | added)
        made.__qualname__ = cls.__qualname__
        return made

    def _slots_of(base):
        slots = base.__dict__.get("__slots__", ())
        return (slots,) if isinstance(slots, str) else slots

    def _written_later(name, plan):
        """Return a method that takes the place of itself by the one written for the fields when it is first called."""

        def method(self, *args, **kwargs):
            owner = next(base for base in type(self).__mro__ if base.__dict__.get(name) is method)
            if name == "__init__" and plan.instances < _FEW:
                plan.instances += 1
                if _filled(self, owner, plan, args, kwargs):
                    return None
            written = _WRITERS[name](owner, plan)
            written.__name__, written.__qualname__ = name, f"{owner.__qualname__}.{name}"
            written.__module__ = owner.__module__
            setattr(owner, name, written)
            return written(self, *args, **kwargs)

        method.__name__ = name
        return method

    def _filled(self, owner, plan, args, kwargs):
        """Do what the written `__init__` does; False, and nothing done, where it would refuse the arguments."""
        given = owner.__dict__["__match_args__"]
        if len(args) > len(given):
            return False
        values = dict(zip(given, args, strict=False))
        if kwargs:
            if not kwargs.keys().isdisjoint(values):
                return False
            values |= kwargs
        known = 0
        for name, each in plan.fields.items():
            if each.init:
                if name in values:
                    known += 1
                elif each.default is _MISSING and each.factory is _MISSING:
                    return False
        if known != len(values):
            return False
        fill = object.__setattr__ if plan.options["frozen"] else setattr
        for name, each in plan.fields.items():
            if name in values:
                fill(self, name, values[name])
            elif each.factory is not _MISSING:
                fill(self, name, each.factory())
            elif each.init or (plan.options["slots"] and each.default is not _MISSING):
                fill(self, name, each.default)
        if hasattr(owner, "__post_init__"):
            self.__post_init__()
        return True

    def _compiled(owner, name, text, scope):
        exec(compile(text, f"<{name} of {owner.__qualname__}>", "exec"), scope)
        return scope[name]

    def _write_init(owner, plan):
        frozen, slots = plan.options["frozen"], plan.options["slots"]
        this = "self" if "self" not in plan.fields else "_self"
        scope = {"_missing": _MISSING, "_setattr": object.__setattr__}
        plain, named, body = [], [], []
        for each in plan.fields.values():
            name, value = each.name, each.name
            if each.default is not _MISSING:
                scope[f"_default_{name}"] = each.default
            if each.factory is not _MISSING:
                scope[f"_make_{name}"] = each.factory
            if each.init:
                given = name
                if each.default is not _MISSING:
                    given = f"{name}=_default_{name}"
                elif each.factory is not _MISSING:
                    given = f"{name}=_missing"
                    value = f"_make_{name}() if {name} is _missing else {name}"
                (named if each.kw_only else plain).append(given)
            elif each.factory is not _MISSING:
                value = f"_make_{name}()"
            elif slots and each.default is not _MISSING:
                value = f"_default_{name}"
            else:
                continue
            slot = getattr(owner, name, None)
            if not frozen:
                body.append(f"{this}.{name} = {value}")
            elif isinstance(slot, _Slot):  # a fifth less than by name
                scope[f"_set_{name}"] = slot.__set__
                body.append(f"_set_{name}({this}, {value})")
            else:
                body.append(f"_setattr({this}, {name!r}, {value})")
        if hasattr(owner, "__post_init__"):
            body.append(f"{this}.__post_init__()")
        listed = ", ".join([this, *plain, *(["*", *named] if named else [])])
        text = f"def __init__({listed}):\n " + "\n ".join(body or ["pass"])
        made = _compiled(owner, "__init__", text, scope)
        made.__annotations__ = {each.name: each.type for each in plan.fields.values() if each.init} | {"return": None}
        return made

    def _compared(plan, of):
        return "(" + "".join(f"{of}.{each.name}, " for each in plan.fields.values() if each.compare) + ")"

    def _write_eq(owner, plan):
        return _compiled(owner, "__eq__", (
            "def __eq__(self, other):\n if other.__class__ is self.__class__:\n"
            f"  return {_compared(plan, 'self')} == {_compared(plan, 'other')}\n return NotImplemented"
        ), {})  # fmt: skip

    def _write_hash(owner, plan):
        return _compiled(owner, "__hash__", f"def __hash__(self):\n return hash({_compared(plan, 'self')})", {})

    _WRITERS = {"__init__": _write_init, "__eq__": _write_eq, "__hash__": _write_hash}

    @recursive_repr()
    def _repr(self):
        shown = (each.name for each in self.__record_plan__.fields.values() if each.repr)
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    _repr.__name__ = _repr.__qualname__ = "__repr__"

    def _frozen_setattr(self, name, value):
        _refuse(self, name, "assign to")
        object.__setattr__(self, name, value)

    def _frozen_delattr(self, name):
        _refuse(self, name, "delete")
        object.__delattr__(self, name)

    def _refuse(self, name, what):
        """Raise if a name is that of a field, or the class itself is frozen and not a class below it."""
        if "__record_plan__" in type(self).__dict__ or name in self.__record_plan__.fields:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(f"cannot {what} field {name!r}")

    def _getstate(self):
        return [getattr(self, name) for name in self.__record_plan__.fields]

    def _setstate(self, state):
        for name, value in zip(self.__record_plan__.fields, state, strict=True):
            object.__setattr__(self, name, value)

    def replace(obj, /, **changes):
        """Return a new object with some fields changed, as `dataclasses.replace`."""
        plan = getattr(type(obj), "__record_plan__", None)
        if plan is None or plan is not _plan_of(type(obj)):
            import dataclasses

            return dataclasses.replace(obj, **changes)
        for each in plan.fields.values():
            if not each.init:
                if each.name in changes:
                    raise ValueError(f"field {each.name} is declared with init=False, it cannot be replaced")
            elif each.name not in changes:
                changes[each.name] = getattr(obj, each.name)
        return type(obj)(**changes)

    def fields(class_or_instance):
        """Return the fields, as `dataclasses.fields`."""
        import dataclasses

        return dataclasses.fields(class_or_instance)

    def asdict(obj, **options):
        """Return the fields by name, as `dataclasses.asdict`."""
        import dataclasses

        return dataclasses.asdict(obj, **options)

    def _standard(name, plan):
        """Return a class of the standard library's with the same fields and options, for who asks it about ours."""
        import dataclasses

        listed = []
        for each in plan.fields.values():
            given = {"default": each.default, "default_factory": each.factory}
            given = {option: value for option, value in given.items() if value is not _MISSING}
            made = dataclasses.field(
                init=each.init, repr=each.repr, compare=each.compare, kw_only=each.kw_only, **given
            )
            listed.append((each.name, each.type, made))
        return dataclasses.make_dataclass(name, listed, **plan.options)

    def _by_standard_library(cls, **options):
        """Make a data class of the standard library's, for options that are not ours."""
        import dataclasses

        for name, given in list(cls.__dict__.items()):
            if isinstance(given, _Field):
                chosen = {"default": given.default, "default_factory": given.factory}
                chosen = {option: value for option, value in chosen.items() if value is not _MISSING}
                chosen |= {} if given.kw_only is None else {"kw_only": given.kw_only}
                made = dataclasses.field(init=given.init, repr=given.repr, compare=given.compare, **chosen)
                setattr(cls, name, made)
        return dataclasses.dataclass(cls, **options)


    def names_of(kind):
        """Return the names of a data class's fields; unlike `fields` it loads nothing."""
        return next(tuple(plan.fields) for plan in map(_plan_of, kind.__mro__) if plan is not None)


__all__ = ["asdict", "dataclass", "field", "fields", "names_of", "replace"]
