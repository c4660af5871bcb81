"""Try an installed pateval as a new user would, with no compiler and nothing else on the path.

    python tests/support/smoke.py FOLDER_WITH_ITS_COMMANDS

Every command must succeed in an empty folder; with matplotlib there, every figure that a file can give is drawn, too.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = [
    ["pateval", "--version"],
    ["pateval", "demo", "--save", "demo", "--report", "demo.html"],
    ["pateval", "score", "demo/series-1.csv", "--metrics", "pate_ap,vus_pr,point_f1"],
    ["pateval", "explain", "demo/series-1.csv", "--score", "score_window_pca", "--early", "20", "--delay", "20"],
    ["pateval", "leaderboard", "demo/series-1.csv", "demo/series-2.csv", "-o", "board", "--metrics", "pate_ap,auc_roc"],
    ["pateval", "report", "board", "-o", "board.html"],
    ["pateval", "metrics"],
]
FIGURES = [
    ["pateval", "plot", kind, "demo/series-1.csv", "--score", "score_window_pca", "-o", f"{kind}.png"]
    for kind in ("series", "categories", "precision-recall", "buffers", "buffer-size", "lengths", "distribution")
]
TWO = "score_window_pca,score_nearest_window"
FIGURES += [
    ["pateval", "plot", "comparison", "demo/series-1.csv", "--score", TWO, "-o", "comparison.png"],
    *(
        ["pateval", "plot", kind, *(f"demo/series-{number}.csv" for number in (1, 2, 3, 4)), "-o", f"{kind}.png"]
        for kind in ("critical-difference", "ranks", "audit")
    ),
]


def main() -> int:
    """Run the commands; the exit status is 1 where one failed."""
    commands = Path(sys.argv[1]).resolve()
    plots = subprocess.run([commands / "python", "-c", "import matplotlib"], capture_output=True, check=False)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS + (FIGURES if plots.returncode == 0 else []):
            done = subprocess.run(
                [commands / command[0], *command[1:]],
                cwd=folder,
                env={"PATH": str(commands), "HOME": folder, "LANG": os.environ.get("LANG", "C.UTF-8")},
                capture_output=True,
                text=True,
                check=False,
            )
            print(f"{'ok    ' if done.returncode == 0 else 'FAILED'} {' '.join(command)}")
            if done.returncode:
                failed += 1
                print(done.stdout[-1000:], done.stderr[-2000:])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
