#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the instruction tables data/insns/*.insns from the converted uops.info measurements.

usage: generate.py DIRECTORY

DIRECTORY holds SNB.tsv IVB.tsv HSW.tsv BDW.tsv SKL.tsv. Run by maintainers only, when the
measurements change; the tables it writes are committed. The format is described in docs/data.md.
"""
import os
import sys

CORES = ("SNB", "IVB", "HSW", "BDW", "SKL")
HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = 1
MAX_UOPS = 250  # longer flows (WBINVD, RDRAND with mitigations) get the default recipe
CONDITIONS = "O NO B NB Z NZ BE NBE S NS P NP L NL LE NLE".split()

(MNEM, SFX, FORM, IFORM, ATTR, OPS, UOPS, RET, MITE, MS, DEC, DIV, TP, PORTS, LAT, MF, IDX, SAME,
 HINT) = range(19)


def ports(cell):
    """`2*p0156+1*p23` -> `2*0156+23`; no port at all: `-`."""
    if cell in ("-", "0"):
        return "-"
    out = []
    for part in cell.split("+"):
        count, _, names = part.partition("*p")
        out.append(names if count == "1" else count + "*" + names)
    return "+".join(out)


def operand(text):
    """-> (name, text in our notation). Undefined flags are neither read nor written (17.2)."""
    name, _, rest = text.rstrip("!").partition("=")
    rest, _, base = rest.partition("@")
    cls, _, access = rest.partition("/")
    groups = access.split(":")
    if base:
        cls += "@" + base
    if len(groups) > 1:
        return name, "%s:%s:%s:%s" % (cls, groups[0], groups[1], groups[2])
    return name, "%s:%s" % (cls, groups[0])


def variant(cell):
    """`r=3,p=1*p0156+2*p23` -> `r3;p0156+2*23`; `=` stays; `-` -> None."""
    if cell in ("-", "="):
        return None if cell == "-" else "="
    out = []
    for part in cell.split(","):
        key, _, value = part.partition("=")
        if key == "p":
            value = ports(value)
        out.append(key + value)
    return ";".join(out)


def corrected(core, cells):
    """Known faults of the measurements, docs/data.md."""
    cells = list(cells)
    branch_port = "5" if core in ("SNB", "IVB") else "6"
    mnem, form = cells[MNEM], cells[FORM]
    if mnem == "RET":
        pops = form != "-"
        cells[UOPS] = "3" if pops else "2"
        cells[RET] = cells[MITE] = cells[UOPS]
        cells[MS], cells[DEC] = "0", "-"
        alu = "p015" if branch_port == "5" else "p0156"
        cells[PORTS] = "1*p23+1*p" + branch_port + ("+1*" + alu if pops else "")
        cells[LAT] = cells[IDX] = cells[SAME] = "-"
    if mnem.startswith("VPCMPEQ") and mnem[7:] in ("B", "W", "D", "Q") and "M" not in form.replace("XMM", "").replace("YMM", ""):
        if cells[SAME] == "-":
            cells[LAT] = " ".join(pair + ",s0" if ",s" not in pair else pair for pair in cells[LAT].split())
    if mnem in ("POPF", "POPFQ") and core == "SKL":
        cells[PORTS] = "3*p0156+2*p06+1*p1+1*p23"
    return cells


def own_rows():
    """Instructions the measurements lack although their behaviour is known."""
    for mnem in ("ENDBR32", "ENDBR64"):  # a multi-byte NOP before CET
        yield [mnem, "-", "-", "-", "-", "-", "0", "1", "1", "0", "-", "-", "-", "0", "-", "-", "-", "-", "-"]


def line(cells):
    names, ops, out = [], [], []
    for text in cells[OPS].split() if cells[OPS] != "-" else []:
        name, own = operand(text)
        names.append(name)
        ops.append(own)
    out.append("%s %s %s" % (cells[MNEM], cells[SFX], cells[FORM]))
    attr = dict(a.split("=", 1) for a in cells[ATTR].split(";")) if cells[ATTR] != "-" else {}
    if "eosz" in attr:
        out.append("eosz=%d" % (8 << int(attr["eosz"])))
    if "immzero" in attr:
        out.append("zero=" + attr["immzero"])
    if "rm" in attr:
        out.append("rm=" + attr["rm"].replace(",", ""))
    out.append("n=" + "/".join("0" if c == "-" else c for c in (cells[UOPS], cells[RET], cells[MITE], cells[MS])))
    if cells[DEC] != "-":
        out.append("dec=" + cells[DEC].lstrip("c"))
    if cells[DIV] != "-":
        out.append("div=" + cells[DIV])
    if cells[TP] != "-":
        out.append("tp=" + cells[TP])
    out.append("ports=" + ports(cells[PORTS]))
    if ops:
        out.append("ops=" + ",".join(ops))
    if cells[LAT] != "-":
        pairs = []
        for pair in cells[LAT].split():
            key, _, values = pair.partition("=")
            a, _, b = key.partition(">")
            pairs.append("%d>%d:%s" % (names.index(a), names.index(b), values.replace(",", ".")))
        out.append("lat=" + ",".join(pairs))
    if cells[MF] != "-" and not cells[MF].startswith("="):
        out.append("fuse=" + cells[MF])
    for key, column in (("idx", IDX), ("same", SAME)):
        v = variant(cells[column])
        if v is not None and v != "=":
            out.append("%s=%s" % (key, v))
    for hint in cells[HINT].split(","):
        if hint.startswith("rsp="):
            out.append(hint)
        elif hint == "elim":
            out.append("elim")
        elif hint == "zidiom":
            out.append("zidiom")
    return " ".join(out)


def table(core, path):
    rows, fuse = list(own_rows()), []
    for text in open(path, encoding="ascii"):
        text = text.rstrip("\n")
        if text.startswith("# mf "):
            name, _, conditions = text[5:].partition("=")
            fuse.append("fuse %s %s" % (name, "".join("%x" % k for k in sorted(
                CONDITIONS.index(c) for c in conditions.split()))))
        if text.startswith("#"):
            continue
        cells = corrected(core, text.split("\t"))
        if max(int(c) for c in (cells[UOPS], cells[RET]) if c != "-") > MAX_UOPS:
            continue
        rows.append(cells)
    rows += [["JECXZ"] + r[1:] for r in rows if r[MNEM] == "JRCXZ"]
    if not any(r[MNEM] == "TZCNT" for r in rows):  # without BMI1 it executes as BSF
        rows += [["TZCNT"] + r[1:] for r in rows if r[MNEM] == "BSF"]
    rows.sort(key=lambda c: (c[MNEM].encode(), c[SFX].encode(), c[FORM].encode()))
    head = ["fathom-insns %d" % VERSION,
            "core " + core.lower(),
            "# Measured instruction data published by uops.info; made by data/insns/generate.py, do not edit.",
            "# Format: docs/data.md.",
            "decode_uops %d" % (5 if core == "SKL" else 4)]
    return "\n".join(head + fuse + ["rows %d" % len(rows)] + [line(c) for c in rows]) + "\n"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for core in CORES:
        text = table(core, os.path.join(sys.argv[1], core + ".tsv"))
        with open(os.path.join(HERE, core.lower() + ".insns"), "w", encoding="ascii") as out:
            out.write(text)


if __name__ == "__main__":
    main()
