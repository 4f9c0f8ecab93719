// Where a device's request meets the limit: by its id, or by its client's address when it gives none. One
// budget over all device endpoints, so they share one gate.

import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Failure } from '../../contract/failure.ts';
import { hashText } from '../../domain/cohort.ts';
import { tagText } from '../../domain/tag-text.ts';
import type { LimitDevices } from '../../operations/limit-devices.ts';
import { type Exchange, remoteAddressOf } from '../exchange.ts';
import { clientAddress } from './client-address.ts';
import { readDeviceIdentity } from './device-identity.ts';

/** Keeps an address apart from a device that calls itself by it. */
const ADDRESS_SEED = 0x5eed;
const FORWARDED_FOR = 'x-forwarded-for';

export class DeviceGate {
  private readonly limit: LimitDevices;
  private readonly trustedProxies: number;
  // Of the request that came last: an object for each request would cost more than the rest.
  private hash = 0;
  private tag = 0;

  constructor(limit: LimitDevices, trustedProxies: number) {
    this.limit = limit;
    this.trustedProxies = trustedProxies;
  }

  /**
   * Counts a request of the device with this id and its `hashText`; without an id both are undefined. 0 to
   * go ahead; the seconds for `refusalOf`; or `MUST_SETTLE`: then `later` must be called before anything
   * else comes to the gate.
   */
  now(
    res: HttpResponse,
    req: HttpRequest,
    id: string | undefined,
    hash: number | undefined,
  ): number {
    const client = id ?? this.addressOf(res, req);
    const seed = id === undefined ? ADDRESS_SEED : 0;
    this.hash = hash ?? hashText(client, seed);
    this.tag = tagText(client, seed);
    return this.limit.now(this.hash, this.tag);
  }

  /** Decides what `now` could not: 0 to go ahead, or the seconds for `refusalOf`. */
  later(): Promise<number> {
    return this.limit.later(this.hash, this.tag);
  }

  /** Counts a request that need not be answered at once: the 429, or undefined to go ahead. */
  limitExchange({ headers, remoteAddress }: Exchange): Promise<Failure | undefined> {
    const id = readDeviceIdentity(headers.get('x-service-device') ?? '');
    if (id !== undefined) return this.limit.limit(hashText(id), tagText(id));
    const forwarded = headers.get(FORWARDED_FOR) ?? '';
    const client = clientAddress(remoteAddress, forwarded, this.trustedProxies);
    return this.limit.limit(hashText(client, ADDRESS_SEED), tagText(client, ADDRESS_SEED));
  }

  private addressOf(res: HttpResponse, req: HttpRequest): string {
    const socketAddress = remoteAddressOf(res);
    if (this.trustedProxies === 0) return clientAddress(socketAddress, '', 0);
    // Some proxies add a line of their own; the first line, which is all `getHeader` gives, is the client's.
    const lines: string[] = [];
    req.forEach((name, value) => {
      if (name === FORWARDED_FOR) lines.push(value);
    });
    return clientAddress(socketAddress, lines.join(','), this.trustedProxies);
  }
}
