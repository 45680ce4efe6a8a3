# A program with the property LLVM_INSIDE has within itself what it uses of LLVM, from its archives: 15 MB
# of code. The shared library has 130 MB, of which the kernel maps 50 at once, and takes 10 ms to relocate.
# Other programs load it (there are many, the tests), and so do all where the archives do not link: those
# at hand are another machine's in a cross build. Sanitizers know the shared library.
set(components x86info x86desc x86disassembler aarch64info aarch64desc aarch64disassembler mc mcdisassembler
  object debuginfodwarf profiledata core support targetparser demangle)
find_program(LLVM_CONFIG llvm-config NO_DEFAULT_PATH PATHS /usr/lib/llvm-${CSPROF_LLVM_MAJOR}/bin)
set(LLVM_IS_INSIDE OFF)
if(LLVM_CONFIG AND NOT CSPROF_SANITIZE)
  execute_process(COMMAND ${LLVM_CONFIG} --link-static --libfiles --system-libs ${components}
    OUTPUT_VARIABLE archives ERROR_QUIET)
  separate_arguments(archives UNIX_COMMAND "${archives}")
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES ${archives})
  check_cxx_source_compiles("extern \"C\" void LLVMInitializeAArch64Disassembler(void);
    int main() { LLVMInitializeAArch64Disassembler(); }" LLVM_ARCHIVES_LINK)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(LLVM_ARCHIVES_LINK)
    set(LLVM_IS_INSIDE ON)
  endif()
endif()
if(LLVM_IS_INSIDE)
  set(llvm_inside $<BOOL:$<TARGET_PROPERTY:LLVM_INSIDE>>)
  target_link_libraries(llvm INTERFACE "$<IF:${llvm_inside},${archives},${LLVM_LIBRARY}>")
  target_link_options(llvm INTERFACE
    "$<${llvm_inside}:-Wl,--gc-sections;-Wl,--as-needed;-static-libgcc;-static-libstdc++>")
else()
  target_link_libraries(llvm INTERFACE ${LLVM_LIBRARY})
endif()
