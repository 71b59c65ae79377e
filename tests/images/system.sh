# shellcheck shell=sh
# Part of ./halo: what it brings to the machine, and takes away again.

installed() { dpkg-query -W -f '${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p' | sort; }

apt_get() {
    watched "$state/apt.log" 's/^Setting up \([^ ]*\).*/  \1/p' \
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 "$@"
}

# Installs the packages whose command or file is missing.
need() { # command=package or /file=package ...
    missing=
    for pair; do
        case $pair in
            /*) [ -e "${pair%%=*}" ] ;;
            *) command -v "${pair%%=*}" >/dev/null ;;
        esac || missing="$missing ${pair#*=}"
    done
    [ -n "$missing" ] || return 0
    command -v apt-get >/dev/null || die "missing here:$missing" "install them; without apt-get, halo cannot"
    [ -z "$sudo" ] || command -v sudo >/dev/null ||
        die "missing here:$missing; only root may install them, and there is no sudo" "as root: apt-get install$missing"
    say "installing$missing"
    installed >"$state/packages-before"
    # shellcheck disable=SC2086 # a list of words
    apt_get install --no-install-recommends $missing || {
        apt_get update && apt_get install --no-install-recommends $missing
    } || die "apt-get cannot install$missing: $(tail -n 6 "$state/apt.log")" "the whole output is in $state/apt.log"
    installed | comm -13 "$state/packages-before" - >>"$state/installed-packages"
    rm "$state/packages-before"
}

# Removes what was installed here when told to, else says how.
forget_packages() { # --packages or nothing
    packages=$(sort -u "$state/installed-packages" | tr '\n' ' ')
    if [ "$1" != --packages ]; then
        say "halo had installed these packages, and leaves them. To remove them: apt-get purge $packages"
        return
    fi
    # shellcheck disable=SC2086 # a list of words
    apt-get -s purge $packages | sed -n 's/^Purg \([^ ]*\).*/\1/p' | sort >"$state/would-go"
    more=$(sort -u "$state/installed-packages" | comm -13 - "$state/would-go" | tr '\n' ' ')
    [ -z "$more" ] || die "something else has come to need them; these would go, too: $more" "choose yourself: apt-get purge $packages"
    # shellcheck disable=SC2086
    run $sudo apt-get purge -y $packages >/dev/null
}

# Containers are root's, since test hosts need addresses of their own: for anybody else `podman` becomes `sudo podman`.
rootful_podman() {
    [ -n "$sudo" ] || return 0
    sudo -k -n true 2>/dev/null ||
        die "test hosts need root, or a sudo that asks for no password, since Ansible could not answer" "sudo ./halo $command"
    [ -x "$state/bin/podman" ] || {
        mkdir -p "$state/bin"
        cat >"$state/bin/podman" <<END
#!/bin/sh
exec sudo -n env \${CONTAINERS_CONF:+CONTAINERS_CONF="\$CONTAINERS_CONF"} $(command -v podman) "\$@"
END
        chmod +x "$state/bin/podman"
    }
    say "using sudo for podman: PATH=$state/bin:\$PATH"
    PATH=$state/bin:$PATH
}

# Tells podman how to start a container where its defaults cannot, as in a VM with cgroup v1.
container_runtime() { # image
    [ -z "${CONTAINERS_CONF:-}" ] || return 0
    conf=$state/containers.conf
    if [ ! -e "$conf" ]; then
        why=$(podman run --rm --network=none "$1" true 2>&1) && return
        need runc=runc
        cat >"$conf.new" <<'END'
# Made by ./halo, since podman's default runtime cannot start a container on this machine.
[engine]
runtime = "runc"
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
END
        still=$(CONTAINERS_CONF=$conf.new podman run --rm --network=none "$1" true 2>&1) ||
            die "podman can start no container. By default: $why; with runc: $still" "make \`podman run --rm $1 true\` work"
        mv "$conf.new" "$conf"
        say "podman's default runtime cannot start a container here ($why)"
    fi
    say "using runc with explicit ulimits: CONTAINERS_CONF=$conf"
    export CONTAINERS_CONF="$conf"
}

# Brings what containers need, and the images; their names are then in HALO_TEST_IMAGE_*.
test_hosts() {
    need podman=podman /usr/lib/podman/netavark=netavark /usr/bin/catatonit=catatonit iptables=iptables nft=nftables ssh=openssh-client \
        mmdebstrap=mmdebstrap apt-ftparchive=apt-utils gpg=gpg gcc=gcc /usr/include/stdio.h=libc6-dev \
        /usr/share/keyrings/debian-archive-keyring.gpg=debian-archive-keyring
    rootful_podman
    # Without lists apt does not say which mirror it uses for what.
    ls /var/lib/apt/lists/*Packages* >/dev/null 2>&1 || apt_get update || say "apt-get update fails; see $state/apt.log"
    say "making the images of the test hosts, unless they are there"
    images=$("$venv/bin/python" "$root/tests/images/build.py") || exit 1
    # shellcheck disable=SC2086,SC2163 # a list of NAME=image
    export $images
    container_runtime "$HALO_TEST_IMAGE_DEBIAN_13"
    # AMD's archives, and Ubuntu's for look-alikes; the first time some 500 MB of real packages are fetched.
    parts=amd
    case $HALO_TEST_IMAGE_UBUNTU_2204 in localhost/halo-test/ubuntu-*) parts="$parts jammy" ;; esac
    case $HALO_TEST_IMAGE_UBUNTU_2404 in localhost/halo-test/ubuntu-*) parts="$parts noble" ;; esac
    say "building the test archive, unless it is there"
    # shellcheck disable=SC2086 # a list of words
    (cd "$root" && "$venv/bin/python" -m tests.archive build --no-refresh $parts >/dev/null) || exit 1
}

# Whether containers or images can have been made here: without root, only through this checkout's own podman.
made_containers() { command -v podman >/dev/null && { [ -z "$sudo" ] || [ -e "$state/bin/podman" ]; }; }

remove_containers() {
    [ ! -e "$state/containers.conf" ] || export CONTAINERS_CONF="$state/containers.conf"
    rootful_podman
    containers=$(podman ps -aq --filter "label=halo-test=$name")
    # shellcheck disable=SC2086 # a list of ids
    [ -z "$containers" ] || run podman rm --force --time 0 $containers >/dev/null
    ! podman network exists "$name-test" || run podman network rm "$name-test" >/dev/null
}

remove_images() {
    images=$(podman images --quiet --filter 'reference=localhost/halo-test/*')
    # shellcheck disable=SC2086 # a list of ids
    [ -z "$images" ] || run podman rmi $images >/dev/null || say "these images stay, since other containers use them"
}
