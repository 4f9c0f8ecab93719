// Assembly of the bounds under which checks bring new devices to the record.

import { Admission, RecordedDevices } from '../fleet/admission.ts';
import type { Log } from '../observe/log.ts';
import type { Config } from '../settings/settings.ts';
import { DELETED_REVISION } from '../store/deleted-revision.ts';
import type { Engine } from '../store/engine.ts';
import type { ServingLedger } from '../store/serving-ledger.ts';

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
