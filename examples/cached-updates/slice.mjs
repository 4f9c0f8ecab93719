// A client whose answers a cache keeps: it asks for its slice of the fleet. Copy it; it needs nothing else.

/** Slice of a device, 0 to 99: MurmurHash3 (x86, 32 bits, seed 0) of the id in UTF-8, scaled to 100. */
export function sliceOf(deviceId) {
  const bytes = new TextEncoder().encode(deviceId);
  const rotate = (value, by) => (value << by) | (value >>> (32 - by));
  const scramble = (block) => Math.imul(rotate(Math.imul(block, 0xcc9e2d51), 15), 0x1b873593);
  const wholeBytes = bytes.length - (bytes.length % 4);
  let hash = 0;
  for (let at = 0; at < wholeBytes; at += 4) {
    const block = bytes[at] | (bytes[at + 1] << 8) | (bytes[at + 2] << 16) | (bytes[at + 3] << 24);
    hash = (Math.imul(rotate(hash ^ scramble(block), 13), 5) + 0xe6546b64) | 0;
  }
  let rest = 0;
  for (let at = wholeBytes; at < bytes.length; at += 1)
    rest |= bytes[at] << (8 * (at - wholeBytes));
  hash ^= scramble(rest) ^ bytes.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash = (hash ^ (hash >>> 16)) >>> 0;
  return Math.floor((hash * 100) / 2 ** 32);
}

/** Resolves with the manifest of the update that the device should install, or null when there is none. */
export async function checkForUpdate(service, { app, channel, platform, arch, version, deviceId }) {
  const path = [app, channel, platform, arch, version, sliceOf(deviceId)]
    .map(encodeURIComponent)
    .join('/');
  const response = await fetch(`${service}/c/${path}`);
  if (response.status === 204) return null;
  if (!response.ok) throw new Error(`no answer: ${response.status}`);
  return response.json();
}
