// A change of what channels serve, in one transaction. The file of the changed object declares what a change
// locks and does; the order of the steps around that is the same for all (decisions 0031, 0064 and 0066):
//
//   stored request ▸ locks ▸ known states ▸ repetition ▸ savepoint ▸ work ▸ exposure ▸ wait or keep
//                                                              ▸ right of the actor ▸ outbox ▸ commit
//
// A change that has to wait for an approval is rolled back to the savepoint, and its call is stored. An
// approval runs the same change again, in one transaction with the decision, and keeps it only if it meets
// the same state. So no rule of a change has a second implementation.

import { type Failure, fail, isFailure, type Outcome } from '../../../contract/failure.ts';
import type { ServingSnapshot } from '../../../domain/decision/serving-snapshot.ts';
import type {
  Actor,
  ApprovingCall,
  AskedCall,
  ChangeCall,
  Changed,
  Concern,
  HeldSnapshot,
  Ran,
  RepeatableCall,
  Seen,
  ServedChange,
  Waiting,
} from '../../ledger-terms.ts';
import type { Database, Sql } from '../database/database.ts';
import {
  type LockedApproval,
  lockApproval,
  refuseDecided,
  refuseDecision,
  settleApproval,
  wordsForMoved,
} from './approval-decisions.ts';
import { insertApproval } from './approvals.ts';
import { type ActorSql, atomically, dryRun } from './atomically.ts';
import { type LockedChannel, lockChannel, readChanged } from './channels.ts';
import { waitWarning, watchExposure } from './exposure.ts';
import { readServedOn } from './snapshots.ts';

/** Channels that a change has locked. */
export type Locked = { readonly channels: readonly LockedChannel[] };

/** The one channel that a change has locked. */
export type LockedOne = Locked & { readonly channel: LockedChannel };

/** How a repeated call of a change is answered. */
export type Repeats<Value> = {
  /** Returns what the first call with the key made; undefined if there was none. */
  find(sql: Sql, call: RepeatableCall): Promise<Outcome<Value | undefined>>;
  /** Stores what the call has made. */
  use(sql: Sql, call: RepeatableCall, value: Value): Promise<Failure | undefined>;
  /** Stores the request that waits for an approval, in place of a result. */
  wait(sql: Sql, call: RepeatableCall, approvalId: string): Promise<Failure | undefined>;
  /** Stores with the key what an approved request has made, so that withdrawing it frees the key. */
  name(sql: Sql, approvalId: string, value: Value): Promise<void>;
};

/** A change: `Place` is what it has locked and read before it writes. */
export type Change<Input, Value, Place extends Locked = Locked> = {
  /** Locks the channels, and reads what the change starts from. Writes nothing. */
  readonly lock: (sql: Sql, call: ChangeCall<Input>) => Promise<Outcome<Place>>;
  readonly work: (
    sql: ActorSql,
    place: Place,
    call: ChangeCall<Input>,
  ) => Promise<Outcome<Changed<Value>>>;
  /** Returns the body of the answer; an approval that carries the call out stores it as its result. */
  readonly answer: (value: Value) => object;
  /** How a repetition is answered; undefined for a change whose calls carry no idempotency key. */
  readonly repeats?: Repeats<Value>;
  /** What a dry run says of the change; undefined for a change without a dry run. */
  readonly preview?: Preview<Input, Value, Place>;
  /** Kind of actor whose calls of this change never wait. */
  readonly neverWaitsFor?: Actor['kind'];
};

/** What a dry run adds to the states that channels serve; only a change of one channel has a preview. */
type Preview<Input, Value, Place extends Locked> = {
  readonly canonicalVersion: (input: Input) => string;
  /** Continues from the change to the state that a dry run shows: for a plan, after its first raise. */
  readonly goOn?: (
    sql: ActorSql,
    place: Place,
    call: ChangeCall<Input>,
  ) => Promise<Failure | undefined>;
  readonly tell?: (sql: Sql, place: Place, call: ChangeCall<Input>, value: Value) => Promise<Told>;
};

/** Warnings to show before and after the one about an approval, and what a plan begins with. */
type Told = Pick<Seen, 'start'> & {
  readonly first?: readonly Concern[];
  readonly last?: readonly Concern[];
};

/** Outcome that commits: a change that was made, or a refusal beside which a request is stored. */
type Committed<Value> = { readonly ran: Ran<Value> } | { readonly refusal: Failure };

/** Runs a change in the mode of its call. */
export async function run<Input, Value, Place extends Locked>(
  database: Database,
  change: Change<Input, Value, Place>,
  call: ChangeCall<Input>,
): Promise<Outcome<Ran<Value>>> {
  const { mode, actor } = call;
  const transact = mode === 'try' ? dryRun : atomically;
  const committed = await transact<Committed<Value>>(database, actor, (sql) =>
    typeof mode === 'object' && 'approves' in mode
      ? approve(sql, change, call, mode.approves)
      : make(sql, change, call),
  );
  if (isFailure(committed)) return committed;
  return 'ran' in committed ? committed.ran : committed.refusal;
}

/** Locks the one channel of a change. */
export async function lockOne(
  sql: Sql,
  { scope, known }: Pick<ChangeCall<unknown>, 'scope' | 'known'>,
  { app, channel: name }: { readonly app: string; readonly channel: string },
): Promise<Outcome<LockedOne>> {
  const channel = await lockChannel(sql, scope, app, name, known);
  return isFailure(channel) ? channel : { channel, channels: [channel] };
}

async function make<Input, Value, Place extends Locked>(
  sql: ActorSql,
  change: Change<Input, Value, Place>,
  call: ChangeCall<Input>,
): Promise<Outcome<Committed<Value>>> {
  const { mode, repeat, held } = call;
  const place = await change.lock(sql, call);
  if (isFailure(place)) return place;
  const repeated = repeat && (await change.repeats?.find(sql, repeat));
  if (isFailure(repeated)) return repeated;
  if (repeated !== undefined) {
    const changed = await readChanged(sql, place.channels);
    return { ran: { value: repeated, changed, isRepeated: true } };
  }
  if (call.actor.kind !== change.neverWaitsFor) await watchExposure(sql, place.channels);
  const isSeen = mode === 'try' || call.isSeen === true;
  const before = isSeen ? await readServed(sql, place, held) : undefined;
  const done = await change.work(sql, place, call);
  if (isFailure(done)) return done;
  const isWider = sql.exposure.changes.some((each) => each.isWider);
  if (isWider && mode !== 'try') return wait(sql, change, call, { place, done });
  const looked = before && (await look(sql, change, call, { place, done }, heldIn(before)));
  if (isFailure(looked)) return looked;
  const used = repeat && (await change.repeats?.use(sql, repeat, done.value));
  const seen = looked && { seen: asSeen(looked, before) };
  return used ?? { ran: { ...done, isRepeated: false, ...seen } };
}

type Made<Value, Place> = { readonly place: Place; readonly done: Changed<Value> };

/** Rolls back a change that widens exposure, and stores its call as a request. */
async function wait<Input, Value, Place extends Locked>(
  sql: ActorSql,
  change: Change<Input, Value, Place>,
  call: ChangeCall<Input>,
  { place, done }: Made<Value, Place>,
): Promise<Outcome<Committed<Value>>> {
  const exposed = [...sql.exposure.changes];
  const looked = change.preview && (await look(sql, change, call, { place, done }, call.held));
  if (isFailure(looked)) return looked;
  await sql.rollBack();
  const approval = await insertApproval(sql, place.channels, exposed, callOf(call));
  if (isFailure(approval)) return approval;
  const used = call.repeat && (await change.repeats?.wait(sql, call.repeat, approval.id));
  if (used !== undefined) return used;
  const { findings } = change.answer(done.value) as Pick<Failure, 'findings'>;
  const seen = looked && asSeen(looked, await readServed(sql, place, heldIn(looked.after)));
  const refusal: Waiting = {
    ...{ ...fail('awaitsApproval'), approval },
    ...{ ...(findings && { findings }), ...(seen && { seen }) },
  };
  return { refusal };
}

/** Returns the call that a change in this mode stores. */
function callOf({ mode, actor }: ChangeCall<unknown>): AskedCall {
  if (typeof mode === 'object' && 'asks' in mode) return mode.asks;
  throw new Error(`A change by ${actor.kind} has to wait, and says nothing that could be stored`);
}

type Looked = Omit<Seen, 'places'> & { readonly after: readonly ServingSnapshot[] };

/** Reads what channels serve after a change, and collects its warnings. */
async function look<Input, Value, Place extends Locked>(
  sql: ActorSql,
  { preview }: Change<Input, Value, Place>,
  call: ChangeCall<Input>,
  { place, done }: Made<Value, Place>,
  held: HeldSnapshot | undefined,
): Promise<Outcome<Looked>> {
  if (preview === undefined) throw new Error('This change has no dry run');
  const refused = await preview.goOn?.(sql, place, call);
  if (refused !== undefined) return refused;
  const after = await readServed(sql, place, held);
  const alsoOn = await listOthers(sql, place, preview.canonicalVersion(call.input));
  const wait = waitWarning(sql);
  // A request needs only what channels serve: what takes long to read must not prevent storing it.
  const isTold = call.mode === 'try' || call.isSeen === true;
  const told = (isTold && (await preview.tell?.(sql, place, call, done.value))) || {};
  const { first = [], last = [], start } = told;
  const waits = wait === undefined ? [] : [{ path: 'channel', message: wait }];
  const { version } = done.value as { readonly version: string };
  const concerns = [...first, ...waits, ...last];
  return { after, version, alsoOn, concerns, ...(start && { start }) };
}

/** Returns what a change does to channels that served these states before it. */
function asSeen({ after, ...looked }: Looked, before: readonly ServingSnapshot[]): Seen {
  const [first, ...others] = before.map((each, at): ServedChange => {
    return { before: each, after: after[at] as ServingSnapshot };
  });
  if (first === undefined) throw new Error('A change that is looked at has a channel');
  return { ...looked, places: [first, ...others] };
}

/** Reads what the channel of a change and its followers serve, in this order. */
async function readServed(
  sql: Sql,
  { channels: [channel] }: Locked,
  held: HeldSnapshot | undefined,
): Promise<readonly ServingSnapshot[]> {
  if (channel === undefined) return [];
  const served: ServingSnapshot[] = [];
  for (const name of [channel.name, ...channel.followers]) {
    served.push(await readServedOn(sql, channel.app.ref, name, held?.(name)));
  }
  return served;
}

function heldIn(served: readonly ServingSnapshot[]): HeldSnapshot {
  return (name) => served.find(({ channel }) => channel === name);
}

/** Lists the app's other channels on which the version is published. */
async function listOthers(
  sql: Sql,
  { channels: [channel] }: Locked,
  canonicalVersion: string,
): Promise<readonly string[]> {
  const rows = await sql.query<{ name: string }>(
    `SELECT channels.name FROM channels JOIN releases ON releases.channel_id = channels.id
     WHERE channels.app_id = $1 AND channels.id <> $2
       AND releases.canonical_version = $3 AND releases.status = 'published'
     ORDER BY channels.name`,
    [channel?.app.id, channel?.id, canonicalVersion],
  );
  return rows.map(({ name }) => name);
}

/**
 * Makes the change of a stored request. Locks the request before the change locks its channels; no
 * transaction locks a request after a channel. Reads the rights of the approver and of the author last, and
 * locks them until the end.
 */
async function approve<Input, Value, Place extends Locked>(
  sql: ActorSql,
  change: Change<Input, Value, Place>,
  call: ChangeCall<Input>,
  { id, reason }: ApprovingCall,
): Promise<Outcome<Committed<Value>>> {
  const request = await lockApproval(sql, id);
  if (isFailure(request)) return request;
  const done =
    request.status === 'pending'
      ? await makeAgain(sql, change, call, request)
      : refuseDecided(request);
  const refusal = await refuseDecision(sql, request);
  if (refusal !== undefined) return refusal;
  const words = isFailure(done) ? done.message : wordsForMoved(request, sql.exposure.changes);
  if (isFailure(done) || words !== undefined) {
    await sql.rollBack();
    const result = { error: words };
    await settleApproval(sql, request, { status: 'failed', result, reason });
    return { refusal: fail('approvalFailed', words) };
  }
  const result = change.answer(done.value);
  await settleApproval(sql, request, { status: 'approved', result, reason });
  return { ran: { ...done, isRepeated: false } };
}

async function makeAgain<Input, Value, Place extends Locked>(
  sql: ActorSql,
  change: Change<Input, Value, Place>,
  call: ChangeCall<Input>,
  { id, askedOn }: LockedApproval,
): Promise<Outcome<Changed<Value>>> {
  await sql.setSavepoint();
  sql.exposure.isWatched = true;
  sql.exposure.askedOn = askedOn;
  const place = await change.lock(sql, call);
  if (isFailure(place)) return place;
  const done = await change.work(sql, place, call);
  if (!isFailure(done)) await change.repeats?.name(sql, id, done.value);
  return done;
}
