# Warnings are errors, with gcc and with clang.
add_compile_options(-Wall -Wextra -Werror -Wshadow -Wvla -Wundef -Wwrite-strings
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes> $<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
  $<$<COMPILE_LANGUAGE:C>:-Wpointer-arith>)
add_compile_definitions(_GNU_SOURCE)

if(CSPROF_SANITIZE)
  add_compile_options(-fsanitize=${CSPROF_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CSPROF_SANITIZE})
endif()
if(CSPROF_SANITIZE MATCHES thread AND CMAKE_C_COMPILER_ID STREQUAL GNU)
  add_compile_options(-Wno-tsan) # it does not understand fences; ours are between us and the kernel
endif()
