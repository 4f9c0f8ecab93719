// Routes of downloads: stable links for people that redirect to the newest file, packages of Velopack, and
// failure reports of devices.

import { type Failure, fail, failUntil, invalidField, isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isLongerThan } from '../../contract/text.ts';
import { foldPlatform, refuseArtifactName } from '../../domain/decision/artifact/artifact.ts';
import { foldArch, knownArch } from '../../domain/decision/artifact/fold-arch.ts';
import type { Catalog } from '../../domain/decision/catalog.ts';
import { type DownloadQuery, downloadFor, downloadsIn } from '../../domain/decision/download.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import { NETWORK_WORDS, writeNetwork } from '../../domain/fleet/network-words.ts';
import type { FailureReports } from '../../fleet/fleet-views.ts';
import type { Catalogs } from '../../serving/catalogs.ts';
import { packageNameOf } from '../../updater/velopack.ts';
import { withPlus } from '../endpoint/field.ts';
import { failureBody } from '../endpoint/fleet-body.ts';
import { parseBody } from '../endpoint/parse-shape.ts';
import { clientAddress } from '../transport/client-address.ts';
import type { Exchange, Handler } from '../transport/exchange.ts';
import { failureReply, type HeaderPair, NO_STORE, type Reply } from '../transport/reply.ts';
import type { Route } from '../transport/router.ts';
import { addressHeader } from './address-header.ts';
import { type DeviceGate, readDeviceIdentity } from './device-gate.ts';
import { acceptsHtml, type DownloadAsked, downloadPage } from './download-page.ts';
import { readRequestQuery } from './request-query.ts';

/** Caches may answer for a minute, in which a person may get the release before the newest one. */
const KEPT: HeaderPair = ['Cache-Control', 'public, max-age=60'];
const BY_AGENT: HeaderPair = ['Vary', 'User-Agent'];
const BY_ACCEPT: HeaderPair = ['Vary', 'Accept'];

/** Words in the User-Agent of browsers, with the platform that each stands for; the first match counts. */
const AGENTS: readonly (readonly [word: RegExp, platform: string])[] = [
  [/\bAndroid\b/, 'android'],
  [/\b(?:iPhone|iPad|iPod)\b/, 'ios'],
  [/\bWindows\b/, 'windows'],
  [/\b(?:Macintosh|Mac OS X)\b/, 'darwin'],
  [/\bLinux\b/, 'linux'],
];

/**
 * Builds the routes: 302 to the file for the platform in the path, or else in the User-Agent. If there is
 * none, a browser gets a page that says so, with the existing files.
 */
export function downloadRoutes(dependencies: ChannelHandlerDependencies): readonly Route[] {
  const serving = (headers: readonly HeaderPair[]): Handler => {
    const refusalHeaders = [...headers, BY_ACCEPT];
    return channelHandler({ ...dependencies, refusalHeaders }, async (exchange, find) => {
      const isPage = acceptsHtml(exchange.headers.get('accept'));
      const refuse = (failure: Failure, catalog?: Catalog): Reply | Failure =>
        isPage ? pageOf(failure, exchange, catalog, refusalHeaders) : failure;
      const query = queryOf(exchange);
      // A page lists the files of the channel, so it needs the catalog; a program is refused without it.
      if (isFailure(query) && !(isPage && query.failure === 'noDownload')) return refuse(query);
      const catalog = await find();
      if (isFailure(catalog)) return refuse(catalog);
      const url = isFailure(query) ? undefined : downloadFor(catalog, query);
      if (url === undefined) return refuse(fail('noDownload'), catalog);
      return { status: 302, headers: [addressHeader(url), KEPT, ...headers] };
    });
  };
  const path = '/download/:appRef/:channel';
  return [
    { method: 'GET', path, handler: serving([BY_AGENT]) },
    { method: 'GET', path: `${path}/:platform`, handler: serving([]) },
    { method: 'GET', path: `${path}/:platform/:arch`, handler: serving([]) },
  ];
}

function pageOf(
  failure: Failure,
  exchange: Exchange,
  catalog: Catalog | undefined,
  headers: readonly HeaderPair[],
): Reply {
  const downloads = catalog === undefined ? [] : downloadsIn(catalog);
  const page = downloadPage(failure, askedIn(exchange), downloads);
  return { ...page, headers: [...(page.headers ?? []), ...NO_STORE, ...headers] };
}

function askedIn({ params, headers }: Exchange): DownloadAsked {
  const [told, channel = ''] = [params.get('platform'), params.get('channel')];
  const platform = told === undefined ? platformIn(headers.get('user-agent') ?? '') : told;
  const base = told === undefined ? `${encodeURIComponent(channel)}/` : './';
  return {
    app: params.get('appRef') ?? '',
    channel,
    platform: platform === undefined ? undefined : foldPlatform(platform),
    base: params.get('arch') === undefined ? base : '../',
  };
}

function queryOf({ params, headers, queryText }: Exchange): DownloadQuery | Failure {
  const agent = headers.get('user-agent') ?? '';
  const told = params.get('platform') ?? platformIn(agent);
  if (told === undefined) return fail('noDownload');
  const arch = params.has('platform') ? params.get('arch') : archIn(agent);
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

/** Part of the User-Agent with the machine, on Linux: `Linux aarch64`, `Linux i686 on x86_64`. */
const LINUX_MACHINE = /\bLinux ([^;()]{1,64})/;
/** Architecture that Chrome sends on every machine, so that it means nothing. */
const TOLD_EVERYWHERE = 'x86_64';

/** Returns the architecture in a User-Agent; undefined on systems other than Linux, where it is hidden. */
function archIn(agent: string): string | undefined {
  const words = LINUX_MACHINE.exec(agent)?.[1]?.split(' ') ?? [];
  const arches = words.map((word) => foldArch(word, 'linux'));
  const arch = arches.findLast((each) => knownArch(each, 'linux') === each);
  return arch === TOLD_EVERYWHERE ? undefined : arch;
}

// Route of the packages that a Velopack feed names: clients request them beside the feed, and are redirected
// to the publisher's server.

/**
 * Builds the route: 302 to the URL of the published artifact with that file name, of the highest version.
 */
export function packageRoute(dependencies: ChannelHandlerDependencies): Route {
  return {
    method: 'GET',
    path: '/velopack/:appRef/:channel/:file',
    handler: channelHandler(dependencies, async ({ params }, find) => {
      const catalog = await find();
      if (isFailure(catalog)) return catalog;
      const address = addressOf(catalog, params.get('file') ?? '');
      if (address === undefined) return fail('unknownFile');
      return { status: 302, headers: [addressHeader(address), ...NO_STORE] };
    }),
  };
}

function addressOf({ published }: Catalog, file: string): string | undefined {
  // `published` is sorted, the highest version first.
  for (const { source } of published) {
    const artifact = source.artifacts.find((each) => packageNameOf(each) === file);
    if (artifact?.url !== undefined) return artifact.url;
  }
  return undefined;
}

// Route by which a device reports that it could not install a version (docs/contract.md 27.9).

type FailureRouteDependencies = ChannelHandlerDependencies & {
  readonly failures: Pick<FailureReports, 'note'>;
  /** Number of proxies whose entries in `X-Forwarded-For` are trusted. */
  readonly trustProxy: number;
};

/** Builds the route: 204 once the failure is recorded or ignored. */
export function failureRoute(dependencies: FailureRouteDependencies): Route {
  const { failures, trustProxy } = dependencies;
  return {
    method: 'POST',
    path: '/u/:appRef/:channel/:platform/:arch/:version/failure',
    bodyBytesMax: LIMIT.failureBodyBytesMax,
    bodyBudget: 'unverified',
    handler: channelHandler(dependencies, async (exchange, find) => {
      const device = readDevice(exchange);
      if (isFailure(device)) return device;
      const body = await parseBody(exchange, failureBody);
      if (isFailure(body)) return body;
      const catalog = await find();
      if (isFailure(catalog)) return catalog;
      const { appId, appRef, channel } = catalog.snapshot;
      const forwarded = exchange.headers.get('x-forwarded-for') ?? '';
      const network = clientAddress(exchange.remoteAddress, forwarded, trustProxy);
      const words = new Int32Array(NETWORK_WORDS);
      writeNetwork(network, words);
      const { deviceId, runs, ...machine } = device;
      const { version: canonicalVersion, reason } = body;
      await failures.note(
        { appId, channel, deviceId, runs, canonicalVersion, reason, network },
        { ...machine, appRef, words },
      );
      return { status: 204 };
    }),
  };
}

function readDevice({ params, headers, queryText }: Exchange) {
  const query = readRequestQuery(queryText);
  if (isFailure(query)) return query;
  const deviceId = readDeviceIdentity(headers.get('x-service-device') ?? '') ?? query.deviceId;
  if (deviceId === undefined) return fail('invalid', 'device: Required');
  const [platform, arch] = [params.get('platform') ?? '', params.get('arch') ?? ''];
  const refusal = refuseArtifactName('platform', platform) ?? refuseArtifactName('arch', arch);
  if (refusal !== undefined) return refusal;
  const version = parseVersion(params.get('version') ?? '');
  if (version === undefined) return invalidField('version', 'Invalid version');
  const folded = foldPlatform(platform);
  return {
    ...{ deviceId, runs: version.canonical },
    ...{ platform: folded, arch: foldArch(arch, folded) },
  };
}

// Handlers of public addresses that answer from a channel's catalog without a decision. The device limit
// applies to them, and no cache may store their refusals.

export type ChannelHandlerDependencies = {
  readonly catalogs: Pick<Catalogs, 'find'>;
  readonly gate: Pick<DeviceGate, 'limitExchange'>;
  /** Further headers of every refusal, beside those that forbid caching. */
  readonly refusalHeaders?: readonly HeaderPair[];
};

/** Finds the catalog of the app and channel in the path. */
type FindCatalog = () => Promise<Catalog | Failure>;

const RETRY_MS = 1000;

/**
 * Builds the handler of a path with `:appRef` and `:channel`. `answer` gets a function that finds the
 * catalog, so that it can refuse other parts of the request first.
 */
export function channelHandler(
  { catalogs, gate, refusalHeaders = [] }: ChannelHandlerDependencies,
  answer: (exchange: Exchange, find: FindCatalog) => Promise<Reply | Failure>,
): Handler {
  return async (exchange) => {
    const limited = await gate.limitExchange(exchange);
    const outcome = limited ?? (await answer(exchange, () => findCatalog(catalogs, exchange)));
    if (!isFailure(outcome)) return outcome;
    const reply = failureReply(outcome);
    // An app or channel that is unknown now may exist a moment later.
    return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE, ...refusalHeaders] };
  };
}

async function findCatalog(
  catalogs: Pick<Catalogs, 'find'>,
  { params }: Exchange,
): Promise<Catalog | Failure> {
  const slot = await catalogs.find(params.get('appRef') ?? '', params.get('channel') ?? '');
  if (isFailure(slot)) return slot;
  // The slot is empty if its channel has just been evicted.
  return slot.catalog ?? failUntil('unavailable', RETRY_MS);
}
