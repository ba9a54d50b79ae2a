#!/bin/sh
# A researcher: the distribution, its samples, a figure for a column of 84 mm, and what others need to
# do it again.
set -eu
rtstone run dk.periodic -p raw=on -p samples=20000 --name paper "$@"
rtstone export paper --format samples -o samples.csv
rtstone plot paper --width 84mm -o figure.pdf
rtstone show paper --conditions >conditions.txt
