#!/usr/bin/env bash
# Makes a Node that is linked to musl, as Alpine Linux has it, on a Debian: so that `npm ci`, the native packages and
# the service can be tried on musl where no Alpine is to be had. Needs root, gcc and g++; takes some minutes.
#
#   scripts/musl-node.sh FOLDER
#   FOLDER/run 'cd /path/to/sluice && npm ci && npm start'   # a shell command in which `node` is that Node
#
# Debian has musl. npm has a Node for it inside pnpm's executable, which is a plain Node once the mark that says
# "run what is embedded" is off. What is missing is a C++ library for musl: it is built from Debian's source of GCC.
set -euo pipefail

[ $# = 1 ] || { echo 'usage: scripts/musl-node.sh FOLDER' >&2; exit 2; }
mkdir -p "$1"
folder=$(cd -- "$1" && pwd)
MARK=NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2
PNPM=11.21.0
musl=/usr/lib/x86_64-linux-musl

DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
  musl musl-dev musl-tools gcc g++ make gcc-12-source >/dev/null

# The C++ library, from the source of the compiler that is here.
mkdir -p "$folder/source" "$folder/build" "$folder/lib" "$folder/bin"
tar xJf /usr/src/gcc-12/gcc-12.*.tar.xz -C "$folder/source" --strip-components 1 --wildcards \
  '*/libstdc++-v3/*' '*/libgcc/*' '*/config/*' '*/include/*' '*/libiberty/*' '*/gcc/BASE-VER' '*/gcc/DATESTAMP' \
  '*/config[.-]*' '*/install-sh' '*/lt*' '*/libtool*' '*/missing' '*/mkinstalldirs' '*/move-if-change' '*/depcomp' \
  '*/compile' '*/multilib.am' '*/symlink-tree'
cp "$folder/source/libgcc/gthr-posix.h" "$folder/source/libgcc/gthr-default.h"
printf '#!/bin/sh\nexec g++ -specs=%s/musl-gcc.specs "$@"\n' "$musl" >"$folder/musl-g++"
chmod +x "$folder/musl-g++"
(
  cd -- "$folder/build"
  CC=musl-gcc CXX=$folder/musl-g++ CFLAGS='-O1 -fPIC' CXXFLAGS='-O1 -fPIC' ../source/libstdc++-v3/configure \
    --build=x86_64-pc-linux-gnu --host=x86_64-linux-musl --disable-multilib --disable-nls --disable-static \
    --disable-libstdcxx-pch --enable-threads=posix --enable-libstdcxx-threads \
    --with-gxx-include-dir="$folder/include" --prefix="$folder/gcc"
  make -j"$(nproc)"
  make install
) >"$folder/build.log" 2>&1

# Node was compiled by a later GCC, and the unwinder of this one for glibc: a small library in front has what each
# of them misses. Its name is that of the C++ library, whose own is changed to one as long.
cat >"$folder/missing.cc" <<'CODE'
#include <link.h>
#include <cstring>
#include <string>

struct Found {
  unsigned long long flags;
  void *start, *end;
  link_map *map;
  void *frames;
  unsigned long long rest[7];
};
struct Asked { unsigned long pc; Found *found; bool is_found; };

static int look(dl_phdr_info *info, size_t, void *data) {
  Asked *asked = static_cast<Asked *>(data);
  unsigned long frames = 0, start = 0, end = 0;
  for (int each = 0; each < info->dlpi_phnum; each++) {
    const ElfW(Phdr) &header = info->dlpi_phdr[each];
    unsigned long at = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) frames = at;
    if (header.p_type != PT_LOAD || asked->pc < at || asked->pc >= at + header.p_memsz) continue;
    start = at;
    end = at + header.p_memsz;
  }
  if (start == 0 || frames == 0) return 0;
  *asked->found = {0, (void *)start, (void *)end, nullptr, (void *)frames, {}};
  asked->is_found = true;
  return 1;
}

extern "C" {
struct { unsigned each[4]; } __cpu_model;
int __cpu_indicator_init(void) { return 0; }

int _dl_find_object(void *pc, Found *found) {
  Asked asked = {(unsigned long)pc, found, false};
  dl_iterate_phdr(look, &asked);
  return asked.is_found ? 0 : -1;
}

// std::string::_M_replace_cold
void _ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE15_M_replace_coldEPcmPKcmm(
    std::string *, char *at, size_t replaced, const char *text, size_t length, size_t after) {
  std::string copy(text, length);
  if (after != 0 && replaced != length) memmove(at + length, at + replaced, after);
  memcpy(at, copy.data(), length);
}
}
CODE
cp -L "$folder/gcc/lib/libstdc++.so.6" "$folder/lib/libstdcxx.so.6"
perl -pi -e 's/libstdc\+\+\.so\.6\0/libstdcxx.so.6\0/g' "$folder/lib/libstdcxx.so.6"
"$folder/musl-g++" -shared -fPIC -O1 -w -I"$folder/include" -I"$folder/include/x86_64-linux-musl" \
  -o "$folder/lib/libstdc++.so.6" "$folder/missing.cc" -nostdlib -Wl,-soname,libstdc++.so.6 -Wl,--no-as-needed \
  "$folder/lib/libstdcxx.so.6"
cp /lib/x86_64-linux-gnu/libgcc_s.so.1 "$folder/lib/"
ln -sf "$musl/libc.so" "$folder/lib/libc.musl-x86_64.so.1"

(cd -- "$folder" && npm pack --silent "@pnpm/linuxstatic-x64@$PNPM" >/dev/null && tar xzf pnpm-*.tgz)
perl -pe "s/$MARK:1/$MARK:0/" "$folder/package/pnpm" >"$folder/bin/node"
chmod +x "$folder/bin/node"

# npm and native packages tell the C library by the text of `ldd`.
printf '#!/bin/sh\n# musl\nexec /lib/ld-musl-x86_64.so.1 --list "$@"\n' >"$folder/ldd"
printf '%s\n' "$folder/lib" >"$folder/path"
cat >"$folder/run" <<RUN
#!/bin/sh
exec unshare --mount sh -c '
  mount --bind "$folder/ldd" /usr/bin/ldd
  mount --bind "$folder/path" /etc/ld-musl-x86_64.path
  PATH="$folder/bin:\$PATH"
  export PATH
  eval "\$1"
' sh "\$1"
RUN
chmod +x "$folder/ldd" "$folder/run"
"$folder/run" "node -p 'process.version + \" with the C library of \" + (process.report.getReport().header.glibcVersionRuntime ? \"GNU\" : \"musl\")'"
