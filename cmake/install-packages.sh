#!/usr/bin/env bash
# install-packages.sh PURPOSE...: installs the Debian packages that cmake/packages.txt lists for these
# purposes and that are missing. Needs root only when something is missing.
set -euo pipefail
list=$(dirname "$0")/packages.txt

wanted=()
for purpose in "$@"; do
    read -r -a names <<<"$(sed -n "s/^$purpose //p" "$list")"
    wanted+=("${names[@]}")
done

missing=()
for package in "${wanted[@]}"; do
    status=$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | head -n 1) || true
    [ "$status" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ "$(id -u)" != 0 ]; then
    echo "These Debian packages are missing: ${missing[*]}" >&2
    echo "Run this again as root, or install them with: apt-get install ${missing[*]}" >&2
    exit 4
fi
case " ${missing[*]} " in
*:arm64*) dpkg --add-architecture arm64 ;;
esac
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { apt-get update && apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "Could not install: ${missing[*]} (whole output: $log)" >&2
    exit 75
fi
rm -f "$log"
