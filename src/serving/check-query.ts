// Query of an update check: everything that it asks, apart from the device that asks. Devices of a fleet
// report many versions on few platforms and arches, so that a query is a version in a scope, and all versions
// share the scope. Queries and scopes are cached by address (`http/device`), and remember indexes into the
// slot of their channel, so that a check finds its plan without looking anything up.

import type { Candidate } from '../domain/decision/catalog.ts';
import type { Version } from '../domain/decision/version.ts';
import { type InternedValue, internVersion } from '../domain/fleet/check-in-pack.ts';
import type { Question } from '../updater/updater.ts';
import type { CatalogSlot, PlanQuery, PlanScope } from './catalog-slot.ts';

/** Question to one channel: everything that a check asks except the version. */
export type CheckScope<Item extends Candidate = Candidate> = PlanScope<Item> & {
  /** Ref or id of the app. */
  readonly app: string;
  readonly channel: string;
  /** Slot of the channel, once it was found. Saves a check the look-up by name; `CheckUpdate` sets it. */
  slot: CatalogSlot | undefined;
};

/** Query that all checks of one address have in common. */
export type CheckQuery<Item extends Candidate = Candidate> = PlanQuery<Item> & {
  readonly scope: CheckScope<Item>;
  /** Version in the form that check-ins carry. */
  readonly reported: InternedValue<string | undefined>;
};

/** Builds a query; `version` is undefined where a device reports none. */
export function checkQuery<Item extends Candidate>(
  scope: CheckScope<Item>,
  version: Version | undefined,
): CheckQuery<Item> {
  const reported = internVersion(version?.canonical);
  return { scope, version, reported, generation: 0, planIndex: 0 };
}

/** Builds a scope with `isKept` set; the cache of scopes clears it for a scope that it does not keep. */
export function checkScope<Item extends Candidate>(
  app: string,
  channel: string,
  question: Question<Item>,
): CheckScope<Item> {
  const { platform, arch, version, client, bundle, planKey, candidates } = question;
  const told = {
    ...(version === undefined ? {} : { version }),
    ...(bundle === undefined ? {} : { bundle }),
  };
  const memory = { isKept: true, slot: undefined, generation: 0, plansIndex: 0 };
  return { app, channel, platform, arch, ...told, client, planKey, candidates, ...memory };
}
