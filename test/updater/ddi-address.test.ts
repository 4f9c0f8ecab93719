// Tests which addresses are those of a device that speaks DDI, and what each asks for (docs/contract.md 34.2
// to 34.4).

import { describe, expect, it } from 'vitest';
import { readDdiAddress } from '../../src/updater/ddi.ts';

const BASE = '/ddi/boards/stable/controller/v1/gw-1';

describe('an address', () => {
  it.each([
    [BASE, []],
    ['/ddi/boards/stable/linux/aarch64/controller/v1/gw-1', ['linux', 'aarch64']],
    ['/ddi/boards/stable/linux/aarch64/1.2.3/controller/v1/gw-1', ['linux', 'aarch64', '1.2.3']],
    ['/ddi/boards/stable/controller/v1/controller/v1/gw-1', []],
    ['/ddi/boards/stable/controller/arm/controller/v1/gw-1', ['controller', 'arm']],
  ])('%s is the base of a device', (path, machine) => {
    const read = readDdiAddress(path);
    expect(read).toMatchObject({ app: 'boards', channel: 'stable', machine });
    // The marks that come first count: this one is a file of a device named `controller`.
    if (read?.controllerId === 'controller') expect(read.resource).toBeUndefined();
    else
      expect(read).toMatchObject({ controllerId: 'gw-1', base: path, resource: { kind: 'poll' } });
  });

  it.each([
    ['configData', { kind: 'attributes' }],
    ['deploymentBase/11', { kind: 'action', id: 11 }],
    ['deploymentBase/11/feedback', { kind: 'feedback', id: 11 }],
    ['cancelAction/12', { kind: 'cancel', id: 12 }],
    ['cancelAction/12/feedback', { kind: 'cancelFeedback', id: 12 }],
    ['installedBase/11', undefined],
    ['deploymentBase/x/feedback', undefined],
    ['deploymentBase/11/feedback/more', undefined],
    ['deploymentBase', undefined],
  ])('below the base, %s asks for %j', (below, resource) => {
    expect(readDdiAddress(`${BASE}/${below}`)).toMatchObject({ base: BASE, controllerId: 'gw-1' });
    expect(readDdiAddress(`${BASE}/${below}`)?.resource).toEqual(resource);
  });

  it.each([
    '/ddi/boards',
    '/ddi/boards/stable',
    '/ddi/boards/stable/controller/v2/gw-1',
    '/ddi/boards/stable/linux/controller/v1/gw-1',
    '/ddi/boards/stable/controller/v1',
    '/ddi/boards/stable/controller/v1/',
    '/ddi//stable/controller/v1/gw-1',
    '/ddi/boards//controller/v1/gw-1',
    '/ddi/boards/stable//aarch64/controller/v1/gw-1',
  ])('%s is none of a device', (path) => {
    expect(readDdiAddress(path)).toBeUndefined();
  });
});
