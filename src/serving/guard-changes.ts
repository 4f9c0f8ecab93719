// Guards changes of channels: if the ledger is behind a copy of the channel in this process, in the engine or
// on this node's disk, it is recovered before it accepts a change. Otherwise other nodes would take the
// change's revision for an old one, and an offered release whose mark is lost could be narrowed.

import { Unavailable } from '../contract/store-fault.ts';
import type { Ledger } from '../store/ledger.ts';
import {
  FollowersNotAsked,
  type KnownStates,
  LedgerBehind,
  type RunChange,
} from '../store/ledger-terms.ts';
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
  const guarded = <Input extends object, Value>(
    change: RunChange<Input, Value>,
  ): RunChange<Input, Value> => {
    return (call) => guard(placeIn(call.input), (known) => change({ ...call, known }));
  };
  return {
    ...ledger,
    publishRelease: guarded(ledger.publishRelease),
    promoteRelease: guarded(ledger.promoteRelease),
    withdrawRelease: guarded(ledger.withdrawRelease),
    controlServing: guarded(ledger.controlServing),
    retryRelease: guarded(ledger.retryRelease),
    createPlan: guarded(ledger.createPlan),
    stopReleases: guarded(ledger.stopReleases),
    resumeStop: guarded(ledger.resumeStop),
    updateChannel: guarded(ledger.updateChannel),
    updateApp: guarded(ledger.updateApp),
    announceRelease: (organizationId, announced, actor) =>
      guard(announced.name, (known) =>
        ledger.announceRelease(organizationId, announced, actor, known),
      ),
    retractRelease: (organizationId, name, call, actor) =>
      guard(name, (known) => ledger.retractRelease(organizationId, name, call, actor, known)),
    drivePlan: (plan, recorded) => guard(plan, (known) => ledger.drivePlan(plan, recorded, known)),
  };
}

/** App and channel that a change names; the change itself finds the other channels that it affects. */
type Place = { readonly app?: string; readonly channel?: string | undefined };

function placeIn(input: Place & { readonly to?: string }): Place {
  const { app, channel, to } = input;
  return { ...(app !== undefined && { app }), channel: channel ?? to };
}

/** Runs a change with the known states of the channels that it affects; again if it needs those of more. */
type Guard = <Value>(
  place: Place,
  change: (known: KnownStates) => Promise<Value>,
) => Promise<Value>;

function guardBy(catalogs: Pick<Catalogs, 'knownState' | 'recover'>): Guard {
  return async ({ app, channel }, change) => {
    const moved = new Set(channel === undefined ? [] : [channel]);
    let named = app;
    for (let attempt = 1; ; attempt++) {
      try {
        return await change(await knownStates(catalogs, named, [...moved]));
      } catch (error) {
        const isKnown = error instanceof LedgerBehind || error instanceof FollowersNotAsked;
        if (!isKnown) throw error;
        if (attempt === ATTEMPTS_MAX) throw new Unavailable('ledger', error);
        if (error instanceof FollowersNotAsked) {
          named ??= error.app;
          for (const each of error.channels) moved.add(each);
        } else if (named !== undefined) await catalogs.recover(named, error.channel);
      }
    }
  };
}

async function knownStates(
  catalogs: Pick<Catalogs, 'knownState'>,
  app: string | undefined,
  channels: readonly string[],
): Promise<KnownStates> {
  if (app === undefined) return new Map();
  const states = await Promise.all(
    channels.map(async (channel) => [channel, await catalogs.knownState(app, channel)] as const),
  );
  return new Map(states);
}
