// A release as a code-hosting service announces it: published here the first time, however many events tell
// of it (GitHub sends up to three for one click, at once and in any order).

import { type Failure, isFailure, type Outcome } from '../contract/failure.ts';
import { LIMIT } from '../contract/limit.ts';
import type { Release } from '../contract/resource.ts';
import { classifyAsset } from '../domain/asset.ts';
import type { SnapshotArtifact } from '../domain/serving-snapshot.ts';
import { parseVersion } from '../domain/version.ts';
import type { Actor, Ledger, ReleaseName } from '../ports/ledger.ts';
import type { SpreadChange } from './spread-change.ts';
import type { OpenWebhook } from './webhooks.ts';

export type AnnouncedAsset = {
  readonly name: string;
  readonly url: string;
  /** Bytes. */
  readonly size: number | undefined;
  /** Lower-case hex. */
  readonly sha256: string | undefined;
  /** False while it is still being uploaded, or when that failed. */
  readonly isUploaded: boolean;
};

export type ReleaseEvent = {
  readonly action: string;
  readonly tag: string;
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

/** `created` also stands for a release that was published without having been a draft. */
const ANNOUNCING = new Set(['published', 'created', 'released', 'prereleased']);
const EDITING = 'edited';
const ACTOR: Actor = { kind: 'integration', name: 'github' };

/**
 * Publishes the release on `stable`, a pre-release on `beta`, for the channel's default share of devices. One
 * that is there already is a duplicate: it stays as it is, unless it came from a webhook without artifacts
 * and the event has some. What is no release for devices is ignored, with a reason.
 */
export async function receiveRelease(
  ledger: Ledger,
  spread: SpreadChange,
  webhook: OpenWebhook,
  event: ReleaseEvent,
): Promise<Outcome<Received>> {
  const isEdit = event.action === EDITING;
  if (!isEdit && !ANNOUNCING.has(event.action)) {
    return ignored(`Action ${event.action.slice(0, 50)} announces no release`);
  }
  if (event.isDraft) return ignored('The release is a draft');
  const version = event.tag.replace(/^v/i, '');
  // Of two letters in front only one would be the version's.
  const canonicalVersion = /^\d/.test(version) ? parseVersion(version)?.canonical : undefined;
  if (canonicalVersion === undefined) {
    return ignored(`The tag ${event.tag.slice(0, 100)} is no version`);
  }
  const channel = event.isPrerelease ? 'beta' : 'stable';
  const name = { app: webhook.appId, channel, canonicalVersion };
  const { artifacts, leftOut } = artifactsOf(event.assets);
  const publishing = { ledger, spread, webhook, name, artifacts };
  const received = isEdit
    ? await complete(publishing, true)
    : await publish(publishing, version, event.notes);
  return isFailure(received) || leftOut === 0
    ? received
    : withReason(received, `${leftOut} assets beyond the first ${artifacts.length} were left out`);
}

type Publishing = {
  readonly ledger: Ledger;
  readonly spread: SpreadChange;
  readonly webhook: OpenWebhook;
  readonly name: ReleaseName;
  readonly artifacts: readonly SnapshotArtifact[];
};

async function publish(
  publishing: Publishing,
  version: string,
  notes: string,
): Promise<Outcome<Received>> {
  const { ledger, spread, webhook, name, artifacts } = publishing;
  const published = await ledger.publishRelease(
    webhook.organizationId,
    {
      ...name,
      version,
      notes: cutNotes(notes),
      status: 'published',
      rolloutPct: undefined,
      targets: null,
      artifacts,
    },
    ACTOR,
  );
  if (!isFailure(published)) {
    await spread(published.changed);
    const received: Received = { outcome: 'created', release: published.value };
    const isCut = published.value.notes.length < notes.length;
    return isCut ? withReason(received, 'The notes were cut to 256 KiB') : received;
  }
  if (published.failure === 'versionExists') return complete(publishing, false);
  return unlessUnknown(published, name);
}

/** An edit announces nothing, so one that completes nothing is ignored. */
async function complete(publishing: Publishing, isEdit: boolean): Promise<Outcome<Received>> {
  const { ledger, spread, webhook, name, artifacts } = publishing;
  const completed = await ledger.completeRelease(webhook.organizationId, name, artifacts, ACTOR);
  if (isFailure(completed)) return unlessUnknown(completed, name);
  const { value: release, changed } = completed;
  if (changed.length === 0) {
    return isEdit ? ignored('A release does not change once it is published') : duplicate(release);
  }
  await spread(changed);
  return withReason(duplicate(release), `Completed with ${artifacts.length} artifacts`);
}

function unlessUnknown(failure: Failure, { channel }: ReleaseName): Outcome<Received> {
  if (failure.failure === 'unknownChannel') return ignored(`The app has no channel ${channel}`);
  if (failure.failure === 'unknownRelease') return ignored('An edit publishes nothing');
  return failure;
}

/** Those that devices can install, in the order they were announced, as many as a release may have. */
function artifactsOf(assets: readonly AnnouncedAsset[]): {
  readonly artifacts: readonly SnapshotArtifact[];
  readonly leftOut: number;
} {
  const all = assets.flatMap(({ name, url, size, sha256, isUploaded }): SnapshotArtifact[] => {
    const target = isUploaded ? classifyAsset(name) : undefined;
    if (target === undefined) return [];
    const sizePart = size === undefined ? {} : { size };
    return [{ ...target, url, ...sizePart, ...(sha256 === undefined ? {} : { sha256 }) }];
  });
  const artifacts = all.slice(0, LIMIT.artifactCountMax);
  return { artifacts, leftOut: all.length - artifacts.length };
}

/**
 * Notes within their limit: GitHub counts characters, of which one may take four bytes, and a release is
 * worth more than the end of its notes. What a database cannot hold is replaced.
 */
function cutNotes(notes: string): string {
  const text = notes.toWellFormed().replaceAll('\u0000', '\ufffd');
  const bytes = Buffer.from(text);
  if (bytes.length <= LIMIT.notesBytesMax) return text;
  // A character that the cut goes through is dropped.
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
