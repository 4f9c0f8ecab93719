// Pub/sub subscriptions of a node: announcements of changed channels, fleet activity for the console, and the
// devices whose labels have changed.

import type { Activity } from '../activity-stream.ts';
import type { Announcement } from '../engine.ts';
import type { LabelNews } from '../label-store.ts';
import type { Keys } from './keys.ts';
import { parseLabelNews } from './label-payload.ts';
import { parseActivityPayload, parseAnnouncementPayload } from './payload.ts';
import { openSubscription, type Subscription } from './subscription.ts';
import type { RedisTarget } from './target.ts';

/**
 * Creates the three subscriptions; each is opened in Redis for its first listener. `target` returns the
 * servers to connect to now, `isHeard` whether what they tell counts.
 */
export function createSubscriptions(
  target: () => RedisTarget,
  keys: Keys,
  onFault: (error: unknown) => void,
  isHeard: () => boolean,
) {
  const createSubscribers = <Message>(open: (delivery: Delivery<Message>) => Subscription) =>
    createSubscriberList(isHeard, open);
  const announcements = createSubscribers<Announcement>((subscribers) =>
    openSubscription({
      target,
      channel: keys.announcements,
      onMessage: (message) => {
        const announcement = parseAnnouncementPayload(message);
        if (announcement === undefined) onFault(new Error('ignored a malformed announcement'));
        else subscribers.deliver(announcement);
      },
      onResumed: () => subscribers.resume(),
      onFault,
    }),
  );
  const activities = createSubscribers<readonly Activity[]>((subscribers) =>
    openSubscription({
      target,
      channel: keys.activity,
      onMessage: (message) => subscribers.deliver(parseActivityPayload(message)),
      onResumed: () => undefined,
      onFault,
    }),
  );
  const labelNews = createSubscribers<readonly LabelNews[]>((subscribers) =>
    openSubscription({
      target,
      channel: keys.labelNews,
      onMessage: (message) => subscribers.deliver(parseLabelNews(message)),
      onResumed: () => subscribers.resume(),
      onFault,
    }),
  );
  return { announcements, activities, labelNews };
}

type Subscriber<Message> = {
  readonly listener: (message: Message) => void;
  readonly onResumed: () => void;
};

type Delivery<Message> = { deliver(message: Message): void; resume(): void };

/**
 * Creates the list of listeners of one pub/sub channel, which share one subscription, opened for the first
 * listener.
 */
function createSubscriberList<Message>(
  isHeard: () => boolean,
  open: (delivery: Delivery<Message>) => Subscription,
) {
  const all: Subscriber<Message>[] = [];
  let subscription: Subscription | undefined;
  let isClosed = false;
  const delivery: Delivery<Message> = {
    deliver(message) {
      if (!isHeard()) return;
      for (const { listener } of all) listener(message);
    },
    resume() {
      for (const { onResumed } of all) onResumed();
    },
  };
  return {
    add(listener: (message: Message) => void, onResumed: () => void): void {
      if (isClosed) return;
      all.push({ listener, onResumed });
      subscription ??= open(delivery);
    },
    resume: delivery.resume,
    reconnect(): void {
      subscription?.reconnect();
    },
    close(): void {
      isClosed = true;
      all.length = 0;
      subscription?.close();
    },
  };
}
