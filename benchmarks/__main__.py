"""``uv run python -m benchmarks [NAME …]``: runs the named benchmarks (default: all) and prints a table of ratios."""

import asyncio
import sys
import tempfile
from pathlib import Path

from . import bench_bridge, bench_events, bench_scale, bench_send, bench_start
from .measure import Figure, table

BENCHMARKS = {
    "start": bench_start.run,
    "send": bench_send.run,
    "events": bench_events.run,
    "bridge": bench_bridge.run,
    "scale": bench_scale.run,
}


async def run(names: list[str]) -> list[Figure]:
    """The figures of the named benchmarks, each in a fresh folder."""
    figures = []
    for name in names:
        with tempfile.TemporaryDirectory(prefix=f"bench-{name}-") as folder:
            figures += await BENCHMARKS[name](Path(folder))
            print(f"{name} done", file=sys.stderr)
    return figures


def main() -> int:
    """Exit status 0 when every bound holds, 1 when one is missed, 2 for an unknown name."""
    names = sys.argv[1:] or list(BENCHMARKS)
    if unknown := [name for name in names if name not in BENCHMARKS]:
        print(f"no benchmark is called {unknown[0]}; there are: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    figures = asyncio.run(run(names))
    print(table(figures))
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
