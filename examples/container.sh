#!/bin/sh
# Someone without root, in a container: how late are wake-ups here, and what is that answer worth?
rtstone doctor --problems
rtstone run dk.periodic --load none --load heavy --time 20 "$@"
rtstone show last
