// What a device asks about, apart from who it is.

import type { Catalog } from '../domain/catalog.ts';
import type { Plan } from '../domain/plan.ts';
import type { RequestFields } from '../domain/targeting.ts';
import type { CatalogSlot } from './catalog-slot.ts';

/**
 * What all checks of the same address have in common. The caller may keep it between checks: it remembers
 * where the catalog lies, and which of the plans there is its own.
 */
export type CheckSubject<Planned extends Plan = Plan> = {
  readonly app: string;
  readonly channel: string;
  readonly fields: RequestFields;
  /** The plan for this address on a catalog. */
  readonly plan: (catalog: Catalog) => Planned;
  /** Whether it will be asked again, so that its plan is worth keeping. */
  isKept: boolean;
  slot: CatalogSlot | undefined;
  /** Of the slot's plans when its own was put there; 0 is never one. */
  generation: number;
  place: number;
};

/** A new subject: `fields` are folded, `app` is a ref or an id. */
export function checkSubject<Planned extends Plan>(
  app: string,
  channel: string,
  fields: RequestFields,
  plan: (catalog: Catalog) => Planned,
): CheckSubject<Planned> {
  return { app, channel, fields, plan, isKept: true, slot: undefined, generation: 0, place: 0 };
}
