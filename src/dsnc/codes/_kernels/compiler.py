"""A shorter way through numba's compiler.

numba optimizes each function with all that it calls, twice, and makes machine code of it. Of a part
nobody calls that machine code, and what a kernel takes in is optimized there once more: with parts
of parts, the same code again and again. Here a part is only tidied up, function by function, until
a kernel takes it in, and the kernel is optimized once. Its machine code is as good: the other time
is for counting references, which kernels do not do.

Of what is left, a tenth would be comparing the options with themselves, all of them, whenever the
type of an operation is looked up.
"""

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags

_HAS_PASS_BUILDER = hasattr(binding, "create_pass_builder")  # llvmlite 0.45
_NEEDED = ("_optimize_final_module", "_get_module_for_linking", "_ensure_finalized")
_IS_KNOWN = all(hasattr(JITCodeLibrary, name) for name in _NEEDED)  # otherwise it takes longer
_HASH = hash(Flags())


class _KernelCode(JITCodeLibrary):
    """The code of a kernel, which is optimized once."""

    def _optimize_final_module(self):
        if _HAS_PASS_BUILDER:
            passes, builder = self._codegen._module_pass_manager()
            passes.run(self._final_module, builder)
        else:
            super()._optimize_final_module()


class _PartCode(JITCodeLibrary):
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


class _Options(Flags):
    """Options that are told apart by those that are set, where that is enough."""

    __slots__ = ()

    def __hash__(self):
        return _HASH  # numba's own depends on nothing either

    def __eq__(self, other):
        return self._values == other._values or super().__eq__(other)


class _OfKernel(Compiler):
    """Compiles a kernel."""

    def __init__(self, typing, target, library, arguments, result, options, local):
        code = _KernelCode(target.codegen(), "kernel")
        code.enable_object_caching()
        super().__init__(typing, target, code, arguments, result, _Options(options), local)


class _OfPart(Compiler):
    """Compiles a part, as far as a kernel needs it."""

    def __init__(self, typing, target, library, arguments, result, options, local):
        code = _PartCode(target.codegen(), "part")
        super().__init__(typing, target, code, arguments, result, _Options(options), local)


OfKernel, OfPart = (_OfKernel, _OfPart) if _IS_KNOWN else (Compiler, Compiler)
