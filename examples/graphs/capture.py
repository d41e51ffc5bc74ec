#!/usr/bin/env python3
"""Captures training steps of language models as stretto-graph files, on a laptop.

usage: python capture.py [--out FOLDER] [--only NAME] [--stats]

  --out FOLDER  where the files go (default: beside this script)
  --only NAME   `llama`, `moe`, `recompute`, `shared` or `families`; default is all
  --stats       captures nothing, prints the table for the files that are there

Nothing is computed and nothing is sent. The models are ordinary PyTorch modules, but their
parameters are fake tensors (a shape and a dtype, no memory) and their process groups are fake
too, so one process can play rank 0 of a cluster. PyTorch traces the step operator by operator;
we note for each operator which module it came from, add what it would cost on a GPU of the
H100 class, and write the list down:

  llama_fsdp_forward, llama_fsdp_backward
      a dense transformer, its weights sharded over 64 GPUs (FSDP). Every weight is gathered
      before its layer and freed after it, gathered again in the backward pass, and its gradient
      is reduce-scattered. The joint graph is split in two by the partitioner of AOTAutograd.
  moe_ep_step
      a mixture-of-experts transformer over 8 GPUs, forward, loss and backward in one graph. The
      experts live on different GPUs (expert parallelism): tokens travel to them and back by
      all-to-all, and how many travel where is known only when the router has spoken. Batch and
      token counts are therefore symbols.
  moe_recompute_selective, moe_recompute_layers
      a smaller mixture of experts that saves memory: what was not kept is computed once more in
      the backward pass. `selective` keeps matrix products, attention, what was exchanged and
      what the router chose; `layers` keeps what enters a layer and the numbers that the host has
      read, so that exchanges, too, happen again. Weights are gathered again in both.
  moe_shared_group
      a mixture of experts half as deep, whose experts are spread over the ranks of the data
      parallel group itself: tokens travel on the communicator of the weights, so that exchanges,
      gathers and reduce-scatters wait for each other, whatever their order.
  qwen3_full, qwen3_selective, gpt_oss_full, gpt_oss_selective, llama4_full, llama4_offload
      small mixtures of experts that are built otherwise (see "the families"), all of them with
      recomputation, as above. In `offload` what enters a layer spends the time between forward
      and backward in the memory of the host.

The same versions (requirements.txt) give the same bytes: nothing depends on time, hash seeds
or the machine.
"""

import argparse
import bisect
import gzip
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch._functorch._activation_offloading.offload_ops  # defines the operators torch.ops.ao
import torch.nn.functional as F
from torch import Tensor, fx, nn
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.autograd.graph import Node as GradNode
from torch.fx.experimental.proxy_tensor import get_proxy_mode, make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.checkpoint import CheckpointPolicy

aten = torch.ops.aten
ALL_GATHER = torch.ops._c10d_functional.all_gather_into_tensor.default
REDUCE_SCATTER = torch.ops._c10d_functional.reduce_scatter_tensor.default
ALL_REDUCE = torch.ops._c10d_functional.all_reduce.default
ALL_TO_ALL = torch.ops._c10d_functional.all_to_all_single.default
WAIT = torch.ops._c10d_functional.wait_tensor.default

# --------------------------------------------------------------------------------- the cluster


@dataclass(frozen=True)
class Group:
    """A process group: its name in PyTorch, what it is for, and its ranks."""

    name: str
    desc: str
    ranks: tuple[int, ...]
    gpus_per_node: int

    @property
    def size(self) -> int:
        return len(self.ranks)

    @property
    def ranks_per_node(self) -> int:
        nodes = [rank // self.gpus_per_node for rank in self.ranks]
        return max(nodes.count(node) for node in nodes)


def fake_cluster(gpus: int, gpus_per_node: int, purposes: list[str]) -> list[Group]:
    """Pretends that this process is rank 0 of `gpus`; one communicator of all ranks per purpose."""
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=gpus)
    ranks = tuple(range(gpus))
    made = [dist.new_group(list(ranks), group_desc=purpose) for purpose in purposes]
    return [Group(g.group_name, g.group_desc, ranks, gpus_per_node) for g in made]


# --------------------------------------------------------------------------------- collectives
# Each launches and waits at once, as a framework without a scheduler would: moving the two
# apart is the business of the transforms that read these graphs.


class GatherWeight(torch.autograd.Function):
    """Shard in f32 -> whole weight in bf16; gradient in bf16 -> reduced shard of it in f32."""

    @staticmethod
    def forward(ctx: Any, shard: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return WAIT(ALL_GATHER(shard.to(torch.bfloat16), group.size, group.name))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        wide = grad.to(torch.float32)
        return WAIT(REDUCE_SCATTER(wide, "sum", ctx.group.size, ctx.group.name)), None


class ShareWeight(torch.autograd.Function):
    """A small weight in f32 that every rank has whole -> the same in bf16; gradient in bf16 ->
    the sum of all ranks' in f32."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, group: Group) -> Tensor:
        ctx.group = group
        return weight.to(torch.bfloat16)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return WAIT(ALL_REDUCE(grad.to(torch.float32), "sum", ctx.group.name)), None


class Exchange(torch.autograd.Function):
    """Rows to the ranks that want them. On the way back gradients travel the other way round."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, gets: list[int], gives: list[int], group: Group) -> Tensor:
        ctx.gets, ctx.gives, ctx.group = gets, gives, group
        return WAIT(ALL_TO_ALL(rows, gets, gives, group.name))

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        sent = WAIT(ALL_TO_ALL(grad.contiguous(), ctx.gives, ctx.gets, ctx.group.name))
        return sent, None, None, None


# --------------------------------------------------------------------------------- the models


@dataclass(frozen=True)
class Config:
    """Sizes of a model. Without experts it is dense."""

    vocabulary: int
    dim: int
    layers: int
    heads: int
    kv_heads: int
    hidden: int
    sequence: int
    experts: int = 0
    chosen: int = 0
    expert_hidden: int = 0
    dense_layers: int = 0
    moe_every: int = 1  # of the layers that are not dense, each, or each second one, has experts

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads


class Sharded(nn.Module):
    """Owns one weight, of which this rank stores a slice of the rows."""

    def __init__(self, shape: tuple[int, ...], group: Group) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape[0] // group.size, *shape[1:]))
        self.group = group

    def gathered(self) -> Tensor:
        return GatherWeight.apply(self.weight, self.group)


class Replicated(nn.Module):
    """Owns one weight that is too small to be sharded."""

    def __init__(self, shape: tuple[int, ...], group: Group) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(shape))
        self.group = group

    def forward(self) -> Tensor:
        return ShareWeight.apply(self.weight, self.group)


class Embedding(Sharded):
    def forward(self, tokens: Tensor) -> Tensor:
        return F.embedding(tokens, self.gathered())


class Linear(Sharded):
    def __init__(self, inputs: int, outputs: int, group: Group) -> None:
        super().__init__((outputs, inputs), group)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.gathered())


def unit_rows(x: Tensor) -> Tensor:
    """Every row divided by its root mean square, in f32."""
    wide = x.float()
    return wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)


class RMSNorm(Sharded):
    def __init__(self, dim: int, group: Group) -> None:
        super().__init__((dim,), group)

    def forward(self, x: Tensor) -> Tensor:
        weight = self.gathered()
        return (unit_rows(x) * weight).to(x.dtype)


class Rotary(nn.Module):
    """Turns pairs of features by an angle that grows with the position."""

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        left, right = x.float().chunk(2, dim=-1)
        turned = [left * cos - right * sin, left * sin + right * cos]
        return torch.cat(turned, dim=-1).to(x.dtype)


class Attention(nn.Module):
    """Causal attention in which several query heads share a key and a value head."""

    def __init__(self, config: Config, group: Group) -> None:
        super().__init__()
        self.config = config
        kv_dim = config.kv_heads * config.head_dim
        self.wq = Linear(config.dim, config.dim, group)
        self.wk = Linear(config.dim, kv_dim, group)
        self.wv = Linear(config.dim, kv_dim, group)
        self.wo = Linear(config.dim, config.dim, group)
        self.rotary = Rotary()

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q, k, v = (self.heads(w(x)) for w in (self.wq, self.wk, self.wv))
        q, k = self.turned(q, k, cos, sin)
        q, k, v = (t.transpose(1, 2) for t in (q, self.shared(k), self.shared(v)))
        return self.wo(self.mixed(q, k, v).transpose(1, 2).flatten(2))

    def turned(self, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        return self.rotary(q, cos, sin), self.rotary(k, cos, sin)

    def mixed(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Of [batch, head, position, feature]: every position's mean of the values before it."""
        out, *_ = aten._scaled_dot_product_efficient_attention.default(
            q, k, v, None, True, 0.0, True
        )
        return out

    def heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.config.head_dim))

    def shared(self, x: Tensor) -> Tensor:
        """[batch, position, kv head, feature] -> the same with one entry per query head"""
        copies = self.config.heads // self.config.kv_heads
        return x.unsqueeze(3).expand(-1, -1, -1, copies, -1).flatten(2, 3)


class FeedForward(nn.Module):
    """SwiGLU."""

    def __init__(self, dim: int, hidden: int, group: Group) -> None:
        super().__init__()
        self.w1 = Linear(dim, hidden, group)
        self.w2 = Linear(hidden, dim, group)
        self.w3 = Linear(dim, hidden, group)

    def forward(self, x: Tensor) -> Tensor:
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Router(nn.Module):
    """Chooses experts by score plus a bias that balances their load; weighs them by score."""

    def __init__(self, config: Config, group: Group) -> None:
        super().__init__()
        self.chosen = config.chosen
        self.gate = Linear(config.dim, config.experts, group)
        self.register_buffer("bias", torch.empty(config.experts))
        self.register_buffer("load", torch.empty(config.experts))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scores = torch.sigmoid(self.gate(x).float())
        choice = torch.topk(scores.detach() + self.bias, self.chosen, dim=-1).indices
        weights = scores.gather(-1, choice)
        weights = weights / weights.sum(-1, keepdim=True)
        counts = torch.zeros_like(scores, dtype=torch.bool).scatter(-1, choice, True).sum(0)
        with torch.no_grad():
            self.load.add_(counts)
        return weights.to(x.dtype), choice, counts


class Experts(nn.Module):
    """The experts that live on this rank: one SwiGLU each, as grouped matrix products."""

    def __init__(self, config: Config, local: int) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.empty(local, config.expert_hidden, config.dim))
        self.w2 = nn.Parameter(torch.empty(local, config.dim, config.expert_hidden))
        self.w3 = nn.Parameter(torch.empty(local, config.expert_hidden, config.dim))

    def forward(self, rows: Tensor, counts: Tensor, ends: Tensor) -> Tensor:
        """`rows` in the order of the experts, of which each has so many, up to its end."""
        w1, w2, w3 = (w.to(torch.bfloat16).transpose(1, 2) for w in (self.w1, self.w2, self.w3))
        hidden = F.silu(torch._grouped_mm(rows, w1, ends)) * torch._grouped_mm(rows, w3, ends)
        return torch._grouped_mm(hidden, w2, ends)


@dataclass(frozen=True)
class Family:
    """What a model is built of."""

    attention: type[nn.Module] = Attention
    router: type[nn.Module] = Router
    experts: type[nn.Module] = Experts
    shared_expert: bool = True  # every token visits one more expert
    weighs_first: bool = False  # rows are weighed before they visit an expert, not after


class MoE(nn.Module):
    """Router, experts on other ranks, and perhaps an expert that every token visits."""

    def __init__(self, config: Config, fsdp: Group, ep: Group, family: Family) -> None:
        super().__init__()
        self.group = ep
        self.local = config.experts // ep.size
        self.weighs_first = family.weighs_first
        self.router = family.router(config, fsdp)
        self.experts = family.experts(config, self.local)
        if family.shared_expert:
            self.shared = FeedForward(config.dim, 2 * config.expert_hidden, fsdp)

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.flatten(0, 1)
        weights, choice, counts = self.router(tokens)
        # Copies of the tokens, one for each choice, in the order of the experts.
        order = torch.sort(choice.flatten(), stable=True).indices
        rows = tokens[order // choice.shape[1]]
        if self.weighs_first:
            rows = rows * weights.flatten()[order].unsqueeze(-1)
        # How many rows from each rank, and for which of our experts? The host must know too.
        per_expert = counts.view(self.group.size, self.local)
        ones = [1] * self.group.size
        arriving = WAIT(ALL_TO_ALL(per_expert, ones, ones, self.group.name))
        gives = per_expert.sum(1).to("cpu", non_blocking=True)
        gets = arriving.sum(1).to("cpu")
        gives, gets = gives.tolist(), gets.tolist()
        rows = Exchange.apply(rows, gets, gives, self.group)
        # What arrives is sorted by sender; the experts want it sorted by expert.
        expert = torch.arange(self.local, device=rows.device).repeat(self.group.size)
        expert = torch.repeat_interleave(expert, arriving.flatten(), output_size=rows.shape[0])
        by_expert = torch.sort(expert, stable=True).indices
        counts = arriving.sum(0)
        ends = counts.cumsum(0, dtype=torch.int32)
        out = self.experts(rows[by_expert], counts, ends)
        # Back the same way: to the sender's order, to the sender, to the order of the tokens.
        out = Exchange.apply(out[torch.argsort(by_expert)], gives, gets, self.group)
        out = out[torch.argsort(order)].view(*choice.shape, -1)
        out = (out if self.weighs_first else out * weights.unsqueeze(-1)).sum(1)
        if hasattr(self, "shared"):
            out = out + self.shared(tokens)
        return out.view(x.shape)


# ------------------------------------------------------------------------------ the families
# Mixtures of experts that differ where transforms of tokens can see it.


class NormedHeads(Attention):
    """Queries and keys are normalised, head by head, before they are turned (Qwen3)."""

    def __init__(self, config: Config, group: Group) -> None:
        super().__init__(config, group)
        self.q_norm = Replicated((config.head_dim,), group)
        self.k_norm = Replicated((config.head_dim,), group)

    def turned(self, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        q, k = ((unit_rows(t) * n()).to(t.dtype) for t, n in ((q, self.q_norm), (k, self.k_norm)))
        return super().turned(q, k, cos, sin)


class SoftmaxRouter(nn.Module):
    """A probability for every expert; those of the chosen ones are made to sum to 1 (Qwen3)."""

    def __init__(self, config: Config, group: Group) -> None:
        super().__init__()
        self.chosen, self.experts = config.chosen, config.experts
        self.gate = Linear(config.dim, config.experts, group)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        likely = torch.softmax(self.gate(x).float(), dim=-1)
        weights, choice = torch.topk(likely, self.chosen, dim=-1)
        weights = weights / weights.sum(-1, keepdim=True)
        counts = torch.histc(choice.flatten().float(), self.experts, 0, self.experts)
        return weights.to(x.dtype), choice, counts.long()


class BiasedLinear(Linear):
    def __init__(self, inputs: int, outputs: int, group: Group) -> None:
        super().__init__(inputs, outputs, group)
        self.bias = Replicated((outputs,), group)

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x, self.gathered(), self.bias())


class SinkAttention(Attention):
    """Operator by operator: a head may look at nothing, as much as its sink says, and sees only
    the nearest positions before it (gpt-oss). Its products have biases."""

    def __init__(self, config: Config, group: Group) -> None:
        super().__init__(config, group)
        self.wq = BiasedLinear(config.dim, config.dim, group)
        self.wo = BiasedLinear(config.dim, config.dim, group)
        self.sinks = Replicated((config.heads,), group)
        self.window = config.sequence // 2

    def mixed(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = (q @ k.transpose(2, 3)).float() * self.config.head_dim**-0.5
        place = torch.arange(q.shape[2], device=q.device)
        ahead = place.unsqueeze(1) - place
        seen = torch.logical_and(ahead >= 0, ahead < self.window)
        scores = scores.masked_fill(~seen, -math.inf)
        sink = self.sinks().float().view(1, -1, 1, 1).expand(scores.shape[0], -1, q.shape[2], 1)
        shares = torch.softmax(torch.cat([scores, sink], dim=-1), dim=-1)
        return shares[..., :-1].to(v.dtype) @ v


class ChosenSoftmaxRouter(nn.Module):
    """Chooses by the scores themselves; only those of the chosen are made probabilities
    (gpt-oss)."""

    def __init__(self, config: Config, group: Group) -> None:
        super().__init__()
        self.chosen, self.experts = config.chosen, config.experts
        self.gate = BiasedLinear(config.dim, config.experts, group)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scores, choice = torch.topk(self.gate(x).float(), self.chosen, dim=-1)
        counts = torch.histc(choice.flatten().float(), self.experts, 0, self.experts)
        return torch.softmax(scores, dim=-1).to(x.dtype), choice, counts.long()


class ClampedExperts(nn.Module):
    """Experts with biases. Gate and value alternate in one product, and are clamped (gpt-oss)."""

    def __init__(self, config: Config, local: int) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.empty(local, 2 * config.expert_hidden, config.dim))
        self.b1 = nn.Parameter(torch.empty(local, 2 * config.expert_hidden))
        self.w2 = nn.Parameter(torch.empty(local, config.dim, config.expert_hidden))
        self.b2 = nn.Parameter(torch.empty(local, config.dim))

    def forward(self, rows: Tensor, counts: Tensor, ends: Tensor) -> Tensor:
        w1, w2 = (w.to(torch.bfloat16).transpose(1, 2) for w in (self.w1, self.w2))
        of_row = torch.repeat_interleave(counts, output_size=rows.shape[0])
        both = torch._grouped_mm(rows, w1, ends) + self.b1.to(torch.bfloat16)[of_row]
        gate, value = both[..., ::2].clamp(max=7.0), both[..., 1::2].clamp(-7.0, 7.0)
        hidden = gate * torch.sigmoid(1.702 * gate) * (value + 1)
        return torch._grouped_mm(hidden, w2, ends) + self.b2.to(torch.bfloat16)[of_row]


class UnitHeads(Attention):
    """Queries and keys have unit length after they are turned (Llama 4)."""

    def turned(self, q: Tensor, k: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
        q, k = super().turned(q, k, cos, sin)
        return unit_rows(q).to(q.dtype), unit_rows(k).to(k.dtype)


class SigmoidRouter(nn.Module):
    """Every token visits the one expert with the best score, and is weighed by that (Llama 4)."""

    def __init__(self, config: Config, group: Group) -> None:
        super().__init__()
        self.chosen, self.experts = config.chosen, config.experts
        self.gate = Linear(config.dim, config.experts, group)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        best, choice = torch.topk(self.gate(x), self.chosen, dim=-1)
        names = choice.flatten()
        counts = torch.zeros(self.experts, dtype=torch.int64, device=x.device)
        counts = counts.scatter_add_(0, names, torch.ones_like(names))
        return torch.sigmoid(best.float()).to(x.dtype), choice, counts


DEEPSEEK = Family()
QWEN3 = Family(NormedHeads, SoftmaxRouter, shared_expert=False)
GPT_OSS = Family(SinkAttention, ChosenSoftmaxRouter, ClampedExperts, shared_expert=False)
LLAMA4 = Family(UnitHeads, SigmoidRouter, weighs_first=True)


# --------------------------------------------------------------------------- the whole models


class Block(nn.Module):
    def __init__(self, config: Config, fsdp: Group, ep: Group | None, family: Family) -> None:
        super().__init__()
        self.attention_norm = RMSNorm(config.dim, fsdp)
        self.attention = family.attention(config, fsdp)
        self.ffn_norm = RMSNorm(config.dim, fsdp)
        if ep is None:
            self.ffn = FeedForward(config.dim, config.hidden, fsdp)
        else:
            self.moe = MoE(config, fsdp, ep, family)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        x = x + self.attention(self.attention_norm(x), cos, sin)
        ffn = self.moe if hasattr(self, "moe") else self.ffn
        return x + ffn(self.ffn_norm(x))


class CrossEntropy(nn.Module):
    """The sum over this rank's tokens, over the number of tokens of all ranks."""

    def forward(self, logits: Tensor, labels: Tensor, total: Tensor) -> Tensor:
        logits = logits.flatten(0, 1).float()
        return F.cross_entropy(logits, labels.flatten(), reduction="sum") / total


class Transformer(nn.Module):
    def __init__(
        self, config: Config, fsdp: Group, ep: Group | None = None, family: Family = DEEPSEEK
    ) -> None:
        super().__init__()
        self.embedding = Embedding((config.vocabulary, config.dim), fsdp)
        dense, every = config.dense_layers, config.moe_every
        routed = [i >= dense and (i - dense) % every == 0 for i in range(config.layers)]
        self.layers = nn.ModuleList(
            Block(config, fsdp, ep if has_experts else None, family) for has_experts in routed
        )
        self.norm = RMSNorm(config.dim, fsdp)
        self.head = Linear(config.dim, config.vocabulary, fsdp)
        self.loss = CrossEntropy()
        table = (config.sequence, 1, config.head_dim // 2)
        self.register_buffer("cos", torch.empty(table))
        self.register_buffer("sin", torch.empty(table))

    def forward(self, tokens: Tensor, labels: Tensor, total: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin)
        return self.loss(self.head(self.norm(x)), labels, total)


# ------------------------------------------------------------------------------------- tracing


class Scribe:
    """Writes on each traced operation which module it belongs to, and which pass.

    Forward is simple: modules announce that they are entered and left, and whatever was traced
    in between is theirs. Backward has no modules, but each step of it was recorded while some
    module ran, and PyTorch numbers those records. So we remember at which number each module
    took over, look up the number of every step, and let the steps announce themselves too.
    Autograd's additions, where several gradients meet, happen between the steps: they get a
    pass, but no module.
    """

    def __init__(self, model: nn.Module) -> None:
        self.here: tuple[str | None, str] = (None, "forward")
        self.entered: list[str] = []
        self.numbers: list[int] = []
        self.modules: list[str | None] = []
        self.last: fx.Node | None = None
        for name, module in model.named_modules():
            module.register_forward_pre_hook(lambda *_, name=name: self.enter(name))
            module.register_forward_hook(lambda *_: self.leave())

    def enter(self, module: str) -> None:
        self.entered.append(module)
        self.go_to(module, "forward")

    def leave(self) -> None:
        self.entered.pop()
        self.go_to(self.entered[-1] if self.entered else None, "forward")

    def go_to(self, module: str | None, direction: str) -> None:
        """What was traced since the last call happened there; what follows happens here."""
        graph = get_proxy_mode().tracer.graph
        node = next(iter(graph.nodes)) if self.last is None else self.last.next
        while node.op != "root":
            node.meta["fqn"], node.meta["direction"] = self.here
            self.last, node = node, node.next
        self.here = (module, direction)
        if direction == "forward":
            self.numbers.append(torch.autograd._get_sequence_nr())
            self.modules.append(module)

    def follow(self, loss: Tensor) -> None:
        """Lets every step of the backward pass from `loss` announce its module."""
        todo, seen = [loss.grad_fn], {None}
        while todo:
            step = todo.pop()
            if step not in seen:
                seen.add(step)
                self.attach(step)
                todo += [earlier for earlier, _ in step.next_functions]
        self.go_to("loss", "backward")

    def attach(self, step: GradNode) -> None:
        module = self.modules[bisect.bisect_right(self.numbers, step._sequence_nr()) - 1]
        step.register_prehook(lambda _: self.go_to(module, "backward"))
        step.register_hook(lambda *_: self.go_to(None, "backward"))


@dataclass
class Trace:
    """A traced step: the graph, and names for its inputs by their name in the trace."""

    graph: fx.GraphModule
    inputs: dict[str, str]


def trace_step(model: nn.Module, batch: dict[str, Tensor], tangents: list[Tensor]) -> Trace:
    """Forward, loss and backward as one graph (parameters, buffers, batch) -> (loss, gradients).

    With `tangents` the gradient of the loss is an input, which is the form that AOTAutograd's
    partitioner wants; without, it is the constant 1.
    """
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    state = parameters | buffers
    scribe = Scribe(model)

    def step(primals: list[Tensor], tangents: list[Tensor]) -> tuple[Tensor, list[Tensor]]:
        values = dict(zip(state, primals))
        loss = torch.func.functional_call(model, values, tuple(primals[len(state) :]))
        scribe.follow(loss)
        wanted = [values[name] for name in parameters]
        gradients = torch.autograd.grad(loss, wanted, tangents or None)
        scribe.go_to(None, "backward")
        return loss, list(gradients)

    graph = make_fx(step)([*state.values(), *batch.values()], tangents)
    graph.graph.eliminate_dead_code()
    names = [name.replace(".", "_") for name in state] + list(batch)
    named = {f"primals_{i}": name for i, name in enumerate(names, start=1)}
    named |= {f"tangents_{i}": f"tangent_{i}" for i in range(1, len(tangents) + 1)}
    return Trace(graph, named)


def regather_in_backward(graph: fx.Graph) -> None:
    """Forbids the partitioner to keep whole weights for the backward pass: it must cast and
    gather them again. FSDP calls this reshard after forward."""
    chain: set[fx.Node] = set()
    for node in graph.nodes:
        if node.op != "call_function" or node.meta["direction"] == "backward":
            continue
        feeds = any(user.target is ALL_GATHER for user in node.users)
        follows = node.target in (WAIT, aten.t.default) and node.args[0] in chain
        if feeds or follows or node.target is ALL_GATHER:
            chain.add(node)
            node.meta["recompute"] = CheckpointPolicy.MUST_RECOMPUTE
            node.meta["ac_graph_id"] = 0


def layer(node: fx.Node) -> str | None:
    """The number of the layer that a node belongs to."""
    path = (node.meta.get("fqn") or "").split(".")
    return path[1] if path[0] == "layers" else None


def run(node: fx.Node) -> None:
    """Gives a node that is new, or has new operands, its fake value."""
    args, kwargs = fx.map_arg((node.args, node.kwargs), lambda source: source.meta["val"])
    node.meta["val"] = node.target(*args, **kwargs)


def compute_again(graph: fx.Graph, kept: set[Any]) -> None:
    """Lets backward compute again what forward has not kept: results of operators in `kept`, what
    crosses from one layer to another, numbers, and what is written in place."""

    def stays(node: fx.Node) -> bool:
        if node.op != "call_function" or node.meta["direction"] == "backward":
            return True
        source = node.args[0] if node.target is WAIT else node
        numbers = not tensors(node.meta["val"])
        written = isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable
        if layer(node) is None or numbers or written or source.target in kept:
            return True
        ahead = [user for user in node.users if user.meta.get("direction") == "forward"]
        return any(layer(user) != layer(node) for user in ahead)

    again: dict[fx.Node, fx.Node] = {}
    moved: set[fx.Node] = set()  # whose operands are elsewhere now; views of them are, too

    def recomputed(node: fx.Node, before: fx.Node) -> fx.Node:
        if stays(node):
            return node
        if node not in again:
            sources = [recomputed(source, before) for source in node.all_input_nodes]
            of = dict(zip(node.all_input_nodes, sources))
            with graph.inserting_before(before):
                copy = graph.node_copy(node, of.__getitem__)
            copy.meta = {"fqn": node.meta["fqn"], "direction": "backward"}
            run(copy)
            moved.add(copy)
            again[node] = copy
        return again[node]

    for node in list(graph.nodes):
        if node.op == "call_function" and node.meta["direction"] == "backward":
            for source in node.all_input_nodes:
                node.replace_input_with(source, recomputed(source, node))
            if moved.intersection(node.all_input_nodes):
                run(node)
                moved.add(node)
    graph.eliminate_dead_code()


def offload(graph: fx.Graph) -> None:
    """Moves what layers have made in forward and backward reads to the memory of the host after
    its last use in forward, and back before the first one in backward."""
    place = {node: i for i, node in enumerate(graph.nodes)}
    moved: set[fx.Node] = set()

    def put(target: Any, args: tuple[Any, ...], like: fx.Node) -> fx.Node:
        node = graph.call_function(target, args)
        node.meta = {"fqn": like.meta["fqn"], "direction": like.meta["direction"]}
        run(node)
        return node

    for node in list(graph.nodes):
        value = node.meta.get("val")
        if node.op != "call_function" or layer(node) is None or not isinstance(value, Tensor):
            continue
        if node.target in COLLECTIVES:  # in flight, and what arrives belongs to the wait
            continue
        uses = sorted(node.users, key=place.__getitem__)
        ahead = [user for user in uses if user.meta.get("direction") == "forward"]
        later = [user for user in uses if user.meta.get("direction") == "backward"]
        if node.meta["direction"] != "forward" or not later or not value.is_floating_point():
            continue
        with graph.inserting_before((ahead[-1] if ahead else node).next):
            away = put(torch.ops.ao.offload.default, (node,), node)
            away = put(torch.ops.ao.wait_tensor.default, (away, node), node)
        with graph.inserting_before(later[0]):
            back = put(torch.ops.ao.reload.default, (away, value.device), later[0])
            back = put(torch.ops.ao.wait_tensor.default, (back, away), later[0])
        moved.add(back)
        for user in later:
            user.replace_input_with(node, back)
    for node in graph.nodes:
        again = node.op == "call_function" and node not in moved
        if again and moved.intersection(node.all_input_nodes):
            run(node)
            moved.add(node)


# --------------------------------------------------------------------------------------- costs
# A GPU of the H100 class at rates that real kernels reach. Everything is integer arithmetic.

MATMUL_FLOPS = 600 * 10**12  # per second, bf16
MEMORY_BYTES = 2_680 * 10**9  # per second
LAUNCH_NS = 2_000  # of one kernel
NVLINK_BYTES = 300 * 10**9  # per second and direction, between GPUs of a node
NIC_BYTES = 45 * 10**9  # per second and direction, from one GPU to other nodes
START_NS = 20_000  # of one collective
HOP_NS = 1_000  # for each further rank that a message must reach
SECOND = 10**9

COLLECTIVES = {
    ALL_GATHER: "all_gather",
    REDUCE_SCATTER: "reduce_scatter",
    ALL_REDUCE: "all_reduce",
    ALL_TO_ALL: "all_to_all",
}
PAYLOADS = [0, *(1 << k for k in range(12, 31, 2))]

# Operators that read of their first operand only its shape, or only the places they pick.
FILLS = {aten.new_zeros.default, aten.zeros_like.default, aten.ones_like.default}
PICKS = {aten.embedding.default, aten.gather.default, aten.index.Tensor, aten.index_select.default}
# Copies to the memory of the host and back run beside kernels: here they cost the launch alone.
TRANSFERS = {torch.ops.ao.offload.default, torch.ops.ao.reload.default}


def collective_ns(collective: str, payload: int, group: Group) -> int:
    """Latency plus time on the slowest link, in the better of two protocols: one that has half
    the latency, and one that has twice the bandwidth. `payload` is what this rank puts in."""
    n, near = group.size, group.ranks_per_node
    if collective == "all_to_all":
        hops, inside, outside = (n - 1) // 2, payload * (near - 1) // n, payload * (n - near) // n
        on_wire = max(inside * SECOND // NVLINK_BYTES, outside * SECOND // NIC_BYTES)
    else:
        # A ring per network card: together the rings leave a node through all of its cards.
        link = NVLINK_BYTES if near == n else min(NVLINK_BYTES, NIC_BYTES * near)
        rounds = 2 if collective == "all_reduce" else 1
        part = payload if collective == "all_gather" else payload // n
        hops, on_wire = rounds * (n - 1), rounds * (n - 1) * part * SECOND // link
    latency = START_NS + hops * HOP_NS
    return min(latency // 2 + 2 * on_wire, latency + on_wire)


def cost_table(group: Group) -> dict[str, list[list[int]]]:
    kinds = ["all_gather", "reduce_scatter", "all_reduce", "all_to_all"]
    return {c: [[b, collective_ns(c, b, group)] for b in PAYLOADS] for c in kinds}


def look_up(points: list[list[int]], payload: int) -> int:
    """Linear between the points, and beyond the last one."""
    at = min(bisect.bisect_left(points, [payload]), len(points) - 1)
    (x0, y0), (x1, y1) = points[max(at - 1, 0)], points[max(at, 1)]
    return y0 + (y1 - y0) * (payload - x0) // (x1 - x0)


def attention_flops(q: list[int], k: list[int], v: list[int]) -> int:
    """Two matrix products, of which the causal mask spares half."""
    batch, heads, queries, dim = q
    return batch * heads * queries * k[2] * (dim + v[3])


def matmul_flops(node: fx.Node, shape: Callable[[fx.Node], list[int]]) -> int:
    """Floating-point operations of a node's matrix products; other work counts by its bytes."""
    if node.target is aten.mm.default:
        (rows, inner), (_, columns) = map(shape, node.args)
        return 2 * rows * inner * columns
    if node.target is aten.addmm.default:
        (rows, inner), (_, columns) = map(shape, node.args[1:3])
        return 2 * rows * inner * columns
    if node.target is aten.bmm.default:
        (batch, rows, inner), (*_, columns) = map(shape, node.args)
        return 2 * batch * rows * inner * columns
    if node.target is aten._grouped_mm.default:
        # [rows, inner] x [group, inner, columns], or the gradient [m, rows] x [rows, columns]:
        # either way every row belongs to one group.
        (rows, inner), columns = shape(node.args[0]), shape(node.args[1])[-1]
        return 2 * rows * inner * columns
    if node.target is aten._scaled_dot_product_efficient_attention.default:
        return attention_flops(*map(shape, node.args[:3]))
    if node.target is aten._scaled_dot_product_efficient_attention_backward.default:
        return attention_flops(*map(shape, node.args[1:4])) * 5 // 2
    return 0


# --------------------------------------------------------------------------------- the file

VIEWS = {aten.view.default, aten._unsafe_view.default}
WORDS = {
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.bool: "bool",
    torch.complex64: "c64",
    torch.strided: "strided",
    torch.contiguous_format: "contiguous_format",
    torch.preserve_format: "preserve_format",
}


@dataclass
class Step:
    """What a file says besides its nodes: name, groups, values of the symbols."""

    name: str
    groups: list[Group]
    symbols: dict[str, int]

    def value(self, extent: int | torch.SymInt) -> int:
        if isinstance(extent, int):
            return extent
        expression = extent.node.expr
        values = {symbol: self.symbols[symbol.name] for symbol in expression.free_symbols}
        return int(expression.xreplace(values))


def tensors(value: Any) -> list[Tensor]:
    """The tensors among the results of a node."""
    if isinstance(value, (list, tuple)):
        return [t for v in value for t in tensors(v)]
    return [value] if isinstance(value, Tensor) else []


class Writer:
    """Turns a traced graph into the nodes of a file."""

    def __init__(self, step: Step, inputs: dict[str, str]) -> None:
        self.step = step
        self.inputs = inputs
        self.nodes: list[dict[str, Any]] = []
        self.position: dict[fx.Node, int] = {}
        self.owner: dict[int, int] = {}  # storage -> position of the node that allocates it
        self.tables = {group.name: cost_table(group) for group in step.groups}
        self.group_index = {group.name: i for i, group in enumerate(step.groups)}

    def write(self, graph: fx.Graph, direction: str | None = None) -> dict[str, Any]:
        """The whole file; with `direction`, all of the graph belongs to one pass."""
        for node in graph.nodes:
            self.add(node, direction)
        names = [node["name"] for node in self.nodes]
        assert len(set(names)) == len(names)
        groups = [{"name": g.name, "size": g.size, "desc": g.desc} for g in self.step.groups]
        costs = {
            "memory_bytes_per_second": MEMORY_BYTES,
            "launch_ns": LAUNCH_NS,
            "collectives": self.tables,
        }
        head = {"format": "stretto-graph", "version": 1, "name": self.step.name}
        symbols = {"symbols": self.step.symbols} if self.step.symbols else {}
        return head | {"groups": groups, "costs": costs} | symbols | {"nodes": self.nodes}

    def add(self, node: fx.Node, direction: str | None) -> None:
        results = tensors(node.meta.get("val"))
        kind = self.kind(node, results)
        name = self.inputs.get(node.name, node.name)
        out: dict[str, Any] = {"name": name, "op": self.operator(node), "kind": kind}
        out["inputs"] = [self.position[source] for source in node.all_input_nodes]
        if kind not in ("input", "output"):
            out |= self.arguments(node)
        out["outputs"] = [self.describe(t) for t in results] if kind != "output" else []
        self.position[node] = len(self.nodes)
        out |= self.memory(node, kind, results)
        if bound := self.binds(node):
            out["binds"] = bound
        if kind == "start":
            out |= self.collective(node)
        else:
            out["ns"] = self.kernel_ns(node, results) if kind == "compute" else 0
        if kind not in ("input", "output"):
            if node.meta["fqn"] is not None:
                out["fqn"] = node.meta["fqn"]
            out["direction"] = direction or node.meta["direction"]
        self.nodes.append(out)

    def operator(self, node: fx.Node) -> str:
        if node.op != "call_function":
            return node.op
        if node.target in VIEWS:  # as a reshape it means the same, whatever the strides
            return "aten.reshape.default"
        if isinstance(node.target, torch._ops.OpOverload):
            return str(node.target)
        return node.target.__name__

    def kind(self, node: fx.Node, results: list[Tensor]) -> str:
        """A view launches no kernel: its results are no tensors, or they are in storage that is
        already there and the operator's schema says that it does not write."""
        if node.op != "call_function":
            return {"placeholder": "input", "output": "output"}[node.op]
        if node.target is WAIT:
            return "wait"
        if node.target in COLLECTIVES:
            return "start"
        written = isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable
        fresh = [t for t in results if self.storage(t) not in self.owner]
        return "compute" if fresh or written else "view"

    def storage(self, tensor: Tensor) -> int:
        return tensor.untyped_storage()._cdata

    def arguments(self, node: fx.Node) -> dict[str, Any]:
        """Arguments as written; left out where they are just the inputs in their order."""
        sources = node.all_input_nodes

        def text(a: Any) -> Any:
            if isinstance(a, fx.Node):
                return f"%{sources.index(a)}"
            if isinstance(a, (list, tuple)):
                return [text(x) for x in a]
            if isinstance(a, torch.device):
                return a.type
            if isinstance(a, float) and not math.isfinite(a):
                return str(a)
            return a if a is None or isinstance(a, (bool, int, float, str)) else WORDS[a]

        args = text(node.args)
        out = {} if args == [f"%{i}" for i in range(len(sources))] else {"args": args}
        if node.kwargs:
            out["kwargs"] = {key: text(value) for key, value in node.kwargs.items()}
        return out

    def describe(self, tensor: Tensor) -> dict[str, Any]:
        out = {"shape": self.shape(tensor), "dtype": WORDS[tensor.dtype]}
        if any(isinstance(extent, torch.SymInt) for extent in tensor.shape):
            out["symbolic"] = [e if isinstance(e, int) else str(e.node.expr) for e in tensor.shape]
        return out

    def shape(self, tensor: Tensor) -> list[int]:
        return [self.step.value(extent) for extent in tensor.shape]

    def memory(self, node: fx.Node, kind: str, results: list[Tensor]) -> dict[str, Any]:
        """What the node allocates, and the owners of the storages that it shares or writes."""
        here, fresh = self.position[node], {}
        for tensor in results:
            if kind == "wait":
                self.owner[self.storage(tensor)] = self.owner_of(node.args[0])
            if self.owner.setdefault(self.storage(tensor), here) == here:
                fresh[self.storage(tensor)] = tensor.untyped_storage().nbytes()
        if node.target is torch.ops.ao.offload.default:
            fresh = {}  # in the memory of the host
        out: dict[str, Any] = {"bytes": sum(self.step.value(size) for size in fresh.values())}
        if shared := {self.owner[self.storage(t)] for t in results} - {here}:
            out["alias"] = sorted(shared)
        if written := self.written(node):
            out["mutates"] = sorted({self.owner_of(source) for source in written})
        return out

    def owner_of(self, node: fx.Node) -> int:
        return self.owner[self.storage(node.meta["val"])]

    def written(self, node: fx.Node) -> list[fx.Node]:
        """The operands that an in-place operator writes, by its schema."""
        if not isinstance(node.target, torch._ops.OpOverload):
            return []
        arguments = zip(node.target._schema.arguments, node.args)
        return [value for a, value in arguments if a.alias_info and a.alias_info.is_write]

    def binds(self, node: fx.Node) -> list[str]:
        """Symbols whose value becomes known here."""
        if node.op == "placeholder":
            extents = [str(extent) for t in tensors(node.meta["val"]) for extent in t.shape]
            return [extent for extent in extents if extent in self.step.symbols]
        return [str(symbol) for symbol in node.meta.get("unbacked_bindings") or {}]

    def collective(self, node: fx.Node) -> dict[str, Any]:
        collective, group = COLLECTIVES[node.target], node.args[-1]
        payload = self.bytes(node.args[0].meta["val"])
        ns = look_up(self.tables[group][collective], payload)
        index = self.group_index[group]
        return {"collective": collective, "group": index, "payload": payload, "ns": ns}

    def bytes(self, tensor: Tensor) -> int:
        """Bytes of the distinct elements: an expanded dimension has stride 0 and costs nothing."""
        extents = [e for e, s in zip(self.shape(tensor), tensor.stride()) if self.step.value(s)]
        return math.prod(extents) * tensor.dtype.itemsize

    def kernel_ns(self, node: fx.Node, results: list[Tensor]) -> int:
        """Launch, and then matrix units or memory, whichever takes longer."""
        if node.target in TRANSFERS:
            return LAUNCH_NS
        flops = matmul_flops(node, lambda operand: self.shape(operand.meta["val"]))
        read = [t for source in node.all_input_nodes for t in tensors(source.meta["val"])]
        if node.target in FILLS:
            read = read[1:]
        if node.target in PICKS:
            read = results + read[1:]
        moved = sum(self.bytes(t) for t in read + results)
        by_flops, by_bytes = flops * SECOND // MATMUL_FLOPS, moved * SECOND // MEMORY_BYTES
        return LAUNCH_NS + max(by_flops, by_bytes)


def save(graph: dict[str, Any], folder: Path) -> None:
    """One node per line; compressed without time and file name, so equal graphs are equal files."""
    nodes = ",\n".join(json.dumps(node, separators=(",", ":")) for node in graph["nodes"])
    head = json.dumps(graph | {"nodes": []}, separators=(",", ":"))
    text = head.removesuffix("]}") + "\n" + nodes + "\n]}\n"
    with open(folder / f"{graph['name']}.json.gz", "wb") as file:
        with gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            packed.write(text.encode())


# ------------------------------------------------------------------------------- the captures


def capture_llama() -> Iterator[dict[str, Any]]:
    (fsdp,) = fake_cluster(gpus=64, gpus_per_node=8, purposes=["fsdp"])
    config = Config(
        vocabulary=128_256,
        dim=3_072,
        layers=28,
        heads=24,
        kv_heads=8,
        hidden=8_192,
        sequence=4_096,
    )
    with FakeTensorMode(), torch.device("meta"):
        model = Transformer(config, fsdp)
        trace = trace_step(model, make_batch(2, config), [torch.empty(())])
        regather_in_backward(trace.graph.graph)
        halves = min_cut_rematerialization_partition(trace.graph, None, num_fwd_outputs=1)
    for direction, half in zip(("forward", "backward"), halves):
        step = Step(f"llama_fsdp_{direction}", [fsdp], {})
        yield Writer(step, trace.inputs).write(half.graph, direction)


def capture_moe() -> Iterator[dict[str, Any]]:
    yield capture_mixture("moe_ep_step", MIXTURE, None)


def capture_mixture(
    name: str,
    config: Config,
    kept: set[torch._ops.OpOverload] | None,
    shared: bool = False,
    family: Family = DEEPSEEK,
    offloads: bool = False,
) -> dict[str, Any]:
    """`kept`: the operators whose results are kept for the backward pass. None: it keeps all.

    `shared`: tokens travel on the communicator of the weights. `offloads`: what is kept is moved
    to the memory of the host meanwhile."""
    purposes = ["world"] if shared else ["fsdp", "ep"]
    groups = fake_cluster(gpus=8, gpus_per_node=4, purposes=purposes)
    fsdp, ep = groups[0], groups[-1]
    # Many short sequences rather than few long ones: two of them are a batch that can be run
    # for all ranks together on a laptop, to check what a transform makes of this step.
    batch = 256
    shapes = ShapeEnv()
    with FakeTensorMode(shape_env=shapes), torch.device("meta"):
        model = Transformer(config, fsdp, ep, family)
        with shapes.ignore_fresh_unbacked_symbols():
            size = shapes.create_unbacked_symint()
        torch._check(size >= 2)
        trace = trace_step(model, make_batch(size, config), [])
        if kept is not None:
            compute_again(trace.graph.graph, kept)
        if offloads:
            offload(trace.graph.graph)
    # The step is drawn for a balanced router: every rank sends every rank the same.
    balanced = batch * config.sequence * config.chosen // ep.size
    found = [s for n in trace.graph.graph.nodes for s in n.meta.get("unbacked_bindings") or {}]
    symbols = {str(size): batch} | {str(symbol): balanced for symbol in found}
    step = Step(name, groups, symbols)
    return Writer(step, trace.inputs).write(trace.graph.graph)


# What selective recomputation keeps: results of matrix products and attention, what the router has
# chosen and what was exchanged.
SELECTIVE = {
    aten.mm.default,
    aten.addmm.default,
    aten.bmm.default,
    aten._grouped_mm.default,
    aten._scaled_dot_product_efficient_attention.default,
    aten.topk.default,
    ALL_TO_ALL,
}


def capture_recomputation() -> Iterator[dict[str, Any]]:
    yield capture_mixture("moe_recompute_selective", SMALL, SELECTIVE)
    yield capture_mixture("moe_recompute_layers", SMALL, set())


def capture_shared() -> Iterator[dict[str, Any]]:
    yield capture_mixture("moe_shared_group", replace(MIXTURE, layers=6), None, shared=True)


def capture_families() -> Iterator[dict[str, Any]]:
    each = replace(SMALL, layers=3, dense_layers=0)
    for name, family in [("qwen3", QWEN3), ("gpt_oss", GPT_OSS)]:
        yield capture_mixture(f"{name}_full", each, set(), family=family)
        yield capture_mixture(f"{name}_selective", each, SELECTIVE, family=family)
    second = replace(each, layers=4, moe_every=2, chosen=1)
    yield capture_mixture("llama4_full", second, set(), family=LLAMA4)
    yield capture_mixture("llama4_offload", second, SELECTIVE, family=LLAMA4, offloads=True)


MIXTURE = Config(
    vocabulary=4_096,
    dim=512,
    layers=12,
    heads=8,
    kv_heads=4,
    hidden=1_536,
    sequence=128,
    experts=16,
    chosen=4,
    expert_hidden=256,
    dense_layers=1,
)

SMALL = Config(
    vocabulary=512,
    dim=256,
    layers=4,
    heads=4,
    kv_heads=4,
    hidden=512,
    sequence=128,
    experts=16,
    chosen=4,
    expert_hidden=128,
    dense_layers=1,
)


def make_batch(size: int | torch.SymInt, config: Config) -> dict[str, Tensor]:
    """Tokens, labels, and the number of tokens on all ranks."""
    tokens = torch.empty(size, config.sequence, dtype=torch.int64)
    total = torch.empty((), dtype=torch.int64)
    return {"tokens": tokens, "labels": torch.empty_like(tokens), "total_tokens": total}


# -------------------------------------------------------------------------------- the table


def clock(nodes: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Step, computation and exposed communication in ns: one compute lane, a channel per group."""
    now = computed = exposed = 0
    end: dict[int, int] = {}
    free: dict[int, int] = {}
    for position, node in enumerate(nodes):
        if node["kind"] == "compute":
            now, computed = now + node["ns"], computed + node["ns"]
        elif node["kind"] == "start":
            begin = max(now, free.get(node["group"], 0))
            end[position] = free[node["group"]] = begin + node["ns"]
        elif node["kind"] == "wait":
            arrival = end.get(node["inputs"][0], 0)
            exposed, now = exposed + max(0, arrival - now), max(now, arrival)
    return max(now, *end.values()), computed, exposed


def peak_bytes(nodes: list[dict[str, Any]]) -> int:
    """The most memory that is in use at once, besides the inputs.

    A storage lives from the node that allocates it to the last one that touches it; what a
    collective reads lives until its wait."""
    owners: list[set[int]] = []
    last: dict[int, int] = {}
    for position, node in enumerate(nodes):
        own = {position} if node["bytes"] else set()
        owners.append(own.union(*(owners[a] for a in node.get("alias", []))))
        touched = [position, *node["inputs"], *node.get("mutates", [])]
        if node["kind"] == "wait":
            touched += nodes[node["inputs"][0]]["inputs"]
        last |= {storage: position for t in touched for storage in owners[t]}
    kept = {i for i, node in enumerate(nodes) if node["kind"] == "input"}
    kept = kept.union(*(owners[i] for i in nodes[-1]["inputs"]))
    freed: dict[int, int] = {}
    for storage, position in last.items():
        if storage not in kept:
            freed[position] = freed.get(position, 0) + nodes[storage]["bytes"]
    used = most = 0
    for position, node in enumerate(nodes):
        used += node["bytes"] if node["kind"] != "input" else 0
        most = max(most, used)
        used -= freed.get(position, 0)
    return most


def print_table(folder: Path) -> None:
    print("| file | nodes | collectives | step ms | compute ms | exposed ms | peak GiB |")
    print("|---|---|---|---|---|---|---|")
    for path in sorted(folder.glob("*.json.gz")):
        nodes = json.loads(gzip.decompress(path.read_bytes()))["nodes"]
        starts = sum(node["kind"] == "start" for node in nodes)
        times = " | ".join(f"{ns / 1e6:.2f}" for ns in clock(nodes))
        peak = peak_bytes(nodes) / 2**30
        print(f"| `{path.name}` | {len(nodes):,} | {starts:,} | {times} | {peak:.2f} |")


CAPTURES = {
    "llama": capture_llama,
    "moe": capture_moe,
    "recompute": capture_recomputation,
    "shared": capture_shared,
    "families": capture_families,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--only", choices=list(CAPTURES))
    parser.add_argument("--stats", action="store_true")
    options = parser.parse_args()
    for name, capture in CAPTURES.items():
        if not options.stats and options.only in (None, name):
            for graph in capture():
                save(graph, options.out)
    print_table(options.out)


if __name__ == "__main__":
    main()
