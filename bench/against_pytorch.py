#!/usr/bin/env python3
"""Times PyTorch's overlap scheduler and stretto-plan on the same captured step, in the same run.

usage: against_pytorch.py --planner PATH/TO/stretto-plan [--runs N] STEP.json.gz...

Rebuilds the FX graph of a step: every operator runs once under FakeTensorMode, on process groups without peers, so that
shapes, aliases and groups are those that the capture was made from (shapes are checked). Then times
    schedule_overlap_bucketing(gm, collective_bucketing=True, compute_estimator="analytical",
                               custom_runtime_estimation=<the costs of the capture>)
with everything else at its defaults; where the pass would compute a roofline of the device, it gets the costs of the
capture, too, which only makes it faster. stretto-plan runs at the peak memory of the input order and reports what
planning took: task graph, schedule, certificate; not reading the file, as PyTorch's seconds do not include building the
graph. PyTorch in processor seconds, both the least of the runs; its first run includes what it imports late, so there
are at least two.

Steps with operators that PyTorch does not know by name (Triton kernels, higher-order operators) are refused.
"""
import argparse
import gzip
import json
import logging
import operator
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch._inductor.fx_passes import overlap_scheduling
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.testing._internal.distributed.fake_pg import FakeStore

DTYPES = {
    "bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64,
    "i64": torch.int64, "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "u8": torch.uint8,
    "bool": torch.bool, "c64": torch.complex64,
}
WORDS = {
    **DTYPES, "strided": torch.strided, "cpu": torch.device("cpu"), "cuda": torch.device("cuda"),
    "contiguous_format": torch.contiguous_format, "preserve_format": torch.preserve_format,
}
SCALARS = {"getitem", "add", "sub", "mul", "floordiv", "truediv", "mod", "neg", "eq", "ne", "lt", "le", "gt", "ge"}


class Unsupported(Exception):
    pass


def target_of(op):
    """The callable that an operator's name stands for."""
    name = op.removeprefix("_operator.").removeprefix("operator.")
    if name in SCALARS:
        return getattr(operator, name)
    found = torch.ops
    for part in op.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise Unsupported(f"operator {op}")
    if not isinstance(found, torch._ops.OpOverload):
        raise Unsupported(f"operator {op}")
    return found


class Rebuilt:
    """A step as an FX graph with fake values, and what each of its nodes costs in milliseconds."""

    def __init__(self, step, groups):
        self.graph, self.costs, self.nodes = torch.fx.Graph(), {}, []
        self.groups = groups
        self.fake = FakeTensorMode(allow_non_fake_inputs=True)
        with self.fake:
            for node in step["nodes"]:
                made = self.rebuild(node)
                self.costs[made.name] = node["ns"] / 1e6
                self.nodes.append(made)
        self.module = torch.fx.GraphModule({}, self.graph)

    def rebuild(self, node):
        reads = [self.nodes[i] for i in node["inputs"]]
        if node["kind"] == "input":
            made = self.graph.placeholder(node["name"])
            outputs = [torch.empty(o["shape"], dtype=DTYPES[o["dtype"]], device="cuda") for o in node["outputs"]]
            made.meta["val"] = outputs[0] if outputs else None
            return made
        if node["kind"] == "output":
            return self.graph.output(tuple(reads))
        written = node.get("args", [f"%{k}" for k in range(len(reads))])
        args = tuple(self.argument(a, reads) for a in written)
        if node["kind"] == "start":
            name = self.groups[node["group"]]
            args = tuple(name if isinstance(a, str) else a for a in args)
        kwargs = {k: self.argument(a, reads) for k, a in node.get("kwargs", {}).items()}
        made = self.graph.call_function(target_of(node["op"]), args, kwargs)
        values = torch.fx.map_arg((args, kwargs), lambda n: n.meta["val"])
        made.meta["val"] = self.run(made.target, *values)
        self.check(node, made.meta["val"])
        return made

    @staticmethod
    def run(target, args, kwargs):
        try:
            return target(*args, **kwargs)
        except (RuntimeError, ValueError) as why:
            if target is torch.ops.aten.view.default:
                # Captures do not record strides, so an input may be laid out otherwise than it was.
                return args[0].reshape(args[1])
            raise Unsupported(f"{target}: {why};") from why

    @staticmethod
    def check(node, value):
        """Are the results what the capture says?"""
        values = value if isinstance(value, (tuple, list)) else [value]
        found = [(list(v.shape), v.dtype) for v in values if isinstance(v, torch.Tensor)]
        recorded = [(o["shape"], DTYPES[o["dtype"]]) for o in node["outputs"]]
        if found[: len(recorded)] != recorded[: len(found)]:
            raise Unsupported(f"{node['name']} makes {found}, not {recorded}:")

    def argument(self, a, reads):
        if isinstance(a, list):
            return [self.argument(x, reads) for x in a]
        if isinstance(a, str) and a.startswith("%"):
            return reads[int(a[1:])]
        return WORDS.get(a, a) if isinstance(a, str) else a


def make_groups(step):
    """Process groups of the sizes in the file; nobody else is there. Their names."""
    world = max(g["size"] for g in step["groups"])
    if not dist.is_initialized():
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=64)
    if world > dist.get_world_size():
        raise Unsupported(f"a process group of {world}")
    return [dist.new_group(list(range(g["size"]))).group_name for g in step["groups"]]


def pytorch_seconds(step, runs):
    """Least processor seconds of PyTorch's pass, each time on a fresh graph."""
    groups, least = make_groups(step), float("inf")
    for _ in range(max(2, runs)):
        rebuilt = Rebuilt(step, groups)
        costs = rebuilt.costs
        overlap_scheduling.estimate_roofline_runtime_ms = lambda n: costs.get(n.name, 0.0)
        begin = time.process_time()
        overlap_scheduling.schedule_overlap_bucketing(
            rebuilt.module,
            collective_bucketing=True,
            compute_estimator="analytical",
            # A bucket asks for the cost of its first member at another size: the pass's own model answers that.
            custom_runtime_estimation=lambda n, size: costs.get(n.name) if size is None else None,
        )
        least = min(least, time.process_time() - begin)
    return least


def stretto_figures(planner, path, runs):
    """What stretto-plan says of the step; its planning seconds are the least of the runs."""
    all_figures = []
    for _ in range(max(5, runs)):
        said = subprocess.run([planner, "--json", "--bucket", "none", path], check=True, capture_output=True, text=True)
        all_figures.append(json.loads(said.stdout)[0])
    return min(all_figures, key=lambda figures: figures["plan_seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--planner", required=True, help="the stretto-plan executable")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("steps", nargs="+", metavar="STEP.json.gz")
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # there is no GPU to ask for its speed, as the pass says of every operator

    print(f"PyTorch {torch.__version__}; seconds are the least of the runs")
    print(f"{'step':24} {'nodes':>7} {'PyTorch s':>10} {'stretto s':>10} {'ratio':>8}  {'gap':>6}")
    status = 0
    for path in options.steps:
        with gzip.open(path) as file:
            step = json.load(file)
        try:
            theirs = pytorch_seconds(step, options.runs)
        except Unsupported as why:
            print(f"{step['name']:24} refused: {why} cannot be rebuilt", flush=True)
            status = 1
            continue
        ours = stretto_figures(options.planner, path, options.runs)
        seconds = ours["plan_seconds"]
        print(
            f"{step['name']:24} {len(step['nodes']):7} {theirs:10.2f} {seconds:10.5f} {theirs / seconds:7.0f}x"
            f"  {100 * ours['gap']:5.2f}%",
            flush=True,
        )
    return status


if __name__ == "__main__":
    sys.exit(main())
