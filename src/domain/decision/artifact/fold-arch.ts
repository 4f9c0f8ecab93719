// Names of architectures. One table of spellings folds the names that publishers write, devices report and
// file names contain, so that both sides of a comparison are folded alike.

/**
 * Returns the canonical spelling of an arch: `x64` and `X86-64` are `x86_64`; an unknown one is returned in
 * lower case; undefined is `NO_ARCH`. `platform` is folded, or '' if it is not known: `arm` means a 32-bit
 * processor except on platforms that hardly run on one.
 */
export function foldArch(arch: string | undefined, platform: string): string {
  if (arch === undefined) return NO_ARCH;
  const lower = arch.toLowerCase();
  const known = knownArch(lower, platform);
  if (known !== undefined) return known;
  return SEPARATOR.test(lower)
    ? (knownArch(lower.replace(SEPARATORS, ''), platform) ?? lower)
    : lower;
}

/** Returns the arch that a word in lower case without separators names; undefined if it names none. */
export function knownArch(word: string, platform: string): string | undefined {
  return ON_PLATFORM.get(platform)?.get(word) ?? BY_SPELLING.get(word);
}

/** Arch of an artifact for the whole platform, and of a device that names none. */
export const NO_ARCH = '';
/** Arch of an artifact that runs on every arch of its platform. */
export const UNIVERSAL = 'universal';

const SEPARATOR = /[-_. ]/;
const SEPARATORS = /[-_. ]/g;

/**
 * Names of arches with their other spellings, without separators: those of Go, Rust, Node.js, .NET, Android,
 * Debian, RPM, Arch Linux, NetBSD and `uname`, and of the Maven plugin that names protoc's files.
 */
const SPELLINGS: Readonly<Record<string, string>> = {
  x86_64:
    'x8664 x64 amd64 amd em64t ia32e intel intel64 64 64bit 64bits x64bit amd64bit x8664bit x8664h ' +
    'x8664v1 x8664v2 x8664v3 x8664v4 x64v1 x64v2 x64v3 x64v4 amd64v1 amd64v2 amd64v3 amd64v4',
  i686:
    'x86 i386 i486 i586 386 ix86 ia32 intel32 x32 x8632 32 32bit 32bits x86bit x8632bit ' +
    'pentium pentium3 pentium4',
  aarch64:
    'arm64 arm64e arm64ec arm64x arm64v8 arm64v8a armv8 armv8a v8a arm64bit aarch64bit ' +
    'silicon applesilicon',
  arm: 'arm32 aarch32',
  // A kernel that reports `armv8l` runs 32-bit programs; RPM's `h` is a floating-point unit, its `n` NEON.
  armv7:
    'armv7l armv7a armv7s armv7h armv7hf armv7neon armv7hl armv7hnl armv7thl armv7tnhl earmv7hf ' +
    'armhf armhfp arm7 arm32v7 arm32v7a armeabiv7a v7a armv8l armv8hl',
  armv6: 'armv6l armv6h armv6hf armv6hl armv6k armv6kz armv6zk earmv6hf arm6 arm32v6',
  armv5: 'armv5l armv5t armv5tl armv5te armv5tel armv5tejl armel armsf armeabi arm5 arm32v5 earmv5',
  riscv64: 'riscv riscv64g riscv64gc rv64 rv64g rv64gc',
  riscv32: 'riscv32gc rv32 rv32gc',
  ppc64le: 'powerpc64le ppc64el powerpc64el ppcle64 powerpcle64',
  ppc64: 'powerpc64 ppc64be powerpc64be',
  ppc: 'powerpc ppc32 powerpc32',
  ppcle: 'powerpcle ppc32le ppcle32',
  loong64: 'loongarch loongarch64',
  mips: 'mips32 mips32r2 mips32be mipsbe mipseb',
  mipsle: 'mipsel mips32le mips32el mipsle32 mipsel32 mips32r2el',
  mips64: 'mips64r2 mips64be mips64eb',
  mips64le: 'mips64el mipsle64 mipsel64 mips64r2el',
  s390x: 's39064 s390x64 systemz',
  s390: 's39032',
  sparc: 'sparc32',
  sparc64: 'sparcv9 sparcv9v sparc64v',
  ia64: 'itanium itanium64 ia64w',
  [UNIVERSAL]: 'universal2 multiarch noarch anycpu',
};

const BY_SPELLING = mapOf(SPELLINGS);

/** On platforms that hardly run on 32-bit ARM, `arm` means `aarch64`. */
const WITHOUT_32_BIT_ARM = { aarch64: 'arm', armv7: 'arm32 aarch32' };

/** Meaning of words that differs on one platform. */
const ON_PLATFORM: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  ['windows', mapOf(WITHOUT_32_BIT_ARM)],
  [
    'darwin',
    mapOf({ ...WITHOUT_32_BIT_ARM, aarch64: 'arm apple m1 m2 m3 m4 m5', [UNIVERSAL]: 'fat' }),
  ],
]);

function mapOf(spellings: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(spellings).flatMap(([name, others]) =>
      [name, ...others.split(' ')].filter((word) => word !== '').map((word) => [word, name]),
    ),
  );
}
