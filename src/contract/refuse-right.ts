// Refusal of what an API key was not made for.

import { type Failure, fail } from './failure.ts';
import type { KeyRight } from './resource.ts';

const PHRASES: Readonly<Record<KeyRight, string>> = {
  read: 'read',
  publish: 'publish',
  control: 'change how releases are served',
  fleet: 'report or plan for devices',
};

/** Refusal of a key that lacks the right which its call needs; undefined when it lacks none. */
export function refuseRight(lacking: KeyRight | undefined): Failure<'keyMayNot'> | undefined {
  return lacking && fail('keyMayNot', `This key may not ${PHRASES[lacking]}`);
}
