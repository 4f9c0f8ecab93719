// What kind of file an artifact is, told by its name: an artifact has no media type of its own.

const UNKNOWN = 'application/octet-stream';

const BY_EXTENSION: ReadonlyMap<string, string> = new Map([
  ['apk', 'application/vnd.android.package-archive'],
  ['appimage', 'application/vnd.appimage'],
  ['bz2', 'application/x-bzip2'],
  ['deb', 'application/vnd.debian.binary-package'],
  ['dmg', 'application/x-apple-diskimage'],
  ['exe', 'application/vnd.microsoft.portable-executable'],
  ['gz', 'application/gzip'],
  ['jar', 'application/java-archive'],
  ['msi', 'application/x-msi'],
  ['msix', 'application/msix'],
  ['rpm', 'application/x-rpm'],
  ['tar', 'application/x-tar'],
  ['tgz', 'application/gzip'],
  ['xz', 'application/x-xz'],
  ['zip', 'application/zip'],
  ['zst', 'application/zstd'],
]);

/** The media type of the file at an absolute address; `application/octet-stream` when its name tells none. */
export function mediaTypeOf(url: string): string {
  const name = new URL(url).pathname.split('/').at(-1) ?? '';
  const extension = name.includes('.') ? (name.split('.').at(-1) ?? '') : '';
  return BY_EXTENSION.get(extension.toLowerCase()) ?? UNKNOWN;
}
