// Tests the options of the fleet simulator, and how a setting of the service follows the speed of its clock.

import { describe, expect, it } from 'vitest';
import {
  FLEET_USUAL,
  freshnessAt,
  readFleetSettings,
} from '../../bench/suite/fleet/fleet-settings.ts';

const NOTHING = { devices: undefined, speed: undefined, duration: undefined };

describe('settings of a played fleet', () => {
  it('are the usual ones but for those that are given', () => {
    expect(readFleetSettings(NOTHING)).toEqual(FLEET_USUAL);
    expect(readFleetSettings({ devices: '2000', speed: '60', duration: '90' })).toEqual({
      ...FLEET_USUAL,
      ...{ devices: 2000, speed: 60, seconds: 90 },
    });
  });

  it('are refused outside of their bounds, with the bounds', () => {
    const refused = 'must be a whole number from';
    expect(readFleetSettings({ ...NOTHING, devices: '0' })).toContain(`--devices: ${refused} 100`);
    expect(readFleetSettings({ ...NOTHING, speed: '101' })).toBe(`--speed: ${refused} 10 to 100`);
    expect(readFleetSettings({ ...NOTHING, duration: '1e2' })).toContain(`--duration: ${refused}`);
  });
});

describe('the freshness of device rows', () => {
  it('follows the clock up to the shortest that the service takes', () => {
    expect(freshnessAt(10)).toEqual({ seconds: 30, virtual: 300 });
    expect(freshnessAt(30)).toEqual({ seconds: 10, virtual: 300 });
    expect(freshnessAt(100)).toEqual({ seconds: 10, virtual: 1000 });
  });
});
