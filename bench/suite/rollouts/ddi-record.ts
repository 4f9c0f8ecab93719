// Record of what a fleet that speaks DDI has done, by release, and judgement of the actions that it got: none
// for the version that a device tells, and no second one for a release before a bar has ended
// (docs/contract.md 34.18, 34.60).

/** How an installation ends: at once, or by a return to the version of before after its success was told. */
export type DdiFate = 'fine' | 'fails' | 'falls back';

/** Shares of the devices, 0 to 1, that a release fails on, and that fall back after they told a success. */
export type DdiShares = { readonly fails: number; readonly fallsBack: number };

export type ReleaseCounts = ReturnType<typeof noCounts>;

/** End of what a device does not get again: a time after a failure, else when it tells another version. */
type Bar = { readonly endsAt: number; wasTold: boolean };

/** Kinds of answers that are not 200 and are told apart; the others are counted together. */
const REFUSALS_MAX = 20;

function noCounts() {
  return {
    ...{ actions: 0, installs: 0, failures: 0, successes: 0, fellBack: 0 },
    /** Installations of a device that had installed the release before, once its bar had ended. */
    again: 0,
    /** Actions that no device may get. */
    barred: 0,
  };
}

export class DdiRecord {
  polls = 0;
  requests = 0;
  /** Number of devices whose attributes were taken, so that they are on record. */
  known = 0;
  /** Cancellations that were answered. */
  cancelled = 0;
  readonly refusals = new Map<string, number>();
  private readonly releases = new Map<string, ReleaseCounts>();

  of(version: string): ReleaseCounts {
    const counts = this.releases.get(version) ?? noCounts();
    this.releases.set(version, counts);
    return counts;
  }

  refuse(kind: string): void {
    const isNamed = this.refusals.has(kind) || this.refusals.size < REFUSALS_MAX;
    const name = isNamed ? kind : 'others';
    this.refusals.set(name, (this.refusals.get(name) ?? 0) + 1);
  }
}

/** History of one device: the version that it told last, what it installed, and its bars. */
export class DdiHistory {
  private told: string | undefined;
  private readonly installed = new Set<string>();
  private readonly bars = new Map<string, Bar>();

  constructor(private readonly record: DdiRecord) {}

  /** Notes that a device begins to install what it was given. */
  begin(version: string, now: number): void {
    const counts = this.record.of(version);
    const bar = this.bars.get(version);
    counts.installs += 1;
    if (this.told === version || (bar !== undefined && now < bar.endsAt)) counts.barred += 1;
    else if (this.installed.has(version)) counts.again += 1;
    this.installed.add(version);
    this.bars.delete(version);
  }

  /** Notes a closing that was answered; a failure bars until the time at which the first retry may begin. */
  close(version: string, isWell: boolean, retryAt: number): void {
    this.record.of(version)[isWell ? 'successes' : 'failures'] += 1;
    const endsAt = isWell ? Number.POSITIVE_INFINITY : retryAt;
    this.bars.set(version, { endsAt, wasTold: this.told === version });
  }

  /** Notes a version that is told, before the answer: whatever it ends has ended at the latest then. */
  tell(version: string): void {
    for (const [barred, bar] of this.bars) {
      if (barred === version) bar.wasTold = true;
      else if (bar.wasTold) this.bars.delete(barred);
    }
    this.told = version;
  }
}
