// Served state of channels: their order, the standing of releases in words, and sentences for obstacles to a
// change. The rules are those of the domain, which the service applies, too.

import { isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Targeting } from '../../contract/resource.ts';
import type { ChannelStanding, ReleaseStanding, ServedRelease } from '../../contract/standing.ts';
import {
  applyServingChange,
  obstacleToTargets,
  type Serving,
} from '../../domain/release/serving-change.ts';
import { percentText } from './figure-text.ts';

const STABLE = 'stable';
const NATURAL = new Intl.Collator('en', { numeric: true });

/** Compares two channels: `stable` first, then by name; `channel-9` comes before `channel-19`. */
export function channelOrder(one: string, other: string): number {
  if (one === other) return 0;
  if (one === STABLE) return -1;
  return other === STABLE ? 1 : NATURAL.compare(one, other);
}

/** Returns the names of an app's channels in the order of `channelOrder`. */
export function channelNames(app: {
  readonly channels: readonly { readonly name: string }[];
}): readonly string[] {
  return app.channels.map(({ name }) => name).toSorted(channelOrder);
}

/** Maximum number of tabs for channels. */
const TABS_MAX = 6;

/** Returns the channels with a tab: the first ones and the open one. */
export function channelTabs(names: readonly string[], open: string | undefined): readonly string[] {
  if (names.length <= TABS_MAX) return names;
  const first = names.slice(0, TABS_MAX - 1);
  return open === undefined || first.includes(open) || !names.includes(open)
    ? first
    : [...first, open];
}

type Standing = {
  readonly rolloutPct: number;
  readonly standing: ReleaseStanding;
};

/** Returns the percentage of the matching devices that are offered a release now. */
export function servedShare({ rolloutPct, standing: { state } }: Standing): number {
  return state === 'serving' || state === 'rolling out' ? rolloutPct : 0;
}

/** Describes which devices are offered a release now. */
export function standingText({ rolloutPct, standing }: Standing): string {
  const { on, supersededBy, wayDownFor } = standing;
  const where = on.length === 0 ? '' : ` on ${namesText(on)}`;
  const elsewhere =
    on.length === 0 || supersededBy === null ? '' : ` Other devices are offered ${supersededBy}.`;
  const down =
    wayDownFor.length === 0
      ? ''
      : ` Devices on ${namesText(wayDownFor)}, which was rolled back, are taken down to it.`;
  switch (standing.state) {
    case 'serving':
      return `Offered to every matching device${where}.${elsewhere}`;
    case 'rolling out':
      return `Offered to ${percentText(rolloutPct)} of the matching devices${where}.${elsewhere}`;
    case 'for nobody yet':
      return rolloutPct === 0
        ? 'Published, but for nobody yet: raise the rollout to begin.'
        : 'Published, but for nobody yet: no device that could install it matches.';
    case 'superseded':
      return `Not offered: ${supersededBy} is newer.${down}`;
    case 'without files':
      return 'Not offered: it has no file that a device could install.';
    case 'stopped by its guard':
      return `Stopped by its guard at ${percentText(rolloutPct)}: nobody is offered it until it is resumed.`;
    case 'paused':
      return `Paused at ${percentText(rolloutPct)}: nobody is offered it until it is resumed.`;
    case 'deprecated':
      return (
        'Deprecated: nobody is offered it. A device on it that is offered an update is told that ' +
        'the update is required.'
      );
    case 'rolled back':
      return (
        `Rolled back at ${percentText(rolloutPct)}: nobody is offered it, and devices on it are ` +
        'sent down.'
      );
  }
}

/** Returns what a channel serves: `3.1.0 on linux, 3.0.0`; undefined if it serves nothing. */
export function servingText({ serving }: ChannelStanding, channel: string): string | undefined {
  if (serving.length === 0) return undefined;
  return serving.map((each) => servedText(each, channel)).join(', ');
}

function servedText(served: ServedRelease, channel: string): string {
  const { version, on, isTargeted } = served;
  const from = served.channel === channel ? '' : ` (from ${served.channel})`;
  const where = on.length === 0 ? '' : ` on ${namesText(on)}`;
  return `${version}${from}${where}${isTargeted ? ' for some' : ''}`;
}

/** Maximum number of names in a sentence. */
const NAMES_MAX = 4;

function namesText(names: readonly string[]): string {
  const shown = names.slice(0, NAMES_MAX);
  const rest = names.length - shown.length;
  return `${shown.join(', ')}${rest > 0 ? ` and ${rest} more` : ''}`;
}

export const servingObstacle = { toRollout, toTargets };

/** Returns why the rollout cannot be set to this percentage; undefined if it can. */
function toRollout(release: Serving, percent: number): string | undefined {
  if (!Number.isInteger(percent) || percent < 0 || percent > LIMIT.rolloutPctMax) {
    return `A whole number from 0 to ${LIMIT.rolloutPctMax}.`;
  }
  if (release.status === 'rolled_back')
    return 'This release was rolled back: nobody gets it again.';
  if (percent === release.rolloutPct) return `It is at ${percentText(percent)} already.`;
  if (isFailure(applyServingChange(release, { rollout: percent }))) {
    return (
      `Devices were already offered this release at ${percentText(release.rolloutPct)}, so the share ` +
      'cannot go down. ' +
      'Pause it to stop offering it, or roll it back to pull it.'
    );
  }
  return undefined;
}

/** Returns why the targeting cannot change to this; undefined if it can. */
function toTargets(release: Serving, targets: Targeting | null): string | undefined {
  const obstacle = obstacleToTargets(release, targets);
  return obstacle && TARGETS_TEXTS[obstacle];
}

const TARGETS_TEXTS = {
  expressions:
    'Devices were already offered this release: its conditions are fixed. Publish a new one.',
  labels:
    'Devices were already offered this release: labels can only reach more devices, never fewer.',
} as const;
