// Origins of checks by the part of an address that names them: what stands there is read once.

import { isFailure, type Outcome } from '../../contract/failure.ts';
import type { Plan } from '../../domain/plan.ts';
import type { CheckOrigin } from '../../operations/check-subject.ts';
import { RecentMap } from './recent-map.ts';

/** Strangers choose them. */
const ORIGINS_MAX = 10_000;

export class KnownOrigins<Planned extends Plan> {
  private readonly known = new RecentMap<CheckOrigin<Planned>>(ORIGINS_MAX);
  private readonly read: (path: string) => Outcome<CheckOrigin<Planned>>;

  /** `read` is what a part of an address means. */
  constructor(read: (path: string) => Outcome<CheckOrigin<Planned>>) {
    this.read = read;
  }

  /** The origin of a part of an address, or what is wrong with it. */
  at(path: string): Outcome<CheckOrigin<Planned>> {
    const known = this.known.get(path);
    if (known !== undefined) return known;
    const origin = this.read(path);
    if (!isFailure(origin)) origin.isKept = this.known.keep(path, origin);
    return origin;
  }
}
