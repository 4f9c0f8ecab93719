// Shape of a failure: a version that a device could not install.

import { z } from 'zod';
import { LIMIT } from '../../contract/limit.ts';
import { deviceVersionField } from './device-field.ts';
import { textField } from './field.ts';

export const failureBody = z.strictObject({
  version: deviceVersionField,
  reason: textField(LIMIT.failureReasonLengthMax, 0)
    .transform((text) => text || undefined)
    .optional(),
});
