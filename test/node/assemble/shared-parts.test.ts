// Tests that a process forgets the devices that another one has deleted (docs/contract.md 4.23).

import { expect, it } from 'vitest';
import { rememberRecorded } from '../../../src/node/assemble/shared-parts.ts';
import { DELETED_REVISION } from '../../../src/store/label-store.ts';
import { createMemoryEngine } from '../../../src/store/memory/memory-engine.ts';

it('a device that was deleted is on record no more; one whose labels changed is', async () => {
  const engine = createMemoryEngine();
  const recorded = rememberRecorded(engine);
  const gone = { appId: 'app_1', deviceId: 'gone' };
  const kept = { appId: 'app_1', deviceId: 'kept' };
  for (const each of [gone, kept]) recorded.note(each);
  await engine.tellLabels([
    { ...gone, revision: DELETED_REVISION },
    { ...kept, revision: 2 },
  ]);
  await expect.poll(() => recorded.has(gone)).toBe(false);
  expect(recorded.has(kept)).toBe(true);
});
