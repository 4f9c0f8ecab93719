// Labelled input for several lines of text.

import { LabelledControl } from './labelled-control.tsx';

const ROWS = 6;

/** Text area that grows with its text in browsers that support it. */
export function TextArea(props: {
  label: string;
  value: string;
  onInput: (value: string) => void;
}) {
  return (
    <LabelledControl label={props.label}>
      {(id) => (
        <textarea
          id={id}
          rows={ROWS}
          dir="auto"
          value={props.value}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
      )}
    </LabelledControl>
  );
}
