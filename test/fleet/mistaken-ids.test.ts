// Tests the counts of ids that many devices share by mistake: figures at once, the ledger once a minute.

import { expect, it } from 'vitest';
import { MistakenIds, noteMistakes } from '../../src/fleet/mistaken-ids.ts';
import { Metrics } from '../../src/observe/metrics.ts';
import type { MistakenIdCount } from '../../src/store/fleet-ledger.ts';

const NOTES = { appId: 'app_notes', appRef: 'notes' };

function counting() {
  const metrics = new Metrics();
  const written: MistakenIdCount[][] = [];
  const warned: string[] = [];
  const state = { isAway: false };
  const mistakenIds = new MistakenIds({
    metrics,
    ledger: {
      async recordMistakenIds(counts) {
        if (state.isAway) throw new Error('away');
        written.push([...counts]);
      },
    },
    log: { warnAbout: (subject) => void warned.push(subject) },
  });
  return { metrics, written, warned, state, mistakenIds };
}

it('each is counted by app and kind, and written in sums', async () => {
  const { metrics, written, mistakenIds } = counting();
  mistakenIds.note(NOTES, 'undefined');
  mistakenIds.note(NOTES, 'undefined');
  noteMistakes(mistakenIds, { id: 'app_notes', ref: 'notes' }, [
    ...[{ deviceId: '[object Object]' }, { deviceId: 'kiosk-1' }],
  ]);
  await mistakenIds.write();
  await mistakenIds.write();
  expect(written).toEqual([
    [
      { appId: 'app_notes', kind: 'undefined', count: 2 },
      { appId: 'app_notes', kind: 'object', count: 1 },
    ],
  ]);
  const text = await metrics.registry.metrics();
  const series = `sluice_mistaken_device_ids_total{app="notes",kind="undefined",process="main"} 2`;
  expect(text).toContain(series);
});

it('what the ledger did not take is written with what came since', async () => {
  const { written, warned, state, mistakenIds } = counting();
  state.isAway = true;
  mistakenIds.note(NOTES, 'null');
  await mistakenIds.write();
  expect(warned).toEqual(['mistaken-ids']);
  state.isAway = false;
  mistakenIds.note(NOTES, 'null');
  await mistakenIds.stop();
  expect(written).toEqual([[{ appId: 'app_notes', kind: 'null', count: 2 }]]);
});
