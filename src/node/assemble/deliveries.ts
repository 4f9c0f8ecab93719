// Assembles the sending of notifications, for the process that does the background work.

import { randomBytes } from 'node:crypto';
import { AddressJudge, ownAddresses } from '../../notify/address-judgement.ts';
import { DeliveryDriver } from '../../notify/delivery-driver.ts';
import { destinationOwner } from '../../notify/destinations.ts';
import { createResolver, Dialer } from '../../notify/dialer.ts';
import { Mailer } from '../../notify/mailer.ts';
import { SendMessage } from '../../notify/send-message.ts';
import type { Log } from '../../observe/log.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { type Config, consoleLinksOf } from '../../settings/settings.ts';
import type { Ledger } from '../../store/ledger.ts';
import type { Secrets } from './secrets.ts';

export function assembleDeliveries(
  config: Config,
  log: Log,
  metrics: Metrics,
  ledger: Ledger,
  secrets: Secrets,
) {
  const { privateNetworks, mail } = config.notify;
  const judge = new AddressJudge(privateNetworks, ownAddresses);
  const mailer = new Mailer(mail);
  const driver = new DeliveryDriver({
    ...{ ledger, metrics, log, now: Date.now, random: Math.random },
    holder: randomBytes(12).toString('hex'),
    consoleUrl: consoleLinksOf(config),
    send: new SendMessage({
      dialer: new Dialer({ judge, resolve: createResolver(privateNetworks.length > 0) }),
      mailer,
      unseal: (sealed, owner) => secrets.box?.open(sealed, owner)?.secret,
      ownerOf: destinationOwner,
      now: Date.now,
    }),
  });
  metrics.gauge(
    'sluice_notifications_waiting',
    'Notifications that wait to be sent, or to be sent again',
    () => driver.waiting.count,
  );
  metrics.gauge(
    'sluice_notifications_oldest_seconds',
    'Time for which the oldest of them waits',
    () => Math.round(driver.waiting.oldestMs / 1000),
  );
  return {
    start: () => driver.start(),
    stop: () => driver.stop(),
    /** Uses the mail server of changed settings. */
    use: ({ notify }: Config) => mailer.use(notify.mail),
  };
}
