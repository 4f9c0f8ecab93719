// A release as the contract writes it, made by the statement that reads it.

import { ARTIFACTS_JSON } from './artifacts-json.ts';
import { isoText } from './iso-text.ts';

/** The contract's Release, for the rows of `releases`, `channels` and `apps` at hand. */
export const RELEASE_JSON = `json_build_object(
  'id', releases.id,
  'app', apps.ref,
  'channel', channels.name,
  'version', releases.version,
  'notes', releases.notes,
  'status', releases.status,
  'rolloutPct', releases.rollout_pct,
  'createdAt', ${isoText('releases.created_at')},
  'artifacts', ${ARTIFACTS_JSON}
)`;
