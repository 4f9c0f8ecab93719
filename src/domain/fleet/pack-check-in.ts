// Adds check-ins to packs that come one by one from elsewhere than a check. A check has the interned parts of
// its own at hand.

import type { CheckIn } from './check-in.ts';
import type { CheckInPacker } from './check-in-pack.ts';
import { internContext, internVersion } from './interned-value.ts';
import { NETWORK_WORDS, writeNetwork } from './network-words.ts';

/** Words of the network of the latest check-in, which a packer copies. */
const words = new Int32Array(NETWORK_WORDS);

/** Adds a check-in to a pack. */
export function packCheckIn(packer: CheckInPacker, checkIn: CheckIn): void {
  const { version, deviceId, at, labels, network = '' } = checkIn;
  writeNetwork(network, words);
  packer.add(internContext(checkIn), internVersion(version), deviceId, at, labels, words);
}
