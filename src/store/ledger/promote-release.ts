// Transaction that publishes a release of one channel on another.

import {
  isFailure,
  type LostRight,
  type Outcome,
  type UnknownRelease,
} from '../../contract/failure.ts';
import type { KnownStates } from '../known-state.ts';
import type { NewPromotion, Published, PublishObstacle } from '../ledger.ts';
import type { Actor } from '../ledger-terms.ts';
import type { Reach } from '../reach.ts';
import type { RepeatableCall } from '../repeatable-call.ts';
import { type ActorSql, atomically } from './atomically.ts';
import type { Database } from './database.ts';
import { type LockedChannel, lockChannel } from './lock-channel.ts';
import { type PromotionSource, readPromotionSource } from './promotion-source.ts';
import { publishOn } from './releases.ts';

/** Publishes under the lock of the channel that gets the release. */
export function promoteRelease(
  database: Database,
  reach: Reach,
  promotion: NewPromotion,
  actor: Actor,
  call?: RepeatableCall,
  known?: KnownStates,
): Promise<Outcome<Published, UnknownRelease | PublishObstacle | 'notPromotable' | LostRight>> {
  return atomically<Published, UnknownRelease | PublishObstacle | 'notPromotable'>(
    database,
    actor,
    async (sql) => {
      const channel = await lockChannel(sql, reach, promotion.app, promotion.to, known);
      if (isFailure(channel)) return channel;
      const source = await readPromotionSource(sql, channel.app.id, promotion);
      return isFailure(source) ? source : promoteOn(sql, channel, promotion, source, call);
    },
  );
}

/** Publishes what a source has on a locked channel. */
export function promoteOn(
  sql: ActorSql,
  channel: LockedChannel,
  promotion: NewPromotion,
  { content, refusal }: PromotionSource,
  call?: RepeatableCall,
): Promise<Outcome<Published, PublishObstacle | 'notPromotable'>> {
  const { app, from, to, canonicalVersion, reason, ...serving } = promotion;
  const release = { ...serving, ...content, app, channel: to, canonicalVersion };
  const audit = { action: 'release.promote' as const, from, reason };
  return publishOn(sql, channel, release, { call, refusal, audit });
}
