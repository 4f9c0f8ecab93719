// Refusals of the service that name a field (`path: reason`), and the form's field that each is about.

export type FieldError = {
  /** Path of the field as the service names it, such as `artifacts.0.url`. */
  readonly path: string;
  readonly reason: string;
};

/** Parses a refusal of a field (`path: reason`); undefined for any other message. */
export function readFieldError(message: string | undefined): FieldError | undefined {
  const [, path, reason] = /^([A-Za-z]\w*(?:\.[^:\s]*)*): (.+)$/s.exec(message ?? '') ?? [];
  return path === undefined || reason === undefined ? undefined : { path, reason };
}

/** Returns whether a refusal concerns the field or a part of its value. */
export function isAt(name: string | undefined, { path }: FieldError): boolean {
  return name !== undefined && (path === name || path.startsWith(`${name}.`));
}
