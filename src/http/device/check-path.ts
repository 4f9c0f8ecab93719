// Reads the address of an update check: `/u/{appRef}/{channel}/{platform}/{arch}/{version}`.

import { type Failure, invalidField, isFailure, type Outcome } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { foldArch, foldPlatform } from '../../domain/artifact.ts';
import { isLongerThan } from '../../domain/label.ts';
import { parseVersion } from '../../domain/version.ts';
import { type UpdateSubject, updateSubject } from '../../operations/update-subject.ts';
import { isStorable } from '../shape/field.ts';
import { pathSegments } from './path-segments.ts';

/** The subject of a check; 404 when the path has another form, 400 naming the segment at fault. */
export function parseCheckPath(url: string): Outcome<UpdateSubject> {
  const segments = pathSegments(url, ['appRef', 'channel', 'platform', 'arch', 'version']);
  if (isFailure(segments)) return segments;
  const [app = '', channel = '', platform = '', arch = '', versionText = ''] = segments;
  const refusal = refuseName('platform', platform) ?? refuseName('arch', arch);
  if (refusal !== undefined) return refusal;
  const version = parseVersion(versionText);
  if (version === undefined) return invalidField('version', 'Invalid version');
  const fields = { version, platform: foldPlatform(platform), arch: foldArch(arch) };
  return updateSubject(app, channel, fields);
}

/** No artifact can have such a name, and no record could keep it. */
function refuseName(path: string, name: string): Failure | undefined {
  if (isLongerThan(name, LIMIT.artifactNameLengthMax)) {
    return invalidField(path, `Must have at most ${LIMIT.artifactNameLengthMax} characters`);
  }
  return isStorable(name) ? undefined : invalidField(path, 'Must not contain NUL');
}
