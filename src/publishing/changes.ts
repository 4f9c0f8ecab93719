// Changes that publishers make to what channels serve. Each is one ledger call, which makes the change, tries
// it, or carries out an approval. A change is propagated before the answer. The effect of one that was tried,
// or that waits for an approval, is measured after its transaction, so that no lock is held meanwhile.

import type { Principal } from '../access/api-keys.ts';
import { type Effect, type Finding, type RunnerEffect, warning } from '../contract/dry-run.ts';
import { type Failure, isFailure, type Outcome } from '../contract/failure.ts';
import type { AskedOperation, Release } from '../contract/resource.ts';
import type { Catalog } from '../domain/decision/catalog.ts';
import type { SnapshotRelease } from '../domain/decision/serving-snapshot.ts';
import { servedFindings } from '../domain/release/finding/findings.ts';
import type { Catalogs } from '../serving/catalogs.ts';
import type { EffectMeter, MeasuredEffect } from '../serving/dry-run-effect.ts';
import type {
  ApprovingCall,
  ChangeCall,
  HeldSnapshot,
  RepeatableCall,
  RunChange,
  Seen,
  Waiting,
} from '../store/ledger-terms.ts';
import type { Approvals } from './approvals.ts';
import type { PropagateChange } from './propagate-change.ts';
import { type LoadedChannels, standingFindings } from './standing-findings.ts';

export type ChangesDependencies = {
  readonly catalogs: Pick<Catalogs, 'peek'> & LoadedChannels;
  readonly effects: EffectMeter;
  readonly propagate: PropagateChange;
  readonly approvals: Pick<Approvals, 'storeEffect'>;
};

/** Options of a call of `make`. */
export type Calling = {
  /** Operation and body to store if the call needs an approval; undefined for a change that never does. */
  readonly asks?: { readonly operation: AskedOperation; readonly body: object } | undefined;
  /** Approved request whose change this call carries out. */
  readonly approves?: ApprovingCall | undefined;
  readonly reason?: string | undefined;
  readonly repeat?: RepeatableCall | undefined;
  /** Whether to look for findings in the release. */
  readonly isFinding?: boolean | undefined;
};

/** A change that was made. */
export type Made<Value> = {
  readonly value: Value;
  /** Whether an earlier call with the same idempotency key made it. */
  readonly isRepeated: boolean;
  /** Findings in the release; undefined if the caller did not ask for them, or an earlier call made it. */
  readonly findings?: readonly Finding[];
};

/** Result of a dry run: a change that was rolled back, and what it would do. */
export type Tried<Value> = {
  readonly value: Value;
  readonly seen: Seen;
  readonly findings: readonly Finding[];
  readonly effect: Effect;
  readonly runners: readonly RunnerEffect[];
};

/** Input of a change, as far as it is read here: its app, which the end of a stop does not name. */
type Named = { readonly app?: string };

export class Changes {
  constructor(private readonly dependencies: ChangesDependencies) {}

  /** Makes a change; resolves once this node serves it. One that needs an approval is stored as a request. */
  async make<Input extends Named, Value>(
    change: RunChange<Input, Value>,
    { scope, actor }: Principal,
    input: Input,
    { asks, approves, reason, repeat, isFinding }: Calling,
  ): Promise<Outcome<Made<Value>>> {
    const called: ChangeCall<Input> = {
      ...{ scope, input, actor, reason, repeat },
      mode: approves ? { approves } : asks ? { asks: { ...asks, reason } } : 'do',
      ...{ isSeen: isFinding, held: this.heldBy(input) },
    };
    const ran = await change(called);
    if (isFailure(ran)) return ran.approval ? this.complete(ran, change, called) : ran;
    const { value, changed, isRepeated, seen } = ran;
    await this.dependencies.propagate(changed, actor.requestId);
    return { value, isRepeated, ...(seen && { findings: findingsOf(seen) }) };
  }

  /** Dry run: makes a change in a transaction, returns what it does, and rolls it back. */
  async try<Input extends Named, Value>(
    change: RunChange<Input, Value>,
    { scope, actor }: Principal,
    input: Input,
  ): Promise<Outcome<Tried<Value>>> {
    const ran = await change({ scope, input, actor, mode: 'try', held: this.heldBy(input) });
    if (isFailure(ran)) return ran;
    const { value, seen } = ran;
    if (seen === undefined) throw new Error('This change has no dry run');
    const measured = await this.measure(seen, input);
    if (isFailure(measured)) return measured;
    return { value, seen, findings: findingsOf(seen), ...measured };
  }

  /** Returns the findings in a release that was just published. */
  findStanding(release: Release): Promise<readonly Finding[]> {
    return standingFindings(this.dependencies.catalogs, release);
  }

  /** Adds to the refusal of a change that waits its effect, findings, and the page on which people decide. */
  private async complete<Input extends Named, Value>(
    { seen, ...refusal }: Waiting,
    change: RunChange<Input, Value>,
    call: ChangeCall<Input>,
  ): Promise<Failure> {
    const { approval } = refusal;
    if (approval === undefined) return refusal;
    const measured = seen && (await this.measure(seen, call.input));
    // Measuring fails if too many effects are being measured: then the request has none.
    const effect = isFailure(measured) ? undefined : measured?.effect;
    const shown = await this.dependencies.approvals.storeEffect(approval, effect);
    if (call.isSeen !== true) return { ...refusal, approval: shown };
    const found = seen ?? (await seenAgain(change, call));
    return { ...refusal, approval: shown, ...(found && { findings: findingsOf(found) }) };
  }

  private measure(seen: Seen, input: Named): Promise<Outcome<MeasuredEffect>> {
    const held = (channel: string) => this.heldOf(input, channel);
    const releaseId = changedIn(seen).id;
    return this.dependencies.effects.measure({ places: seen.places, held, releaseId });
  }

  private heldBy(input: Named): HeldSnapshot {
    return (channel) => this.heldOf(input, channel)?.snapshot;
  }

  private heldOf({ app }: Named, channel: string): Catalog | undefined {
    return app === undefined ? undefined : this.dependencies.catalogs.peek(app, channel)?.catalog;
  }
}

/** Dry-runs a repeated call, whose answer was stored without `seen`; undefined if it would be refused now. */
async function seenAgain<Input, Value>(
  change: RunChange<Input, Value>,
  call: ChangeCall<Input>,
): Promise<Seen | undefined> {
  const tried = await change({ ...call, mode: 'try', repeat: undefined });
  return isFailure(tried) ? undefined : tried.seen;
}

/** Returns the findings in the changed release, or in its rollback; for a plan, only its `concerns`. */
function findingsOf(seen: Seen): readonly Finding[] {
  const warnings = seen.concerns.map(({ path, message }) => warning(path, message));
  if (seen.start !== undefined) return warnings;
  const changed = changedIn(seen);
  const elsewhere = changed.status === 'rolled_back' ? seen.alsoOn.map(stillServed) : [];
  return [...warnings, ...elsewhere, ...servedFindings(changed, seen.places[0].after)];
}

/** Returns the release that a change is about, as its channel serves it afterwards. */
function changedIn({ places, version }: Seen): SnapshotRelease {
  const changed = places[0].after.releases.find(
    (each) => each.version === version && !each.followed,
  );
  if (changed === undefined) throw new Error(`The release ${version} of a change is not served`);
  return changed;
}

function stillServed(channel: string): Finding {
  const told = `The channel ${channel} goes on serving this version: roll it back there as well`;
  return warning('version', told);
}
