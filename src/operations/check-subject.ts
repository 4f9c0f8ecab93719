// What a device asks about, apart from who it is. Devices of a fleet report many versions on a few kinds of
// machine, so a subject is a version and what it has in common with others, its origin.

import type { Catalog } from '../domain/catalog.ts';
import type { Plan } from '../domain/plan.ts';
import { type SharedPart, sharedVersion } from '../domain/shared-part.ts';
import type { Version } from '../domain/version.ts';
import type { CatalogSlot } from './catalog-slot.ts';

/** All but the version. Remembers where the catalog lies, and where in it the plans of such checks are. */
export type CheckOrigin<Planned extends Plan = Plan> = {
  /** A ref or an id. */
  readonly app: string;
  readonly channel: string;
  /** Folded, as the arch is. */
  readonly platform: string;
  readonly arch: string;
  /** What a plan depends on besides catalog and version: with the same key, plans of a channel are shared. */
  readonly planKey: string;
  readonly plan: (catalog: Catalog, version: Version | undefined) => Planned;
  /** Whether it will be asked again, so that its plans are worth keeping. */
  isKept: boolean;
  slot: CatalogSlot | undefined;
  /** Of the slot's plans when its own were put there; 0 is never one. */
  generation: number;
  place: number;
};

/** What all checks of the same address have in common. It finds its plan by a number. */
export type CheckSubject<Planned extends Plan = Plan> = {
  readonly origin: CheckOrigin<Planned>;
  readonly version: Version | undefined;
  /** The version as check-ins have it. */
  readonly reported: SharedPart<string | undefined>;
  /** As in the origin; of this version's plan. */
  generation: number;
  place: number;
};

/** A new subject; `version` is undefined where a device reports none. */
export function checkSubject<Planned extends Plan>(
  origin: CheckOrigin<Planned>,
  version: Version | undefined,
): CheckSubject<Planned> {
  const reported = sharedVersion(version?.canonical);
  return { origin, version, reported, generation: 0, place: 0 };
}

/** A new origin, to be kept unless told otherwise. */
export function checkOrigin<Planned extends Plan>(
  origin: Pick<CheckOrigin<Planned>, 'app' | 'channel' | 'platform' | 'arch' | 'planKey' | 'plan'>,
): CheckOrigin<Planned> {
  const { app, channel, platform, arch, planKey, plan } = origin;
  const memory = { isKept: true, slot: undefined, generation: 0, place: 0 };
  return { app, channel, platform, arch, planKey, plan, ...memory };
}
