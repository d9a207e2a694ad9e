"""What a C function refuses, as data beside its entry: in which order, with which code and message.

A check is a condition over the parameters, written as a Python expression, and the answer to it. The acl layer answers
first (100000, EH messages), then the runtime layer (1xxxxx and 2xxxxx, EE messages); `compiling` writes all checks of
an entry into one function. What depends on the state of the objects behind the handles stays in the entry's body.
"""

from __future__ import annotations

import enum
from typing import Any

from npuhal.records import dataclass, replace
from runtime import errors

_CODES = {"EE1005": "ACL_ERROR_RT_FEATURE_NOT_SUPPORT", "EE1006": "ACL_ERROR_RT_FEATURE_NOT_SUPPORT"}
"""Codes of messages that go with another one than 107000 (EE) or 100000 (EH)."""


class Action(enum.Enum):
    """What becomes of a call when a check's condition holds, or what a check finds for the later ones."""

    REFUSE = enum.auto()
    SUCCEED = enum.auto()
    WRITE = enum.auto()
    LIVE = enum.auto()
    CONTEXT = enum.auto()
    OWN = enum.auto()
    DEFAULT = enum.auto()
    OWN_MODEL = enum.auto()
    DEVICE = enum.auto()


@dataclass(frozen=True, slots=True)
class Check:
    """One rule of a C function."""

    action: Action
    rule: str
    """The condition in words, as tables and documentation print it."""
    test: str = ""
    """The condition as an expression over the parameters, `acl`, and the objects that `live` has found (`stream_`)."""
    name: str = ""
    """The parameter that it is about."""
    code: int | str = ""
    message: str = ""
    expected: str = ""
    kind: type[Any] | None = None
    """The class of a handle's object."""
    writes: tuple[str, int] | None = None
    """The output that a call which succeeds at once, or gets so far, writes, and its value."""
    cure: str = ""
    """What to do; by default to pass what is expected."""
    because: str = ""
    """An expression, as `test`, for what more there is to say where it holds."""

    @property
    def acl_layer(self) -> bool:
        """Whether the acl layer decides: before a call waits for the process to be unlocked."""
        return self.action in _AT_ONCE or (self.action is Action.REFUSE and self.code in _ACL_CODES)

    @property
    def answer(self) -> str:
        """Code and message of a refusal, "107000 EE1003", as documentation prints it; "0" for a success at once, and
        "goes on" where an output is written.
        """
        if self.action is Action.SUCCEED:
            return "0"
        if self.action is Action.WRITE:
            return "goes on"
        return f"{errors.fault(self.code, self.rule).code} {self.message}".rstrip()

    def fault(self, call: str, value: object, because: str = "") -> errors.RuntimeFault:
        """Return the answer to a call whose parameter has this value; `because`: what more there is to say."""
        shown = "NULL" if value is None else value
        number = _parameters(self.message)
        facts: dict[str, object] = {
            "function": call, "value": shown, "parameter": self.name, "object": self.name, "what": self.name,
            "feature": self.expected or call, "reason": self.rule, "details": self.rule,
        }  # fmt: skip
        if self.message == "EE1001":
            facts["reason"] = f"{call}: {self.rule}"
        params = [facts.get(each, self.expected) for each in number]
        text = f"{call}: {self.rule}"
        if because:
            text += f": {because}"
        elif self.name and value is not None and not (isinstance(value, int) and not value):
            text += f", it is {shown}"
        if not because and self.name and self.expected and self.expected not in text:
            text += f"; expected {self.expected}"
        hint = self.cure or (f"{self.name}: {self.expected}" if self.expected and self.name else "")
        return errors.fault(self.code, text, ee=self.message, params=params, hint=hint)


_AT_ONCE = (Action.SUCCEED, Action.WRITE)
_ACL_CODES = ("ACL_ERROR_INVALID_PARAM", "ACL_ERROR_FEATURE_UNSUPPORTED", 100000, 200006)


def _parameters(message: str) -> tuple[str, ...]:
    from runtime.errors import tables

    return tables.user_messages()[message].parameters if message else ()


def _code(message: str) -> str:
    acl = message.startswith("EH")
    return _CODES.get(message, "ACL_ERROR_INVALID_PARAM" if acl else "ACL_ERROR_RT_PARAM_INVALID")


def _all(rows: list[Check]) -> tuple[Check, ...]:
    return tuple(rows)


def null(*names: str, message: str = "EH0008", code: int | str = "") -> tuple[Check, ...]:
    """Refuse NULL for each of the parameters, in this order: the acl layer's 100000 with EH0008."""
    return _all([
        Check(
            Action.REFUSE, f"{name} is NULL", f"not {name}", name, code or _code(message), message,
            cure=f"pass a valid {name}",
        )
        for name in names
    ])  # fmt: skip


def null_rt(*names: str, message: str = "EE1004", code: int | str = "") -> tuple[Check, ...]:
    """Refuse NULL for each of the parameters, in this order: the runtime layer's 107000 with EE1004."""
    return null(*names, message=message, code=code)


def zero(*names: str, message: str = "EH0007") -> tuple[Check, ...]:
    """Refuse 0 for each of the parameters: 100000 with EH0007, or 107000 with an EE message."""
    return _all([
        Check(Action.REFUSE, f"{name} is 0", f"{name} <= 0", name, _code(message), message, "more than 0")
        for name in names
    ])  # fmt: skip


WORD = 0xFFFF_FFFF
"""What is left of a count where the runtime layer takes it as 32 bits."""


def above_zero(name: str) -> Check:
    """Refuse a count that is not above 0 as the `int32_t` which the runtime layer cuts it to: 107000 with EE1003."""
    return refuse(f"not 0 < {name} & {WORD:#x} < 1 << 31", name, "more than 0 as 32 bits with sign", "EE1003")


def reserved(*names: str, message: str = "EH0012", code: int | str = "") -> tuple[Check, ...]:
    """Refuse anything but 0 or NULL in reserved parameters: 100000 with EH0012."""
    return _all([
        Check(Action.REFUSE, f"{name} is reserved", name, name, code or _code(message), message, "0, it is reserved")
        for name in names
    ])  # fmt: skip


def refuse(
    test: str, name: str, expected: str, message: str = "EH0007", *, code: int | str = "", rule: str = ""
) -> Check:
    """Refuse where an expression over the parameters is true.

    Args:
        test: the expression.
        name: the parameter that the answer names.
        expected: what would be right.
        message: the id of the message; "" for a silent refusal, which needs a code.
        code: the code or its name, by default that of the message's layer.
        rule: the condition in words, by default the expression.
    """
    return Check(Action.REFUSE, rule or test, test, name, code or _code(message), message, expected)


def one_of(name: str, *values: int, message: str = "EH0007") -> Check:
    """Refuse values that are none of these: 100000 with EH0007, or 107000 with an EE message."""
    low, high = min(values), max(values)
    whole = len(values) > 2 and sorted(values) == list(range(low, high + 1))
    test = f"not {low} <= {name} <= {high}" if whole else f"{name} not in {values!r}"
    expected = f"[{low}, {high}]" if whole else " or ".join(map(str, values))
    return refuse(test, name, expected, message, rule=f"{name} is not {expected}")


def succeed(test: str, rule: str = "", writes: tuple[str, int] | None = None) -> Check:
    """Return success at once where an expression over the parameters is true: nothing is to be done.

    Args:
        writes: an output that gets a value all the same, and that value.
    """
    return Check(Action.SUCCEED, rule or test, test, writes=writes)


def written(name: str, value: int = 0) -> Check:
    """Write an output before what follows is looked at: calls that fail later leave it so."""
    return Check(Action.WRITE, f"{name} is {value} from here on", name=name, writes=(name, value))


def live(name: str, kind: type[Any]) -> Check:
    """Refuse a handle, other than NULL, of nothing that is alive and of this class: 107017 with EE1017."""
    return Check(
        Action.LIVE, f"{name} is dead, foreign or of another kind", name=name, code="ACL_ERROR_RT_INVALID_HANDLE",
        message="EE1017", kind=kind,
    )


def context(only_if: str = "", *, message: str = "EE1018", code: int | str = "ACL_ERROR_RT_CONTEXT_NULL") -> Check:
    """Refuse a thread without a context: 107002 with EE1018.

    Args:
        only_if: an expression over the parameters; where it is false, no context is needed.
        message, code: what some calls answer instead.
    """
    rule = f"no current context, and {only_if}" if only_if else "no current context"
    return Check(Action.CONTEXT, rule, only_if, code=code, message=message)


def visible(name: str) -> Check:
    """Refuse a device id that is none of the visible ones: 107001 with EE1003."""
    return Check(
        Action.DEVICE, f"{name} is no visible device", name=name, code="ACL_ERROR_RT_INVALID_DEVICEID", message="EE1003"
    )


def feature(name: str, only_if: str = "", *, message: str = "EE1001") -> Check:
    """Refuse chips without a feature (chips/soc/vocabulary.yaml): 207000 with EE1001.

    Args:
        name: the feature; with a "!" before it, one that chips must not have.
        only_if: an expression over the parameters; where it is false, the feature is not needed.
        message: what some calls post instead, "" for nothing.
    """
    wanted = not name.startswith("!")
    return _lacking(
        f"{'not ' * wanted}chip_has(acl, {name.lstrip('!')!r})", f"the chip has {'no ' * wanted}{name.lstrip('!')}",
        only_if, message, "ask the chip first: npuhal info",
    )


def too_old(capability: str, only_if: str = "") -> Check:
    """Refuse a device whose task scheduler lacks a capability: 207000 with EE1015.

    Args:
        only_if: an expression over the parameters; where it is false, the capability is not needed.
    """
    return _lacking(
        f"is_too_old(acl, {capability!r})", f"the task scheduler has no {capability}", only_if, "EE1015",
        "update driver and firmware",
    )


def _lacking(test: str, rule: str, only_if: str, message: str, cure: str) -> Check:
    """Refuse what cannot do something that is needed, always or where `only_if` is true: 207000."""
    if only_if:
        test, rule = f"{only_if} and {test}", f"{rule}, and {only_if}"
    return replace(refuse(test, "", "", message, code=207000, rule=rule), cure=cure)


def uncaptured(name: str, message: str = "EE1016", code: int | str = 107027) -> Check:
    """Refuse a stream that is being captured: 107027 with EE1016."""
    check = refuse(
        f"is_captured({name}_)", name, "a stream that is not being captured", message, code=code,
        rule=f"{name} is being captured",
    )
    return replace(check, because=f"capture_of({name}_)", cure="end the capture first")


def unbound(name: str, message: str = "EE1017", code: int | str = 107005) -> Check:
    """Refuse a stream that is bound to a model: 107005 with EE1017."""
    check = refuse(
        f"is_bound({name}_)", name, "a stream of no model", message, code=code, rule=f"{name} is bound to a model",
    )
    return replace(check, because=f"model_of({name}_)", cure="use a stream of no model, or unbind this one first")


def own_model(name: str) -> Check:
    """Refuse a model of another context: 107004 with EE1010."""
    return Check(
        Action.OWN_MODEL, f"{name} belongs to another context", name=name, code="RT_ERROR_MODEL_CONTEXT",
        message="EE1010",
    )


def anywhere(name: str) -> Check:
    """Let NULL be the default stream; the thread needs a context, which need not be the stream's."""
    return Check(
        Action.DEFAULT, "no current context", name=name, code="ACL_ERROR_RT_CONTEXT_NULL", message="EE1018"
    )


def own(name: str, *, unless: str = "", rule: str = "") -> Check:
    """Refuse a stream of another context: 107003 with EE1010; NULL, the default stream, needs a context, too.

    Args:
        unless: an expression over the parameters; where it is true, a stream of any context will do.
        rule: that in words.
    """
    return Check(
        Action.OWN, f"{name} belongs to another context{rule and f', unless {rule}'}", unless, name,
        "ACL_ERROR_RT_STREAM_CONTEXT", "EE1010",
    )


def foreign_model(call: str, model: object) -> errors.RuntimeFault:
    """Return the answer to a call that needs a model of the thread's context: 107004 with EE1010."""
    return errors.fault(
        "RT_ERROR_MODEL_CONTEXT", f"{call}: {model!r} belongs to another context than the thread's", ee="EE1010",
        params=(call, "model", "it belongs to another context"), hint="make the model's context current first",
    )
