"""Prints where the FreeRTOS kernel's sources lie; cargo fetches and verifies them if need be."""

import json
import subprocess
import sys
from pathlib import Path

PACKAGE = "freertos-next"
MANIFEST = Path(__file__).with_name("Cargo.toml")


def cargo(*words: str) -> str:
    """The output of a cargo command on the manifest; its message and the end, if it fails."""
    command = ["cargo", *words, "--locked", "--manifest-path", str(MANIFEST)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    except FileNotFoundError:
        sys.exit(
            "no cargo to fetch the FreeRTOS kernel: apt-get install cargo, or set "
            "FREERTOS_KERNEL_PATH to the folder that has its tasks.c"
        )
    if done.returncode:
        sys.exit(f"cargo {words[0]} failed: the FreeRTOS kernel's sources were not fetched")
    return done.stdout


def main() -> None:
    """Prints the folder."""
    cargo("fetch", "--quiet")
    packages = json.loads(cargo("metadata", "--format-version=1", "--offline"))["packages"]
    folder = next(Path(p["manifest_path"]).parent for p in packages if p["name"] == PACKAGE)
    print(folder / "FreeRTOS-Kernel")


if __name__ == "__main__":
    main()
