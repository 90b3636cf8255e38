#!/usr/bin/env bash
# --render without a display: right size, the same bytes twice, exit 2 with the message on a broken file.
export ASAN_OPTIONS=detect_leaks=0  # the GL driver keeps memory to its end
set -euo pipefail
ringside=$1 source=$2
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
unset DISPLAY WAYLAND_DISPLAY
file=$source/assets/scenarios/four-gpus.toml
for size in 1280x720 2560x1440; do
  for lang in en ko; do
    "$ringside" --render "$out/a.png" --size $size --lang $lang --at ring:2 "$file"
    "$ringside" --render "$out/b.png" --size $size --lang $lang --at ring:2 "$file"
    cmp "$out/a.png" "$out/b.png" || { echo "two renders differ at $size $lang"; exit 1; }
    # Width and height stand in the PNG header as big-endian numbers at 16 and 20.
    got=$(od -An -tu1 -j16 -N8 "$out/a.png" | awk '{print $1*16777216+$2*65536+$3*256+$4 "x" $5*16777216+$6*65536+$7*256+$8}')
    [ "$got" = "$size" ] || { echo "the image is $got, not $size"; exit 1; }
  done
done
sed 's/^algorithm = .*/algorithm = "rng"/' "$file" > "$out/broken.toml"
line=$(grep -n '"rng"' "$out/broken.toml" | head -1 | cut -d: -f1)
set +e
"$ringside" --render "$out/c.png" "$out/broken.toml" 2> "$out/err"
code=$?
set -e
[ $code = 2 ] || { echo "a broken file gives $code, not 2"; exit 1; }
grep -q "broken.toml:$line:" "$out/err" && grep -q "ring" "$out/err" || { cat "$out/err"; exit 1; }
[ ! -e "$out/c.png" ] || { echo "an image was written for a broken file"; exit 1; }
echo "render: ok"
