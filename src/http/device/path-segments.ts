// The named segments of a device address, behind its one-letter prefix.

import { fail, invalidField, type Outcome } from '../../contract/failure.ts';
import { decodeSegment } from '../router.ts';

/**
 * The decoded segments of `/x/a/b/…`, one per name; 404 when the path has another number of them or an empty
 * one, 400 naming the segment whose percent-encoding is malformed.
 */
export function pathSegments(path: string, names: readonly string[]): Outcome<readonly string[]> {
  const raw = path.split('/').slice(2);
  if (raw.length !== names.length || raw.includes('')) return fail('notFound');
  if (!path.includes('%')) return raw;
  const segments: string[] = [];
  for (const [index, name] of names.entries()) {
    const segment = decodeSegment(raw[index] ?? '');
    if (segment === undefined) return invalidField(name, 'Malformed percent-encoding');
    segments.push(segment);
  }
  return segments;
}
