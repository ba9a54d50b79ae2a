# Writes build_info.h.  The hash covers names and contents of FILES, so that it is the same for the
# same source wherever it lies.
set(all "")
list(SORT FILES)
foreach(file IN LISTS FILES)
  file(SHA256 ${file} hash)
  file(RELATIVE_PATH name ${ROOT} ${file})
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
string(STRIP "${FLAGS}" FLAGS)
file(WRITE ${OUTPUT}
     "#define RTS_BUILD_SOURCE \"${hash}\"\n"
     "#define RTS_BUILD_COMPILER \"${COMPILER}\"\n"
     "#define RTS_BUILD_FLAGS \"${FLAGS}\"\n")
