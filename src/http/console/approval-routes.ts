// Routes of the console API for approvals: what waits, and the decisions of people (docs/contract.md 33).

import { z } from 'zod';
import type { AskedOperation } from '../../contract/approval.ts';
import { isFailure } from '../../contract/failure.ts';
import { approvalQuery, type CarriedOut, carryOut } from '../manage/approval-operations.ts';
import type { ChangeServices } from '../manage/key-operation.ts';
import { SESSION_ROUTES } from '../manage/key-routes.ts';
import { RESUME_STOP } from '../manage/stop-operations.ts';
import type { Route } from '../router.ts';
import { nameField, reasonField } from '../shape/field.ts';
import { UPDATE_CHANNEL } from './app-routes.ts';
import type { ConsoleRoutes } from './console-route.ts';

const listQuery = approvalQuery.extend({ org: nameField });
const decisionBody = z.strictObject({ reason: reasonField.optional() });

/** Operations that may wait, by their names. */
const ASKED = new Map<AskedOperation, CarriedOut<ChangeServices>>([
  ...SESSION_ROUTES.flatMap((route) =>
    route.asks === undefined ? [] : [[route.asks, route] as const],
  ),
  ['resumeStop', RESUME_STOP] as const,
  ['updateChannel', UPDATE_CHANNEL] as const,
]);

export function approvalRoutes(routes: ConsoleRoutes, services: ChangeServices): readonly Route[] {
  const { approvals } = services;
  return [
    routes.onOrganization(
      { endpoint: 'GET approvals', role: 'viewer', shape: listQuery },
      (context, { org: _, ...filter }) => approvals.list(context, filter),
    ),
    routes.onApproval(
      { endpoint: 'GET approvals/:id', role: 'viewer', shape: z.object({}) },
      (context, id) => approvals.find(context, id),
    ),
    routes.onApproval(
      { endpoint: 'POST approvals/:id/approve', role: 'publisher', shape: decisionBody },
      async (context, id, { reason }) => {
        const found = await approvals.find(context, id);
        if (isFailure(found)) return found;
        const { request } = found.approval;
        return approvals.approve(context, { id, reason }, (approver) =>
          carryOut(ASKED, services, approver, request),
        );
      },
    ),
    routes.onApproval(
      { endpoint: 'POST approvals/:id/decline', role: 'publisher', shape: decisionBody },
      (context, id, { reason }) => approvals.decline(context, { id, reason }),
    ),
  ];
}
