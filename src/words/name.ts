// Names in sentences: of actors, of what a change is about, of calls that may wait, and of numbers of things.

import { PROVIDER_NAMES } from '../contract/choice.ts';
import type { AskedOperation } from '../contract/resource.ts';
import { wordFor } from '../contract/text.ts';

/** Names an actor as people do: `key ci`, `its plan`, `the operator`. */
export function actorWords(actor: string): string {
  if (actor === 'admin-token') return 'the operator';
  if (actor === 'service') return 'the service';
  const [kind, ...rest] = actor.split(':');
  const name = rest.join(':');
  switch (kind) {
    case 'account':
      return name;
    case 'key':
      return `key ${/\((.*)\)$/s.exec(name)?.[1] ?? name}`;
    case 'plan':
      return 'its plan';
    case 'integration':
      return `the webhook of ${wordFor(PROVIDER_NAMES, name)}`;
    default:
      return actor;
  }
}

type Place = Readonly<Record<'app' | 'channel' | 'version', string | null>>;

/** Names a release, a channel or an app, such as `desktop beta 2.5.0-beta.1`; '' where there is none. */
export function placeWords({ app, channel, version }: Place): string {
  return [app, channel, version].filter((part) => part !== null).join(' ');
}

/** What a call that may wait does, before the name of what it is about: `publish notes stable 1.0.0`. */
export const CALL_DEEDS: Readonly<Record<AskedOperation, string>> = {
  publishRelease: 'publish',
  promoteRelease: 'promote',
  controlServing: 'change the serving of',
  planRollout: 'plan the rollout of',
  steerPlan: 'let the plan go on of',
  resumeStop: 'end the stop of',
  updateChannel: 'change the settings of',
};

/** Counts things: `1 device`, `205 devices`. */
export function countWords(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? '' : 's'}`;
}
