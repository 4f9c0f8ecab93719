// Reads the addresses of update checks: `/u/{appRef}/{channel}/{platform}/{arch}/{version}`. Devices of a
// fleet run many versions on a few kinds of machine, so what stands before the version is read once.

import {
  type Failure,
  fail,
  invalidField,
  isFailure,
  type Outcome,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { foldArch, foldPlatform } from '../../domain/artifact.ts';
import { isLongerThan } from '../../domain/label.ts';
import { parseVersion, type Version } from '../../domain/version.ts';
import { checkSubject } from '../../operations/check-subject.ts';
import {
  type UpdateOrigin,
  type UpdateSubject,
  updateOrigin,
} from '../../operations/update-subject.ts';
import { decodeSegment } from '../router.ts';
import { isStorable } from '../shape/field.ts';
import { KnownOrigins } from './known-origins.ts';
import { pathSegments } from './path-segments.ts';

export class CheckPaths {
  private readonly origins = new KnownOrigins(readOrigin);

  /** The subject of a check; 404 when the path has another form, 400 naming a segment at fault. */
  parse(path: string): Outcome<UpdateSubject> {
    const end = path.lastIndexOf('/');
    const versionText = path.slice(end + 1);
    if (versionText === '') return fail('notFound');
    const origin = this.origins.at(path.slice(0, end));
    if (isFailure(origin)) return origin;
    const version = versionOf(versionText);
    return isFailure(version) ? version : checkSubject(origin, version);
  }
}

function readOrigin(path: string): Outcome<UpdateOrigin> {
  const segments = pathSegments(path, ['appRef', 'channel', 'platform', 'arch']);
  if (isFailure(segments)) return segments;
  const [app = '', channel = '', platform = '', arch = ''] = segments;
  const refusal = refuseName('platform', platform) ?? refuseName('arch', arch);
  if (refusal !== undefined) return refusal;
  return updateOrigin(app, channel, foldPlatform(platform), foldArch(arch));
}

function versionOf(segment: string): Outcome<Version> {
  const text = decodeSegment(segment);
  if (text === undefined) return invalidField('version', 'Malformed percent-encoding');
  return parseVersion(text) ?? invalidField('version', 'Invalid version');
}

/** No artifact can have such a name, and no record could keep it. */
function refuseName(path: string, name: string): Failure | undefined {
  if (isLongerThan(name, LIMIT.artifactNameLengthMax)) {
    return invalidField(path, `Must have at most ${LIMIT.artifactNameLengthMax} characters`);
  }
  return isStorable(name) ? undefined : invalidField(path, 'Must not contain NUL');
}
