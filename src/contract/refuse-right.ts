// Refusal of a call that an API key has no right for.

import { type Failure, fail } from './failure.ts';
import type { KeyRight } from './resource.ts';

const PHRASES: Readonly<Record<KeyRight, string>> = {
  read: 'read',
  publish: 'publish',
  control: 'change how releases are served',
  fleet: 'report or plan for devices',
};

/** Returns the refusal of a key without the needed right; undefined if it has the right. */
export function refuseRight(lacking: KeyRight | undefined): Failure<'keyMayNot'> | undefined {
  return lacking && fail('keyMayNot', `This key may not ${PHRASES[lacking]}`);
}
