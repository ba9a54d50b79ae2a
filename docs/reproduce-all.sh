#!/bin/sh
# All publications, each beside the models made after it and the systems that can be measured:
#
#     docs/reproduce-all.sh DIRECTORY [SECONDS]
#
# Two campaigns measure (publications/models.toml, systems.toml), pages.py makes the pages.
# DIRECTORY gets the pages, the runs in its `home`, and a copy of each campaign, which may be edited
# to leave systems out.  What has been measured is not measured again, so the same command continues
# what was interrupted.  SECONDS (default 1) limits every case on a system and is written into the
# copy when that is made; models take the time of their suites, as simulated time costs little.
set -u
pages=${1:?name a directory for the pages}
seconds=${2:-1}
rtstone=${RTSTONE:-rtstone}
sources=$(cd "$(dirname "$0")/publications" && pwd) || exit 2
mkdir -p "$pages/home" && pages=$(cd "$pages" && pwd) || exit 2
export RTSTONE_HOME="$pages/home"
status=0
for campaign in models systems; do
    [ -e "$pages/$campaign.toml" ] \
        || sed "s/^time = .*/time = \"${seconds}s\"/" "$sources/$campaign.toml" \
            >"$pages/$campaign.toml" || exit 2
    "$rtstone" campaign run "$pages/$campaign.toml" || status=$?
done
RTSTONE="$rtstone" python3 "$sources/pages.py" "$pages" || status=$?
exit "$status"
