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
  target_link_libraries(opencsd INTERFACE ${OPENCSD_C})
  find_path(LLVM_INCLUDE llvm/ProfileData/SampleProf.h REQUIRED  # llvm-22-dev
    PATHS /usr/lib/llvm-${CSPROF_LLVM_MAJOR}/include)
  find_library(LLVM_LIBRARY NAMES LLVM-${CSPROF_LLVM_MAJOR} NAMES_PER_DIR REQUIRED
    PATHS /usr/lib/llvm-${CSPROF_LLVM_MAJOR}/lib)
  add_library(llvm INTERFACE)
  target_include_directories(llvm SYSTEM INTERFACE ${LLVM_INCLUDE})
  target_link_libraries(llvm INTERFACE ${LLVM_LIBRARY})
endif()
if(CSPROF_TESTS)
  pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)  # libcmocka-dev
endif()
