# libparetopo_c: the functions of csrc/c_api/paretopo.h as a shared library, with a pkg-config file.
include(GNUInstallDirs)
add_library(paretopo_c SHARED csrc/c_api/paretopo.cpp)
target_link_libraries(paretopo_c PRIVATE $<LINK_LIBRARY:${PARETOPO_WHOLE_ARCHIVE},paretopo>)
target_compile_options(paretopo_c PRIVATE ${paretopo_cxx_flags})
set_target_properties(paretopo_c PROPERTIES CXX_VISIBILITY_PRESET hidden CUDA_RUNTIME_LIBRARY ${cuda_runtime}
                                            PUBLIC_HEADER csrc/c_api/paretopo.h)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux") # hides the templates of the C++ library, too
  set(exported ${CMAKE_CURRENT_BINARY_DIR}/paretopo_c.map)
  file(WRITE ${exported} "{ global: paretopo_*; local: *; };\n")
  target_link_options(paretopo_c PRIVATE -Wl,--version-script=${exported})
endif()
if(SKBUILD) # a wheel does not contain it
  return()
endif()
install(TARGETS paretopo_c PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
# Relative paths: cmake --install takes another --prefix.
file(RELATIVE_PATH to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/paretopo_c.pc
"prefix=\${pcfiledir}/${to_prefix}
Name: paretopo_c
Description: Pareto fronts, hypervolumes and archives
Version: ${PROJECT_VERSION}
Cflags: -I\${prefix}${CMAKE_INSTALL_INCLUDEDIR}
Libs: -L\${prefix}${CMAKE_INSTALL_LIBDIR} -lparetopo_c
")
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/paretopo_c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
