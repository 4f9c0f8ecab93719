// Oldest Node that can run the service, as its packages require. This file is so plain that any Node can load
// it, because it reports to older ones.

import { type Check, faulty, sound } from '../contract/store-fault.ts';

/** Oldest version, the same as in `engines` of package.json. */
const [LINE, OLDEST] = [20, 19];

/** Returns why this Node cannot run the service, in one line; undefined if it can. */
export function refusalOfNode(found: string = process.versions.node): string | undefined {
  const [line = 0, minor = 0] = found.split('.').map(Number);
  if (line > LINE || (line === LINE && minor >= OLDEST)) return undefined;
  return (
    `this is Node ${found}, and Sluice needs ${LINE}.${OLDEST} or later: ` +
    'docs/operating/install.md#versions'
  );
}

/** Examines the Node that runs this. */
export function examineNode(): Check {
  const refusal = refusalOfNode();
  return refusal === undefined ? sound('node', process.versions.node) : faulty('node', refusal);
}

/** Ends the process with the reason, in one line, if this Node cannot run the service. */
export function requireNode(): void {
  const refusal = refusalOfNode();
  if (refusal === undefined) return;
  process.stderr.write(`sluice: ${refusal}\n`);
  process.exit(1);
}
