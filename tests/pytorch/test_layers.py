"""Layers and operators of programs, each forwards and backwards, against the CPU."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tests.pytorch.conftest import _MISSING

if not _MISSING:
    from torch import nn

    from tests.pytorch import workers

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # of torch_npu, which says what it does
_WITHIN = {"rtol": 1e-4, "atol": 1e-5}
"""Sums over steps and heads are added in another order than torch's own fused functions do."""


def layers() -> Iterator[tuple[Any, tuple[int, ...]]]:
    """Iterate over layers and shapes of their inputs."""
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        yield kind(4, 6), (5, 3, 4)
        yield kind(4, 6, num_layers=2, batch_first=True), (3, 5, 4)
        yield kind(4, 6, bidirectional=True), (5, 3, 4)
    yield from ((kind(4, 6), (3, 4)) for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell))
    yield nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), (2, 5, 8)
    yield nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, norm_first=True, activation="gelu"), (5, 2, 8)
    yield from ((kind(2), (2, 3, *[4] * n)) for n, kind in enumerate((nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d), 1))
    yield from ((kind(2), (2, 3, *[4] * n)) for n, kind in enumerate((nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d), 1))
    yield from ((kind(2), (2, 3, 4, 4)) for kind in (nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d))
    yield from ((kind(3), (4, 3, *[2] * n))
                for n, kind in enumerate((nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d), 1))  # fmt: skip
    yield from ((kind(3, 4, 3, padding=1), (2, 3, *[5] * n))
                for n, kind in enumerate((nn.Conv1d, nn.Conv2d, nn.Conv3d), 1))  # fmt: skip
    yield from ((nn.Upsample(scale_factor=2, mode=mode), (2, 3, *[4] * n)) for n, mode in (
        (1, "nearest"), (2, "nearest"), (3, "nearest"), (1, "linear"), (2, "bilinear"), (2, "bicubic"),
        (3, "trilinear"), (2, "nearest-exact"),
    ))  # fmt: skip
    yield from ((kind(2), (2, 3, 8)) for kind in (nn.ReflectionPad1d, nn.ReplicationPad1d))
    yield from ((kind(2), (2, 3, 8, 8)) for kind in (nn.ReflectionPad2d, nn.ReplicationPad2d, nn.ZeroPad2d))
    yield from ((kind(), (3, 4)) for kind in (
        nn.PReLU, nn.CELU, nn.SELU, nn.Mish, nn.Hardswish, nn.LogSigmoid, nn.Softshrink, nn.Hardshrink, nn.GLU,
        nn.Softsign,
    ))  # fmt: skip
    yield nn.GroupNorm(2, 4), (3, 4, 5, 5)
    yield nn.Unfold(2), (2, 3, 4, 4)
    yield nn.Fold(4, 2), (2, 12, 9)


def first(result: Any) -> Any:
    """Return the first tensor of a layer's results."""
    return first(result[0]) if isinstance(result, tuple) else result


def slopes(torch: Any, model: Any, x: Any) -> list[Any]:
    """Return the output, and gradients of input and parameters."""
    x = x.clone().requires_grad_()
    made = first(model(x))
    (made * torch.linspace(0.1, 1, made.numel()).reshape(made.shape).to(made.device)).sum().backward()
    return [made.detach(), x.grad, *(each.grad for each in model.parameters()), *model.buffers()]


def test_layers_and_their_gradients_are_those_of_the_cpu(torch: Any, npu: Any) -> None:
    torch.manual_seed(0)
    for layer, shape in layers():
        x = torch.randn(shape)
        there = copy.deepcopy(layer).npu()
        for wanted, made in zip(slopes(torch, layer, x), slopes(torch, there, x.npu()), strict=True):
            torch.testing.assert_close(made.cpu(), wanted, **_WITHIN, msg=lambda text, layer=layer: f"{layer}: {text}")
        with torch.no_grad():  # in evaluation a layer may take another way
            wanted, made = first(layer.eval()(x)), first(there.eval()(x.npu()))
        torch.testing.assert_close(made.cpu(), wanted, **_WITHIN, msg=lambda text, layer=layer: f"{layer}: {text}")


@pytest.mark.parametrize("kind", ["plain", "causal", "mask", "bias", "shared", "bfloat16"])
def test_fused_attention_and_its_gradients(torch: Any, npu: Any, kind: str) -> None:
    attend = torch.nn.functional.scaled_dot_product_attention
    torch.manual_seed(1)
    parts = [torch.randn(2, 4, 6, 8) for _ in range(3)]
    options: dict[str, Any] = {}
    if kind == "causal":
        options["is_causal"] = True
    elif kind == "mask":
        options["attn_mask"] = torch.ones(6, 6, dtype=torch.bool).tril(1)
    elif kind == "bias":
        options["attn_mask"] = torch.randn(6, 6)
    elif kind == "shared":
        options["enable_gqa"] = True
        parts[1:] = [each[:, :2] for each in parts[1:]]
    elif kind == "bfloat16":
        parts = [each.bfloat16() for each in parts]

    def run(place: str) -> list[Any]:
        given = [each.to(place).requires_grad_() for each in parts]
        there = {name: each if each is True else each.to(place) for name, each in options.items()}
        made = attend(*given, **there)
        made.float().square().sum().backward()
        return [each.detach().cpu().float() for each in (made, *(one.grad for one in given))]

    within = {"rtol": 0.05, "atol": 0.1} if kind == "bfloat16" else _WITHIN
    for made, wanted in zip(run("npu"), run("cpu"), strict=True):
        torch.testing.assert_close(made, wanted, **within)


def test_fused_attention_of_the_950(torch: Any, npu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NPUHAL_URL", "fake://ascend950")
    assert workers.run(workers.attended) < 1e-5
    assert max(workers.run(workers.dropped_out)) < 1e-5


def test_packed_sequences_of_unequal_length(torch: Any, npu: Any) -> None:
    torch.manual_seed(2)
    model, x, lengths = nn.LSTM(4, 6, batch_first=True), torch.randn(3, 5, 4), torch.tensor([5, 3, 2])

    def run(place: str) -> Any:
        packed = nn.utils.rnn.pack_padded_sequence(x.to(place), lengths, batch_first=True)
        made, _ = copy.deepcopy(model).to(place)(packed)
        return nn.utils.rnn.pad_packed_sequence(made, batch_first=True)[0].detach().cpu()

    torch.testing.assert_close(run("npu"), run("cpu"), **_WITHIN)


def test_what_a_fused_operator_is_not_computed_with_is_refused_at_its_call(torch: Any, npu: Any) -> None:
    model, x = nn.GRU(4, 6, num_layers=2, dropout=0.5).npu(), torch.ones(5, 3, 4, device="npu")
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"aclnnGRU: dropout between its layers \(dropout=0\.5, layers=2"):
            model(x)
    assert model.eval()(x)[0].cpu().shape == (5, 3, 6)
    query = torch.ones(1, 2, 4, 8, device="npu")
    with pytest.raises(RuntimeError, match=r"aclnnFlashAttentionScore\w*: a mask of sparse mode"):
        torch.ops.npu.npu_fusion_attention(query, query, query, 2, "BNSD", sparse_mode=6, prefix=[4],
                                           atten_mask=torch.ones(1, 1, 4, 4, device="npu").bool())  # fmt: skip
    npu.synchronize()


def test_the_scale_of_losses_grows_and_falls_as_on_the_cpu(torch: Any, npu: Any) -> None:
    def scales(place: str) -> list[Any]:
        weight = torch.ones(3, device=place, requires_grad=True)
        optimiser = torch.optim.SGD([weight], lr=0.1)
        scaler = torch.amp.GradScaler(place, init_scale=8.0, growth_interval=2)
        made = []
        for factor in (1.0, 1.0, float("inf"), 1.0, 1.0):
            optimiser.zero_grad()
            scaler.scale((weight * factor).sum()).backward()
            scaler.step(optimiser)
            scaler.update()
            made.append((scaler.get_scale(), weight.detach().cpu().tolist()))
        return made

    assert scales("npu") == scales("cpu")
