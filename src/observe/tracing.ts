// Interface of request traces for the other rooms. The libraries that make and send them are loaded only if
// tracing is on (otel-tracing.ts).

export type Tracing = {
  /** Begins a span: in the trace that the headers name, if any are given, else below the present span. */
  begin(span: NewSpan): OpenSpan;
  /** Returns whether a span is open in the running code. */
  isTraced(): boolean;
  /** Sends the remaining spans, for at most a second, and ends. */
  stop(): Promise<void>;
};

/** Attributes of a span; undefined ones are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export type NewSpan = {
  readonly name: string;
  /** Whether the span answers a caller, calls a store, or is a step in between. */
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes: SpanAttributes;
  /** Returns a header of the caller by its lower-case name; '' if there is none. */
  readonly header?: (name: string) => string;
};

export type OpenSpan = {
  /** Runs work below the span. */
  run<Value>(work: () => Value): Value;
  /** Ends the span; `error` is the reason of a failure. */
  end(attributes: SpanAttributes, error?: string): void;
};
