#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# needs-packages: python3-minimal
# Predictions against measured blocks and against a peer's figures. The data are not part of the project: where
# ../shared/bhive is absent the test is skipped, visibly.
set -euo pipefail
fathom=${FATHOM_BINARY:?}
data=${FATHOM_SOURCE_DIR:?}/../shared/bhive
if [[ ! -f $data/score.py ]]; then
    echo "skipped: no measured blocks in ../shared/bhive"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$fathom" loop --batch "$data/blocks.csv" >"$work/predictions.csv" 2>"$work/messages"
python3 "$data/score.py" "$work/predictions.csv" >"$work/score"
cut -d'|' -f1-2 "$work/score"
python3 - "$work/score" <<'EOF'
import re, sys
limits = {"all": (6.2, 2.0), "in": (4.8, 2.1)}
bad = 0
for line in open(sys.argv[1]):
    scope, core = line.split()[:2]
    figures = {m[1]: tuple(map(float, m[2].split())) for m in
               re.finditer(r"(fathom|uica)\s+([\d.]+\s+[\d.]+\s+[\d.]+)", line)}
    mape, median, tau = figures["fathom"]
    if "failed" in line.split("|")[0]:
        bad += 1
        print("failures:", line)
    if core == "pooled" and (mape > limits[scope][0] or median > limits[scope][1]):
        bad += 1
        print("worse than the limit:", scope, mape, median)
    if core != "pooled" and tau < figures["uica"][2]:
        bad += 1
        print("orders worse than the peer:", scope, core, tau, figures["uica"][2])
sys.exit(bad != 0)
EOF

# The peer's figures for loops: 97 % within 1 % on every core; where we differ store forwarding fails (EX-22), which
# the peer does not model, or the peer averages over a window where we give the exact fraction.
python3 - "$fathom" "$data" "$work" <<'EOF'
import csv, subprocess, sys
fathom, data, work = sys.argv[1:]
bad = 0
for name, least in (("loops.csv", 97.0), ("mechanisms.csv", 99.0)):
    rows = list(csv.DictReader(open(f"{data}/{name}")))
    for core in "snb ivb hsw bdw skl".split():
        part = [r for r in rows if r["uica_" + core] not in ("", "-")]
        batch = f"{work}/{name}-{core}.csv"
        with open(batch, "w") as out:
            out.write("id,hex,core,alignment\n")
            for k, r in enumerate(part):
                out.write(f"{k},{r['hex']},{core},{r.get('alignment') or 0}\n")
        text = subprocess.run([fathom, "loop", "--init", "diff", "--batch", batch], capture_output=True, text=True)
        ours = [float(r["cycles"]) for r in csv.DictReader(text.stdout.splitlines())]
        near = sum(abs(a - float(r["uica_" + core])) <= 0.01 * float(r["uica_" + core]) + 0.005
                   for a, r in zip(ours, part))
        share = 100 * near / len(part)
        print(f"{name} {core}: {share:.2f} % of {len(part)} within 1 %")
        bad += share < least
sys.exit(bad != 0)
EOF
