// Assembly of the bounds under which checks bring new devices to the record.

import type { Config } from '../config.ts';
import type { Log } from '../observe/log.ts';
import { Admission } from '../operations/fleet/admission.ts';
import { RecordedDevices } from '../operations/fleet/recorded-devices.ts';
import { DELETED_REVISION } from '../ports/deleted-revision.ts';
import type { Engine } from '../ports/engine.ts';
import type { ServingLedger } from '../ports/serving-ledger.ts';

/** Builds the admission of new devices; `recorded` is for processes that record or note those of checks. */
export function assembleAdmission(
  config: Config,
  ledger: ServingLedger,
  log: Log,
  recorded?: RecordedDevices,
): Admission {
  return new Admission({
    ledger,
    bounds: {
      perNetwork: config.newDevicesPerAddressPerMinute,
      perApp: config.newDevicesPerAppPerMinute,
    },
    trustedProxies: config.trustProxy,
    log,
    ...(recorded === undefined ? {} : { recorded }),
  });
}

/** Builds the memory of devices that are on record; it forgets those that the ledger has deleted. */
export function rememberRecorded(engine: Pick<Engine, 'onLabels'>): RecordedDevices {
  const recorded = new RecordedDevices();
  engine.onLabels(
    (news) => {
      for (const each of news) if (each.revision === DELETED_REVISION) recorded.forget(each);
    },
    () => recorded.clear(),
  );
  return recorded;
}
