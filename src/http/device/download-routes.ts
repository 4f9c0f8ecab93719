// Routes of downloads for people: links that stay the same, and lead to the newest file.

import { type Failure, fail, invalidField, isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isLongerThan } from '../../contract/text.ts';
import { foldPlatform, refuseArtifactName } from '../../domain/decision/artifact.ts';
import { type DownloadQuery, downloadFor } from '../../domain/decision/download.ts';
import { foldArch } from '../../domain/decision/fold-arch.ts';
import type { Exchange, Handler } from '../exchange.ts';
import type { HeaderPair } from '../reply.ts';
import type { Route } from '../router.ts';
import { withPlus } from '../shape/field.ts';
import { addressHeader } from './address-header.ts';
import { type ChannelHandlerDependencies, channelHandler } from './channel-handler.ts';

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
export function downloadRoutes(dependencies: ChannelHandlerDependencies): readonly Route[] {
  const serving = (headers: readonly HeaderPair[]): Handler =>
    channelHandler({ ...dependencies, refusalHeaders: headers }, async (exchange, find) => {
      const query = queryOf(exchange);
      if (isFailure(query)) return query;
      const catalog = await find();
      if (isFailure(catalog)) return catalog;
      const url = downloadFor(catalog, query);
      if (url === undefined) return fail('noDownload');
      return { status: 302, headers: [addressHeader(url), KEPT, ...headers] };
    });
  const path = '/download/:appRef/:channel';
  return [
    { method: 'GET', path, handler: serving([BY_AGENT]) },
    { method: 'GET', path: `${path}/:platform`, handler: serving([]) },
    { method: 'GET', path: `${path}/:platform/:arch`, handler: serving([]) },
  ];
}

function queryOf({ params, headers, queryText }: Exchange): DownloadQuery | Failure {
  const told = params.get('platform') ?? platformIn(headers.get('user-agent') ?? '');
  if (told === undefined) return fail('noDownload');
  const arch = params.get('arch');
  const asked = new URLSearchParams(queryText).getAll('format').at(-1)?.toLowerCase();
  const format = asked === undefined ? undefined : withPlus(asked);
  if (format !== undefined && isLongerThan(format, LIMIT.artifactFormatLengthMax)) {
    return invalidField('format', `Must have at most ${LIMIT.artifactFormatLengthMax} characters`);
  }
  const platform = foldPlatform(told);
  return (
    refuseArtifactName('platform', told) ??
    refuseArtifactName('arch', arch ?? '') ?? {
      platform,
      arch: arch === undefined ? undefined : foldArch(arch, platform),
      format: format === '' ? undefined : format,
    }
  );
}

function platformIn(agent: string): string | undefined {
  return AGENTS.find(([word]) => word.test(agent))?.[1];
}
