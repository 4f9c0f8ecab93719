// DDI, the protocol of hawkBit's devices (docs/contract.md 34): how they authenticate to an app, and the
// settings of a channel that answers them.

import type { Answer } from './answer-shape.ts';
import type { DDI_AUTHS } from './choice.ts';

/** How devices authenticate: by a token, or not at all. */
export type DdiAuth = (typeof DDI_AUTHS)[number];

/** Settings of a channel that answers DDI. */
export type DdiSettings = Answer<'DdiSettings'>;

/** Settings of a channel on which DDI is turned on, where the call leaves them out. */
export const DDI_DEFAULTS: DdiSettings = {
  pollSeconds: 300,
  platform: 'linux',
  arch: null,
  keys: { platform: 'platform', arch: 'arch', version: 'version', bundle: 'bundle' },
  unknownVersion: 'wait',
  retries: 2,
  retryAfterMinutes: 60,
  askDays: 7,
};
