// Messages between a child process and its parent. Each end may call the other and answers its calls; the
// child reports how its start went, and the parent asks it to stop.

export type CallMessage = {
  readonly kind: 'call';
  readonly id: number;
  readonly call: unknown;
};

export type AnswerMessage = {
  readonly kind: 'answer';
  readonly id: number;
  readonly answer: unknown;
};

export type MessageToChild =
  | CallMessage
  | AnswerMessage
  /** Asks the child to finish its work and end. */
  | { readonly kind: 'stop' };

export type MessageToParent =
  | CallMessage
  | AnswerMessage
  /** Reports that the child is ready to work. */
  | { readonly kind: 'ready' }
  /** Reports that the child cannot start and ends; the reason is one line. */
  | { readonly kind: 'refused'; readonly reason: string };
