// What is said beside every new password.

import { LIMIT } from '../../contract/limit.ts';

/** The bound is the service's own. */
export const PASSWORD_HINT = [
  `At least ${LIMIT.passwordLengthMin} characters;`,
  'a few words that only you would put together are best.',
].join(' ');
