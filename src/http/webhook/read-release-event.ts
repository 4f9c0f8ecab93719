// GitHub's release event as it arrives, read tolerantly: unknown keys are GitHub's business, those used here
// must have the right type.

import { z } from 'zod';
import { fail, isFailure, type Outcome } from '../../contract/failure.ts';
import type { ReleaseEvent } from '../../operations/receive-release.ts';
import { textField, urlField } from '../shape/field.ts';
import { parseShape, readJson } from '../shape/parse-shape.ts';
import { formField } from './form-field.ts';

const FORM_TYPE = /^\s*application\/x-www-form-urlencoded\s*(?:;|$)/i;
const SHA256_DIGEST = /^sha256:([0-9a-f]{64})$/i;
/** What GitHub lets a release have, with room to spare. */
const ASSETS_MAX = 10_000;

const assetShape = z.object({
  name: z.string(),
  browser_download_url: urlField,
  size: z.int().min(0).nullish(),
  digest: z.string().nullish(),
  state: z.string().nullish(),
});

const releaseEventShape = z.object({
  action: textField(100),
  release: z.object({
    tag_name: z.string(),
    draft: z.boolean(),
    prerelease: z.boolean(),
    body: z.string().nullish(),
    assets: z.array(assetShape).max(ASSETS_MAX).default([]),
  }),
});

/**
 * The release event in a delivery's body: JSON, or a form whose field `payload` is JSON (what a new hook of
 * GitHub sends). 400 for anything else, naming the field.
 */
export function readReleaseEvent(
  body: Buffer,
  contentType: string | undefined,
): Outcome<ReleaseEvent> {
  const payload = readPayload(body, contentType);
  if (isFailure(payload)) return payload;
  const parsed = parseShape(releaseEventShape, payload);
  if (isFailure(parsed)) return parsed;
  const { tag_name: tag, draft, prerelease, body: notes, assets } = parsed.release;
  return {
    action: parsed.action,
    tag,
    isDraft: draft,
    isPrerelease: prerelease,
    notes: notes ?? '',
    assets: assets.map(({ name, browser_download_url: url, size, digest, state }) => ({
      name,
      url,
      size: size ?? undefined,
      sha256: sha256Of(digest ?? ''),
      // Payloads from before GitHub had this field have uploaded assets only.
      isUploaded: (state ?? 'uploaded') === 'uploaded',
    })),
  };
}

/** The sum in `sha256:<hex>`, lower-case. Any other digest is as good as none, and no reason to refuse. */
function sha256Of(digest: string): string | undefined {
  return SHA256_DIGEST.exec(digest)?.[1]?.toLowerCase();
}

function readPayload(body: Buffer, contentType: string | undefined): Outcome<unknown> {
  if (!FORM_TYPE.test(contentType ?? '')) {
    return readJson(body) ?? fail('invalid', 'Invalid JSON body');
  }
  const payload = formField(body, 'payload');
  if (payload === undefined) return fail('invalid', 'payload: Required');
  return readJson(payload) ?? fail('invalid', 'payload: Invalid JSON');
}
