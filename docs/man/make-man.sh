#!/bin/sh
# make-man.sh CSPROF OUT: writes a man page per command from its own help, so that the two never differ.
set -eu
csprof=$1 out=$2
mkdir -p "$out"

page() { # NAME SUMMARY < the help text
    name=$1 summary=$2
    printf '.TH %s 1 "" "csprof" "csprof manual"\n' "$(echo "$name" | tr '[:lower:]' '[:upper:]')"
    printf '.SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n' "$name" "$summary"
    # Usage lines first, then the rest as it stands; a leading dot would be a request to roff.
    sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e 's/^\([.'\'']\)/\\\&\1/' |
        awk '/^usage: / { sub(/^usage: /, ""); started = 1; print; next }
             !started { next }
             !described && /^$/ { print ".fi\n.SH DESCRIPTION\n.nf"; described = 1; next }
             { print }'
    printf '.fi\n.SH EXIT STATUS\n.nf\n'
    printf '0   done\n1   failed\n2   usage\n3   unusable input\n4   the environment lacks something\n'
    printf '5   done, but not as good as asked for\n75  temporary: try again\n.fi\n.SH SEE ALSO\ncsprof(1)\n'
}

"$csprof" help | page csprof 'context-sensitive profiles for Clang from trace units' >"$out/csprof.1"
"$csprof" help | sed -n 's/^  \([a-z][a-z]*\)  *\(.*\)$/\1 \2/p' | while read -r command summary; do
    [ "$command" != help ] || continue
    "$csprof" help "$command" | page "csprof-$command" "$summary" >"$out/csprof-$command.1"
done
