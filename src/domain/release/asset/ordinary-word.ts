// Words that occur in the position of an architecture in file names, but name something else: the contents,
// the kind of build, the edition, a library.

/** Returns whether a word in lower case, of three letters or more, is known to be no architecture. */
export function isOrdinaryWord(word: string): boolean {
  return WORDS.has(word) || BUILDS.test(word) || LIBRARIES.test(word);
}

/** Revisions, dates, prereleases and versions of distributions. */
const BUILDS = new RegExp(
  '^(?:g?[0-9a-f]{7,}|[a-z]\\d+[a-z]?|' +
    '(?:build|rev|rel|git|rc|alpha|beta|pre|preview|dev|hotfix|fix|full|sp|el|fc|lp|sles|suse)\\d\\w*)$',
);

/** Libraries, languages and toolkits, with their versions. */
const LIBRARIES = new RegExp(
  '^(?:gtk|qt|sdl|glfw|gl|egl|opengl|opencl|vulkan|vk|dx|d3d|cuda|cu|cudnn|rocm|hip|avx|sse|neon|noavx|' +
    'jdk|jre|jvm|java|py|python|cp|node|nodejs|npm|bun|deno|net|netcore|netfx|dotnet|mono|lua|luajit|' +
    'php|perl|ruby|ghc|go|gcc|gnu|glibc|musl|clang|llvm|vc|vs|msvc|ssl|openssl|libressl|wx|fltk|electron|' +
    'webview|webkit|ffmpeg|openblas|mkl|tbb|vtk|numpy|icu|wayland|xcb)(?:\\d\\w{0,4})?$',
);

const WORDS: ReadonlySet<string> = new Set(
  `
  alpha beta dev develop devel development nightly canary edge insider insiders preview pre
  prerelease snapshot stable latest release rel final lts current master main trunk test testing
  experimental unstable staging prod production build builds built opt optimized fast small big
  large tiny

  portable standalone setup installer install installed noinstall uninstaller updater update
  upgrade patch archive bundle bundled package packaged pkg zip tar tgz exe msi msix dmg app deb
  rpm appimage flatpak snap jar bin binary binaries executable exec elf raw dist distribution
  deploy unpacked artifact artifacts assets files file data content contents static shared dynamic
  statically standalones self contained selfcontained single multi onefile onedir full lite light
  mini minimal slim thin fat complete core base basic common normal default standard std extended
  extra extras plus contrib all any only generic native compat legacy classic modern old new

  cli cmd command commandline console terminal term tui gui desktop server client daemon service
  agent web webapp website browser online offline headless embedded mobile tablet tool tools utils
  util sdk lib libs library libraries runtime runtimes framework dependent noruntime engine plugin
  plugins addon addons module modules driver drivers download launcher loader manager helper
  assistant player editor viewer game demo sample samples example examples

  free pro premium enterprise business personal home education community oss foss trial paid steam
  itch gog epic store appstore github gitlab fips boringcrypto signed unsigned notarized adhoc
  stripped unstripped compressed uncompressed upx admin user users system machine global local
  peruser permachine

  cpu gpu nocuda directml metal simd noavx hsm tpm debug profile profiling trace tracing asan tsan
  ubsan msan lto pgo jit nojit aot nativeaot r2r ffi

  bit bits with without and for from not non the later

  multilang multilingual intl

  big sur catalina monterey ventura sonoma sequoia tahoe mojave lion yosemite focal jammy noble
  bionic xenial buster bullseye bookworm trixie sid stretch tumbleweed leap rocky alma steamos
  raspbian raspberry raspberrypi rpi

  gnu musl glibc uclibc gnueabi gnueabihf musleabi musleabihf eabi eabihf msvc mingw cygwin gcc
  clang llvm softfloat hardfloat softfp nossl noopenssl vendored crt`
    .trim()
    .split(/\s+/),
);
