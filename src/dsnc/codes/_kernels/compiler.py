"""A shorter way through numba's compiler.

numba optimizes each function with all that it calls, twice, and makes machine code of it. Of a part
nobody calls that machine code, and what a kernel takes in is optimized there once more: with parts
of parts, the same code again and again. Here parts are left as they were written until a kernel
takes them in, and the kernel is optimized once. Its machine code is as good: the second time is for
counting references, which kernels do not do.
"""

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

_HAS_PASS_BUILDER = hasattr(binding, "create_pass_builder")  # llvmlite 0.45


class _Code(JITCodeLibrary):
    """Code as it was written: all of it is optimized together, later."""

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = str(self._codegen.target_data)


class _KernelCode(_Code):
    """The code of a kernel, which is optimized once."""

    def _optimize_final_module(self):
        if _HAS_PASS_BUILDER:
            passes, builder = self._codegen._module_pass_manager()
            passes.run(self._final_module, builder)
        else:
            super()._optimize_final_module()


class _PartCode(_Code):
    """The code of a part, which waits for kernels to take it in."""

    def finalize(self):
        for library in dict.fromkeys(self._linking_libraries):
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalized = True

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        return 0  # as of a function that is not there

    @property
    def codegen(self):
        return self

    def set_env(self, name, env):
        """Do nothing: there is no machine code that would look it up."""


class OfKernel(Compiler):
    """Compiles a kernel."""

    def __init__(self, typing, target, library, *rest):
        code = _KernelCode(target.codegen(), "kernel")
        code.enable_object_caching()
        super().__init__(typing, target, code, *rest)


class OfPart(Compiler):
    """Compiles a part, as far as a kernel needs it."""

    def __init__(self, typing, target, library, *rest):
        super().__init__(typing, target, _PartCode(target.codegen(), "part"), *rest)
