// Hint beside every field for a new password.

import { LIMIT } from '../../contract/limit.ts';

/** Hint with the minimum length that the service demands. */
export const PASSWORD_HINT = [
  `At least ${LIMIT.passwordLengthMin} characters;`,
  'a few words that only you would put together are best.',
].join(' ');
