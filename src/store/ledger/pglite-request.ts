// Requests to the embedded database's process, and its replies.

export type PgliteRequest =
  | { readonly kind: 'query'; readonly text: string; readonly values: readonly unknown[] }
  | { readonly kind: 'script'; readonly text: string }
  /** Copies the files of the database into a new directory. */
  | { readonly kind: 'copy'; readonly to: string };

export type PgliteReply =
  | { readonly kind: 'rows'; readonly rows: readonly unknown[] }
  | {
      readonly kind: 'error';
      readonly error: PgliteErrorFields;
      /** Whether the database itself has failed, so that its process must be replaced. */
      readonly isFatal: boolean;
    };

/** Calls to the embedded database's process, and their answers. */
export type CallsToPglite = { readonly call: PgliteRequest; readonly answer: PgliteReply };

/**
 * Fields of a database error that tell its cause; the statement's values are left out, as they may be
 * secrets.
 */
export type PgliteErrorFields = {
  readonly message: string;
  readonly code: string | undefined;
  readonly constraint: string | undefined;
};
