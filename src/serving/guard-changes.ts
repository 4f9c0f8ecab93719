// Guards changes of channels: a ledger that is behind what this node, the engine or this node's disk has of a
// channel is recovered before it accepts a change of it. Otherwise other nodes would take the change's
// revision for an old one, and a lost mark of an offered release would limit nothing.

import { isFailure } from '../contract/failure.ts';
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
  const guard = guardBy(catalogs);
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
    stopReleases: (scope, stop, actor) =>
      guard(stop.app, stop.channel, (known) => ledger.stopReleases(scope, stop, actor, known)),
    async resumeStop(scope, stopId, actor) {
      const stop = await ledger.findStop(scope, stopId);
      if (isFailure(stop)) return ledger.resumeStop(scope, stopId, actor);
      return guard(stop.app, stop.channel, (known) =>
        ledger.resumeStop(scope, stopId, actor, known),
      );
    },
    createPlan: (scope, name, definition, actor, reason) =>
      guard(name.app, name.channel, (known) =>
        ledger.createPlan(scope, name, definition, actor, reason, known),
      ),
    dryRunPlan: (scope, name, definition, actor, held) =>
      guard(name.app, name.channel, (known) =>
        ledger.dryRunPlan(scope, name, definition, actor, held, known),
      ),
    drivePlan: (plan, recorded) =>
      guard(plan.app, plan.channel, (known) => ledger.drivePlan(plan, recorded, known)),
    updateChannel: (app, name, change, actor) =>
      guard(app, name, (known) => ledger.updateChannel(app, name, change, actor, known)),
  };
}

/**
 * Runs a change with what is known of the channels that it moves, again where it needs to know more: of one
 * channel, or of all of an app's.
 */
type Guard = <Value>(
  app: string,
  channel: string | undefined,
  change: (known: KnownStates) => Promise<Value>,
) => Promise<Value>;

function guardBy(catalogs: Pick<Catalogs, 'knownState' | 'recover'>): Guard {
  return async (app, channel, change) => {
    // Without a channel, the change itself names all that it moves.
    const moved = new Set(channel === undefined ? [] : [channel]);
    for (let attempt = 1; ; attempt++) {
      try {
        return await change(await knownStates(catalogs, app, [...moved]));
      } catch (error) {
        const isKnown = error instanceof LedgerBehind || error instanceof FollowersNotAsked;
        if (!isKnown) throw error;
        if (attempt === ATTEMPTS_MAX) throw new Unavailable('ledger', error);
        if (error instanceof LedgerBehind) await catalogs.recover(app, error.channel);
        else for (const each of error.channels) moved.add(each);
      }
    }
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
