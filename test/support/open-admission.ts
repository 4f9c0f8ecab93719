// Admission without bounds, for tests of what lies around it.

import { Admission, type AdmissionDependencies } from '../../src/fleet/admission.ts';
import { createLog } from '../../src/observe/log.ts';

/** Returns an admission that records all check-ins; `ledger` has the methods that the test needs. */
export function openAdmission(ledger: Partial<AdmissionDependencies['ledger']>): Admission {
  return new Admission({
    ledger: ledger as AdmissionDependencies['ledger'],
    bounds: { perNetwork: 0, perApp: 0 },
    trustedProxies: 0,
    log: createLog('silent'),
  });
}
