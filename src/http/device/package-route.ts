// Route of the packages that a Velopack feed names: clients ask for them beside the feed, and are sent on to
// where the publisher keeps them.

import { fail, failUntil, isFailure } from '../../contract/failure.ts';
import type { Catalog } from '../../domain/decision/catalog.ts';
import type { Catalogs } from '../../operations/serving/catalogs.ts';
import { packageNameOf } from '../../updater/velopack.ts';
import { failureReply, NO_STORE, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import type { DeviceGate } from './device-gate.ts';

const RETRY_MS = 1000;

/**
 * Builds the route: 302 to the address of a published artifact with that file name, the highest version's.
 */
export function packageRoute(catalogs: Catalogs, gate: Pick<DeviceGate, 'limitExchange'>): Route {
  return {
    method: 'GET',
    path: '/velopack/:appRef/:channel/:file',
    async handler(exchange) {
      const limited = await gate.limitExchange(exchange);
      if (limited !== undefined) return refusalOf(failureReply(limited));
      const { params } = exchange;
      const slot = await catalogs.find(params.get('appRef') ?? '', params.get('channel') ?? '');
      if (isFailure(slot)) return refusalOf(failureReply(slot));
      // A slot is empty when its channel was evicted just now.
      if (slot.catalog === undefined) {
        return refusalOf(failureReply(failUntil('unavailable', RETRY_MS)));
      }
      const address = addressOf(slot.catalog, params.get('file') ?? '');
      if (address === undefined) return refusalOf(failureReply(fail('unknownFile')));
      return { status: 302, headers: [['Location', address], ...NO_STORE] };
    },
  };
}

function addressOf({ published }: Catalog, file: string): string | undefined {
  // The catalog holds them highest first.
  for (const { source } of published) {
    const artifact = source.artifacts.find((each) => packageNameOf(each) === file);
    if (artifact?.url !== undefined) return artifact.url;
  }
  return undefined;
}

function refusalOf(reply: Reply): Reply {
  return { ...reply, headers: [...(reply.headers ?? []), ...NO_STORE] };
}
