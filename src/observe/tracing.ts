// Traces of requests, as the other rooms see them. The libraries that make and send them are loaded only
// where traces are asked for (otel-tracing.ts).

export type Tracing = {
  /** Begins a span: in the trace that the headers name, if any are given, else below the present span. */
  begin(span: NewSpan): OpenSpan;
  /** Whether a span is open for what runs now. */
  isTraced(): boolean;
  /** Sends what is left, as far as that takes no longer than a moment, and ends. */
  stop(): Promise<void>;
};

/** Attributes of a span; those that are undefined are left out. */
export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

export type NewSpan = {
  readonly name: string;
  /** Whether the span answers a caller, calls a store, or is a step in between. */
  readonly kind: 'server' | 'client' | 'internal';
  readonly attributes: SpanAttributes;
  /** Returns a header of the caller by its lower-case name; '' when there is none. */
  readonly header?: (name: string) => string;
};

/** A span that has begun. */
export type OpenSpan = {
  /** Runs work below the span. */
  run<Value>(work: () => Value): Value;
  /** Ends the span; `error` says why it failed, if it did. */
  end(attributes: SpanAttributes, error?: string): void;
};
