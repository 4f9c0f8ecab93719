// Checksum files that build tools write beside their files: `checksums.txt` of goreleaser, `NAME.sha256` of
// cargo-dist, the output of `sha256sum`, `shasum --tag` and `openssl dgst`. A file of a build must have the
// checksum that they list.

import { basename, dirname, resolve } from 'node:path';
import { ServiceError } from '../call/service-client.ts';
import { readText } from '../call/text-file.ts';
import type { BuildFile } from './build-files.ts';
import type { FileContents } from './file-contents.ts';

const NAME =
  /(?:^|[-_.])(?:checksums?|shasums?(?:256|512)?|sha(?:256|512)(?:\.?sums?)?)(?:[-_.](?:sha256|sha512))?(?:\.txt)?$/i;
/** A checksum in hexadecimal digits, and the name of its file, which may be missing on a single line. */
const LINE = /^([0-9a-f]{64}|[0-9a-f]{128})(?:\s+\*?(?:\.\/)?(\S.*?))?\s*$/i;
/** Line as BSD and OpenSSL write it: `SHA256 (NAME) = SUM`, `SHA2-256(NAME)= SUM`. */
const TAGGED_LINE =
  /^SHA(?:2-)?(?:256|512)\s*\((?:\.\/)?(.+)\)\s*=\s*([0-9a-f]{64}|[0-9a-f]{128})\s*$/i;
const SHA512_LENGTH = 128;
/** Maximum size of a checksum file in bytes; larger files are ignored. */
const BYTES_MAX = 1024 * 1024;

/** Rejects with `ServiceError` if a file's content differs from what a checksum file lists. */
export async function refuseOtherSums(
  files: readonly BuildFile[],
  contents: FileContents,
): Promise<void> {
  const byPath = new Map(files.map((file) => [resolve(file.path), file]));
  for (const list of files.filter(({ name, size }) => NAME.test(name) && size <= BYTES_MAX)) {
    for (const { name, sum } of sumsOf(list)) {
      const file =
        fileOf(name, dirname(list.path), byPath) ?? files.find((each) => isRenamed(each, name));
      if (file !== undefined && !(await hasSum(file, sum, contents))) {
        throw new ServiceError(
          `${file.name} is another file than ${list.name} says: its content differs`,
        );
      }
    }
  }
}

/** Returns the file of a listed name: at its path, or beside the list if the list was made elsewhere. */
function fileOf(
  name: string,
  folder: string,
  byPath: ReadonlyMap<string, BuildFile>,
): BuildFile | undefined {
  const beside = name.slice(Math.max(name.lastIndexOf('/'), name.lastIndexOf('\\')) + 1);
  return byPath.get(resolve(folder, name)) ?? byPath.get(resolve(folder, beside));
}

/** Whether a file is uploaded under this name but has another one on this machine. */
function isRenamed(file: BuildFile, name: string): boolean {
  return file.name === name && basename(file.path) !== name;
}

/** Returns the listed checksums. One without a file's name is for the list's own name without its ending. */
function sumsOf({ path, name }: BuildFile): readonly { name: string; sum: string }[] {
  const own = name.replace(/\.[^.]+(?:\.txt)?$/i, '');
  return readText(path)
    .split('\n')
    .flatMap((line) => {
      const [, tagged, sumOfTagged] = TAGGED_LINE.exec(line) ?? [];
      const [, sum = sumOfTagged, of = tagged ?? own] = LINE.exec(line) ?? [];
      return sum === undefined ? [] : [{ name: of, sum: sum.toLowerCase() }];
    });
}

async function hasSum(file: BuildFile, sum: string, contents: FileContents): Promise<boolean> {
  const { sha256, sha512 = '' } = await contents.of(file);
  if (sum.length < SHA512_LENGTH) return sha256 === sum;
  return Buffer.from(sha512, 'base64').toString('hex') === sum;
}
