// Words for the actions of a device that speaks DDI: what it is to install, how that ended, and why it does
// not get a release again.

import type { ShownActions } from '../contract/console-fleet.ts';
import { wordFor } from '../contract/text.ts';
import { countWords } from './name.ts';

type ShownAction = NonNullable<ShownActions['action']>;
type ShownBar = ShownActions['barred'][number];

const STATES: Readonly<Record<ShownAction['state'], string>> = {
  open: 'It is to install this, and has not fetched it yet.',
  fetched: 'It has fetched this, and may be installing it.',
  withdrawing: 'It had fetched this, and is asked to cancel it.',
  succeeded: 'It has installed this.',
  failed: 'It failed to install this.',
  withdrawn: 'This was withdrawn before it was installed.',
};

/** Returns what became of an action, even of a state that this page does not know. */
export function actionText({ state, reason }: ShownAction): string {
  const sentence = wordFor(STATES, state);
  return reason === null ? sentence : `${sentence.replace(/\.$/, '')}: “${reason}”.`;
}

/** Returns why a device does not get a release again; the time that ends that, if any, follows. */
export function barText({ result, until }: ShownBar): string {
  if (result === 'succeeded') return 'It has closed this as installed, and does not get it again.';
  return until === null
    ? 'It failed to install this, and does not get it again.'
    : 'It failed to install this, and gets it again';
}

/** Returns how many bars from a release have ended. */
export function retriedText(bars: number, version: string): string {
  if (bars === 0) return `No device was barred from ${version}.`;
  return `${countWords(bars, 'device')} can have ${version} again.`;
}
