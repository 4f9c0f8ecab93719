// Reading of release events. Gitea and Forgejo use the shape of GitHub's events. Unknown keys are ignored;
// the keys that are used must have the right type.

import { z } from 'zod';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import { storableText } from '../../contract/text.ts';
import type { ReleaseEvent } from '../../publishing/receive-release.ts';
import type { HostRepository } from '../../store/console-ledger.ts';
import { textField, timeField, urlField } from '../endpoint/field.ts';
import { parseShape, readJson } from '../endpoint/parse-shape.ts';
import { formField } from './form-field.ts';

const FORM_TYPE = /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i;
const SHA256_DIGEST = /^sha256:([0-9a-f]{64})$/i;
/** Maximum length of a repository's full name, `owner/name`: code hosts allow 100 characters for a name. */
const REPOSITORY_LENGTH_MAX = 200;
/** Maximum number of assets of a release, above the maximum that GitHub allows. */
const ASSETS_MAX = 10_000;

const assetShape = z.object({
  name: z.string(),
  browser_download_url: urlField,
  size: z.int().min(0).nullish(),
  digest: z.string().nullish(),
  state: z.string().nullish(),
  created_at: timeField.nullish(),
});

const repositoryShape = z.object({ id: z.int().nullish(), full_name: z.string().nullish() });
/** Part of any event that names its repository; an event about an organization names none. */
const placedEventShape = z.object({ repository: repositoryShape.nullish() });

const releaseEventShape = z.object({
  action: textField(100),
  changes: z.object({ tag_name: z.object({ from: z.string() }).nullish() }).nullish(),
  repository: repositoryShape.extend({ private: z.boolean().nullish() }).nullish(),
  release: z.object({
    id: z.int().nullish(),
    tag_name: z.string(),
    draft: z.boolean(),
    prerelease: z.boolean(),
    body: z.string().nullish(),
    assets: z.array(assetShape).max(ASSETS_MAX).default([]),
    updated_at: timeField.nullish(),
    published_at: timeField.nullish(),
  }),
});

/**
 * Reads the release event in a delivery's body: JSON, or a form whose field `payload` is JSON, which new
 * webhooks of GitHub send by default. Anything else is refused with 400, which names the field.
 */
export function readReleaseEvent(
  body: Buffer,
  contentType: string | undefined,
): Outcome<ReleaseEvent> {
  const payload = readJsonPayload(body, contentType);
  if (isFailure(payload)) return payload;
  const parsed = parseShape(releaseEventShape, payload.json);
  if (isFailure(parsed)) return parsed;
  const { release } = parsed;
  const { id, tag_name: tag, draft, prerelease, body: notes, assets } = release;
  return {
    action: parsed.action,
    tag,
    formerTag: parsed.changes?.tag_name?.from,
    id: id ?? undefined,
    changedAt: release.updated_at ?? undefined,
    publishedAt: release.published_at ?? undefined,
    isPrivate: parsed.repository?.private ?? false,
    repository: repositoryOf(parsed),
    isDraft: draft,
    isPrerelease: prerelease,
    notes: notes ?? '',
    assets: assets.map(({ name, browser_download_url: url, size, digest, state, created_at }) => ({
      name,
      url,
      size: size ?? undefined,
      digest: sha256Of(digest ?? ''),
      // Payloads from before GitHub had this field contain uploaded assets only.
      isUploaded: (state ?? 'uploaded') === 'uploaded',
      createdAt: created_at ?? undefined,
    })),
  };
}

/** Reads the repository of a delivery's event; undefined if the event names none. */
export function readRepository(
  body: Buffer,
  contentType: string | undefined,
): HostRepository | undefined {
  const payload = readJsonPayload(body, contentType);
  if (isFailure(payload)) return undefined;
  const parsed = placedEventShape.safeParse(payload.json);
  return parsed.success ? repositoryOf(parsed.data) : undefined;
}

function repositoryOf({
  repository,
}: z.output<typeof placedEventShape>): HostRepository | undefined {
  const name = repository?.full_name ?? '';
  if (name === '') return undefined;
  return { id: repository?.id ?? null, name: storableText(name.slice(0, REPOSITORY_LENGTH_MAX)) };
}

/** Returns the hex of `sha256:<hex>` in lower case; undefined for any other digest, which is no error. */
function sha256Of(digest: string): string | undefined {
  return SHA256_DIGEST.exec(digest)?.[1]?.toLowerCase();
}

/** Returns the bytes of the event in a delivery's body; undefined if it is a form without `payload`. */
export function readPayload(body: Buffer, contentType: string | undefined): Buffer | undefined {
  return FORM_TYPE.test(contentType ?? '') ? formField(body, 'payload') : body;
}

/** Returns the JSON of the payload, wrapped in an object so that no JSON can pass for a refusal. */
function readJsonPayload(
  body: Buffer,
  contentType: string | undefined,
): Outcome<{ readonly json: unknown }> {
  const payload = readPayload(body, contentType);
  if (payload === undefined) return fail('invalid', 'payload: Required');
  const json = readJson(payload);
  if (json !== undefined && json !== null) return { json };
  return fail('invalid', payload === body ? 'Invalid JSON body' : 'payload: Invalid JSON');
}
