// Lines of Node that the service runs on. The native HTTP server decides: its package has binaries for these
// lines alone (decision 0001). Plain enough for any Node to load, because it tells the others.

import { type Check, faulty, sound } from '../contract/diagnosis.ts';

/** Oldest version of each line, as `engines` of package.json has them. */
const OLDEST = [
  [20, 19],
  [22, 13],
] as const;

/** Returns why this Node cannot run the service, in one line; undefined if it can. */
export function refusalOfNode(found: string = process.versions.node): string | undefined {
  const [major, minor = 0] = found.split('.').map(Number);
  if (OLDEST.some(([line, oldest]) => line === major && minor >= oldest)) return undefined;
  return (
    `this is Node ${found}, and Sluice needs Node 22 (22.13 or later) or 20 (20.19 or later), because its ` +
    'HTTP server, uWebSockets.js, has binaries for these two alone: docs/operating/install.md#versions'
  );
}

/** Examines the Node that runs this. */
export function examineNode(): Check {
  const refusal = refusalOfNode();
  return refusal === undefined
    ? sound('node', `${process.versions.node}, for which the HTTP server has a binary`)
    : faulty('node', refusal);
}

/** Ends the process with the reason, in one line, if this Node cannot run the service. */
export function requireNode(): void {
  const refusal = refusalOfNode();
  if (refusal === undefined) return;
  process.stderr.write(`sluice: ${refusal}\n`);
  process.exit(1);
}
