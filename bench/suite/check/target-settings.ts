// Settings of `check --target`, which only loads a service that the caller owns.

import { isIPv4 } from 'node:net';

export type TargetArguments = {
  readonly target: string;
  readonly rate: string;
  readonly duration: string;
  readonly devices: string;
  readonly label: readonly string[];
  readonly isOwned: boolean;
};

export type TargetSettings = {
  readonly host: string;
  readonly port: number;
  readonly isTls: boolean;
  readonly path: string;
  /** Requests a second. */
  readonly rate: number;
  readonly seconds: number;
  readonly devices: number;
};

const RATE_MAX = 100_000;
const SECONDS_MAX = 3600;
const DEVICES_MAX = 10_000_000;
const REQUESTS_MAX = 5_000_000;

/** Returns the settings, or the reason in one line why they are refused. */
export function readTargetSettings(given: TargetArguments): TargetSettings | string {
  if (!URL.canParse(given.target)) return '--target: must be an http:// or https:// address';
  const url = new URL(given.target);
  if (!['http:', 'https:'].includes(url.protocol)) {
    return '--target: must be an http:// or https:// address';
  }
  if (!isLoopback(url.hostname) && !given.isOwned) {
    return `--target: ${url.hostname} is not this machine; pass --yes-i-own-this if it is yours to load`;
  }
  const rate = wholeNumber(given.rate, RATE_MAX);
  if (rate === undefined) return `--rate: must be a whole number from 1 to ${RATE_MAX}`;
  const seconds = wholeNumber(given.duration, SECONDS_MAX);
  if (seconds === undefined) return `--duration: must be whole seconds from 1 to ${SECONDS_MAX}`;
  const devices = wholeNumber(given.devices, DEVICES_MAX);
  if (devices === undefined) return `--devices: must be a whole number from 1 to ${DEVICES_MAX}`;
  if (rate * seconds > REQUESTS_MAX) {
    return `--rate, --duration: together more than ${REQUESTS_MAX} requests; make it several runs`;
  }
  for (const label of given.label) {
    if (label.indexOf('=') < 1) return `--label: ${label} is not KEY=VALUE`;
    url.searchParams.append(`l.${keyOf(label)}`, label.slice(keyOf(label).length + 1));
  }
  const isTls = url.protocol === 'https:';
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || (isTls ? 443 : 80)),
    isTls,
    path: url.pathname + url.search,
    rate,
    seconds,
    devices,
  };
}

/** Tells by the name alone, without a lookup, whether a host is this machine. */
export function isLoopback(hostname: string): boolean {
  if (hostname === 'localhost' || hostname === '[::1]' || hostname === '::1') return true;
  return isIPv4(hostname) && hostname.startsWith('127.');
}

function keyOf(label: string): string {
  return label.slice(0, label.indexOf('='));
}

function wholeNumber(text: string, max: number): number | undefined {
  if (!/^\d{1,9}$/.test(text)) return undefined;
  const value = Number(text);
  return value >= 1 && value <= max ? value : undefined;
}
