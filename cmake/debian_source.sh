# Sources of Debian packages, by an apt of its own that checks signatures as the host's does and
# leaves the host's configuration and lists alone. Source this file.

# debian_source DIRECTORY SUITE PACKAGE [VERSION-PATTERN]: puts PACKAGE_VERSION.orig.tar.* into
# DIRECTORY, or fails; what apt said is in DIRECTORY/apt/log.
debian_source() {
    local out=$1 suite=$2 package=$3 pattern=${4:-.} state=$1/apt mirror version
    mkdir -p "$state"/{lists/partial,cache/archives/partial}
    : >"$state/status"
    mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
        grep -m 1 '/debian/\?$') || mirror=http://deb.debian.org/debian
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" \
        >"$state/sources.list"
    local options=(-q -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts=/dev/null
        -o Dir::State="$state" -o Dir::State::lists="$state/lists"
        -o Dir::State::status="$state/status" -o Dir::Cache="$state/cache"
        -o APT::Sandbox::User="$(id -un)")
    apt-get "${options[@]}" update >>"$state/log" 2>&1 || return
    version=$(apt-cache "${options[@]}" showsrc --only-source "$package" |
        sed -n 's/^Version: //p' | grep -m 1 "$pattern") || return
    (cd "$out" && apt-get "${options[@]}" source --download-only --tar-only "$package=$version") \
        >>"$state/log" 2>&1
}
