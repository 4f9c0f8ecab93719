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
import { parseVersion } from '../../domain/decision/version.ts';
import { classifyAsset } from '../../domain/release/classify-asset.ts';
import type { Actor } from '../../ports/actor.ts';
import type { Ledger } from '../../ports/ledger.ts';
import type { NewArtifact } from '../../ports/new-artifact.ts';
import type { ReleaseName } from '../../ports/release-name.ts';
import type { SpreadChange } from './spread-change.ts';
import type { OpenWebhook } from './webhooks.ts';

type AnnouncedAsset = {
  readonly name: string;
  readonly url: string;
  /** Size in bytes. */
  readonly size: number | undefined;
  /** SHA-256 in lower-case hex. */
  readonly digest: string | undefined;
  /** Whether the upload is complete; false while it is in progress or after it failed. */
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

/**
 * Actions that announce a release. `created` is also sent for a release that was published without a draft.
 */
const ANNOUNCING = new Set(['published', 'created', 'released', 'prereleased']);
const EDITING = 'edited';

/**
 * Publishes the release on `stable`, a pre-release on `beta`, with the channel's default rollout. A release
 * that already exists is a duplicate and stays unchanged, unless it came from a webhook without artifacts and
 * this event has some. Everything that is not a release for devices is ignored, with a reason.
 */
export async function receiveRelease(
  ledger: Ledger,
  spread: SpreadChange,
  webhook: OpenWebhook,
  event: ReleaseEvent,
): Promise<Outcome<Received, 'channelFull' | LostRight>> {
  const isEdit = event.action === EDITING;
  if (!isEdit && !ANNOUNCING.has(event.action)) {
    return ignored(`Action ${event.action.slice(0, 50)} announces no release`);
  }
  if (event.isDraft) return ignored('The release is a draft');
  const version = event.tag.replace(/^v/i, '');
  // A tag such as `vv1.0.0` is not a version with a leading v.
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

/** Returns the actor of what a delivery to this webhook changes. */
export function integrationOf({
  appId,
  enabledAt,
  requestId,
}: OpenWebhook): Extract<Actor, { kind: 'integration' }> {
  return { kind: 'integration', name: 'github', appId, enabledAt, requestId };
}

type Publishing = {
  readonly ledger: Ledger;
  readonly spread: SpreadChange;
  readonly webhook: OpenWebhook;
  readonly name: ReleaseName;
  readonly artifacts: readonly NewArtifact[];
};

async function publish(
  publishing: Publishing,
  version: string,
  notes: string,
): Promise<Outcome<Received, 'channelFull' | LostRight>> {
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
  if (failure === 'versionWithdrawn') return ignored(published.message);
  if (failure === 'idempotencyKeyUsed') throw new Error('A delivery carries no idempotency key');
  return unlessUnknown({ ...published, failure }, name);
}

/** Handles an edit, which announces nothing: it is ignored unless it completes a release. */
async function complete(
  publishing: Publishing,
  isEdit: boolean,
): Promise<Outcome<Received, 'channelFull' | LostRight>> {
  const { ledger, spread, webhook, name, artifacts } = publishing;
  const completed = await ledger.completeRelease(
    webhook.organizationId,
    name,
    artifacts,
    integrationOf(webhook),
  );
  if (isFailure(completed)) return unlessUnknown(completed, name);
  const { value: release, changed } = completed;
  if (changed.length === 0) {
    return isEdit ? ignored('A release does not change once it is published') : duplicate(release);
  }
  await spread(changed, webhook.requestId);
  return withReason(duplicate(release), `Completed with ${artifacts.length} artifacts`);
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

/** Selects the assets that devices can install, in their order, up to the maximum number of artifacts. */
function artifactsOf(assets: readonly AnnouncedAsset[]): {
  readonly artifacts: readonly NewArtifact[];
  readonly leftOut: number;
} {
  const all = assets.flatMap(({ name, url, size, digest, isUploaded }): NewArtifact[] => {
    const target = isUploaded ? classifyAsset(name) : undefined;
    if (target === undefined) return [];
    const sizePart = size === undefined ? {} : { size };
    return [{ ...target, url, ...sizePart, ...(digest === undefined ? {} : { digest }) }];
  });
  const artifacts = all.slice(0, LIMIT.artifactCountMax);
  return { artifacts, leftOut: all.length - artifacts.length };
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
