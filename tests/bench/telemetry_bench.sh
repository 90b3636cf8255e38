#!/usr/bin/env bash
# What telemetry costs: real ranks with a real hub that records, telling in every other training step; the ratio of
# what a collective takes with and without, of pairs of neighbouring steps, median and its 95 % interval.
#   telemetry_bench.sh FOLDER_OF_PROGRAMS [ranks = 2] [steps = 400] [MiB …]
set -eu
bin=$(cd "$1" && pwd)
ranks=${2:-2}
steps=${3:-400}
[ $# -ge 3 ] && shift 3 || shift $#
[ $# -gt 0 ] || set -- 1 4 16
work=$(mktemp -d)
hub=
trap '[ -n "$hub" ] && kill $hub 2>/dev/null; rm -rf "$work"' EXIT
root=
[ "$(id -u)" = 0 ] && root=--allow-run-as-root

for mib in "$@"; do
  "$bin/ringside-cli" hub --ranks "$ranks" --record "$work/$mib.rsr" 2>"$work/hub.log" &
  hub=$!
  for _ in $(seq 100); do grep -q RINGSIDE_HUB "$work/hub.log" && break; sleep 0.1; done
  url=$(sed -n "s/.*export RINGSIDE_HUB='\(.*\)'.*/\1/p" "$work/hub.log")
  cat >"$work/job.toml" <<TOML
[cluster]
nodes = 1
gpus_per_node = $ranks
[tensor]
dtype = "float32"
shape = [$((mib * 262144))]
values = "index"
[training]
steps = $steps
[collective]
op = "sum"
[stack]
library = "mpi"
watchdog = "120s"
TOML
  # The pause between steps lets the supervisor finish with one step before the next is timed.
  RINGSIDE_RANK_TOKEN=$(echo "$url" | sed 's/.*#token=\([0-9a-f]*\).*/\1/') mpirun -n "$ranks" --oversubscribe $root \
    -x RINGSIDE_RANK_TOKEN "$bin/ringside-rank" --device cpu --scenario "$work/job.toml" --hub "${url%%/#*}" \
    --origin "$(date +%s%N)" --pace 25ms --tell-in-turn --times "$work/$mib.times"
  kill "$hub" && wait "$hub" || true
  hub=
  python3 - "$work/$mib.times" "$mib" "$ranks" <<'PYTHON'
import math, sys
times = [int(line.split()[1]) for line in open(sys.argv[1])][20:]
pairs = sorted(on / off for on, off in zip(times[0::2], times[1::2]))
n = len(pairs)
low, high = max(0, math.floor(n / 2 - 0.98 * math.sqrt(n))), min(n - 1, math.ceil(n / 2 + 0.98 * math.sqrt(n)))
off = sorted(times[1::2])[n // 2] / 1e6
print(f"{sys.argv[2]:>4} MiB, {sys.argv[3]} ranks: told / not told = {pairs[n // 2]:.4f}, 95 % interval {pairs[low]:.4f} to "
      f"{pairs[high]:.4f} ({n} pairs; a collective takes {off:.2f} ms untold; aim: at most 1.01)")
PYTHON
done
