// Route of the packages that a Velopack feed names: clients ask for them beside the feed, and are sent on to
// where the publisher keeps them.

import { fail, isFailure } from '../../contract/failure.ts';
import type { Catalog } from '../../domain/decision/catalog.ts';
import { packageNameOf } from '../../updater/velopack.ts';
import { NO_STORE } from '../reply.ts';
import type { Route } from '../router.ts';
import { addressHeader } from './address-header.ts';
import { type ChannelHandlerDependencies, channelHandler } from './channel-handler.ts';

/**
 * Builds the route: 302 to the address of a published artifact with that file name, the highest version's.
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
  // The catalog holds them highest first.
  for (const { source } of published) {
    const artifact = source.artifacts.find((each) => packageNameOf(each) === file);
    if (artifact?.url !== undefined) return artifact.url;
  }
  return undefined;
}
