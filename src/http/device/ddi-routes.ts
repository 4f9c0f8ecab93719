// Route of devices that speak DDI (docs/contract.md 34). It reads the address, the device and its credential,
// in the order in which requests are refused, and leaves the rest to the answers of polls and reports.

import {
  FAILURES,
  type Failure,
  fail,
  failUntil,
  invalidField,
  isFailure,
  type Outcome,
} from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { Unavailable } from '../../contract/store-fault.ts';
import { isFoldedAway, isLongerThan, isStorable } from '../../contract/text.ts';
import { refuseArtifactName } from '../../domain/decision/artifact/artifact.ts';
import { hashText } from '../../domain/decision/cohort.ts';
import { parseVersion } from '../../domain/decision/version.ts';
import { mistakenIdIn } from '../../domain/fleet/mistaken-id.ts';
import { NETWORK_WORDS, writeNetwork } from '../../domain/fleet/network-words.ts';
import type { DdiCredentials } from '../../fleet/ddi-credentials.ts';
import { demandWithin } from '../../flow/within-time.ts';
import type { Log } from '../../observe/log.ts';
import type { CatalogSlot } from '../../serving/catalog-slot.ts';
import type { Catalogs } from '../../serving/catalogs.ts';
import type { DdiAsker } from '../../serving/ddi-queries.ts';
import type { PollActions } from '../../serving/poll-actions.ts';
import type { ReceiveReports, Reporter } from '../../serving/receive-reports.ts';
import {
  actionDocument,
  cancelDocument,
  type DdiAddress,
  type DdiResource,
  pollDocument,
  RAUC_AGENT,
  readDdiAddress,
} from '../../updater/ddi.ts';
import { clientAddress } from '../transport/client-address.ts';
import type { Exchange } from '../transport/exchange.ts';
import { failureReply, NO_STORE, type Reply, replyHead, unstored } from '../transport/reply.ts';
import { decodeSegment, type Route } from '../transport/router.ts';
import type { DeviceGate } from './device-gate.ts';

type DdiRouteDependencies = {
  readonly catalogs: Pick<Catalogs, 'find'>;
  readonly credentials: Pick<DdiCredentials, 'judge'>;
  readonly gate: Pick<DeviceGate, 'limitActions'>;
  readonly polls: PollActions;
  readonly reports: ReceiveReports;
  /** `PUBLIC_URL`; undefined if it is not set. */
  readonly publicUrl: string | undefined;
  /** Number of proxies whose entries in `X-Forwarded-For` are trusted. */
  readonly trustProxy: number;
  readonly log: Pick<Log, 'error'>;
};

/** Address of a device with what it asks for. */
type Asked = { readonly address: DdiAddress; readonly resource: DdiResource };

const METHODS: Readonly<Record<DdiResource['kind'], string>> = {
  poll: 'GET',
  action: 'GET',
  cancel: 'GET',
  attributes: 'PUT',
  feedback: 'POST',
  cancelFeedback: 'POST',
};
const METHODS_OF_ROUTES = ['GET', 'PUT', 'POST'] as const;
/** Longest wait until a closing is kept: rauc-hawkbit-updater repeats a 429, and nothing else. */
const CLOSING_MS_MAX = 1500;
const RETRY_MS = 1000;
const UNAUTHORIZED_HEADERS = [['WWW-Authenticate', 'TargetToken']] as const;
/** A host with or without a port, as links can have it. */
const HOST = /^[\w.-]+(?::\d{1,5})?$|^\[[0-9a-f:.]+\](?::\d{1,5})?$/i;

/** Builds the routes, one for each method. */
export function ddiRoutes(dependencies: DdiRouteDependencies): readonly Route[] {
  const route = new DdiRoute(dependencies);
  return METHODS_OF_ROUTES.map((method) => ({
    method,
    path: '/ddi/*',
    bodyBytesMax: LIMIT.ddiBodyBytesMax,
    bodyBudget: 'unverified',
    hasDryRun: 'ignored',
    handler: (exchange) => route.answer(exchange),
  }));
}

class DdiRoute {
  constructor(private readonly dependencies: DdiRouteDependencies) {}

  async answer(exchange: Exchange): Promise<Reply> {
    const address = readDdiAddress(exchange.path);
    if (address === undefined) return refusal(fail('notFound'));
    const { resource } = address;
    if (resource === undefined) return refusal(fail('unknownFile'));
    const method = exchange.method === 'HEAD' ? 'GET' : exchange.method;
    const allowed = METHODS[resource.kind];
    if (allowed !== method) {
      const allow = allowed === 'GET' ? 'GET, HEAD' : allowed;
      return refusal(fail('methodNotAllowed'), [['Allow', allow]]);
    }
    const answered = this.answerAsked(exchange, { address, resource });
    return resource.kind === 'feedback' ? this.inTime(answered) : answered;
  }

  /** Answers a report that cannot be kept in time with 429, whatever the reason. */
  private async inTime(answered: Promise<Reply>): Promise<Reply> {
    const late = () => new Unavailable('process', 'a report could not be kept in time');
    try {
      const reply = await demandWithin(answered, CLOSING_MS_MAX, late);
      return reply.status < 500 ? reply : NOT_KEPT;
    } catch (error) {
      if (!(error instanceof Unavailable)) {
        this.dependencies.log.error({ err: error }, 'a report of a device could not be kept');
      }
      return NOT_KEPT;
    }
  }

  private async answerAsked(exchange: Exchange, asked: Asked): Promise<Reply> {
    const device = await this.admit(exchange, asked);
    if (isFailure(device)) {
      return refusal(device, device.failure === 'deviceUnauthorized' ? UNAUTHORIZED_HEADERS : []);
    }
    const { resource, address } = asked;
    const { reporter, served } = device;
    const { polls } = this.dependencies;
    switch (resource.kind) {
      case 'poll': {
        const polled = await polls.poll(served, reporter.asker);
        if (isFailure(polled)) return refusal(polled);
        return found(pollDocument(`${this.origin(exchange)}${address.base}`, polled));
      }
      case 'action': {
        const fetched = await polls.fetch(served, reporter.asker, resource.id);
        if (isFailure(fetched)) return refusal(fetched);
        return found(actionDocument(resource.id, fetched.candidate, fetched));
      }
      case 'cancel': {
        const isThere = await polls.isWithdrawing(served, reporter.asker, resource.id);
        return isThere ? found(cancelDocument(resource.id)) : refusal(fail('unknownAction'));
      }
      default:
        return this.receive(exchange, resource, reporter);
    }
  }

  private async receive(
    exchange: Exchange,
    resource: DdiResource,
    reporter: Reporter,
  ): Promise<Reply> {
    const body = await exchange.body;
    if (isFailure(body)) return refusal(body);
    const text = body.toString('utf8');
    const { reports } = this.dependencies;
    if (resource.kind === 'attributes') {
      const refused = await reports.attributes(reporter, text);
      return refused === undefined ? DONE : refusal(refused);
    }
    if (resource.kind === 'feedback') await reports.feedback(reporter, resource.id, text);
    if (resource.kind === 'cancelFeedback')
      await reports.cancelFeedback(reporter, resource.id, text);
    return DONE;
  }

  /** Finds the channel, judges the credential, counts the request, and reads the address, in this order. */
  private async admit(exchange: Exchange, { address, resource }: Asked) {
    const place = await this.place(address);
    if (isFailure(place)) return place;
    const deviceId = decodeSegment(address.controllerId);
    const id = deviceId === undefined || !isDeviceId(deviceId) ? undefined : deviceId;
    const header = exchange.headers.get('authorization');
    const { ddi, ddiAuth, appId } = place.snapshot;
    if (ddi === null || ddiAuth === null) return fail('unknownChannel');
    if (ddiAuth === 'token') {
      const judged = await this.dependencies.credentials.judge(appId, id ?? '', header);
      if (judged === 'invalid') return fail('deviceUnauthorized');
      if (judged === 'unknown') return failUntil('unavailable', RETRY_MS);
    }
    const isReport = METHODS[resource.kind] !== 'GET';
    const limited = await this.dependencies.gate.limitActions(id ?? address.controllerId, isReport);
    if (limited !== undefined) return limited;
    if (id === undefined) return invalidField('controllerId', 'Not an id of a device');
    const asker = this.asker(exchange, address, id);
    if (isFailure(asker)) return asker;
    const { app, channel, slot } = place;
    const isItself = ddiAuth === 'token' && /^targettoken /i.test(header ?? '');
    const reporter: Reporter = {
      ...{ place: { app, channel, settings: ddi }, slot, appId, asker, isItself },
      appRef: place.snapshot.appRef,
    };
    return { reporter, served: { slot, app, channel } };
  }

  private async place({ app: appText, channel: channelText }: DdiAddress) {
    const app = decodeSegment(appText);
    const channel = decodeSegment(channelText);
    if (app === undefined) return fail('unknownApp');
    if (channel === undefined) return fail('unknownChannel');
    const slot: Outcome<CatalogSlot> = await this.dependencies.catalogs.find(app, channel);
    if (isFailure(slot)) return slot;
    const snapshot = slot.catalog?.snapshot;
    // The slot is empty if its channel has just been evicted.
    if (snapshot === undefined) return failUntil('unavailable', RETRY_MS);
    return { app, channel, slot, snapshot };
  }

  /** Reads what the request says of its device; 400 that names a wrong part of the address. */
  private asker(
    { headers, remoteAddress }: Exchange,
    { machine }: DdiAddress,
    deviceId: string,
  ): Outcome<DdiAsker> {
    const [platform, arch, versionText] = machine.map(decodeSegment);
    for (const [name, text] of [
      ['platform', platform],
      ['arch', arch],
    ] as const) {
      const refused = text === undefined ? undefined : refuseArtifactName(name, text);
      if (refused !== undefined) return refused;
    }
    if (machine.length > 0 && (platform === undefined || arch === undefined)) {
      return invalidField('platform', 'Malformed percent-encoding');
    }
    const version = parseVersion(versionText ?? '');
    if (machine.length > 2 && version === undefined)
      return invalidField('version', 'Invalid version');
    const forwarded = headers.get('x-forwarded-for') ?? '';
    const address = clientAddress(remoteAddress, forwarded, this.dependencies.trustProxy);
    const network = new Int32Array(NETWORK_WORDS);
    writeNetwork(address, network);
    const isRauc = headers.get('user-agent')?.startsWith(RAUC_AGENT) ?? false;
    const hash = hashText(deviceId);
    return { deviceId, hash, network, address, platform, arch, version, isRauc };
  }

  /** Returns what links begin with: the public address, or the one that was asked. */
  private origin({ headers }: Exchange): string {
    const { publicUrl, trustProxy } = this.dependencies;
    if (publicUrl !== undefined) return publicUrl.replace(/\/$/, '');
    const host = headers.get('host') ?? '';
    const proto = headers.get('x-forwarded-proto')?.split(',').at(-1)?.trim();
    const scheme = trustProxy > 0 && proto === 'https' ? 'https' : 'http';
    return `${scheme}://${HOST.test(host) ? host : 'localhost'}`;
  }
}

function isDeviceId(text: string): boolean {
  const isShort = text !== '' && !isLongerThan(text, LIMIT.deviceIdLengthMax);
  return isShort && isStorable(text) && !isFoldedAway(text) && mistakenIdIn(text) === undefined;
}

/** Heads of the answers to polls and reports, made once: each header is a call into uWebSockets.js. */
const DONE: Reply = { status: 200, head: replyHead(200, NO_STORE), body: '' };
const FOUND_HEAD = replyHead(200, [...NO_STORE, ['Content-Type', 'application/json']]);
const NOT_KEPT = refusal({ ...failUntil('rateLimited', RETRY_MS), message: FAILURES.unavailable });

function found(body: string): Reply {
  return { status: 200, head: FOUND_HEAD, body };
}

function refusal(failure: Failure, headers: NonNullable<Reply['headers']> = []): Reply {
  const reply = unstored(failureReply(failure));
  return { ...reply, headers: [...(reply.headers ?? []), ...headers] };
}
