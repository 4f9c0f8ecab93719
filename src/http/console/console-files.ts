// Routes of the console's page and its assets.

import { fail } from '../../contract/failure.ts';
import { failureReply, type Reply } from '../reply.ts';
import type { Route } from '../router.ts';
import { staticSite } from '../static-site.ts';

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;

/**
 * Builds the routes of `/console`: the assets by their names, and the page at every other path, because the
 * browser decides which view a path means. `folder` contains the built console.
 */
export function consoleFiles(folder: string): readonly Route[] {
  const { page, asset } = staticSite(folder);
  return [
    { method: 'GET', path: '/console', handler: page },
    { method: 'GET', path: '/console/*', handler: page },
    { method: 'GET', path: '/console/assets/:name', handler: asset },
    { method: 'GET', path: '/console/assets/*', handler: notFound },
    // Unknown paths of the API get its 404 as JSON instead of the page.
    ...METHODS.map((method) => ({ method, path: '/console/api/*', handler: notFound })),
  ];
}

function notFound(): Reply {
  return failureReply(fail('notFound'));
}
