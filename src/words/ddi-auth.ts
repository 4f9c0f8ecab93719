// What follows from how devices that speak DDI authenticate (docs/contract.md 34.41), for who chooses it.

import type { DdiAuth } from '../contract/resource.ts';

/** Sentences about each choice. */
export const DDI_AUTH_WORDS: Readonly<Record<DdiAuth, string>> = {
  open: "Whoever knows a device's id can close its actions.",
  token:
    'Labels that are told at other addresses count all the same, and stock clients send the token to the ' +
    "files' host unless told not to.",
};
