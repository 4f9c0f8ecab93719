// Guards changes of channels: a ledger that is behind what this node, the engine or this node's disk has of a
// channel is recovered before it accepts a change of it. Otherwise other nodes would take the change's
// revision for an old one, and a lost mark of an offered release would limit nothing.

import { Unavailable } from '../contract/unavailable.ts';
import type { Ledger } from '../store/ledger.ts';
import { FollowersNotAsked, type KnownStates, LedgerBehind } from '../store/ledger-terms.ts';
import type { Catalogs } from './catalogs.ts';

/**
 * Maximum number of attempts. The first finds the channel's followers, the second recovers the ledger; the
 * rest is for races.
 */
const ATTEMPTS_MAX = 5;

/** Returns the ledger with its changes of channels guarded. */
export function guardChanges(
  ledger: Ledger,
  catalogs: Pick<Catalogs, 'knownState' | 'recover'>,
): Ledger {
  async function guard<Value>(
    app: string,
    channel: string,
    change: (known: KnownStates) => Promise<Value>,
  ): Promise<Value> {
    const moved = new Set([channel]);
    for (let attempt = 1; ; attempt++) {
      try {
        return await change(await knownStates(catalogs, app, [...moved]));
      } catch (error) {
        const isKnown = error instanceof LedgerBehind || error instanceof FollowersNotAsked;
        if (!isKnown) throw error;
        if (attempt === ATTEMPTS_MAX) throw new Unavailable('ledger', error);
        if (error instanceof LedgerBehind) await catalogs.recover(app, error.channel);
        else for (const follower of error.channels) moved.add(follower);
      }
    }
  }
  return {
    ...ledger,
    publishRelease: (scope, release, actor, call) =>
      guard(release.app, release.channel, (known) =>
        ledger.publishRelease(scope, release, actor, call, known),
      ),
    promoteRelease: (scope, promotion, actor, call) =>
      guard(promotion.app, promotion.to, (known) =>
        ledger.promoteRelease(scope, promotion, actor, call, known),
      ),
    announceRelease: (organizationId, announced, actor) =>
      guard(announced.name.app, announced.name.channel, (known) =>
        ledger.announceRelease(organizationId, announced, actor, known),
      ),
    retractRelease: (organizationId, name, call, actor) =>
      guard(name.app, name.channel, (known) =>
        ledger.retractRelease(organizationId, name, call, actor, known),
      ),
    controlServing: (scope, name, transition, actor, reason) =>
      guard(name.app, name.channel, (known) =>
        ledger.controlServing(scope, name, transition, actor, reason, known),
      ),
    dryRunPublish: (scope, release, actor, held) =>
      guard(release.app, release.channel, (known) =>
        ledger.dryRunPublish(scope, release, actor, held, known),
      ),
    dryRunPromotion: (scope, promotion, actor, held) =>
      guard(promotion.app, promotion.to, (known) =>
        ledger.dryRunPromotion(scope, promotion, actor, held, known),
      ),
    dryRunServing: (scope, name, transition, actor, held) =>
      guard(name.app, name.channel, (known) =>
        ledger.dryRunServing(scope, name, transition, actor, held, known),
      ),
    withdrawRelease: (scope, name, actor, reason) =>
      guard(name.app, name.channel, (known) =>
        ledger.withdrawRelease(scope, name, actor, reason, known),
      ),
    createPlan: (scope, name, definition, actor, reason) =>
      guard(name.app, name.channel, (known) =>
        ledger.createPlan(scope, name, definition, actor, reason, known),
      ),
    dryRunPlan: (scope, name, definition, actor, held) =>
      guard(name.app, name.channel, (known) =>
        ledger.dryRunPlan(scope, name, definition, actor, held, known),
      ),
    drivePlan: (plan, seenUpToMs) =>
      guard(plan.app, plan.channel, (known) => ledger.drivePlan(plan, seenUpToMs, known)),
    updateChannel: (app, name, change, actor) =>
      guard(app, name, (known) => ledger.updateChannel(app, name, change, actor, known)),
  };
}

async function knownStates(
  catalogs: Pick<Catalogs, 'knownState'>,
  app: string,
  channels: readonly string[],
): Promise<KnownStates> {
  const states = await Promise.all(
    channels.map(async (channel) => [channel, await catalogs.knownState(app, channel)] as const),
  );
  return new Map(states);
}
