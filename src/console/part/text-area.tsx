// Labelled input for several lines of text.

import { useFieldError } from './field-error.ts';
import { LabelledControl } from './labelled-control.tsx';

const ROWS = 6;

/** Text area that grows with its text in browsers that support it. */
export function TextArea(props: {
  /** Path of the field in what is sent, so that its refusal is shown here. */
  name?: string;
  label: string;
  hint?: string;
  placeholder?: string;
  value: string;
  onInput: (value: string) => void;
}) {
  const { reason, control } = useFieldError<HTMLTextAreaElement>(props.name);
  return (
    <LabelledControl label={props.label} hint={props.hint} error={reason}>
      {(id, describedBy) => (
        <textarea
          id={id}
          ref={control}
          aria-describedby={describedBy}
          aria-invalid={reason === undefined ? undefined : true}
          placeholder={props.placeholder}
          rows={ROWS}
          dir="auto"
          value={props.value}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
      )}
    </LabelledControl>
  );
}
