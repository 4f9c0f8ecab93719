// The question before many devices are offered a release at once: an offer cannot be taken back.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { type Reaching, reachedBy } from '../../contract/rehearsed.ts';
import { countText } from '../format/figure-text.ts';
import type { Asked } from '../hook/use-asked.ts';

/** Number of devices above which an act that offers a release is confirmed. */
const MANY_DEVICES = 1000;

export type ConfirmedReach = {
  /** Why the act cannot be sent yet; undefined when it can. */
  readonly obstacle: string | undefined;
  /** Box to tick; null where nothing is asked. */
  readonly question: ComponentChildren;
};

/**
 * Asks for a confirmation when the act that was rehearsed reaches more than half of the devices or more than
 * 1,000, or when its effect is not known. The confirmation is for that number: another one is asked again.
 */
export function useConfirmedReach(rehearsal: Asked<Reaching>): ConfirmedReach {
  const [sureOf, setSureOf] = useState<string>();
  const { said, error, isRefused = false } = rehearsal;
  if (isRefused) return { obstacle: error, question: null };
  if (said === undefined && error === undefined) {
    return { obstacle: 'Wait until its effect is shown', question: null };
  }
  if (said !== undefined && !reachesMany(said)) return { obstacle: undefined, question: null };
  const text =
    said === undefined
      ? 'I understand: how many devices are offered it is not known, and this cannot be taken back.'
      : `I understand: ${countText(reachedBy(said), 'more device is', 'more devices are')} offered ` +
        'it now, and this cannot be taken back.';
  const isSure = sureOf === text;
  return {
    obstacle: isSure ? undefined : 'Confirm how many devices are offered it',
    question: (
      <label class="sure">
        <input
          type="checkbox"
          checked={isSure}
          onChange={(event) => setSureOf(event.currentTarget.checked ? text : undefined)}
        />{' '}
        {text}
      </label>
    ),
  };
}

/** Returns whether a change reaches more than half of the channel's devices, or more than 1,000. */
function reachesMany(change: Reaching): boolean {
  const reached = reachedBy(change);
  return reached > MANY_DEVICES || reached * 2 > change.effect.devices;
}
