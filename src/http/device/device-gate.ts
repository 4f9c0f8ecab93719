// Application of the device limit to requests: a device is limited by its id, or by its client's address when
// it tells none. All device endpoints share one gate, because they share one limit. The gate also knows the
// network that an admitted device asks from.

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
import { ADMITTED } from '../../domain/fleet/sliding-window-limiter.ts';
import type { DeviceLimit } from '../../fleet/device-limit.ts';
import type { Asker } from '../../flow/batcher.ts';
import { clientAddress } from '../transport/client-address.ts';
import { addressText, type Exchange, remoteAddressOf } from '../transport/exchange.ts';
import type { HttpRequest, HttpResponse } from '../transport/http-app.ts';
import { readRequestQuery } from './request-query.ts';

/** Seed of the hashes of addresses, which keeps an address apart from a device whose id is the same text. */
const ADDRESS_SEED = 0x5eed;
const FORWARDED_FOR = 'x-forwarded-for';

export class DeviceGate {
  /**
   * Network of the device of the latest request, if it was not refused. Always the same array, which the next
   * request overwrites.
   */
  readonly network: NetworkWords = new Int32Array(NETWORK_WORDS);
  // The two hashes of the latest request: `now` sets them for `later`. They save an object for each request,
  // which would cost more than the rest of the gate.
  private hash = 0;
  private tag = 0;

  /** Without `readsNetworks`, all networks are unknown. */
  constructor(
    private readonly limit: DeviceLimit,
    private readonly trustedProxies: number,
    private readonly readsNetworks: boolean,
  ) {}

  /** What the monotonic clock of the process showed at the latest request. */
  get readMs(): number {
    return this.limit.readMs;
  }

  /**
   * Counts a request of the device with this id and its `hashText`; without an id both are undefined. Returns
   * `ADMITTED`; the seconds for `refusalOf`; or `MUST_SETTLE`: then `later` must be called before the gate
   * gets another request.
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

  /** Does the same as `later`, and calls the asker in place of a promise. */
  settle(asker: Asker<number>): void {
    this.limit.settle(this.hash, this.tag, asker);
  }

  /**
   * Counts a request that may wait for its answer; resolves with the 429, or undefined when it is admitted.
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
   * Finds the network of the device of the latest request. It is kept with the device's counts, because
   * reading an address costs a call into uWebSockets.js and several objects.
   */
  private findNetwork(res: HttpResponse, req: HttpRequest): void {
    const { network } = this;
    const { notes, latestNote: at } = this.limit.windows;
    if (at >= 0 && (notes[at] !== 0 || notes[at + 1] !== 0)) {
      network[0] = notes[at] as number;
      network[1] = notes[at + 1] as number;
      return;
    }
    const peer = res.getRemoteAddressAsText();
    const isRead =
      this.trustedProxies === 0 &&
      typeof peer !== 'string' &&
      writeIpv4(new Uint8Array(peer), network);
    if (!isRead) writeNetwork(this.clientOf(addressText(peer), req), network);
    if (at < 0) return;
    notes[at] = network[0] as number;
    notes[at + 1] = network[1] as number;
  }

  /** Returns the address of the client whose socket, or whose last proxy's, has this address. */
  private clientOf(socketAddress: string, req: HttpRequest): string {
    if (this.trustedProxies === 0) return clientAddress(socketAddress, '', 0);
    // Some proxies add a header line of their own. `getHeader` returns only the first, which the client
    // wrote.
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
 * Returns the device id in a header value; undefined when it is empty (as an absent one is), too long, or no
 * device's own.
 */
export function readDeviceIdentity(header: string): string | undefined {
  const id = readDeviceText(header);
  return id === undefined || mistakenIdIn(id) !== undefined ? undefined : id;
}

/** Returns the text with which a header value names a device, which may be an id that many devices share. */
export function readDeviceText(header: string): string | undefined {
  if (header === '') return undefined;
  const text = decodeHeader(header);
  return isLongerThan(text, LIMIT.deviceIdLengthMax) || isFoldedAway(text) ? undefined : text;
}

/** Decodes a header value: its bytes are UTF-8, and uWebSockets.js returns one character per byte. */
function decodeHeader(value: string): string {
  return HIGH_BYTE.test(value) ? Buffer.from(value, 'latin1').toString('utf8') : value;
}
