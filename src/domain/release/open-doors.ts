// Ways around the approvals of a channel: what one person publishes on a channel without approvals also
// reaches the devices of channels that follow it, even if those ask for approvals (docs/contract.md 33.12).

import { type Finding, warning } from '../../contract/dry-run.ts';
import type { Channel } from '../../contract/resource.ts';

type Settings = Pick<Channel, 'name' | 'approvals' | 'follows'>;

/**
 * Returns a warning for each of `others`, the app's other channels, that forms such a pair with `channel`:
 * one of the two asks for approvals and follows the other, which asks for none.
 */
export function openDoors(channel: Settings, others: readonly Settings[]): readonly Finding[] {
  const { name } = channel;
  return others.flatMap((other): Finding[] => {
    const deed = 'what one person publishes';
    if (isOpen(channel, other)) {
      const asks = `${other.name} asks for no approvals`;
      return [warning('follows', `${asks}: ${deed} there reaches the devices of ${name}`)];
    }
    if (!isOpen(other, channel)) return [];
    const asks = `${other.name} asks for approvals and follows ${name}`;
    return [warning('approvals', `${asks}: ${deed} here reaches its devices`)];
  });
}

function isOpen(follower: Settings, followed: Settings): boolean {
  return (
    follower.follows === followed.name &&
    follower.approvals !== 'none' &&
    followed.approvals === 'none'
  );
}
