# Everything csprof links against, each by its Debian package.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(XXHASH REQUIRED IMPORTED_TARGET libxxhash) # libxxhash-dev
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)     # libzstd-dev
pkg_check_modules(ELF REQUIRED IMPORTED_TARGET libelf)       # libelf-dev
if(NOT CSPROF_RECORDER_ONLY)
  pkg_check_modules(DW REQUIRED IMPORTED_TARGET libdw)       # libdw-dev
  find_path(OPENCSD_INCLUDE opencsd/c_api/opencsd_c_api.h REQUIRED) # libopencsd-dev
  find_library(OPENCSD_C opencsd_c_api REQUIRED)
  add_library(opencsd INTERFACE)
  target_include_directories(opencsd SYSTEM INTERFACE ${OPENCSD_INCLUDE})
  # A program with the property OPENCSD_INSIDE has OpenCSD and the C++ library within itself: to load and
  # relocate them takes longer than to decode a thousand windows. Not one that loads libLLVM, which loads
  # a C++ library, too.
  find_library(OPENCSD_C_ARCHIVE libopencsd_c_api.a)
  find_library(OPENCSD_ARCHIVE libopencsd.a)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=libstdc++.a
    OUTPUT_VARIABLE CXX_ARCHIVE OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(OPENCSD_C_ARCHIVE AND OPENCSD_ARCHIVE AND IS_ABSOLUTE "${CXX_ARCHIVE}")
    set(OPENCSD_MAY_BE_INSIDE ON)
    set(inside $<BOOL:$<TARGET_PROPERTY:OPENCSD_INSIDE>>)
    target_link_libraries(opencsd INTERFACE
      "$<IF:${inside},${OPENCSD_C_ARCHIVE};${OPENCSD_ARCHIVE};${CXX_ARCHIVE},${OPENCSD_C}>")
    target_link_options(opencsd INTERFACE $<${inside}:-static-libgcc>)
  else()
    set(OPENCSD_MAY_BE_INSIDE OFF)
    target_link_libraries(opencsd INTERFACE ${OPENCSD_C})
  endif()
  find_path(LLVM_INCLUDE llvm/ProfileData/SampleProf.h REQUIRED  # llvm-22-dev
    PATHS /usr/lib/llvm-${CSPROF_LLVM_MAJOR}/include)
  find_library(LLVM_LIBRARY NAMES LLVM-${CSPROF_LLVM_MAJOR} NAMES_PER_DIR REQUIRED
    PATHS /usr/lib/llvm-${CSPROF_LLVM_MAJOR}/lib)
  add_library(llvm INTERFACE)
  target_include_directories(llvm SYSTEM INTERFACE ${LLVM_INCLUDE})
  include(cmake/llvm_inside.cmake)
endif()
if(CSPROF_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)  # libcmocka-dev
endif()
