// Preloaded into a program of a test (`node --import`): uWebSockets.js does not load, as on a Node that it has
// no binary for.

import { register } from 'node:module';

const resolver = `export async function resolve(specifier, context, next) {
  if (specifier === 'uWebSockets.js') throw new Error('it has no binary here');
  return next(specifier, context);
}`;
register(`data:text/javascript,${encodeURIComponent(resolver)}`);
