// Whether an address may be reached from elsewhere, as far as its name tells.

import { parseUrl } from './parse-url.ts';

/** Addresses of this machine, of private networks and of links; a URL has IPv4 in four numbers. */
const NEAR_ADDRESS =
  /^(?:0\.|10\.|127\.|100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|169\.254\.|172\.(?:1[6-9]|2\d|3[01])\.|192\.168\.|\[::(?:1|ffff:[0-9a-f:]+)?\]|\[f[cd]|\[fe[89ab])/i;
/** Ends of names that are known within one network alone. */
const NEAR_NAME =
  /\.(?:local|localhost|localdomain|internal|intranet|lan|home\.arpa|test|invalid)$/i;

/** Whether a code host on the internet may reach an address: its name is one of the public DNS. */
export function isReachableAddress(url: string): boolean {
  const host = parseUrl(url)?.hostname.replace(/\.$/, '');
  if (host === undefined) return false;
  if (host.startsWith('[') || /^[\d.]+$/.test(host)) return !NEAR_ADDRESS.test(host);
  return host.includes('.') && !NEAR_NAME.test(host);
}
