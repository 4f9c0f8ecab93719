// What the serving process and the embedded database's process say to each other: requests and replies.

export type PgliteRequest =
  | {
      readonly kind: 'query';
      readonly id: number;
      readonly text: string;
      readonly values: readonly unknown[];
    }
  | { readonly kind: 'script'; readonly id: number; readonly text: string }
  | { readonly kind: 'close' };

export type PgliteReply =
  | { readonly kind: 'opened' }
  /** The directory cannot be opened; the process leaves. */
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'rows'; readonly id: number; readonly rows: readonly unknown[] }
  | { readonly kind: 'error'; readonly id: number; readonly error: PgliteErrorFields };

/** Of a database error, what tells the cause; never the statement's values, which may be secrets. */
export type PgliteErrorFields = {
  readonly message: string;
  readonly code: string | undefined;
  readonly constraint: string | undefined;
};
