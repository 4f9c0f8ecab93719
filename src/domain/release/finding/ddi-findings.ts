// Findings in the files of a channel that answers DDI clients. One that lacks what these clients ask for is
// offered to none of them, and nothing else tells its publisher so.

import { type Finding, warning } from '../../../contract/dry-run.ts';
import { ddiFileName, isDdiFormat } from '../../decision/artifact/ddi-artifact.ts';
import type { ExaminedArtifact } from './examined-release.ts';

const NOT_OFFERED = 'DDI clients are not offered this file';
const IMAGE = 'swu';
/** Names of the files that SWUpdate installs; it skips `IMAGE.SWU` and `.swu`. */
const IMAGE_NAME = /.\.swu$/;

/**
 * Returns what keeps DDI clients from the files of a release; nothing where the channel answers none of them,
 * and for files of formats that they do not install.
 */
export function ddiFindings(
  hasDdi: boolean,
  artifacts: readonly ExaminedArtifact[],
): readonly Finding[] {
  if (!hasDdi) return [];
  return artifacts.flatMap((examined, index) => {
    if (!isDdiFormat(examined.format)) return [];
    const { sha1, size, sha256 } = examined.artifact;
    const faults: Readonly<Record<string, string | undefined>> = {
      sha1: sha1 === undefined ? `Is missing: ${NOT_OFFERED}` : undefined,
      size: sizeFault(size),
      url: nameFault(examined),
      sha256: sha256 === undefined ? 'Is missing: Zephyr installs nothing without it' : undefined,
    };
    return Object.entries(faults).flatMap(([field, message]) =>
      message === undefined ? [] : [warning(`artifacts.${index}.${field}`, message)],
    );
  });
}

function sizeFault(size: number | undefined): string | undefined {
  if (size === undefined) return `Is missing: ${NOT_OFFERED}`;
  return size === 0 ? `Is 0: ${NOT_OFFERED}` : undefined;
}

function nameFault({ artifact: { url }, format }: ExaminedArtifact): string | undefined {
  // An artifact without an address is an error by itself.
  if (url === undefined) return undefined;
  const name = ddiFileName(url);
  if (name === undefined) return `Has no plain file name of 1 to 128 characters: ${NOT_OFFERED}`;
  if (format !== IMAGE || IMAGE_NAME.test(name)) return undefined;
  return 'Has a file name that does not end in .swu: SWUpdate installs no other';
}
