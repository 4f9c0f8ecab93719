// Examination of an edge for `sluice doctor`: whether its token has the right form, and whether the upstream
// takes it, signs with the key that it carries, and has about the same time.

import { type Check, faulty, sound } from '../contract/diagnosis.ts';
import { readCredential, UpstreamClient, type UpstreamRefusal } from '../edge/upstream-client.ts';
import type { UpstreamConfig } from '../settings/edge-settings.ts';

const CALL_MS_MAX = 5000;
/** Difference of the clocks above which check-ins of an edge that starts alone are dated wrongly. */
const CLOCK_MS_MAX = 2000;

const REFUSALS: Readonly<Record<UpstreamRefusal, string>> = {
  revoked: 'it does not accept EDGE_TOKEN: make another with `sluice edge-token create`',
  unsigned: 'its answer is not signed: is it a Sluice of this version?',
  tampered:
    'its answer is signed with another key: EDGE_TOKEN is of another service, or an older key',
  malformed: 'its answer cannot be read: is it a Sluice of this version?',
  replayed: 'its answer is an older one',
  foreign: 'it is of another record than this edge has followed',
};

/** Examines the settings of an edge; never rejects. */
export async function examineEdge({
  upstream: url,
  token,
}: UpstreamConfig['edge']): Promise<readonly Check[]> {
  if (token === undefined) return [faulty('edge-token', 'EDGE_TOKEN is not set')];
  const credential = readCredential(token);
  if (credential === undefined) {
    return [faulty('edge-token', 'is not what `sluice edge-token create` has printed')];
  }
  let refusal: UpstreamRefusal | undefined;
  const onRefused = (reason: UpstreamRefusal) => {
    refusal = reason;
  };
  const client = new UpstreamClient({ url, credential, record: () => undefined, onRefused });
  try {
    const call = { method: 'GET', path: 'time', timeoutMs: CALL_MS_MAX } as const;
    const begin = Date.now();
    const proven = await client.call('time', call);
    const at = proven?.answer.at ?? Number.NaN;
    return [
      sound('edge-token', 'has the right form'),
      sound('upstream', 'answers, takes the token, and signs with its key'),
      clockCheck((begin + Date.now()) / 2 - at),
    ];
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const message = refusal === undefined ? reason : REFUSALS[refusal];
    return [sound('edge-token', 'has the right form'), faulty('upstream', message)];
  } finally {
    client.close();
  }
}

function clockCheck(aheadMs: number): Check {
  const seconds = Math.round(aheadMs / 100) / 10;
  return Math.abs(aheadMs) <= CLOCK_MS_MAX
    ? sound('clock', 'about that of the upstream')
    : faulty('clock', `is ${seconds} s ahead of that of the upstream: put it right`);
}
