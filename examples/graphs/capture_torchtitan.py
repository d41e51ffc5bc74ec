#!/usr/bin/env python3
"""Captures training steps of torchtitan's own models as stretto-graph files, on a laptop.

usage: python capture_torchtitan.py [--out FOLDER] [--model MODEL] [--config NAME] [--policy POLICY ...]
                                    [--gpus N] [--ep N] [--layers N] [--batch N] [--sequence N]

  --out FOLDER    where the files go (default: beside this script)
  --model MODEL   qwen3 (the default), llama3 or deepseek_v3
  --config NAME   of torchtitan.models.MODEL.config_registry; default qwen3_moe_debug, llama3_8b or
                  deepseek_v3_debugmodel. qwen3_30b_a3b and deepseek_v3_16b work too: with
                  --gpus 64 a rank's share of the weights fits in memory
  --policy        torchtitan's memory policies, a file for each: full recomputes whole layers,
                  default what selective recomputation does not keep

Unlike the models in capture.py, nothing here is ours but the costs: torchtitan builds the model,
shards it, traces forward, loss and backward as its graph trainer does, and decides what is computed
again. Its own passes for overlap are left out, because that is the business of the transforms that
read these graphs. One process plays rank 0 with process groups that send nothing; the weights of
that rank are real, and everything else has shapes only. Attention is PyTorch's for CPUs.

Needs torchtitan (requirements_torchtitan.txt). The same versions give the same bytes.
"""

import argparse
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torchtitan.tools.utils as titan_utils

titan_utils.device_type = "cpu"  # the rest of torchtitan copies this when it is imported

from torch import fx
from torch.distributed.distributed_c10d import _resolve_process_group
from torch.testing._internal.distributed.fake_pg import FakeStore
from torchtitan.config import TORCH_DTYPE_MAP
from torchtitan.distributed import ParallelDims
from torchtitan.distributed import utils as titan_groups
from torchtitan.experiments.graph_trainer import passes
from torchtitan.experiments.graph_trainer.common_utils import _get_module_fqn, _is_backward_node
from torchtitan.experiments.graph_trainer.configs import (
    GraphTrainerCompileConfig,
    to_graph_trainer_config,
)
from torchtitan.experiments.graph_trainer.make_fx_tracer import TracedResult, minimal_fx_tracer
from torchtitan.experiments.graph_trainer.precompile_main import _prepare_loss_for_precompile
from torchtitan.experiments.graph_trainer.simple_fsdp import disable_active_parametrization
from torchtitan.experiments.graph_trainer.trainer import GraphTrainer, make_fwd_bwd_step
from torchtitan.models.common.attention import ScaledDotProductAttention

from capture import COLLECTIVES, Group, Step, Writer, run, save, tensors

DEFAULT_CONFIGS = {
    "qwen3": "qwen3_moe_debug",
    "llama3": "llama3_8b",
    "deepseek_v3": "deepseek_v3_debugmodel",
}

# The passes that torchtitan always runs, and those that decide what is computed again.
WANTED = {
    "eliminate_dead_code_pass",
    "canonicalize_graph_pass",
    "deduplicate_fsdp_unshard_chains_pass",
    "tag_with_memory_policy_pass",
    "apply_cpu_offload_pass",
    "selective_activation_remat_pass",
}


def configured(options: argparse.Namespace, policy: str) -> GraphTrainer.Config:
    """torchtitan's configuration, with experts spread over ranks and attention that a CPU has."""
    model = import_module(f"torchtitan.experiments.graph_trainer.{options.model}")
    registry = partial(model.model_registry, attn_backend="sdpa")
    configs = import_module(f"torchtitan.models.{options.model}.config_registry")
    name = options.config or DEFAULT_CONFIGS[options.model]
    config = to_graph_trainer_config(getattr(configs, name)(), registry)
    config.compile = GraphTrainerCompileConfig(enable=True, memory_policy=policy)
    config.parallelism.data_parallel_shard_degree = options.gpus
    config.parallelism.expert_parallel_degree = options.ep
    config.training.local_batch_size = options.batch
    config.training.seq_len = options.sequence
    layers = config.model_spec.model.layers
    del layers[options.layers :]
    for layer in layers:
        layer.attention.inner_attention = ScaledDotProductAttention.Config()
    return config


def sharded_model(config: GraphTrainer.Config) -> tuple[torch.nn.Module, ParallelDims]:
    """The model as torchtitan shards it, with the weights of rank 0."""
    parallelism = config.parallelism
    gpus = parallelism.data_parallel_shard_degree
    if dist.is_initialized():
        dist.destroy_process_group()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=gpus)
    titan_groups.set_spmd_backend(parallelism.spmd_backend)
    dims = ParallelDims(
        dp_replicate=1,
        dp_shard=gpus,
        cp=1,
        tp=1,
        pp=1,
        ep=parallelism.expert_parallel_degree,
        world_size=gpus,
        spmd_backend=parallelism.spmd_backend,
    )
    dims.build_mesh()
    spec = config.model_spec
    spec.model.update_from_config(config=config)
    dtype = TORCH_DTYPE_MAP[config.training.dtype]
    with torch.device("meta"), titan_utils.set_default_dtype(dtype):
        model = spec.model.build()
    model = spec.parallelize_fn(
        model,
        parallel_dims=dims,
        training=config.training,
        parallelism=parallelism,
        compile_config=config.compile,
        ac_config=config.activation_checkpoint,
        dump_folder="",
    )
    model.to_empty(device="cpu")
    with torch.no_grad(), disable_active_parametrization():
        model.init_weights(buffer_device=None)
    return model.train(), dims


def traced(config: GraphTrainer.Config) -> TracedResult:
    """The step as torchtitan traces it, for a batch of any size, with what is computed again."""
    model, dims = sharded_model(config)
    loss = config.loss.build(compile_config=config.compile)
    _prepare_loss_for_precompile(model, loss)
    batch, sequence = config.training.local_batch_size, config.training.seq_len
    tokens = torch.zeros(batch, sequence, dtype=torch.int64)
    labels = torch.zeros_like(tokens)
    positions = torch.arange(sequence, dtype=torch.int32).repeat(batch, 1)
    for rows in (tokens, labels, positions):
        torch._dynamo.decorators.mark_unbacked(rows, 0, shape_id="batch", min=2)
    total = torch.tensor(batch * sequence * dims.dp_shard)
    step = make_fwd_bwd_step(model, loss)
    made = minimal_fx_tracer(step, module=model)(tokens, labels, total, {"positions": positions})
    todo = passes.compile_time_passes(made, config, parallel_dims=dims, include_inductor=False)
    todo = [p for p in todo if getattr(p, "func", p).__name__ in WANTED]
    made.gm = passes.apply_graph_passes(
        made.gm, made.example_inputs, todo, compile_config=config.compile
    )
    return made


def annotate(graph: fx.Graph) -> None:
    """Says of every node to which module and pass it belongs, and gives what is computed again
    storage of its own: torchtitan copies the fake values of the originals."""
    fake = next(t.fake_mode for node in graph.nodes for t in tensors(node.meta.get("val")))
    with fake, fake.shape_env.ignore_fresh_unbacked_symbols():
        for node in graph.nodes:
            node.meta["fqn"] = _get_module_fqn(node) or None
            node.meta["direction"] = "backward" if _is_backward_node(node) else "forward"
            numbers = not tensors(node.meta.get("val"))
            if node.op == "call_function" and not numbers and not node.meta.get("unbacked_bindings"):
                run(node)


def input_names(made: TracedResult) -> list[str]:
    """Names of the inputs. A sharded weight is its shard and, behind it, something that is no tensor."""
    names = []
    for i, fqn in enumerate(made.state_fqns):
        layout = made.input_subclass_layouts.get(i)
        parts = layout.num_tensors if layout else 1
        names += [fqn.replace(".", "_") + (f"_{part}" if part else "") for part in range(parts)]
    return [*names, "tokens", "labels", "total_tokens", "positions"]


def capture(options: argparse.Namespace, policy: str) -> dict[str, Any]:
    config = configured(options, policy)
    made = traced(config)
    graph = made.gm.graph
    annotate(graph)
    used = dict.fromkeys(n.args[-1] for n in graph.nodes if n.target in COLLECTIVES)
    gpus_per_node = max(min(8, options.gpus // 2), 1)  # at least two nodes
    groups = []
    for name in used:
        group = _resolve_process_group(name)
        ranks = tuple(dist.get_process_group_ranks(group))
        groups.append(Group(name, group.group_desc, ranks, gpus_per_node))
    inputs = [node for node in graph.nodes if node.op == "placeholder"]
    symbols = {
        str(extent): options.batch
        for node in inputs
        for tensor in tensors(node.meta["val"])
        for extent in tensor.shape
        if isinstance(extent, torch.SymInt)
    }
    # The step is drawn for a balanced router: every rank sends every rank the same.
    for moe in [getattr(layer, "moe", None) for layer in config.model_spec.model.layers]:
        if moe:
            balanced = options.batch * options.sequence * moe.router.top_k // options.ep
            found = [s for node in graph.nodes for s in node.meta.get("unbacked_bindings") or {}]
            symbols = {str(symbol): balanced for symbol in found} | symbols
            break
    names = {node.name: name for node, name in zip(inputs, input_names(made), strict=True)}
    words = {"full": "full", "default": "selective"}
    model = options.config or DEFAULT_CONFIGS[options.model]
    for suffix in ("_moe_debug", "_debugmodel", "_a3b"):
        model = model.removesuffix(suffix)
    name = f"titan_{model}_{words[policy]}"
    return Writer(Step(name, groups, symbols), names).write(graph)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--model", choices=list(DEFAULT_CONFIGS), default="qwen3")
    parser.add_argument("--config")
    parser.add_argument("--policy", nargs="+", choices=["full", "default"], default=["full", "default"])
    parser.add_argument("--gpus", type=int, default=8)
    parser.add_argument("--ep", type=int, help="ranks over which experts are spread; default 4")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--sequence", type=int, default=512)
    options = parser.parse_args()
    options.ep = options.ep or (1 if options.model == "llama3" else 4)
    for policy in options.policy:
        save(capture(options, policy), options.out)


if __name__ == "__main__":
    main()
