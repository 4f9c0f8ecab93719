// Reads the address of an update check: `/u/{appRef}/{channel}/{platform}/{arch}/{version}`.

import { type Failure, fail, invalidField, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { foldArch, foldPlatform } from '../../domain/artifact.ts';
import { isLongerThan } from '../../domain/label.ts';
import { parseVersion } from '../../domain/version.ts';
import type { CheckSubject } from '../../operations/check-update.ts';
import { decodeSegment } from '../router.ts';
import { isStorable } from '../shape/field.ts';

const SEGMENT_NAMES = ['appRef', 'channel', 'platform', 'arch', 'version'] as const;

/** The subject of a check; 404 when the path has another form, 400 naming the segment at fault. */
export function parseCheckPath(url: string): Outcome<CheckSubject> {
  const raw = url.split('/').slice(2);
  if (raw.length !== SEGMENT_NAMES.length || raw.includes('')) return fail('notFound');
  const segments: string[] = [];
  for (const [index, name] of SEGMENT_NAMES.entries()) {
    const segment = decodeSegment(raw[index] ?? '');
    if (segment === undefined) return invalidField(name, 'Malformed percent-encoding');
    segments.push(segment);
  }
  const [app = '', channel = '', platform = '', arch = '', versionText = ''] = segments;
  const refusal = refuseName('platform', platform) ?? refuseName('arch', arch);
  if (refusal !== undefined) return refusal;
  const version = parseVersion(versionText);
  if (version === undefined) return invalidField('version', 'Invalid version');
  const fields = { version, platform: foldPlatform(platform), arch: foldArch(arch) };
  return { app, channel, fields, slot: undefined };
}

/** No artifact can have such a name, and no record could keep it. */
function refuseName(path: string, name: string): Failure | undefined {
  if (isLongerThan(name, LIMIT.artifactNameLengthMax)) {
    return invalidField(path, `Must have at most ${LIMIT.artifactNameLengthMax} characters`);
  }
  return isStorable(name) ? undefined : invalidField(path, 'Must not contain NUL');
}
