#!/usr/bin/env bash
# Every fault of the table, many times in a row: the right verdict each time, the survivors' dumps, and no process
# left. Prints one line a fault and every run that was not as it must be.
#   faults.sh FOLDER_OF_PROGRAMS [runs = 20] [ranks = 4]
set -u
bin=$(cd "$1" && pwd)
runs=${2:-20}
ranks=${3:-4}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

try() {  # try FAULT OUTCOME KIND CULPRIT DUMPS…: ranks that must leave a dump
  fault=$1 outcome=$2 kind=$3 culprit=$4
  shift 4
  right=0
  slowest=0
  for run in $(seq "$runs"); do
    dumps=$work/$run
    mkdir -p "$dumps"
    began=$(date +%s%N)
    timeout -k 5 120 "$bin/ringside-cli" live --json --device cpu -n "$ranks" --steps 8 --watchdog 3s \
      --dump-dir "$dumps" --fault "$fault" >"$dumps/json" 2>"$dumps/log"
    status=$?
    took=$((($(date +%s%N) - began) / 1000000))
    [ "$took" -gt "$slowest" ] && slowest=$took
    wrong=
    [ "$status" = 0 ] || wrong="$wrong exit status $status;"
    grep -q "\"outcome\":\"$outcome\"" "$dumps/json" || wrong="$wrong outcome;"
    grep -q "\"diagnosis\":{[^{]*\"kind\":\"$kind\"" "$dumps/json" || wrong="$wrong kind;"
    grep -q "\"culprits\":\[$culprit\]" "$dumps/json" || wrong="$wrong culprit;"
    for rank in "$@"; do [ -s "$dumps/nccl_trace_rank_$rank" ] || wrong="$wrong no dump of rank $rank;"; done
    left=$(pgrep -f "ringside-rank .*$dumps" | wc -l)
    [ "$left" = 0 ] || wrong="$wrong $left processes left;"
    if [ -z "$wrong" ]; then
      right=$((right + 1))
    else
      bad=1
      echo "  $fault, run $run:$wrong $(grep -o '"outcome":"[a-z]*"' "$dumps/json") $(grep -o '"diagnosis":.\{0,300\}' "$dumps/json")"
      tail -n 5 "$dumps/log" | sed 's/^/    /'
    fi
    rm -rf "$dumps"
  done
  printf '%-26s %d of %d right, slowest run %d.%03d s\n' "$fault" "$right" "$runs" $((slowest / 1000)) $((slowest % 1000))
}

try crash:rank=2,step=5 error rank_crash 2 0 1 3
try hang:rank=1,step=5 timeout hang_rank_missing 1 0 2 3
try nan:rank=3,step=5 nan nan 3
try shape:rank=0,step=5 error shape_mismatch 0
try skip_step:rank=2,step=5 timeout sequence_mismatch 2 0 1 3
exit $bad
