// Refusal of one field of a form, which is shown at that field.

import { createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';

export type FieldError = {
  /** Path of the field as the service names it, such as `artifacts.0.url`. */
  readonly path: string;
  readonly reason: string;
};

type Fields = {
  readonly error: FieldError | undefined;
  /** Names of the fields that the form has at present. */
  readonly names: Set<string>;
};

/** Provides the refusal to the fields of a form. */
export const FieldErrorContext = createContext<Fields | undefined>(undefined);

/** Reads `path: reason`, as the service refuses a field; undefined for every other message. */
export function readFieldError(message: string | undefined): FieldError | undefined {
  const [, path, reason] = /^([A-Za-z]\w*(?:\.\w+)*): (.+)$/s.exec(message ?? '') ?? [];
  return path === undefined || reason === undefined ? undefined : { path, reason };
}

/** Tells whether a refusal is about the field, or about a part of its value. */
export function isAt(name: string | undefined, { path }: FieldError): boolean {
  return name !== undefined && (path === name || path.startsWith(`${name}.`));
}

/** Returns why this field was refused, and a reference to its control, which is then focused. */
export function useFieldError<Control extends HTMLElement>(name: string | undefined) {
  const fields = useContext(FieldErrorContext);
  const control = useRef<Control>(null);
  const error = fields?.error !== undefined && isAt(name, fields.error) ? fields.error : undefined;
  useEffect(() => {
    if (name === undefined || fields === undefined) return undefined;
    fields.names.add(name);
    return () => void fields.names.delete(name);
  }, [name, fields?.names]);
  useEffect(() => {
    if (error !== undefined) control.current?.focus();
  }, [error]);
  return { reason: error?.reason, control };
}
