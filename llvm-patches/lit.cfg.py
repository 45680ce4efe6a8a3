# How to run LLVM's own tests on tools that were not built beside them: the directories of
# CSPROF_LLVM_TOOLS come first, then Debian's. See ./test.
import os

import lit.formats

config.name = "llvm-patches"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".ll", ".mir", ".test", ".s"]
config.excludes = ["Inputs"]
config.targets = frozenset(["AArch64", "RISCV", "X86"])
config.available_features.update(
    ["x86_64-linux", "shell", "default_triple"]
    + [f"{target}-registered-target" for target in ("aarch64", "riscv", "x86")]
)
config.environment["PATH"] = os.pathsep.join(
    os.environ["CSPROF_LLVM_TOOLS"].split(os.pathsep) + [os.environ["PATH"]]
)
config.substitutions.append(("%python", "python3"))
config.substitutions.append(("%llvm_src_root", os.path.join(config.test_source_root, "..")))
