// Access log: a line for each request, on every surface, when its answer is written.

import type { Log } from '../observe/log.ts';
import { clientAddress } from './client-address.ts';
import type { RequestWatch, RequestWatcher, WatchedRequest } from './request-watch.ts';

/** Maximum length of a path in a line; paths may have 64 KiB. */
const PATH_LENGTH_MAX = 500;

export class AccessLog implements RequestWatcher {
  private readonly log: Pick<Log, 'info'>;
  private readonly trustedProxies: number;

  /** `trustedProxies` is the number of proxies whose entries in `X-Forwarded-For` are believed. */
  constructor(log: Pick<Log, 'info'>, trustedProxies: number) {
    this.log = log;
    this.trustedProxies = trustedProxies;
  }

  watches(): boolean {
    return true;
  }

  begin({ labels, method, path, remoteAddress, header, notes }: WatchedRequest): RequestWatch {
    const beganAt = performance.now();
    const forwarded = this.trustedProxies === 0 ? '' : header('x-forwarded-for');
    const client = clientAddress(remoteAddress, forwarded, this.trustedProxies);
    return {
      run: (work) => work(),
      end: (status) => {
        const line = {
          method,
          route: labels.route,
          path: path.slice(0, PATH_LENGTH_MAX),
          status,
          ms: Math.round((performance.now() - beganAt) * 1000) / 1000,
          client,
          requestId: notes.requestId,
          app: notes.app,
        };
        this.log.info(line, 'request');
      },
    };
  }
}
