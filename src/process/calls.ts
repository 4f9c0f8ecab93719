// Types of the calls on a child process's channel, one for each direction.

/** Calls in one direction, and their answers: plain values that can be copied to another process. */
export type Calls = { readonly call: unknown; readonly answer: unknown };

/** Type of a direction in which no calls are made. */
export type NoCalls = { readonly call: never; readonly answer: undefined };
