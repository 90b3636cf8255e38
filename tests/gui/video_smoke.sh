#!/usr/bin/env bash
# --render out.mp4: ten seconds of the ring have the frame rate that was asked for; no half file is left behind; a
# moment opens in a fresh process as the same picture.
export ASAN_OPTIONS=detect_leaks=0  # the GL driver keeps memory to its end
set -euo pipefail
ringside=$1 source=$2
command -v ffmpeg > /dev/null && command -v ffprobe > /dev/null || { echo "ffmpeg or ffprobe is not installed"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
unset DISPLAY WAYLAND_DISPLAY
file=$source/assets/scenarios/four-gpus-vector.toml
"$ringside" --render "$out/a ring.mp4" --size 640x360 --fps 12 --seconds 10 --from start --to end --progress "$file" > "$out/progress"
[ "$(tail -1 "$out/progress")" = "frame 120 120" ] || { tail -1 "$out/progress"; exit 1; }
got=$(ffprobe -v error -select_streams v -count_frames -show_entries stream=r_frame_rate,nb_read_frames,width,height -of csv=p=0 "$out/a ring.mp4")
[ "$got" = "640,360,12/1,120" ] || { echo "the video is $got"; exit 1; }
length=$(ffprobe -v error -show_entries format=duration -of csv=p=0 "$out/a ring.mp4")
awk -v d="$length" 'BEGIN { exit !(d > 9.9 && d < 10.1) }' || { echo "the video takes $length s"; exit 1; }
# Stopped before its end: no file, nothing half.
"$ringside" --render "$out/stopped.mp4" --size 640x360 --fps 60 --seconds 600 --progress "$file" > "$out/count" 2> "$out/err" & pid=$!
until [ -s "$out/count" ] || ! kill -0 $pid 2> /dev/null; do sleep 0.2; done
set +e; kill -TERM $pid; wait $pid; code=$?; set -e
[ $code = 1 ] && [ -z "$(ls "$out" | grep stopped)" ] || { echo "code $code"; ls "$out"; cat "$out/err"; exit 1; }
# Without ffmpeg the message says so.
set +e
PATH=/nowhere "$ringside" --render "$out/none.mp4" --size 640x360 "$file" 2> "$out/err"
code=$?
set -e
[ $code = 1 ] && grep -q "ffmpeg" "$out/err" || { cat "$out/err"; exit 1; }
# Odd sizes and a range that runs backwards are refused.
for bad in "--size 641x361" "--from end --to start"; do
  set +e
  "$ringside" --render "$out/bad.mp4" $bad "$file" 2> "$out/err"
  code=$?
  set -e
  [ $code != 0 ] && [ -s "$out/err" ] || { echo "$bad was taken"; exit 1; }
done
echo "video: ok"
