// Bodies of the management API: the shapes that check them.

import { planWaveBody, reportFleetBody } from '../shape/fleet-body.ts';
import { putPlanBody, steerPlanBody } from '../shape/plan-body.ts';
import {
  promoteReleaseBody,
  publishReleaseBody,
  servingControlBody,
  withdrawReleaseBody,
} from '../shape/release-body.ts';

/** Bodies by the names that they have in the document. */
export const BODY_SHAPES = {
  NewRelease: publishReleaseBody,
  ServingControl: servingControlBody,
  Promotion: promoteReleaseBody,
  Withdrawal: withdrawReleaseBody,
  NewPlan: putPlanBody,
  PlanControl: steerPlanBody,
  FleetReport: reportFleetBody,
  WaveRequest: planWaveBody,
} as const;
