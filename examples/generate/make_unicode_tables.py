"""Prints unicode_tables.inc: the ranges of code points that are letters (L*) and numbers (N*).

usage: python3 make_unicode_tables.py > unicode_tables.inc
The tables come from Python's unicodedata; the version of Unicode stands in the output.
"""
import unicodedata


def ranges(initial):
    first = None
    for code_point in range(0x110001):
        inside = code_point < 0x110000 and unicodedata.category(chr(code_point))[0] == initial
        if inside and first is None:
            first = code_point
        if not inside and first is not None:
            yield f"{{{first:#x}, {code_point - 1:#x}}},"
            first = None


def table(name, initial):
    print(f"constexpr CodePointRange {name}[] = {{")
    line = "   "
    for item in ranges(initial):
        if len(line) + 1 + len(item) > 100:
            print(line)
            line = "   "
        line += " " + item
    print(line)
    print("};")


print(f"// Made by make_unicode_tables.py from Unicode {unicodedata.unidata_version}. Do not edit.")
table("kLetters", "L")
table("kNumbers", "N")
