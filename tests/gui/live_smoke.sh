#!/usr/bin/env bash
# The real window under Xvfb on a real job: `ringside --watch` with the address that `ringside-cli live` prints.
export ASAN_OPTIONS=detect_leaks=0  # the GL driver and MPI keep memory to their end
set -euo pipefail
bin=$1
command -v xvfb-run > /dev/null || exit 77
out=$(mktemp -d)
: > "$out/said"  # it may be read before the job has made it
"$bin/ringside-cli" live -n 4 --steps 5000 --pace 100ms --device cpu --dump-dir "$out" 2> "$out/said" > "$out/verdict" &
job=$!
trap 'kill $job 2> /dev/null || true; wait $job || true; rm -rf "$out"' EXIT
export XDG_CONFIG_HOME=$out/config
for _ in $(seq 600); do
  url=$(sed -n "s/.*--watch '\(.*\)'/\1/p" "$out/said")
  [ -z "$url" ] || break
  sleep 0.1
done
[ -n "$url" ] || { echo "no address was printed"; cat "$out/said"; exit 1; }
xvfb-run -a -s "-screen 0 1280x720x24" "$bin/ringside" --watch - --smoke 300 --screenshot "$out/live.png" --lang en <<< "$url"
bytes=$(stat -c %s "$out/live.png")
[ "$bytes" -gt 15000 ] || { echo "the screenshot has only $bytes bytes"; exit 1; }
# The window may go: the job does not end with it.
kill -0 $job || { echo "the job ended with the window"; cat "$out/said"; exit 1; }
[ -z "${RINGSIDE_PICTURES:-}" ] || cp "$out/live.png" "$RINGSIDE_PICTURES/live-xvfb.png"
# A hub that is not there is said, not waited for.
kill $job && wait $job || true
if "$bin/ringside" --render "$out/none.png" --watch "$url" --watch-for 0.5 2> "$out/why"; then
  echo "a picture of nothing"; exit 1
fi
grep -q "the hub was not reached" "$out/why" || { cat "$out/why"; exit 1; }
! grep -q "${url##*token=}" "$out/why" || { echo "the token was printed"; exit 1; }
echo "live: ok"
