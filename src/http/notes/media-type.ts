// Media type of an artifact by its file name, because artifacts carry no media type of their own.

import { extensionOf } from '../../domain/decision/artifact.ts';

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

/**
 * Returns the media type of the file at an absolute URL; `application/octet-stream` when its name tells none.
 */
export function mediaTypeOf(url: string): string {
  return BY_EXTENSION.get(extensionOf(url)) ?? UNKNOWN;
}
