// Tests the settings of `check --target`, which puts load only on a service that the caller owns.

import { describe, expect, it } from 'vitest';
import { isLoopback, readTargetSettings } from '../../bench/suite/check/target-settings.ts';

const GIVEN = {
  target: 'http://127.0.0.1:8080/u/notes/stable/darwin/aarch64/1.0.0',
  rate: '500',
  duration: '10',
  devices: '1000',
  label: [],
  isOwned: false,
};

describe('check --target', () => {
  it('takes a loopback address as it is', () => {
    expect(readTargetSettings(GIVEN)).toEqual({
      host: '127.0.0.1',
      port: 8080,
      isTls: false,
      path: '/u/notes/stable/darwin/aarch64/1.0.0',
      rate: 500,
      seconds: 10,
      devices: 1000,
    });
  });

  it('adds labels to the query', () => {
    const label = ['ring=early', 'site=a=b c'];
    expect(readTargetSettings({ ...GIVEN, label })).toHaveProperty(
      'path',
      '/u/notes/stable/darwin/aarch64/1.0.0?l.ring=early&l.site=a%3Db+c',
    );
  });

  it('refuses any other host unless it is said to be one’s own', () => {
    for (const host of ['example.com', '10.0.0.1', '127.0.0.1.example.com', '[2001:db8::1]']) {
      const target = `https://${host}/u/a`;
      expect(readTargetSettings({ ...GIVEN, target })).toContain('--yes-i-own-this');
      expect(readTargetSettings({ ...GIVEN, target, isOwned: true })).toHaveProperty('isTls', true);
    }
  });

  it('knows this machine by name and number', () => {
    for (const host of ['localhost', '127.0.0.1', '127.8.9.1', '[::1]']) {
      expect(isLoopback(host)).toBe(true);
    }
  });

  it('is bounded in rate, time, devices and their product', () => {
    const wrong: Record<string, Record<string, string>> = {
      '--rate: ': { rate: '0' },
      '--rate:': { rate: '100001' },
      '--duration: ': { duration: '1.5' },
      '--duration:': { duration: '3601' },
      '--devices: ': { devices: '-1' },
      '--rate, --duration: ': { rate: '50000', duration: '200' },
    };
    for (const [begin, change] of Object.entries(wrong)) {
      const refusal = readTargetSettings({ ...GIVEN, ...change });
      expect(typeof refusal === 'string' && refusal.startsWith(begin)).toBe(true);
    }
  });

  it('refuses what is no address, and a label without a key', () => {
    expect(readTargetSettings({ ...GIVEN, target: 'notes' })).toContain('--target: ');
    expect(readTargetSettings({ ...GIVEN, target: 'ftp://127.0.0.1/u' })).toContain('--target: ');
    expect(readTargetSettings({ ...GIVEN, label: ['=x'] })).toContain('--label: ');
  });
});
