# A program with the property LLVM_INSIDE has within itself what it uses of LLVM, from its archives: 15 MB
# of code. The shared library has 130 MB, of which the kernel maps 50 at once, and takes 10 ms to relocate.
# Other programs load it (there are many, the tests), and so do all where the archives do not link: those
# at hand are another machine's in a cross build. Sanitizers know the shared library. Where OpenCSD
# has no archives, it would load a second C++ library beside the one within. The archives are those that
# belong to the headers and the shared library, which may have been given.
set(components x86info x86desc x86disassembler aarch64info aarch64desc aarch64disassembler mc mcdisassembler
  object debuginfodwarf profiledata core support targetparser demangle)
set(LLVM_IS_INSIDE OFF)
set(archives_may_link OFF)
cmake_path(GET LLVM_INCLUDE PARENT_PATH llvm_root)
find_program(LLVM_CONFIG llvm-config NO_CACHE NO_DEFAULT_PATH PATHS ${llvm_root}/bin)
if(LLVM_CONFIG AND OPENCSD_MAY_BE_INSIDE AND NOT CSPROF_SANITIZE)
  execute_process(COMMAND ${LLVM_CONFIG} --libdir OUTPUT_VARIABLE libdir ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  cmake_path(GET LLVM_LIBRARY FILENAME library)
  file(REAL_PATH "${libdir}/${library}" beside)
  file(REAL_PATH "${LLVM_LIBRARY}" given)
  if(beside STREQUAL given)
    set(archives_may_link ON)
  endif()
endif()
if(archives_may_link)
  execute_process(COMMAND ${LLVM_CONFIG} --link-static --libfiles --system-libs ${components}
    OUTPUT_VARIABLE archives ERROR_QUIET)
  separate_arguments(archives UNIX_COMMAND "${archives}")
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_LIBRARIES ${archives})
  set(CMAKE_REQUIRED_LINK_OPTIONS -static-libgcc -static-libstdc++)
  check_cxx_source_compiles("extern \"C\" void LLVMInitializeAArch64Disassembler(void);
    int main() { LLVMInitializeAArch64Disassembler(); }" LLVM_ARCHIVES_LINK)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_LINK_OPTIONS)
  if(LLVM_ARCHIVES_LINK)
    set(LLVM_IS_INSIDE ON)
  endif()
endif()
message(STATUS "LLVM is within csprof-gen: ${LLVM_IS_INSIDE}")
if(LLVM_IS_INSIDE)
  set(llvm_inside $<BOOL:$<TARGET_PROPERTY:LLVM_INSIDE>>)
  target_link_libraries(llvm INTERFACE "$<IF:${llvm_inside},${archives},${LLVM_LIBRARY}>")
  target_link_options(llvm INTERFACE
    "$<${llvm_inside}:-Wl,--gc-sections;-Wl,--as-needed;-static-libgcc;-static-libstdc++>")
else()
  target_link_libraries(llvm INTERFACE ${LLVM_LIBRARY})
endif()
