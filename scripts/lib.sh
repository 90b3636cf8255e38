# Shared by the scripts: where we are, how to say what we do, how to become root.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
say() { printf '\n\033[1m==> %s\033[0m\n' "$*"; }
jobs_n() { nproc 2>/dev/null || echo 2; }
as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"
  elif command -v sudo >/dev/null; then sudo "$@"
  else
    echo "This step needs root: $*" >&2
    echo "Run it as root, or install sudo." >&2
    exit 1
  fi
}
