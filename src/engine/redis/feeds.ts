// What this node hears over pub/sub: announcements, activity for the live feed,
// and whose labels have changed.

import type { Activity } from '../../ports/activity-feed.ts';
import type { Announcement } from '../../ports/engine.ts';
import type { LabelNews } from '../../ports/label-cache.ts';
import { keys } from './keys.ts';
import { parseLabelNews } from './label-payload.ts';
import { parseActivityPayload, parseAnnouncementPayload } from './payload.ts';
import { openSubscription } from './subscription.ts';
import type { RedisTarget } from './target.ts';

/** The feeds; neither is subscribed to before its first listener. */
export function createFeeds(target: RedisTarget, onFault: (error: unknown) => void) {
  const announcements = createSubscribers<Announcement>((subscribers) =>
    openSubscription({
      target,
      channel: keys.announcements,
      onMessage: (message) => {
        const announcement = parseAnnouncementPayload(message);
        if (announcement === undefined) onFault(new Error('ignored a malformed announcement'));
        else subscribers.tell(announcement);
      },
      onResumed: () => subscribers.resume(),
      onFault,
    }),
  );
  const activities = createSubscribers<readonly Activity[]>((subscribers) =>
    openSubscription({
      target,
      channel: keys.activity,
      onMessage: (message) => subscribers.tell(parseActivityPayload(message)),
      onResumed: () => undefined,
      onFault,
    }),
  );
  const labelNews = createSubscribers<readonly LabelNews[]>((subscribers) =>
    openSubscription({
      target,
      channel: keys.labelNews,
      onMessage: (message) => subscribers.tell(parseLabelNews(message)),
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

type Telling<Message> = { tell(message: Message): void; resume(): void };

/** The listeners of one channel. They share a subscription, opened for the first of them. */
function createSubscribers<Message>(open: (telling: Telling<Message>) => () => void) {
  const all: Subscriber<Message>[] = [];
  let closeSubscription: (() => void) | undefined;
  let isClosed = false;
  const telling: Telling<Message> = {
    tell(message) {
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
      closeSubscription ??= open(telling);
    },
    close(): void {
      isClosed = true;
      all.length = 0;
      closeSubscription?.();
    },
  };
}
