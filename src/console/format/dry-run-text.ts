// Effect of a change of serving in sentences, and the sentence that confirms an offer to many devices.

import {
  type Reaching,
  type RunnerEffect,
  reachedBy,
  type ServingDryRunAnswer,
} from '../../contract/dry-run.ts';
import { stayText } from './decision-text.ts';
import { countText, numberText, percentText } from './figure-text.ts';

/** Sentence with an emphasized part; `what` is empty if nothing is emphasized. */
export type StressedText = {
  readonly before: string;
  readonly what: string;
  readonly after: string;
};

/** Describes which devices a change offers another release, or none. */
export function offersText({ release, effect }: ServingDryRunAnswer): StressedText {
  const { devices, isEstimate, lose, moves } = effect;
  const about = isEstimate ? '≈ ' : '';
  const reached = reachedBy({ release, effect });
  const others = moves.reduce((sum, move) => sum + move.devices, 0) - reached - lose;
  const parts = [
    ...(reached > 0
      ? [`${about}${countText(reached, 'more device')} will be offered ${release.version}`]
      : []),
    ...(others > 0
      ? [`${about}${countText(others, 'device')} will be offered another release`]
      : []),
    ...(lose > 0
      ? [`${about}${countText(lose, 'device')} will no longer be offered an update`]
      : []),
  ];
  if (parts.length === 0) {
    const seen = `${countText(devices, 'device')} seen in the last 30 days`;
    return plain(`No device is waiting for it: nothing changes for the ${seen}.`);
  }
  return {
    before: reached > 0 ? `At ${percentText(release.rolloutPct)}, ` : '',
    what: parts.join(', '),
    after: `, of ${numberText(devices)} seen in the last 30 days.`,
  };
}

/** Devices that run a release, and what they get: `from`, the text, and the release that they go to. */
type Way = { readonly from: string; readonly text: string; readonly to: string | null };

/** Maximum number of rows for devices that leave a release; the rest is summed. */
const ROWS_MAX = 8;

/** Describes where the devices go that run a release, by platform; `rest` sums the rows that are left out. */
export function waysText({ release, effect, runners }: ServingDryRunAnswer): StressedText & {
  readonly rows: readonly Way[];
  readonly rest: string | null;
} {
  const about = effect.isEstimate ? '≈ ' : '';
  if (runners.length === 0) {
    const none = `No device that was seen in the last 30 days runs ${release.version}.`;
    return { ...plain(none), rows: [], rest: null };
  }
  const staying = sum(runners.filter(({ to }) => to === null));
  const going = `${about}${numberText(sum(runners) - staying)} go to another release`;
  const left = sum(runners.slice(ROWS_MAX));
  return {
    before: about,
    what: countText(sum(runners), 'device runs', 'devices run'),
    after: ` it. ${going}, ${about}${numberText(staying)} stay.`,
    rows: runners.slice(0, ROWS_MAX).map(({ platform, arch, devices, to, reason }) => {
      const end = to === null ? `stay: ${stayText(reason)}` : '→ ';
      const from = arch === null ? platform : `${platform}/${arch}`;
      return { from, text: `: ${about}${numberText(devices)} ${end}`, to };
    }),
    rest: left === 0 ? null : `and ${about}${countText(left, 'device')} more`,
  };
}

function plain(before: string): StressedText {
  return { before, what: '', after: '' };
}

function sum(rows: readonly RunnerEffect[]): number {
  return rows.reduce((total, { devices }) => total + devices, 0);
}

/** Number of devices above which an offer needs a confirmation. */
const MANY_DEVICES = 1000;

/**
 * Returns what a person confirms before a change; undefined for one that reaches at most half of the
 * channel's devices and at most 1,000. The effect of an undefined change is not known.
 */
export function sureText(change: Reaching | undefined): string | undefined {
  if (change === undefined) {
    return 'I understand: how many devices are offered it is not known, and this cannot be taken back.';
  }
  const reached = reachedBy(change);
  if (reached <= MANY_DEVICES && reached * 2 <= change.effect.devices) return undefined;
  return (
    `I understand: ${countText(reached, 'more device is', 'more devices are')} offered it now, and ` +
    'this cannot be taken back.'
  );
}
