// Routes of downloads for people: links that stay the same, and lead to the newest file.

import { type Failure, fail, failUntil, invalidField, isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isLongerThan } from '../../contract/text.ts';
import { foldArch, foldPlatform, refuseArtifactName } from '../../domain/decision/artifact.ts';
import { type DownloadQuery, downloadFor } from '../../domain/decision/download.ts';
import type { Catalogs } from '../../operations/serving/catalogs.ts';
import type { Exchange, Handler } from '../exchange.ts';
import { failureReply, type HeaderPair, NO_STORE, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import type { DeviceGate } from './device-gate.ts';

const RETRY_MS = 1000;
/** A person may get the release before the newest for a minute, and caches may answer for that long. */
const KEPT: HeaderPair = ['Cache-Control', 'public, max-age=60'];
const BY_AGENT: HeaderPair = ['Vary', 'User-Agent'];

/** Words in the User-Agent of browsers, and the platform that they tell; the first that is found counts. */
const AGENTS: readonly (readonly [word: RegExp, platform: string])[] = [
  [/\bAndroid\b/, 'android'],
  [/\b(?:iPhone|iPad|iPod)\b/, 'ios'],
  [/\bWindows\b/, 'windows'],
  [/\b(?:Macintosh|Mac OS X)\b/, 'darwin'],
  [/\bLinux\b/, 'linux'],
];

/** Builds the routes: 302 to the file for a platform, which the address or the browser tells. */
export function downloadRoutes(
  catalogs: Catalogs,
  gate: Pick<DeviceGate, 'limitExchange'>,
): readonly Route[] {
  const serving = (headers: readonly HeaderPair[]): Handler => {
    return async (exchange) => {
      const limited = await gate.limitExchange(exchange);
      if (limited !== undefined) return refusal(limited, headers);
      const query = queryOf(exchange);
      if (isFailure(query)) return refusal(query, headers);
      return serve(catalogs, exchange, query, headers);
    };
  };
  const path = '/download/:appRef/:channel';
  return [
    { method: 'GET', path, handler: serving([BY_AGENT]) },
    { method: 'GET', path: `${path}/:platform`, handler: serving([]) },
    { method: 'GET', path: `${path}/:platform/:arch`, handler: serving([]) },
  ];
}

async function serve(
  catalogs: Catalogs,
  { params }: Exchange,
  query: DownloadQuery,
  headers: readonly HeaderPair[],
): Promise<Reply> {
  const slot = await catalogs.find(params.get('appRef') ?? '', params.get('channel') ?? '');
  if (isFailure(slot)) return refusal(slot, headers);
  // A slot is empty when its channel was evicted just now.
  if (slot.catalog === undefined) return refusal(failUntil('unavailable', RETRY_MS), headers);
  const url = downloadFor(slot.catalog, query);
  if (url === undefined) return refusal(fail('noDownload'), headers);
  return { status: 302, headers: [['Location', url], KEPT, ...headers] };
}

function queryOf({ params, headers, queryText }: Exchange): DownloadQuery | Failure {
  const told = params.get('platform') ?? platformIn(headers.get('user-agent') ?? '');
  if (told === undefined) return fail('noDownload');
  const arch = params.get('arch');
  const format = new URLSearchParams(queryText).getAll('format').at(-1)?.toLowerCase();
  if (format !== undefined && isLongerThan(format, LIMIT.artifactFormatLengthMax)) {
    return invalidField('format', `Must have at most ${LIMIT.artifactFormatLengthMax} characters`);
  }
  return (
    refuseArtifactName('platform', told) ??
    refuseArtifactName('arch', arch ?? '') ?? {
      platform: foldPlatform(told),
      arch: arch === undefined ? undefined : foldArch(arch),
      format: format === '' ? undefined : format,
    }
  );
}

function platformIn(agent: string): string | undefined {
  return AGENTS.find(([word]) => word.test(agent))?.[1];
}

function refusal(failure: Failure, headers: readonly HeaderPair[]): Reply {
  const reply = failureReply(failure);
  return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE, ...headers] };
}
