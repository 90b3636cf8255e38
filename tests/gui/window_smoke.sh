#!/usr/bin/env bash
# The real window under Xvfb: starts, draws, leaves with 0, and its screenshot is not one colour.
export ASAN_OPTIONS=detect_leaks=0  # the GL driver keeps memory to its end
set -euo pipefail
ringside=$1 source=$2
command -v xvfb-run > /dev/null || exit 77
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export XDG_CONFIG_HOME=$out
xvfb-run -a -s "-screen 0 1280x720x24" "$ringside" "$source/assets/scenarios/four-gpus.toml" --smoke 60 \
  --screenshot "$out/window.png" --lang en
# A picture of one colour compresses to a few kilobytes.
bytes=$(stat -c %s "$out/window.png")
[ "$bytes" -gt 15000 ] || { echo "the screenshot has only $bytes bytes"; exit 1; }
[ -z "$(ls -A "$out" | grep -v window.png)" ] || { echo "a smoke run left settings behind"; exit 1; }
echo "window: ok"
