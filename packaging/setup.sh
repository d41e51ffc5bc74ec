# shellcheck shell=sh
# Shared by the scripts that run this project on a bare machine. Source it from the top of the repository:
#
#     . packaging/setup.sh
#     install_dependencies build tests    # purposes of packaging/dependencies.txt
#     step "what it does" log-name command argument...
#
# It writes below build/ and through apt, nowhere else.

log_dir=build/log
mkdir -p "$log_dir"

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then
    bold=$(printf '\033[1m') plain=$(printf '\033[0m')
else
    bold='' plain=''
fi

say() { printf '%s%s%s\n' "$bold" "$*" "$plain"; }

# stop STATUS LINE...: one line that says what to do, and out.
stop() {
    stop_status=$1
    shift
    printf '%s: %s\n' "$0" "$*" >&2
    exit "$stop_status"
}

# step DESCRIPTION LOG COMMAND...: runs the command with its output in build/log/LOG.txt; returns its status, after the
# last 20 lines when it failed.
step() {
    step_log=$log_dir/$2.txt
    printf '%s ... ' "$1"
    shift 2
    step_start=$(date +%s)
    if "$@" >"$step_log" 2>&1 </dev/null; then
        printf 'ok (%d s)\n' $(($(date +%s) - step_start))
    else
        step_status=$?
        printf 'failed (%s)\n' "$step_log"
        tail -n 20 "$step_log"
        return "$step_status"
    fi
}

packages_for() {
    for purpose in "$@"; do
        awk -v purpose="$purpose" '$1 == purpose { print $2 }' packaging/dependencies.txt
    done
}

missing_of() {
    for package in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null) in
        ?i*) ;;
        *) printf '%s ' "$package" ;;
        esac
    done
}

# install_dependencies PURPOSE...: installs what is missing, or says the exact line and exits 2.
install_dependencies() {
    # shellcheck disable=SC2046  # one argument per package
    set -- $(packages_for "$@")
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        command -v cmake >/dev/null && command -v ninja >/dev/null && return 0
        stop 2 "not a Debian system; install the equivalents of: $*"
    fi
    missing=$(missing_of "$@")
    [ -z "$missing" ] && return 0

    as_root=''
    if [ "$(id -u)" -ne 0 ]; then
        if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
            as_root=sudo
        else
            stop 2 "some packages are missing; as root: apt-get install --no-install-recommends $missing"
        fi
    fi
    say "installing: $missing"
    step 'apt-get update' apt-update $as_root env DEBIAN_FRONTEND=noninteractive apt-get update ||
        stop 2 "no package lists; as root: apt-get install --no-install-recommends $missing"
    # shellcheck disable=SC2086  # one argument per package
    step 'apt-get install' apt-install $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $missing ||
        stop 2 "the installation failed; as root: apt-get install --no-install-recommends $missing"
}

# The number of compile jobs: one per processor, and at most one per 3 GiB of available memory, which the largest files
# take; STRETTO_JOBS overrides.
compile_jobs() {
    if [ -n "${STRETTO_JOBS:-}" ]; then
        echo "$STRETTO_JOBS"
        return
    fi
    jobs=$(nproc 2>/dev/null || echo 1)
    if [ -r /proc/meminfo ]; then
        by_memory=$(awk '/^MemAvailable:/ { print int($2 / 3145728) }' /proc/meminfo)
        [ "${by_memory:-1}" -lt "$jobs" ] && jobs=$by_memory
    fi
    [ "$jobs" -ge 1 ] || jobs=1
    echo "$jobs"
}

# build PRESET [CMAKE_OPTION...]: configures and compiles into build/PRESET.
build() {
    preset=$1
    shift
    step "configure ($preset)" "configure-$preset" cmake --preset "$preset" "$@" &&
        step "compile ($preset)" "compile-$preset" cmake --build "build/$preset" -j "$(compile_jobs)"
}

# run_ctest PRESET [CTEST_OPTION...]: runs the tests of build/PRESET; sets `passed` and `failed`, lists the failures. The
# log is build/log/ctest-PRESET.txt, or $ctest_log_name.txt there. One test more than there are processors at a time,
# because those of ranks that die or hang wait most of their time.
# shellcheck disable=SC2034  # read by the caller
run_ctest() {
    preset=$1
    shift
    ctest_log=$log_dir/${ctest_log_name:-ctest-$preset}.txt
    passed=0 failed=0
    ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j $(($(compile_jobs) + 1)) "$@" \
        >"$ctest_log" 2>&1 </dev/null || failed=1
    # ctest ends with: 97% tests passed, 2 tests failed out of 71
    summary=$(sed -n 's/^.*% tests passed, \([0-9]*\) tests failed out of \([0-9]*\)$/\1 \2/p' "$ctest_log")
    if [ -z "$summary" ]; then
        tail -n 20 "$ctest_log"
        failed=1
        return 1
    fi
    failed=${summary% *}
    passed=$((${summary#* } - failed))
    if [ "$failed" -gt 0 ]; then
        printf 'failed (%s):\n' "$ctest_log"
        sed -n '/^The following tests FAILED:/,$p' "$ctest_log" | sed -n 's/^[^0-9]*[0-9]* - /  /p'
        return 1
    fi
}
