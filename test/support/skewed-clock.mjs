// Preloaded into a process of a node (`node --import`), and by NODE_OPTIONS into those that it forks: shifts
// the clock of that process, `Date`, by the milliseconds that the file CLOCK_SKEW_FILE holds. The monotonic
// clock stays as it is.

import { readFileSync } from 'node:fs';

const READ_INTERVAL_MS = 20;
const path = process.env.CLOCK_SKEW_FILE;

if (path !== undefined) {
  let skewMs = readSkew(path);
  setInterval(() => {
    skewMs = readSkew(path);
  }, READ_INTERVAL_MS).unref();

  const RealDate = Date;
  const now = () => RealDate.now() + skewMs;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
    apply: () => new RealDate(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
}

/** @param {string} file */
function readSkew(file) {
  return Number(readFileSync(file, 'utf8'));
}
