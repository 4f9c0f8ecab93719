// Releases that a code host announces. A release is published once, however many events announce it: GitHub
// sends up to three for one click, concurrently and in any order.

import {
  type Failure,
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import type { Release } from '../../contract/resource.ts';
import { storableText } from '../../contract/text.ts';
import { tagVersion } from '../../domain/release/tag-version.ts';
import type { Actor } from '../../ports/actor.ts';
import type { Ledger, ReleaseHold } from '../../ports/ledger.ts';
import type { NewArtifact } from '../../ports/new-artifact.ts';
import type { ReleaseName } from '../../ports/release-name.ts';
import type { CalledBack } from '../../ports/webhook-ledger.ts';
import { type AnnouncedAsset, announcedArtifacts } from './announced-artifacts.ts';
import { isExpected } from './is-expected.ts';
import type { SpreadChange } from './spread-change.ts';
import type { OpenWebhook } from './webhooks.ts';

export type ReleaseEvent = {
  readonly action: string;
  readonly tag: string;
  /** Tag that the release had before this event renamed it. */
  readonly formerTag?: string | undefined;
  /** Time of the release's last change, RFC 3339; undefined where the code host gives none. */
  readonly at?: string | undefined;
  /** Whether the repository is private, so that no device could fetch a file of it. */
  readonly isPrivate?: boolean | undefined;
  readonly isDraft: boolean;
  readonly isPrerelease: boolean;
  readonly notes: string;
  readonly assets: readonly AnnouncedAsset[];
};

export type Received = {
  readonly outcome: 'created' | 'duplicate' | 'ignored';
  readonly reason?: string;
  readonly release?: Release;
};

/**
 * Actions that announce a release. GitHub also sends `created` for a release that was published without a
 * draft. Gitea and Forgejo send `updated` for everything after the first event, and for a draft that is
 * published where its tag existed already.
 */
const ANNOUNCING = new Set(['published', 'created', 'released', 'prereleased', 'updated']);
/** Actions by which a release on `stable` may become a pre-release. */
const DEMOTING: ReadonlySet<string> = new Set(['prereleased', 'updated']);
const EDITING = 'edited';
/** Actions after which the files of a release are gone, or must not be used. */
const WITHDRAWING: ReadonlySet<string> = new Set(['deleted', 'unpublished']);
const STABLE = 'stable';
const BETA = 'beta';

/**
 * Publishes the release on `stable`, a pre-release on `beta`, with the channel's default rollout. A release
 * that already exists is a duplicate and stays unchanged, unless it came from a webhook, was never offered
 * and this event has more files. One that the code host has called back is paused. Everything that is not a
 * release for devices is ignored, with a reason.
 */
export async function receiveRelease(
  ledger: Ledger,
  spread: SpreadChange,
  webhook: OpenWebhook,
  event: ReleaseEvent,
): Promise<Outcome<Received, 'channelFull' | LostRight>> {
  const isEdit = event.action === EDITING;
  const isCalledBack = WITHDRAWING.has(event.action);
  if (!isEdit && !isCalledBack && !ANNOUNCING.has(event.action)) {
    return ignored(`Action ${event.action.slice(0, 50)} announces no release`);
  }
  const former = event.formerTag === undefined ? undefined : versionOf(webhook, event.formerTag);
  if (former !== undefined) {
    const renamed = await callBack({ ledger, spread, webhook, event }, former, [STABLE], 'renamed');
    if (renamed !== undefined) return renamed;
  }
  if (event.isDraft && !isCalledBack) return ignored('The release is a draft');
  const found = tagVersion(event.tag, webhook.appRef, webhook.tagPrefix ?? undefined);
  if (found === undefined) return ignored(`The tag ${event.tag.slice(0, 100)} is no version`);
  const { text: version, version: parsed } = found;
  // A pre-release from the start is also announced by these actions; then nothing stands on stable.
  const isDemoted = DEMOTING.has(event.action) && event.isPrerelease;
  if (isCalledBack || isDemoted) {
    const channels = isCalledBack ? [STABLE, BETA] : [STABLE];
    const calling = { ledger, spread, webhook, event };
    const calledBack = await callBack(calling, parsed.canonical, channels, saidOf(event.action));
    if (calledBack !== undefined) return calledBack;
    if (isCalledBack) return ignored(`Action ${event.action} announces no release`);
  }
  if (event.isPrivate) {
    return ignored('The repository is private: no device could fetch its files');
  }
  const channel = event.isPrerelease ? BETA : STABLE;
  const name = { app: webhook.appId, channel, canonicalVersion: parsed.canonical };
  const { artifacts, remarks } = announcedArtifacts(event.assets);
  const publishing = { ledger, spread, webhook, name, artifacts, at: event.at };
  const received = isEdit
    ? await complete(publishing, true)
    : await publish(publishing, version, event.notes);
  if (isFailure(received) || received.outcome === 'ignored') return received;
  return remarks.reduce(withReason, received);
}

/** Returns the actor of what a delivery to this webhook changes. */
export function integrationOf({
  appId,
  provider,
  enabledAt,
  requestId,
}: OpenWebhook): Extract<Actor, { kind: 'integration' }> {
  return { kind: 'integration', provider, appId, enabledAt, requestId };
}

type Calling = {
  readonly ledger: Ledger;
  readonly spread: SpreadChange;
  readonly webhook: OpenWebhook;
  readonly event: ReleaseEvent;
};

/**
 * Pauses the release of this version on these channels, as far as this webhook brought it there; undefined
 * when no channel has one that it could pause.
 */
async function callBack(
  { ledger, spread, webhook, event }: Calling,
  canonicalVersion: string,
  channels: readonly string[],
  what: string,
): Promise<Outcome<Received, LostRight> | undefined> {
  const reasons: string[] = [];
  for (const channel of channels) {
    const name = { app: webhook.appId, channel, canonicalVersion };
    const call = { at: event.at, reason: `${what} by the code host` };
    const called = await ledger.callBackRelease(
      webhook.organizationId,
      name,
      call,
      integrationOf(webhook),
    );
    if (isFailure(called)) {
      const { failure } = called;
      if (failure === 'unknownChannel' || failure === 'unknownRelease') continue;
      return { ...called, failure };
    }
    await spread(called.changed, webhook.requestId);
    if (called.value !== 'not-announced') reasons.push(SAID[called.value](channel, what));
  }
  return reasons.length === 0 ? undefined : ignored(reasons.join('. '));
}

const SAID: Readonly<
  Record<Exclude<CalledBack, 'not-announced'>, (channel: string, what: string) => string>
> = {
  paused: (channel, what) => `The release was ${what}: it is paused on ${channel}`,
  unserved: (channel, what) => `The release was ${what}, and is not served on ${channel}`,
  older: (channel) => `A later event was taken on ${channel}: nothing changed`,
};

/** Says what happened where the action is no word for it. */
function saidOf(action: string): string {
  return action === 'updated' ? 'prereleased' : action;
}

function versionOf(webhook: OpenWebhook, tag: string): string | undefined {
  return tagVersion(tag, webhook.appRef, webhook.tagPrefix ?? undefined)?.version.canonical;
}

type Publishing = {
  readonly ledger: Ledger;
  readonly spread: SpreadChange;
  readonly webhook: OpenWebhook;
  readonly name: ReleaseName;
  readonly artifacts: readonly NewArtifact[];
  readonly at: string | undefined;
};

async function publish(
  publishing: Publishing,
  version: string,
  notes: string,
): Promise<Outcome<Received, 'channelFull' | LostRight>> {
  const { ledger, spread, webhook, name, artifacts, at } = publishing;
  const hold = holdOf(webhook, artifacts);
  const published = await ledger.publishRelease(
    webhook.organizationId,
    {
      ...name,
      version,
      notes: cutNotes(notes),
      status: hold === undefined ? 'published' : 'paused',
      rolloutPct: undefined,
      targets: null,
      artifacts,
      hold,
      announcedAt: at,
    },
    integrationOf(webhook),
  );
  if (!isFailure(published)) {
    await spread(published.changed, webhook.requestId);
    const received: Received = { outcome: 'created', release: published.value };
    const isCut = published.value.notes.length < notes.length;
    return isCut ? withReason(received, 'The notes were cut to 256 KiB') : received;
  }
  const { failure } = published;
  if (failure === 'versionExists') return complete(publishing, false);
  if (failure === 'versionWithdrawn' || failure === 'appArchived') {
    return ignored(published.message);
  }
  if (failure === 'idempotencyKeyUsed') throw new Error('A delivery carries no idempotency key');
  return unlessUnknown({ ...published, failure }, name);
}

/** Handles an edit, which announces nothing: it is ignored unless it completes a release. */
async function complete(
  publishing: Publishing,
  isEdit: boolean,
): Promise<Outcome<Received, 'channelFull' | LostRight>> {
  const { ledger, spread, webhook, name, artifacts, at } = publishing;
  const completed = await ledger.completeRelease(
    webhook.organizationId,
    name,
    { artifacts, at, isComplete: (all) => isExpected(webhook.expect ?? [], all) },
    integrationOf(webhook),
  );
  if (isFailure(completed)) return unlessUnknown(completed, name);
  const { value: release, changed } = completed;
  if (changed.length === 0) {
    return isEdit ? ignored('A release does not change once it is published') : duplicate(release);
  }
  await spread(changed, webhook.requestId);
  return withReason(duplicate(release), `Completed with ${release.artifacts.length} artifacts`);
}

function unlessUnknown(
  refusal: Failure<UnknownRelease | 'channelFull' | LostRight>,
  { channel }: ReleaseName,
): Outcome<Received, 'channelFull' | LostRight> {
  const { failure } = refusal;
  if (failure === 'unknownChannel') return ignored(`The app has no channel ${channel}`);
  if (failure === 'unknownRelease') return ignored('An edit publishes nothing');
  return { ...refusal, failure };
}

/** Returns how a new release is held; undefined when it is not, or has all that it would wait for. */
function holdOf(
  { hold, expect }: OpenWebhook,
  artifacts: readonly NewArtifact[],
): ReleaseHold | undefined {
  if (!hold) return undefined;
  if (expect === null) return 'by-hand';
  return isExpected(expect, artifacts) ? undefined : 'expecting';
}

/**
 * Cuts notes to their limit: GitHub limits characters, of which one may take four bytes, and publishing a
 * release with cut notes is better than refusing it. Characters that the database cannot store are replaced.
 */
function cutNotes(notes: string): string {
  const text = storableText(notes);
  const bytes = Buffer.from(text);
  if (bytes.length <= LIMIT.notesBytesMax) return text;
  // A character that the cut splits is dropped.
  return bytes
    .subarray(0, LIMIT.notesBytesMax)
    .toString('utf8')
    .replace(/\ufffd$/, '');
}

function ignored(reason: string): Received {
  return { outcome: 'ignored', reason };
}

function duplicate(release: Release): Received {
  return { outcome: 'duplicate', release };
}

function withReason(received: Received, reason: string): Received {
  const reasons = received.reason === undefined ? [reason] : [received.reason, reason];
  return { ...received, reason: reasons.join('. ') };
}
