"""Compiles and checks every row of shaders/table.txt in each variant (run by shaders/CMakeLists.txt).

All of them by few processes: one takes ten times as long to start as to compile a module.

usage: compile.py TABLE SPIRV_FOLDER GLSLC SPIRV_VAL SPIRV_OPT
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

import embed

TARGET = "--target-env=vulkan1.2"


def with_defines(source, defines):
    """The source's text with macros defined behind its #version, and lines that are still its own."""
    text = source.read_text()
    version = re.search(r"^#version .*\n", text, re.MULTILINE)
    if not version:
        sys.exit(f"{source}: has no #version")
    head, rest = text[: version.end()], text[version.end() :]
    macros = "".join(f"#define {define.replace('=', ' ', 1)}\n" for define in defines)
    return (
        f"{head}#extension GL_GOOGLE_cpp_style_line_directive : require\n{macros}"
        f'#line {head.count(chr(10)) + 1} "{source}"\n{rest}'
    )


def write_sources(table, folder):
    """NAME.VARIANT.comp in `folder` for each row and variant: READS_STORAGE and READS_TEXELS of tensor.glsl."""
    written = []
    for name, source, *defines in embed.read_rows(table):
        for reads, variant in enumerate(embed.VARIANTS):
            path = folder / f"{name}.{variant}.comp"
            path.write_text(with_defines(table.parent / source, [*defines, f"TENSOR_READS={reads}"]))
            written.append(path)
    return written


def check_module(source, spirv_val, spirv_opt):
    """Makes NAME.VARIANT.spv, without debug information, of NAME.VARIANT.comp.spv. Whether that is valid."""
    compiled = f"{source}.spv"
    if subprocess.run([spirv_val, "--target-env", "vulkan1.2", compiled]).returncode != 0:
        print(f"{source}: compiles to no valid module", file=sys.stderr)
        return False
    subprocess.run([spirv_opt, TARGET, "--strip-debug", compiled, "-o", source.with_suffix(".spv")], check=True)
    return True


def compile_sources(sources, folder, includes, glslc, spirv_val, spirv_opt):
    """NAME.VARIANT.spv in `folder` for each NAME.VARIANT.comp there. Whether all are valid."""
    if subprocess.run([glslc, TARGET, "-c", "-I", includes, *sources], cwd=folder).returncode != 0:
        return False
    return all([check_module(source, spirv_val, spirv_opt) for source in sources])


def main(arguments):
    if len(arguments) != 5:
        sys.exit(__doc__)
    table, folder = (pathlib.Path(argument).resolve() for argument in arguments[:2])
    folder.mkdir(parents=True, exist_ok=True)
    sources = write_sources(table, folder)
    processes = os.cpu_count() or 1
    with concurrent.futures.ThreadPoolExecutor(processes) as threads:
        parts = [
            threads.submit(compile_sources, sources[i::processes], folder, table.parent, *arguments[2:])
            for i in range(processes)
        ]
    if not all(part.result() for part in parts):
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
