// Whether a code host on the internet can reach an address.

const NEAR =
  /^(?:localhost|.*\.localhost|127\.|10\.|192\.168\.|172\.(?:1[6-9]|2\d|3[01])\.|169\.254\.|\[::1\]|\[f[cd]|\[fe80)/i;

/** Whether an address may be reached from elsewhere: not one of this machine or of a private network. */
export function isReachableAddress(url: string): boolean {
  try {
    return !NEAR.test(new URL(url).hostname);
  } catch {
    return false;
  }
}
