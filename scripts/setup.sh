# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by ./run, ./test and .ci/run: packages and builds. Everything is said on standard error.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LC_ALL=C.UTF-8

# What is needed to build and run, and why.
packages_build=(
    "gcc: the compiler"
    "libc6-dev: the C library's headers"
    "cmake: configures the build"
    "ninja-build: builds"
    "pkgconf: finds the libraries"
    "libzydis-dev: decodes instructions"
    "libzycore-dev: belongs to libzydis"
    "libjansson-dev: reads JSON metrics"
    "libsqlite3-dev: result files"
    "libiberty-dev: demangles C++ and Rust names"
    "libdw-dev: debug information"
    "libelf-dev: symbols"
    "libzstd-dev: compressed perf.data files"
)
packages_run=(
    "qemu-user: executes the analysed program"
)
packages_test=(
    "libcmocka-dev: the unit test framework"
    "xz-utils: a real program to analyse"
    "sqlite3: a real program to analyse"
    "python3-minimal: a real program to analyse"
    "perl-base: a real program to analyse"
    "lua5.4: a real program to analyse"
    "openssl: a real program to analyse"
)
packages_ci=(
    "clang: the second compiler, and libFuzzer"
    "libclang-rt-14-dev: clang's sanitizers"
    "clang-format: checks the style"
)

say() {
    printf '%s\n' "$*" >&2
}

# Packages that the end-to-end tests name in lines "needs-packages: NAME..." in their first lines.
setup__test_packages() {
    local file name
    for file in "$root"/tests/e2e/*.sh "$root"/tests/e2e/*.c "$root"/tests/stage/*.c "$root"/tests/unit/*.c; do
        [[ -f $file ]] || continue
        for name in $(sed -n '1,20s/.*needs-packages: *\([a-z0-9.+ -]*\).*/\1/p' "$file"); do
            printf '%s: used by %s\n' "$name" "${file#"$root"/}"
        done
    done | sort -u -t: -k1,1
}

# Installs what is missing of "NAME: reason" arguments; without root prints the line to run and fails.
setup__install() {
    local entry name missing=() log
    if ! command -v dpkg-query >/dev/null; then
        say "This is no Debian system: needed are the equivalents of"
        say "   $(printf '%s ' "${@%%:*}")"
        return 0
    fi
    for entry in "$@"; do
        name=${entry%%:*}
        # shellcheck disable=SC2016
        if [[ $(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null) != installed ]]; then
            missing+=("$name")
            say "missing package $name ($(sed 's/^[^:]*: *//' <<<"$entry"))"
        fi
    done
    ((${#missing[@]})) || return 0
    if [[ $(id -u) != 0 ]]; then
        say ""
        say "Run this as root, then try again:"
        say "    apt-get install --no-install-recommends ${missing[*]}"
        return 1
    fi
    say "installing: ${missing[*]}"
    log=$(mktemp)
    # With no terminal there is nobody to ask; a lock held by another apt is waited for.
    if ! { apt-get -o DPkg::Lock::Timeout=120 update &&
        DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y \
            --no-install-recommends "${missing[@]}"; } </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        say "apt-get could not install the packages above."
        return 1
    fi
    rm -f "$log"
}

# Runs a command quietly; its output appears only when it fails.
setup__quietly() {
    local log
    log=$(mktemp)
    if ! "$@" </dev/null >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        say "failed: $*"
        return 1
    fi
    rm -f "$log"
}

# setup__configure DIR OPTION...: configures once; later calls with the same options cost nothing.
setup__configure() {
    local dir=$1 stamp=$1/configured-with
    shift
    if [[ -f $dir/build.ninja && -f $stamp && $(<"$stamp") == "$root $*" ]]; then
        return 0
    fi
    # A folder made for another checkout cannot be used again.
    if [[ -f $dir/CMakeCache.txt ]] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt"; then
        rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles"
    fi
    setup__quietly cmake -S "$root" -B "$dir" -G Ninja "$@" || return
    printf '%s' "$root $*" >"$stamp"
}

# setup__build DIR TARGET...
setup__build() {
    local dir=$1
    shift
    setup__quietly ninja --quiet -C "$dir" "$@"
}
