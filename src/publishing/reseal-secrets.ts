// Change of the key under which webhook secrets are sealed: each is sealed again under the first of several
// keys, so that the others can be given up. A few at a time; a call works for a moment and tells where the
// next one goes on. What is done twice changes nothing, and deliveries are verified meanwhile.

import type { ResealedSecrets } from '../contract/console.ts';
import { fail, type Outcome } from '../contract/failure.ts';
import type { SecretPlace, WebhookLedger } from '../store/webhook-ledger.ts';
import type { SecretBox } from './secret-box.ts';
import { ownerOf } from './webhooks.ts';

export type ResealDependencies = {
  readonly ledger: Pick<WebhookLedger, 'listSealedSecrets' | 'replaceSealedSecrets'>;
  /** Encryption of secrets; undefined without SECRET_KEY. */
  readonly box: SecretBox | undefined;
  /** Clock in milliseconds that never goes back. */
  readonly now?: () => number;
};

/** Maximum number of secrets that are read, and replaced by one statement. */
const BATCH_MAX = 100;
/** Milliseconds after which a call begins no other batch, so that nobody waits for its answer for long. */
const WORK_MS_MAX = 2000;

export class ResealSecrets {
  private readonly dependencies: ResealDependencies;
  private readonly now: () => number;

  constructor(dependencies: ResealDependencies) {
    this.dependencies = dependencies;
    this.now = dependencies.now ?? (() => performance.now());
  }

  /**
   * Seals the secrets of the webhooks after `after` again, which the answer before named in `next`, by app
   * and code host; undefined is the first call. Those that no key opens are counted and stay. Rejects with
   * `Unavailable` when the ledger does not answer; what was sealed by then stays sealed, and the same call
   * again goes on.
   */
  async reseal(after: string | undefined): Promise<Outcome<ResealedSecrets, 'secretKeyMissing'>> {
    const { box } = this.dependencies;
    if (box === undefined) return fail('secretKeyMissing');
    const end = this.now() + WORK_MS_MAX;
    let total: ResealedSecrets = { resealed: 0, unreadable: 0, next: after ?? null };
    do {
      const { resealed, unreadable, next } = await this.resealBatch(box, total.next ?? undefined);
      total = {
        resealed: total.resealed + resealed,
        unreadable: total.unreadable + unreadable,
        next,
      };
    } while (total.next !== null && this.now() < end);
    return total;
  }

  private async resealBatch(box: SecretBox, after: string | undefined): Promise<ResealedSecrets> {
    const { ledger } = this.dependencies;
    const batch = await ledger.listSealedSecrets(readCursor(after), BATCH_MAX);
    const opened = batch.map((row) => ({
      ...row,
      opened: box.open(row.sealedSecret, ownerOf(row)),
    }));
    const changes = opened.flatMap(({ appId, provider, sealedSecret, opened: found }) =>
      found === undefined || found.isUnderFirst
        ? []
        : [
            {
              appId,
              provider,
              from: sealedSecret,
              to: box.seal(found.secret, ownerOf({ appId, provider })),
            },
          ],
    );
    const resealed = changes.length === 0 ? 0 : await ledger.replaceSealedSecrets(changes);
    const unreadable = opened.filter((row) => row.opened === undefined).length;
    const last = batch.length < BATCH_MAX ? undefined : batch.at(-1);
    const next = last === undefined ? null : `${last.appId}/${last.provider}`;
    return { resealed, unreadable, next };
  }
}

/** Reads where a call goes on; a text without a code host stands before the app's first one. */
function readCursor(after: string | undefined): SecretPlace | undefined {
  if (after === undefined) return undefined;
  const [appId = '', provider = ''] = after.split('/');
  return { appId, provider };
}
