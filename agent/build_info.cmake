# Writes build_info.h.  The hash covers names and contents of FILES, so that it is the same for the
# same source in any directory; a second hash covers only the files that all ports have.
set(all "")
set(common "")
list(SORT FILES)
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(APPEND all "${name} ${hash}\n")
  if(name MATCHES "^(core|benches|loads)/[^/]*$")
    string(APPEND common "${name} ${hash}\n")
  endif()
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
string(SHA256 common "${common}")
string(SUBSTRING ${common} 0 16 common)
string(STRIP "${FLAGS}" FLAGS)
file(WRITE ${OUTPUT}
     "#define RTS_BUILD_VERSION \"${VERSION}\"\n"
     "#define RTS_BUILD_SOURCE \"${hash}\"\n"
     "#define RTS_BUILD_COMMON \"${common}\"\n"
     "#define RTS_BUILD_COMPILER \"${COMPILER}\"\n"
     "#define RTS_BUILD_FLAGS \"${FLAGS}\"\n")
