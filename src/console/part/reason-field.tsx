// Field for the reason of a change, which the audit keeps.

import { LIMIT } from '../../contract/limit.ts';
import { Field } from './field.tsx';

/** Field for a reason, which may be left empty. */
export function ReasonField(props: {
  value: string;
  onInput: (value: string) => void;
  isFocused?: boolean;
}) {
  return (
    <Field
      name="reason"
      label="Reason"
      {...props}
      maxLength={LIMIT.reasonLengthMax}
      hint="For those who come after you. May be empty."
    />
  );
}
