"""Where the commands speak: answers on one stream, progress and refusals on the other."""

from rich.console import Console

out, err = Console(), Console(stderr=True)


def say(text: str) -> None:
    """One sentence or two, on one line: terminals break it where they like, programs need not."""
    out.print(text, markup=False, soft_wrap=True)


def warn_not_private() -> None:
    """What stands beside everything that was computed from real rows without noise."""
    err.print("NOT PRIVATE: computed from real rows; do not publish.", style="bold red")
