# csprof_folder(NAME SOURCES ... [USES folder...] [LIBS library...])
#
# One static library per folder, csp_NAME. Headers are included as "folder/header.h"; a folder sees
# only itself and the folders it USES, because each gets an include directory that contains nothing
# but a link to that folder. So the one-way dependencies of docs/design.md are checked by every build.
function(csprof_folder name)
  cmake_parse_arguments(arg "" "" "SOURCES;USES;LIBS" ${ARGN})
  set(view ${PROJECT_BINARY_DIR}/include/${name})
  file(MAKE_DIRECTORY ${view})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${name} ${view}/${name} SYMBOLIC)
  add_library(csp_${name} STATIC ${arg_SOURCES})
  target_include_directories(csp_${name} PUBLIC ${view})
  list(TRANSFORM arg_USES PREPEND csp_)
  target_link_libraries(csp_${name} PUBLIC ${arg_USES} PRIVATE ${arg_LIBS})
endfunction()
