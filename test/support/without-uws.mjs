// Preloaded into a program of a test (`node --import`): uWebSockets.js does not load, as on a Node that it has
// no binary for.

import { register } from 'node:module';

/** What the package says, on a Node of a later line. */
const MESSAGE =
  'This version of uWS.js supports only Node.js versions 18, 20, 21 and 22.\n\n' +
  "Error: Cannot find module './bin/uws_linux_x64_137.node'\nRequire stack:\n- uws.mjs";

const resolver = `export async function resolve(specifier, context, next) {
  if (specifier === 'uWebSockets.js') throw new Error(${JSON.stringify(MESSAGE)});
  return next(specifier, context);
}`;
register(`data:text/javascript,${encodeURIComponent(resolver)}`);
