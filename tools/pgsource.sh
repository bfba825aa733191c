# pgsource.sh: PostgreSQL's source and unpacked servers, from Debian's packages;
# sourced after common.sh.
#
# They are read from the suites that the machine knows and two newer ones,
# through a private apt configuration under build/versions, from the mirrors
# that the machine itself uses; the machine's own configuration is left alone.

CACHE=$ROOT/build/versions
APT=$CACHE/apt
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

# Sources that lie in Debian's pool still, for when the version that the index names is not there (yet): major,
# file, and the SHA-256 that its package's maintainer signed.
POOL="17 postgresql-17_17.11.orig.tar.bz2 dd27f2b3c59e73ed14aa3324901242bf69a032a6347805f274e6260322d42979"

apt_private() { APT_CONFIG=$APT/apt.conf apt-get -q "$@"; }

# Mirror and suite of every main component that the machine installs from, and
# of the newer suites on the first mirror.
pgsource_suites()
{
	local known mirror

	known=$(apt-get indextargets --format '$(SITE) $(RELEASE) $(COMPONENT)' | sed -n 's/ main$//p' | sort -u)
	mirror=$(echo "$known" | grep -m1 '/debian/* ' | cut -d' ' -f1)
	[ -n "$mirror" ] || return 1
	printf '%s\n' "$known" "$mirror trixie" "$mirror sid" | sort -u
}

pgsource_prepare()
{
	local mirror suite

	[ ! -e "$APT/ready" ] || return 0
	command -v apt-get >/dev/null || return 1
	mkdir -p "$APT/state/lists/partial" "$APT/cache/archives/partial"
	pgsource_suites | while read -r mirror suite; do
		echo "deb-src [signed-by=$KEYRING] $mirror $suite main"
		case $suite in
			trixie | sid) ;;
			*) echo "deb [signed-by=$KEYRING] $mirror $suite main" ;;
		esac
	done > "$APT/sources.list"
	printf '%s\n' "Dir::State \"$APT/state\";" "Dir::Cache \"$APT/cache\";" \
		"Dir::Etc::SourceList \"$APT/sources.list\";" 'Dir::Etc::SourceParts "-";' \
		'APT::Sandbox::User "root";' > "$APT/apt.conf"
	apt_private update >"$APT/log" 2>&1 && touch "$APT/ready"
}

# pgsource_tools PROGRAM…: install those that are missing, of the packages of their names.
pgsource_tools()
{
	local tool missing=

	for tool in "$@"; do
		command -v "$tool" >/dev/null || missing="$missing $tool"
	done
	[ -n "$missing" ] || return 0
	say "installing with apt-get:$missing"
	# shellcheck disable=SC2086
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $missing \
		>"$CACHE/tools.log" 2>&1
}

# pgsource_pool MAJOR: fetch a source of POOL into the folder where this runs.
pgsource_pool()
{
	local major file hash mirror

	mirror=$(awk '$1 == "deb-src" { print $3; exit }' "$APT/sources.list")
	while read -r major file hash; do
		[ "$major" != "$1" ] || {
			/usr/lib/apt/apt-helper download-file "${mirror%/}/pool/main/p/postgresql-$1/$file" "$file" "SHA256:$hash"
			return
		}
	done <<<"$POOL"
	return 1
}

# pgsource_fetch MAJOR [VERSION]: unpack the source into CACHE/MAJOR, or into
# CACHE/VERSION.
pgsource_fetch()
{
	local target=$CACHE/${2:-$1} unpack=$CACHE/unpack

	[ ! -d "$target" ] || return 0
	mkdir -p "$CACHE"
	pgsource_prepare || return 1
	rm -rf "$unpack"
	mkdir -p "$unpack"
	(cd "$unpack" && { apt_private source --download-only "postgresql-$1${2:+=$2}" ||
		{ [ -z "${2:-}" ] && pgsource_pool "$1"; }; }) >"$CACHE/source-${2:-$1}.log" 2>&1 || return 1
	tar -xf "$unpack"/*.orig.tar.* -C "$unpack" || return 1
	mv "$unpack/postgresql-$1"*/ "$target"
}

# Versions of a major's packages that the suites offer, newest first.
pgsource_versions()
{
	pgsource_prepare || return 1
	APT_CONFIG=$APT/apt.conf apt-cache madison "postgresql-$1" |
		awk '$NF == "Packages" { print $3 }' | uniq
}

# pgsource_server MAJOR VERSION: unpack server, client and headers into
# CACHE/server-VERSION; the packages are relocatable.
pgsource_server()
{
	local target=$CACHE/server-$2 unpack=$CACHE/unpack package

	[ ! -d "$target" ] || return 0
	rm -rf "$unpack"
	mkdir -p "$unpack"
	(cd "$unpack" && apt_private download "postgresql-$1=$2" "postgresql-client-$1=$2" \
		"postgresql-server-dev-$1=$2") >"$CACHE/server-$2.log" 2>&1 || return 1
	for package in "$unpack"/*.deb; do
		dpkg -x "$package" "$target.new" || return 1
	done
	mv "$target.new" "$target"
}
