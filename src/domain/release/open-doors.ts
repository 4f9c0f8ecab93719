// Ways around the approvals of a channel: what one person publishes on a channel without approvals also
// reaches the devices of those that follow it, whatever they ask for (docs/contract.md 33.12).

import { type Finding, warning } from '../../contract/dry-run.ts';
import type { Channel } from '../../contract/resource.ts';

type Settings = Pick<Channel, 'name' | 'approvals' | 'follows'>;

/**
 * Returns a warning for each pair of channels of which one asks for approvals and follows the other, which
 * does not, where the given channel is one of the two. `others` are the other channels of its app.
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
