// Applies the device limit to requests: by the device's id, or by the client's IP address if the request has
// no id. All device endpoints share one gate, because they share one limit. The gate also finds the network
// of an admitted device.

import { type Failure, isFailure } from '../../contract/failure.ts';
import { LIMIT } from '../../contract/limit.ts';
import { isFoldedAway, isLongerThan } from '../../contract/text.ts';
import { hashText } from '../../domain/decision/cohort.ts';
import { secondHash } from '../../domain/decision/hashes.ts';
import { mistakenIdIn } from '../../domain/fleet/mistaken-id.ts';
import {
  NETWORK_WORDS,
  type NetworkWords,
  writeIpv4,
  writeNetwork,
} from '../../domain/fleet/network-words.ts';
import { ADMITTED, MUST_SETTLE } from '../../domain/fleet/sliding-window-limiter.ts';
import { type DeviceLimit, refusalOf } from '../../fleet/device-limit.ts';
import type { Asker } from '../../flow/batcher.ts';
import { clientAddress } from '../transport/client-address.ts';
import { addressText, type Exchange, remoteAddressOf } from '../transport/exchange.ts';
import type { HttpRequest, HttpResponse } from '../transport/http-app.ts';
import { readRequestQuery } from './request-query.ts';

/** Seed for hashes of IP addresses, so that an address never counts as a device with the same text as id. */
const ADDRESS_SEED = 0x5eed;
/** Seeds under which polls and reports of DDI count, each as a device of its own. */
const POLL_SEEDS = [0xdd10];
const REPORT_SEEDS = [0xdd11, 0xdd12, 0xdd13, 0xdd14, 0xdd15];
const FORWARDED_FOR = 'x-forwarded-for';

export class DeviceGate {
  /**
   * Network of the device of the latest request, if that was not refused. It is always the same array, which
   * the next request overwrites.
   */
  readonly network: NetworkWords = new Int32Array(NETWORK_WORDS);
  // The two hashes of the latest request: `now` sets them for `later` and `settle`. An object for each
  // request would cost more than the rest of the gate.
  private hash = 0;
  private tag = 0;

  /** `readsNetworks`: if false, all networks stay unknown. */
  constructor(
    private readonly limit: DeviceLimit,
    private readonly trustedProxies: number,
    private readonly readsNetworks: boolean,
  ) {}

  /** Milliseconds of the process's monotonic clock at the latest request. */
  get readMs(): number {
    return this.limit.readMs;
  }

  /**
   * Counts a request of the device with this id and its `hashText`; without an id both are undefined. Returns
   * `ADMITTED`; the seconds for `refusalOf`; or `MUST_SETTLE`: then `later` or `settle` must be called before
   * the gate gets another request.
   */
  now(
    res: HttpResponse,
    req: HttpRequest,
    id: string | undefined,
    hash: number | undefined,
  ): number {
    const client = id ?? this.clientOf(remoteAddressOf(res), req);
    const seed = id === undefined ? ADDRESS_SEED : 0;
    this.hash = hash ?? hashText(client, seed);
    this.tag = secondHash(client, seed);
    const wait = this.limit.now(this.hash, this.tag);
    if (this.readsNetworks && id !== undefined && wait <= ADMITTED) this.findNetwork(res, req);
    return wait;
  }

  /**
   * Decides the latest request after `MUST_SETTLE`; resolves with `ADMITTED` or the seconds for `refusalOf`.
   */
  later(): Promise<number> {
    return this.limit.later(this.hash, this.tag);
  }

  /** Does the same as `later`, but calls `asker` instead of returning a promise. */
  settle(asker: Asker<number>): void {
    this.limit.settle(this.hash, this.tag, asker);
  }

  /**
   * Counts a request of a handler that may wait; resolves with the 429, or undefined if it is admitted.
   */
  limitExchange({ headers, queryText, remoteAddress }: Exchange): Promise<Failure | undefined> {
    const query = readRequestQuery(queryText);
    const named = isFailure(query) ? undefined : query.deviceId;
    const id = readDeviceIdentity(headers.get('x-service-device') ?? '') ?? named;
    if (id !== undefined) return this.limit.limit(hashText(id), secondHash(id));
    const forwarded = headers.get(FORWARDED_FOR) ?? '';
    const client = clientAddress(remoteAddress, forwarded, this.trustedProxies);
    return this.limit.limit(hashText(client, ADDRESS_SEED), secondHash(client, ADDRESS_SEED));
  }

  /**
   * Counts a request of a device that speaks DDI, apart from its requests to other addresses: 120 polls a
   * minute, and five times as many reports. Returns the 429, or undefined if it is admitted; a promise of
   * that where the engine decides.
   */
  limitActions(id: string, isReport: boolean): Failure | undefined | Promise<Failure | undefined> {
    return isReport ? this.limitBySeeds(id, REPORT_SEEDS) : this.limitBySeeds(id, POLL_SEEDS);
  }

  private limitBySeeds(
    id: string,
    [seed = 0, ...others]: readonly number[],
  ): Failure | undefined | Promise<Failure | undefined> {
    this.hash = hashText(id, seed);
    this.tag = secondHash(id, seed);
    const wait = this.limit.now(this.hash, this.tag);
    if (wait === ADMITTED) return undefined;
    const next = (seconds: number) => {
      if (seconds === ADMITTED) return undefined;
      return others.length === 0 ? refusalOf(seconds) : this.limitBySeeds(id, others);
    };
    return wait === MUST_SETTLE ? this.later().then(next) : next(wait);
  }

  /** Reads the network of a request's client. */
  networkOf(res: HttpResponse, req: HttpRequest): NetworkWords {
    const network = new Int32Array(NETWORK_WORDS);
    this.readNetwork(res, req, network);
    return network;
  }

  /**
   * Finds the network of the device of the latest request. It is cached with the device's counts, because
   * reading an IP address takes a call into uWebSockets.js and several objects.
   */
  private findNetwork(res: HttpResponse, req: HttpRequest): void {
    const { network } = this;
    const { notes, latestNote: at } = this.limit.windows;
    if (at >= 0 && (notes[at] !== 0 || notes[at + 1] !== 0)) {
      network[0] = notes[at] as number;
      network[1] = notes[at + 1] as number;
      return;
    }
    this.readNetwork(res, req, network);
    if (at < 0) return;
    notes[at] = network[0] as number;
    notes[at + 1] = network[1] as number;
  }

  private readNetwork(res: HttpResponse, req: HttpRequest, network: NetworkWords): void {
    const peer = res.getRemoteAddressAsText();
    const isRead =
      this.trustedProxies === 0 &&
      typeof peer !== 'string' &&
      writeIpv4(new Uint8Array(peer), network);
    if (!isRead) writeNetwork(this.clientOf(addressText(peer), req), network);
  }

  /** Returns the client's IP address; `socketAddress` is that of the socket's peer, which may be a proxy. */
  private clientOf(socketAddress: string, req: HttpRequest): string {
    if (this.trustedProxies === 0) return clientAddress(socketAddress, '', 0);
    // Some proxies add a second header line. `getHeader` returns only the first, perhaps the client's own.
    const lines: string[] = [];
    req.forEach((name, value) => {
      if (name === FORWARDED_FOR) lines.push(value);
    });
    return clientAddress(socketAddress, lines.join(','), this.trustedProxies);
  }
}

// Reading of a device's id in a header.

const HIGH_BYTE = /[\u0080-\u00ff]/;

/**
 * Returns the device id in a header value; undefined if it is empty (as an absent one is), too long, `.` or
 * `..`, or a mistaken id.
 */
export function readDeviceIdentity(header: string): string | undefined {
  const id = readDeviceText(header);
  return id === undefined || mistakenIdIn(id) !== undefined ? undefined : id;
}

/** Returns the decoded text of a header with a device id, which may be a mistaken id of many devices. */
export function readDeviceText(header: string): string | undefined {
  if (header === '') return undefined;
  const text = decodeHeader(header);
  return isLongerThan(text, LIMIT.deviceIdLengthMax) || isFoldedAway(text) ? undefined : text;
}

/** Decodes a header value: its bytes are UTF-8, and uWebSockets.js returns one character per byte. */
function decodeHeader(value: string): string {
  return HIGH_BYTE.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
}
