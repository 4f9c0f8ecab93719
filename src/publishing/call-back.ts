// Releases that a code host calls back: it deletes or unpublishes them, makes a release on `stable` a
// pre-release again, or gives it another tag.

import { isFailure, type LostRight, type Outcome } from '../contract/failure.ts';
import { type CallBack, type CalledBack, isWithdrawal } from '../domain/release/call-back.ts';
import type { Ledger } from '../store/ledger.ts';
import type { SpreadChange } from './propagate-change.ts';
import { ignored, type Received } from './received.ts';
import { integrationOf, type OpenWebhook } from './webhooks.ts';

export type Receiving = {
  readonly ledger: Ledger;
  readonly spread: SpreadChange;
  readonly webhook: OpenWebhook;
};

/** Call-back of a version on some channels. */
export type Calling = CallBack & {
  readonly canonicalVersion: string;
  readonly channels: readonly string[];
};

/**
 * Pauses the release on these channels, as far as this webhook brought it there; undefined when nothing is to
 * be said of that. What is no withdrawal says only what it has paused or kept, because its event may announce
 * something as well.
 */
export async function callBack(
  { ledger, spread, webhook }: Receiving,
  { canonicalVersion, channels, ...call }: Calling,
): Promise<Outcome<Received, LostRight> | undefined> {
  const reasons: string[] = [];
  for (const channel of channels) {
    const name = { app: webhook.appId, channel, canonicalVersion };
    const called = await ledger.callBackRelease(
      webhook.organizationId,
      name,
      { ...call, reason: `${call.way} by the code host` },
      integrationOf(webhook),
    );
    if (isFailure(called)) {
      const { failure } = called;
      if (failure === 'unknownChannel') continue;
      return { ...called, failure };
    }
    await spread(called.changed, webhook.requestId);
    const { value } = called;
    if (value === undefined) continue;
    const isSaid = isWithdrawal(call.way) || value === 'paused' || value === 'unserved';
    const said = isSaid ? SAID[value](channel, call.way) : undefined;
    if (said !== undefined) reasons.push(said);
  }
  return reasons.length === 0 ? undefined : ignored(reasons.join('. '));
}

const SAID: Readonly<Record<CalledBack, (channel: string, way: string) => string | undefined>> = {
  paused: (channel, way) => `The release was ${way}: it is paused on ${channel}`,
  unserved: (channel, way) => `The release was ${way}, and is not served on ${channel}`,
  older: (channel) => `A later event was taken on ${channel}: nothing changed`,
  another: (channel) => `The release on ${channel} is another one: nothing changed`,
  'not-announced': () => undefined,
};
